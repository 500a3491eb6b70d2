"""What an oracle leaves, as tables: ground truths that still count, predictions with their new words and boxes.

A strict oracle makes a true positive of an error by giving it the class and the boxes of a ground truth. Written into a
table, that can be scored by any measure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints, Mask
from shoe.core.coordinates import CommonCoordinates, Coordinates, converted
from shoe.core.interactions import Interactions
from shoe.core.ragged import stable_order
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.oracles import State
from shoe.matching.task import Origin, Task
from shoe.scoring.entries import Entries, Means, mean_over

Column = TypeVar("Column", bound=NDArray[Any])


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The part of both tables that a diagnosis looks at; p predictions, t ground truths.

    All boxes are continuous edges, so that a ground truth's can stand in a prediction's row whatever the coordinates of
    the two files. The vocabularies of the predictions end with the labels of the dataset that they lack.

    Attributes:
        whole: the tables as they were read.
        prediction: (p,) the row of each prediction in the whole table, ascending.
        truth: (t,) the same of each ground truth.
        row: (p,) the row, in ``task``, of each prediction of the diagnosis' scope. Ground truths are in its order.
        verb, object: word of each of the dataset's verbs and objects in the predictions' vocabularies.
        found_by: (t,) index in the scope of the true positive before any fix; -1 where there is none.
    """

    whole: Task
    task: Task
    prediction: Indices
    truth: Indices
    row: Indices
    verb: Ints
    object: Ints
    found_by: Indices

    @classmethod
    def of(cls, analysis: ErrorAnalysis) -> Tables:
        """Take from the tables what has a part in an analysis."""
        scope, whole = analysis.scope, analysis.task
        order = np.argsort(scope.prediction, kind="stable")
        row = np.empty(len(order), np.int64)
        row[order] = np.arange(len(order))
        predictions = _edges(whole.predictions.select(scope.prediction[order]))
        truths = _edges(whole.truth.interactions.select(scope.truth))
        verbs, verb = _extended(predictions.verbs, whole.truth.classes.verbs)
        objects, object_ = _extended(predictions.objects, whole.truth.classes.objects)
        predictions = replace(predictions, verbs=verbs, objects=objects)
        return cls(
            whole=whole,
            task=Task(
                predictions,
                replace(whole.truth, interactions=truths),
                Origin(whole, scope.prediction[order], scope.truth, CommonCoordinates.EDGES),
            ),
            prediction=scope.prediction[order],
            truth=scope.truth,
            row=row,
            verb=verb,
            object=object_,
            found_by=analysis.assigned.found_by,
        )

    def kept(self, state: State) -> Mask:
        """(p,) which predictions of ``task`` a state keeps."""
        kept = np.zeros(len(self.row), bool)
        kept[self.row[state.kept]] = True
        return kept

    def after(self, state: State) -> Task:
        """Write a state into tables; of its boxes only those of fixed predictions need be compared anew."""
        predictions, truths = self.task.predictions, self.task.truth.interactions
        here = np.arange(len(predictions))
        fixed = np.flatnonzero((state.found_by >= 0) & (state.found_by != self.found_by))
        if len(fixed):
            rows = self.row[state.found_by[fixed]]
            here[rows] = -1
            predictions = replace(
                predictions,
                human_boxes=_with(predictions.human_boxes, rows, truths.human_boxes[fixed]),
                object_boxes=_with(predictions.object_boxes, rows, truths.object_boxes[fixed]),
                verb=_with(predictions.verb, rows, self.verb[truths.verb[fixed]]),
                object=_with(predictions.object, rows, self.object[truths.object[fixed]]),
            )
        kept, truth = self.kept(state), self.task.truth
        return Task(
            predictions if kept.all() else predictions.select(kept),
            truth if state.counted.all() else replace(truth, interactions=truths.select(state.counted)),
            Origin(self.task, here[kept], np.flatnonzero(state.counted), CommonCoordinates.EDGES),
        )


def _with(column: Column, rows: Indices, values: Column) -> Column:
    changed = column.copy()
    changed[rows] = values
    return changed


def _extended(words: tuple[str, ...], labels: tuple[str, ...]) -> tuple[tuple[str, ...], Ints]:
    """A vocabulary with all labels of a dataset, and the index of each label in it."""
    index = {word: number for number, word in enumerate(words)}
    of_label = [index.setdefault(label, len(index)) for label in labels]
    return tuple(index), np.array(of_label, np.int32)


def _edges(table: Interactions) -> Interactions:
    of = table.triplet_coordinates
    return replace(
        table,
        human_boxes=converted(table.human_boxes, of, CommonCoordinates.EDGES),
        object_boxes=converted(table.object_boxes, of, CommonCoordinates.EDGES),
        coordinates=np.full_like(table.coordinates, Coordinates.CONTINUOUS),
    )


class SharedLists:
    """Means of many entries that have most classes' lists in common: each different list is ranked once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, bytes], float] = {}

    def means(self, entries: Entries) -> Means:
        """Mean average precision, as ``entries.means()`` has it where classes with ground truth are averaged."""
        truths, order = entries.truths, stable_order(entries.category)
        ends = np.cumsum(np.bincount(entries.category, minlength=len(truths))).tolist()
        score, credit = entries.score[order], entries.credit[order]
        keys = {}
        for k in np.flatnonzero(truths > 0).tolist():
            part = slice(ends[k - 1] if k else 0, ends[k])
            digest = blake2b(score[part].tobytes() + credit[part].tobytes(), digest_size=16).digest()
            keys[k] = (k, int(truths[k]), digest)
        new = [k for k, key in keys.items() if key not in self._known]
        fresh = np.zeros_like(entries.counted)
        fresh[new] = True
        ap = replace(entries.select(fresh[entries.category]), counted=fresh).scores().ap
        self._known.update(zip((keys[k] for k in new), ap[new].tolist(), strict=True))
        ap[list(keys)] = [self._known[key] for key in keys.values()]
        counted = entries.rule.in_mean(truths, entries.counted)
        parts = (counted, counted & entries.rare, counted & ~(entries.rare | entries.unseen))
        return Means(*(mean_over(ap, part) for part in parts))
