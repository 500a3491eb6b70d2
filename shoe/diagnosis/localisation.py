"""Pair localisation: pairs of a person and an object that are found, whatever their interaction.

Pairs come before the classification of interactions (IJCV paper 4.1): from a file of pairs, or as the distinct pairs of
triplets. Boxes are compared as in the toolbox, with an IoU of at least 0.5, since the papers name no threshold for
pairs. The counting of multiple matches is a choice (:class:`PairRules`; protocols.md 8.7).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.protocols import DIAG
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Mask, as_bits, expand, first_equal, first_of_each, index_in_group
from shoe.core.boxes import iou
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import unknown_name
from shoe.core.roles import no_boxes
from shoe.diagnosis.scope import Overlaps, Scope, overlaps
from shoe.predictions.pair_predictions import Pairs
from shoe.scoring.matching.repeats import greedily_kept
from shoe.scoring.matching.task import Boxes, Origin, Task

CHOICES = {
    "pairs": ("index", "merged"),
    "precision": ("first-match", "one-to-one", "gt-count"),
}
"""The values of each rule, the toolbox's first."""


@dataclass(frozen=True, slots=True)
class PairRules:
    """Rules for counting pairs (protocols.md 8.7); the defaults are the toolbox's for HICO-DET.

    Attributes:
        pairs: which annotations are one pair. ``index``: same boxes and object. ``merged``: in the order of the file a
            pair joins the first earlier one that it overlaps; HICO-DET draws boxes anew for each label, which makes
            33,405 pairs of 22,012 visible ones.
        precision: which predictions are right. ``first-match``: those that are the first in the file on some true pair.
            ``one-to-one``: as many as can each have a true pair of their own. ``gt-count``: true pairs found (the
            toolbox on V-COCO), which may exceed 1.
    """

    pairs: str = "index"
    precision: str = "first-match"

    def __post_init__(self) -> None:
        """Raise OptionError, naming the nearest valid value, for an unknown value."""
        for name, values in CHOICES.items():
            if getattr(self, name) not in values:
                raise unknown_name(f"rule for {name}", getattr(self, name), values)


