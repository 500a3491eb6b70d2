"""The vocabulary gap: what strict mAP loses to other words for what is right, confusion by confusion.

Strict mAP and SHOE-mAP differ in more than words: matching, half-right triplets, false positives, interpolation, ties.
So the comparison is SHOE-mAP with itself, once with similarities of 1 for exact matches of words and 0 for all others,
once under the map. That gain has three parts, which add up to it:

- matching: the map chooses other pairs of a prediction and a ground truth; still only exact matches get credit;
- false positives: it resembles more unmatched predictions to a class, and counts them as false positives of it;
- credit: it credits the matches for what their words mean.

The credit is split over the matches, and over the verb and the object of each by what either adds to its similarity
(``shoe.diagnosis.integrated_gradients``); where raters compared whole interactions, equally over the words that are
not the class's own. A *confusion* is a predicted word for a class's word; it has what its matches
have, and the shares of all confusions add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from shoe.core.arrays import Floats, Indices
from shoe.core.documents import Box, Count, Document, Fraction, Gain
from shoe.core.iou import Overlap, iou
from shoe.diagnosis.after_fixes import SharedLists, Tables
from shoe.diagnosis.integrated_gradients import shares_of
from shoe.diagnosis.relations import PredictedWords, WordPair
from shoe.lexicon.expressions import Part
from shoe.matching.overlaps import Overlaps
from shoe.matching.task import Task
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import WordNetSimilarity, combine

MOST = 50
"""Confusions that are listed."""
_EXAMPLES = 3
_NOTHING = Overlaps(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


class ConfusionExample(Document, frozen=True):
    """A match: a ground truth and the prediction that it was matched with.

    Attributes:
        image: its name.
        truth, prediction: their rows.
        true_human_box, true_object_box, human_box, object_box: as their files have them.
        verb, object: their words.
        similarity: of the two triplets, sigma, 0..1.
        score: of the prediction.
        iou: pair IoU.
        gain: what this match alone has of the credit.
    """

    image: str
    truth: Count
    prediction: Count
    true_human_box: Box
    true_object_box: Box
    human_box: Box
    object_box: Box
    verb: WordPair
    object: WordPair
    similarity: Fraction
    score: Fraction
    iou: Fraction
    gain: Gain


class Confusion(Document, frozen=True):
    """One word predicted for another.

    Attributes:
        part: "verb" or "object".
        word: which.
        matches: in how many matches.
        gain: what it has of the credit, in mAP (0..1).
        share: the same as a share of the credit.
        examples: the matches that gain most.
    """

    part: Part
    word: WordPair
    matches: Count
    gain: Gain
    share: float
    examples: tuple[ConfusionExample, ...]


class VocabularyGap(Document, frozen=True):
    """The gain and what explains it; all figures are SHOE-mAP, fractions 0..1, or differences of it.

    Attributes:
        gain: what the map adds to exact matches.
        exact_map: if only a label's own word counts.
        identity_map: if words for the label's very sense count too (``similarity=identity``).
        map: under the map.
        matching, false_positives, credit: the parts of the gain ``map - exact_map``.
        verb_credit, object_credit: the parts of the credit.
        confusions: those with the largest gains, the largest first.
        further, further_gain: number of other confusions, and what they have of the credit together.
    """

    gain: Gain
    exact_map: Fraction
    identity_map: Fraction
    map: Fraction
    matching: Gain
    false_positives: Gain
    credit: Gain
    verb_credit: Gain
    object_credit: Gain
    confusions: tuple[Confusion, ...]
    further: Count
    further_gain: Gain


def vocabulary_gap(
    tables: Tables,
    scorer: Scorer,
    matches: Matches,
    lists: SharedLists,
    words: tuple[PredictedWords, PredictedWords],
    most: int = MOST,
) -> VocabularyGap:
    """Explain the gain.

    Some class has ground truth. ``scorer`` is under the map, ``matches`` are its matches for SHOE-mAP, and ``lists`` of
    the same scorer, ranked before; ``most`` confusions are listed.
    """

    def map_of(scorer: Scorer, matches: Matches) -> float:
        return lists.means(scorer.entries(matches)).map or 0.0

    # What repeats another prediction is no matter of credit: the map says it, or words of no class would be all one.
    exact = Scorer(scorer.task, exact_matches(scorer.task, scorer.similarities), scorer.options, scorer.near)
    options = scorer.options
    if options.compare == "interactions":
        options = replace(options, compare="components", combine="geometric")
    identity = scorer.under(HoiSimilarity.of(scorer.task, WordNetSimilarity("identity"), options))
    start = _sigma(exact, matches)
    alone = Scorer(scorer.task, exact.similarities, scorer.options, _NOTHING)
    other = alone.match(matches.unmatched).false_positive_of
    ladder = [
        map_of(exact, exact.match(exact.map_rows)),
        map_of(exact, replace(matches, sigma=start, false_positive_of=other)),
        map_of(exact, replace(matches, sigma=start)),
        map_of(scorer, matches),
    ]
    matching, false_positives, credit = np.diff(ladder).tolist()

    gains = shares_of(scorer, matches, start)
    # All confusions bear the error of the integral and of drawn orders of ties: about a thousandth.
    gains *= max(credit, 0.0) / (gains.sum() or 1.0)
    parts = _gains_by_word(scorer, exact.similarities, matches, words, gains)
    verb_credit, object_credit = (float(part.gain.sum()) for part in parts)
    ranked = sorted(
        ((gain, number, cell) for number, part in enumerate(parts) for cell, gain in part.totals()),
        key=lambda entry: (-entry[0], *entry[1:]),
    )

    def confusion(part: _GainsByWord, cell: int, gain: float) -> Confusion:
        first, end = np.searchsorted(part.cell, [cell, cell + 1]).tolist()
        return Confusion(
            part=part.words.part,
            word=part.words.pair(*divmod(cell, len(part.words.words))),
            matches=end - first,
            gain=gain,
            share=gain / (verb_credit + object_credit),
            examples=tuple(
                _example(tables, truth, matches, words, float(gains[truth]))
                for truth in part.truth[first:end][:_EXAMPLES].tolist()
            ),
        )

    return VocabularyGap(
        gain=ladder[-1] - ladder[0],
        exact_map=ladder[0],
        identity_map=map_of(identity, identity.match(identity.map_rows)),
        map=ladder[-1],
        matching=matching,
        false_positives=false_positives,
        credit=credit,
        verb_credit=verb_credit,
        object_credit=object_credit,
        confusions=tuple(confusion(parts[number], cell, gain) for gain, number, cell in ranked[:most]),
        further=len(ranked[most:]),
        further_gain=sum(gain for gain, _, _ in ranked[most:]),
    )


def exact_matches(task: Task, similarities: HoiSimilarity) -> HoiSimilarity:
    """The same words, of which only those that are a label's own are similar; of whole interactions both have to be."""
    classes = task.truth.classes
    values = []
    for row, label, of_word in (
        (similarities.verb_row, classes.verb, task.verb_label),
        (similarities.object_row, classes.object, task.object_label),
    ):
        of_row = np.zeros(row.max() + 1, np.int64)
        of_row[row] = label
        values.append((of_row[:, None] == of_word).astype(np.float64))
    return replace(
        similarities,
        verbs=replace(similarities.verbs, values=values[0]),
        objects=replace(similarities.objects, values=values[1]),
        how=similarities.how if similarities.whole is None else "geometric",
        whole=None,
    )


