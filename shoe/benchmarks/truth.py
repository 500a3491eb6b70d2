"""Ground truth of any benchmark, its reader, and files that define a split of classes."""

from __future__ import annotations

import copyreg
import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.base import Benchmark, ImageLabel
from shoe.benchmarks.checks import labels_of_words, refuse_other_benchmarks, triplet_name
from shoe.benchmarks.classes import ClassSplit, HoiClasses
from shoe.core.arrays import Indices, Ints, Mask, first_true, positions
from shoe.core.errors import InputError, OptionError, did_you_mean, pluralize, quote, unknown_name
from shoe.core.interactions import Interactions, Rows, image_index
from shoe.core.io.files import describe_content, read_bytes
from shoe.core.io.json import describe_value, parse_json
from shoe.core.io.native import notes_of_native, read_native
from shoe.core.roles import RoleTruth

_HELD_OUT = "held_out"
PART = "part"
"""Suffix of the split of ground truth with fewer images or triplets than published."""


def read_class_split(path: str | Path, classes: HoiClasses) -> ClassSplit:
    """Read a class split from a file of the unseen classes; the split's name is the file name without extension.

    The file has one class per line, such as "ride horse", or is JSON with a list ``held_out`` of classes, as written by
    ``shoe dataset split``. Raises InputError for an unknown class, or if no classes or all classes are unseen.
    """
    data = read_bytes(path)
    is_json = data.lstrip()[:1] in (b"{", b"[")
    lines = _held_out(path, data) if is_json else data.decode("utf-8", "replace").splitlines()
    labels = [" ".join(line.split()) for line in lines]
    rows = positions(labels, classes.labels)
    if (i := next((i for i, label in enumerate(labels) if label and rows[i] < 0), None)) is not None:
        expected = f"a class of {classes.name}, such as {quote(classes.labels[0])}"
        hint = did_you_mean(labels[i], classes.labels)
        raise InputError(path, record=f"class {i + 1}", found=quote(labels[i]), expected=expected, hint=hint)
    unseen = np.unique(rows[rows >= 0])
    if not 0 < len(unseen) < len(classes):
        found = f"{len(unseen)} of {len(classes)} classes"
        raise InputError(path, found=found, expected="at least one unseen and one seen class")
    return ClassSplit.of_unseen(Path(path).stem, unseen, len(classes), str(Path(path).name))


def _held_out(path: str | Path, data: bytes) -> list[str]:
    document = parse_json(path, data)
    if not isinstance(document, dict):
        expected = "one class per line, or the file split.json of `shoe dataset split`"
        raise InputError(path, found="a JSON list", expected=expected)
    labels = document.get(_HELD_OUT)
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        found = "none" if labels is None else quote(labels)
        expected = "a list of classes, as written by `shoe dataset split`"
        raise InputError(path, field=_HELD_OUT, found=found, expected=expected)
    return labels


