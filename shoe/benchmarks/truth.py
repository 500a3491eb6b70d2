"""Ground truth: a table of interactions that knows its benchmark's classes, and how any benchmark's is read."""

from __future__ import annotations

import copyreg
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.base import Benchmark, ImageLabel
from shoe.benchmarks.checks import labels_of_words, refuse_other_benchmarks, triplet_name
from shoe.benchmarks.classes import ClassSplit, HoiClasses
from shoe.core.arrays import Indices, Ints, Mask
from shoe.core.errors import InputError, OptionError, meant, quote, unknown_name
from shoe.core.interactions import Interactions, image_index
from shoe.core.io.files import read_bytes, seen
from shoe.core.io.json import parse_json, shown
from shoe.core.io.native import notes_of_native, read_native
from shoe.core.roles import RoleTruth
from shoe.core.rows import Rows

# A split of the classes of one's own: a file that names the unseen ones.

_HELD_OUT = "held_out"


def read_class_split(path: str | Path, classes: HoiClasses) -> ClassSplit:
    """Read a split, whose name is that of its file without the ending.

    Args:
        path: a class on each line, as "ride horse"; or JSON with a list ``held_out`` of such, as ``shoe dataset split``
            writes it.

    Raises:
        InputError: naming the entry that is no class.
    """
    data = read_bytes(path)
    named = _listed(path, data) if data.lstrip()[:1] in (b"{", b"[") else data.decode("utf-8", "replace").splitlines()
    row = {label: number for number, label in enumerate(classes.labels)}
    unseen = []
    for number, label in enumerate(named, start=1):
        label = " ".join(label.split())
        if label and label not in row:
            expected = f"a class of {classes.name}, as {quote(classes.labels[0])}"
            hint = meant(label, classes.labels)
            raise InputError(path, record=f"class {number}", found=quote(label), expected=expected, hint=hint)
        unseen += [row[label]] if label else []
    if not 0 < len(set(unseen)) < len(classes):
        found = f"{len(set(unseen))} of {len(classes)} classes"
        raise InputError(path, found=found, expected="some unseen classes, and some that are left")
    return ClassSplit.of_unseen(Path(path).stem, unseen, len(classes), str(Path(path).name))


def _listed(path: str | Path, data: bytes) -> list[str]:
    document = parse_json(path, data)
    if not isinstance(document, dict):
        expected = "a class on each line, or split.json as shoe dataset split writes it"
        raise InputError(path, found="a JSON list", expected=expected)
    listed = document.get(_HELD_OUT)
    if not isinstance(listed, list) or not all(isinstance(label, str) for label in listed):
        found = "none" if listed is None else quote(listed)
        raise InputError(path, field=_HELD_OUT, found=found, expected="a list of classes, as shoe dataset split has it")
    return listed


