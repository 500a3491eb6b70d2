"""The vocabulary gap: the mAP that strict scoring loses to other words for the right thing, confusion by confusion.

Strict mAP and SHOE-mAP differ in more than words: matching, half-right triplets, false positives, interpolation, ties.
So SHOE-mAP is compared with itself: with similarity 1 for exact matches of words and 0 for all others, and under the
map. That gain has three parts, which add up to it:

- matching: the map matches other pairs of a prediction and a ground truth; still only exact matches get credit;
- false positives: under the map, more unmatched predictions resemble a class and count as its false positives;
- credit: under the map, matches get credit for the meaning of their words.

The credit is divided among the matches, and between the verb and the object of each by what either adds to its
similarity; where raters compared whole interactions, equally over the words that are not the class's own. A *confusion*
is a predicted word for a class's word. Its share is that of its matches; the shares of all confusions add up to 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.protocol_options import Interpolation, Ties
from shoe.core.arrays import Floats, Indices, Ints, Mask, random_numbers, stable_order
from shoe.core.boxes import CommonCoordinates, Coordinates, Overlap, converted, iou
from shoe.core.documents import Box, Count, Document, Fraction, Gain
from shoe.core.interactions import Interactions
from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.error_types import State
from shoe.diagnosis.relations import PredictedWords, WordPair
from shoe.lexicon.expressions import Part
from shoe.scoring.average_precision import EPSILON
from shoe.scoring.entries import Entries, Means, mean_over
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Origin, Overlaps, Task
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import WordNetSimilarity, combine

# What an oracle leaves, as tables: ground truths that still count, predictions with their new words and boxes.
#
# A strict oracle makes a true positive of an error by giving it the class and the boxes of a ground truth. Written into
# a
# table, that can be scored by any measure.

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
        """Take from the tables the rows that take part in an analysis."""
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
        """Return (p,) which predictions of ``task`` a state keeps."""
        kept = np.zeros(len(self.row), bool)
        kept[self.row[state.kept]] = True
        return kept

    def after(self, state: State) -> Task:
        """Write a state into tables; only the boxes of fixed predictions need to be compared anew."""
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
    """Return a vocabulary with all labels of a dataset, and the index of each label in it."""
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
    """Means of many entries that share most classes' lists: each different list is ranked once."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, bytes], float] = {}

    def means(self, entries: Entries) -> Means:
        """Return mean average precision, as ``entries.means()`` does where classes with ground truth are averaged."""
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


# Which match explains how much of the SHOE-mAP that a map adds to exact matches of words: integrated gradients.
#
# All similarities grow together, in a straight line, from those of exact matches to the map's, and each match is given
# what its own growth adds to the area under its class's curve on the way (Aumann and Shapley's rule of sharing a cost).
# So the shares of all add up to the whole, matches that play the same part have the same share, and one whose
# similarity
# does not grow has none. Scores stay, and with them the order of a class's entries.

_STEPS = 4
"""Points of the way at which the gradient is taken: it is linear but for where an envelope changes hands."""
_ORDERS = 32
_NUMBERS = 1 << 19
"""Numbers in a work array at most, where orders of ties are drawn: 4 MB."""


def shares_of(scorer: Scorer, matches: Matches, start: Floats) -> Floats:
    """Return the gain of each match in SHOE-mAP between two sets of similarities.

    Args:
        scorer: of the predictions; under rules with a grid of recalls, shares are those of all points of the curve.
        matches: matches of t ground truths, with the similarities at the end.
        start: (t,) the similarities at the start, none above that at the end.

    Returns:
        (t,) gains; their sum is the difference up to the error of the integral, and of the orders of ties that are
        drawn.
    """
    gains = np.zeros(len(start))
    truth, false = np.flatnonzero(matches.prediction >= 0), np.flatnonzero(matches.false_positive_of >= 0)
    by_class = np.argsort(scorer.hoi[truth], kind="stable"), np.argsort(matches.false_positive_of[false], kind="stable")
    truth, false = truth[by_class[0]], false[by_class[1]]
    classes = np.arange(len(scorer.truths) + 1)
    of_truth = np.searchsorted(scorer.hoi[truth], classes)
    of_false = np.searchsorted(matches.false_positive_of[false], classes)
    for k in np.flatnonzero(scorer.in_mean & (scorer.truths > 0)).tolist():
        own = truth[of_truth[k] : of_truth[k + 1]]
        if (matches.sigma[own] > start[own]).any():
            rank = _ranks(scorer, own, matches, matches.unmatched[false[of_false[k] : of_false[k + 1]]], k)
            slope = gradients(rank, start[own], matches.sigma[own], int(scorer.truths[k]), scorer.options.ap)
            gains[own] = (matches.sigma[own] - start[own]) * slope
    total: Floats = gains / max(1, scorer.in_mean.sum())
    return total


