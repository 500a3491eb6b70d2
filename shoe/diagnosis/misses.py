"""Wrong words where both boxes are right: the verb of interaction errors, the object of object-class errors.

An *object-class error* is a prediction whose two boxes are those of one ground truth if labels do not count, though its
object is not that ground truth's. The decision flow asks for place and label at once, so it files such a prediction as
an object box error, or as an association error where another box in that place has the label.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints
from shoe.core.ragged import first_of_each
from shoe.diagnosis.diagnosis import Diagnosis
from shoe.diagnosis.flow import NO_PART, ErrorType
from shoe.diagnosis.nearness import Nearness
from shoe.diagnosis.order import runs
from shoe.diagnosis.sides import Side
from shoe.matching.overlaps import Overlaps

_EXAMPLES = 5
_RIGHT_OBJECT = (ErrorType.TRUE_POSITIVE, ErrorType.DUPLICATE, ErrorType.INTERACTION)


class Mistaken(NamedTuple):
    """A class's word, the word that was said in its place, and how often."""

    label: str
    said: str
    times: int


@dataclass(frozen=True, slots=True)
class Kind:
    """The misses of one nearness.

    Attributes:
        nearness: its name, as "more_general".
        count: how many.
        share: of all misses, above 0, at most 1.
        similarity: mean, 0..1.
        commonest: the words that occur most, at most five.
    """

    nearness: str
    count: int
    share: float
    similarity: float
    commonest: tuple[Mistaken, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Misses:
    """Errors that got a word wrong; m of them.

    Attributes:
        part: which word, "verb" or "object".
        prediction: (m,) their rows, ascending.
        truth: (m,) row of the ground truth that each is held against.
        near: (m,) int8 ``Nearness``.
        sense: (m,) the predicted word's sense; -1 where none was looked at.
        similarity: (m,) of the predicted word to the ground truth's, 0..1.
        types: how many are of which error type.
        kinds: those that occur, by nearness.
        words: all words that were mistaken, the commonest first.
    """

    part: str
    prediction: Indices
    truth: Indices
    near: NDArray[np.int8]
    sense: NDArray[np.int32]
    similarity: Floats
    types: dict[str, int]
    kinds: tuple[Kind, ...]
    words: tuple[Mistaken, ...]


def misses_of(diagnosis: Diagnosis, verbs: Side, objects: Side) -> tuple[Misses, Misses]:
    """Split interaction errors, and object-class errors, by how near the word is.

    Of several ground truths whose boxes a prediction has, it is held against the one whose word is most similar to its
    own; of equally similar ones against the nearest, then the one of the largest pair IoU, then the first.

    Args:
        diagnosis: of the predictions.
        verbs: similarities and nearness of all verbs.
        objects: of all objects.

    Returns:
        Interaction errors, and object-class errors.
    """
    pairs = _in_place(diagnosis)
    type_ = diagnosis.types[pairs.prediction]
    same_object = diagnosis.task.object_label[diagnosis.task.predictions.object[pairs.prediction]]
    same = same_object == diagnosis.task.truth.interactions.object[pairs.truth]
    wrong_object = ~np.isin(type_, _RIGHT_OBJECT)
    return (
        _split(diagnosis, pairs.select((type_ == ErrorType.INTERACTION) & same), verbs),
        _split(diagnosis, pairs.select(wrong_object), objects),
    )


def _in_place(diagnosis: Diagnosis) -> Overlaps:
    """Predictions and ground truths that have a part, where both boxes overlap enough, whatever their labels.

    Sorted by prediction, then by ground truth.
    """
    task, options = diagnosis.task, diagnosis.variant.strict
    pairs = task.overlaps(options.coordinates, options.rule)
    part = (diagnosis.truth_status != NO_PART)[pairs.truth] & (diagnosis.types != NO_PART)[pairs.prediction]
    pairs = pairs.select(part)
    return pairs.select(np.argsort(pairs.prediction, kind="stable"))


def _split(diagnosis: Diagnosis, pairs: Overlaps, side: Side) -> Misses:
    row = side.row[diagnosis.task.truth.hoi[pairs.truth]]
    word = side.words_of(diagnosis.task.predictions)[pairs.prediction]
    similarity, code = side.table.values[row, word], side.near.code[row, word]
    best = _best_of_each(pairs.prediction, similarity, -code.astype(np.float64), pairs.iou)
    row, word, code, similarity = row[best], word[best], code[best], similarity[best]
    prediction = pairs.prediction[best]
    types = np.bincount(diagnosis.types[prediction], minlength=len(ErrorType)).tolist()
    return Misses(
        part=side.part,
        prediction=prediction,
        truth=pairs.truth[best],
        near=code,
        sense=side.near.sense[row, word],
        similarity=similarity,
        types={type_.label: types[type_] for type_ in ErrorType if types[type_]},
        kinds=tuple(
            Kind(
                nearness=nearness.label,
                count=int(chosen.sum()),
                share=float(chosen.mean()),
                similarity=float(similarity[chosen].mean()),
                commonest=_mistaken(side, row[chosen], word[chosen])[:_EXAMPLES],
            )
            for nearness in Nearness
            if (chosen := code == nearness).any()
        ),
        words=_mistaken(side, row, word),
    )


def _best_of_each(sorted_groups: Indices, *values: Floats) -> Indices:
    """Index of the largest of each run of equal groups: by the first values, then by the next; the first of equals."""
    left = np.arange(len(sorted_groups))
    for value in values:
        start, size = runs(sorted_groups[left])
        if len(start) == 0:
            return left
        left = left[value[left] == np.repeat(np.maximum.reduceat(value[left], start), size)]
    return left[first_of_each(sorted_groups[left])]


def _mistaken(side: Side, row: Indices, word: Ints) -> tuple[Mistaken, ...]:
    """Count words, whatever the sense of the class's."""
    labels = list(dict.fromkeys(side.labels))
    label = np.array([labels.index(own) for own in side.labels])
    times = np.bincount(label[row] * len(side.words) + word)
    cells = np.flatnonzero(times)
    cells = cells[np.argsort(-times[cells], kind="stable")]
    return tuple(
        Mistaken(labels[cell // len(side.words)], side.words[cell % len(side.words)], count)
        for cell, count in zip(cells.tolist(), times[cells].tolist(), strict=True)
    )
