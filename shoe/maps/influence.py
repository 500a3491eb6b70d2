"""Which unrated pairs of senses are worth a rating: those that a score hangs on most, for the fewest ratings.

Two questions are asked of an evaluation. Whose credit, and which match, is still open? There the width of the interval
is shared out: over the classes by their gap, in a class over its ground truths by what their credit may still vary, and
in a match over verb and object. Where might a leftover prediction be charged to another class? There a cautious guess
(``shoe.similarity.unrated.Guessed``) says which; what the guess rests on is asked, the highest first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.arrays import Floats, Indices, Mask
from shoe.lexicon.expressions import Part
from shoe.matching.meaning import Meaning
from shoe.ragged import distinct, first_of_each, places
from shoe.scoring.interval import Prospects
from shoe.similarity.lookups import Lookups
from shoe.similarity.table import SimilarityTable

LEAST = 200
"""Pairs of a round, if there are as many: fewer are not worth bounding the score again."""
_SHARE = 0.5
"""Of the interval, that the pairs of a round are to close."""
_DOUBT = 0.25
"""What it counts that several predictions may match, in credit: the ground truth's, and the leftover's charge."""
_CHARGE = 0.5
"""What it counts that a prediction may be left over and charged, in credit."""
_LOOKS = 4
"""How often a round looks for the next class that a leftover prediction might go to."""
_SENSES = 3
"""Pairs that are asked of one word and class at a time, where the guess is the same for several."""

Wanted = Mapping[Part, Mask]
"""Per part of speech, (C, S) pairs of ``Lookups``."""


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """Verbs or objects: the pairs of senses, the tables, and which row and column is whose."""

    lookups: Lookups
    low: SimilarityTable
    high: SimilarityTable
    row: Indices
    word: NDArray[np.integer]
    askable: Mask

    @property
    def open(self) -> Floats:
        """(C, W) how far a cell's value may still rise."""
        return self.high.values - self.low.values


def by_credit(prospects: Prospects, askable: Wanted, most: int) -> dict[Part, Mask]:
    """Choose pairs that credit and matches hang on.

    Args:
        prospects: of the evaluation.
        askable: unrated pairs that a rater may answer.
        most: how many pairs to choose, or a few more.

    Returns:
        Per part of speech, (C, S) pairs: enough to close half of what is open, but no fewer than ``LEAST``.
    """
    sides = _sides(prospects, askable)
    entries, hoi = prospects.entries, prospects.scorer.hoi
    worth = _worth(prospects)
    possible = np.flatnonzero(entries.outlook.possible)
    truth, row = entries.pairs.truth[possible], entries.pairs.prediction[possible]
    share = worth[truth] / entries.matches[truth]
    gaps = [side.open[side.row[hoi[truth]], side.word[row]] for side in sides.values()]
    total = np.maximum(gaps[0] + gaps[1], np.finfo(float).tiny)
    cells = []
    for (part, side), gap in zip(sides.items(), gaps, strict=True):
        influence = np.zeros(side.open.shape)
        np.add.at(influence, (side.row[hoi[truth]], side.word[row]), share * gap / total)
        cells.append(_Cells.of(part, side, influence))
    return _densest(cells, {part: side.askable.shape for part, side in sides.items()}, most)


def by_charges(prospects: Prospects, askable: Wanted, most: int) -> dict[Part, Mask]:
    """Choose pairs that, by the guess, may send leftover predictions to other classes than today's map does.

    Arguments and return value are those of :func:`by_credit`; the pairs are as many as the guess puts in question.
    """
    sides = _sides(prospects, askable)
    scorer, completions, left = prospects.scorer, prospects.completions, prospects.entries.left
    today = prospects.charges[0]
    values = {part: _values(completions.low, side) for part, side in sides.items()}
    guesses = {part: _values(completions.guess, side) for part, side in sides.items()}
    wanted = {part: np.zeros(side.askable.shape, bool) for part, side in sides.items()}
    for _ in range(_LOOKS):
        tables = {part: _table(side, guesses[part]) for part, side in sides.items()}
        nearest, sigma = scorer.nearest(left, _with_tables(completions.guess, tables))
        charged = scorer.reaches_delta(sigma) & (nearest >= 0)
        moved = np.flatnonzero((charged & (nearest != today.nearest)) | (charged != today.charged))
        moved = moved[nearest[moved] >= 0]
        found = False
        for part, side in sides.items():
            chosen = _raising(side, values[part], guesses[part], nearest[moved], left[moved])
            # Should it turn out to be worth nothing, the next best may count: look again without it.
            guesses[part][chosen] = values[part][chosen]
            wanted[part] |= chosen
            found |= bool(chosen.any())
        if not found or sum(int(mask.sum()) for mask in wanted.values()) >= most:
            break
    return wanted


