"""What strict mAP lost to wording: how much SHOE-mAP rises as a map knows what words mean, confusion by confusion.

Strict mAP and SHOE-mAP differ in more than words: matching, half-right triplets, false positives, interpolation, ties.
So the comparison is SHOE-mAP with itself, once with similarities of 1 for equal words and 0 for all others, once under
the map. That gain has three parts, which add up to it:

- matching: the map chooses other pairs of a prediction and a ground truth; still only equal words get credit;
- charging: it understands more leftover predictions as a statement, and charges them as false positives;
- credit: it credits the matches for what their words mean.

The credit is split over the matches, and over the verb and the object of each by what either adds to its similarity
(``shoe.diagnosis.attribution``). A *confusion* is a predicted word in the place of a class's word; it has what its
matches have, and the shares of all confusions add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from shoe.arrays import Floats, Indices, Ints
from shoe.diagnosis.attribution import attributed, equal_words
from shoe.diagnosis.mended import Tables
from shoe.diagnosis.nearness import Nearness
from shoe.diagnosis.sides import Side
from shoe.iou import Overlap, iou
from shoe.lexicon.store import lexicon
from shoe.matching.meaning import Meaning
from shoe.matching.spatial import Candidates
from shoe.scoring.score import build_meaning
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import WordNetSimilarity

MOST = 50
"""Confusions that are listed."""
_EXAMPLES = 3
_NOTHING = Candidates(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))

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


@dataclass(frozen=True, slots=True)
class Wording:
    """The gain and what explains it; all figures are SHOE-mAP, fractions 0..1, or differences of it.

    Attributes:
        equal_map: if only a label's own word counts.
        identity_map: if words for the label's very sense count too (``similarity=identity``).
        map: under the map.
        matching, charging, credit: the parts of the gain ``map - equal_map``.
        verb_credit, object_credit: the parts of the credit.
        confusions: those with the largest gains, the largest first.
        further, further_gain: number of other confusions, and what they have of the credit together.
    """

    equal_map: float
    identity_map: float
    map: float
    matching: float
    charging: float
    credit: float
    verb_credit: float
    object_credit: float
    confusions: tuple[Confusion, ...]
    further: int
    further_gain: float

    @property
    def gain(self) -> float:
        """What the map adds to equal words."""
        return self.map - self.equal_map


def wording_of(
    tables: Tables, scorer: Scorer, matches: Matches, value: float, sides: tuple[Side, Side], most: int
) -> Wording:
    """Explain the gain.

    Args:
        tables: the scorer's, which lead back to the rows and boxes of the files; some class has ground truth.
        scorer: under the map, and a protocol of arithmetic means of verb and object and of all points of a curve.
        matches: its matches for SHOE-mAP.
        value: its SHOE-mAP.
        sides: similarities and nearness of verbs and of objects.
        most: confusions to list.
    """
    equal = _under(scorer, equal_words(scorer.task, scorer.meaning))
    identity = _under(scorer, build_meaning(scorer.task, WordNetSimilarity("identity"), scorer.options))
    start = _sigma(equal, matches)
    charged = _under(scorer, equal.meaning, _NOTHING).match(matches.unmatched).charged
    ladder = [
        _map(equal, equal.match(equal.map_rows)),
        _map(equal, replace(matches, sigma=start, charged=charged)),
        _map(equal, replace(matches, sigma=start)),
        value,
    ]
    matching, charging, credit = np.diff(ladder).tolist()

    gains = attributed(scorer, matches, start)
    # All confusions bear the error of the integral and of drawn orders of ties: about a thousandth.
    gains *= max(credit, 0.0) / (gains.sum() or 1.0)
    parts = _parts(scorer, equal.meaning, matches, sides, gains)
    ranked = sorted(
        ((float(gain), number, cell) for number, part in enumerate(parts) for cell, gain in part.totals().items()),
        key=lambda entry: (-entry[0], *entry[1:]),
    )
    verb_credit, object_credit = (float(part.gain.sum()) for part in parts)
    return Wording(
        equal_map=ladder[0],
        identity_map=_map(identity, identity.match(identity.map_rows)),
        map=value,
        matching=matching,
        charging=charging,
        credit=credit,
        verb_credit=verb_credit,
        object_credit=object_credit,
        confusions=tuple(
            _confusion(parts[number], cell, gain, credit, tables, matches, sides)
            for gain, number, cell in ranked[:most]
        ),
        further=len(ranked[most:]),
        further_gain=sum(gain for gain, _, _ in ranked[most:]),
    )


def _under(scorer: Scorer, meaning: Meaning, near: Candidates | None = None) -> Scorer:
    return Scorer(scorer.task, meaning, scorer.options, scorer.near if near is None else near)


def _map(scorer: Scorer, matches: Matches) -> float:
    return float(scorer.average_precision(matches)[0].ap[scorer.in_mean].mean())


def _sigma(scorer: Scorer, matches: Matches) -> Floats:
    """(t,) similarities of some matches to a scorer that would perhaps have made others."""
    truth = np.flatnonzero(matches.prediction >= 0)
    rows, words = matches.prediction[truth], scorer.task.predictions
    sigma = np.zeros(len(matches.sigma))
    sigma[truth] = scorer.meaning.sigma(scorer.hoi[truth], words.verb[rows], words.object[rows])
    return sigma


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """The h matches whose verb, or object, is credited: those of one confusion together, the largest gain first.

    Attributes:
        side: verbs or objects.
        truth: (h,) the match's ground truth.
        cell: (h,) row and column of the confusion in the side's table, as one number, ascending.
        gain: (h,) what the match has of the credit by this word; ``whole`` by both.
    """

    side: Side
    truth: Indices
    cell: Indices
    gain: Floats
    whole: Floats

    def totals(self) -> dict[int, float]:
        """Gain of each confusion."""
        cells = np.flatnonzero(np.bincount(self.cell))
        return dict(zip(cells.tolist(), np.bincount(self.cell, self.gain)[cells].tolist(), strict=True))


def _parts(
    scorer: Scorer, equal: Meaning, matches: Matches, sides: tuple[Side, Side], gains: Floats
) -> tuple[_Part, _Part]:
    truth = np.flatnonzero(gains)
    hoi, rows = scorer.hoi[truth], matches.prediction[truth]
    weight = scorer.options.weight
    at = [(side.row[hoi], side.words_of(scorer.task.predictions)[rows]) for side in sides]
    verb, object_ = (
        share * (side.table.values[place] - before.values[place])
        for side, before, place, share in zip(
            sides, (equal.verbs, equal.objects), at, (weight, 1 - weight), strict=True
        )
    )
    both = verb + object_

    def part(side: Side, place: tuple[Indices, Ints], own: Floats) -> _Part:
        cell, gain = place[0] * len(side.words) + place[1], gains[truth] * own / both
        order = np.lexsort((-gain, cell))
        order = order[own[order] > 0]
        return _Part(side, truth[order], cell[order], gain[order], gains[truth][order])

    return part(sides[0], at[0], verb), part(sides[1], at[1], object_)


def _confusion(
    part: _Part, cell: int, gain: float, credit: float, tables: Tables, matches: Matches, sides: tuple[Side, Side]
) -> Confusion:
    first, end = np.searchsorted(part.cell, [cell, cell + 1]).tolist()
    shown = range(first, min(end, first + _EXAMPLES))
    return Confusion(
        part=part.side.part,
        word=_word(part.side, *divmod(cell, len(part.side.words))),
        matches=end - first,
        gain=gain,
        share=gain / credit,
        examples=tuple(_example(tables, int(part.truth[i]), matches, sides, float(part.whole[i])) for i in shown),
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


def _example(tables: Tables, truth: int, matches: Matches, sides: tuple[Side, Side], gain: float) -> Example:
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
        gain=gain,
    )


def _box(numbers: Floats) -> Box:
    x1, y1, x2, y2 = numbers.tolist()
    return x1, y1, x2, y2
