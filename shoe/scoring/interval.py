"""Between which values a score lies were the pairs rated that a map leaves unrated (docs/protocols.md 10.7).

What is proved holds for every completion of the map, that is for any values 0..1 of its unrated pairs: credit, who is
matched, and who is left over. What leftover predictions are charged to cannot be bounded usefully, as a single rating
of 1 can draw any of them to any class; for that, two completions are looked at: today's map (unrated is 0), and a
cautious guess (``shoe.similarity.unrated.Guessed``). So ``low`` and ``high`` hold for all completions that charge
leftovers as one of these two does.

The proof, class by class. A list of entries (score, credit) loses no average precision when a credit is raised, an
entry without credit is removed, an entry moves up past entries of no more credit, or one is added whose credit is no
lower than any other's; and gains none by the opposite. All hold for each order of tied entries, so for their mean.

- ``high``: each ground truth with a possible match has the highest sigma of its possible matches. If their scores
  differ, or there may be no match, it has the highest sigma of the class's list, above the highest score. Only
  predictions that are left over in any case are charged.
- ``low``: each sure ground truth has the lowest sigma that its match can have. If the scores of its possible matches
  differ, an entry without credit stands above the highest of them, and the credit below the lowest (not with the
  trapezoid rule, which such an entry may please: there the credit is 0). Ground truths that may have no match have
  an entry without credit. All predictions that may be left over are charged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoe.arrays import Floats, Indices, Mask
from shoe.matching.meaning import Meaning
from shoe.matching.outlook import Outlook, any_maximal, in_file_order
from shoe.matching.repeats import repeated
from shoe.matching.spatial import Candidates
from shoe.matching.task import Task
from shoe.ragged import distinct, first_of_each
from shoe.scoring.average_precision import Interpolation
from shoe.scoring.completions import Completions
from shoe.scoring.ranking import mean_over
from shoe.scoring.scorer import Scorer
from shoe.scoring.semantic import SemanticResult

Bounds = tuple[float, float]

_CELLS = 1 << 20
"""Similarities computed at once: 8 MB."""


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
class Entries:
    """What the classes' lists may look like; t ground truths, u leftovers, c candidate pairs.

    Attributes:
        pairs: candidates that may be similar enough to match.
        low, high: (c,) lowest and highest sigma.
        outlook: who may be matched with whom.
        matches: (t,) number of possible matches.
        first, last: (t,) highest and lowest score of possible matches.
        most: (t,) highest sigma of possible matches; 0 where there are none.
        left: (u,) predictions that may be left over, ascending.
        surely_left: (u,) those that are in any case.
    """

    pairs: Candidates
    low: Floats
    high: Floats
    outlook: Outlook
    matches: Indices
    first: Floats
    last: Floats
    most: Floats
    left: Indices
    surely_left: Mask

    @property
    def settled(self) -> Mask:
        """(t,) ground truths that are matched in any case, at one score."""
        settled: Mask = self.outlook.sure & (self.first == self.last)
        return settled


@dataclass(frozen=True, slots=True, eq=False)
class Charges:
    """What each of u leftover predictions would be charged to.

    Attributes:
        nearest: (u,) the class that it is most like, -1 for none.
        sigma: (u,) how alike they are.
        charged: (u,) whether that is enough for a charge.
    """

    nearest: Indices
    sigma: Floats
    charged: Mask


@dataclass(frozen=True, slots=True, eq=False)
class Prospects:
    """What SHOE-mAP may come to.

    Attributes:
        scorer: with similarities whose unrated pairs are 0.
        completions: the similarities.
        entries: what the classes' lists may look like.
        charges: of leftovers, by today's map and by the guess.
        bounds: lowest and highest average precision per class, (K,) each, under either charges.
    """

    scorer: Scorer
    completions: Completions
    entries: Entries
    charges: tuple[Charges, Charges]
    bounds: tuple[tuple[Floats, Floats], tuple[Floats, Floats]]

    @property
    def means(self) -> list[float | None]:
        """Lowest and highest SHOE-mAP by today's charges, then by those of the guess."""
        return [mean_over(ap, self.scorer.in_mean) for pair in self.bounds for ap in pair]


