"""Agreement of predictions with the annotations: how many boxes, pairs and words of a sample are as annotated.

A score far from the expected one has its cause where the agreement drops: at one kind of box, at pairs or at words.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Indices, Mask, best_of_each, expand, mask_of
from shoe.core.boxes import CommonCoordinates, Overlap, convert_boxes, iou
from shoe.core.interactions import Interactions
from shoe.lexicon.resolve import match_labels
from shoe.lexicon.senses import Part
from shoe.predictions.boxes.check import shared_images

_IMAGES, _OF_IMAGE, _HIT = 2000, 6, 0.5


class Sample(NamedTuple):
    """The best predictions of a sample of images, compared with the annotated triplets of their images.

    ``rows`` are the (r,) sampled predictions. ``row`` and ``annotated`` are the (n,) predictions and annotations of all
    pairs of one image; ``human`` and ``target`` are (n,) masks of the pairs whose human or object boxes overlap.
    """

    rows: Indices
    row: Indices
    annotated: Indices
    human: Mask
    target: Mask

    @property
    def both(self) -> tuple[Indices, Indices]:
        """The predictions and annotations of the pairs in which both boxes overlap with IoU >= 0.5."""
        return self.row[self.human & self.target], self.annotated[self.human & self.target]


def sample_pairs(predictions: Interactions, truth: Interactions) -> Sample:
    """Return the six best-scored predictions of at most 2,000 images, drawn with a fixed seed, with annotations."""
    truth_image, both = shared_images(predictions, truth)
    chosen = np.random.default_rng(0).permutation(both)[:_IMAGES]
    chosen.sort()
    owner, rows = expand(predictions.offsets[chosen], np.diff(predictions.offsets)[chosen])
    best = best_of_each(owner, predictions.score[rows], _OF_IMAGE)
    rows, partner = rows[best], truth_image[chosen[owner[best]]]
    owner, annotated = expand(truth.offsets[partner], np.diff(truth.offsets)[partner])
    row = rows[owner]

    def overlaps(part: str) -> Mask:
        boxes = [
            convert_boxes(getattr(each, part)[at], each.coordinates[each.image[at]], CommonCoordinates.EDGES)
            for each, at in ((predictions, row), (truth, annotated))
        ]
        return np.asarray(iou(boxes[0], boxes[1], Overlap.CONTINUOUS) >= _HIT)

    return Sample(rows, row, annotated, overlaps("human_boxes"), overlaps("object_boxes"))


def agreement(predictions: Interactions, truth: GroundTruth, sample: Sample | None = None) -> dict[str, float]:
    """Return the fractions of sampled predictions that agree with an annotation of their image; {} without a sample.

    "human boxes", "object boxes" and "pairs" are fractions of the sampled predictions (:func:`sample_pairs`): one box
    or, for a pair, both boxes overlap those of an annotation with IoU >= 0.5. "objects" and "verbs" are fractions of
    these pairs: the word is the label of such an annotation. Without object words, "objects" is left out. ``sample`` is
    the result of :func:`sample_pairs`, computed if None.
    """
    annotations = truth.interactions
    sample = sample or sample_pairs(predictions, annotations)
    row, annotated = sample.both
    if not len(sample.rows):
        return {}

    def share(rows: Indices, of: Indices) -> float:
        return float(mask_of(rows, len(predictions))[of].mean())

    found = {
        "human boxes": share(sample.row[sample.human], sample.rows),
        "object boxes": share(sample.row[sample.target], sample.rows),
        "pairs": share(row, sample.rows),
    }
    parts: tuple[tuple[str, Part], ...] = (("objects", "object"), ("verbs", "verb"))
    for name, part in parts[predictions.objects == ("",) :] if len(row) else ():  # V-COCO's files may have no objects
        label = match_labels(getattr(predictions, name), getattr(annotations, name), part)
        agrees = label[getattr(predictions, part)[row]] == getattr(annotations, part)[annotated]
        found[name] = share(row[agrees], np.unique(row))
    return found


def agreement_line(shares: Mapping[str, float]) -> str:
    """Return a report line on the fractions that :func:`agreement` returns; "" without any."""
    told = [f"{share:.0%} of {name}" for name, share in shares.items()]
    line = f"as annotated (best {_OF_IMAGE} per image): {', '.join(told[:3])}" if told else ""
    return f"{line}; of these pairs {', '.join(told[3:])}" if told[3:] else line
