"""The ``Benchmark`` class: classes, file formats, splits and protocols of a dataset in one object."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import ClassSplit, HoiClasses
from shoe.benchmarks.pairs import single_pair_images
from shoe.core.arrays import Indices, Mask, positions
from shoe.core.documents import Document
from shoe.core.interactions import Interactions, Rows
from shoe.core.io.json import parse_json, read_typed

if TYPE_CHECKING:
    from shoe.benchmarks.protocols import RoleOptions
    from shoe.benchmarks.scoring_options import StrictOptions

# Dataset card, in ``card.json``, and published sizes of splits, in ``published.json``

IMAGE_LABELS = "image labels"
"""Value of ``CardFile.holds`` for a file of image-level labels."""


class CardFile(Document, frozen=True):
    """A published file of a dataset.

    Attributes:
        name: file name.
        holds: name of the published split in the file, or ``IMAGE_LABELS``; files with the same value are alternatives.
        purpose: task for which users need the file.
        place: download location, and the licence of the file if it differs from that of the dataset.
    """

    name: str
    holds: str
    purpose: str
    place: str


@dataclass(frozen=True, slots=True)
class Card:
    """Description of a dataset.

    ``title`` is the name as in papers, and a short description; ``files`` are files that users can download, because
    shoe downloads nothing; ``notes`` are remarks about the dataset, such as its sizes and usual scores, one line each.
    """

    title: str
    papers: tuple[str, ...]
    licence: str
    files: tuple[CardFile, ...]
    notes: tuple[str, ...] = ()

    @property
    def holdings(self) -> dict[str, list[CardFile]]:
        """Files of the dataset, grouped by the split that they contain; image-level labels are a further group."""
        kinds = dict.fromkeys(file.holds for file in self.files)
        return {kind: [file for file in self.files if file.holds == kind] for kind in kinds}


def read_card(path: Path) -> Card:
    """Read the description of a dataset from its file ``card.json``."""
    return read_typed(path, path.read_bytes(), Card, lambda _document, number, _record: f"file {number + 1}")


@dataclass(frozen=True, slots=True)
class Action:
    """An action of a benchmark that scores the actions of each person, such as V-COCO.

    ``roles`` are "instr" and "obj" in the official order; empty for an action without an object. If an action has both
    roles, ``instruments`` are the object categories with the role "instr"; others are "obj".
    """

    name: str
    gerund: str
    roles: tuple[str, ...]
    instruments: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Actions:
    """The A actions of a benchmark that scores the actions of each person (V-COCO), in the order of its files.

    ``left_out`` is the action and role that papers often exclude from mean role AP ("point-instr"); "" for none.
    """

    all: tuple[Action, ...]
    left_out: str = ""

    def __len__(self) -> int:
        return len(self.all)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the A actions."""
        return tuple(action.name for action in self.all)

    @cached_property
    def entries(self) -> tuple[tuple[int, str], ...]:
        """The R pairs (action index, role), one per role of each action. Role AP is the mean over these pairs."""
        return tuple((number, role) for number, action in enumerate(self.all) for role in action.roles)

    @cached_property
    def entry_names(self) -> tuple[str, ...]:
        """Names of the R pairs of an action and a role, such as "hit-instr"."""
        return tuple(f"{self.names[action]}-{role}" for action, role in self.entries)

    @cached_property
    def by_verb_id(self) -> tuple[tuple[int, int], ...]:
        """(action index, index into ``entries`` or -1 without roles) of each verb ID 0, 1, ... in files."""
        entry_of = {pair: entry for entry, pair in enumerate(self.entries)}
        pairs = ((number, role) for number, action in enumerate(self.all) for role in action.roles or ("",))
        return tuple((number, entry_of.get((number, role), -1)) for number, role in pairs)

    def entry_of(self, action: int, object_: str) -> int:
        """Return the index into ``entries`` of an action; -1 without roles. The object decides between two roles."""
        roles = self.all[action].roles
        if len(roles) > 1:
            roles = ("instr" if object_ in self.all[action].instruments else "obj",)
        return self.entries.index((action, roles[0])) if roles else -1

    def verb_ids(
        self, verbs: Sequence[str], objects: Sequence[str], verb: NDArray[np.integer], object_: NDArray[np.integer]
    ) -> Indices:
        """Return the (n,) verb IDs in files for n pairs of (n,) indices into ``verbs`` and ``objects``.

        The object is needed because an action with two roles has two verb IDs, and the object determines the role.
        """
        id_of = {pair: i for i, pair in enumerate(self.by_verb_id)}
        actions = [self.names.index(name) for name in verbs]
        ids: Indices = np.array([[id_of[a, self.entry_of(a, name)] for name in objects] for a in actions], np.int64)
        return np.asarray(ids[verb, object_])


