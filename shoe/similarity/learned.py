"""Predicted ratings of unrated pairs: a table of levels stored with a map, memory-mapped on first access.

The prediction model assigns each pair one of 16 levels. A level stands for a distribution of ratings 0 to 4, measured
on held-out pairs with this level. ``shoe map learn`` writes the table; reading the table needs no model.

::

    magic, length of the header, header (JSON: lexicon, arrays), then per part of speech
    classes  (C,) int32 class senses              senses   (S,) int32 senses, ascending
    levels   (S, ceil(C / 2)) uint8, two levels   ratings  (16, 5) float32 fraction of each rating at a level
    shared   (2,) float32 fraction of the error variance due to the class, and to the sense

A sense that is not in the table has level 0 with every class. A class that is not in the table has no levels.
"""

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
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import lexicon
from shoe.similarity.ensemble import HIGHEST

FILE = "learned.bin"
CREDIT_FROM = 0.5
"""Lowest predicted mean rating, 0 to 4, with which an unrated pair gets credit."""
_MAGIC = b"shoelrn1"
_KINDS = {"classes": "<i4", "senses": "<i4", "levels": "<u1", "ratings": "<f4", "shared": "<f4"}


@dataclass(frozen=True, slots=True, eq=False)
class LearnedPart:
    """Predicted ratings of the pairs of C class senses and S senses of one part of speech.

    A byte of ``levels`` has two levels: column k has class 2 k in its lower four bits and class 2 k + 1 in its upper
    four bits (:func:`pack_levels`). ``shared`` are fractions of the variance of prediction errors, as normal deviates
    (:func:`sample_ratings`).
    """

    classes: Ints  # (C,) IDs of the class senses
    senses: Ints  # (S,) IDs of the other senses, ascending
    levels: NDArray[np.uint8]  # (S, ceil(C / 2)) level 0 to 15 of the predicted rating of each pair
    ratings: NDArray[np.float32]  # (16, 5) fraction of each rating 0 to 4 per level; the mean rises with the level
    shared: NDArray[np.float32]  # (2,) fraction common to all pairs of a class, and to all pairs of a sense

    def levels_of(self, class_senses: Ints, senses: Ints) -> NDArray[np.int8]:
        """Return (C, S) levels 0 to 15 of predicted ratings; -1 for an unknown class, else 0 for an unknown sense."""
        column = np.full(len(lexicon()) + 1, -1, np.int32)  # the last is of the class without a sense, -1
        column[self.classes] = np.arange(len(self.classes))
        row = np.searchsorted(self.senses, senses)
        there = np.append(self.senses, -1)[row] == senses
        columns = column[class_senses]
        two = self.levels[np.where(there, row, 0)][:, columns // 2].T
        known = np.where(columns[:, None] % 2 == 1, two >> 4, two & 15).astype(np.int8)
        known[:, ~there] = 0
        known[columns < 0] = -1
        return known

    def expected(self, class_senses: Ints, senses: Ints) -> Floats:
        """Return the (C, S) mean predicted ratings divided by 4, 0..1; NaN for a class that is not in the table.

        Mean ratings (0 to 4) below 0.5 count as 0; otherwise the maximum over a word's senses would exceed 0 by chance.
        """
        means = self.ratings @ np.arange(HIGHEST + 1.0)
        means = np.append(np.where(means < CREDIT_FROM, 0, means) / HIGHEST, np.nan)
        return np.asarray(means[self.levels_of(class_senses, senses)])


def sample_ratings(ratings: NDArray[np.floating], levels: NDArray[np.integer], deviates: Floats) -> Indices:
    """Return (n,) ratings 0..4 sampled for n pairs from the rating distributions of their levels.

    Args:
        ratings: (L, 5) fraction of each rating 0..4 per level.
        levels: (n,) level of each pair.
        deviates: (n,) standard normal deviates. The p-quantile of the normal distribution is converted to the
            p-quantile of the level's rating distribution, so that a higher deviate gives the same or a higher rating.
    """
    from scipy.special import ndtri  # for intervals alone

    # Deviates below which the rating is lower than 1, 2, 3 and 4, per level.
    ends = ndtri(np.clip(ratings.cumsum(axis=1)[:, :-1].astype(np.float64), 0, 1))
    return np.asarray(np.add.reduce([deviates >= end[levels] for end in ends.T], dtype=np.int64))


def pack_levels(levels: Indices) -> NDArray[np.uint8]:
    """Return (S, C) levels 0 to 15 as (S, ceil(C / 2)) bytes: two levels each, even columns in the lower four bits."""
    even = np.pad(levels.astype(np.uint8), ((0, 0), (0, levels.shape[1] % 2)))
    return even[:, ::2] | even[:, 1::2] << np.uint8(4)


Learned = Mapping[Part, LearnedPart]


@dataclass(frozen=True)
class LearnedFile:
    """File with a similarity map's predicted ratings, and its expected SHA-256; read on first access."""

    path: Path
    sha256: str

    @cached_property
    def learned(self) -> Learned:
        """Predictions per part of speech, read by :func:`read_learned` on first access."""
        return read_learned(self.path, self.sha256)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, with the content, because another process may not have the file."""
        return vars(self) | {"learned": self.learned}


def read_learned(path: Path, digest: str) -> Learned:
    """Return the memory-mapped predictions of a file per part of speech; ``digest`` is its expected SHA-256.

    Raises InputError if the file is missing, does not match the digest, or was made with another lexicon.
    """
    hint = "run `shoe map learn` again"
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError) as error:
        raise InputError(path, found=type(error).__name__, expected="a table of predicted ratings") from None
    if hashlib.sha256(content).hexdigest() != digest or content[:8] != _MAGIC:
        raise InputError(path, found="changed content", expected="content with the SHA-256 in map.json", hint=hint)
    start = 16 + int.from_bytes(content[8:16], "little")
    header = msgspec.json.decode(content[16:start])
    if header["lexicon"] != lexicon().digest:
        raise InputError(path, found=f"lexicon {header['lexicon']}", expected=lexicon().digest, hint=hint)
    arrays: dict[str, dict[str, Any]] = {}
    for part, name, offset, shape in header["arrays"]:
        array = np.frombuffer(content, _KINDS[name], int(np.prod(shape)), start + offset).reshape(shape)
        arrays.setdefault(part, {})[name] = array
    return {part: LearnedPart(**arrays[part]) for part in POS}


def learned_bytes(learned: Learned) -> bytes:
    """Return predictions per part of speech as the content of a file that :func:`read_learned` reads."""
    listed, parts, offset = [], [], 0
    for part, of_part in learned.items():
        for name, kind in _KINDS.items():
            array = np.ascontiguousarray(getattr(of_part, name), kind)
            parts.append(array.tobytes() + bytes(-array.nbytes % 8))
            listed.append((part, name, offset, array.shape))
            offset += len(parts[-1])
    header = msgspec.json.encode({"lexicon": lexicon().digest, "arrays": listed})
    header += b" " * (-len(header) % 8)
    return b"".join([_MAGIC, len(header).to_bytes(8, "little"), header, *parts])
