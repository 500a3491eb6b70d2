"""Which unrated pairs of senses are worth a rating: those that a score depends on most, for the fewest ratings.

Where credit and matches are open, the width of the interval is shared out: over the classes by their gap, in a class
over its ground truths by what their credit may vary, in a match over verb and object. Where an unmatched prediction may
be a false positive of another class, what a cautious guess (``shoe.similarity.unrated.Imputed``) rests on is asked.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask, distinct, first_of_each, index_in_group
from shoe.lexicon.expressions import Part
from shoe.scoring.evidence.bounds import OpenScore, other_class
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity.table import SimilarityTable
from shoe.similarity.unrated import BINS, Lookups, bins_of

LEAST = 200
"""Pairs of a round, if there are as many: fewer are not worth bounding the score again."""
_SHARE = 0.5
"""Of the interval, that the pairs of a round are to close."""
_DOUBT = 0.25
"""What it counts that several predictions may match, in credit: the ground truth's, and the unmatched prediction's."""
_FALSE_POSITIVE = 0.5
"""What it counts that a prediction may be unmatched and a false positive, in credit."""
_ENOUGH = 40
"""Ratings to guess by, in each tenth of WordNet's measure."""
_LOOKS = 4
"""How often a round looks for the next class that an unmatched prediction might be a false positive of."""
_SENSES = 3
"""Pairs that are asked of one word and class at a time, where the guess is the same for several."""

_NO_PAIRS = np.zeros((0, 0), bool)

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


def by_credit(open_score: OpenScore, bounds: tuple[Floats, Floats], askable: Wanted, most: int) -> dict[Part, Mask]:
    """Choose pairs that credit and matches depend on.

    Args:
        bounds: (K,) lowest and highest average precision of each class, unmatched predictions counted as today.
        askable: unrated pairs that a rater may answer.
        most: how many pairs to choose, or a few more.

    Returns:
        Per part of speech, (C, S) pairs: enough to close half of what is open, but no fewer than ``LEAST``.
    """
    sides = _sides(open_score, askable)
    matches, hoi = open_score.matches, open_score.scorer.hoi
    possible = np.flatnonzero(matches.outcomes.possible)
    truth, row = matches.pairs.truth[possible], matches.pairs.prediction[possible]
    gaps = [side.open[side.row[hoi[truth]], side.word[row]] for side in sides.values()]
    total = gaps[0] + gaps[1]
    share = _shares(open_score, bounds, truth, total > 0)
    total[total == 0] = 1
    cells = []
    for (part, side), gap in zip(sides.items(), gaps, strict=True):
        influence = np.zeros(side.open.shape)
        np.add.at(influence, (side.row[hoi[truth]], side.word[row]), share * gap / total)
        cells.append(_Cells.of(part, side, influence))
    return _densest(cells, {part: side.askable.shape for part, side in sides.items()}, most)


def by_false_positives(open_score: OpenScore, askable: Wanted, most: int) -> dict[Part, Mask]:
    """Choose pairs that, by the guess, may make unmatched predictions false positives of other classes than today.

    Arguments and return value are those of :func:`by_credit`; the pairs are as many as the guess puts in question.
    """
    sides = _sides(open_score, askable)
    unfounded = {part: _to_guess_by(side) for part, side in sides.items()}
    if any(mask.any() for mask in unfounded.values()):
        return unfounded
    scorer, imputation, unmatched = open_score.scorer, open_score.imputation, open_score.matches.unmatched
    today = open_score.today
    values = {part: _values(imputation.low, side) for part, side in sides.items()}
    guesses = {part: _values(imputation.guess, side) for part, side in sides.items()}
    wanted = {part: np.zeros(side.askable.shape, bool) for part, side in sides.items()}
    for _ in range(_LOOKS):
        tables = {part: _table(side, guesses[part]) for part, side in sides.items()}
        guess = replace(imputation.guess, verbs=tables["verb"], objects=tables["object"])
        other = other_class(scorer, guess, unmatched, today)
        moved = (other.category != today.category) & (other.nearest >= 0)
        found = False
        for part, side in sides.items():
            chosen = _raising(side, values[part], guesses[part], other.nearest[moved], unmatched[moved])
            # Should it turn out to be worth nothing, the next best may count: look again without it.
            guesses[part][chosen] = values[part][chosen]
            wanted[part] |= chosen
            found |= bool(chosen.any())
        if not found or sum(int(mask.sum()) for mask in wanted.values()) >= most:
            break
    return wanted


