"""HOI classes of a benchmark (verbs, objects, synsets, rare classes), and splits of classes."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints, Mask, mask_of, positions
from shoe.core.errors import InputError, OptionError, did_you_mean, quote
from shoe.core.io.files import read_bytes

_COLUMNS = ["verb", "object", "gerund", "verb_synset", "object_synset", "rare"]
_KINDS = ["", "unscored", "unseen", "rare"]
NO_INTERACTION = "no_interaction"


@dataclass(frozen=True, eq=False)
class HoiClasses:
    """K HOI classes, each a (verb, object) pair, in the order of the dataset.

    Attributes:
        verbs, objects: distinct names, alphabetical; vocabularies of the ground truth.
        verb, object: (K,) indices into ``verbs`` and ``objects``.
        gerunds: -ing form of each verb, as the dataset writes it.
        verb_synsets, object_synsets: WordNet 3.0 synset names of each class's verb ("" for no_interaction) and object.
            Classes with the same verb may have different synsets.
        rare: (K,) whether a class has fewer than 10 training pairs, or is rare by the dataset's own definition.
        unseen: (K,) whether a class has no training pair; such a class is neither rare nor non-rare.
        scored: (K,) whether predictions for the test set are scored on the class.
        of: (verbs, objects) class index of each (verb, object) pair; -1 for a pair that is not a class.
        digest: 8 hex digits of the SHA-256 of the table.
        study_senses: {("verb" or "object", name): synset name} of each word that has another synset in the application
            of the SHOE authors' rating study than in the class table.
    """

    name: str
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    verb: NDArray[np.int32]
    object: NDArray[np.int32]
    gerunds: tuple[str, ...]
    verb_synsets: tuple[str, ...]
    object_synsets: tuple[str, ...]
    rare: NDArray[np.bool_]
    unseen: NDArray[np.bool_]
    scored: NDArray[np.bool_]
    of: NDArray[np.int32]
    digest: str
    study_senses: Mapping[tuple[str, str], str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.verb)

    @property
    def verb_sense(self) -> Ints:
        """(K,) ID of each class's verb synset; -1 without a synset. OptionError for a synset not in the lexicon."""
        return _sense_ids(self.verb_synsets)

    @property
    def object_sense(self) -> Ints:
        """(K,) ID of each class's object synset; -1 without a synset. OptionError for a synset not in the lexicon."""
        return _sense_ids(self.object_synsets)

    @property
    def labels(self) -> list[str]:
        """Labels of the K classes, such as "ride horse"."""
        return [f"{self.verbs[v]} {self.objects[o]}" for v, o in zip(self.verb, self.object, strict=True)]

    def columns_of(self, hoi: Indices) -> dict[str, Any]:
        """Return the vocabularies "verbs" and "objects", and the (n,) indices "verb" and "object" of n classes."""
        verb, object_ = self.verb[hoi].astype(np.int64), self.object[hoi].astype(np.int64)
        return {"verbs": self.verbs, "objects": self.objects, "verb": verb, "object": object_}

    @property
    def non_rare(self) -> NDArray[np.bool_]:
        """(K,) whether a class is neither rare nor unseen."""
        return ~(self.rare | self.unseen)

    @property
    def no_interaction(self) -> NDArray[np.bool_]:
        """(K,) whether a class has the verb no_interaction."""
        return np.array([self.verbs[v] == NO_INTERACTION for v in self.verb], bool)

    def evaluated(self, no_interaction: str) -> NDArray[np.bool_]:
        """Return a (K,) mask of the scored classes, without no_interaction classes if the argument is "exclude"."""
        return self.scored & ~self.no_interaction if no_interaction == "exclude" else self.scored

    @property
    def table(self) -> str:
        """Class table as text in the format of :func:`parse_classes`."""
        kinds = np.select([~self.scored, self.unseen, self.rare], _KINDS[1:], "").tolist()
        columns = zip(self.verb, self.object, self.verb_synsets, self.object_synsets, kinds, strict=True)
        return class_table([[self.verbs[v], self.objects[o], self.gerunds[v], *more] for v, o, *more in columns])


def read_classes(path: str | Path, usual: HoiClasses) -> HoiClasses:
    """Read a class table that replaces ``usual``, the table of a benchmark; name and study senses stay the same.

    Raises:
        InputError: if the file cannot be read, a line has another format, two labels differ only in case or separators,
            or a synset does not exist in the lexicon.
    """
    try:
        text = read_bytes(path).decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(path, found="bytes that are not UTF-8", expected="a tab-separated class table") from None
    classes = replace(parse_classes(text, usual.name, path), study_senses=usual.study_senses)
    _check_words([line.split("\t") for line in text.splitlines()[1:]], usual, path)
    return classes


@cache
def coco_categories() -> dict[int, str]:
    """Return the 80 object names by COCO category ID (1 to 90), in COCO's order."""
    text = Path(__file__).with_name("coco_categories.tsv").read_text("utf-8")
    return {int(number): name for name, number in (line.split("\t") for line in text.splitlines()[1:])}


def class_table(rows: Sequence[Sequence[str]]) -> str:
    """Return the text of a class table in the format of :func:`parse_classes`; each row has six fields."""
    return "".join("\t".join(row) + "\n" for row in [_COLUMNS, *rows])


