"""Fix targets: the ground truth that an oracle makes an error a true positive of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.protocol_options import StrictOptions
from shoe.core.arrays import (
    Floats,
    Indices,
    Mask,
    distinct,
    expand,
    first_largest,
    first_of_each,
    index_in_group,
    numbers_at,
    random_numbers,
    runs,
    stable_order,
)
from shoe.core.boxes import iou
from shoe.diagnosis.error_types import ERRORS, FIXABLE, MISSED_GT, NO_PART, ErrorType, Fixes, FixTargets, State
from shoe.diagnosis.scope import Overlaps, Scope
from shoe.scoring.average_precision import FixedRanking
from shoe.scoring.entries import Means
from shoe.scoring.matching.assignment import assign
from shoe.scoring.matching.task import Boxes

BOXES = (ErrorType.HUMAN_BOX, ErrorType.OBJECT_BOX)


def possible(scope: Scope, overlaps: Overlaps, types: NDArray[np.int8]) -> dict[ErrorType, Fixes]:
    """List possible targets of errors: predictions, ascending, and their truths, ascending.

    These truths share what the prediction has right: the object box for a human box error, the human box for an object
    box error, either box for an association error, both for an interaction error (IJCV paper 3.2.1, 3.2.2). Where one
    of them has the verb of a box error, only those with that verb remain.
    """
    shares = (overlaps.object, overlaps.human, overlaps.human | overlaps.object, overlaps.pair)
    of_prediction = types[overlaps.prediction]
    lists = {}
    for type_, share in zip(FIXABLE, shares, strict=True):
        at = np.flatnonzero(share & (of_prediction == type_))
        prediction, truth = overlaps.prediction[at], overlaps.truth[at]
        if type_ in BOXES:
            least = least_changed(prediction, scope.verb[prediction] == scope.truth_verb[truth])
            prediction, truth = prediction[least], truth[least]
        lists[type_] = prediction, truth
    return lists


@dataclass(frozen=True, slots=True, eq=False)
class TruePairs:
    """Ground truths by pair of a person and an object, whose boxes are drawn anew for each verb (protocols.md 8.7).

    Attributes:
        first, count: (t,) where the truths of each one's pair begin, and their number; it is one of them.
        truth: all these lists, one after the other.
    """

    first: Indices
    count: Indices
    truth: Indices

    @classmethod
    def of(cls, scope: Scope, strict: StrictOptions) -> TruePairs:
        """Find truths whose boxes both overlap as those of a prediction must, and whose objects have one label."""
        index = index_in_group(np.bincount(scope.truth_image))
        later, earlier = expand(np.arange(len(index)) - index, index)
        close = np.flatnonzero(scope.truth_object[later] == scope.truth_object[earlier])
        later, earlier = later[close], earlier[close]
        boxes = Boxes(scope.task.truth.interactions, strict.coordinates)
        for each in (boxes.human(scope.truth), boxes.object(scope.truth)):
            close = np.flatnonzero(strict.rule.holds(iou(each[later], each[earlier], strict.rule.overlap)))
            later, earlier = later[close], earlier[close]
        all_ = np.arange(len(index))
        one, other = np.concatenate([all_, later, earlier]), np.concatenate([all_, earlier, later])
        count = np.bincount(one, minlength=len(index))
        return cls(np.cumsum(count) - count, count, other[np.argsort(one, kind="stable")])

    def whole(self, truths: Indices) -> Indices:
        """Return all truths of the pairs of some truths."""
        return self.truth[expand(self.first[truths], self.count[truths])[1]]


def targets_of_each(scope: Scope, lists: dict[ErrorType, Fixes], pairs: TruePairs, seed: int | None) -> FixTargets:
    """Choose one possible target for each error, as in the papers.

    Errors choose in the order of descending scores, each among its possible targets, found or not. Where one of them
    has the prediction's verb, only those remain. For association errors "each pair is fixed only once" (IJCV paper
    3.2.1): truths of a pair that was a target before, of this oracle or an earlier one of the progression, are
    excluded.

    With a seed, targets are equally likely, and the draw depends only on the seed and the prediction's row in its
    table; without a seed a truth without a true positive is chosen, else the one whose true positive scores least, the
    first of equals.
    """
    in_turn = {
        type_: list(turns(scope, prediction))
        for type_, (prediction, _) in lists.items()
        if seed is None or type_ is ErrorType.ASSOCIATION
    }
    loss = np.append(-scope.score, np.inf)
    rows = len(scope.task.predictions)
    numbers = None if seed is None else random_numbers(seed, (rows, 1))[scope.prediction, 0]

    def choose(prediction: Indices, gain: Floats) -> Indices:
        if numbers is None:
            return first_largest(prediction, gain)
        start, size = runs(prediction)
        chosen: Indices = start + (numbers[prediction[start]] % size.astype(np.uint64)).astype(np.int64)
        return chosen

    def targets(state: State, type_: ErrorType) -> Fixes:
        prediction, truth = lists[type_]
        # What a fix gains: the score of the true positive with its sign changed, infinity where there is none.
        gain = loss[state.found_by]
        if type_ not in in_turn:
            chosen = choose(prediction, gain[truth])
            return prediction[chosen], truth[chosen]
        same_verb = scope.verb[prediction] == scope.truth_verb[truth]
        used = np.zeros(len(gain), bool)
        for _, truths in state.fixes:
            used[pairs.whole(truths)] = True
        parts = [np.zeros(0, np.int64)]
        for now in in_turn[type_]:
            if type_ is ErrorType.ASSOCIATION:
                now = now[~used[truth[now]]]
                now = now[least_changed(prediction[now], same_verb[now])]
            now = now[choose(prediction[now], gain[truth[now]])]
            parts.append(now)
            taken = truth[now]
            gain[taken] = np.minimum(gain[taken], loss[prediction[now]])
            used[pairs.whole(taken)] = True
        chosen = np.concatenate(parts)
        return prediction[chosen], truth[chosen]

    return targets


def turns(scope: Scope, prediction: Indices) -> Iterator[Indices]:
    """Yield the pairs whose prediction is the best-scored of its image, then those of the second best, and so on."""
    chooser = prediction[first_of_each(prediction)]
    image, rank = scope.image, scope.rank
    order = chooser[np.argsort(image[chooser] * np.int64(len(rank)) + rank[chooser])]
    turn = np.zeros(len(image), np.int64)
    turn[order] = index_in_group(np.bincount(image[chooser], minlength=1))
    turns = turn[prediction]
    by_turn = np.argsort(turns.astype(np.uint16) if turns.max(initial=0) < 1 << 16 else turns, kind="stable")
    end = 0
    for size in np.bincount(turns).tolist():
        begin, end = end, end + size
        yield by_turn[begin:end]


def least_changed(prediction: Indices, same_verb: Mask) -> Mask:
    """Return which pairs keep the verb, or belong to a prediction without a pair that does."""
    start, size = runs(prediction)
    if len(start) == 0:
        return same_verb
    least: Mask = same_verb | np.repeat(~np.logical_or.reduceat(same_verb, start), size)
    return least


def shared_map(scope: Scope, overlaps: Overlaps, types: NDArray[np.int8], found_by: Indices) -> Indices:
    """Compute the toolbox's best map: (t,) the prediction, of any type, assigned to each truth; -1 where none.

    Truths take turns in the order of the file. Each takes the best-scored prediction that is no true positive, is not
    taken, has a higher score than the truth's own true positive, and shares the truth's human box - or, if its human
    box is correct nowhere, the truth's object box (protocols.md 8.4).
    """
    rank = scope.rank
    former = found_by[overlaps.truth]
    free = np.flatnonzero(
        np.where(overlaps.human_correct[overlaps.prediction], overlaps.human, overlaps.object)
        & (types[overlaps.prediction] != ErrorType.TRUE_POSITIVE)
        & ((former < 0) | (rank[overlaps.prediction] < rank[former]))
    )
    free = free[np.argsort(overlaps.truth[free], kind="stable")]
    prediction, truth = overlaps.prediction[free], overlaps.truth[free]
    turn = np.arange(len(found_by)) - np.searchsorted(scope.truth_image, scope.truth_image)
    equal, preference = np.zeros(len(free)), -rank[prediction].astype(np.float64)
    won = assign(truth, prediction, equal, preference, scope.truth_image, turn, equal, "greedy-gt")
    best = np.full(len(found_by), NO_PART, np.int64)
    best[truth[won]] = prediction[won]
    return best


def targets_by_map(best: Indices, types: NDArray[np.int8]) -> FixTargets:
    """Return the map's target of each error; an error that the map does not name has none (protocols.md 8.4)."""
    truth = np.flatnonzero(best >= 0)

    def targets(_: State, type_: ErrorType) -> Fixes:
        ours = truth[types[best[truth]] == type_]
        return best[ours], ours

    return targets


