"""What random fixes gain, seed by seed: mean AP after each oracle for many seeds, in about the time of one analysis.

Boxes, types and lists of possible fix targets do not depend on the seed, and most draws cannot matter: a ground truth
keeps its best-scored prediction, so that only draws of better-scored errors are looked at. For each seed the figures
are those of a whole analysis with that seed alone (``fix_targets``, ``oracles``); here s seeds stand in rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.ragged import distinct, expand, runs, stable_order
from shoe.core.seeded import numbers_at
from shoe.diagnosis.fix_targets import BOXES, TruePairs, least_changed, turns
from shoe.diagnosis.oracles import ERRORS, MISSED_GT, Fixes
from shoe.diagnosis.scope import Scope
from shoe.diagnosis.types import ErrorType
from shoe.scoring.entries import Means
from shoe.scoring.ranking import FixedRanking

Found = NDArray[np.int64]
"""(s, t) where the true positive of each of t ground truths stands in the ranking of the truth's class, as a position
in ``FixedRanking.ranked``; ``_nowhere`` where it has none. The first is the better one, as with ranks. Ground
truths are in the order of their classes here."""


@dataclass(frozen=True, eq=False)
class OverSeeds:
    """The oracles of one analysis under several seeds; s seeds, t ground truths, p predictions of its scope.

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
        """(s, 3 + p) the same after each step of the progression."""
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
        """Where predictions would stand in the classes of truths."""
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
        """Which of the possible fix targets that matter are drawn: (h,) seeds, counted from 0, and rows of the list."""
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
        """After fixes of association errors that come after those of boxes, whose targets are out."""
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
        """Fix association errors, one prediction of each image after the other; ``used`` pairs are out."""
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
        """(s, K) ground truths of each class that count."""
        size = len(self._parts[0])
        seed, truth = np.nonzero(counted)
        numbers = np.bincount(seed * size + self._category[truth], minlength=len(counted) * size)
        return numbers.reshape(len(counted), size)

    @cached_property
    def _weights(self) -> Floats:
        """(3 + p, t) what the precision at each ground truth counts in the means."""
        truths = np.bincount(self._category, minlength=len(self._parts[0]))
        parts = [np.where(part, 1 / np.maximum(truths * part.sum(), 1), 0.0) for part in self._parts]
        return np.stack(parts)[:, self._category]

    def _figures(self, found: Found, gone: set[ErrorType]) -> Floats:
        """(s, 3 + p) mean AP when errors of some types are gone, and truths are found at these positions."""
        figures = np.array([self._weights @ precision for precision in self._precisions(found, gone)])
        figures[:, [not part.any() for part in self._parts]] = np.nan
        return figures

    @property
    def _without_missed(self) -> Floats:
        """(s, 3 + p) mean AP when missed ground truth no longer counts: what is found stays."""
        (precision,) = self._precisions(self._before[:1], set())
        found = np.bincount(self._category, precision, minlength=len(self._parts[0]))
        truths = self._truths(~self.missed)
        ap = found / np.maximum(truths, 1)
        with np.errstate(invalid="ignore"):
            return np.stack(
                [(ap * part).sum(axis=1) / ((truths > 0) & part).sum(axis=1) for part in self._parts], axis=1
            )

    def _precisions(self, found: Found, gone: set[ErrorType]) -> Iterator[Floats]:
        """Per seed (t,) precision under the envelope at each true positive, the best first; 0 for truths not found.

        What stands further back in a class has as many false positives before it, or more. So these numbers alone are
        sorted, apart for each class, and true positives are counted by their place.
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
    """The mean, or another figure, of (s,) figures that are not NaN; None where all are."""
    there = figures[~np.isnan(figures)]
    return float(of(there)) if len(there) else None


def means_over_seeds(figures: Floats) -> tuple[Means, Means]:
    """Mean and standard deviation of the first three columns of (s, 3 or more) figures; one alone deviates by 0."""

    def deviation(there: Floats) -> float:
        return float(there.std(ddof=1)) if len(there) > 1 else 0.0

    columns = figures.T[: len(Means._fields)]
    return Means(*map(over_seeds, columns)), Means(*(over_seeds(column, deviation) for column in columns))
