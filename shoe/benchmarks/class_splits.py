"""Splits of a benchmark's classes, as zero-shot work makes them: seen and unseen, or held-out combinations."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Indices, Mask

SEEN, UNSEEN = "seen", "unseen"
"""The parts that a harmonic mean is of."""


@dataclass(frozen=True, eq=False)
class ClassSplit:
    """Named parts of K classes, each of which has figures of its own beside those over all classes.

    Attributes:
        name: as users type it, and as signatures say it.
        parts: (K,) each, the classes of a part; parts may share classes, and some classes may be in none.
        source: where it is published, or how it was made.
        about: what is held out, in words.
    """

    name: str
    parts: Mapping[str, Mask]
    source: str
    about: str = ""

    @classmethod
    def of_unseen(
        cls, name: str, unseen: Sequence[int] | Indices, classes: int, source: str, about: str = ""
    ) -> ClassSplit:
        """The split of some classes and all others.

        Example:
            >>> split = ClassSplit.of_unseen("last", [2], 3, "made for this example")
            >>> {part: np.flatnonzero(mask).tolist() for part, mask in split.parts.items()}
            {'unseen': [2], 'seen': [0, 1]}
        """
        mask = np.zeros(classes, bool)
        mask[np.asarray(unseen, np.int64)] = True
        return cls(name, {UNSEEN: mask, SEEN: ~mask}, source, about)

    @cached_property
    def digest(self) -> str:
        """8 hex digits of its parts and the classes in them, whatever it is called."""
        digest = hashlib.sha256()
        for part, mask in self.parts.items():
            digest.update(f"{part}\n{' '.join(map(str, np.flatnonzero(mask)))}\n".encode())
        return digest.hexdigest()[:8]

    def within(self, own: HoiClasses, classes: HoiClasses) -> ClassSplit:
        """The same parts of another table: its classes that are called alike; others are in no part."""
        if own is classes:
            return self
        row = {label: number for number, label in enumerate(own.labels)}
        rows = np.array([row.get(label, -1) for label in classes.labels], np.int64)
        parts = {part: np.append(mask, False)[rows] for part, mask in self.parts.items()}
        return replace(self, parts=parts)