# A benchmark consists of functions, so it is pickled by its name.
copyreg.pickle(Benchmark, lambda data: (benchmark, (data.name,)))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GroundTruth:
    """Annotations that predictions are scored against.

    Attributes:
        interactions: triplets, with the vocabularies of ``classes``.
        classes: HOI classes.
        split: name of the split, such as "test2015"; the file name without extension if the split is unknown.
        image_labels: (K, m) int8 ``ImageLabel`` of K classes in m images; None without image-level labels.
        format: file format, such as "PPDM/QPIC JSON".
        left_out: names of training images left out because their triplets refer to boxes that the file does not have.
        benchmark: benchmark of the ground truth.
        roles: annotations of each person, for agent AP and role AP; None if the file has none.
        class_split: parts of the classes with separate scores; None if no class split is used.
        image_numbers: (m,) IDs by which prediction files refer to images; None if they use names.
        excluded: {image name: reason} of the images of the file that are not scored; empty if all are scored.
        cut: text such as "9,000 of 9,658 images of test2015" if images or triplets of the published split are missing;
            otherwise "".
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
    cut: str = ""
    excluded: Mapping[str, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        sizes = f"{len(self.interactions):,} triplets on {len(self.interactions.images):,} images"
        return f"<GroundTruth: {self.classes.name} {self.split}, {sizes}>"

    @property
    def hoi(self) -> Ints:
        """(n,) class index of each triplet."""
        return self.classes.of[self.interactions.verb, self.interactions.object]

    @property
    def triplets_per_class(self) -> Indices:
        """(K,) number of triplets of each class."""
        return np.bincount(self.hoi, minlength=len(self.classes))

    @property
    def class_parts(self) -> Mapping[str, Mask]:
        """(K,) mask of the classes of each part of the class split, by name; empty without a class split."""
        return self.class_split.parts if self.class_split else {}

    def signature_fields(self) -> dict[str, str]:
        """Return the signature fields of the ground truth: dataset, split, sizes, and hashes of the annotations."""
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
        """Return 8 hex digits of the SHA-256 of everything that can change a score."""
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
        """Return ``images`` with each image ID (as text) replaced by the image's name; other texts are unchanged."""
        if self.image_numbers is None:
            return images
        known = frozenset(self.interactions.images)
        name_of = {str(number): name for number, name in zip(self.image_numbers, self.interactions.images, strict=True)}
        return tuple(image if image in known else name_of.get(image, image) for image in images)

    def subset(self, name: str) -> GroundTruth:
        """Return the ground truth of a named subset, whose name is appended to the split; OptionError if unknown."""
        subsets = self.benchmark.subsets
        if name not in subsets:
            raise unknown_name("subset", name, subsets)
        return self._part(name, subsets[name](self.interactions), f"not in the subset {name}")

    def within(self, *predicted: Sequence[str]) -> GroundTruth:
        """Return the ground truth of the images that occur in all prediction files, with or without predictions.

        Each argument contains the image names of one file. Scores on these images are not comparable with scores on the
        split, so the split name and the signature change.

        Raises:
            InputError: if no image is left.
            OptionError: for an argument that is not a list of names.
        """
        images = self.interactions.images
        keep = np.ones(len(images), bool)
        for names in predicted:
            if isinstance(names, str) or not isinstance(names, Sequence):
                expected = "a list of image names, such as predictions.images"
                raise OptionError(f"within: found {quote(names)}, expected {expected}")
            keep &= np.isin(np.arange(len(images)), image_index(self.names_of(tuple(names)), images))
        if not keep.any():
            expected = "images of the ground truth" if len(predicted) == 1 else "images that occur in all files"
            found, hint = "none", None
            if not all(map(len, predicted)):
                found, hint = "no predictions", "leave out --images-in-predictions"
            raise InputError("predictions", field="image", found=found, expected=expected, hint=hint)
        return self._part("images-in-predictions", keep, "not in all prediction files")

    def _part(self, name: str, images: Mask, why: str) -> GroundTruth:
        return replace(
            self,
            interactions=self.interactions.select_images(images),
            split=f"{self.split}/{name}",
            image_labels=None if self.image_labels is None else self.image_labels[:, images],
            roles=None if self.roles is None else self.roles.select_images(np.flatnonzero(images)),
            image_numbers=None if self.image_numbers is None else self.image_numbers[images],
            excluded={**self.excluded, **dict.fromkeys(np.array(self.interactions.images, object)[~images], why)},
        )


def read_truth_file(
    path: str | Path,
    dataset: str | Benchmark = DEFAULT,
    *,
    classes: HoiClasses | None = None,
    image_labels: str | Path | None = None,
    split: str | None = None,
) -> GroundTruth:
    """Read a ground truth file. For a file of predictions, ``shoe.read_ground_truth`` raises a clearer error.

    Arguments and errors are those of ``shoe.read_ground_truth``. The result is named after the image split that
    contains all images, else after the file; "/part" is appended if a part of the published split is missing.
    """
    dataset = benchmark(dataset)
    classes = dataset.classes if classes is None else classes
    class_split, split = _class_split(dataset, classes, split)
    format_name, rows = _read(path, dataset, split)
    interactions = _validated_table(classes, rows, path)
    found = _split(interactions.images, dataset, path)
    if split not in (None, found):
        known = f"; class splits: {', '.join(dataset.class_splits)}, or a file with the unseen classes"
        near = did_you_mean(split, [found, *dataset.class_splits])
        missing = f"no split {quote(split)}" + (f" ({near})" if near else "")
        raise OptionError(f"{path} contains {missing}; it contains {found}{known if dataset.class_splits else ''}")
    labels = None
    if image_labels is not None:
        if dataset.read_image_labels is None:
            raise OptionError(f"{dataset.name} has no image-level labels: remove --image-labels {image_labels}")
        labels = dataset.read_image_labels(image_labels, interactions.images, classes, dataset)
    cut = _cut(interactions, dataset, found)
    more = rows.left_out, dataset, class_split, rows.annotated, rows.numbers, cut
    return GroundTruth(interactions, classes, f"{found}/{PART}" if cut else found, labels, format_name, *more)


