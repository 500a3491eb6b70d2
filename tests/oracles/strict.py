"""The strict protocols of HICO-DET, one prediction at a time, as protocols.md sections 0.3, 1, 2, 3, 5 and 8 tell them.

Choices that the text leaves open:

- Equal scores keep the order of the ground truth's images, then of an image's rows; THID reverses exactly that order.
- Images that the ground truth does not list are left out before anything else.
- A predicted word is a class's word only if both are equal as strings; a pair of words that is no class is no class
  (it still takes its place among the 100 of an image).
- A class is in the means if the protocol's images hold ground truth of it. THID alone keeps all 520 and gives a class
  without ground truth 0, which its section states.
- GEN-VLKT's first-position bug looks at all rows of the image, and acts on images with fewer than 100 rows too.
- Diag: ``bugs=False`` counts a class without true positives as 0; that a class without predictions is in the full mean
  only holds either way. The mean of recalls is over the classes of the full mean.
- Known object: ground truth outside the images kept still counts (npos is unchanged).
- IoU of boxes of which one has no area (pixel indices read as edges) is 0.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypedDict

from shoe.benchmarks.classes import HoiClasses
from tests.oracles.average_precision import Grid, eleven_point, mean
from tests.oracles.boxes import Box, Compared, iou_continuous, iou_pixels, iou_pixels_strict, moved
from tests.oracles.model import ImageScene, Triplet, class_words

Protocol = Literal["hico-det", "hico-det-known-object", "ppdm", "qpic", "gen-vlkt", "upt", "thid", "diag"]
_RULES: dict[Protocol, tuple[Compared, Grid]] = {
    "hico-det": ("indices", "linspace"),  # Matlab counts 0:0.1:1 from both ends, as torch's linspace
    "hico-det-known-object": ("indices", "linspace"),
    "ppdm": ("indices", "arange"),
    "qpic": ("raw", "arange"),
    "gen-vlkt": ("raw", "arange"),
    "upt": ("edges", "linspace"),
    "thid": ("raw", "exact"),
    "diag": ("raw", "arange"),
}
PROTOCOLS: tuple[Protocol, ...] = tuple(_RULES)
_TOP = 100
_MOST_PER_CLASS = 19_999

Iou = Callable[[Box, Box], float]
Outcomes = dict[int, list[tuple[float, int]]]
"""Per class: score, and 1 for a true or 0 for a false positive, in the order in which the protocol meets them."""


class StrictFigures(TypedDict):
    map: float | None
    map_rare: float | None
    map_non_rare: float | None
    max_recall: float | None
    ap: list[float | None]
    recall: list[float | None]


@dataclass(slots=True)
class _Row:
    """A triplet in the coordinates of the protocol; ``hoi`` is -1 for words that are no class."""

    hoi: int
    human: Box
    object: Box
    score: float


@dataclass(slots=True)
class _Image:
    truth: list[_Row]
    predictions: list[_Row]
    labels: frozenset[int] | None


def strict(
    scenes: Iterable[ImageScene], classes: HoiClasses, protocol: Protocol, bugs: bool = True, grid: Grid | None = None
) -> StrictFigures:
    """Score scenes under one protocol; what is absent is None.

    ``bugs`` does what the reference does where that is a bug (qpic, gen-vlkt, diag); ``grid`` replaces the protocol's.
    """
    words = class_words(classes)
    numbers = {pair: k for k, pair in enumerate(words)}
    coordinates, usual_grid = _RULES[protocol]
    images = [_image(scene, numbers, coordinates) for scene in scenes if scene.known]
    no_interaction = {k for k, (verb, _) in enumerate(words) if verb == "no_interaction"}
    if protocol == "upt":
        images = [image for image in images if image.truth]
    if protocol == "diag":
        for image in images:
            image.truth = [row for row in image.truth if row.hoi not in no_interaction]
            image.predictions = [row for row in image.predictions if row.hoi not in no_interaction]
        images = [image for image in images if image.truth]

    truths = [0] * len(words)
    for image in images:
        for row in image.truth:
            truths[row.hoi] += 1

    if protocol == "hico-det":
        outcomes = _class_by_class(images, iou_pixels)
    elif protocol == "hico-det-known-object":
        outcomes = _class_by_class(_known_object(images, words), iou_pixels)
    elif protocol == "qpic":
        outcomes = _image_by_image([image for image in images if image.truth or not bugs], truths, _top)
    elif protocol == "gen-vlkt":
        outcomes = _image_by_image(images, truths, _first_with_each_value if bugs else _top)
    elif protocol == "upt":
        outcomes = _truth_by_truth(images)
    elif protocol == "thid":
        outcomes = _class_by_class(images, iou_continuous, ties_reversed=True, most=_MOST_PER_CLASS)
    else:  # ppdm and diag
        outcomes = _image_by_image(images, truths, _by_score)

    if protocol == "thid":
        averaged = {k for k in range(len(words)) if k not in no_interaction}
    else:
        averaged = {k for k, number in enumerate(truths) if number > 0}
    split = set(averaged)
    if protocol == "diag":
        split = {k for k in averaged if outcomes.get(k)}
        if bugs:
            fruitless = {k for k in split if not any(hit for _, hit in outcomes[k])}
            averaged -= fruitless
            split -= fruitless
    return _figures(outcomes, truths, averaged, split, classes.rare.tolist(), grid or usual_grid, protocol)


def _image(scene: ImageScene, numbers: dict[tuple[str, str], int], coordinates: Compared) -> _Image:
    def rows(triplets: list[Triplet], is_truth: bool) -> list[_Row]:
        kind = scene.truth_coordinates if is_truth else scene.prediction_coordinates
        return [
            _Row(
                numbers[t.verb, t.object] if is_truth else numbers.get((t.verb, t.object), -1),
                moved(t.human_box, kind, coordinates),
                moved(t.object_box, kind, coordinates),
                t.score,
            )
            for t in triplets
        ]

    return _Image(rows(scene.truth, True), rows(scene.predictions, False), scene.labels)


def _known_object(images: list[_Image], words: Sequence[tuple[str, str]]) -> list[_Image]:
    """Keep a prediction only in images whose ground truth, or labels where given, name its object in any class."""
    kept = []
    for image in images:
        named = {row.hoi for row in image.truth} if image.labels is None else image.labels
        objects = {words[k][1] for k in named}
        predictions = [row for row in image.predictions if row.hoi >= 0 and words[row.hoi][1] in objects]
        kept.append(replace(image, predictions=predictions))
    return kept


def _by_score(rows: list[_Row]) -> list[_Row]:
    return sorted(rows, key=lambda row: -row.score)


def _top(rows: list[_Row]) -> list[_Row]:
    return _by_score(rows)[:_TOP]


def _first_with_each_value(rows: list[_Row]) -> list[_Row]:
    """GEN-VLKT: the 100 largest values; the row of each value is the first that has it, however often it comes."""
    first: dict[float, _Row] = {}
    for row in rows:
        first.setdefault(row.score, row)
    values = sorted((row.score for row in rows), reverse=True)[:_TOP]
    return [first[value] for value in values]


def _best(prediction: _Row, truth: Sequence[tuple[int, _Row]], iou: Iou) -> tuple[int | None, float]:
    """The ground truth of largest pair IoU, of ties the first; None where all are 0."""
    best = None
    largest = 0.0
    for number, row in truth:
        pair = min(iou(prediction.human, row.human), iou(prediction.object, row.object))
        if pair > largest:
            best, largest = number, pair
    return best, largest


def _class_by_class(images: list[_Image], iou: Iou, ties_reversed: bool = False, most: int | None = None) -> Outcomes:
    """Official script and THID: rank a class's detections of all images, then walk down the ranking."""
    detections: dict[int, list[tuple[int, _Row]]] = {}
    truth: dict[tuple[int, int], list[tuple[int, _Row]]] = {}
    for i, image in enumerate(images):
        for row in image.predictions:
            if row.hoi >= 0:
                detections.setdefault(row.hoi, []).append((i, row))
        for number, row in enumerate(image.truth):
            truth.setdefault((i, row.hoi), []).append((number, row))
    outcomes: Outcomes = {}
    for k, found in detections.items():
        ranked = sorted(found, key=lambda each: -each[1].score)
        if ties_reversed:
            ranked = sorted(found, key=lambda each: each[1].score)[::-1]
        taken = set()
        outcomes[k] = []
        for i, row in ranked[:most]:
            best, overlap = _best(row, truth.get((i, k), []), iou)
            hit = best is not None and overlap >= 0.5 and (i, best) not in taken
            if hit:
                taken.add((i, best))
            outcomes[k].append((row.score, int(hit)))
    return outcomes