SUBSETS: dict[str, Callable[[Interactions], Mask]] = {"single-pair": single_pair_images}
"""Image subsets of every benchmark: {name: function that returns the (m,) mask of the images in the subset}."""


class ImageLabel(IntEnum):
    """Annotators' answer to whether an image shows an HOI class: UNKNOWN (not annotated), NO, PERHAPS or YES."""

    UNKNOWN = -2
    NO = -1
    PERHAPS = 0
    YES = 1


@dataclass(frozen=True, slots=True)
class TruthFormat:
    """A file format of a benchmark's ground truth.

    Attributes:
        name, example: name in messages and reports, and typical file, such as "test_hico.json (PPDM, QPIC, SG)".
        fits: callback that returns whether the content of a file has this format.
        read: callback that returns the rows of a file, given path, content, benchmark and image split (or None).
        write: callback that writes a table with the benchmark's vocabularies to a path; None for a read-only format.
    """

    name: str
    example: str
    fits: Callable[[bytes], bool]
    read: Callable[[str | Path, bytes, Benchmark, str | None], Rows]
    write: Callable[[Interactions, str | Path, Benchmark], None] | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """Published size of a split: its source, and published counts by name (images, empty_images, triplets, classes)."""

    counts: Mapping[str, int]
    source: str


def read_published(path: Path) -> dict[str, Published]:
    """Read a benchmark's ``published.json``: the published sizes by split."""
    return {split: Published(**known) for split, known in parse_json(path, path.read_bytes()).items()}


def plain_image_name(value: object) -> str:
    """Return the file name, without folders, of an image path; raise ValueError for other values and empty names."""
    if isinstance(value, str) and (name := value.replace("\\", "/").rsplit("/", 1)[-1].strip()):
        return name
    raise ValueError


