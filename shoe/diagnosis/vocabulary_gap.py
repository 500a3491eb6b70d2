"""The vocabulary gap: mAP that is lost because predictions use other words than the classes, per pair of words.

Strict mAP and SHOE-mAP compare words differently, but also differ in matching, partial credit, false positives,
interpolation and ties. Therefore SHOE-mAP is computed twice: with similarity 1 for the word of the class and 0 for all
other words, and with the similarity map. The difference is the gain, whose parts :class:`VocabularyGap` lists.

The credit of a match is divided between verb and object, in proportion to their contributions to its similarity. If the
map rates whole interactions, the credit is divided equally between the words that differ from the class. A *confusion*
is a word of a class and the word predicted instead; the gain of a confusion is the sum over its matches.
"""

from dataclasses import dataclass, replace
from functools import partial
from hashlib import blake2b
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import Interpolation, Ties
from shoe.core.arrays import Floats, Indices, Ints, Mask, mask_of, random_numbers, scatter, stable_order
from shoe.core.boxes import CommonCoordinates, Coordinates, Overlap, convert_boxes, iou
from shoe.core.documents import Box, Count, Document, Fraction, Gain
from shoe.core.interactions import Interactions
from shoe.diagnosis.error_gains import ErrorAnalysis
from shoe.diagnosis.error_types import State
from shoe.diagnosis.relations import PredictedWords, WordPair
from shoe.lexicon.senses import Part
from shoe.scoring.average_precision import EPSILON
from shoe.scoring.entries import Entries, Means, mean_over
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Origin, Overlaps, Task
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import WordNetSimilarity, combine
from shoe.similarity.table import SimilarityTable

# A strict oracle turns an error into a true positive: the prediction gets the class and the boxes of a ground truth.
# Written into a table, the corrected predictions can be scored by any metric.

Column = TypeVar("Column", bound=NDArray[Any])


@dataclass(frozen=True, slots=True, eq=False)
class Tables:
    """The p predictions and t ground truths that take part in a diagnosis.

    All boxes are converted to continuous edges, so that boxes of a ground truth can be copied into a prediction even if
    the box conventions of the two files differ. The vocabularies of the predictions are extended by the labels of the
    dataset that are missing in them.

    Attributes:
        whole: complete tables, as read from the files.
        task: tables with only the rows that take part.
        prediction: (p,) row of each prediction in the complete table, ascending.
        truth: (t,) row of each ground truth in the complete table.
        row: (p,) row in ``task`` of each prediction of the scope, which has another order. Ground truths have the same
            order in both.
        verb, object: index of each dataset verb and object in the vocabularies of the predictions.
        found_by: (t,) scope index of each ground truth's true positive before any fix, or -1 without one.
    """

    whole: Task  # complete tables, as read from the files
    task: Task  # tables with only the rows that take part
    prediction: Indices  # (p,) row of each prediction in the complete table, ascending
    truth: Indices  # (t,) row of each ground truth in the complete table
    # (p,) row in ``task`` of each prediction of the scope, which has another order. Ground truths have the same order
    # in both.
    row: Indices
    # verb, object: index of each dataset verb and object in the vocabularies of the predictions
    verb: Ints
    object: Ints
    found_by: Indices  # (t,) scope index of each ground truth's true positive before any fix, or -1 without one

    @classmethod
    def from_analysis(cls, analysis: ErrorAnalysis) -> Self:
        """Return the predictions and ground truths that take part in an error analysis."""
        scope, whole = analysis.scope, analysis.task
        order = np.argsort(scope.prediction, kind="stable")
        row = scatter(np.arange(len(order)), order, len(order))
        prediction = scope.prediction[order]
        predictions = _edges(whole.predictions.select(prediction))
        truths = _edges(whole.truth.interactions.select(scope.truth))
        verbs, verb = _extended(predictions.verbs, whole.truth.classes.verbs)
        objects, object_ = _extended(predictions.objects, whole.truth.classes.objects)
        predictions = replace(predictions, verbs=verbs, objects=objects)
        origin = Origin(whole, prediction, scope.truth, CommonCoordinates.EDGES)
        task = Task(predictions, replace(whole.truth, interactions=truths), origin)
        return cls(whole, task, prediction, scope.truth, row, verb, object_, analysis.assigned.found_by)

    def remaining(self, state: State) -> Mask:
        """Return the (p,) mask of the predictions of ``task`` that are not removed in a state."""
        return mask_of(self.row[state.kept], len(self.row))

    def after(self, state: State) -> Task:
        """Return the task after the fixes of a state; to score it, only overlaps of fixed predictions are computed."""
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
        kept, truth = self.remaining(state), self.task.truth
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
    """Return ``words`` with the missing labels appended, and the index of each label in the result."""
    index = {word: number for number, word in enumerate(words)}
    of_label = [index.setdefault(label, len(index)) for label in labels]
    return tuple(index), np.array(of_label, np.int32)