def _sides(prospects: Prospects, askable: Wanted) -> dict[Part, _Side]:
    completions, words = prospects.completions, prospects.scorer.task.predictions
    low, high = completions.low, completions.high
    verbs = _Side(completions.verbs, low.verbs, high.verbs, low.verb_row, words.verb, askable["verb"])
    objects = _Side(completions.objects, low.objects, high.objects, low.object_row, words.object, askable["object"])
    return {"verb": verbs, "object": objects}


def _worth(prospects: Prospects) -> Floats:
    """(t,) part of the interval's width that hangs on each ground truth's match."""
    scorer, entries, today = prospects.scorer, prospects.entries, prospects.charges[0]
    low, high = prospects.bounds[0]
    varies = np.where(entries.settled, entries.most - entries.outlook.least, entries.most)
    varies = np.where(entries.matches > 0, varies + _DOUBT * (entries.matches > 1), 0.0)
    doubtful = today.charged & ~entries.surely_left
    charges = np.bincount(today.nearest[doubtful], minlength=len(low))
    in_class = np.bincount(scorer.hoi, weights=varies, minlength=len(low)) + _CHARGE * charges
    gap = np.where(scorer.in_mean, high - low, 0.0) / max(1, int(scorer.in_mean.sum()))
    worth: Floats = varies * np.where(in_class > 0, gap / np.maximum(in_class, np.finfo(float).tiny), 0.0)[scorer.hoi]
    return worth


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Cells with askable pairs: their influence, and the pairs, cell by cell, as flat places in (C, S)."""

    part: Part
    influence: Floats
    count: Indices
    pair: Indices

    @classmethod
    def of(cls, part: Part, side: _Side, influence: Floats) -> _Cells:
        row, word = np.nonzero(influence)
        cell, classes, senses = side.lookups.pairs(row, word)
        asked = side.askable[classes, senses]
        return cls(
            part=part,
            influence=influence[row, word],
            count=np.bincount(cell[asked], minlength=len(row)),
            pair=(classes * np.int64(side.askable.shape[1]) + senses)[asked],
        )


def _densest(cells: list[_Cells], shapes: Mapping[Part, tuple[int, ...]], most: int) -> dict[Part, Mask]:
    """Take cells by falling influence a pair, until they have half of all influence or enough pairs."""
    influence = np.concatenate([part.influence for part in cells])
    count = np.concatenate([part.count for part in cells])
    density = np.where(count > 0, influence / np.maximum(count, 1), 0.0)
    order = np.argsort(-density, kind="stable")
    pairs, reached = (np.cumsum(column[order]) - column[order] for column in (count, influence))
    half = _SHARE * influence[count > 0].sum()
    taken = np.zeros(len(influence), bool)
    taken[order[((reached < half) | (pairs < LEAST)) & (pairs < most)]] = True
    wanted = {}
    start = 0
    for part in cells:
        mask = np.zeros(shapes[part.part], bool)
        of_part = taken[start : start + len(part.count)]
        mask.ravel()[part.pair[np.repeat(of_part, part.count)]] = True
        wanted[part.part] = mask
        start += len(part.count)
    return wanted


def _values(meaning: Meaning, side: _Side) -> Floats:
    """(C, S) values of the pairs behind a table."""
    assert meaning.source is not None, "completions are made of a map"  # noqa: S101 - for the type checker
    lookups = side.lookups
    return np.nan_to_num(meaning.source.values(lookups.part, lookups.class_synsets, lookups.synsets))


def _table(side: _Side, values: Floats) -> SimilarityTable:
    """The table of some values of the pairs; a cell that no pair can change keeps its value."""
    highest = np.where(side.open > 0, side.lookups.highest(values), side.low.values)
    return replace(side.low, values=np.ascontiguousarray(highest))


def _with_tables(meaning: Meaning, tables: Mapping[Part, SimilarityTable]) -> Meaning:
    return replace(meaning, verbs=tables["verb"], objects=tables["object"])


def _raising(side: _Side, values: Floats, guesses: Floats, hoi: Indices, rows: Indices) -> Mask:
    """(C, S) pairs whose guess is what raises a class's similarity to a prediction above what is known."""
    words = side.low.values.shape[1]
    cells = distinct(side.row[hoi] * np.int64(words) + side.word[rows])
    row, word = np.divmod(cells, words)
    cell, classes, senses = side.lookups.pairs(row, word)
    guess = np.where(side.askable[classes, senses], guesses[classes, senses], -1.0)
    raises = guess > np.maximum(side.low.values[row, word][cell], values[classes, senses])
    cell, classes, senses, guess = cell[raises], classes[raises], senses[raises], guess[raises]
    best = np.full(len(cells), -np.inf)
    np.maximum.at(best, cell, guess)
    top = np.flatnonzero(guess == best[cell])
    starts = np.flatnonzero(first_of_each(cell[top]))
    top = top[places(np.diff(starts, append=len(top))) < _SENSES]
    chosen = np.zeros(side.askable.shape, bool)
    chosen[classes[top], senses[top]] = True
    return chosen