@dataclass(frozen=True, eq=False)
class Benchmark:
    """A dataset with its classes, file formats, splits and protocols.

    Attributes:
        name: name in commands and signatures.
        load_classes: callback that loads the class table; use ``classes``, which caches it.
        formats: file formats of its ground truth; native tables (.npz) are supported for every benchmark.
        image_name: callback that returns the image name in the ground truth, given a name, path or ID in a file; it
            raises ValueError for other values.
        image_example: example of an image name, for messages.
        test_images: callback that returns the names of the test images, in the order that is used by prediction files
            without image names.
        load_object_ids: callback that loads {object ID: name}, in the order of the 0-based object indices that some
            formats use instead of IDs; if None, object i of the class table has ID i.
        object_numbers: source of the object IDs, for messages, such as "COCO".
        verb_names: verbs in the order of their IDs in files, from 0; if None, the verbs of the class table. A verb
            without a class is -1 in ``verb_order``.
        splits: names of its image splits.
        class_splits: {name: callback that loads the class split}; masks are in the order of ``classes``.
        usual_class_split: name of the default class split, if there is one.
        subsets: image subsets, {name: callback that returns the (m,) mask of the images in the subset}.
        read_image_labels: callback that reads (K, m) int8 ``ImageLabel`` of K classes in m images, given path, image
            names, classes and benchmark.
        protocols: strict protocols by name.
        about: one-line description of each protocol.
        default_protocols: names of the protocols that score triplets by default.
        load_published: callback that loads the published sizes by split; use ``published``.
        load_card: callback that loads the dataset card; use ``card``.
        similarity: name of the default similarity map, which is in the package.
        load_actions: callback that loads the actions if the benchmark scores each person's actions; use ``actions``.
        role_protocols: protocols of agent AP and role AP, by name.
        in_split: callback that returns whether an image is in a split, given both names; by default, whether the image
            name contains the name of the split.
        marks: pattern that occurs only in files of this benchmark, such as its image names; needed if another
            benchmark has a similar format.
        flow: rules that assign error types in the diagnosis; None for those of :mod:`shoe.diagnosis.error_types`.
    """

    name: str
    load_classes: Callable[[], HoiClasses]
    formats: Sequence[TruthFormat] = ()
    image_name: Callable[[object], str] = plain_image_name
    image_example: str = "000001.jpg"
    test_images: Callable[[], Sequence[str]] | None = None
    load_object_ids: Callable[[], Mapping[int, str]] | None = None
    object_numbers: str = "the class table"
    verb_names: Sequence[str] | None = None
    splits: Sequence[str] = ()
    class_splits: Mapping[str, Callable[[], ClassSplit]] = field(default_factory=dict)
    usual_class_split: str | None = None
    subsets: Mapping[str, Callable[[Interactions], Mask]] = field(default_factory=lambda: SUBSETS)
    read_image_labels: Callable[[str | Path, Sequence[str], HoiClasses, Benchmark], NDArray[np.int8]] | None = None
    protocols: Mapping[str, StrictOptions] = field(default_factory=dict)
    about: Mapping[str, str] = field(default_factory=dict)
    default_protocols: Sequence[str] = ("shoe",)
    load_published: Callable[[], Mapping[str, Published]] | None = None
    load_card: Callable[[], Card] | None = None
    similarity: str = "hico-det"
    load_actions: Callable[[], Actions] | None = None
    role_protocols: Mapping[str, RoleOptions] = field(default_factory=dict)
    in_split: Callable[[str, str], bool] = str.__contains__
    marks: re.Pattern[bytes] | None = None
    flow: Sequence[tuple[Sequence[str], str]] | None = None

    @property
    def usual_protocols(self) -> tuple[str, ...]:
        """Names of the protocols scored by default: ``default_protocols``, then all ``role_protocols``."""
        return (*self.default_protocols, *self.role_protocols)

    @cached_property
    def classes(self) -> HoiClasses:
        """Class table."""
        return self.load_classes()

    @cached_property
    def object_ids(self) -> Mapping[int, str]:
        """{object ID: name}; the i-th entry, from 0, is object i in files that use indices instead of IDs."""
        return self.load_object_ids() if self.load_object_ids else dict(enumerate(self.classes.objects))

    @cached_property
    def actions(self) -> Actions:
        """Actions; empty unless the benchmark scores each person's actions."""
        return self.load_actions() if self.load_actions else Actions(())

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """Objects of the class table, then those of ``object_ids`` that are in no class."""
        return tuple(dict.fromkeys((*self.classes.objects, *self.object_ids.values())))

    @cached_property
    def object_order(self) -> Indices:
        """(n,) index into ``objects`` of each of the n names in ``object_ids``, in the order of ``object_ids``."""
        return positions(self.object_ids.values(), self.objects)

    @cached_property
    def object_of_id(self) -> Indices:
        """(largest ID + 1,) index into ``objects`` of each object ID in files; -1 for unused IDs."""
        table = np.full(max(self.object_ids) + 1, -1, np.int64)
        table[list(self.object_ids)] = self.object_order
        return table

    @cached_property
    def verb_order(self) -> Indices:
        """(verbs,) index into ``classes.verbs`` of each 0-based verb ID in files; -1 for a verb in no class."""
        return positions(self.verb_names or self.classes.verbs, self.classes.verbs)

    @cached_property
    def published(self) -> Mapping[str, Published]:
        """Published sizes by split; {} if none are known."""
        return self.load_published() if self.load_published else {}

    @cached_property
    def card(self) -> Card:
        """Description of the dataset; by default, only the name of the benchmark."""
        return self.load_card() if self.load_card else Card(self.name, (), "not known", ())
