"""Between which values a score lies were the pairs rated that a map leaves unrated (docs/protocols.md 10.7).

What is proved holds for every completion of the map, that is for any values 0..1 of its unrated pairs: credit, who is
matched, and who is left over. What leftover predictions are charged to cannot be bounded usefully, as a single rating
of 1 can draw any of them to any class. There, ``low`` and ``high`` hold for all completions that charge each leftover
either as today's map does, or to its rival by a cautious guess (``shoe.evidence.charges``).

The proof, class by class. A list of entries (score, credit) loses no average precision when a credit is raised, an
entry without credit is removed, an entry moves up past entries of no more credit, or one is added whose credit is no
lower than any other's; and gains none by the opposite. All hold for each order of tied entries, so for their mean.

- ``high``: each ground truth with a possible match has the highest sigma of its possible matches. If their scores
  differ, or there may be no match, it has the highest sigma of the class's list, above the highest score. Only
  predictions that are left over in any case, and charged to this class in either, are charged.
- ``low``: each sure ground truth has the lowest sigma that its match can have. If the scores of its possible matches
  differ, an entry without credit stands above the highest of them, and the credit below the lowest (not with the
  trapezoid rule, which such an entry may please: there the credit is 0). Ground truths that may have no match have
  an entry without credit. All predictions that may be left over and charged to this class are charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.evidence.charges import Charges, charges_of, rivals_of
from shoe.evidence.completions import Completions
from shoe.evidence.entries import Entries, entries_of
from shoe.matching.task import Task
from shoe.protocols.options import Interpolation
from shoe.scoring.ranking import mean_over
from shoe.scoring.scorer import Scorer
from shoe.scoring.semantic import SemanticResult

Bounds = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Interval:
    """Bounds of SHOE-mAP and SHOE-mF1 under completions of a map, fractions 0..1.

    Attributes:
        map, mf1: lowest and highest, today's score between them; None for a figure that cannot be measured.
        unrated_pairs: unrated pairs of senses between a class and a word whose boxes overlap: what credit and matching
            depend on.
    """

    map: Bounds | None
    mf1: Bounds | None
    unrated_pairs: int

    @property
    def open(self) -> bool:
        """Whether a rating could move either figure."""
        return any(bounds is not None and bounds[0] < bounds[1] for bounds in (self.map, self.mf1))


@dataclass(frozen=True, slots=True, eq=False)
class Prospects:
    """What the lists of one evaluation may come to.

    Attributes:
        scorer: with similarities whose unrated pairs are 0.
        completions: the similarities.
        entries: who may be matched with whom.
        today, rival: what leftovers are charged to by today's map, and what else they may be.
    """

    scorer: Scorer
    completions: Completions
    entries: Entries
    today: Charges
    rival: Charges

    @classmethod
    def of(cls, scorer: Scorer, completions: Completions, rows: Indices) -> Prospects:
        """Look at some predictions; the scorer's similarities are those of ``completions.low``."""
        entries = entries_of(scorer, completions, rows)
        today = charges_of(scorer, completions.today, entries.left)
        rival = rivals_of(scorer, completions.guess, entries.left, today)
        return cls(scorer, completions, entries, today, rival)

    def mean_bounds(self, ap: tuple[Floats, Floats]) -> tuple[float | None, float | None]:
        """SHOE-mAP of lowest and of highest average precisions."""
        low, high = ap
        return mean_over(low, self.scorer.in_mean), mean_over(high, self.scorer.in_mean)


def interval_of(task: Task, completions: Completions, today: SemanticResult) -> Interval:
    """Bound a score.

    Args:
        task: what is scored.
        completions: the similarities.
        today: the score under the map as it is. It is that of a completion, too, and widens bounds whose ties were
            drawn, not listed.
    """
    scorer = Scorer(task, completions.low, today.options)
    for_map = Prospects.of(scorer, completions, scorer.map_rows)
    for_f1 = Prospects.of(scorer, completions, scorer.f1_rows)
    maps = for_map.mean_bounds(precision_bounds(for_map, for_map.rival))
    pairs = for_map.entries.pairs
    number = completions.unrated_pairs(scorer.hoi[pairs.truth], task.predictions, pairs.prediction)
    return Interval(hull([today.map, *maps]), hull([today.mf1, *f1_bounds(for_f1)]), number)


