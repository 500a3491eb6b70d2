"""Fix targets: the ground truths that errors match after an oracle has fixed the errors."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Self

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import StrictOptions
from shoe.core.arrays import (
    Floats,
    Indices,
    Mask,
    argmax_per_run,
    distinct,
    expand,
    first_of_each,
    index_in_group,
    mask_of,
    numbers_at,
    random_numbers,
    runs,
    scatter,
    stable_order,
)
from shoe.diagnosis.error_types import ERRORS, FIXABLE, MISSED_GT, ErrorType, Fixes, FixTargets, State
from shoe.diagnosis.scope import Overlaps, Scope, near_in_image
from shoe.scoring.average_precision import FixedRanking
from shoe.scoring.entries import Means
from shoe.scoring.matching.assignment import assign
from shoe.scoring.matching.task import Boxes

BOXES = (ErrorType.HUMAN_BOX, ErrorType.OBJECT_BOX)


def possible_targets(scope: Scope, overlaps: Overlaps, types: NDArray[np.int8]) -> dict[ErrorType, Fixes]:
    """Return {error type: (predictions, possible targets)}: two arrays, one element per pair, sorted by prediction.

    The prediction and its possible target match in the object box for a human box error, in the human box for an object
    box error, in either box for an association error, and in both boxes for an interaction error (IJCV paper 3.2.1,
    3.2.2). If some targets of a box error have the predicted verb, only these remain. ``overlaps`` are pairs that share
    a box, and ``types`` the (p,) ``ErrorType`` of each prediction.
    """
    shares = (overlaps.object, overlaps.human, overlaps.human | overlaps.object, overlaps.pair)
    of_prediction, lists = types[overlaps.prediction], {}
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
    """Ground truths grouped by human-object pair, whose boxes annotators draw anew for each verb (protocols.md 8.7)."""

    # first, count: (t,) start and length, in ``truth``, of each ground truth's list of ground truths in its pair
    first: Indices
    count: Indices
    truth: Indices  # concatenation of these t lists. The list of a ground truth includes the ground truth itself.

    @classmethod
    def from_scope(cls, scope: Scope, strict: StrictOptions) -> Self:
        """Return, per ground truth, all ground truths of its image and object label that both of its boxes overlap."""
        boxes = Boxes(scope.task.truth.interactions, strict.coordinates)
        sides = boxes.human(scope.truth), boxes.object(scope.truth)
        later, earlier = near_in_image(scope.truth_image, scope.truth_object, sides, strict.rule)
        all_ = np.arange(len(scope.truth))
        one, other = np.concatenate([all_, later, earlier]), np.concatenate([all_, earlier, later])
        count = np.bincount(one, minlength=len(all_))
        return cls(np.cumsum(count) - count, count, other[np.argsort(one, kind="stable")])

    def in_same_pairs(self, truths: Indices) -> Indices:
        """Return all ground truths that are in a pair with one of ``truths``; the result may contain duplicates."""
        return self.truth[expand(self.first[truths], self.count[truths])[1]]


def targets_of_each(scope: Scope, lists: dict[ErrorType, Fixes], pairs: TruePairs, seed: int | None) -> FixTargets:
    """Return a function that maps a state and an error type to (errors, targets), chosen as in the papers.

    A fixed error gets the class and boxes of its target, a ground truth. Errors choose in order of descending score;
    box and association errors prefer targets with the predicted verb. "Each pair is fixed only once" (IJCV paper
    3.2.1): association errors skip human-object pairs that already have a target, from this or an earlier oracle.

    ``lists`` are the possible targets per error type (:func:`possible_targets`). An error draws its target by a number
    that depends only on ``seed`` and the row of the prediction. If ``seed`` is None, it chooses a ground truth without
    a true positive, or else the ground truth whose true positive has the lowest score; in case of ties, the first in
    the file.
    """
    in_turn = {
        type_: list(ranks_by_image(scope, prediction))
        for type_, (prediction, _) in lists.items()
        if seed is None or type_ is ErrorType.ASSOCIATION
    }
    loss, shape = np.append(-scope.score, np.inf), (len(scope.task.predictions), 1)
    numbers = None if seed is None else random_numbers(seed, shape)[scope.prediction, 0]

    def choose(prediction: Indices, gain: Floats) -> Indices:
        if numbers is None:
            return argmax_per_run(prediction, gain)
        start, size = runs(prediction)
        return np.asarray(start + (numbers[prediction[start]] % size.astype(np.uint64)).astype(np.int64))

    def targets(state: State, type_: ErrorType) -> Fixes:
        prediction, truth = lists[type_]
        # Gain of a fix: the negative score of the current true positive, or infinity without a true positive.
        gain = loss[state.found_by]
        if type_ not in in_turn:
            chosen = choose(prediction, gain[truth])
            return prediction[chosen], truth[chosen]
        same_verb = scope.verb[prediction] == scope.truth_verb[truth]
        used = np.zeros(len(gain), bool)
        for _, truths in state.fixes:
            used[pairs.in_same_pairs(truths)] = True
        parts = [np.zeros(0, np.int64)]
        for now in in_turn[type_]:
            if type_ is ErrorType.ASSOCIATION:
                now = now[~used[truth[now]]]
                now = now[least_changed(prediction[now], same_verb[now])]
            parts.append(now := now[choose(prediction[now], gain[truth[now]])])
            taken = truth[now]
            gain[taken] = np.minimum(gain[taken], loss[prediction[now]])
            used[pairs.in_same_pairs(taken)] = True
        chosen = np.concatenate(parts)
        return prediction[chosen], truth[chosen]

    return targets


def ranks_by_image(scope: Scope, prediction: Indices) -> Iterator[Indices]:
    """Yield the indices in ``prediction`` of the best-scored prediction of each image, then of the second-best, ...

    ``prediction`` is ascending, and may contain a prediction several times.
    """
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
    """Return a (m,) mask of fix targets to prefer: per prediction, those with its verb, or all if none has it.

    ``prediction`` is the (m,) prediction of each target, ascending; ``same_verb`` is whether both have one verb.
    """
    start, size = runs(prediction)
    if len(start) == 0:
        return same_verb
    return np.asarray(same_verb | np.repeat(~np.logical_or.reduceat(same_verb, start), size))


def shared_map(scope: Scope, overlaps: Overlaps, types: NDArray[np.int8], found_by: Indices) -> Indices:
    """Return the (t,) wrong prediction that the Diag-HOI toolbox assigns to each ground truth, or -1.

    Truths are processed in file order. Each truth gets the best-scored prediction that is not a true positive, is not
    assigned yet, has a higher score than the true positive of the truth (if any), and matches the human box of the
    truth. If the human box of a prediction matches no person in the image, the object boxes must match instead
    (protocols.md 8.4). ``types`` are the (p,) error types, and ``found_by`` the (t,) true positive of each truth, or
    -1.
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
    return scatter(prediction[won], truth[won], len(found_by))


