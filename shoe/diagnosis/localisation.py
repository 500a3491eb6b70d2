"""Pair localisation: matching of human-object pairs regardless of their interaction (IJCV paper 4.1).

Predicted pairs come from a file of pairs, or are the distinct pairs of triplets. Boxes match if their IoU is at least
0.5, as in the toolbox, because the papers name no threshold for pairs. Options determine how multiple matches are
counted (:class:`PairRules`; protocols.md 8.7).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.protocols import DIAG
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Mask, as_bits, first_equal, first_of_each, index_in_group
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import unknown_name
from shoe.core.roles import no_boxes
from shoe.diagnosis.scope import Overlaps, Scope, near_in_image, overlaps
from shoe.predictions.pair_predictions import Pairs
from shoe.scoring.matching.repeats import greedily_kept
from shoe.scoring.matching.task import Boxes, Origin, Task

CHOICES = {"pairs": ("index", "merged"), "precision": ("first-match", "one-to-one", "gt-count")}
"""Values of each rule, the value of the toolbox first."""


@dataclass(frozen=True, slots=True)
class PairRules:
    """Rules for counting pairs (protocols.md 8.7); the defaults are those of the toolbox for HICO-DET.

    Attributes:
        pairs: rule that decides which annotations are the same pair. ``index``: equal boxes and objects. ``merged``: an
            annotation that overlaps an earlier pair is that pair. HICO-DET has boxes drawn anew for each label: 33,405
            pairs by ``index`` for 22,012 visible pairs.
        precision: numerator of precision. ``first-match``: number of predicted pairs that are the first match in the
            file of a true pair. ``one-to-one``: size of the largest one-to-one matching of predicted and true pairs.
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
    """Pair localisation in 0..1 (``precision`` may exceed 1, see ``PairRules``); None without pairs to measure.

    Attributes:
        recall: fraction of true pairs matched by a predicted pair. A predicted pair may match several true pairs, as in
            the toolbox.
        recall_one_to_one: size of the largest one-to-one matching of true and predicted pairs, as a fraction of the
            true pairs. The paper counts "only one" true pair per predicted pair (IJCV paper 4.1).
        precision: fraction of predicted pairs that are right, by the rule in ``PairRules``.
        per_image: number of predicted pairs per image with ground truth.
        human_recall, object_recall: fraction of the true human boxes, and of the true object boxes, that match a
            predicted box with their label in any pair (IJCV paper 6.7).
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
    """Predicted pairs matched with the ground truth: p pairs and t triplets.

    Attributes:
        no_interaction: whether true pairs whose only class is no_interaction count: ``exclude`` or ``keep``.
        scope: predicted pairs on images with ground truth, and the triplets of the ground truth.
        overlaps: predicted pairs and triplets of the ground truth that share a box.
        classes: (K,) mask of the classes whose true pairs count (first version of the paper, Table 4). All predicted
            pairs count.
    """

    pairs: Pairs
    rules: PairRules
    no_interaction: str
    scope: Scope
    overlaps: Overlaps
    classes: Mask

    @cached_property
    def distinct(self) -> tuple[Mask, Mask, Mask]:
        """(t,) masks of the triplets that represent a distinct pair, person or object: the first triplet of each.

        Triplets of other classes than ``classes`` and triplets without an object box are left out.
        """
        scope, table = self.scope, self.scope.task.truth.interactions
        counted = self.classes[scope.truth_hoi] & ~no_boxes(table.object_boxes[scope.truth])
        image, label, boxes = scope.truth_image[counted], scope.truth_object[counted], Boxes(table, DIAG.coordinates)
        humans, objects = (side(scope.truth[counted]) for side in (boxes.human, boxes.object))
        alone = _standing_alone if self.rules.pairs == "index" else _kept_apart
        true_pairs, true_humans, true_objects = np.zeros((3, len(counted)), bool)
        true_pairs[counted] = alone(image, label, humans, objects)
        true_humans[counted] = alone(image, np.zeros_like(label), humans)
        true_objects[counted] = alone(image, label, objects)
        return true_pairs, true_humans, true_objects


def localise(
    pairs: Pairs,
    truth: GroundTruth,
    rules: PairRules | None = None,
    no_interaction: str = "exclude",
    triplets: Task | None = None,
) -> Localised:
    """Return the predicted pairs matched with the pairs of the ground truth.

    Args:
        rules: counting rules for pairs, by default those of the papers' toolbox.
        no_interaction: ``exclude`` or ``keep`` true pairs whose only class is no_interaction.
        triplets: task of the triplets that the pairs come from, whose IoUs are reused; None for other pairs.

    Raises:
        InputError: if pairs and ground truth have no image in common.
    """
    origin = None
    if triplets is not None and pairs.of_triplet is not None:
        first = np.empty(len(pairs.table), np.int64)
        first[pairs.of_triplet[::-1]] = np.arange(len(triplets.predictions))[::-1]  # what is written last stays
        origin = Origin(triplets, first, np.arange(len(truth.interactions)), DIAG.coordinates)
    task = Task(pairs.table, truth, origin)
    task.check_images()
    scope = Scope.from_task(task, no_interaction)
    hits = overlaps(scope, DIAG.coordinates, DIAG.rule)
    return Localised(pairs, rules or PairRules(), no_interaction, scope, hits, np.ones(len(truth.classes), bool))


def pair_figures(localised: Localised, index: Indices | None = None) -> PairFigures:
    """Return recall, precision and counts of pair localisation (IJCV paper 4.1, 6.7; protocols.md 8.7).

    ``index``, if some of the n predicted pairs are removed, is the (n,) position of each remaining pair, whose order
    decides which pair is the first match, or -1 for a removed pair.
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


def _standing_alone(image: Indices, label: NDArray[np.integer], *boxes: Floats) -> Mask:
    """Return the (t,) mask of the first triplet of each image, label and boxes; boxes are compared exactly."""
    columns = [*as_bits(image), *as_bits(label), *(bits for each in boxes for bits in as_bits(each))]
    return np.asarray(first_equal(columns) == np.arange(len(image)))


def _kept_apart(image: Indices, label: NDArray[np.integer], *boxes: Floats) -> Mask:
    """Return the (t,) mask of triplets kept in order: a triplet that overlaps a kept triplet is not kept.

    Triplets overlap if image and label are equal and all their boxes reach the IoU threshold.
    """
    return greedily_kept(*near_in_image(image, label, boxes, DIAG.rule), index_in_group(np.bincount(image)))


def _largest_one_to_one(truth: Indices, prediction: Indices) -> int:
    """Return the size of a maximum one-to-one matching, given the (m,) truth and the (m,) prediction of each candidate.

    The algorithm of augmenting paths is implemented here, because importing scipy takes longer.
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
