"""Selection of unrated pairs of senses: the pairs that narrow the interval of a score most, with the fewest ratings."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask, distinct, first_of_each, index_in_group
from shoe.lexicon.senses import Part
from shoe.scoring.evidence.bounds import OpenScore, false_positives
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.similarity.table import SimilarityTable
from shoe.similarity.unrated import BINS, SenseLookups, bins_of

LEAST = 200
"""Smallest number of pairs per round, if available: computing the bounds again is not worth it for fewer ratings."""
_SHARE = 0.5
"""Fraction of the interval that the pairs of a round are to account for."""
_DOUBT = 0.25
"""Weight, in units of credit, of a ground truth that several predictions may match."""
_FALSE_POSITIVE = 0.5
"""Weight, in units of credit, of a prediction that may be an unmatched false positive."""
_ENOUGH = 40
"""Number of ratings, per tenth of the range of WordNet's measure, from which values can be guessed."""
_LOOKS = 4
"""Number of times per round that the most likely other class of unmatched predictions is determined."""
_SENSES = 3
"""Largest number of pairs with equal guesses that are selected at once for one class and word."""
_NO_PAIRS = np.zeros((0, 0), bool)
Wanted = Mapping[Part, Mask]
"""Per part of speech, (C, S) mask of pairs of C class senses and S senses (``SenseLookups``)."""


class _Side(NamedTuple):
    """Data of one part of speech: verbs or objects.

    Attributes:
        lookups: the C class senses and S senses whose pairs the score looks up.
        low, high: similarity of class words (rows) and predicted words, with the lowest and highest unrated values.
        row, word: row of each class, and column of each prediction, in these tables.
        askable: (C, S) mask of unrated pairs that a rater may answer.
    """

    lookups: SenseLookups
    low: SimilarityTable
    high: SimilarityTable
    row: Indices
    word: NDArray[np.integer]
    askable: Mask

    @property
    def open(self) -> Floats:
        """Difference of the highest and lowest similarity of each class word and predicted word."""
        return self.high.values - self.low.values


def by_credit(open_score: OpenScore, bounds: tuple[Floats, Floats], askable: Wanted, most: int) -> dict[Part, Mask]:
    """Return (C, S) masks of the unrated pairs of senses that make the similarity of possible matches most uncertain.

    The influence of a pair is its part in the width of the interval of SHOE-mAP. The most influential pairs are
    selected until they have half of the influence of all askable pairs; but at least 200 pairs if available.

    Args:
        open_score: matches and false positives that are possible if unrated pairs get ratings.
        bounds: (K,) lowest and (K,) highest average precision of K classes, if the class of each false positive is the
            class that is most similar now.
        askable: (C, S) mask, by part of speech, of unrated pairs that may be sent to the raters.
        most: number of pairs to select; it may be exceeded slightly.
    """
    sides = _sides(open_score, askable)
    truth, prediction, share = width_per_match(open_score, bounds)
    hoi = open_score.scorer.hoi[truth]
    cell_of = {part: (side.row[hoi], side.word[prediction]) for part, side in sides.items()}
    gaps = {part: side.open[cell_of[part]] for part, side in sides.items()}
    total = gaps["verb"] + gaps["object"]
    total[total == 0] = 1
    influences = {part: np.zeros(side.open.shape) for part, side in sides.items()}
    for part, influence in influences.items():
        np.add.at(influence, cell_of[part], share * gaps[part] / total)
    return _densest(sides, influences, most)


def by_false_positives(open_score: OpenScore, askable: Wanted, most: int) -> dict[Part, Mask]:
    """Return (C, S) masks of unrated pairs that may determine the class in which a prediction is a false positive.

    The guessed values of these pairs would make another class most similar to the prediction. A value is guessed from
    rated pairs in the same bin of Wu-Palmer similarity (ten bins); if a bin has too few ratings, random pairs of such
    bins are selected instead. Arguments are as for :func:`by_credit`.
    """
    sides = _sides(open_score, askable)
    unfounded = {part: _to_guess_by(side) for part, side in sides.items()}
    if any(mask.any() for mask in unfounded.values()):
        return unfounded
    scorer, imputation, unmatched = open_score.scorer, open_score.imputation, open_score.matches.unmatched
    current = open_score.current
    values = {part: _values(imputation.low, side) for part, side in sides.items()}
    guesses = {part: _values(imputation.guess, side) for part, side in sides.items()}
    wanted = {part: np.zeros(side.askable.shape, bool) for part, side in sides.items()}
    for _ in range(_LOOKS):
        tables = []
        for part, side in sides.items():  # cells that no rating can change keep their value
            highest = np.where(side.open > 0, side.lookups.highest(guesses[part]), side.low.values)
            tables.append(replace(side.low, values=np.ascontiguousarray(highest)))
        guess = replace(imputation.guess, verbs=tables[0], objects=tables[1])
        other = false_positives(scorer, guess, unmatched, current)
        moved = other.category != current.category
        found = False
        for part, side in sides.items():
            chosen = _raising(side, values[part], guesses[part], other.nearest[moved], unmatched[moved])
            # If these pairs are rated low, the next similar class counts: repeat as if they were.
            guesses[part][chosen] = values[part][chosen]
            wanted[part] |= chosen
            found |= bool(chosen.any())
        if not found or sum(int(mask.sum()) for mask in wanted.values()) >= most:
            break
    return wanted


