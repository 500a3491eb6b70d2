"""From annotations to pictures with one label each, by rules that say what each of them dropped.

The field's problems were curated by hand; what people did there has a rule here. Actions that look alike are merged, a
region keeps the whole and not its parts ("eat carrot", not "hold carrot"), boxes that are hard to see are dropped, and
so are regions that still have several labels.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.pairs import merged
from shoe.benchmarks.truth import GroundTruth
from shoe.bongard.concepts import Concepts, concepts_of, parts_by_annotation
from shoe.bongard.problems import Regions
from shoe.core.arrays import Floats, Ints, Mask
from shoe.core.coordinates import CommonCoordinates, converted
from shoe.core.documents import Count, Document
from shoe.similarity.table import Similarity

_MARGIN = 0.05
"""Of the width and height of both boxes together, on each side: measured on the field's problems."""
_SAME_PAIR = 0.5
_LEAST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Curation:
    """How annotations become pictures with one label.

    Attributes:
        merge_at: similarity from which two actions of an object are one concept.
        part_share: share of a concept's regions that have to show another, more frequent one for that to be its part.
        smallest: least area of a human or object box, in square pixels; 32 x 32 is what COCO calls small.
    """

    merge_at: float = 0.6
    part_share: float = 0.5
    smallest: float = 32 * 32


class Step(Document, frozen=True):
    """What a step of the curation left: concepts with regions, regions, and labels of regions."""

    step: str
    concepts: Count
    regions: Count
    labels: Count


@dataclass(frozen=True, slots=True, eq=False)
class Curated:
    """Pictures with one label.

    Attributes:
        regions: n of them; ``verb`` is an index into the names of actions, merged ones included.
        concept: (n,) concept of each.
        shows: (images, C) whether an image is annotated to show a concept, or one that it is part of, anywhere and in
            any region, kept or not.
        steps: what each step left, in order.
    """

    regions: Regions
    concept: Ints
    concepts: Concepts
    shows: Mask
    steps: tuple[Step, ...]


def curated(truth: GroundTruth, similarity: Similarity, how: Curation) -> Curated:
    """Curate the annotations of a dataset."""
    table, classes = truth.interactions, truth.classes
    first, region = np.unique(merged(table, _SAME_PAIR), return_inverse=True)
    drawn = np.zeros((len(first), len(classes)), bool)
    drawn[region, truth.hoi] = True
    steps = [_step("pairs of boxes", drawn)]
    drawn[:, classes.no_interaction] = False
    steps.append(_step("no_interaction left out", drawn))

    concepts = concepts_of(classes, similarity, how.merge_at)
    labels = np.zeros((len(first), len(concepts)), bool)
    row, class_ = np.nonzero(drawn)
    labels[row, concepts.of[class_]] = True
    steps.append(_step(f"actions at least {how.merge_at:g} similar merged", labels))
    image = table.image[first]
    usual = parts_by_annotation(labels, how.part_share, _LEAST)
    shows = np.zeros((len(table.images), len(concepts)), bool)
    row, concept = np.nonzero(labels | _implied(labels, concepts.part_of | usual))
    shows[image[row], concept] = True

    for name, parts in (("parts dropped, by the lexicon", concepts.part_of), ("parts dropped, by annotation", usual)):
        labels &= ~_implied(labels, parts)
        steps.append(_step(name, labels))
    coordinates = np.broadcast_to(table.triplet_coordinates, (len(table),))[first]
    humans, objects = (
        converted(boxes[first], coordinates, CommonCoordinates.EDGES)
        for boxes in (table.human_boxes, table.object_boxes)
    )
    labels[np.minimum(_area(humans), _area(objects)) < how.smallest] = False
    steps.append(_step(f"boxes under {how.smallest:g} square pixels dropped", labels))
    labels[labels.sum(axis=1) > 1] = False
    steps.append(_step("regions with several labels dropped", labels))

    kept, concept = np.nonzero(labels)
    actions = sorted(set(concepts.actions))
    number = {name: place for place, name in enumerate(actions)}
    regions = Regions(
        images=table.images,
        image=image[kept],
        crops=_crops(humans[kept], objects[kept], table.sizes[image[kept]]),
        human_boxes=humans[kept],
        object_boxes=objects[kept],
        verb=np.array([number[concepts.actions[c]] for c in concept.tolist()], np.int32),
        object=concepts.object[concept],
        verbs=tuple(actions),
        objects=classes.objects,
    )
    return Curated(regions, concept.astype(np.int32), concepts, shows, tuple(steps))


def without(found: Curated, concepts: Mask, name: str) -> Curated:
    """Leave out the regions of some concepts, (C,) True, as one more step; what images show stays."""
    keep = ~concepts[found.concept]
    columns: dict[str, Any] = {
        field: getattr(found.regions, field)[keep]
        for field in ("image", "crops", "human_boxes", "object_boxes", "verb", "object")
    }
    concept = found.concept[keep]
    step = Step(name, len(np.unique(concept)), len(concept), len(concept))
    return replace(found, regions=replace(found.regions, **columns), concept=concept, steps=(*found.steps, step))


def _step(name: str, labels: NDArray[np.bool_]) -> Step:
    return Step(name, int(labels.any(axis=0).sum()), int(labels.any(axis=1).sum()), int(labels.sum()))


def _implied(labels: Mask, parts: Mask) -> Mask:
    """(regions, C) concepts that are part of one of the region's."""
    from scipy.sparse import csr_array

    return np.asarray((csr_array(labels.astype(np.int32)) @ csr_array(parts.T.astype(np.int32))).todense()) > 0


def _area(boxes: Floats) -> Floats:
    return np.asarray((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]))


def _crops(humans: Floats, objects: Floats, sizes: Ints) -> Floats:
    """The crop of both boxes with a margin, inside the image as far as its size is known."""
    low, high = np.minimum(humans[:, :2], objects[:, :2]), np.maximum(humans[:, 2:], objects[:, 2:])
    margin = _MARGIN * (high - low)
    edge = np.where(sizes > 0, sizes, np.inf)
    return np.hstack([np.maximum(np.floor(low - margin), 0), np.minimum(np.ceil(high + margin), edge)])
