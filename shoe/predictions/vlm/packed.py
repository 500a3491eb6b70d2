"""What was read of pairs, kept as arrays: a few at a time, while they are still near at hand in the processor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from operator import itemgetter

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.predictions.vlm.wordings import Hit

NO_ITEM = -1
_MOST = 512


class Packed:
    """The rows of a file, in file order."""

    def __init__(self) -> None:
        self._hits: list[Hit] = []
        # Runs of hits: how many they are, and their image, record, first item and whether they are of a reply.
        self._runs: list[tuple[int, int, int, int, bool]] = []
        self._arrays: list[tuple[Indices, Floats]] = []

    def __len__(self) -> int:
        """How many rows there are."""
        self._pack()
        return sum(len(numbers) for numbers, _ in self._arrays)

    def add(self, hits: Sequence[Hit], image: int, record: int, item: int, *, loose: bool) -> None:
        """Add what stood in a record, whose words have their rows.

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
        """The rows.

        Returns:
            (n, 7) indices of verb, object, convention and image, numbers of record and item, and whether it is of a
            reply; (n, 8) boxes; (n,) scores.
        """
        self._pack()
        numbers, values = (np.concatenate(parts) for parts in zip(*self._arrays, strict=True))
        return numbers, values[:, :8], values[:, 8]

    def _pack(self) -> None:
        hits, runs = self._hits, _table(self._runs, 5)
        rows = [said.rows or () for said, _, _, _ in hits]
        hit_of = np.arange(len(hits)).repeat(np.fromiter(map(len, rows), np.int64, len(rows)))
        boxes = np.fromiter(chain.from_iterable(chain.from_iterable(map(itemgetter(1, 2), hits))), np.float64)
        scores = np.fromiter(map(itemgetter(3), hits), np.float64, len(hits))
        counts = runs[:, 0]
        of_hit = runs[:, 1:].repeat(counts, axis=0)
        of_hit[:, 2] += np.arange(len(hits)) - (counts.cumsum() - counts).repeat(counts)
        numbers = np.hstack([_table(chain.from_iterable(rows), 3), of_hit[hit_of]])
        self._arrays.append((numbers, np.column_stack([boxes.reshape(-1, 8), scores])[hit_of]))
        self._hits, self._runs = [], []


def _table(rows: Iterable[Sequence[int]], width: int) -> Indices:
    """Whole numbers, so many to a row."""
    return np.fromiter(chain.from_iterable(rows), np.int64).reshape(-1, width)