def _edges(table: Interactions) -> Interactions:
    of = table.triplet_coordinates
    return replace(
        table,
        human_boxes=convert_boxes(table.human_boxes, of, CommonCoordinates.EDGES),
        object_boxes=convert_boxes(table.object_boxes, of, CommonCoordinates.EDGES),
        coordinates=np.full_like(table.coordinates, Coordinates.CONTINUOUS),
    )


KnownAps = dict[tuple[int, int, bytes], float]
"""Average precision by class, number of ground truths, and digest of the ranked list of the class."""


def cached_means(entries: Entries, known: KnownAps) -> Means:
    """Return mean AP (all, rare, non-rare classes); AP of a class is taken from the cache ``known``, or added to it."""
    truths, by_class, keys = entries.truths, stable_order(entries.category), {}
    ends = np.cumsum(np.bincount(entries.category, minlength=len(truths))).tolist()
    score, credit = entries.score.take(by_class), entries.credit.take(by_class)
    for k in np.flatnonzero(truths > 0).tolist():
        part = slice(ends[k - 1] if k else 0, ends[k])
        positive = np.flatnonzero(credit[part])  # most entries have no credit
        digest = blake2b(digest_size=16)
        for column in (score[part], positive, credit[part][positive]):
            digest.update(column.data)
        keys[k] = (k, int(truths[k]), digest.digest())
    new = [k for k, key in keys.items() if key not in known]
    fresh = mask_of(np.array(new, np.int64), len(truths))
    ap = replace(entries.select(np.flatnonzero(fresh[entries.category])), counted=fresh).scores().ap
    known.update(zip((keys[k] for k in new), ap[new].tolist(), strict=True))
    ap[list(keys)] = [known[key] for key in keys.values()]
    counted = entries.rule.in_mean(truths, entries.counted)
    parts = (counted, counted & entries.rare, counted & ~(entries.rare | entries.unseen))
    return Means(*(mean_over(ap, part) for part in parts))


# Attribution of the SHOE-mAP gain to single matches by integrated gradients (Aumann-Shapley cost sharing).
#
# All similarities increase linearly from their exact-match values to their values in the map. The gain of a match is
# the integral of the derivative of the AP of its class with respect to the similarity of the match. Therefore the gains
# of all matches add up to the total, equivalent matches have equal gains, and a match whose similarity does not
# increase has no gain. Scores, and therefore rankings, do not change on the path.

_STEPS = 4
"""Number of points on the path at which the gradient is evaluated. The gradient is linear in the position on the path,
except at points where the envelope changes."""
_ORDERS = 32
_NUMBERS = 1 << 19  # maximum size of a work array of sampled tie orders: 2^19 float64 numbers, 4 MB