def targets_by_map(best: Indices, types: NDArray[np.int8]) -> FixTargets:
    """Return a function that maps a state (unused) and an error type to (errors, fix targets) of the Diag-HOI toolbox.

    ``best`` is the result of :func:`shared_map`; errors that are not in it have no target. ``types`` are the (p,)
    ``ErrorType`` of the predictions.
    """
    truth = np.flatnonzero(best >= 0)

    def targets(_: State, type_: ErrorType) -> Fixes:
        ours = truth[types[best[truth]] == type_]
        return best[ours], ours

    return targets


# Mean AP after each oracle for many seeds, in about the time of one analysis.
#
# Boxes, types and possible fix targets do not depend on the seed. Most random choices have no effect, because the true
# positive of a ground truth is its best-scored prediction. Therefore only choices of better-scored errors are computed.
# The results for a seed equal those of a complete analysis with this seed. Arrays have one row per seed, s in total.

Found = NDArray[np.int64]
"""(s, t) position in ``FixedRanking.ranked`` of each ground truth's true positive, or ``_nowhere`` without one.

Smaller positions are better. Ground truths are sorted by class."""


@dataclass(frozen=True, eq=False)
class OverSeeds:
    """Mean AP after oracles for s seeds, from the t ground truths and p predictions in the scope of one analysis."""

    scope: Scope  # scope of an analysis that averages over all classes and uses all-point interpolation
    lists: dict[ErrorType, Fixes]  # possible fix targets per error type
    pairs: TruePairs
    types: NDArray[np.int8]  # (p,) ``ErrorType`` of each prediction
    found_by: Indices  # (t,) true positive of each ground truth before any fix, or -1
    ranking: FixedRanking  # ranked lists of the predictions of all classes
    seeds: range

    @cached_property
    def alone(self) -> dict[str, Floats]:
        """Mean AP after one error type is fixed, by name of the type; only types whose result depends on the seed.

        Arrays have a row for each of s seeds. Columns are the means over all, rare and non-rare classes, then over the
        parts of a class split. A mean over no class is NaN.
        """
        fixed = {type_.label: self._figures(found, {type_}) for type_, found in self._alone.items()}
        return fixed | {MISSED_GT.name: self._without_missed}

    @cached_property
    def progression(self) -> list[Floats]:
        """Mean AP after error types are fixed one after another: an array per type, with a row per seed.

        Columns are the means over all, rare and non-rare classes, then over the parts of a class split. The last step
        removes missed ground truths: mAP is then 1, or NaN for a mean over no class.
        """
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
        """(s, t) mask of ground truths, sorted by class, without a true positive after all fixes."""
        last = [self._alone[type_] for type_ in (*BOXES, ErrorType.INTERACTION)]
        return np.asarray(reduce(np.minimum, last, self._after_boxes) == self._nowhere)

    @cached_property
    def _nowhere(self) -> Indices:
        """(t,) position that stands for a missing true positive, after all real positions; different in each class."""
        return len(self.ranking.ranked) + 1 + self._category

    @cached_property
    def _before(self) -> Found:
        held, found = np.flatnonzero(self.found_by >= 0), self._nowhere.copy()
        found[self._slot[held]] = self._position(self.found_by[held], held)
        return np.broadcast_to(found, (len(self.seeds), len(found)))

    def _position(self, prediction: Indices, truth: Indices) -> Indices:
        # Positions that predictions would have in the rankings of the classes of the truths.
        return self.ranking.position(self.scope.truth_hoi[truth], self.scope.rank[prediction])

    @cached_property
    def _alone(self) -> dict[ErrorType, Found]:
        independent = (*BOXES, ErrorType.INTERACTION)
        nothing = np.zeros(self._before.shape, bool)
        return {type_: self._drawn(type_) for type_ in independent} | {ErrorType.ASSOCIATION: self._associated(nothing)}

    def _drawn(self, type_: ErrorType) -> Found:
        """Return the true positives after box errors or interaction errors (``type_``) are fixed."""
        prediction, truth = self.lists[type_]
        start, size = runs(prediction)
        certain = start[size == 1]
        best = self.scope.best_of(prediction[certain], truth[certain], self.found_by)
        rank = self.scope.rank_or_last
        held, first = np.flatnonzero(best != self.found_by), self._before[0].copy()
        first[self._slot[held]] = self._position(best[held], held)
        found = np.repeat(first[None], len(self.seeds), axis=0)
        seed, cell = self._hits(type_, rank[prediction] < rank[best][truth])
        np.minimum.at(found, (seed, self._slot[truth[cell]]), self._position(prediction[cell], truth[cell]))
        return found

    def _hits(self, type_: ErrorType, matters: Mask) -> tuple[Indices, Indices]:
        """Return seeds and list rows of random choices between several targets, for chosen rows in ``matters``."""
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
        """True positives after association errors are fixed, excluding pairs that have a target of a box error."""
        _, candidates = self.lists[ErrorType.ASSOCIATION]
        wanted = mask_of(self.pairs.in_same_pairs(distinct(candidates)), len(self.found_by))
        aimed = np.zeros(self._before.shape, bool)
        for type_ in BOXES:
            prediction, truth = self.lists[type_]
            start, size = runs(prediction)
            certain = mask_of(truth[start[size == 1]], len(self.found_by))
            aimed |= certain
            seed, cell = self._hits(type_, (wanted & ~certain)[truth])
            aimed[seed, truth[cell]] = True
        used = np.zeros(self._before.shape, bool)
        self._use(used, *np.nonzero(aimed & wanted))
        return self._associated(used)

    def _use(self, used: Mask, seed: Indices, truth: Indices) -> None:
        owner, member = expand(self.pairs.first[truth], self.pairs.count[truth])
        used[seed[owner], self.pairs.truth[member]] = True

    def _associated(self, used: Mask) -> Found:
        """Return the true positives after association errors are fixed, best-scored errors first.

        ``used`` is the (s, t) mask of ground truths that may not be targets; the pairs of chosen targets are added.
        """
        scope, (prediction, truth) = self.scope, self.lists[ErrorType.ASSOCIATION]
        same_verb = scope.verb[prediction] == scope.truth_verb[truth]
        position, found, seeds = self._position(prediction, truth), self._before.copy(), np.array(self.seeds)
        for now in ranks_by_image(scope, prediction):
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
        """(t,) index of each ground truth when sorted by class."""
        return np.argsort(stable_order(self.scope.truth_hoi))

    @cached_property
    def _category(self) -> Indices:
        return np.sort(self.scope.truth_hoi).astype(np.int64)

    @cached_property
    def _parts(self) -> list[Mask]:
        """(K,) masks of classes with ground truth: all, rare, non-rare, then the parts of a class split."""
        truth = self.scope.task.truth
        classes, parts = truth.classes, truth.class_parts.values()
        with_truth = np.bincount(self.scope.truth_hoi, minlength=len(classes)) > 0
        return [with_truth, *(with_truth & part for part in (classes.rare, classes.non_rare, *parts))]

    def _truths(self, counted: Mask) -> Indices:
        size = len(self._parts[0])
        seed, truth = np.nonzero(counted)
        numbers = np.bincount(seed * size + self._category[truth], minlength=len(counted) * size)
        return numbers.reshape(len(counted), size)

    def _figures(self, found: Found, gone: set[ErrorType]) -> Floats:
        """Return mean AP as in ``alone``, given true positives ``found``, without errors of the types ``gone``."""
        truths = np.bincount(self._category, minlength=len(self._parts[0]))
        parts = [np.where(part, 1 / np.maximum(truths * part.sum(), 1), 0.0) for part in self._parts]
        weights = np.stack(parts)[:, self._category]  # of the precision at each ground truth
        figures = np.array([weights @ precision for precision in self._precisions(found, gone)])
        figures[:, [not part.any() for part in self._parts]] = np.nan
        return figures

    @property
    def _without_missed(self) -> Floats:
        """(s, 3 + parts) mean AP, as in ``alone``, if missed ground truths are not counted."""
        (precision,) = self._precisions(self._before[:1], set())
        found = np.bincount(self._category, precision, minlength=len(self._parts[0]))
        truths = self._truths(~self.missed)
        ap = found / np.maximum(truths, 1)
        with np.errstate(invalid="ignore"):
            means = [(ap * part).sum(axis=1) / ((truths > 0) & part).sum(axis=1) for part in self._parts]
        return np.stack(means, axis=1)

    def _precisions(self, found: Found, gone: set[ErrorType]) -> Iterator[Floats]:
        """Yield, for each seed, the (t,) envelope precision at each true positive, sorted by class, then by rank.

        The precision is 0 for a truth without a true positive. The arguments are those of ``_figures``. Within a class,
        the number of false positives before an entry never decreases with the rank. Therefore sorting these numbers
        sorts the true positives, and the index of each is the number of true positives before it.
        """
        false = np.ones(len(ErrorType), bool)
        false[[ErrorType.TRUE_POSITIVE, *gone]] = False
        before, starts = self.ranking.false_before(false[self.types]), self.ranking.starts
        before = np.append(before, before[starts[1:]] + 1)  # for truths without a true positive
        apart = 2 * self._category.astype(np.int32)
        place = np.arange(1.0, len(apart) + 1) - np.repeat(*runs(self._category))  # 1-based, within the class
        start = before[starts[self._category]] + apart
        end = before[self._nowhere] + apart
        # Running maximum from the end within each class: offsets larger than any precision separate the classes.
        level = 2.0 * (self._category[-1:] - self._category)
        varied = (found != found[0]).any(axis=0)
        same = np.sort(before[found[0, ~varied]] + apart[~varied])
        for row in found[:, varied]:
            drawn = np.sort(before[row] + apart[varied])
            number = np.insert(same, np.searchsorted(same, drawn), drawn)
            nowhere, number = number == end, number - start
            precision = place / (place + number)
            precision[nowhere] = 0.0
            precision += level
            np.maximum.accumulate(precision[::-1], out=precision[::-1])
            precision -= level
            yield precision


def over_seeds(figures: Floats, statistic: Callable[[Floats], float] = np.mean) -> float | None:
    """Return the mean, or another ``statistic``, over seeds of the values that are not NaN; None if all are NaN."""
    there = figures[~np.isnan(figures)]
    return float(statistic(there)) if len(there) else None


def means_over_seeds(figures: Floats) -> tuple[Means, Means]:
    """Return mean and sample standard deviation, over seeds, of the mAP over all, rare and non-rare classes.

    ``figures`` has one row per seed, and these three mAP values in its first columns. NaN values are left out; the
    results are None if all values are NaN. The deviation is 0 for one value.
    """

    def deviation(there: Floats) -> float:
        return float(there.std(ddof=1)) if len(there) > 1 else 0.0

    columns = figures.T[: len(Means._fields)]
    return Means(*map(over_seeds, columns)), Means(*(over_seeds(column, deviation) for column in columns))