def hull(figures: Sequence[float | None]) -> Bounds | None:
    """Lowest and highest of the figures that there are."""
    known = [figure for figure in figures if figure is not None]
    return (min(known), max(known)) if known else None


def precision_bounds(prospects: Prospects, rival: Charges) -> tuple[Floats, Floats]:
    """(K,) lowest and (K,) highest average precision of each class; proof: see the module.

    Args:
        prospects: of the evaluation.
        rival: what each leftover may be charged to in place of what today's map charges it to.
    """
    scorer, entries = prospects.scorer, prospects.entries
    settled, least = entries.settled, entries.outlook.least
    matched = np.flatnonzero(entries.matches)
    fixed = settled[matched]
    # Just above, or just below, what it may tie with: that bounds no worse, and leaves fewer orders to look at.
    first, last = entries.first[matched], entries.last[matched]
    first = np.where(first == last, first, np.nextafter(first, np.inf))
    highest = np.zeros(len(scorer.truths))
    np.maximum.at(highest, scorer.hoi[matched], entries.most[matched])
    most = np.where(fixed, entries.most[matched], highest[scorer.hoi[matched]])
    surely, maybe = _charged(prospects, rival)
    high = scorer.ranked(matched, first, most, *_false(prospects, surely))

    later = np.flatnonzero(~settled & (least > 0)) if scorer.options.ap != Interpolation.TRAPEZOID else matched[:0]
    missed = _missed(scorer, entries)
    low = scorer.ranked(
        np.concatenate([matched, later, missed]),
        np.concatenate([first, np.nextafter(entries.last[later], -np.inf), np.zeros(len(missed))]),
        np.concatenate([np.where(fixed, least[matched], 0.0), least[later], np.zeros(len(missed))]),
        *_false(prospects, *maybe),
    )
    return low.ap, high.ap


def f1_bounds(prospects: Prospects) -> tuple[float | None, float | None]:
    """Lowest and highest SHOE-mF1; None where it cannot be measured.

    F1 grows with the credit of each match, and falls with every match beyond its credit, charge and missed truth; each
    of these is bounded on its own.
    """
    scorer, entries = prospects.scorer, prospects.entries
    classes, sure = len(scorer.truths), entries.outlook.sure
    surely_found = np.bincount(scorer.hoi[sure], minlength=classes)
    maybe_found = np.bincount(scorer.hoi[entries.matches > 0], minlength=classes)

    def f1(credit: Floats, found: Indices, missed: Indices, *charged: Indices) -> float | None:
        true = np.bincount(scorer.hoi, weights=credit, minlength=classes)
        charges = np.concatenate(charged)
        false = found - true + np.bincount(charges[charges >= 0], minlength=classes)
        return mean_over(*scorer.f1_of(true, np.maximum(false, 0), missed))

    surely, maybe = _charged(prospects, prospects.rival)
    return (
        f1(entries.outlook.least, maybe_found, scorer.truths - surely_found, *maybe),
        f1(entries.most, surely_found, scorer.truths - maybe_found, surely),
    )


def _charged(prospects: Prospects, rival: Charges) -> tuple[Indices, tuple[Indices, Indices]]:
    """What each leftover is charged to in any case, and the two classes that it may be charged to; -1 for none."""
    today, other = prospects.today.category, rival.category
    surely = np.where((today == other) & prospects.entries.surely_left, today, -1)
    return surely, (today, np.where(today == other, -1, other))


def _false(prospects: Prospects, *charged: Indices) -> tuple[Indices, Indices]:
    """The predictions that are false positives of a class with ground truth, and of which class."""
    left, counts = prospects.entries.left, np.append(prospects.scorer.truths > 0, False)
    kept = [counts[category] for category in charged]
    return (
        np.concatenate([left[mask] for mask in kept]),
        np.concatenate([category[mask] for category, mask in zip(charged, kept, strict=True)]),
    )


def _missed(scorer: Scorer, entries: Entries) -> Indices:
    """Ground truths that may be missed, where an entry (0, 0) for them may stand above credit."""
    if scorer.options.missed == "drop" or not (entries.last <= 0).any():
        return np.zeros(0, np.int64)
    return scorer.truth_rows[~entries.outlook.sure[scorer.truth_rows]]