_ZIP_MAGIC = b"PK"
# What a benchmark is made of are functions; another process has its own, by the same name.
copyreg.pickle(Benchmark, lambda of: (benchmark, (of.name,)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroundTruth:
    """The annotations that predictions are scored against.

    Attributes:
        interactions: the triplets; their vocabularies are those of ``classes``.
        split: "test2015", "train2015", or the name of the file where it cannot be told.
        image_labels: (K, images) int8 ``ImageLabel``, whether a class is in an image; absent where only boxes are at
            hand.
        format: what kind of file it came from, in words.
        left_out: names of training images left out because their triplets point to boxes that the file does not have.
        benchmark: whose ground truth it is.
        roles: the persons, where the benchmark scores by person and the file has them.
        class_split: the parts of the classes that have figures of their own; None where none was asked for.
        image_numbers: (m,) what files of predictions call an image that they do not name; None where they name all.
    """

    interactions: Interactions
    classes: HoiClasses
    split: str
    image_labels: NDArray[np.int8] | None = None
    format: str = "table"
    left_out: tuple[str, ...] = ()
    benchmark: Benchmark = field(default_factory=lambda: benchmark(DEFAULT))
    class_split: ClassSplit | None = None
    roles: RoleTruth | None = None
    image_numbers: Indices | None = None

    def __repr__(self) -> str:
        table = self.interactions
        return (
            f"<GroundTruth: {self.classes.name} {self.split}, {len(table):,} triplets on {len(table.images):,} images>"
        )

    @property
    def hoi(self) -> Ints:
        """(n,) HOI class of each triplet."""
        return self.classes.of[self.interactions.verb, self.interactions.object]

    @property
    def triplets_per_class(self) -> Indices:
        """(K,) number of triplets of each class."""
        return np.bincount(self.hoi, minlength=len(self.classes))

    @property
    def class_parts(self) -> Mapping[str, Mask]:
        """(K,) each, the parts of the class split by name; none without one."""
        return self.class_split.parts if self.class_split else {}

    def facts(self) -> dict[str, str]:
        """What a signature says of a ground truth: its data, split and sizes, and hashes of what can move a score."""
        split = self.class_split
        return {
            "data": self.classes.name,
            "split": self.split,
            "images": str(len(self.interactions.images)),
            "truths": str(len(self.interactions)),
            "truth-sha": self._digest(),
            "class-list": str(len(self.classes)),
            "class-list-sha": self.classes.digest,
            **({"class-split": split.name, "class-split-sha": split.digest} if split else {}),
        }

    def _digest(self) -> str:
        """8 hex digits of everything in a ground truth that can change a score."""
        table = self.interactions
        digest = hashlib.sha256("\n".join(table.images).encode())
        columns = [table.offsets, table.coordinates, table.human_boxes, table.object_boxes, self.hoi]
        if self.roles is not None:
            columns += [self.roles.box_offsets, self.roles.boxes, self.roles.person, self.roles.labels, self.roles.role]
        if self.image_labels is not None:
            columns.append(self.image_labels == ImageLabel.YES)
        for column in columns:
            digest.update(np.ascontiguousarray(column).data)
        return digest.hexdigest()[:8]

    def names_of(self, images: tuple[str, ...]) -> tuple[str, ...]:
        """What the ground truth calls images of which some have its number for a name; others stay what they are."""
        if self.image_numbers is None:
            return images
        known = frozenset(self.interactions.images)
        named = {str(number): name for number, name in zip(self.image_numbers, self.interactions.images, strict=True)}
        return tuple(image if image in known else named.get(image, image) for image in images)

    def subset(self, name: str) -> GroundTruth:
        """Keep the images of a named subset; its name becomes part of the split's, and so of signatures.

        Raises:
            OptionError: for a name that does not exist.
        """
        subsets = self.benchmark.subsets
        if name not in subsets:
            raise unknown_name("subset", name, subsets)
        return self._part(name, subsets[name](self.interactions))

    def within(self, *predicted: Sequence[str]) -> GroundTruth:
        """Keep the images that all files of predictions name, with or without a prediction; the split's name says so.

        A figure on them is no figure on the split, so it has another split and other hashes in its signature.

        Raises:
            InputError: if there is none.
            OptionError: for what is no list of names.
        """
        images = self.interactions.images
        keep = np.ones(len(images), bool)
        for names in predicted:
            if isinstance(names, str) or not isinstance(names, Sequence):
                raise OptionError(f"within: found {quote(names)}, expected names of images, as predictions.images")
            keep &= np.isin(np.arange(len(images)), image_index(self.names_of(tuple(names)), images))
        if not keep.any():
            expected = "images of the ground truth" if len(predicted) == 1 else "images that all files name"
            raise InputError("predictions", field="image", found="none", expected=expected)
        return self._part("images-in-predictions", keep)

    def _part(self, name: str, images: Mask) -> GroundTruth:
        return replace(
            self,
            interactions=self.interactions.select_images(images),
            split=f"{self.split}/{name}",
            image_labels=None if self.image_labels is None else self.image_labels[:, images],
            roles=None if self.roles is None else self.roles.select_images(np.flatnonzero(images)),
            image_numbers=None if self.image_numbers is None else self.image_numbers[images],
        )


def read_ground_truth(
    path: str | Path,
    dataset: str | Benchmark = DEFAULT,
    *,
    classes: HoiClasses | None = None,
    image_labels: str | Path | None = None,
    split: str | None = None,
) -> GroundTruth:
    """Read ground truth; arguments and errors are those of ``shoe.read_ground_truth``, which reads by this function.

    Raises:
        InputError: naming file, image, field, what was found and what was expected.
        OptionError: for an unknown benchmark, or a split that is no class split and that the file does not hold.
    """
    of = benchmark(dataset)
    classes = of.classes if classes is None else classes
    parts, split = _class_split(of, classes, split)
    name, rows = _read(path, of, split)
    interactions = _in_words_of(classes, rows, path)
    found = _split(interactions.images, of, path)
    if split not in (None, found):
        known = f"; splits of classes: {', '.join(of.class_splits)}, or a file that names the unseen ones"
        known = known if of.class_splits else ""
        raise OptionError(f"{path} holds no images of the split {quote(split)}; it holds {found}{known}")
    labels = None
    if image_labels is not None:
        if of.read_image_labels is None:
            raise OptionError(f"{of.name} has no image-level labels; leave out {image_labels}")
        labels = of.read_image_labels(image_labels, interactions.images, classes, of)
    more = rows.left_out, of, parts, rows.annotated, rows.numbers
    return GroundTruth(interactions, classes, found, labels, name, *more)


def _class_split(of: Benchmark, classes: HoiClasses, split: str | None) -> tuple[ClassSplit | None, str | None]:
    """The split of the classes that is asked for, by its name or its file, else the usual one; and that of images."""
    if split is not None and split not in of.class_splits and split not in of.splits and os.path.isfile(split):
        return read_class_split(split, classes), None
    named = split if split in of.class_splits else None
    load = of.class_splits.get(named or of.usual_class_split or "")
    return load().within(of.classes, classes) if load else None, None if named else split


def _read(path: str | Path, of: Benchmark, split: str | None) -> tuple[str, Rows]:
    data = read_bytes(path)
    if data.startswith(_ZIP_MAGIC):
        table = read_native(path, data)
        if notes_of_native(path, data):
            hint = "are PREDICTIONS and --ground-truth swapped?"
            raise InputError(path, found="a native table of predictions", expected="ground truth", hint=hint)
        return "native table", replace(Rows.of(table), score=None)
    refuse_other_benchmarks(path, data, of)
    for known in of.formats:
        if known.fits(data):
            return known.name, known.read(path, data, of, split)
    examples = f"ground truth: {', '.join(known.example for known in of.formats)}, or a native table (.npz)"
    if data.lstrip()[:1] not in (b"[", b"{"):
        raise InputError(path, found=seen(data), expected=examples)
    document = parse_json(path, data)
    keys = f" with {', '.join(map(quote, list(document)[:8]))}" if isinstance(document, dict) and document else ""
    raise InputError(path, found=shown(document) + keys, expected=examples)


def _split(images: Sequence[str], of: Benchmark, path: str | Path) -> str:
    """The split that all images are of; the file's own name if they are of several or none."""
    for split in of.splits:
        if images and all(of.in_split(name, split) for name in images):
            return split
    return Path(path).name.split(".", 1)[0]


def _in_words_of(classes: HoiClasses, rows: Rows, path: str | Path) -> Interactions:
    """Turn what a file says into a valid table whose vocabularies are those of a class list."""

    def place(row: int) -> str:
        return triplet_name((rows.images, rows.image), row)

    verb = labels_of_words(path, "verb", rows.verb, rows.verbs, classes.verbs, place)
    object_ = labels_of_words(path, "object", rows.object, rows.objects, classes.objects, place)
    foreign: Mask = classes.of[verb, object_] < 0
    if foreign.any():
        row = int(np.argmax(foreign))
        found = f"{quote(classes.verbs[verb[row]])} with {quote(classes.objects[object_[row]])}"
        expected = f"one of the {len(classes)} classes of {classes.name}"
        raise InputError(path, record=place(row), found=found, expected=expected)
    return replace(rows, verb=verb, object=object_, verbs=classes.verbs, objects=classes.objects).table(path)