def interval_of(task: Task, completions: Completions, today: SemanticResult) -> Interval:
    """Bound a score.

    Args:
        task: what is scored.
        completions: the similarities.
        today: the score under the map as it is. It is that of a completion, too, and widens bounds whose ties were
            drawn, not listed.
    """
    prospects = prospects_of(Scorer(task, completions.low, today.options), completions)
    scorer, pairs = prospects.scorer, prospects.entries.pairs
    for_f1 = entries_of(scorer, completions, scorer.f1_rows)
    f1s = [today.mf1]
    for charges in both_charges(scorer, completions, for_f1):
        f1s += f1_bounds(scorer, for_f1, charges)
    number = completions.unrated_pairs(scorer.hoi[pairs.truth], task.predictions, pairs.prediction)
    return Interval(hull([today.map, *prospects.means]), hull(f1s), number)


def prospects_of(scorer: Scorer, completions: Completions) -> Prospects:
    """See what SHOE-mAP may come to; the scorer's similarities are those of ``completions.low``."""
    entries = entries_of(scorer, completions, scorer.map_rows)
    today, guess = both_charges(scorer, completions, entries)
    bounds = precision_bounds(scorer, entries, today), precision_bounds(scorer, entries, guess)
    return Prospects(scorer, completions, entries, (today, guess), bounds)


def both_charges(scorer: Scorer, completions: Completions, entries: Entries) -> tuple[Charges, Charges]:
    """What leftovers are charged to by today's map, and by the guess."""
    today = charges_of(scorer, completions.today, entries)
    return today, rivals_of(scorer, completions.guess, entries, today)


def hull(figures: Sequence[float | None]) -> Bounds | None:
    """Lowest and highest of the figures that there are."""
    known = [figure for figure in figures if figure is not None]
    return (min(known), max(known)) if known else None


def entries_of(scorer: Scorer, completions: Completions, rows: Indices) -> Entries:
    """See who of some predictions may be matched with whom, and at what sigma."""
    predictions = scorer.task.predictions
    playing = np.zeros(len(predictions), bool)
    playing[rows] = True
    pairs = _playing(scorer, playing)
    low, high = (scorer.sigma_of(pairs, meaning) for meaning in (completions.low, completions.high))
    may = scorer.may_match(high)
    if not may.all():
        pairs, low, high = pairs.select(may), low[may], high[may]
    outlook = _outlook(scorer, pairs, low, high)
    truths = len(scorer.hoi)
    truth, score = pairs.truth[outlook.possible], predictions.score[pairs.prediction[outlook.possible]]
    first, last, most = np.full(truths, -np.inf), np.full(truths, np.inf), np.zeros(truths)
    if len(truth):
        starts = np.flatnonzero(first_of_each(truth))
        owners = truth[starts]
        first[owners] = np.maximum.reduceat(score, starts)
        last[owners] = np.minimum.reduceat(score, starts)
        most[owners] = np.maximum.reduceat(high[outlook.possible], starts)
    left = np.flatnonzero(playing & outlook.left)
    return Entries(
        pairs=pairs,
        low=low,
        high=high,
        outlook=outlook,
        matches=np.bincount(truth, minlength=truths),
        first=first,
        last=last,
        most=most,
        left=left,
        surely_left=outlook.surely_left[left],
    )


def charges_of(scorer: Scorer, meaning: Meaning, entries: Entries) -> Charges:
    """Charge all predictions that may be left over by some similarities."""
    nearest, sigma = scorer.nearest(entries.left, meaning)
    return Charges(nearest, sigma, scorer.reaches_delta(sigma) & (nearest >= 0))


