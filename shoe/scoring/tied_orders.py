"""The orders that a ranked list with tied scores can take.

A list is held by its entries of positive credit. The rank of an entry is certain where its score is unique in the list
or where all entries of its score have the same credit; the rest form groups whose members take any rank of the group.
Every function returns ranks and credits as (orders, positives) matrices for ``average_precision``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.core.seeded import random_numbers

_PAIRS = 128
"""Mirrored pairs of orders drawn for a list."""


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Entries of one score that differ in credit: ``size`` ranks after the first ``above``."""

    above: int
    size: int
    credit: Floats


@dataclass(frozen=True, slots=True, eq=False)
class TiedList:
    """A ranked list whose order is partly open.

    Attributes:
        rank, credit: 1-based ranks and credits of the positive entries whose rank is certain.
        groups: the tied entries whose order changes AP.
    """

    rank: Floats
    credit: Floats
    groups: list[Group]

    @classmethod
    def of(cls, above: Indices, equal: Indices, credit: Floats) -> TiedList:
        """Split the positives of a list.

        Args:
            above: (r,) entries with a higher score, ascending.
            equal: (r,) entries with the same score, itself included.
            credit: (r,) credits above 0, descending within one score.
        """
        starts = np.flatnonzero(np.diff(above, prepend=-1))
        members = np.diff(starts, append=len(above))
        lowest = credit[starts + members - 1]
        certain = (members == equal[starts]) & (credit[starts] == lowest)
        mask = np.repeat(certain, members)
        position = np.arange(len(above)) - np.repeat(starts, members)
        groups = [
            Group(int(above[s]), int(equal[s]), credit[s : s + m])
            for s, m in zip(starts[~certain], members[~certain], strict=True)
        ]
        return cls((above + position + 1.0)[mask], credit[mask], groups)

    @property
    def orders(self) -> int:
        """How many arrangements of the positives exist."""
        return math.prod(math.perm(group.size, len(group.credit)) for group in self.groups)

    def listed(self) -> tuple[Floats, Floats]:
        """Every arrangement once; a single row where nothing is open."""
        if not self.groups:
            return self.rank[None], self.credit[None]
        positions = [np.array(list(permutations(range(group.size), len(group.credit)))) for group in self.groups]
        which = np.indices([len(p) for p in positions]).reshape(len(positions), -1)
        return self._matrix([p[w] for p, w in zip(positions, which, strict=True)])

    def drawn(self, list_number: int) -> tuple[Floats, Floats]:
        """Random arrangements, seeded by the list's number; rows 2i and 2i + 1 mirror each other."""
        positions = []
        for number, group in enumerate(self.groups):
            drawn = _distinct_positions((list_number << 16) + number, group.size, len(group.credit))
            positions.append(np.stack([drawn, group.size - 1 - drawn], axis=1).reshape(2 * _PAIRS, -1))
        return self._matrix(positions)

    def _matrix(self, positions: list[Indices]) -> tuple[Floats, Floats]:
        of_groups = [g.above + 1.0 + p for g, p in zip(self.groups, positions, strict=True)]
        rank = np.concatenate([np.tile(self.rank, (len(positions[0]), 1)), *of_groups], axis=1)
        credit = np.concatenate([self.credit, *(group.credit for group in self.groups)])
        order = np.argsort(rank, axis=1)
        return np.take_along_axis(rank, order, axis=1), credit[order]


def _distinct_positions(stream: int, size: int, members: int) -> Indices:
    """(_PAIRS, members) positions of a group, all orders of all choices equally likely."""
    if members * members > 2 * size:
        return np.argsort(random_numbers(stream, (_PAIRS, size)), axis=1)[:, :members]
    # Floyd's way to choose a few of many: a position that is taken already gives way to the last one not yet allowed.
    numbers = random_numbers(stream, (_PAIRS, 2 * members))
    chosen = np.empty((_PAIRS, members), np.int64)
    for member in range(members):
        last = size - members + member
        position = (numbers[:, member] % np.uint64(last + 1)).astype(np.int64)
        taken = (chosen[:, :member] == position[:, None]).any(axis=1)
        chosen[:, member] = np.where(taken, last, position)
    return np.take_along_axis(chosen, np.argsort(numbers[:, members:], axis=1), axis=1)