def _sigma(scorer: Scorer, matches: Matches) -> Floats:
    """(t,) similarities of some matches to a scorer that would perhaps have made others."""
    truth = np.flatnonzero(matches.prediction >= 0)
    rows, words = matches.prediction[truth], scorer.task.predictions
    sigma = np.zeros(len(matches.sigma))
    sigma[truth] = scorer.similarities.sigma(scorer.hoi[truth], words.verb[rows], words.object[rows])
    return sigma


@dataclass(frozen=True, slots=True, eq=False)
class _GainsByWord:
    """The h matches whose verb, or object, is credited.

    Attributes:
        truth: (h,) the match's ground truth.
        cell: (h,) row and column of the confusion in the words' table, as one number, ascending.
        gain: (h,) what the match has by this word, descending within a confusion.
    """

    words: PredictedWords
    truth: Indices
    cell: Indices
    gain: Floats

    def totals(self) -> list[tuple[int, float]]:
        """Each confusion and its gain."""
        cells = np.flatnonzero(np.bincount(self.cell))
        return list(zip(cells.tolist(), np.bincount(self.cell, self.gain)[cells].tolist(), strict=True))


def _gains_by_word(
    scorer: Scorer, exact: HoiSimilarity, matches: Matches, words: tuple[PredictedWords, PredictedWords], gains: Floats
) -> list[_GainsByWord]:
    """Give verb and object of each match their part of its gain: what each adds to the similarity."""
    truth = np.flatnonzero(gains)
    hoi, rows = scorer.hoi[truth], matches.prediction[truth]
    cells = [(part.row[hoi], part.of(scorer.task.predictions)[rows]) for part in words]
    before = [of_part.values[at] for of_part, at in zip((exact.verbs, exact.objects), cells, strict=True)]
    if scorer.similarities.whole is None:
        after = [part.table.values[at] for part, at in zip(words, cells, strict=True)]
    else:
        after = [np.ones(len(truth))] * 2
    # What a verb, and an object, adds to similarity: the mean of where it changes first, and where last (Shapley).
    sigma = partial(combine, how=exact.how, weight=exact.weight)
    none, both = sigma(*before), sigma(*after)
    verb_first, object_first = sigma(after[0], before[1]), sigma(before[0], after[1])
    growth = (verb_first - none + both - object_first) / 2, (object_first - none + both - verb_first) / 2
    made = []
    for part, (row, word), own in zip(words, cells, growth, strict=True):
        cell, gain = row * len(part.words) + word, gains[truth] * own / (growth[0] + growth[1])
        order = np.lexsort((-gain, cell))
        order = order[gain[order] > 0]
        made.append(_GainsByWord(part, truth[order], cell[order], gain[order]))
    return made


