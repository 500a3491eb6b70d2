"""Synthetic predictions, derived from real annotations with a seed. They say nothing about any real model.

``detector`` imitates what a two-stage detector writes: a pool of person and object boxes an image, every pair of them,
every verb that the object allows, the best ``per_image`` of these. ``vlm`` imitates what a vision-language model
writes: a few interactions an image in words of its own, mostly without a confidence; ``replies`` writes the same as raw
replies.
"""

import json
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import NO_INTERACTION, HoiClasses
from shoe.benchmarks.truth import GroundTruth
from shoe.core.boxes import CommonCoordinates, convert_boxes
from shoe.core.interactions import Interactions, concatenate

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Record = dict[str, Any]
Wording = Callable[[str, str, str, np.random.Generator], tuple[Record, tuple[str, str]]]
"""Says a verb, of which the gerund is given too, and an object: what of it stands in a record, and both in words."""
T = TypeVar("T")

POOL = 10
"""Boxes of people, and as many of objects, that the detector reports an image."""
_FOUND = 0.88
_COPIED = 0.3
_MISLABELLED = 0.2
_IMAGES_AT_ONCE = 1000
_UNKNOWN_SIZE = (640, 480)

_PARAPHRASES = Path(__file__).parent / "paraphrases.txt"
_KINDS = ("label", "same", "broader", "near")
_VERB_KINDS = (0.45, 0.33, 0.08, 0.14)
_OBJECT_KINDS = (0.6, 0.25, 0.08, 0.07)
_TEMPLATES = (
    "{verb} {a} {object}",
    "{verb} {object}",
    "{verb} the {object}",
    "a man is {verb} {a} {object}",
    "The woman is {verb} her {object}",
    "a person {verb} the {object}",
    "Two people are {verb} {a} {object}.",
)
_CONFIDENCES = (0.9, 0.95, 0.8, 1.0, 0.7)
_MOST_ANSWERS = 10


def detector(truth: GroundTruth, rng: np.random.Generator, per_image: int = 100) -> Interactions:
    """Make detector-like predictions: continuous 0-based boxes, scores that go along with being right, a long tail.

    Args:
        truth: real annotations.
        rng: all chance comes from here; equal generators give equal predictions.
        per_image: triplets of every image, at most 300; best first.
    """
    prior = np.log(truth.triplets_per_class + 1.0)
    spread = np.where(truth.classes.of >= 0, (prior - prior.mean())[truth.classes.of], 0.0)
    starts = range(0, len(truth.interactions.images), _IMAGES_AT_ONCE)
    images = np.arange(len(truth.interactions.images))
    parts = [
        _detect(
            truth.interactions.select_images(images[i : i + _IMAGES_AT_ONCE]), truth.classes, spread, rng, per_image
        )
        for i in starts
    ]
    return concatenate(parts)


def _detect(
    table: Interactions, classes: HoiClasses, spread: Floats, rng: np.random.Generator, per_image: int
) -> Interactions:
    image, images = table.image, len(table.images)
    sizes = _sizes(table)
    gt_humans, gt_objects = _edges(table, table.human_boxes), _edges(table, table.object_boxes)
    person = np.zeros(len(table), np.int32)
    humans, _, human_sure = _pool(image, gt_humans, person, 1, sizes, rng)
    objects, category, object_sure = _pool(image, gt_objects, table.object, len(classes.objects), sizes, rng)

    allowed = _allowed_verbs(classes)
    pairs = (images, POOL, POOL)
    candidates = allowed[category]  # (images, POOL, verbs)
    slot = np.argmax(allowed[table.object] == table.verb[:, None], axis=1)
    human_hit = _iou(humans[image], gt_humans[:, None]) >= 0.5
    object_hit = (_iou(objects[image], gt_objects[:, None]) >= 0.5) & (category[image] == table.object[:, None])
    row, h, o = np.nonzero(human_hit[:, :, None] & object_hit[:, None, :])
    right = np.zeros((*pairs, allowed.shape[1]), bool)
    right[image[row], h, o, slot[row]] = True

    common = spread[candidates, category[..., None]][:, None]
    logit = rng.normal(-4.6, 1.3, right.shape) + 0.6 * common + 1.8 * right.any(axis=3, keepdims=True)
    logit += np.where(right, rng.normal(0.3, 1.6, right.shape) + 0.7 * common, 0.0)
    score = _sigmoid(logit) * human_sure[:, :, None, None] * object_sure[:, None, :, None]
    score[np.broadcast_to(candidates[:, None] < 0, score.shape)] = -1.0

    flat = score.reshape(images, -1)
    best = np.argsort(-flat, axis=1, kind="stable")[:, :per_image]
    h, o, v = np.unravel_index(best.ravel(), right.shape[1:])
    of_image = np.repeat(np.arange(images), per_image)
    return Interactions.from_columns(
        images=table.images,
        image=of_image,
        human_boxes=_single(humans[of_image, h]),
        object_boxes=_single(objects[of_image, o]),
        verb=candidates[of_image, o, v],
        object=category[of_image, o],
        verbs=classes.verbs,
        objects=classes.objects,
        score=_single(np.take_along_axis(flat, best, axis=1).ravel()),
        sizes=table.sizes,
    )


