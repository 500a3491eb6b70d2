"""Pair localisation: matching of human-object pairs, whatever their interaction, with curves (IJCV paper 4.1, 5.3).

Predicted pairs come from a file of pairs, or are the distinct pairs of triplets. Boxes match if their IoU is at least
0.5, as in the toolbox, because the papers name no threshold for pairs. How multiple matches count is set by
:class:`PairRules` (protocols.md 8.7).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from msgspec.structs import asdict
from numpy.typing import NDArray

from shoe.benchmarks.checks import triplet_name
from shoe.benchmarks.protocols import DIAG
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Mask, as_bits, first_equal, first_of_each, index_in_group, scatter
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import InputError, unknown_name
from shoe.core.interactions import Interactions
from shoe.core.roles import no_boxes
from shoe.diagnosis.error_gains import ErrorAnalysis
from shoe.diagnosis.error_types import ErrorType, before_fixes
from shoe.diagnosis.scope import Overlaps, Scope, near_in_image, overlaps
from shoe.predictions.pair_predictions import Pairs, find_pairs
from shoe.scoring.entries import Means
from shoe.scoring.matching.repeats import Suppression, greedily_kept
from shoe.scoring.matching.task import Boxes, Origin, Task

CHOICES = {"pairs": ("index", "merged"), "precision": ("first-match", "one-to-one", "gt-count")}
"""Values of each rule, the value of the toolbox first."""


@dataclass(frozen=True, slots=True)
class PairRules:
    """Rules for counting pairs (protocols.md 8.7); the defaults are those of the toolbox for HICO-DET.

    Attributes:
        pairs: which annotations are one pair. ``index``: those with equal boxes and object labels. ``merged``: also
            those whose boxes overlap an earlier pair. HICO-DET has boxes drawn anew for each label: 33,405 pairs by
            ``index`` for 22,012 visible pairs.
        precision: numerator of precision. ``first-match``: number of predicted pairs that are, in file order, the first
            match of a true pair. ``one-to-one``: size of the largest one-to-one matching of predicted and true pairs.
            ``gt-count``: number of matched true pairs (the toolbox on V-COCO); precision may then exceed 1.
    """

    pairs: str = "index"
    precision: str = "first-match"

    def __post_init__(self) -> None:
        """Raise OptionError with the closest valid value if a value is unknown."""
        for name, values in CHOICES.items():
            if getattr(self, name) not in values:
                raise unknown_name(f"rule for {name}", getattr(self, name), values)


class PairFigures(Document, frozen=True, kw_only=True):
    """Metrics of pair localisation; None if there are no pairs to measure.

    Attributes:
        recall: fraction of true pairs matched by a predicted pair. A predicted pair may match several true pairs, as in
            the toolbox.
        recall_one_to_one: size of the largest one-to-one matching of true and predicted pairs, as a fraction of the
            true pairs. The paper counts "only one" true pair per predicted pair (IJCV paper 4.1).
        precision: fraction of predicted pairs that are right, by the rule in ``PairRules``; may exceed 1.
        per_image: number of predicted pairs per image with ground truth.
        human_recall, object_recall: fraction of the true human (object) boxes that match the human (object) box of any
            predicted pair; object labels must be equal (IJCV paper 6.7).
        truths, predictions, images: number of true pairs, predicted pairs, and images with ground truth.
    """

    recall: Fraction | None = None
    recall_one_to_one: Fraction | None = None
    precision: Fraction | None = None
    per_image: float | None = None
    human_recall: Fraction | None = None
    object_recall: Fraction | None = None
    truths: Count
    predictions: Count
    images: Count


@dataclass(frozen=True, eq=False)
class Localised:
    """Predicted pairs, matched with the t triplets of the ground truth."""

    pairs: Pairs
    rules: PairRules
    no_interaction: str  # ``exclude`` or ``keep``, for ground-truth pairs whose only class is no_interaction
    scope: Scope  # predicted pairs on images with ground truth, and the triplets of the ground truth
    overlaps: Overlaps  # predicted pairs and triplets of the ground truth that match in at least one box
    classes: Mask  # (K,) mask of the classes whose ground-truth pairs are counted, such as the rare classes alone

    @cached_property
    def distinct(self) -> tuple[Mask, Mask, Mask]:
        """Three (t,) masks: the first triplet of each distinct pair, each distinct person and each distinct object.

        Triplets of classes outside ``classes`` and triplets without an object box are left out.
        """
        scope, table = self.scope, self.scope.task.truth.interactions
        counted = self.classes[scope.truth_hoi] & ~no_boxes(table.object_boxes[scope.truth])
        image, label, boxes = scope.truth_image[counted], scope.truth_object[counted], Boxes(table, DIAG.coordinates)
        humans, objects = (side(scope.truth[counted]) for side in (boxes.human, boxes.object))

        def first(label: NDArray[np.integer], *boxes: Floats) -> Mask:
            found = np.zeros(len(counted), bool)
            if self.rules.pairs == "index":
                found[counted] = first_equal(as_bits(image, label, *boxes)) == np.arange(len(image))
            else:  # boxes do not all overlap those of an earlier triplet in the mask
                near = near_in_image(image, label, boxes, DIAG.rule)
                found[counted] = greedily_kept(*near, index_in_group(np.bincount(image)))
            return found

        return first(label, humans, objects), first(np.zeros_like(label), humans), first(label, objects)


def localise(
    pairs: Pairs,
    truth: GroundTruth,
    rules: PairRules | None = None,
    no_interaction: str = "exclude",
    triplets: Task | None = None,
) -> Localised:
    """Return the predicted pairs matched with the pairs of the ground truth.

    ``no_interaction`` is ``exclude`` or ``keep``, for true pairs whose only class is no_interaction. If the pairs are
    derived from the triplets of the task ``triplets``, the IoUs of this task are reused. Raise InputError if pairs and
    ground truth have no image in common.
    """
    origin = None
    if triplets is not None and pairs.of_triplet is not None:
        rows = np.arange(len(triplets.predictions))[::-1]
        first = scatter(rows, pairs.of_triplet[rows], len(pairs.table))  # what is written last stays
        origin = Origin(triplets, first, np.arange(len(truth.interactions)), DIAG.coordinates)
    task = Task(pairs.table, truth, origin)
    task.check_images()
    scope = Scope.from_task(task, no_interaction)
    hits = overlaps(scope, DIAG.coordinates, DIAG.rule)
    return Localised(pairs, rules or PairRules(), no_interaction, scope, hits, np.ones(len(truth.classes), bool))


def pair_figures(localised: Localised, index: Indices | None = None) -> PairFigures:
    """Return recall, precision and counts of pair localisation (IJCV paper 4.1, 6.7; protocols.md 8.7).

    ``index`` is the (n,) rank of each predicted pair, -1 for a pair that is removed; by default, the order of the file.
    The first match of a true pair is the match with the lowest rank.
    """
    scope, hits, row = localised.scope, localised.overlaps, localised.scope.prediction
    true_pairs, true_humans, true_objects = localised.distinct
    index = row if index is None else index[row]
    left = index >= 0
    there = left[hits.prediction]
    on = there & hits.human & hits.object & true_pairs[hits.truth]
    prediction, truth = hits.prediction[on], hits.truth[on]
    first = np.full(len(scope.truth), nowhere := np.iinfo(np.int64).max)
    np.minimum.at(first, truth, index[prediction])
    found = first[first < nowhere]
    firsts = int(first_of_each(np.sort(found)).sum())
    own = _largest_one_to_one(truth, prediction)
    right = {"first-match": firsts, "one-to-one": own, "gt-count": len(found)}[localised.rules.precision]
    images = int(first_of_each(scope.truth_image).sum())
    truths, predictions = int(true_pairs.sum()), int(left.sum())
    return PairFigures(
        recall=_share(len(found), truths),
        recall_one_to_one=_share(own, truths),
        precision=_share(right, predictions),
        per_image=_share(predictions, images),
        human_recall=_share_found(hits.truth[there & hits.human], true_humans),
        object_recall=_share_found(hits.truth[there & hits.object], true_objects),
        truths=truths,
        predictions=predictions,
        images=images,
    )


def _largest_one_to_one(truth: Indices, prediction: Indices) -> int:
    """Return the size of the largest one-to-one matching, given the (m,) truth and prediction of each possible match.

    Augmenting paths are searched here, because importing scipy takes longer.
    """
    candidates: dict[int, list[int]] = {}
    for asking, wanted in zip(truth.tolist(), prediction.tolist(), strict=True):
        candidates.setdefault(asking, []).append(wanted)
    holder: dict[int, int] = {}
    held: dict[int, int] = {}
    hopeless: set[int] = set()  # predictions whose holders cannot have another one
    for first in candidates:
        reached: dict[int, int] = {}
        queue, free = [first], None
        for asking in queue:
            for wanted in candidates[asking]:
                if wanted not in reached and wanted not in hopeless:
                    reached[wanted] = asking
                    if wanted not in holder:
                        free = wanted
                        break
                    queue.append(holder[wanted])
            if free is not None:
                break
        else:
            hopeless.update(reached)
        while free is not None:
            asking = reached[free]
            holder[free], held[asking], free = asking, free, held.get(asking)
    return len(held)


def _share_found(found: Indices, counted: Mask) -> float | None:
    return _share(len(np.unique(found[counted[found]])), int(counted.sum()))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


# Curves of pair localisation and mAP if pairs are removed by overlap or by score (IJCV paper 5.3, Tables 3 and 4; first
# version, Tables 5 and 6). The papers use one threshold per table, which they do not report.

NMS_THRESHOLDS = (1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)
"""Maximum overlaps of a pair with a better-scored pair; at 1, no pair is removed."""
SCORE_THRESHOLDS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7)
"""Minimum scores of predictions; at 0, no prediction with a score from 0 to 1 is removed."""


class SweepPoint(PairFigures, frozen=True):
    """Metrics of the pairs that a sweep keeps at one threshold.

    Attributes:
        threshold: highest overlap (NMS) or lowest score of a pair that is kept.
        map, map_rare, map_non_rare: mAP of the triplets that are kept; None without an error analysis.
    """

    threshold: float
    map: Fraction | None = None
    map_rare: Fraction | None = None
    map_non_rare: Fraction | None = None


class Sweep(Document, frozen=True):
    """Curve of metrics over the thresholds of one criterion.

    Attributes:
        by: criterion that removes pairs: ``nms`` for the overlap with a better-scored pair, ``detection`` for the lower
            detection score of a pair's boxes, or ``score`` for the score of a triplet, which includes the interaction.
        points: metrics per threshold, in the order of the thresholds.
    """

    by: str
    points: tuple[SweepPoint, ...]


def sweeps(localised: Localised, analysis: ErrorAnalysis | None) -> tuple[Sweep, ...]:
    """Return the sweep by NMS and, if pairs or triplets have scores, by score; with mAP if ``analysis`` is given."""
    made = [nms_sweep(localised, analysis=analysis)]
    if localised.pairs.triplets is not None or localised.pairs.detected:
        made.append(score_sweep(localised, analysis=analysis))
    return tuple(made)


def nms_sweep(
    localised: Localised, thresholds: Sequence[float] = NMS_THRESHOLDS, analysis: ErrorAnalysis | None = None
) -> Sweep:
    """Return the metrics after non-maximum suppression (NMS) of pairs at several overlap thresholds, 0 to 1.

    The overlap is human IoU * sqrt(object IoU), as in CDN (protocols.md 2.2, ``shoe.scoring.matching.repeats``). If the
    pairs come from triplets, NMS is applied to triplets of equal verb and object, and the pairs of the remaining
    triplets remain; mAP then equals mAP under the option ``strict.nms``. Pairs from a separate file are compared with
    pairs of equal object label, ranked by detection score, or in file order without scores. ``analysis`` is the error
    analysis of the model's triplets; without it, there is no mAP.
    """
    lowest = min(thresholds)
    return _sweep(
        "nms", localised, thresholds, analysis, lambda table: Suppression(table, np.arange(len(table)), lowest).kept
    )


def score_sweep(
    localised: Localised, thresholds: Sequence[float] = SCORE_THRESHOLDS, analysis: ErrorAnalysis | None = None
) -> Sweep:
    """Return, for each threshold, the metrics of the pairs with at least this score; the pairs must have scores.

    The score of a pair from a separate file is the lower detection score of its two boxes; a triplet of ``analysis``
    has the score of its pair. If pairs come from triplets, detection scores are unknown: the score of a triplet is its
    confidence, and a pair remains if one of its triplets remains. Without ``analysis``, there is no mAP. Raise
    InputError if a separate file lacks the pair of a triplet.
    """
    pairs = localised.pairs
    if pairs.triplets is not None:
        return _sweep("score", localised, thresholds, analysis, lambda table: _at_least(table.score))

    def of_detection(table: Interactions) -> Callable[[float], Mask]:
        if table is pairs.table or analysis is None:
            return _at_least(table.score)
        rows, pair = analysis.scope.prediction, find_pairs(pairs, table)
        lost = rows[pair[rows] < 0]
        if len(lost):
            record = triplet_name((table.images, table.image.astype(np.int64)), int(lost[0]))
            found, expected = "no pair with exactly the same boxes and object", "the pairs of all triplets"
            raise InputError("pairs", record=record, found=found, expected=expected)
        return _at_least(np.append(pairs.table.score, np.nan)[pair])

    return _sweep("detection", localised, thresholds, analysis, of_detection)


def _at_least(score: Floats) -> Callable[[float], Mask]:
    return lambda threshold: score >= threshold


Thinned = Callable[[Interactions], Callable[[float], Mask]]
"""Function that prepares a table, and returns a function from a threshold to the (n,) mask of the rows that remain."""


def _sweep(
    by: str, localised: Localised, thresholds: Sequence[float], analysis: ErrorAnalysis | None, thinned: Thinned
) -> Sweep:
    pairs = localised.pairs
    table = pairs.table if pairs.triplets is None else pairs.triplets
    kept = thinned(table)
    triplets = table if analysis is None else analysis.task.predictions
    kept_triplets = kept if triplets is table else thinned(triplets)
    means_of = None if analysis is None else _means_by_mask(analysis)
    points = []
    for threshold in thresholds:
        rows = np.flatnonzero(mask := kept(threshold))[::-1]
        of_row = rows if pairs.of_triplet is None else pairs.of_triplet[rows]
        first = scatter(rows, of_row, len(pairs.table))  # first row left of each pair: what is written last stays
        found = asdict(pair_figures(localised, first))
        if means_of is not None:
            found |= means_of(mask if kept_triplets is kept else kept_triplets(threshold))._asdict()
        points.append(SweepPoint(threshold, **found))
    return Sweep(by, tuple(points))


def _means_by_mask(analysis: ErrorAnalysis) -> Callable[[Mask], Means]:
    """Return a function that computes mean AP for an (n,) mask of predictions, each with its former ground truth."""
    scope, types = analysis.scope, analysis.assigned.types
    right = np.flatnonzero((types == ErrorType.TRUE_POSITIVE) | (types == ErrorType.DUPLICATE))
    truth = analysis.assigned.target[right]

    def means(kept_rows: Mask) -> Means:
        kept = kept_rows[scope.prediction]
        found_by = scope.best_of(right[kept[right]], truth[kept[right]])
        return analysis.means_after(replace(before_fixes(found_by, len(kept)), kept=kept))

    return means