class PairFigures(Document, frozen=True, kw_only=True):
    """Pair localisation in 0..1 (``precision`` may exceed 1, see ``PairRules``); None where nothing can be measured.

    Attributes:
        recall: share of true pairs matched by some predicted pair, which may match others too (the toolbox).
        recall_one_to_one: share where of several true pairs on one predicted pair "only one" counts (IJCV paper 4.1,
            which does not say which): as many as can each have a predicted pair of their own.
        precision: share of predicted pairs that are right.
        per_image: predicted pairs per image.
        human_recall, object_recall: share of boxes of people, and of objects with their label, matched by a predicted
            box of any pair (IJCV paper 6.7).
        truths, predictions, images: numbers of true pairs, predicted pairs, and images with ground truth.
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


@dataclass(frozen=True, slots=True, eq=False)
class Localised:
    """Predicted pairs matched with the ground truth, once for all figures; p pairs and t triplets.

    Attributes:
        no_interaction: whether pairs with no_interaction alone count: ``exclude`` or ``keep``.
        scope: pairs on images that count, and the triplets of the ground truth.
        true_pairs, true_humans, true_objects: (t,) triplets that stand for a distinct pair, person, object.
    """

    pairs: Pairs
    rules: PairRules
    no_interaction: str
    scope: Scope
    overlaps: Overlaps
    true_pairs: Mask
    true_humans: Mask
    true_objects: Mask


def localise(
    pairs: Pairs,
    truth: GroundTruth,
    rules: PairRules | None = None,
    no_interaction: str = "exclude",
    triplets: Task | None = None,
) -> Localised:
    """Find the pairs of the ground truth that predicted pairs match.

    ``rules`` are the toolbox's if absent. ``no_interaction`` is ``exclude`` or ``keep``: whether pairs with
    no_interaction alone count. ``triplets`` is the task of the triplets that the pairs come from, whose boxes are
    compared already.

    Raises:
        InputError: when pairs and ground truth have no image in common.
    """
    origin = None
    if triplets is not None and pairs.of_triplet is not None:
        first = np.empty(len(pairs.table), np.int64)
        first[pairs.of_triplet[::-1]] = np.arange(len(triplets.predictions))[::-1]  # what is written last stays
        origin = Origin(triplets, first, np.arange(len(truth.interactions)), DIAG.coordinates)
    task = Task(pairs.table, truth, origin)
    task.check_images()
    scope = Scope.of(task, no_interaction)
    nothing = np.zeros(len(scope.truth), bool)
    hits = overlaps(scope, DIAG.coordinates, DIAG.rule)
    bare = Localised(pairs, rules or PairRules(), no_interaction, scope, hits, nothing, nothing, nothing)
    return part_of(bare, np.ones(len(truth.classes), bool))


def part_of(localised: Localised, hoi: Mask) -> Localised:
    """Restrict the true pairs to some of K classes, as rare ones; all predictions stay (first version, Table 4)."""
    scope = localised.scope
    counted = hoi[scope.truth_hoi] & ~no_boxes(scope.task.truth.interactions.object_boxes[scope.truth])
    rows = scope.truth[counted]
    image, label = scope.truth_image[counted], scope.truth_object[counted]
    boxes = Boxes(scope.task.truth.interactions, DIAG.coordinates)
    humans, objects = boxes.human(rows), boxes.object(rows)
    alone = _standing_alone if localised.rules.pairs == "index" else _kept_apart
    true_pairs, true_humans, true_objects = np.zeros((3, len(counted)), bool)
    true_pairs[counted] = alone(image, label, humans, objects)
    true_humans[counted] = alone(image, np.zeros_like(label), humans)
    true_objects[counted] = alone(image, label, objects)
    return replace(localised, true_pairs=true_pairs, true_humans=true_humans, true_objects=true_objects)


def pair_figures(localised: Localised, index: Indices | None = None) -> PairFigures:
    """Measure pair localisation (IJCV paper 4.1, 6.7; protocols.md 8.7).

    ``index`` is (n,) the row of each pair in a file with only some of them, -1 for removed ones.
    """
    scope, hits, rules = localised.scope, localised.overlaps, localised.rules
    row = scope.prediction
    index = row if index is None else index[row]
    left = index >= 0
    there = left[hits.prediction]

    on = there & hits.human & hits.object & localised.true_pairs[hits.truth]
    prediction, truth = hits.prediction[on], hits.truth[on]
    nowhere = np.iinfo(np.int64).max
    first = np.full(len(scope.truth), nowhere)
    np.minimum.at(first, truth, index[prediction])
    found = first[first < nowhere]
    firsts = int(first_of_each(np.sort(found)).sum())
    own = _largest_one_to_one(truth, prediction)
    right = {"first-match": firsts, "one-to-one": own, "gt-count": len(found)}[rules.precision]

    images = int(first_of_each(scope.truth_image).sum())
    truths, predictions = int(localised.true_pairs.sum()), int(left.sum())
    return PairFigures(
        recall=_share(len(found), truths),
        recall_one_to_one=_share(own, truths),
        precision=_share(right, predictions),
        per_image=_share(predictions, images),
        human_recall=_share_found(hits.truth[there & hits.human], localised.true_humans),
        object_recall=_share_found(hits.truth[there & hits.object], localised.true_objects),
        truths=truths,
        predictions=predictions,
        images=images,
    )


def _standing_alone(image: Indices, label: NDArray[np.integer], *boxes: Floats) -> Mask:
    """Return (t,) whether each triplet is the first of its image with its label and boxes."""
    columns = [*as_bits(image), *as_bits(label), *(bits for each in boxes for bits in as_bits(each))]
    alone: Mask = first_equal(columns) == np.arange(len(image))
    return alone


def _kept_apart(image: Indices, label: NDArray[np.integer], *boxes: Floats) -> Mask:
    """Return (t,) triplets that overlap none kept before them, of their image and label, in all boxes."""
    index = index_in_group(np.bincount(image))
    later, earlier = expand(np.arange(len(image)) - index, index)
    same = label[later] == label[earlier]
    later, earlier = later[same], earlier[same]
    for each in boxes:
        close = DIAG.rule.holds(iou(each[later], each[earlier], DIAG.rule.overlap))
        later, earlier = later[close], earlier[close]
    return greedily_kept(later, earlier, index)


def _largest_one_to_one(truth: Indices, prediction: Indices) -> int:
    """Return how many truths can each have their own prediction (augmenting paths; scipy takes longer to import)."""
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
            before = held.get(asking)
            holder[free], held[asking] = asking, free
            free = before
    return len(held)


def _share_found(found: Indices, counted: Mask) -> float | None:
    seen = np.zeros(len(counted), bool)
    seen[found] = True
    return _share(int((seen & counted).sum()), int(counted.sum()))


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
