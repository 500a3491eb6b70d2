"""Which word was said for which, and what that is worth: the gains of matches, gathered by word."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.core.iou import Overlap, iou
from shoe.diagnosis.mended import Tables
from shoe.diagnosis.nearness import Nearness
from shoe.diagnosis.sides import Side
from shoe.lexicon.store import lexicon
from shoe.scoring.meaning import Meaning
from shoe.scoring.scorer import Matches, Scorer

_EXAMPLES = 3

Box = tuple[float, float, float, float]


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a ground truth and what was said in its place.

    Attributes:
        label: the class's word.
        label_sense: its sense; "" for no_interaction.
        said: the predicted word.
        sense: its sense; "" where none was looked at.
        similarity: of the two, 0..1.
        nearness: of the predicted word to the class's, as "more_general".
    """

    label: str
    label_sense: str
    said: str
    sense: str
    similarity: float
    nearness: str


@dataclass(frozen=True, slots=True)
class Example:
    """A match: a ground truth and the prediction that it was matched with.

    Attributes:
        image: its name.
        truth, prediction: their rows.
        true_human_box, true_object_box, human_box, object_box: as their files have them.
        verb, object: what was said.
        similarity: of the two triplets, sigma, 0..1.
        score: of the prediction.
        iou: pair IoU.
        gain: what this match alone has of the credit.
    """

    image: str
    truth: int
    prediction: int
    true_human_box: Box
    true_object_box: Box
    human_box: Box
    object_box: Box
    verb: Word
    object: Word
    similarity: float
    score: float
    iou: float
    gain: float


@dataclass(frozen=True, slots=True)
class Confusion:
    """One word said for another.

    Attributes:
        part: "verb" or "object".
        word: which.
        matches: in how many matches.
        gain: what it has of the credit, in mAP (0..1).
        share: the same as a share of the credit.
        examples: the matches that gain most.
    """

    part: str
    word: Word
    matches: int
    gain: float
    share: float
    examples: tuple[Example, ...]


class Gathered(NamedTuple):
    """The gains of all matches, by word.

    Attributes:
        verb_credit, object_credit: what words of each part have together.
        confusions: those with the largest gains, the largest first.
        further, further_gain: number of other confusions, and what they have together.
    """

    verb_credit: float
    object_credit: float
    confusions: tuple[Confusion, ...]
    further: int
    further_gain: float


