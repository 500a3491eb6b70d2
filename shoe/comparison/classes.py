"""Differences between two models by class, by verb and by object."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoe.comparison.compare import Comparison
from shoe.comparison.run import Run
from shoe.core.arrays import Floats, Indices
from shoe.core.documents import Count, Document, Fraction, Pair


class Moved(Document, frozen=True):
    """A class, or the classes of one verb or object, under two models.

    Attributes:
        name: label of the class, verb or object, like "ride horse", "ride", "horse".
        classes: number of classes in both means; 1 for a class.
        truths: number of ground truths of these classes.
        before, after: mean of their values under the first and the second model, 0..1.
    """

    name: str
    classes: Count
    truths: Count
    before: Fraction
    after: Fraction

    @property
    def by(self) -> float:
        """Gain of the second model."""
        return self.after - self.before


def means_apart(
    names: Sequence[str], group: NDArray[np.integer], truths: Indices, before: Floats, after: Floats
) -> list[Moved]:
    """Return the means of two models over groups of classes, by falling gain of the second model.

    Args:
        names: names of the groups.
        group, truths: (K,) group and number of ground truths of each class.
        before, after: (K,) values of the first and the second model; NaN for classes outside the mean.
    """
    both = ~np.isnan(before) & ~np.isnan(after)
    number = np.bincount(group[both], minlength=len(names))
    means = [np.bincount(group[both], figures[both], len(names)) / np.maximum(number, 1) for figures in (before, after)]
    of_group = np.bincount(group[both], truths[both], len(names))
    groups = [
        Moved(names[g], int(number[g]), int(of_group[g]), float(means[0][g]), float(means[1][g]))
        for g in np.flatnonzero(number).tolist()
    ]
    return sorted(groups, key=lambda moved: -moved.by)


class Apart(Document, frozen=True):
    """Differences between two models.

    Attributes:
        models: names of the models.
        figure: key of the mean of the average precisions: "strict:PROTOCOL:full" or "semantic:map".
        classes, verbs, objects: values of both models, by falling gain of the second model.
    """

    models: Pair
    figure: str
    classes: list[Moved]
    verbs: list[Moved]
    objects: list[Moved]


def apart(found: Comparison) -> list[Apart]:
    """Return the differences between every two models, for the metrics that they are ranked by."""
    classes, differences = found.runs[0].classes, []
    groups = (
        (classes.labels, np.arange(len(classes))),
        (classes.verbs, classes.verb),
        (classes.objects, classes.object),
    )
    for figure in found.compared or [column.figure for column in found.columns[:1]]:
        truths = truths_of(found.runs[0])
        ap = {run.name: class_ap(run, figure) for run in found.runs}
        groups = (
            (classes.labels, np.arange(len(classes))),
            (classes.verbs, classes.verb),
            (classes.objects, classes.object),
        )
        for a, b in combinations(found.names, 2):
            differences.append(
                Apart((a, b), figure, *(means_apart(names, group, truths, ap[a], ap[b]) for names, group in groups))
            )
    return differences


def class_ap(run: Run, figure: str) -> Floats:
    """Return the (K,) average precision behind a mean over all classes; NaN for classes outside it or without AP."""
    entries = {f"strict:{each.options.protocol}:full": each.entries for each in run.strict}
    if run.semantic is not None:
        entries["semantic:map"] = run.semantic.entries
    if figure not in entries:
        return np.full(len(run.classes), np.nan)
    scores = entries[figure].scores()
    return np.where(scores.in_mean, scores.ap, np.nan)


def truths_of(run: Run) -> Indices:
    """Return the (K,) number of ground truths of each class."""
    entries = run.strict[0].entries if run.strict else run.semantic.entries if run.semantic else None
    return np.zeros(len(run.classes), np.int64) if entries is None else entries.truths
