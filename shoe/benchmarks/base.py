"""What a benchmark is to the rest of the project: one object that readers, scorer and diagnosis take as an argument."""

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
from shoe.core.arrays import Indices, Mask
from shoe.core.documents import Document
from shoe.core.interactions import Interactions
from shoe.core.io.json import parse_json, read_typed
from shoe.core.rows import Rows

if TYPE_CHECKING:
    from shoe.benchmarks.protocol_options import StrictOptions
    from shoe.benchmarks.protocols import RoleOptions

# What people want to know of a dataset before they have it: what it is, whose, under which terms, and where to get it.
#
# A benchmark's card lies beside it as ``card.json``; how large its splits are, ``published.json`` says.

IMAGE_LABELS = "image labels"
"""What a file of image-level labels holds."""


class CardFile(Document, frozen=True):
    """A file of a dataset as it is handed out.

    Attributes:
        name: what it is called there.
        holds: which published split, or ``IMAGE_LABELS``; files that hold the same take each other's place.
        purpose: what it is needed for.
        place: where to get it, and under which licence if that is another than the dataset's.
    """

    name: str
    holds: str
    purpose: str
    place: str


@dataclass(frozen=True, slots=True)
class Card:
    """A dataset in words.

    Attributes:
        title: its name as papers write it, and what it is.
        papers: who published it, and what it is scored by.
        licence: what may be done with it.
        files: what is to be had; nothing is downloaded by shoe.
        notes: what to know of its figures, one line each.
    """

    title: str
    papers: tuple[str, ...]
    licence: str
    files: tuple[CardFile, ...]
    notes: tuple[str, ...] = ()

    @property
    def holdings(self) -> dict[str, list[CardFile]]:
        """The files by what they hold, in the card's order."""
        found: dict[str, list[CardFile]] = {}
        for file in self.files:
            found.setdefault(file.holds, []).append(file)
        return found


def read_card(path: Path) -> Card:
    """Read a benchmark's ``card.json``."""
    return read_typed(path, path.read_bytes(), Card, lambda _document, number, _record: f"file {number}")


# What persons do in a benchmark that scores by person: actions, and the roles that objects have in them.


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        name: as the official files have it.
        roles: "instr" and "obj" in the official order; none for what a person does without an object.
        instruments: objects that are the instrument where there are two roles.
    """

    name: str
    gerund: str
    roles: tuple[str, ...]
    instruments: frozenset[str] = frozenset()

    def role_of(self, object_: str) -> str:
        """The role that an object category has in this action, which has a role.

        >>> hit = Action("hit", "hitting", ("instr", "obj"), frozenset({"tennis_racket"}))
        >>> hit.role_of("tennis_racket"), hit.role_of("sports_ball")
        ('instr', 'obj')
        """
        if len(self.roles) == 1:
            return self.roles[0]
        return "instr" if object_ in self.instruments else "obj"


@dataclass(frozen=True)
class Actions:
    """The A actions of a benchmark, in the order of its official files.

    Attributes:
        left_out: name of the entry that is often left out of the mean; "" for none.
    """

    all: tuple[Action, ...]
    left_out: str = ""

    def __len__(self) -> int:
        return len(self.all)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A names."""
        return tuple(action.name for action in self.all)

    @cached_property
    def entries(self) -> tuple[tuple[int, str], ...]:
        """The R pairs of an action and one of its roles: what role AP is a mean over."""
        return tuple((number, role) for number, action in enumerate(self.all) for role in action.roles)

    @cached_property
    def entry_names(self) -> tuple[str, ...]:
        """R names, as "hit-instr"."""
        return tuple(f"{self.names[action]}-{role}" for action, role in self.entries)

    @cached_property
    def numbered(self) -> tuple[tuple[int, int], ...]:
        """What verb numbers in files mean, as (action, entry): an action once a role, or once without one (-1)."""
        of = {pair: number for number, pair in enumerate(self.entries)}
        return tuple(
            (number, of.get((number, role), -1))
            for number, action in enumerate(self.all)
            for role in action.roles or ("",)
        )

    def entry_of(self, action: int, object_: str) -> int:
        """The entry in which an object category takes part in an action; -1 for an action without roles."""
        if not self.all[action].roles:
            return -1
        return self.entries.index((action, self.all[action].role_of(object_)))

    def numbers_of(
        self, verbs: Sequence[str], objects: Sequence[str], verb: NDArray[np.integer], object_: NDArray[np.integer]
    ) -> Indices:
        """The numbers that files have for n verbs with an object.

        ``verb`` and ``object_`` are (n,) indices into the names.
        """
        number = {pair: i for i, pair in enumerate(self.numbered)}
        known = [self.names.index(name) for name in verbs]
        of = np.array([[number[action, self.entry_of(action, name)] for name in objects] for action in known], np.int64)
        found: Indices = of[verb, object_]
        return found


SUBSETS: dict[str, Callable[[Interactions], Mask]] = {"single-pair": single_pair_images}
"""The subsets that any benchmark has: name, and the function that finds their images, (m,) True."""


class ImageLabel(IntEnum):
    """What annotators said of a class and a whole image."""

    UNKNOWN = -2
    """Nobody was asked."""
    NO = -1
    PERHAPS = 0
    YES = 1