def on_matches(open_score: OpenScore, bounds: tuple[Floats, Floats]) -> tuple[Indices, Indices, Floats]:
    """Share what is open of a score out over its possible matches.

    Returns:
        (p,) ground truth, (p,) row of the prediction, and (p,) share of the interval, in fractions of SHOE-mAP.
    """
    matches = open_score.matches
    possible = np.flatnonzero(matches.outcomes.possible)
    truth, row = matches.pairs.truth[possible], matches.pairs.prediction[possible]
    hoi, sides = open_score.scorer.hoi[truth], _sides(open_score, {"verb": _NO_PAIRS, "object": _NO_PAIRS})
    is_open = np.logical_or.reduce([side.open[side.row[hoi], side.word[row]] > 0 for side in sides.values()])
    return truth, row, _shares(open_score, bounds, truth, is_open)


def _sides(open_score: OpenScore, askable: Wanted) -> dict[Part, _Side]:
    imputation, words = open_score.imputation, open_score.scorer.task.predictions
    low, high = imputation.low, imputation.high
    verbs = _Side(imputation.verbs, low.verbs, high.verbs, low.verb_row, words.verb, askable["verb"])
    objects = _Side(imputation.objects, low.objects, high.objects, low.object_row, words.object, askable["object"])
    return {"verb": verbs, "object": objects}


def _shares(open_score: OpenScore, bounds: tuple[Floats, Floats], truth: Indices, is_open: Mask) -> Floats:
    """Share the width of the interval out over pairs that may match.

    What depends on a ground truth is shared by its open pairs. If it has none, its match is open for the sake of others
    in the image, as every false positive is: all open pairs of the image share that. Each of p pairs has a ground
    ``truth``, and ``is_open`` if a rating could change its similarity.
    """
    scorer, matches, today = open_score.scorer, open_score.matches, open_score.today
    low, high = bounds
    varies = np.where(matches.settled, matches.most - matches.outcomes.least, matches.most)
    varies = np.where(matches.number > 0, varies + _DOUBT * (matches.number > 1), 0.0)
    doubtful = np.flatnonzero(today.counts & ~matches.surely)
    positives = np.bincount(today.nearest[doubtful], minlength=len(low))
    in_class = np.bincount(scorer.hoi, weights=varies, minlength=len(low)) + _FALSE_POSITIVE * positives
    gap = np.where(scorer.in_mean, high - low, 0.0) / max(1, int(scorer.in_mean.sum()))
    unit = np.divide(gap, in_class, out=np.zeros(len(gap)), where=in_class > 0)

    own = np.bincount(truth[is_open], minlength=len(varies))
    worth = varies * unit[scorer.hoi]
    images = len(scorer.task.truth.interactions.images)
    stuck = own == 0
    false_image = scorer.task.image[matches.unmatched[doubtful]]
    of_image = np.bincount(scorer.truth_image[stuck], weights=worth[stuck], minlength=images) + np.bincount(
        false_image, weights=_FALSE_POSITIVE * unit[today.nearest[doubtful]], minlength=images
    )
    image = scorer.truth_image[truth]
    together = np.bincount(image[is_open], minlength=images)
    share = worth[truth] / np.maximum(own[truth], 1) + of_image[image] / np.maximum(together[image], 1)
    return np.where(is_open, share, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _Cells:
    """Cells with askable pairs: their influence, and the pairs, cell by cell, as flat indices in (C, S)."""

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


def _to_guess_by(side: _Side) -> Mask:
    """(C, S) pairs that tenths of WordNet's measure with few ratings lack, drawn with a fixed seed."""
    lookups = side.lookups
    bins = bins_of(lookups.part, lookups.class_senses, lookups.synsets)
    rated = np.bincount(bins[~lookups.unrated & (bins >= 0)], minlength=BINS)
    chosen = np.zeros(bins.shape, bool)
    for number in np.flatnonzero(rated < _ENOUGH).tolist():
        pairs = np.flatnonzero(side.askable & (bins == number))
        drawn = np.random.default_rng(number).permutation(pairs)[: _ENOUGH - rated[number]]
        chosen.ravel()[drawn] = True
    return chosen


def _values(meaning: HoiSimilarity, side: _Side) -> Floats:
    """(C, S) values of the pairs behind a table."""
    assert meaning.source is not None, "values are imputed to a map"  # noqa: S101 - for the type checker
    lookups = side.lookups
    return np.nan_to_num(meaning.source.values(lookups.part, lookups.class_senses, lookups.synsets))


def _table(side: _Side, values: Floats) -> SimilarityTable:
    """The table of some values of the pairs; a cell that no pair can change keeps its value."""
    highest = np.where(side.open > 0, side.lookups.highest(values), side.low.values)
    return replace(side.low, values=np.ascontiguousarray(highest))


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
    top = top[index_in_group(np.diff(starts, append=len(top))) < _SENSES]
    chosen = np.zeros(side.askable.shape, bool)
    chosen[classes[top], senses[top]] = True
    return chosen
