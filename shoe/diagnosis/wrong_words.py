"""Wrong words where both boxes are right: the verb of interaction errors, the object of object-class errors.

An *object-class error* is a prediction whose two boxes are those of one ground truth if labels do not count, though its
object is not that ground truth's. The decision flow asks for place and label at once, so it files such a prediction as
an object box error, or as an association error where another box in that place has the label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices, Ints
from shoe.core.documents import Count, Document, Fraction
from shoe.core.ragged import first_largest
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.relations import PredictedWords, Relation
from shoe.diagnosis.types import NO_PART, ErrorType
from shoe.matching.overlaps import Overlaps

_EXAMPLES = 5
_RIGHT_OBJECT = (ErrorType.TRUE_POSITIVE, ErrorType.DUPLICATE, ErrorType.INTERACTION)


class WrongWord(Document, frozen=True):
    """A class's word, the word that was predicted for it, and how often."""

    label: str
    predicted: str
    times: Count


class Related(Document, frozen=True, kw_only=True):
    """The wrong words of one semantic relation.

    Attributes:
        count: how many.
        share: of all, above 0, at most 1.
        similarity: mean, 0..1.
        commonest: the words that occur most, at most five.
    """

    count: Count
    share: Fraction
    similarity: Fraction | None = None
    commonest: list[WrongWord]


@dataclass(frozen=True, slots=True, eq=False)
class WrongWords:
    """Errors that got a word wrong; m of them.

    Attributes:
        part: which word, "verb" or "object".
        prediction: (m,) their rows, ascending.
        truth: (m,) row of the ground truth that each is held against.
        relation: (m,) int8 ``Relation``.
        sense: (m,) the predicted word's sense; -1 where none was looked at.
        similarity: (m,) of the predicted word to the ground truth's, 0..1.
        types: how many are of which error type.
        by_relation: those that occur, by the relation's name, as "more_general".
        words: all wrong words, the commonest first.
    """

    part: str
    prediction: Indices
    truth: Indices
    relation: NDArray[np.int8]
    sense: NDArray[np.int32]
    similarity: Floats
    types: dict[str, int]
    by_relation: dict[str, Related]
    words: tuple[WrongWord, ...]


def wrong_words(
    analysis: ErrorAnalysis, verbs: PredictedWords, objects: PredictedWords
) -> tuple[WrongWords, WrongWords]:
    """Split interaction errors, and object-class errors, by the relation of the word.

    Of several ground truths whose boxes a prediction has, it is held against the one whose word is most similar to its
    own; of equally similar ones against that of the first relation, then the one of the largest pair IoU, then the
    first.

    Args:
        analysis: of the predictions.
        verbs: similarities and relations of all verbs.
        objects: of all objects.

    Returns:
        Interaction errors, and object-class errors.
    """
    pairs = _right_boxes(analysis)
    type_ = analysis.types[pairs.prediction]
    same_object = analysis.task.object_label[analysis.task.predictions.object[pairs.prediction]]
    same = same_object == analysis.task.truth.interactions.object[pairs.truth]
    wrong_object = ~np.isin(type_, _RIGHT_OBJECT)
    return (
        _split(analysis, pairs.select((type_ == ErrorType.INTERACTION) & same), verbs),
        _split(analysis, pairs.select(wrong_object), objects),
    )


def _right_boxes(analysis: ErrorAnalysis) -> Overlaps:
    """Predictions and ground truths that have a part, where both boxes overlap enough, whatever their labels.

    Sorted by prediction, then by ground truth.
    """
    options = analysis.variant.strict
    pairs = analysis.task.overlaps(options.coordinates, options.rule)
    part = (analysis.truth_status != NO_PART)[pairs.truth] & (analysis.types != NO_PART)[pairs.prediction]
    pairs = pairs.select(part)
    return pairs.select(np.argsort(pairs.prediction, kind="stable"))


def _split(analysis: ErrorAnalysis, pairs: Overlaps, words: PredictedWords) -> WrongWords:
    row = words.row[analysis.task.truth.hoi[pairs.truth]]
    word = words.of(analysis.task.predictions)[pairs.prediction]
    similarity, relation = words.table.values[row, word], words.relation[row, word]
    best = first_largest(pairs.prediction, similarity, -relation.astype(np.float64), pairs.iou)
    row, word, relation, similarity = row[best], word[best], relation[best], similarity[best]
    prediction = pairs.prediction[best]
    types = np.bincount(analysis.types[prediction], minlength=len(ErrorType)).tolist()
    return WrongWords(
        part=words.part,
        prediction=prediction,
        truth=pairs.truth[best],
        relation=relation,
        sense=words.sense[row, word],
        similarity=similarity,
        types={type_.label: types[type_] for type_ in ErrorType if types[type_]},
        by_relation={
            each.label: Related(
                count=int(chosen.sum()),
                share=float(chosen.mean()),
                similarity=float(similarity[chosen].mean()),
                commonest=list(_counted(words, row[chosen], word[chosen])[:_EXAMPLES]),
            )
            for each in Relation
            if (chosen := relation == each).any()
        },
        words=_counted(words, row, word),
    )


def _counted(words: PredictedWords, row: Indices, word: Ints) -> tuple[WrongWord, ...]:
    labels = list(dict.fromkeys(words.labels))
    label = np.array([labels.index(own) for own in words.labels])
    times = np.bincount(label[row] * len(words.words) + word)
    cells = np.flatnonzero(times)
    cells = cells[np.argsort(-times[cells], kind="stable")]
    return tuple(
        WrongWord(labels[cell // len(words.words)], words.words[cell % len(words.words)], count)
        for cell, count in zip(cells.tolist(), times[cells].tolist(), strict=True)
    )