def shares_of(scorer: Scorer, matches: Matches, start: Floats) -> Floats:
    """Return the part of the gain in SHOE-mAP due to each match, when the similarities of all matches increase.

    Args:
        scorer: scorer of the predictions. For interpolation on a recall grid, gains are those of all-point AP.
        matches: matches of the t ground truths, with the final similarities.
        start: (t,) initial similarities of the matches, at most the final similarities.

    Returns:
        (t,) gain per match, 0 for a ground truth without a match. The sum equals the increase in SHOE-mAP, except for
        errors of numerical integration and of sampling the orders of ties.
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
    return np.asarray(gains / max(1, scorer.in_mean.sum()))


def _ranks(scorer: Scorer, truth: Indices, matches: Matches, false: Indices, number: int) -> Floats:
    """Return the (orders, m) ranks of the m matches of a class in its ranking; one row per order of tied entries.

    ``truth`` are the (m,) matched ground truths of the class, and ``false`` the rows of its false positives. The index
    ``number`` of the class seeds the random orders of tied entries.
    """
    rows = np.concatenate([matches.prediction[truth], false])
    score = scorer.task.predictions.score[rows]
    ascending = np.sort(score)
    above = len(rows) - np.searchsorted(ascending, score, "right")
    equal = len(rows) - np.searchsorted(ascending, score, "left") - above
    m = len(truth)
    if equal[:m].max() == 1:
        return np.asarray(above[None, :m] + 1.0)
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
    """Return the (m,) mean derivatives of the average precision (AP) of a class with respect to each match's credit.

    Derivatives are averaged over the rankings in ``rank``, and over the straight line from ``start`` to ``end``.

    Args:
        rank: (orders, m) ranks, from 1, of the m matches of the class; one row per order of tied entries.
        start, end: (m,) credit of each match at the start and at the end of the line.
        truths: number of ground truths of the class.
        interpolation: interpolation rule of AP. All rules except ``TRAPEZOID`` are replaced by ``ALL_POINTS``.
    """
    order = np.argsort(rank, axis=1)
    ranks = np.take_along_axis(rank, order, axis=1)
    credit = (start + (np.arange(_STEPS) + 0.5)[:, None] / _STEPS * (end - start))[:, order]
    slopes = (_of_curve if interpolation is Interpolation.TRAPEZOID else _of_envelope)(ranks, credit)
    by_rank = slopes.mean(axis=0) / (truths + EPSILON)
    found = np.empty_like(by_rank)
    np.put_along_axis(found, order, by_rank, axis=1)
    return np.asarray(found.mean(axis=0))


def _of_envelope(ranks: Floats, credit: Floats) -> Floats:
    """Return the derivatives, by each credit, of the area under the envelope times the number of ground truths.

    ``ranks`` are (orders, m), ascending. ``credit`` at these ranks, and the result, are (steps, orders, m).
    """
    m = ranks.shape[1]
    backwards = (np.cumsum(credit, axis=2) / (ranks + EPSILON))[:, :, ::-1]
    envelope = np.maximum.accumulate(backwards, axis=2)
    # Index of the entry at or after this rank whose precision is the envelope.
    peak = np.maximum.accumulate(np.where(backwards == envelope, np.arange(m), 0), axis=2)
    peak, envelope = m - 1 - peak[:, :, ::-1], envelope[:, :, ::-1]
    # A credit adds recall, and raises the precision of every entry whose peak is at or after its rank.
    weight = credit / np.take_along_axis(np.broadcast_to(ranks + EPSILON, peak.shape), peak, axis=2)
    row = np.arange(peak.shape[0] * peak.shape[1])[:, None] * m
    onto = np.bincount((peak.reshape(-1, m) + row).ravel(), weight.ravel(), minlength=peak.size).reshape(peak.shape)
    return envelope + _from_here_on(onto)


def _of_curve(ranks: Floats, credit: Floats) -> Floats:
    """Return the derivatives of :func:`_of_envelope` for the area under the linearly interpolated curve."""
    # Weights of the precision at an entry and at the previous entry: one half each, but 1 for the first entry.
    first = ranks == 1
    here = np.where(first, 1, 0.5) / (ranks + EPSILON)
    before = np.where(first, 0, 0.5) / (np.maximum(ranks - 1, 1) + EPSILON)
    found = np.cumsum(credit, axis=2)
    height = found * here + (found - credit) * before
    # A credit adds recall, and raises the precision at its own entry and at every later entry.
    return height + _from_here_on(credit * (here + before)) - credit * before


def _from_here_on(values: Floats) -> Floats:
    return np.cumsum(values[:, :, ::-1], axis=2)[:, :, ::-1]


MOST = 50  # default maximum number of confusions listed
_EXAMPLES = 3
_NOTHING = Overlaps(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0))


class ConfusionExample(Document, frozen=True):
    """Match of a ground truth and a prediction, as an example of a confusion.

    Attributes:
        image: image name.
        truth, prediction: row of the ground truth, and row of the prediction, in their files.
        true_human_box, true_object_box: boxes of the ground truth, as in the annotation file.
        human_box, object_box: boxes of the prediction, as in the prediction file.
        verb, object: verb (or object) of the class and predicted verb (or object).
        similarity: similarity of the two triplets, 0..1.
        score: confidence score of the prediction.
        iou: pair IoU, the smaller of human IoU and object IoU.
        gain: increase of mAP (0..1) from the credit of this match.
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
    """Confusion: word of a class, and the different word that was predicted.

    Attributes:
        part: "verb" or "object".
        word: word of the class and predicted word.
        matches: number of matches with this confusion.
        gain: SHOE-mAP (0..1) gained because matches with this confusion get credit for the similar word.
        share: ``gain`` as a fraction of the SHOE-mAP gained by such credit in all matches.
        examples: matches with the largest gains.
    """

    part: Part
    word: WordPair
    matches: Count
    gain: Gain
    share: float
    examples: tuple[ConfusionExample, ...]