def _pool(
    image: Ints, boxes: Floats, label: Ints, labels: int, sizes: Floats, rng: np.random.Generator
) -> tuple[Floats, Ints, Floats]:
    """Make the boxes of one kind: (images, POOL, 4), their labels and confidences (images, POOL)."""
    shape = (len(sizes), POOL)
    distinct = np.unique(np.column_stack([image, label, boxes]), axis=0)
    distinct = distinct[np.lexsort((rng.random(len(distinct)), distinct[:, 0]))]
    start = np.searchsorted(distinct[:, 0], np.arange(len(sizes) + 1))
    count = np.diff(start)[:, None]
    place = np.arange(POOL)
    first_look = place < count
    copy = ~first_look & (count > 0) & (rng.random(shape) < _COPIED)
    seen = copy | (first_look & (rng.random(shape) < _FOUND))
    source = start[:-1, None] + np.where(first_look, place, (rng.random(shape) * count).astype(np.int64))
    source = np.where(seen, source, 0)
    if not len(distinct):
        distinct = np.zeros((1, 6))

    blur = np.where(rng.random(shape) < 0.7, 0.065, 0.18) * rng.lognormal(0.0, 0.5, shape)
    shown = _jittered(distinct[source, 2:], blur, rng)
    made = np.where(seen[..., None], shown, _random_boxes(shape, sizes, rng))
    frequent = distinct[rng.integers(len(distinct), size=shape), 1]
    other = np.where(rng.random(shape) < 0.5, frequent, rng.integers(labels, size=shape))
    kept = seen & (rng.random(shape) >= _MISLABELLED)
    sure = _sigmoid(np.where(seen, rng.normal(2.4, 0.9, shape) - 9 * blur, rng.normal(-1.6, 1.2, shape)))
    return _inside(made, sizes[:, None]), np.where(kept, distinct[source, 1], other).astype(np.int32), sure


def vlm(truth: GroundTruth, rng: np.random.Generator) -> list[Record]:
    """Make records of the VLM JSON Lines form: free words, integer boxes, seldom a confidence.

    Args:
        truth: real annotations.
        rng: all chance comes from here; equal generators give equal records.

    Returns:
        At most ten records an image, grouped by image; some images have none. A record has ``verb`` and ``object``, or
        ``phrase`` instead of both.
    """
    return [record for record, _ in _answers(truth, rng, _wording)]


def replies(
    truth: GroundTruth, rng: np.random.Generator, forms: int = 2, *, in_class_words: bool = False
) -> list[Record]:
    """Make raw replies with the content of ``vlm``, in several forms by turns, one record an image.

    InternVL marks words and boxes in a text; Gemini's fence holds JSON with y before x; the recommended prompt is
    answered by one object; a list may hold each person once. All boxes are in thousandths.

    Args:
        truth: real annotations.
        rng: as for ``vlm``.
        forms: how many of these forms, 1 to 4.
        in_class_words: whether all words are those of the classes.
    """
    size = dict(zip(truth.interactions.images, _sizes(truth.interactions).tolist(), strict=True))
    told: dict[str, list[tuple[Record, str, str]]] = {name: [] for name in size}
    for record, (verb, object_) in _answers(truth, rng, _in_class_words if in_class_words else _wording):
        scale = 1000 / np.tile(size[record["image"]], 2)
        boxes = {key: np.round(record[key] * scale).astype(int).tolist() for key in ("human_box", "object_box")}
        told[record["image"]].append((record | boxes, verb, object_))
    write = (_in_marks, _in_a_fence, _as_asked, _by_person)[:forms]
    return [{"image": name, "response": write[i % forms](said)} for i, (name, said) in enumerate(told.items())]


