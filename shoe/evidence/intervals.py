"""Between which values a score lies were the pairs rated that a map leaves unrated (docs/protocols.md 10.7).

What is proved holds for any values 0..1 of the map's unrated pairs: credit, who is matched, and who is unmatched. Of
which class an unmatched prediction is a false positive cannot be bounded usefully, as a single rating of 1 can make any
of them one of any class. There, ``low`` and ``high`` hold for all values under which each unmatched prediction is a
false positive of the class that today's map says, or of the other possible class by a cautious guess
(:func:`other_class`), and the near repeats of another prediction (``repeats=near``) are those by today's map.

The proof, class by class. A list of entries (score, credit) loses no average precision when a credit is raised, an
entry without credit is removed, an entry moves up past entries of no more credit, or one is added whose credit is no
lower than any other's; and gains none by the opposite. All hold for each order of tied entries, so for their mean.

- ``high``: each ground truth with a possible match has the highest sigma of its possible matches. If their scores
  differ, or there may be no match, it has the highest sigma of the class's list, above the highest score. Only
  predictions that are unmatched in any case, and false positives of this class in either, are its false positives.
- ``low``: each sure ground truth has the lowest sigma that its match can have. If the scores of its possible matches
  differ, an entry without credit stands above the highest of them, and the credit below the lowest (not with the
  trapezoid rule, which such an entry may please: there the credit is 0). Ground truths that may have no match have
  an entry without credit. All predictions that may be unmatched and count for this class are its false positives.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.evidence.imputation import Imputation
from shoe.evidence.possible_matches import PossibleMatches
from shoe.protocols.options import Interpolation
from shoe.scoring.entries import mean_over
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.scorer import Scorer

Bounds = tuple[float, float]


class FalsePositives(NamedTuple):
    """Of which class each of u unmatched predictions would be a false positive.

    Attributes:
        nearest: (u,) the class that it is most similar to, -1 for none.
        sigma: (u,) how similar they are.
        counts: (u,) whether that is enough to be one.
    """

    nearest: Indices
    sigma: Floats
    counts: Mask

    @property
    def category(self) -> Indices:
        """(u,) the class that it is a false positive of, -1 for none."""
        return np.where(self.counts, self.nearest, -1)


def false_positives(scorer: Scorer, similarities: HoiSimilarity, unmatched: Indices) -> FalsePositives:
    """Decide by some similarities what unmatched predictions are false positives of."""
    nearest, sigma = scorer.nearest(unmatched, similarities)
    return FalsePositives(nearest, sigma, scorer.reaches_delta(sigma) & (nearest >= 0))


def other_class(scorer: Scorer, guess: HoiSimilarity, unmatched: Indices, today: FalsePositives) -> FalsePositives:
    """Find the class that, by a guess, may come before today's nearest.

    Today's nearest stays as similar as it is; else a guess that lifts all classes would hide that any of them may win.
    Where only the image's classes count, it is simply the nearest by the guess.

    ``guess`` has guessed values for unrated pairs, and ``unmatched`` are the (u,) predictions that may be unmatched.
    """
    if scorer.options.fp_scope != "dataset" or not scorer.counted.any():
        return false_positives(scorer, guess, unmatched)
    words, allowed = scorer.task.predictions, np.flatnonzero(scorer.counted)
    verb, object_ = words.verb[unmatched], words.object[unmatched]
    nearest, sigma = guess.nearest_class(verb, object_, allowed, (today.nearest, today.sigma))
    return FalsePositives(nearest, sigma, scorer.reaches_delta(sigma))


@dataclass(frozen=True, slots=True, eq=False)
class OpenScore:
    """What an evaluation may come to.

    Attributes:
        scorer: with similarities whose unrated pairs are 0.
        imputation: the similarities.
        matches: who may be matched with whom.
        today, other: what unmatched predictions are false positives of by today's map, and what else they may be.
    """

    scorer: Scorer
    imputation: Imputation
    matches: PossibleMatches
    today: FalsePositives
    other: FalsePositives

    @classmethod
    def of(cls, scorer: Scorer, imputation: Imputation, rows: Indices) -> OpenScore:
        """Look at some predictions; the scorer's similarities are ``imputation.low``, its ``near`` that of today's."""
        matches = PossibleMatches.of(scorer, imputation, rows)
        today = false_positives(scorer, imputation.today, matches.unmatched)
        other = other_class(scorer, imputation.guess, matches.unmatched, today)
        return cls(scorer, imputation, matches, today, other)

    def mean_bounds(self, ap: tuple[Floats, Floats]) -> list[float | None]:
        """SHOE-mAP of lowest and of highest average precisions."""
        return [mean_over(values, self.scorer.in_mean) for values in ap]


def hull(figures: Sequence[float | None]) -> Bounds | None:
    """Lowest and highest of the figures that there are."""
    known = [figure for figure in figures if figure is not None]
    return (min(known), max(known)) if known else None


def precision_bounds(score: OpenScore, other: FalsePositives) -> tuple[Floats, Floats]:
    """(K,) lowest and (K,) highest average precision of each class; proof: see the module.

    Each unmatched prediction may be a false positive of ``other`` in place of what today's map says.
    """
    scorer, matches = score.scorer, score.matches
    settled, least = matches.settled, matches.outcomes.least
    matched = np.flatnonzero(matches.number)
    fixed = settled[matched]
    # Just above, or just below, what it may tie with: that bounds no worse, and leaves fewer orders to look at.
    first, last = matches.first[matched], matches.last[matched]
    first = np.where(first == last, first, np.nextafter(first, np.inf))
    highest = np.zeros(len(scorer.truths))
    np.maximum.at(highest, scorer.hoi[matched], matches.most[matched])
    most = np.where(fixed, matches.most[matched], highest[scorer.hoi[matched]])
    surely, maybe = _false_positive_of(score, other)
    high = scorer.entries_of(matched, first, most, *_false(score, surely)).scores()

    later = np.flatnonzero(~settled & (least > 0)) if scorer.options.ap != Interpolation.TRAPEZOID else matched[:0]
    missed = _missed(scorer, matches)
    low = scorer.entries_of(
        np.concatenate([matched, later, missed]),
        np.concatenate([first, np.nextafter(matches.last[later], -np.inf), np.zeros(len(missed))]),
        np.concatenate([np.where(fixed, least[matched], 0.0), least[later], np.zeros(len(missed))]),
        *_false(score, *maybe),
    ).scores()
    return low.ap, high.ap


def _false_positive_of(score: OpenScore, other: FalsePositives) -> tuple[Indices, tuple[Indices, Indices]]:
    """The class of each unmatched prediction in any case, and the two classes that are possible; -1 for none."""
    today, else_ = score.today.category, other.category
    surely = np.where((today == else_) & score.matches.surely, today, -1)
    return surely, (today, np.where(today == else_, -1, else_))


def _false(score: OpenScore, *false_positive_of: Indices) -> tuple[Indices, Indices]:
    """The predictions that are false positives of a class with ground truth, and of which class."""
    unmatched, counts = score.matches.unmatched, np.append(score.scorer.truths > 0, False)
    kept = [counts[category] for category in false_positive_of]
    return (
        np.concatenate([unmatched[mask] for mask in kept]),
        np.concatenate([category[mask] for category, mask in zip(false_positive_of, kept, strict=True)]),
    )


def _missed(scorer: Scorer, matches: PossibleMatches) -> Indices:
    """Ground truths that may be missed, where an entry (0, 0) for them may stand above credit."""
    if scorer.options.missed == "drop" or not (matches.last <= 0).any():
        return np.zeros(0, np.int64)
    return scorer.truth_rows[~matches.outcomes.sure[scorer.truth_rows]]