def _image_by_image(images: list[_Image], truths: list[int], pick: Callable[[list[_Row]], list[_Row]]) -> Outcomes:
    """PPDM and its descendants: rank an image's detections; of the truths that overlap enough, take the best pair."""
    outcomes: Outcomes = {}
    for image in images:
        taken = set()
        by_class: dict[int, list[tuple[int, _Row]]] = {}
        for number, row in enumerate(image.truth):
            by_class.setdefault(row.hoi, []).append((number, row))
        for row in pick(image.predictions):
            if row.hoi < 0 or truths[row.hoi] == 0:
                continue
            best, overlap = _best(row, by_class.get(row.hoi, []), iou_pixels_strict)
            hit = best is not None and overlap >= 0.5 and best not in taken
            if hit:
                taken.add(best)
            outcomes.setdefault(row.hoi, []).append((row.score, int(hit)))
    return outcomes


def _truth_by_truth(images: list[_Image]) -> Outcomes:
    """pocket: each detection belongs to its best truth if above 0.5; each truth's best-scored detection is true."""
    outcomes: Outcomes = {}
    for image in images:
        for k in {row.hoi for row in image.predictions if row.hoi >= 0}:
            truth = [(number, row) for number, row in enumerate(image.truth) if row.hoi == k]
            found = [row for row in image.predictions if row.hoi == k]
            hits = [0] * len(found)
            owners = []
            for row in found:
                best, overlap = _best(row, truth, iou_continuous)
                owners.append(best if overlap > 0.5 else None)
            for number, _ in truth:
                owned = [j for j, owner in enumerate(owners) if owner == number]
                if owned:
                    hits[max(owned, key=lambda j: (found[j].score, -j))] = 1
            outcomes.setdefault(k, []).extend((row.score, hit) for row, hit in zip(found, hits, strict=True))
    return outcomes


def _figures(
    outcomes: Outcomes,
    truths: list[int],
    averaged: set[int],
    split: set[int],
    rare: list[bool],
    grid: Grid,
    protocol: Protocol,
) -> StrictFigures:
    ap: list[float | None] = [None] * len(truths)
    recall: list[float | None] = [None] * len(truths)
    for k in sorted(averaged):
        ranked = outcomes.get(k, [])
        if protocol != "thid":  # THID's own ranking reverses ties
            ranked = sorted(ranked, key=lambda each: -each[0])
        hits = [hit for _, hit in ranked]
        ap[k] = eleven_point(hits, truths[k], grid)
        recall[k] = sum(hits) / truths[k] if truths[k] else 0.0
    return {
        "map": mean(ap),
        "map_rare": mean([ap[k] for k in sorted(split) if rare[k]]),
        "map_non_rare": mean([ap[k] for k in sorted(split) if not rare[k]]),
        "max_recall": mean(recall),
        "ap": ap,
        "recall": recall,
    }