def _in_marks(told: list[tuple[Record, str, str]]) -> str:
    marked = "<ref>{}</ref><box>[{}]</box>"
    lines = [
        f"{marked.format('person', record['human_box'])} {verb} {marked.format(object_, record['object_box'])}"
        for record, verb, object_ in told
    ]
    return "\n".join(lines) or "There is no person in this image."


def _in_a_fence(told: list[tuple[Record, str, str]]) -> str:
    items = []
    for record, verb, object_ in told:
        person, thing = ([b[1], b[0], b[3], b[2]] for b in (record["human_box"], record["object_box"]))
        items.append(
            {
                "person": {"box_2d": person, "label": "person"},
                "action": record.get("phrase", verb),
                "object": {"box_2d": thing, "label": object_},
            }
        )
    return f"```json\n{json.dumps(items)}\n```"


def _as_asked(told: list[tuple[Record, str, str]]) -> str:
    items = [{key: value for key, value in record.items() if key != "image"} for record, _, _ in told]
    return json.dumps({"interactions": items})


def _by_person(told: list[tuple[Record, str, str]]) -> str:
    items = [
        {
            "person": {"bbox": record["human_box"]},
            "interactions": [{"verb": verb, "object": object_, "bbox": record["object_box"]}],
        }
        for record, verb, object_ in told
    ]
    return f"Here is what I see:\n\n```json\n{json.dumps(items, indent=2)}\n```\nLet me know if you need more."


def _answers(truth: GroundTruth, rng: np.random.Generator, wording: Wording) -> list[tuple[Record, tuple[str, str]]]:
    """The records of ``vlm``, each with its verb and its object in words."""
    table, classes = truth.interactions, truth.classes
    idle = np.isin(table.verb, [i for i, verb in enumerate(classes.verbs) if verb == NO_INTERACTION])
    told = np.flatnonzero(rng.random(len(table)) < np.where(idle, 0.1, 0.6))
    told = np.sort(np.concatenate([told, told[rng.random(len(told)) < 0.04]]))  # some answers come twice
    invented = np.flatnonzero(rng.random(len(table.images)) < 0.2)
    image = np.concatenate([table.image[told], invented])
    wrong = rng.integers(len(classes), size=len(invented))
    verb = np.concatenate([_misread(classes, table.verb[told], table.object[told], rng), classes.verb[wrong]])
    object_ = np.concatenate([table.object[told], classes.object[wrong]])
    blur = np.where(rng.random((2, len(told))) < 0.7, 0.05, 0.16)
    sizes = _sizes(table)
    boxes = []
    for column, b in ((table.human_boxes, blur[0]), (table.object_boxes, blur[1])):
        seen = _jittered(_edges(table, column)[told], b, rng)
        made = np.concatenate([seen, _random_boxes((len(invented), 1), sizes[invented], rng)[:, 0]])
        boxes.append(np.round(_inside(made, sizes[image])).astype(int).tolist())

    order = np.argsort(image, kind="stable")
    place = np.arange(len(order)) - np.searchsorted(image[order], image[order])
    confident = rng.random(len(table.images)) < 0.3
    records = []
    for i in order[place < _MOST_ANSWERS].tolist():
        record: Record = {"image": table.images[image[i]], "human_box": boxes[0][i], "object_box": boxes[1][i]}
        said, words = wording(classes.verbs[verb[i]], classes.gerunds[verb[i]], classes.objects[object_[i]], rng)
        record |= said
        if confident[image[i]]:
            record["score"] = _choose(_CONFIDENCES, rng)
        records.append((record, words))
    return records


def _misread(classes: HoiClasses, verb: Ints, object_: Ints, rng: np.random.Generator) -> Ints:
    """Exchange every eighth verb for another one that the object allows."""
    choices = _allowed_verbs(classes)[object_]
    pick = (rng.random(len(verb)) * (choices >= 0).sum(axis=1)).astype(np.int64)
    return np.where(rng.random(len(verb)) < 0.125, choices[np.arange(len(verb)), pick], verb).astype(np.int32)


