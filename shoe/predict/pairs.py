"""Which persons and objects make the pairs that are asked about: rules with names, each choice of which can be changed.

A pair that is not asked about can never be right: :func:`ceiling` says how many true pairs a rule leaves within reach.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Literal

import msgspec
import numpy as np
from msgspec import Meta
from numpy.typing import NDArray

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.errors import unknown_name
from shoe.core.interactions import Interactions
from shoe.core.iou import Overlap, iou
from shoe.diagnosis.localisation import PairFigures, PairRules, localise, pair_figures
from shoe.matching.nms import greedily_kept
from shoe.predict.names import PERSON
from shoe.predict.records import Detected, Pair, Paired
from shoe.predictions.pair_predictions import NO_VERB, Pairs

_MANY = 1_000_000
_Count = Annotated[int, Meta(ge=0, le=_MANY)]
_Share = Annotated[float, Meta(ge=0, le=1)]


class PairRule(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which detections make pairs; the defaults keep all.

    Attributes:
        nms: of two boxes with one label that overlap by more than this IoU, the one with the lower score goes first.
        min_score: detections with a lower score make no pair.
        at_least: so many persons, and so many others, with the best scores make pairs all the same.
        persons: at most so many persons of a picture.
        persons_by: which of them: those with the best scores, or the largest.
        objects: at most so many others, by score.
        person_objects: whether a person may be the object of another one.
        gap: at most so many pixels between the two boxes, as a share of the person's longer side; 0: they touch.
        pairs: at most so many pairs of a picture, by the product of both scores.
    """

    nms: _Share = 1.0
    min_score: _Share = 0.0
    at_least: _Count = 0
    persons: _Count = _MANY
    persons_by: Literal["score", "area"] = "score"
    objects: _Count = _MANY
    person_objects: bool = True
    gap: Annotated[float, Meta(ge=0)] | None = None
    pairs: _Count = _MANY


RULES = {
    "all": PairRule(),
    "upt": PairRule(nms=0.5, min_score=0.2, at_least=3, persons=15, objects=15),
    "best": PairRule(persons=10, objects=10, nms=0.5),
    "few-large": PairRule(min_score=0.5, persons=3, persons_by="area", objects=10),
    "touching": PairRule(nms=0.5, min_score=0.2, at_least=3, persons=15, objects=15, gap=0.0),
}
"""Rules by name."""
ABOUT = {
    "all": "every person with every other box",
    "upt": "as UPT, PViC and ADA-CM: NMS at 0.5, score of at least 0.2, 3 to 15 persons and 3 to 15 others, all pairs",
    "best": "the 10 persons and the 10 others with the best scores",
    "few-large": "as mllms-zs-hoi: score of at least 0.5, the 3 largest persons with the 10 best others",
    "touching": "as upt, where the two boxes touch",
}
USUAL = "upt"


def rule_named(name: str) -> PairRule:
    """Return a rule by name.

    Raises:
        OptionError: for an unknown name.
    """
    if name not in RULES:
        raise unknown_name("pair rule", name, RULES)
    return RULES[name]


def paired(detected: Detected, rule: PairRule) -> Paired:
    """Make the pairs of a picture, those with the highest product of scores first.

    Args:
        detected: its detections, labels being objects.
        rule: which of them make pairs.
    """
    found = detected.detections
    boxes = np.array([one.box for one in found], np.float64).reshape(-1, 4)
    score = np.array([one.score for one in found], np.float64)
    label = np.array([one.label for one in found], np.object_)
    left = _not_suppressed(boxes, score, label, rule.nms)
    is_person = label == PERSON
    size = (boxes[:, 2:] - boxes[:, :2]).prod(axis=1) if rule.persons_by == "area" else score
    persons = _kept(np.flatnonzero(left & is_person), score, size, rule, rule.persons)
    others = _kept(np.flatnonzero(left & ~is_person), score, score, rule, rule.objects)
    objects = np.concatenate([persons, others]) if rule.person_objects else others
    human, object_ = (index.ravel() for index in np.meshgrid(persons, objects, indexing="ij"))
    near = human != object_
    if rule.gap is not None:
        near &= _gaps(boxes[human], boxes[object_]) <= rule.gap
    human, object_ = human[near], object_[near]
    best = np.argsort(-(score[human] * score[object_]), kind="stable")[: rule.pairs]
    pairs = [
        Pair(found[h].box, found[o].box, found[o].label, found[h].score, found[o].score)
        for h, o in zip(human[best].tolist(), object_[best].tolist(), strict=True)
    ]
    return Paired(
        image=detected.image,
        digest=detected.digest,
        width=detected.width,
        height=detected.height,
        pairs=tuple(pairs),
    )


def ceiling(paired: Iterable[Paired], truth: GroundTruth, pairs: Literal["index", "merged"] = "index") -> PairFigures:
    """Say which true pairs are within reach: on the pictures that were paired, whatever is answered.

    Args:
        paired: the pairs of pictures.
        truth: what is so.
        pairs: when two pairs of the ground truth are one; see :class:`~shoe.diagnosis.localisation.PairRules`.

    Raises:
        InputError: when no picture is of the ground truth.
    """
    records = list(paired)
    rows = [(number, pair) for number, record in enumerate(records) for pair in record.pairs]
    objects = list(dict.fromkeys(pair.object for _, pair in rows))
    table = Interactions.from_columns(
        images=[record.image for record in records],
        image=[number for number, _ in rows],
        human_boxes=np.array([pair.human_box for _, pair in rows], np.float64).reshape(-1, 4),
        object_boxes=np.array([pair.object_box for _, pair in rows], np.float64).reshape(-1, 4),
        verb=np.zeros(len(rows), np.int32),
        object=[objects.index(pair.object) for _, pair in rows],
        verbs=[NO_VERB],
        objects=objects,
        source="pairs",
    )
    return pair_figures(localise(Pairs(table), truth.within(table.images), PairRules(pairs=pairs)))


def _not_suppressed(boxes: Floats, score: Floats, label: NDArray[np.object_], most: float) -> Mask:
    """(n,) which boxes are left: none lies over another one of its label with a higher score that is left."""
    order = np.argsort(-score, kind="stable")
    later, earlier = np.tril_indices(len(order), -1)
    same = label[order[later]] == label[order[earlier]]
    later, earlier = later[same], earlier[same]
    close = iou(boxes[order[later]], boxes[order[earlier]], Overlap.CONTINUOUS) > most
    left = np.zeros(len(order), bool)
    left[order[greedily_kept(later[close], earlier[close], np.arange(len(order)))]] = True
    return left


def _kept(rows: Indices, score: Floats, rank: Floats, rule: PairRule, most: int) -> Indices:
    """The rows with a sufficient score, or the best of too few; of too many those that rank highest."""
    enough = rows[score[rows] >= rule.min_score]
    if len(enough) < rule.at_least:
        return rows[np.argsort(-score[rows], kind="stable")[: rule.at_least]]
    return enough[np.argsort(-rank[enough], kind="stable")[:most]]


def _gaps(humans: Floats, objects: Floats) -> Floats:
    """(n,) pixels between two boxes, along the axis on which they are further apart, over the human's longer side."""
    apart = np.maximum(humans[:, :2], objects[:, :2]) - np.minimum(humans[:, 2:], objects[:, 2:])
    longer = (humans[:, 2:] - humans[:, :2]).max(axis=1)
    return np.asarray(np.maximum(apart.max(axis=1), 0) / longer)