def _ranks(scorer: Scorer, truth: Indices, matches: Matches, false: Indices, number: int) -> Floats:
    """Return (orders, m) ranks of a class's matches among its entries; several orders where scores tie."""
    rows = np.concatenate([matches.prediction[truth], false])
    score = scorer.task.predictions.score[rows]
    ascending = np.sort(score)
    above = len(rows) - np.searchsorted(ascending, score, "right")
    equal = len(rows) - np.searchsorted(ascending, score, "left") - above
    m = len(truth)
    if equal[:m].max() == 1:
        certain: Floats = above[None, :m] + 1.0
        return certain
    if scorer.options.ties is Ties.INPUT:
        image = np.concatenate([scorer.truth_image[truth], scorer.task.image[false]])
        row = np.concatenate([truth, len(scorer.hoi) + false])
        order = np.lexsort((row, image, above))[None, :]
    else:
        half = min(_ORDERS, max(8, _NUMBERS // (_STEPS * len(rows)))) // 2
        drawn = random_numbers(number, (half, len(rows))) / 2.0**64
        order = np.argsort(above + np.concatenate([drawn, 1 - drawn]), axis=1)
    rank = np.empty(order.shape)
    np.put_along_axis(rank, order, np.arange(1.0, len(rows) + 1)[None], axis=1)
    return rank[:, :m]


def gradients(rank: Floats, start: Floats, end: Floats, truths: int, interpolation: Interpolation) -> Floats:
    """Return the derivative of average precision with respect to each credit, averaged over orders and a straight path.

    Args:
        rank: (orders, m) 1-based ranks of a class's matches in its ranking.
        start: (m,) their credits at the start of the path.
        end: (m,) their credits at its end.
        truths: ground truths of the class.
        interpolation: ``TRAPEZOID``, the curve itself; by any other rule, its envelope.

    Returns:
        (m,) mean derivatives of AP (``TRAPEZOID`` or ``ALL_POINTS``).
    """
    order = np.argsort(rank, axis=1)
    ranks = np.take_along_axis(rank, order, axis=1)
    steps = (np.arange(_STEPS) + 0.5)[:, None] / _STEPS
    credit = (start + steps * (end - start))[:, order]
    slopes = (_of_curve if interpolation is Interpolation.TRAPEZOID else _of_envelope)(ranks, credit)
    by_rank = slopes.mean(axis=0) / (truths + EPSILON)
    found = np.empty_like(by_rank)
    np.put_along_axis(found, order, by_rank, axis=1)
    mean: Floats = found.mean(axis=0)
    return mean


def _of_envelope(ranks: Floats, credit: Floats) -> Floats:
    """Return (steps, orders, m) derivatives of the area under the envelope, times the number of ground truths.

    Args:
        ranks: (orders, m) ascending.
        credit: (steps, orders, m) of the entries at these ranks.
    """
    m = ranks.shape[1]
    backwards = (np.cumsum(credit, axis=2) / (ranks + EPSILON))[:, :, ::-1]
    envelope = np.maximum.accumulate(backwards, axis=2)
    # The entry, at this rank or after it, whose precision is the envelope's.
    peak = np.maximum.accumulate(np.where(backwards == envelope, np.arange(m), 0), axis=2)
    peak, envelope = m - 1 - peak[:, :, ::-1], envelope[:, :, ::-1]
    # A credit counts in the recall that it adds, and in the precision of every entry whose peak it stands before.
    weight = credit / np.take_along_axis(np.broadcast_to(ranks + EPSILON, peak.shape), peak, axis=2)
    row = np.arange(peak.shape[0] * peak.shape[1])[:, None] * m
    onto = np.bincount((peak.reshape(-1, m) + row).ravel(), weight.ravel(), minlength=peak.size).reshape(peak.shape)
    return envelope + _from_here_on(onto)


def _of_curve(ranks: Floats, credit: Floats) -> Floats:
    """Return the same for the area under the straight lines between the points of the curve."""
    # Precision at an entry and at the one before it, each half; the first entry's counts for both.
    first = ranks == 1
    here = np.where(first, 1, 0.5) / (ranks + EPSILON)
    before = np.where(first, 0, 0.5) / (np.maximum(ranks - 1, 1) + EPSILON)
    found = np.cumsum(credit, axis=2)
    height = found * here + (found - credit) * before
    # A credit counts in the recall that it adds, in its own precision, and in both of every entry after it.
    return height + _from_here_on(credit * (here + before)) - credit * before


def _from_here_on(values: Floats) -> Floats:
    """Return the sum of each value and those after it."""
    return np.cumsum(values[:, :, ::-1], axis=2)[:, :, ::-1]


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

    At least one class has ground truth. ``scorer`` uses the map, ``matches`` are its matches for SHOE-mAP, and
    ``lists`` are its ranked lists; ``most`` confusions are listed.
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
    """Return similarities of 1 for exact matches of words, else 0; of whole interactions both words must match."""
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
    """Return (t,) similarities of matches under a scorer that might have made other matches."""
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
        """Sum the gains of each confusion."""
        cells = np.flatnonzero(np.bincount(self.cell))
        return list(zip(cells.tolist(), np.bincount(self.cell, self.gain)[cells].tolist(), strict=True))


def _gains_by_word(
    scorer: Scorer, exact: HoiSimilarity, matches: Matches, words: tuple[PredictedWords, PredictedWords], gains: Floats
) -> list[_GainsByWord]:
    """Divide the gain of each match between its verb and object, by what each adds to the similarity."""
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