def gathered(
    tables: Tables,
    scorer: Scorer,
    equal: Meaning,
    matches: Matches,
    sides: tuple[Side, Side],
    gains: Floats,
    most: int,
) -> Gathered:
    """Give verb and object of each match their part of its gain, and gather the gains by word.

    Args:
        tables: the scorer's.
        scorer: of the matches, by arithmetic means of verb and object.
        equal: similarities before they grew.
        matches: of t ground truths, with the similarities at the end.
        sides: the same similarities of verbs and of objects, and nearness.
        gains: (t,) of the matches.
        most: confusions to list.
    """
    truth = np.flatnonzero(gains)
    hoi, rows, words = scorer.hoi[truth], matches.prediction[truth], scorer.task.predictions
    weights, before = (scorer.options.weight, 1 - scorer.options.weight), (equal.verbs, equal.objects)
    cells = [(side.row[hoi], side.words_of(words)[rows]) for side in sides]
    growth = [
        weight * (side.table.values[at] - table.values[at])
        for weight, side, table, at in zip(weights, sides, before, cells, strict=True)
    ]
    both = growth[0] + growth[1]
    parts = [
        _Part.of(side, truth, at[0] * len(side.words) + at[1], gains[truth] * own / both)
        for side, at, own in zip(sides, cells, growth, strict=True)
    ]
    ranked = sorted(
        ((gain, number, cell) for number, part in enumerate(parts) for cell, gain in part.totals()),
        key=lambda entry: (-entry[0], *entry[1:]),
    )
    verb_credit, object_credit = (float(part.gain.sum()) for part in parts)
    credit = verb_credit + object_credit
    return Gathered(
        verb_credit=verb_credit,
        object_credit=object_credit,
        confusions=tuple(
            _confusion(parts[number], cell, gain, gain / credit, lambda t: _example(tables, t, matches, sides, gains))
            for gain, number, cell in ranked[:most]
        ),
        further=len(ranked[most:]),
        further_gain=sum(gain for gain, _, _ in ranked[most:]),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The h matches whose verb, or object, is credited.

    Attributes:
        side: verbs or objects.
        truth: (h,) the match's ground truth.
        cell: (h,) row and column of the confusion in the side's table, as one number, ascending.
        gain: (h,) what the match has by this word, descending within a confusion.
    """

    side: Side
    truth: Indices
    cell: Indices
    gain: Floats

    @classmethod
    def of(cls, side: Side, truth: Indices, cell: Indices, gain: Floats) -> _Part:
        order = np.lexsort((-gain, cell))
        order = order[gain[order] > 0]
        return cls(side, truth[order], cell[order], gain[order])

    def totals(self) -> Iterator[tuple[int, float]]:
        """Yield each confusion and its gain."""
        cells = np.flatnonzero(np.bincount(self.cell))
        return zip(cells.tolist(), np.bincount(self.cell, self.gain)[cells].tolist(), strict=True)


def _confusion(part: _Part, cell: int, gain: float, share: float, example: Callable[[int], Example]) -> Confusion:
    first, end = np.searchsorted(part.cell, [cell, cell + 1]).tolist()
    return Confusion(
        part=part.side.part,
        word=_word(part.side, *divmod(cell, len(part.side.words))),
        matches=end - first,
        gain=gain,
        share=share,
        examples=tuple(example(truth) for truth in part.truth[first:end][:_EXAMPLES].tolist()),
    )


def _word(side: Side, row: int, word: int) -> Word:
    sense = int(side.near.sense[row, word])
    return Word(
        label=side.labels[row],
        label_sense=side.synsets[row],
        said=side.words[word],
        sense=lexicon().name(sense) if sense >= 0 else "",
        similarity=float(side.table.values[row, word]),
        nearness=Nearness(side.near.code[row, word]).label,
    )


def _example(tables: Tables, truth: int, matches: Matches, sides: tuple[Side, Side], gains: Floats) -> Example:
    task, row = tables.task, int(matches.prediction[truth])
    truths, predictions = task.truth.interactions, task.predictions
    at, by = slice(truth, truth + 1), slice(row, row + 1)
    hoi = int(task.truth.classes.of[truths.verb[truth], truths.object[truth]])
    verb, object_ = (_word(side, int(side.row[hoi]), int(side.words_of(predictions)[row])) for side in sides)
    human = iou(truths.human_boxes[at], predictions.human_boxes[by], Overlap.CONTINUOUS)
    thing = iou(truths.object_boxes[at], predictions.object_boxes[by], Overlap.CONTINUOUS)
    source, source_row = tables.whole.predictions, int(tables.prediction[row])
    annotated, truth_row = tables.whole.truth.interactions, int(tables.truth[truth])
    return Example(
        image=truths.images[int(truths.image[truth])],
        truth=truth_row,
        prediction=source_row,
        true_human_box=_box(annotated.human_boxes[truth_row]),
        true_object_box=_box(annotated.object_boxes[truth_row]),
        human_box=_box(source.human_boxes[source_row]),
        object_box=_box(source.object_boxes[source_row]),
        verb=verb,
        object=object_,
        similarity=float(matches.sigma[truth]),
        score=float(source.score[source_row]),
        iou=float(min(human[0], thing[0])),
        gain=float(gains[truth]),
    )


def _box(numbers: Floats) -> Box:
    x1, y1, x2, y2 = numbers.tolist()
    return x1, y1, x2, y2