class VocabularyGap(Document, frozen=True):
    """Gain of SHOE-mAP over exact word matching, and its causes. All values are SHOE-mAP (0..1) or differences of it.

    Attributes:
        gain: gain of the similarity map over exact matching, ``map - exact_map``.
        exact_map: SHOE-mAP if only the word of the class counts as right.
        identity_map: SHOE-mAP if synonyms of this word also count as right (``similarity=identity``).
        map: SHOE-mAP with the similarity map.
        matching, false_positives, credit: parts of the gain due to other matches, to more false positives, and to the
            credit for similar words. The sum of the three parts is the gain.
        verb_credit, object_credit: parts of the credit due to verbs and to objects.
        confusions: confusions with the largest gains, in descending order.
        further, further_gain: number of confusions not listed, and their total gain.
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
    known: KnownAps,
    words: tuple[PredictedWords, PredictedWords],
    most: int = MOST,
) -> VocabularyGap:
    """Return the gain of a similarity map over exact matching, divided into its causes.

    ``tables`` have at least one ground truth. ``scorer`` has the similarity map, and ``matches`` are its matches for
    SHOE-mAP. ``known`` caches the AP of classes; ``words`` are the predicted verbs and objects, with their relations to
    the classes; ``most`` is the maximum number of confusions in the result.
    """

    def map_of(scorer: Scorer, matches: Matches) -> float:
        return cached_means(scorer.entries(matches), known).map or 0.0

    # Duplicates (`near`) are those of the map, because exact matching would treat all words outside the classes as
    # equal.
    exact = Scorer(scorer.task, exact_matches(scorer.task, scorer.similarities), scorer.options, scorer.near)
    options = scorer.options
    if options.compare == "interactions":
        options = replace(options, compare="components", combine="geometric")
    identity = scorer.under(HoiSimilarity.from_task(scorer.task, WordNetSimilarity("identity"), options))
    truth = np.flatnonzero(matches.prediction >= 0)
    rows, predicted, start = matches.prediction[truth], scorer.task.predictions, np.zeros(len(matches.sigma))
    start[truth] = exact.similarities.sigma(exact.hoi[truth], predicted.verb[rows], predicted.object[rows])
    other = Scorer(scorer.task, exact.similarities, scorer.options, _NOTHING).match(matches.unmatched).false_positive_of
    exactly = replace(matches, sigma=start)
    steps = exact.match(exact.map_rows), replace(exactly, false_positive_of=other), exactly
    ladder = [*(map_of(exact, step) for step in steps), map_of(scorer, matches)]
    matching, false_positives, credit = np.diff(ladder).tolist()
    gains = shares_of(scorer, matches, start)
    gains *= max(credit, 0.0) / (gains.sum() or 1.0)  # integration and sampled tie orders leave an error of about 0.1 %
    parts = _gains_by_word(scorer, exact.similarities, matches, words, gains)
    verb_credit, object_credit = (float(part.gain.sum()) for part in parts)
    totals = (np.bincount(part.cell, part.gain) for part in parts)  # gains are above 0
    found = [(total[cell], number, cell) for number, total in enumerate(totals) for cell in np.flatnonzero(total)]
    ranked = sorted(found, key=lambda entry: (-entry[0], *entry[1:]))

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
        confusions=tuple(confusion(parts[number], int(cell), float(gain)) for gain, number, cell in ranked[:most]),
        further=len(ranked[most:]),
        further_gain=float(sum(gain for gain, _, _ in ranked[most:])),
    )


def exact_matches(task: Task, similarities: HoiSimilarity) -> HoiSimilarity:
    """Return ``similarities`` for exact matching: 1 if a word equals the class's word, in any inflection, else 0.

    If the similarity map rates verb and object together, the value is 1 if both words equal those of the class, else 0.
    """
    classes = task.truth.classes

    def exact(table: SimilarityTable, row: Indices, label: Ints, of_word: Ints) -> SimilarityTable:
        of_row = np.zeros(row.max() + 1, np.int64)
        of_row[row] = label
        return replace(table, values=(of_row[:, None] == of_word).astype(np.float64))

    verbs = exact(similarities.verbs, similarities.verb_row, classes.verb, task.verb_label)
    objects = exact(similarities.objects, similarities.object_row, classes.object, task.object_label)
    how = similarities.how if similarities.whole is None else "geometric"
    return replace(similarities, verbs=verbs, objects=objects, how=how, whole=None)


@dataclass(frozen=True, slots=True, eq=False)
class _GainsByWord:
    """Gains of the h matches that get credit for a similar verb (or object)."""

    words: PredictedWords
    truth: Indices  # (h,) ground truth of each match
    cell: Indices  # (h,) index of the confusion in the flattened (word of the class, predicted word) table, ascending
    gain: Floats  # (h,) gain of the match due to this confusion, descending within a confusion


def _gains_by_word(
    scorer: Scorer, exact: HoiSimilarity, matches: Matches, words: tuple[PredictedWords, PredictedWords], gains: Floats
) -> list[_GainsByWord]:
    """Return the gains of matches due to verbs and due to objects.

    The gain of a match, in the (t,) ``gains``, is divided in proportion to the contributions of verb and object to its
    similarity; ``exact`` are the similarities for exact matches of words.
    """
    truth = np.flatnonzero(gains)
    hoi, rows = scorer.hoi[truth], matches.prediction[truth]
    cells = [(part.row[hoi], getattr(scorer.task.predictions, part.part)[rows]) for part in words]
    before = [of_part.values[at] for of_part, at in zip((exact.verbs, exact.objects), cells, strict=True)]
    if scorer.similarities.whole is None:
        after = [part.table.values[at] for part, at in zip(words, cells, strict=True)]
    else:
        after = [np.ones(len(truth))] * 2
    # Shapley value of verb and object: mean of the increase if the word changes first and if it changes last.
    sigma = partial(combine, how=exact.how, weight=exact.weight)
    none, both = sigma(*before), sigma(*after)
    verb_first, object_first = sigma(after[0], before[1]), sigma(before[0], after[1])
    growth = (verb_first - none + both - object_first) / 2, (object_first - none + both - verb_first) / 2
    by_word = []
    for part, (row, word), own in zip(words, cells, growth, strict=True):
        cell, gain = row * len(part.words) + word, gains[truth] * own / (growth[0] + growth[1])
        order = np.lexsort((-gain, cell))
        order = order[gain[order] > 0]
        by_word.append(_GainsByWord(part, truth[order], cell[order], gain[order]))
    return by_word


def _example(
    tables: Tables, truth: int, matches: Matches, words: tuple[PredictedWords, PredictedWords], gain: float
) -> ConfusionExample:
    task, row = tables.task, int(matches.prediction[truth])
    truths, predictions = task.truth.interactions, task.predictions
    at, by = slice(truth, truth + 1), slice(row, row + 1)
    hoi = int(task.truth.classes.of[truths.verb[truth], truths.object[truth]])
    verb, object_ = (part.pair(int(part.row[hoi]), int(getattr(predictions, part.part)[row])) for part in words)
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