def _wording(verb: str, gerund: str, object_: str, rng: np.random.Generator) -> tuple[Record, tuple[str, str]]:
    kind = _KINDS[rng.choice(4, p=_VERB_KINDS)]
    spoken = _choose((verb, gerund), rng) if kind == "label" else _choose(paraphrases()["verb", verb][kind], rng)
    kind = _KINDS[rng.choice(4, p=_OBJECT_KINDS)]
    named = object_ if kind == "label" else _choose(paraphrases()["object", object_][kind], rng)
    if rng.random() < 0.5 or spoken == NO_INTERACTION:
        named = named.replace("_", _choose(("_", " "), rng))
        return {"verb": spoken, "object": named}, (spoken, named)
    named, spoken = named.replace("_", " "), (gerund if spoken == verb else spoken).replace("_", " ")
    article = "an" if named[0] in "aeioAEIO" else "a"
    phrase = _choose(_TEMPLATES, rng).format(verb=spoken, object=named, a=article)
    return {"phrase": phrase}, (spoken, named)


def _in_class_words(verb: str, _: str, object_: str, __: np.random.Generator) -> tuple[Record, tuple[str, str]]:
    return {"verb": verb, "object": object_}, (verb, object_)


@cache
def paraphrases() -> dict[tuple[str, str], dict[str, list[str]]]:
    """Load the table: (part, label) to the phrases of each kind: same, broader, near."""
    lines = [line for line in _PARAPHRASES.read_text("utf-8").splitlines() if not line.startswith("#")]
    rows = [line.split("; ") for line in lines]
    return {(r[0], r[1]): {kind: r[2 + i].split("|") for i, kind in enumerate(_KINDS[1:])} for r in rows}


def _choose(choices: Sequence[T], rng: np.random.Generator) -> T:
    return choices[int(rng.integers(len(choices)))]


@cache
def _allowed_verbs(classes: HoiClasses) -> Ints:
    """(objects, most verbs of an object) the verbs of each object, -1 where there are no more."""
    allowed = np.full((len(classes.objects), int((classes.of >= 0).sum(axis=0).max())), -1, np.int32)
    for number, column in enumerate((classes.of >= 0).T):
        verbs = np.flatnonzero(column)
        allowed[number, : len(verbs)] = verbs
    return allowed


def _sizes(table: Interactions) -> Floats:
    return np.where(table.sizes > 0, table.sizes, _UNKNOWN_SIZE).astype(np.float64)


def _edges(table: Interactions, boxes: Floats) -> Floats:
    return convert_boxes(boxes, table.triplet_coordinates, CommonCoordinates.EDGES)


def _jittered(boxes: Floats, blur: Floats, rng: np.random.Generator) -> Floats:
    """Move the four sides by normal steps, ``blur`` times the box's width or height in size."""
    extent = boxes[..., 2:] - boxes[..., :2]
    step = rng.normal(0.0, 1.0, boxes.shape) * blur[..., None]
    moved: Floats = boxes + step * np.concatenate([extent, extent], axis=-1)
    return moved


def _random_boxes(shape: tuple[int, int], sizes: Floats, rng: np.random.Generator) -> Floats:
    """(images, n, 4) boxes anywhere in the images, a tenth to four fifths of their width and height."""
    extent = rng.uniform(0.1, 0.8, (*shape, 2))
    corner = rng.random((*shape, 2)) * (1 - extent)
    return np.concatenate([corner, corner + extent], axis=-1) * np.tile(sizes, 2)[:, None]


def _inside(boxes: Floats, sizes: Floats) -> Floats:
    """Cut boxes to their image, and keep them at least two pixels wide and high."""
    low = np.clip(np.minimum(boxes[..., :2], boxes[..., 2:] - 2), 0, sizes - 2)
    high = np.clip(boxes[..., 2:], low + 2, sizes)
    return np.concatenate([low, high], axis=-1)


def _single(numbers: Floats) -> Floats:
    """The nearest number of single precision: what a network computes, and writes with all its digits."""
    return numbers.astype(np.float32).astype(np.float64)


def _iou(a: Floats, b: Floats) -> Floats:
    overlap = np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])
    shared: Floats = overlap.clip(0).prod(axis=-1)
    union = (a[..., 2:] - a[..., :2]).prod(axis=-1) + (b[..., 2:] - b[..., :2]).prod(axis=-1) - shared
    return np.asarray(shared / union, np.float64)


def _sigmoid(x: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-x)), np.float64)
