"""What was read of pairs, kept as arrays: a few at a time, while they are still near at hand in the processor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, islice
from operator import itemgetter

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.predictions.vlm.wordings import Hit, Said

NO_ITEM = -1
_MOST = 512


class Packed:
    """The pairs of a file, in file order."""

    def __init__(self, meet: Callable[[list[Said]], None]) -> None:
        """Begin without any.

        Args:
            meet: told what is said for the first time; the rows of :meth:`arrays` count in this order.
        """
        self._meet = meet
        self._numbers: dict[Said, int] = {}
        self._lengths: list[int] = []
        self._hits: list[Hit] = []
        # Runs of hits: how many they are, and their image, record, first item and whether they are of a reply.
        self._runs: list[tuple[int, int, int, int, bool]] = []
        self._arrays: list[tuple[Indices, Floats]] = []

    def __len__(self) -> int:
        """How many rows they make."""
        self._pack()
        lengths = np.array(self._lengths)
        return sum(int(lengths[numbers[:, 0]].sum()) for numbers, _ in self._arrays)

    def add(self, hits: Sequence[Hit], image: int, record: int, item: int, *, loose: bool) -> None:
        """Add what stood in a record.

        Args:
            hits: the pairs, one after the other; one where the record is the item.
            image: index of the image.
            record: number of the record.
            item: number of the first of them in the record; NO_ITEM where the record is the item.
            loose: whether it is of a reply.
        """
        self._hits += hits
        self._runs.append((len(hits), image, record, item, loose))
        if len(self._hits) >= _MOST:
            self._pack()

    def arrays(self) -> tuple[Indices, Floats, Floats]:
        """The rows: one for each interaction that is said of a pair.

        Returns:
            (n, 5) the row among those of all that was said, index of the image, numbers of record and item, and whether
            it is of a reply; (n, 8) boxes; (n,) scores.
        """
        self._pack()
        numbers, values = (np.concatenate(parts) for parts in zip(*self._arrays, strict=True))
        lengths = np.array(self._lengths)
        if (lengths != 1).any():
            firsts = lengths.cumsum() - lengths
            counts = lengths[numbers[:, 0]]
            pair = np.arange(len(numbers)).repeat(counts)
            within = np.arange(len(pair)) - (counts.cumsum() - counts).repeat(counts)
            numbers, values = numbers[pair], values[pair]
            numbers[:, 0] = firsts[numbers[:, 0]] + within
        return numbers, values[:, :8], values[:, 8]

    def _pack(self) -> None:
        hits, runs, known = self._hits, np.array(self._runs, np.int64).reshape(-1, 5), self._numbers
        numbers = np.array([known.setdefault(hit[0], len(known)) for hit in hits], np.int64)
        new = [*islice(reversed(known), len(known) - len(self._lengths))][::-1]
        self._lengths += [len(said.rows) for said in new]
        self._meet(new)
        boxes = np.fromiter(chain.from_iterable(chain.from_iterable(map(itemgetter(1, 2), hits))), np.float64)
        scores = np.fromiter(map(itemgetter(3), hits), np.float64, len(hits))
        counts = runs[:, 0]
        places = runs[:, 1:].repeat(counts, axis=0)
        places[:, 2] += np.arange(len(hits)) - (counts.cumsum() - counts).repeat(counts)
        self._arrays.append((np.column_stack([numbers, places]), np.column_stack([boxes.reshape(-1, 8), scores])))
        self._hits, self._runs = [], []
