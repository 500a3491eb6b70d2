"""Differences between two models by class, by verb and by object."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from shoe.comparison.compare import Comparison
from shoe.comparison.run import Run
from shoe.core.arrays import Floats, Indices
from shoe.core.documents import Count, Document, Fraction, Pair


class GroupDifference(Document, frozen=True):
    """Average precision (AP) of two models for a class, or mean AP for all classes of one verb or object.

    Attributes:
        name: label of the class, verb or object, such as "ride horse", "ride" or "horse".
        classes: number of classes with AP for both models; 1 for a class.
        truths: number of ground truths of these classes.
        before, after: mean AP of these classes for the first and the second model, 0..1.
    """

    name: str
    classes: Count
    truths: Count
    before: Fraction
    after: Fraction

    @property
    def by(self) -> float:
        """Gain in mean AP from the first to the second model."""
        return self.after - self.before


def mean_differences(
    names: Sequence[str], group: NDArray[np.integer], truths: Indices, before: Floats, after: Floats
) -> list[GroupDifference]:
    """Return the mean AP of two models for groups of classes, sorted by descending gain of the second model.

    Args:
        names: name of each group.
        group, truths: (K,) index into ``names``, and number of ground truths, of each class.
        before, after: (K,) AP of the first and the second model; NaN for classes outside the mean.
    """
    both = ~np.isnan(before) & ~np.isnan(after)
    number = np.bincount(group[both], minlength=len(names))
    means = [np.bincount(group[both], figures[both], len(names)) / np.maximum(number, 1) for figures in (before, after)]
    of_group = np.bincount(group[both], truths[both], len(names))
    groups = [
        GroupDifference(names[g], int(number[g]), int(of_group[g]), float(means[0][g]), float(means[1][g]))
        for g in np.flatnonzero(number).tolist()
    ]
    return sorted(groups, key=lambda moved: -moved.by)


class ClassDifference(Document, frozen=True):
    """Differences in average precision between two models, by class, by verb and by object.

    Attributes:
        models: names of the two models.
        figure: key of the metric that is the mean over classes: "strict:PROTOCOL:full" or "semantic:map".
        classes, verbs, objects: values of both models, sorted by descending gain of the second model.
    """

    models: Pair
    figure: str
    classes: list[GroupDifference]
    verbs: list[GroupDifference]
    objects: list[GroupDifference]


def class_differences(found: Comparison) -> list[ClassDifference]:
    """Return the differences by class, verb and object, for each pair of models and each metric that ranks models."""
    classes, truths, differences = found.runs[0].classes, truths_of(found.runs[0]), []
    labels = (classes.labels, np.arange(len(classes)))
    groups = labels, (classes.verbs, classes.verb), (classes.objects, classes.object)
    for figure in found.compared or [column.figure for column in found.columns[:1]]:
        ap = {run.name: class_ap(run, figure) for run in found.runs}
        for a, b in combinations(found.names, 2):
            lists = (mean_differences(names, group, truths, ap[a], ap[b]) for names, group in groups)
            differences.append(ClassDifference((a, b), figure, *lists))
    return differences


def class_ap(run: Run, figure: str) -> Floats:
    """Return the (K,) average precision of each class, for the metric with key ``figure``.

    NaN for classes without average precision or outside the mean.
    """
    entries = {f"strict:{each.options.protocol}:full": each.entries for each in run.strict}
    if run.semantic is not None:
        entries["semantic:map"] = run.semantic.entries
    if figure not in entries:
        return np.full(len(run.classes), np.nan)
    scores = entries[figure].scores()
    return np.where(scores.in_mean, scores.ap, np.nan)


def truths_of(run: Run) -> Indices:
    """Return the (K,) number of ground truths of each class in a run."""
    entries = run.strict[0].entries if run.strict else run.semantic.entries if run.semantic else None
    return np.zeros(len(run.classes), np.int64) if entries is None else entries.truths