# What random fixes gain, seed by seed: mean AP after each oracle for many seeds, in about the time of one analysis.
#
# Boxes, types and lists of possible fix targets do not depend on the seed, and most draws cannot matter: a ground truth
# keeps its best-scored prediction, so that only draws of better-scored errors are looked at. For each seed the figures
# are those of a whole analysis with that seed alone (``fix_targets``, ``oracles``); here s seeds stand in rows.

Found = NDArray[np.int64]
"""(s, t) where the true positive of each of t ground truths stands in the ranking of the truth's class, as a position
in ``FixedRanking.ranked``; ``_nowhere`` where it has none. The first is the better one, as with ranks. Ground
truths are in the order of their classes here."""


@dataclass(frozen=True, eq=False)
class OverSeeds:
    """Oracles of one analysis under several seeds; s seeds, t ground truths, p predictions of its scope.

    Attributes:
        scope: of the analysis, which averages over all classes and integrates at all points.
        types: (p,) type of each prediction.
        found_by: (t,) true positives before any fix.
    """

    scope: Scope
    lists: dict[ErrorType, Fixes]
    pairs: TruePairs
    types: NDArray[np.int8]
    found_by: Indices
    ranking: FixedRanking
    seeds: range

    @cached_property
    def alone(self) -> dict[str, Floats]:
        """(s, 3 + p) mean AP after each oracle alone that depends on the seed.

        Means are over all, rare and non-rare classes, and over the p parts of a class split.
        """
        fixed = {type_: self._figures(found, {type_}) for type_, found in self._alone.items()}
        return {type_.label: figures for type_, figures in fixed.items()} | {MISSED_GT.name: self._without_missed}

    @cached_property
    def progression(self) -> list[Floats]:
        """Return (s, 3 + p) mean AP after each step of the progression."""
        found, gone = self._before, set[ErrorType]()
        steps = []
        for error in ERRORS[:-1]:
            type_ = ErrorType[error.name.upper()]
            gone.add(type_)
            if type_ is ErrorType.ASSOCIATION:
                found = np.minimum(found, self._after_boxes)
            elif type_ in self._alone:
                found = np.minimum(found, self._alone[type_])
            steps.append(self.alone[error.name] if len(gone) == 1 else self._figures(found, gone))
        counted = self._truths(~self.missed) > 0
        parts = np.stack([(counted & part).any(axis=1) for part in self._parts], axis=1)
        return [*steps, np.where(parts, 1.0, np.nan)]

    @cached_property
    def missed(self) -> Mask:
        """(s, t) ground truths without a true positive after all fixes."""
        last = [self._alone[type_] for type_ in (*BOXES, ErrorType.INTERACTION)]
        return np.asarray(reduce(np.minimum, last, self._after_boxes) == self._nowhere)

    @cached_property
    def _nowhere(self) -> Indices:
        """(t,) position of truths that are found nowhere, one for each class: behind all."""
        return len(self.ranking.ranked) + 1 + self._category

    @cached_property
    def _before(self) -> Found:
        held = np.flatnonzero(self.found_by >= 0)
        found = self._nowhere.copy()
        found[self._slot[held]] = self._position(self.found_by[held], held)
        return np.broadcast_to(found, (len(self.seeds), len(found)))

    def _position(self, prediction: Indices, truth: Indices) -> Indices:
        """Return the rank that predictions would have in the classes of truths."""
        return self.ranking.position(self.scope.truth_hoi[truth], self.scope.rank[prediction])

    @cached_property
    def _alone(self) -> dict[ErrorType, Found]:
        independent = (*BOXES, ErrorType.INTERACTION)
        nothing = np.zeros(self._before.shape, bool)
        return {type_: self._drawn(type_) for type_ in independent} | {ErrorType.ASSOCIATION: self._associated(nothing)}

    def _drawn(self, type_: ErrorType) -> Found:
        """Fix errors whose targets do not depend on other fixes."""
        prediction, truth = self.lists[type_]
        start, size = runs(prediction)
        certain = start[size == 1]
        best = self.scope.best_of(prediction[certain], truth[certain], self.found_by)
        rank = self.scope.rank_or_last
        matters = rank[prediction] < rank[best][truth]
        held = np.flatnonzero(best != self.found_by)
        first = self._before[0].copy()
        first[self._slot[held]] = self._position(best[held], held)
        found = np.repeat(first[None], len(self.seeds), axis=0)
        seed, cell = self._hits(type_, matters)
        np.minimum.at(found, (seed, self._slot[truth[cell]]), self._position(prediction[cell], truth[cell]))
        return found

    def _hits(self, type_: ErrorType, matters: Mask) -> tuple[Indices, Indices]:
        """Return which possible fix targets that matter are drawn: (h,) seeds, counted from 0, and rows of the list."""
        prediction, _ = self.lists[type_]
        start, size = runs(prediction)
        owner = np.repeat(np.arange(len(start)), size)
        cell = np.flatnonzero(matters & (size > 1)[owner])
        drawn = distinct(owner[cell])
        of_cell = np.searchsorted(drawn, owner[cell])
        numbers = numbers_at(np.array(self.seeds)[:, None], self.scope.prediction[prediction[start[drawn]]])
        chosen = start[drawn] + (numbers % size[drawn].astype(np.uint64)).astype(np.int64)
        seed, which = np.nonzero(chosen[:, of_cell] == cell)
        return seed, cell[which]

    @cached_property
    def _after_boxes(self) -> Found:
        """Fix association errors after box errors, whose targets are excluded."""
        _, candidates = self.lists[ErrorType.ASSOCIATION]
        wanted = np.zeros(len(self.found_by), bool)
        wanted[self.pairs.whole(distinct(candidates))] = True
        aimed = np.zeros(self._before.shape, bool)
        for type_ in BOXES:
            prediction, truth = self.lists[type_]
            start, size = runs(prediction)
            certain = np.zeros(len(self.found_by), bool)
            certain[truth[start[size == 1]]] = True
            aimed |= certain
            seed, cell = self._hits(type_, (wanted & ~certain)[truth])
            aimed[seed, truth[cell]] = True
        used = np.zeros(self._before.shape, bool)
        self._use(used, *np.nonzero(aimed & wanted))
        return self._associated(used)

    def _use(self, used: Mask, seed: Indices, truth: Indices) -> None:
        pairs = self.pairs
        owner, member = expand(pairs.first[truth], pairs.count[truth])
        used[seed[owner], pairs.truth[member]] = True

    def _associated(self, used: Mask) -> Found:
        """Fix association errors, one prediction of each image after the other; ``used`` pairs are excluded."""
        scope, (prediction, truth) = self.scope, self.lists[ErrorType.ASSOCIATION]
        same_verb = scope.verb[prediction] == scope.truth_verb[truth]
        position = self._position(prediction, truth)
        found = self._before.copy()
        seeds = np.array(self.seeds)
        for now in turns(scope, prediction):
            seed, place = np.nonzero(~used[:, truth[now]])
            cell = now[place]
            asking = seed * np.int64(len(self.types)) + prediction[cell]
            least = least_changed(asking, same_verb[cell])
            seed, cell, asking = seed[least], cell[least], asking[least]
            start, size = runs(asking)
            numbers = numbers_at(seeds[seed[start]], scope.prediction[prediction[cell[start]]])
            chosen = start + (numbers % size.astype(np.uint64)).astype(np.int64)
            seed, cell = seed[chosen], cell[chosen]
            at = seed, self._slot[truth[cell]]
            found[at] = np.minimum(found[at], position[cell])
            self._use(used, seed, truth[cell])
        return found

    @cached_property
    def _slot(self) -> Indices:
        """(t,) index of each ground truth in the order of classes."""
        slot = np.empty(len(self.found_by), np.int64)
        slot[stable_order(self.scope.truth_hoi)] = np.arange(len(slot))
        return slot

    @cached_property
    def _category(self) -> Indices:
        """(t,) class of each ground truth in the order of classes."""
        return np.sort(self.scope.truth_hoi).astype(np.int64)

    @cached_property
    def _place(self) -> Floats:
        """(t,) index within the class, from 1."""
        start, size = runs(self._category)
        return np.arange(1.0, len(self._category) + 1) - np.repeat(start, size)

    @cached_property
    def _parts(self) -> list[Mask]:
        """(K,) classes with ground truth: all, rare and non-rare ones, and those of the parts of a class split."""
        truth = self.scope.task.truth
        classes, parts = truth.classes, truth.class_parts.values()
        with_truth = np.bincount(self.scope.truth_hoi, minlength=len(classes)) > 0
        return [with_truth, *(with_truth & part for part in (classes.rare, classes.non_rare, *parts))]

    def _truths(self, counted: Mask) -> Indices:
        """Return (s, K) number of counted ground truths of each class."""
        size = len(self._parts[0])
        seed, truth = np.nonzero(counted)
        numbers = np.bincount(seed * size + self._category[truth], minlength=len(counted) * size)
        return numbers.reshape(len(counted), size)

    @cached_property
    def _weights(self) -> Floats:
        """Return (3 + p, t) weight of the precision at each ground truth in the means."""
        truths = np.bincount(self._category, minlength=len(self._parts[0]))
        parts = [np.where(part, 1 / np.maximum(truths * part.sum(), 1), 0.0) for part in self._parts]
        return np.stack(parts)[:, self._category]

    def _figures(self, found: Found, gone: set[ErrorType]) -> Floats:
        """Return (s, 3 + p) mean AP when errors of some types are removed, and truths are found at these positions."""
        figures = np.array([self._weights @ precision for precision in self._precisions(found, gone)])
        figures[:, [not part.any() for part in self._parts]] = np.nan
        return figures

    @property
    def _without_missed(self) -> Floats:
        """Return (s, 3 + p) mean AP when missed ground truth no longer counts: matches stay."""
        (precision,) = self._precisions(self._before[:1], set())
        found = np.bincount(self._category, precision, minlength=len(self._parts[0]))
        truths = self._truths(~self.missed)
        ap = found / np.maximum(truths, 1)
        with np.errstate(invalid="ignore"):
            return np.stack(
                [(ap * part).sum(axis=1) / ((truths > 0) & part).sum(axis=1) for part in self._parts], axis=1
            )

    def _precisions(self, found: Found, gone: set[ErrorType]) -> Iterator[Floats]:
        """Return, per seed, (t,) precision under the envelope at each true positive, best first; 0 for missed truths.

        Within a class, the number of false positives before an entry never falls. So these numbers alone are sorted for
        each class, and true positives are counted by their position.
        """
        false = np.ones(len(ErrorType), bool)
        false[[ErrorType.TRUE_POSITIVE, *gone]] = False
        before, starts = self.ranking.false_before(false[self.types]), self.ranking.starts
        before = np.append(before, before[starts[1:]] + 1)  # of truths that are found nowhere
        apart = 2 * self._category.astype(np.int32)
        start = before[starts[self._category]] + apart
        end = before[self._nowhere] + apart
        # The largest from each place on, within a class: classes are kept apart by more than any precision.
        level = 2.0 * (self._category[-1:] - self._category)
        varied = (found != found[0]).any(axis=0)
        same = np.sort(before[found[0, ~varied]] + apart[~varied])
        for row in found[:, varied]:
            drawn = np.sort(before[row] + apart[varied])
            number = np.insert(same, np.searchsorted(same, drawn), drawn)
            nowhere = number == end
            number -= start
            precision = self._place / (self._place + number)
            precision[nowhere] = 0.0
            precision += level
            np.maximum.accumulate(precision[::-1], out=precision[::-1])
            precision -= level
            yield precision


def over_seeds(figures: Floats, of: Callable[[Floats], float] = np.mean) -> float | None:
    """Return the mean, or another statistic, of (s,) figures that are not NaN; None where all are."""
    there = figures[~np.isnan(figures)]
    return float(of(there)) if len(there) else None


def means_over_seeds(figures: Floats) -> tuple[Means, Means]:
    """Return mean and standard deviation of the first three columns of (s, 3 or more) figures; 0 for a single one."""

    def deviation(there: Floats) -> float:
        return float(there.std(ddof=1)) if len(there) > 1 else 0.0

    columns = figures.T[: len(Means._fields)]
    return Means(*map(over_seeds, columns)), Means(*(over_seeds(column, deviation) for column in columns))