def _example(
    tables: Tables, truth: int, matches: Matches, words: tuple[PredictedWords, PredictedWords], gain: float
) -> ConfusionExample:
    task, row = tables.task, int(matches.prediction[truth])
    truths, predictions = task.truth.interactions, task.predictions
    at, by = slice(truth, truth + 1), slice(row, row + 1)
    hoi = int(task.truth.classes.of[truths.verb[truth], truths.object[truth]])
    verb, object_ = (part.pair(int(part.row[hoi]), int(part.of(predictions)[row])) for part in words)
    human = iou(truths.human_boxes[at], predictions.human_boxes[by], Overlap.CONTINUOUS)
    thing = iou(truths.object_boxes[at], predictions.object_boxes[by], Overlap.CONTINUOUS)
    source, source_row = tables.whole.predictions, int(tables.prediction[row])
    annotated, truth_row = tables.whole.truth.interactions, int(tables.truth[truth])
    return ConfusionExample(
        image=truths.images[int(truths.image[truth])],
        truth=truth_row,
        prediction=source_row,
        true_human_box=tuple(annotated.human_boxes[truth_row].tolist()),
        true_object_box=tuple(annotated.object_boxes[truth_row].tolist()),
        human_box=tuple(source.human_boxes[source_row].tolist()),
        object_box=tuple(source.object_boxes[source_row].tolist()),
        verb=verb,
        object=object_,
        similarity=float(matches.sigma[truth]),
        score=float(source.score[source_row]),
        iou=float(min(human[0], thing[0])),
        gain=gain,
    )