@dataclass(frozen=True, slots=True)
class TruthFormat:
    """A kind of file that holds a benchmark's ground truth.

    Attributes:
        name: what messages and reports call it, as "PPDM/QPIC JSON".
        example: the file that people have it in, as "test_hico.json (PPDM, QPIC, SG)".
        fits: tells from a file's content whether it has this format.
        read: reads path, content, benchmark and the split asked for into rows.
        write: writes a table in the benchmark's words to a path; None for a format that is only read.
    """

    name: str
    example: str
    fits: Callable[[bytes], bool]
    read: Callable[[str | Path, bytes, Benchmark, str | None], Rows]
    write: Callable[[Interactions, str | Path, Benchmark], None] | None = None


@dataclass(frozen=True, slots=True)
class Published:
    """What a paper says of the size of a split: some of images, empty_images, triplets, classes; and where."""

    counts: Mapping[str, int]
    source: str


def read_published(path: Path) -> dict[str, Published]:
    """Read a benchmark's ``published.json``: the published sizes by split."""
    return {split: Published(**known) for split, known in parse_json(path, path.read_bytes()).items()}


def plain_image_name(value: object) -> str:
    """Turn what a file calls an image into its name: a file name without folders.

    Raises:
        ValueError: for anything but text, or text without a name.
    """
    name = value.replace("\\", "/").rsplit("/", 1)[-1].strip() if isinstance(value, str) else ""
    if not name:
        raise ValueError
    return name


@dataclass(frozen=True, eq=False)
class Benchmark:
    """All that is a benchmark's own.

    Attributes:
        name: as users type it, and as signatures say it.
        load_classes: loads its class table; use ``classes``, which does so once.
        formats: the files that hold its ground truth; native tables (.npz) are read for every benchmark.
        image_name: turns what files call an image (a name, a path, a number) into its name in the ground truth; a
            ``ValueError`` for what is none.
        image_example: an image name, for messages.
        test_images: names the images of the test set, in the order in which files without names have them.
        load_object_ids: the numbers that files have for objects: id to name, in the order of the 0-based indices that
            other files have instead; without it, objects count from 0 in the order of the class table.
        object_numbers: whose numbers these are, for messages, as "COCO".
        verb_names: verbs in the order of their numbers in files, from 0; without it, the class table's. One that no
            class has is -1 in ``verb_order``.
        splits: names of its splits; the images of a split have its name in theirs.
        class_splits: loads the splits of its classes, by name; their classes are in the order of ``classes``.
        usual_class_split: that which counts where none is named, if there is one.
        subsets: functions that find the images of a named part, (m,) True.
        read_image_labels: reads path, image names, classes and benchmark into (K, m) int8 ``ImageLabel``.
        protocols: its strict protocols by name.
        default_protocols: the protocols of triplets that are scored where none is named.
        load_card: what the dataset is in words, and where its files are to be had; use ``card``.
        similarity: the shipped map that semantic scores take where none is named.
        load_actions: loads what persons do, for a benchmark that scores by person; use ``actions``.
        role_protocols: its protocols that score actions and roles by person.
        in_split: tells whether an image is of a named split; without it, an image that has the split's name in its own.
        marks: finds what only its files hold, as names of its images, where formats of two benchmarks look the same.
        flow: rules of its own by which the diagnosis decides on an error type; see :mod:`shoe.diagnosis.error_types`.
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
        """What is scored where nobody names a protocol: the defaults, and all by person."""
        return (*self.default_protocols, *self.role_protocols)

    @cached_property
    def classes(self) -> HoiClasses:
        """The class table."""
        return self.load_classes()

    @cached_property
    def object_ids(self) -> Mapping[int, str]:
        """Number to name of each object, in the order of 0-based indices."""
        return self.load_object_ids() if self.load_object_ids else dict(enumerate(self.classes.objects))

    @cached_property
    def actions(self) -> Actions:
        """What persons do; no action at all for a benchmark that does not score by person."""
        return self.load_actions() if self.load_actions else Actions(())

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """The class table's objects, then those of files that are in no class."""
        return tuple(dict.fromkeys((*self.classes.objects, *self.object_ids.values())))

    @cached_property
    def object_order(self) -> Indices:
        """(objects,) index into ``objects`` of each 0-based object index in files."""
        return _positions(tuple(self.object_ids.values()), self.objects)

    @cached_property
    def object_of_id(self) -> Indices:
        """(largest id + 1,) index into ``objects`` of each object id in files; -1 for numbers that are none."""
        table = np.full(max(self.object_ids) + 1, -1, np.int64)
        table[list(self.object_ids)] = self.object_order
        return table

    @cached_property
    def verb_order(self) -> Indices:
        """(verbs,) index into ``classes.verbs`` of each 0-based verb number in files."""
        return _positions(self.verb_names or self.classes.verbs, self.classes.verbs)

    @cached_property
    def published(self) -> Mapping[str, Published]:
        """Published sizes by split."""
        return self.load_published() if self.load_published else {}

    @cached_property
    def card(self) -> Card:
        """What the dataset is in words; a benchmark that says nothing has its name."""
        return self.load_card() if self.load_card else Card(self.name, (), "not known", ())


def _positions(names: Sequence[str], known: Sequence[str]) -> Indices:
    position = {name: i for i, name in enumerate(known)}
    return np.array([position.get(name, -1) for name in names], np.int64)
