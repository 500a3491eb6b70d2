"""What an engine costs: to start, and for each piece of work; and a cluster of so many workers here."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from math import ceil, inf
from typing import Any, NamedTuple
from unittest import mock

from shoe.engines.connection import connected

CORES = len(os.sched_getaffinity(0))
WORKERS = (1, 2, 3, 4)


class Cost(NamedTuple):
    """Seconds of an engine: to start, and for each piece of work of each worker."""

    start: float
    piece: float

    @classmethod
    def fit(cls, started: float, workers: int, few: tuple[int, float], most: tuple[int, float]) -> "Cost":
        """Take it from two numbers of pieces and their seconds, and what had to be started before."""
        piece = (most[1] - few[1]) / (most[0] - few[0]) * workers
        return cls(started + few[1] - piece * few[0] / workers, piece)

    def of(self, pieces: int, workers: int) -> float:
        """Predict the seconds of so many pieces."""
        return self.start + self.piece * ceil(pieces / workers)


def pays_from(start: float, gain: float) -> float:
    """The least number of pieces for which what each gains makes up for the start."""
    return max(ceil(start / gain), 1) if gain > 0 else inf


@contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """A cluster of this machine's, as if it had so many cores."""
    with mock.patch("os.sched_getaffinity", return_value=set(range(workers))), connected() as ray:
        yield ray