def width_per_match(open_score: OpenScore, bounds: tuple[Floats, Floats]) -> tuple[Indices, Indices, Floats]:
    """Return (p,) ground truth, (p,) prediction and (p,) contribution to the interval's width of p possible matches.

    A match is open if a rating could change its similarity; others contribute 0. The width, in units of SHOE-mAP, is
    divided among ground truths and false positives of uncertain similarity. The part of a ground truth is divided among
    its open matches. The part of a false positive, or of a ground truth without open matches, is divided among all open
    matches in the image. ``bounds`` are as for :func:`by_credit`.
    """
    scorer, matches, current = open_score.scorer, open_score.matches, open_score.current
    possible = np.flatnonzero(matches.outcomes.possible)
    truth, row = matches.pairs.truth[possible], matches.pairs.prediction[possible]
    hoi, sides = scorer.hoi[truth], _sides(open_score, {"verb": _NO_PAIRS, "object": _NO_PAIRS})
    is_open = np.logical_or.reduce([side.open[side.row[hoi], side.word[row]] > 0 for side in sides.values()])
    low, high = bounds
    varies = np.where(matches.settled, matches.most - matches.outcomes.least, matches.most)
    varies = np.where(matches.number > 0, varies + _DOUBT * (matches.number > 1), 0.0)
    doubtful = np.flatnonzero(current.counts & ~matches.surely)
    positives = np.bincount(current.nearest[doubtful], minlength=len(low))
    in_class = np.bincount(scorer.hoi, weights=varies, minlength=len(low)) + _FALSE_POSITIVE * positives
    gap = np.where(scorer.in_mean, high - low, 0.0) / max(1, int(scorer.in_mean.sum()))
    unit = np.divide(gap, in_class, out=np.zeros(len(gap)), where=in_class > 0)
    own = np.bincount(truth[is_open], minlength=len(varies))
    worth = varies * unit[scorer.hoi]
    images = len(scorer.task.truth.interactions.images)
    stuck = own == 0
    false_image = scorer.task.image[matches.unmatched[doubtful]]
    of_image = np.bincount(scorer.truth_image[stuck], weights=worth[stuck], minlength=images) + np.bincount(
        false_image, weights=_FALSE_POSITIVE * unit[current.nearest[doubtful]], minlength=images
    )
    image = scorer.truth_image[truth]
    together = np.bincount(image[is_open], minlength=images)
    share = worth[truth] / np.maximum(own[truth], 1) + of_image[image] / np.maximum(together[image], 1)
    return truth, row, np.where(is_open, share, 0.0)


def _sides(open_score: OpenScore, askable: Wanted) -> dict[Part, _Side]:
    imputation, words = open_score.imputation, open_score.scorer.task.predictions
    low, high = imputation.low, imputation.high
    verbs = _Side(imputation.verbs, low.verbs, high.verbs, low.verb_row, words.verb, askable["verb"])
    objects = _Side(imputation.objects, low.objects, high.objects, low.object_row, words.object, askable["object"])
    return {"verb": verbs, "object": objects}


def _densest(sides: Mapping[Part, _Side], influences: Mapping[Part, Floats], most: int) -> dict[Part, Mask]:
    """Return the (C, S) masks of pairs in the cells (class word, predicted word) of highest influence per pair.

    The cells have half of the total of ``influences``, the influences of all cells on the interval's width.
    """
    values, counts, pairs_of = [], [], []  # per part: influence of each cell, number and flat indices of its pairs
    for part, side in sides.items():
        row, word = np.nonzero(influences[part])
        cell, classes, senses = side.lookups.pairs(row, word)
        asked = side.askable[classes, senses]
        values.append(influences[part][row, word])
        counts.append(np.bincount(cell[asked], minlength=len(row)))
        pairs_of.append((classes * np.int64(side.askable.shape[1]) + senses)[asked])
    influence, count = np.concatenate(values), np.concatenate(counts)
    density = np.where(count > 0, influence / np.maximum(count, 1), 0.0)
    order = np.argsort(-density, kind="stable")
    pairs, reached = (np.cumsum(column[order]) - column[order] for column in (count, influence))
    half = _SHARE * influence[count > 0].sum()
    taken = np.zeros(len(influence), bool)
    taken[order[((reached < half) | (pairs < LEAST)) & (pairs < most)]] = True
    wanted = {part: np.zeros(side.askable.shape, bool) for part, side in sides.items()}
    chosen = np.split(taken, np.cumsum([len(number) for number in counts])[:-1])
    for mask, of_part, number, pair in zip(wanted.values(), chosen, counts, pairs_of, strict=True):
        mask.ravel()[pair[np.repeat(of_part, number)]] = True
    return wanted


def _to_guess_by(side: _Side) -> Mask:
    """Return a (C, S) mask of randomly selected pairs in tenths of WordNet's measure with too few ratings (seeded)."""
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
    """Return the (C, S) imputed values of the pairs; 0 for unknown values."""
    assert meaning.source is not None, "values are imputed to a map"  # noqa: S101 - for the type checker
    lookups = side.lookups
    return np.nan_to_num(meaning.source.values(lookups.part, lookups.class_senses, lookups.synsets))


def _raising(side: _Side, values: Floats, guesses: Floats, hoi: Indices, rows: Indices) -> Mask:
    """Return a (C, S) mask of the askable pairs whose guess raises the similarity of a prediction to its guessed class.

    ``values`` are the (C, S) lowest possible values; ``hoi`` and ``rows`` the (n,) guessed class and row of each.
    """
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