def rivals_of(scorer: Scorer, guess: Meaning, entries: Entries, today: Charges) -> Charges:
    """Charge all predictions that may be left over to the class that, by a guess, may come before today's nearest.

    Today's nearest stays as alike as it is; else a guess that lifts all classes would hide that any of them may win.
    Where only the image's classes count, it is simply the nearest by the guess.
    """
    if scorer.options.fp_scope != "dataset" or not scorer.counted.any():
        return charges_of(scorer, guess, entries)
    words, allowed = scorer.task.predictions, np.flatnonzero(scorer.counted)
    objects = len(words.objects)
    said = words.verb[entries.left] * np.int64(objects) + words.object[entries.left]
    distinct_said, first, which = np.unique(said, return_index=True, return_inverse=True)
    nearest, sigma = np.zeros(len(first), np.int64), np.zeros(len(first))
    step = max(1, _CELLS // len(allowed))
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        verb, object_ = np.divmod(distinct_said[part], objects)
        alike = guess.sigma(allowed[None, :], verb[:, None], object_[:, None])
        row = np.arange(len(verb))
        alike[row, np.searchsorted(allowed, today.nearest[first[part]])] = today.sigma[first[part]]
        best = alike.argmax(axis=1)
        nearest[part], sigma[part] = allowed[best], alike[row, best]
    return Charges(nearest[which], sigma[which], scorer.reaches_delta(sigma)[which])


def precision_bounds(scorer: Scorer, entries: Entries, charges: Charges) -> tuple[Floats, Floats]:
    """(K,) lowest and (K,) highest average precision of each class; proof: see the module."""
    settled, least = entries.settled, entries.outlook.least
    matched = np.flatnonzero(entries.matches)
    fixed = settled[matched]
    # Just above, or just below, what it may tie with: that bounds no worse, and leaves fewer orders to look at.
    first, last = entries.first[matched], entries.last[matched]
    first = np.where(first == last, first, np.nextafter(first, np.inf))
    highest = np.zeros(len(scorer.truths))
    np.maximum.at(highest, scorer.hoi[matched], entries.most[matched])
    most = np.where(fixed, entries.most[matched], highest[scorer.hoi[matched]])
    sure = charges.charged & entries.surely_left
    high = scorer.ranked(matched, first, most, *_false(scorer, entries, charges, sure))

    later = np.flatnonzero(~settled & (least > 0)) if scorer.options.ap != Interpolation.TRAPEZOID else matched[:0]
    missed = _missed(scorer, entries)
    low = scorer.ranked(
        np.concatenate([matched, later, missed]),
        np.concatenate([first, np.nextafter(entries.last[later], -np.inf), np.zeros(len(missed))]),
        np.concatenate([np.where(fixed, least[matched], 0.0), least[later], np.zeros(len(missed))]),
        *_false(scorer, entries, charges, charges.charged),
    )
    return low.ap, high.ap


def f1_bounds(scorer: Scorer, entries: Entries, charges: Charges) -> tuple[float | None, float | None]:
    """Lowest and highest SHOE-mF1; None where it cannot be measured.

    F1 grows with the credit of each match, and falls with every match beyond its credit, charge and missed truth; each
    of these is bounded on its own.
    """
    classes, sure = len(scorer.truths), entries.outlook.sure
    surely_found = np.bincount(scorer.hoi[sure], minlength=classes)
    maybe_found = np.bincount(scorer.hoi[entries.matches > 0], minlength=classes)

    def f1(credit: Floats, found: Indices, missed: Indices, charged: Mask) -> float | None:
        true = np.bincount(scorer.hoi, weights=credit, minlength=classes)
        false = found - true + np.bincount(charges.nearest[charged], minlength=classes)
        return mean_over(*scorer.f1_of(true, np.maximum(false, 0), missed))

    surely_charged = charges.charged & entries.surely_left
    return (
        f1(entries.outlook.least, maybe_found, scorer.truths - surely_found, charges.charged),
        f1(entries.most, surely_found, scorer.truths - maybe_found, surely_charged),
    )


def _playing(scorer: Scorer, playing: Mask) -> Candidates:
    """Candidates of some predictions; repeats that cannot match are left out."""
    pairs = scorer.near
    keep = playing[pairs.prediction]
    if scorer.options.repeats == "charged" and scorer.prefers_originals:
        once = np.ones(len(playing), bool)
        once[repeated(scorer.task.predictions, distinct(pairs.prediction[keep]))] = False
        keep &= once[pairs.prediction]
    return pairs if keep.all() else pairs.select(keep)


def _outlook(scorer: Scorer, pairs: Candidates, low: Floats, high: Floats) -> Outlook:
    options, predictions = scorer.options, scorer.task.predictions
    certain = scorer.may_match(low)
    if options.assign != "greedy-gt" or not len(low):
        return any_maximal(pairs, low, certain, len(scorer.hoi), len(predictions))
    preference = {"confidence": predictions.score[pairs.prediction], "iou": pairs.iou, "index": np.zeros(len(low))}
    words = predictions.verb.astype(np.int64) * len(predictions.objects) + predictions.object
    return in_file_order(
        pairs,
        low,
        high,
        certain,
        preference[options.sigma_ties],
        words[pairs.prediction],
        scorer.truth_place,
        len(predictions),
    )


def _false(scorer: Scorer, entries: Entries, charges: Charges, charged: Mask) -> tuple[Indices, Indices]:
    """The predictions that are false positives of a class with ground truth, and of which class."""
    counts = charged & np.append(scorer.truths > 0, False)[charges.nearest]
    return entries.left[counts], charges.nearest[counts]


def _missed(scorer: Scorer, entries: Entries) -> Indices:
    """Ground truths that may be missed, where an entry (0, 0) for them may stand above credit."""
    if scorer.options.missed == "drop" or not (entries.last <= 0).any():
        return np.zeros(0, np.int64)
    return scorer.truth_rows[~entries.outlook.sure[scorer.truth_rows]]
