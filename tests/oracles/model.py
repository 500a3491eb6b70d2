"""Scenes as plain data: what the oracles read, and the way from and to the project's tables."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from shoe.benchmarks.base import ImageLabel
from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.truth import GroundTruth
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from tests.oracles.boxes import Box


@dataclass(frozen=True, slots=True)
class Triplet:
    human_box: Box
    object_box: Box
    verb: str
    object: str
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Truth:
    """A ground truth in the coordinates in which an oracle compares; ``row`` is its row in the scene."""

    row: int
    hoi: int
    verb: str
    noun: str
    human: Box
    object: Box


@dataclass(slots=True)
class ImageScene:
    """One image; boxes are the numbers of their files.

    ``known`` is False for an image that only the predictions have. ``labels`` are the classes that the image-level
    annotation names; None where there is no such annotation.
    """

    name: str
    truth: list[Triplet] = field(default_factory=list)
    predictions: list[Triplet] = field(default_factory=list)
    truth_coordinates: Coordinates = Coordinates.PIXELS_1
    prediction_coordinates: Coordinates = Coordinates.CONTINUOUS
    size: tuple[int, int] = (0, 0)
    known: bool = True
    labels: frozenset[int] | None = None


def class_words(classes: HoiClasses) -> list[tuple[str, str]]:
    return [(classes.verbs[v], classes.objects[o]) for v, o in zip(classes.verb, classes.object, strict=True)]


def from_tables(truth: GroundTruth, predictions: Interactions) -> list[ImageScene]:
    """Read tables: images in the order of the truth, then those that only the predictions have, in theirs."""
    table = truth.interactions
    scenes = {}
    for i, (name, triplets) in enumerate(zip(table.images, _triplets(table), strict=True)):
        scene = scenes[name] = ImageScene(name, triplets, size=_size(table, i))
        scene.truth_coordinates = Coordinates(int(table.coordinates[i]))
        if truth.image_labels is not None:
            scene.labels = frozenset(np.flatnonzero(truth.image_labels[:, i] == ImageLabel.YES).tolist())
    for i, (name, triplets) in enumerate(zip(predictions.images, _triplets(predictions), strict=True)):
        scene = scenes.setdefault(name, ImageScene(name, size=_size(predictions, i), known=name in scenes))
        scene.predictions = triplets
        scene.prediction_coordinates = Coordinates(int(predictions.coordinates[i]))
    return list(scenes.values())


def to_tables(
    scenes: Sequence[ImageScene], classes: HoiClasses, prediction_order: Sequence[int] | None = None
) -> tuple[GroundTruth, Interactions]:
    """Write tables. An image without predictions is left out of the predictions, as most files leave it out."""
    # ``prediction_order`` lists the scenes in the order in which the prediction file has their images.
    known = [scene for scene in scenes if scene.known]
    labels = None
    if any(scene.labels is not None for scene in known):
        labels = np.full((len(classes), len(known)), ImageLabel.NO, np.int8)
        for i, scene in enumerate(known):
            labels[sorted(scene.labels or ()), i] = ImageLabel.YES
    truth = _table([(s, s.truth, s.truth_coordinates) for s in known], classes.verbs, classes.objects)
    ordered = scenes if prediction_order is None else [scenes[i] for i in prediction_order]
    predicted = [(s, s.predictions, s.prediction_coordinates) for s in ordered if s.predictions or not s.known]
    # Words in order of first appearance: a vocabulary that is nobody's class list.
    verbs = tuple(dict.fromkeys(t.verb for _, triplets, _ in predicted for t in triplets))
    objects = tuple(dict.fromkeys(t.object for _, triplets, _ in predicted for t in triplets))
    return GroundTruth(truth, classes, "test2015", labels), _table(predicted, verbs, objects)


def _size(table: Interactions, image: int) -> tuple[int, int]:
    width, height = table.sizes[image].tolist()
    return width, height


def _triplets(table: Interactions) -> list[list[Triplet]]:
    columns = table.human_boxes, table.object_boxes, table.verb, table.object, table.score
    rows = [
        Triplet(tuple(human), tuple(thing), table.verbs[v], table.objects[o], score)
        for human, thing, v, o, score in zip(*(column.tolist() for column in columns), strict=True)
    ]
    return [rows[start:end] for start, end in pairwise(table.offsets.tolist())]


def _table(
    images: Sequence[tuple[ImageScene, list[Triplet], Coordinates]], verbs: tuple[str, ...], objects: tuple[str, ...]
) -> Interactions:
    rows = [t for _, triplets, _ in images for t in triplets]
    verb_index, object_index = ({word: i for i, word in enumerate(words)} for words in (verbs, objects))
    return Interactions.from_columns(
        images=[scene.name for scene, _, _ in images],
        image=[i for i, (_, triplets, _) in enumerate(images) for _ in triplets],
        human_boxes=[t.human_box for t in rows],
        object_boxes=[t.object_box for t in rows],
        verb=[verb_index[t.verb] for t in rows],
        object=[object_index[t.object] for t in rows],
        verbs=verbs,
        objects=objects,
        score=[t.score for t in rows],
        sizes=np.array([scene.size for scene, _, _ in images], np.int32).reshape(-1, 2),
        coordinates=np.array([kind for _, _, kind in images], np.uint8),
    )