def parse_classes(text: str, name: str, source: str | Path = "class table") -> HoiClasses:
    """Parse a class table: a header, and one line of six tab-separated fields per class.

    The fields are verb, object, gerund, WordNet 3.0 names of the verb's and the object's sense ("" for none), and
    "rare", "unseen" (not in the training set), "unscored" (not in the test set either) or "". ``source`` is the name of
    the file in errors.
    """
    lines = text.splitlines()
    if not lines or lines[0].split("\t") != _COLUMNS:
        raise InputError(source, record="line 1", found=quote(lines[0] if lines else ""), expected="\\t".join(_COLUMNS))
    rows = [line.split("\t") for line in lines[1:]]
    for number, row in enumerate(rows, start=2):
        if len(row) != len(_COLUMNS) or not row[0] or not row[1] or row[5] not in _KINDS:
            found, expected = quote(lines[number - 1]), "six fields, the last: '', rare, unseen or unscored"
            raise InputError(source, record=f"line {number}", found=found, expected=expected)
    if not rows:
        raise InputError(source, found="no classes", expected="one line per class below the header")
    verbs, objects = (sorted({row[i] for row in rows}) for i in (0, 1))
    verb, object_ = (positions([row[i] for row in rows], (verbs, objects)[i]).astype(np.int32) for i in (0, 1))
    class_of = np.full((len(verbs), len(objects)), -1, np.int32)
    class_of[verb, object_] = np.arange(len(rows))
    if (class_of >= 0).sum() != len(rows):
        raise InputError(source, found="a class twice", expected="each verb and object pair once")
    gerund, kind = {row[0]: row[2] for row in rows}, np.array([row[5] for row in rows])
    classes = HoiClasses(
        name=name,
        verbs=tuple(verbs),
        objects=tuple(objects),
        verb=verb,
        object=object_,
        gerunds=tuple(gerund[v] for v in verbs),
        verb_synsets=tuple(row[3] for row in rows),
        object_synsets=tuple(row[4] for row in rows),
        rare=kind == "rare",
        unseen=kind == "unseen",
        scored=kind != "unscored",
        of=class_of,
        digest="",
    )
    return replace(classes, digest=hashlib.sha256(classes.table.encode()).hexdigest()[:8])


def _sense_ids(synsets: tuple[str, ...]) -> Ints:
    from shoe.lexicon.store import lexicon, listed_ids

    ids = listed_ids(synsets)
    if unknown := next((name for name, sense in zip(synsets, ids.tolist(), strict=True) if sense < 0 and name), ""):
        hint = "`shoe lexicon carry` writes a class table with the sense names of this lexicon, for --classes"
        expected = f"a sense of {lexicon().title} ({hint})"
        raise OptionError(f"class table: found the sense {quote(unknown)}, expected {expected}")
    return ids


def _check_words(rows: Sequence[Sequence[str]], usual: HoiClasses, source: str | Path) -> None:
    """Raise InputError for labels that differ only in case or separators, such as "hot dog" and "Hot_Dog".

    Also raises InputError for a synset of another part of speech or not in the lexicon; empty fields are valid.
    """
    from shoe.lexicon.store import lexicon
    from shoe.lexicon.text import plain, tokens

    def check(column: int, number: int, *, is_right: bool, expected: str, hint: str | None = None) -> None:
        if not is_right:
            line, word = f"line {number}", quote(rows[number - 2][column])
            raise InputError(source, record=line, field=_COLUMNS[column], found=word, expected=expected, hint=hint)

    for column in (0, 1):
        first: dict[str, str] = {}
        for number, row in enumerate(rows, start=2):
            label = first.setdefault("".join(tokens(plain(row[column]))), row[column])
            expected = f"{quote(label)} as in another line, or a word that differs in more than case and separators"
            check(column, number, is_right=label == row[column], expected=expected)
    for column, pos, known in ((3, "v", usual.verb_synsets), (4, "n", usual.object_synsets)):
        kind = "verb" if pos == "v" else "noun"
        expected = f"a {kind} of {lexicon().title}, such as {known[0]}, or an empty cell"
        for number, row in enumerate(rows, start=2):
            synset = lexicon().synset(row[column])
            is_right = not row[column] or (synset >= 0 and lexicon().pos(synset) == pos)
            hint = None if is_right else did_you_mean(row[column], known)
            check(column, number, is_right=is_right, expected=expected, hint=hint)


SEEN, UNSEEN = "seen", "unseen"
"""Parts of zero-shot splits, whose harmonic mean is reported."""


@dataclass(frozen=True, eq=False)
class ClassSplit:
    """Named parts of the K classes with separate scores, such as seen and unseen classes in zero-shot detection.

    Attributes:
        parts: (K,) mask of the classes of each part; parts may overlap, and need not cover all classes.
        source: publication or origin of the split.
        about: description of the held-out classes.
    """

    name: str
    parts: Mapping[str, Mask]
    source: str
    about: str = ""

    @classmethod
    def of_unseen(
        cls, name: str, unseen: Sequence[int] | Indices, classes: int, source: str, about: str = ""
    ) -> ClassSplit:
        """Return the split into unseen and seen classes, given the indices of unseen classes and the number of classes.

        >>> {part: mask.tolist() for part, mask in ClassSplit.of_unseen("last", [2], 3, "example").parts.items()}
        {'unseen': [False, False, True], 'seen': [True, True, False]}
        """
        mask = mask_of(np.asarray(unseen, np.int64), classes)
        return cls(name, {UNSEEN: mask, SEEN: ~mask}, source, about)

    @cached_property
    def digest(self) -> str:
        """8 hex digits of the SHA-256 of the parts; independent of the split's name."""
        digest = hashlib.sha256()
        for part, mask in self.parts.items():
            digest.update(f"{part}\n{' '.join(map(str, np.flatnonzero(mask)))}\n".encode())
        return digest.hexdigest()[:8]

    def within(self, own: HoiClasses, classes: HoiClasses) -> ClassSplit:
        """Convert this split of the class table ``own`` to one of ``classes``; a class not in ``own`` is in no part."""
        if own is classes:
            return self
        rows = positions(classes.labels, own.labels)
        return replace(self, parts={part: np.append(mask, False)[rows] for part, mask in self.parts.items()})
