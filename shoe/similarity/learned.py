"""Predicted ratings of pairs that nobody rated: a dense table of levels beside a map, mapped into memory when asked.

A level stands for a distribution of the rating 0 to 4: what pairs got that a model, which had not seen their ratings,
put at the same level. ``shoe map learn`` writes the table; reading it needs no model.

::

    magic, length of the header, header (JSON: lexicon, arrays), then per part of speech
    classes  (C,) int32 class senses              senses   (S,) int32 senses, ascending
    levels   (S, ceil(C / 2)) uint8, two levels   ratings  (16, 5) float32 share of each rating at a level
    shared   (2,) float32 how far errors are those of the class, and of the sense

A sense that is not in the table has level 0 with every class; a class that is not in it has none.
"""

from __future__ import annotations

import hashlib
import mmap
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints
from shoe.core.errors import InputError
from shoe.lexicon.expressions import POS, Part
from shoe.lexicon.store import lexicon
from shoe.similarity.ensemble import HIGHEST

FILE = "learned.bin"
_MAGIC = b"shoelrn1"
_KINDS = {"classes": "<i4", "senses": "<i4", "levels": "<u1", "ratings": "<f4", "shared": "<f4"}


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPart:
    """Predictions of one part of speech: C class senses against S senses at L levels.

    Attributes:
        classes: (C,) ids.
        senses: (S,) ids, ascending.
        levels: (S, ceil(C / 2)) level 0 to 15 of each pair: of classes 2 k and 2 k + 1 in the lower and the upper four
            bits of column k (:func:`packed`).
        ratings: (16, 5) share of each rating 0 to 4 at a level; rising means.
        shared: (2,) share of the variance of errors, as normal deviates, that all pairs of a class have in common, and
            all pairs of a sense.
    """

    classes: Ints
    senses: Ints
    levels: NDArray[np.uint8]
    ratings: NDArray[np.float32]
    shared: NDArray[np.float32]

    def levels_of(self, class_senses: Ints, senses: Ints) -> NDArray[np.int8]:
        """(C, S) level of each pair of some senses; -1 for a class that is not in the table."""
        column = np.full(len(lexicon()) + 1, -1, np.int32)  # the last is of the class without a sense, -1
        column[self.classes] = np.arange(len(self.classes))
        of_class = column[class_senses]
        row = np.searchsorted(self.senses, senses)
        there = np.append(self.senses, -1)[row] == senses
        two = self.levels[np.where(there, row, 0)].T
        # One row a class: those of the table, then one for classes that are not in it.
        known = np.full((2 * len(two) + 1, len(senses)), -1, np.int8)
        known[:-1:2], known[1::2] = two & 15, two >> 4
        known[:-1, ~there] = 0
        return known[of_class]

    def expected(self, class_senses: Ints, senses: Ints) -> Floats:
        """(C, S) mean of the predicted rating, 0..1; NaN for a class that is not in the table.

        Means that are nearer to 0 than to 1 are 0, as a rating would be: the best of a word's many senses would add up
        what is probably nothing.
        """
        means = self.ratings @ np.arange(HIGHEST + 1.0)
        means = np.append(np.where(means < 0.5, 0, means) / HIGHEST, np.nan)
        found: Floats = means[self.levels_of(class_senses, senses)]
        return found


def drawn_ratings(ratings: NDArray[np.floating], levels: NDArray[np.integer], luck: Floats) -> Indices:
    """(n,) ratings 0..4 of pairs at some levels: each distribution's quantile that a normal deviate stands for.

    Args:
        ratings: (L, 5) fraction of each rating at a level.
        levels: (n,) levels of the pairs.
        luck: (n,) normal deviates.
    """
    # Up to which deviate the rating is lower than 1, 2, 3, 4; a table of a few numbers.
    ends = np.array([[_normal_quantile(p) for p in row] for row in ratings.cumsum(axis=1)[:, :-1].tolist()])
    found: Indices = np.add.reduce([luck >= end[levels] for end in ends.T], dtype=np.int64)
    return found


def _normal_quantile(share: float) -> float:
    from statistics import NormalDist  # for intervals alone

    if not 0 < share < 1:
        return -np.inf if share <= 0 else np.inf
    return NormalDist().inv_cdf(share)


def packed(levels: Indices) -> NDArray[np.uint8]:
    """(S, ceil(C / 2)) bytes of (S, C) levels 0 to 15, two in each."""
    even = np.pad(levels.astype(np.uint8), ((0, 0), (0, levels.shape[1] % 2)))
    return even[:, ::2] | even[:, 1::2] << np.uint8(4)


Learned = Mapping[Part, LearnedPart]


@dataclass(frozen=True)
class LearnedFile:
    """A map's table of predictions, read when first asked for."""

    path: Path
    sha256: str

    @cached_property
    def learned(self) -> Learned:
        """Predicted ratings; see :func:`read_learned`."""
        return read_learned(self.path, self.sha256)

    def __getstate__(self) -> dict[str, Any]:
        """With the content: where another process goes on, there may be no such file."""
        return vars(self) | {"learned": self.learned}


def read_learned(path: Path, digest: str) -> Learned:
    """Map a table of predictions into memory; ``digest`` is the SHA-256 of its content, as the map says.

    Raises:
        InputError: if it is not there, not what the map says, or made with another lexicon.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise InputError(path, found=type(error).__name__, expected="a table of predicted ratings") from None
    if hashlib.sha256(content).hexdigest() != digest or content[:8] != _MAGIC:
        hint = "shoe map learn makes it anew"
        raise InputError(path, found="another content", expected="the one that map.json describes", hint=hint)
    start = 16 + int.from_bytes(content[8:16], "little")
    header = msgspec.json.decode(content[16:start])
    if header["lexicon"] != lexicon().digest:
        hint = "shoe map learn makes it anew"
        raise InputError(path, found=f"lexicon {header['lexicon']}", expected=lexicon().digest, hint=hint)
    arrays: dict[str, dict[str, Any]] = {}
    for part, name, offset, shape in header["arrays"]:
        array = np.frombuffer(content, _KINDS[name], int(np.prod(shape)), start + offset).reshape(shape)
        arrays.setdefault(part, {})[name] = array
    return {part: LearnedPart(**arrays[part]) for part in POS}


def learned_bytes(learned: Learned) -> bytes:
    """Write a table of predictions."""
    listed, parts, offset = [], [], 0
    for part, of_part in learned.items():
        for name, kind in _KINDS.items():
            array = np.ascontiguousarray(getattr(of_part, name), kind)
            content = array.tobytes() + bytes(-array.nbytes % 8)
            listed.append((part, name, offset, array.shape))
            parts.append(content)
            offset += len(content)
    header = msgspec.json.encode({"lexicon": lexicon().digest, "arrays": listed})
    header += b" " * (-len(header) % 8)
    return b"".join([_MAGIC, len(header).to_bytes(8, "little"), header, *parts])
