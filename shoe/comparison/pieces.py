"""Resampling in pieces that anybody may do: a fixed number of draws from one model, or of swaps between two.

Where pieces begin and end follows from the number of draws alone. So what is put together from them is the same to the
last bit, whoever did them and in whatever order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from shoe.comparison.by_class import ByClass
from shoe.comparison.ranked import BATCH, Counts
from shoe.comparison.resampling import (
    Measured,
    Resampled,
    Resampler,
    coins,
    differences_when_swapped,
    drawn_images,
)
from shoe.engines.base import Engine
from shoe.runs.run import Run

_KEPT = 8
"""Pieces whose random numbers are kept for the next model: of 1,000 draws and as many swaps, all."""


class Piece(NamedTuple):
    """Some draws.

    Attributes:
        models: number of the model whose images are drawn, or of the two that swap images.
        first: number of the first draw.
    """

    models: tuple[int, ...]
    first: int


class Draws:
    """What all pieces share: the runs, how many draws there are, and their seed.

    It keeps what was prepared last, which several pieces of the same models need.
    """

    def __init__(self, runs: Sequence[Run], resamples: int, seed: int) -> None:
        """Take runs of the same images, ground truth and protocols."""
        self._runs, self._resamples, self._seed = runs, resamples, seed
        self._prepared: tuple[tuple[int, ...], Resampler] | None = None
        self._random: dict[tuple[bool, int], Counts] = {}

    def pieces(self) -> list[Piece]:
        """All there are, those of the same models one after the other."""
        models = range(len(self._runs))
        of = [*combinations(models, 1), *combinations(models, 2)]
        return [Piece(each, first) for each in of for first in range(0, self._resamples, BATCH)]

    def resampler(self, models: tuple[int, ...]) -> Resampler:
        """Return the resampler of one model or of two."""
        if self._prepared is None or self._prepared[0] != models:
            self._prepared = None  # there is never room for two
            self._prepared = models, Resampler(*(self._runs[i] for i in models))
        return self._prepared[1]

    def numbers(self, piece: Piece) -> Counts:
        """Return (M, R) how often images are drawn, or whether they are swapped: the same for all models."""
        key = swaps, first = len(piece.models) > 1, piece.first
        if key not in self._random:
            if len(self._random) == _KEPT:
                del self._random[next(iter(self._random))]
            images, draws = len(self._runs[0].images), range(first, min(first + BATCH, self._resamples))
            self._random[key] = (
                coins(images, draws, self._seed, self._resamples) if swaps else drawn_images(images, draws, self._seed)
            )
        return self._random[key]


def resampled(
    runs: Sequence[Run], resamples: int, seed: int, engine: Engine, tell: Callable[[str], None]
) -> tuple[list[Resampled], dict[tuple[int, int], Resampled]]:
    """Resample runs of the same images, ground truth and protocols.

    Returns:
        Of each model (R,) values of its figures under draws, with the spread that new images would give; and of each
        two models, by their numbers, the differences of their figures under swaps.
    """
    draws = Draws(runs, resamples, seed)
    pieces = draws.pieces()
    waiting = Counter(piece.models for piece in pieces)
    parts: dict[tuple[int, ...], dict[int, Measured | Resampled]] = {models: {} for models in waiting}
    found: dict[tuple[int, ...], Resampled] = {}
    for number, (piece, part) in enumerate(engine.map(_evaluate, pieces, draws), 1):
        tell(f"resampling images: {number:,} of {len(pieces):,} pieces")
        models = piece.models
        parts[models][piece.first] = part
        if len(parts[models]) == waiting[models]:  # at once: parts take a hundred times the room of figures
            found[models] = _joined([part for _, part in sorted(parts.pop(models).items())])
    of_one = [found[i,] for i in range(len(runs))]
    return of_one, {(i, j): found[i, j] for i, j in combinations(range(len(runs)), 2)}


def _evaluate(draws: Draws, piece: Piece) -> Measured | Resampled:
    """Return one model's values under draws of images, or the differences of two models under swaps of images."""
    resampler, batch = draws.resampler(piece.models), piece.first // BATCH
    if len(piece.models) == 1:
        return resampler.under(draws.numbers(piece), batch)
    return differences_when_swapped(resampler, draws.numbers(piece), batch)


def _joined(parts: Sequence[Measured | Resampled]) -> Resampled:
    measured = [part for part in parts if isinstance(part, Measured)]
    if measured:
        return Measured.joined(measured).figures(ByClass.resampled)
    differences = [part for part in parts if not isinstance(part, Measured)]
    return {figure: np.concatenate([part[figure] for part in differences]) for figure in differences[0]}
