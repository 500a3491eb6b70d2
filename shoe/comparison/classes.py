"""What sets two models apart: their figures by class, by verb and by object."""

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
        name: "ride horse", "ride", "horse".
        classes: how many are in both means; 1 for a class.
        truths: how many ground truths these have.
        before, after: mean of their figures under each model, 0..1.
    """

    name: str
    classes: Count
    truths: Count
    before: Fraction
    after: Fraction

    @property
    def by(self) -> float:
        """How much better the second model is."""
        return self.after - self.before


def means_apart(
    names: Sequence[str], group: NDArray[np.integer], truths: Indices, before: Floats, after: Floats
) -> list[Moved]:
    """Compare the means of two models over groups of classes, by falling gain of the second model.

    Args:
        group: (K,) group of each class.
        truths: (K,) number of ground truths of each class.
        before: (K,) figures of the first model; NaN for classes outside the mean.
        after: (K,) figures of the second model.
    """
    both = ~np.isnan(before) & ~np.isnan(after)
    number = np.bincount(group[both], minlength=len(names))
    means = [np.bincount(group[both], figures[both], len(names)) / np.maximum(number, 1) for figures in (before, after)]
    of_group = np.bincount(group[both], truths[both], len(names))
    found = [
        Moved(names[g], int(number[g]), int(of_group[g]), float(means[0][g]), float(means[1][g]))
        for g in np.flatnonzero(number).tolist()
    ]
    return sorted(found, key=lambda moved: -moved.by)


class Apart(Document, frozen=True):
    """What sets two models apart.

    Attributes:
        models: their names.
        figure: key of the mean that average precision is of: "strict:PROTOCOL:full" or "semantic:map".
        classes, verbs, objects: by falling gain of the second.
    """

    models: Pair
    figure: str
    classes: list[Moved]
    verbs: list[Moved]
    objects: list[Moved]


def apart(found: Comparison) -> list[Apart]:
    """What sets every two models apart, by the figures that their rankings are made of."""
    of, made = found.runs[0].classes, []
    for figure in found.compared or [column.figure for column in found.columns[:1]]:
        truths = truths_of(found.runs[0])
        ap = {run.name: class_ap(run, figure) for run in found.runs}
        for a, b in combinations(found.names, 2):
            by = [
                means_apart(names, group, truths, ap[a], ap[b])
                for names, group in ((of.labels, np.arange(len(of))), (of.verbs, of.verb), (of.objects, of.object))
            ]
            made.append(Apart((a, b), figure, *by))
    return made


def class_ap(run: Run, figure: str) -> Floats:
    """(K,) average precision behind a mean over all classes; NaN for classes outside it, and where there is none."""
    of = {f"strict:{each.options.protocol}:full": each.entries for each in run.strict}
    if run.semantic is not None:
        of["semantic:map"] = run.semantic.entries
    if figure not in of:
        return np.full(len(run.classes), np.nan)
    scores = of[figure].scores()
    return np.where(scores.in_mean, scores.ap, np.nan)


def truths_of(run: Run) -> Indices:
    """(K,) ground truths of each class."""
    entries = run.strict[0].entries if run.strict else run.semantic.entries if run.semantic else None
    return np.zeros(len(run.classes), np.int64) if entries is None else entries.truths