def _class_split(dataset: Benchmark, classes: HoiClasses, split: str | None) -> tuple[ClassSplit | None, str | None]:
    """Return the class split that ``split`` names, or else the default one, and the image split that it names, if any.

    ``split`` is the name or file of a class split, or the name of an image split.
    """
    own = dataset.class_splits
    if split is not None and split not in own and split not in dataset.splits and os.path.isfile(split):
        return read_class_split(split, classes), None
    name = split if split in own else None
    load = own.get(name or dataset.usual_class_split or "")
    return load().within(dataset.classes, classes) if load else None, None if name else split


def _read(path: str | Path, dataset: Benchmark, split: str | None) -> tuple[str, Rows]:
    data = read_bytes(path)
    if data.startswith(b"PK"):
        table = read_native(path, data)
        if notes_of_native(path, data):
            hint = "are PREDICTIONS and --ground-truth swapped?"
            raise InputError(path, found="a native table of predictions", expected="ground truth", hint=hint)
        return "native table", replace(Rows.from_table(table), score=None)
    refuse_other_benchmarks(path, data, dataset)
    for known in dataset.formats:
        if known.fits(data):
            return known.name, known.read(path, data, dataset, split)
    examples = f"ground truth: {', '.join(known.example for known in dataset.formats)}, or a native table (.npz)"
    if data.lstrip()[:1] not in (b"[", b"{"):
        raise InputError(path, found=describe_content(data), expected=examples)
    document = parse_json(path, data)
    keys = f" with {', '.join(map(quote, list(document)[:8]))}" if isinstance(document, dict) and document else ""
    raise InputError(path, found=describe_value(document) + keys, expected=examples)


def _split(images: Sequence[str], dataset: Benchmark, path: str | Path) -> str:
    for split in dataset.splits:
        if images and all(dataset.in_split(name, split) for name in images):
            return split
    return Path(path).name.split(".", 1)[0]


def _cut(table: Interactions, dataset: Benchmark, split: str) -> str:
    """Return text such as "9 of 10 images of test2015" if parts of a published split are missing; else ""."""
    versions = [each.counts for name, each in dataset.published.items() if name.partition(",")[0] == split]
    counts = {"images": len(table.images), "triplets": len(table)}
    known = {name: min((version[name] for version in versions), default=0) for name in counts}
    missing = [f"{counts[name]:,} of {known[name]:,} {name}" for name in counts if counts[name] < known[name]]
    return f"{' and '.join(missing)} of {split}" if missing else ""


def _validated_table(classes: HoiClasses, rows: Rows, path: str | Path) -> Interactions:
    place = partial(triplet_name, (rows.images, rows.image))
    verb = labels_of_words(path, "verb", rows.verb, rows.verbs, classes.verbs, place)
    object_ = labels_of_words(path, "object", rows.object, rows.objects, classes.objects, place)
    if (row := first_true(classes.of[verb, object_] < 0)) is not None:
        found = f"{quote(classes.verbs[verb[row]])} with {quote(classes.objects[object_[row]])}"
        expected = f"one of the {len(classes)} classes of {classes.name}"
        raise InputError(path, record=place(row), found=found, expected=expected)
    table = replace(rows, verb=verb, object=object_, verbs=classes.verbs, objects=classes.objects).table(path)
    _refuse_exchanged_sizes(table, path)
    return table


# Fraction of the images; 0 in the annotations of HICO-DET and V-COCO, 61 to 75 % if sides are exchanged.
_EXCHANGED = 0.05


def _refuse_exchanged_sizes(table: Interactions, path: str | Path) -> None:
    """Raise InputError if boxes of many images lie outside the stated size, but inside height x width."""
    farthest = np.zeros((len(table.images), 2))
    for boxes in (table.human_boxes, table.object_boxes):
        np.maximum.at(farthest, table.image, boxes[:, 2:])
    known = (table.sizes > 0).all(axis=1)
    outside, inside = (farthest > table.sizes + 1).any(axis=1), (farthest <= table.sizes[:, ::-1] + 1).all(axis=1)
    exchanged = np.flatnonzero(known & outside & inside)
    if len(exchanged) and len(exchanged) >= _EXCHANGED * known.sum():
        (width, height), (x, y) = table.sizes[exchanged[0]].tolist(), farthest[exchanged[0]].tolist()
        record = f"image {quote(table.images[exchanged[0]])}"
        found = f"width {width}, height {height}, and boxes up to x = {x:g}, y = {y:g}"
        hint = f"in {len(exchanged):,} of {pluralize(int(known.sum()), 'image')}: are width and height exchanged?"
        raise InputError(path, record=record, field="size", found=found, expected="boxes inside the image", hint=hint)
