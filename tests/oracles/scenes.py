"""Small nasty scenes for properties, larger seeded ones for runs, and a toy similarity.

All coordinates are multiples of 1/4, and all similarities of 1/4, so that sums, products and shifts are exact: equal
IoUs, IoUs of exactly 0.5 and equal similarities are equal in any order of arithmetic.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import HoiClasses
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from tests.oracles.boxes import Box, moved
from tests.oracles.meaning import Similarity
from tests.oracles.model import ImageScene, Triplet, class_words, to_tables

Words = tuple[str, str]
T = TypeVar("T")

TRUTH_WORDS: tuple[Words, ...] = (
    *((verb, "horse") for verb in ("ride", "hold", "feed", "hop_on", "kiss", "no_interaction")),
    *((verb, "bicycle") for verb in ("ride", "hold", "no_interaction")),
    *((verb, "kite") for verb in ("fly", "pull")),
)
"""Rare and non-rare classes, one verb with several senses, and no_interaction of two objects."""

VERBS = ("ride", "hold", "feed", "hop_on", "kiss", "fly", "pull", "no_interaction", "steer", "Riding")
OBJECTS = ("horse", "bicycle", "kite", "pony", "brown horse")
SCORES = (0.0, 0.25, 0.5, 0.5, 0.9, 1.0)
HUMAN: Box = (10.0, 10.0, 19.0, 29.0)
THING: Box = (30.0, 10.0, 69.0, 49.0)


def small_classes() -> HoiClasses:
    return benchmark("hico-det").classes


CLASSES = small_classes()
WORDS = class_words(CLASSES)
VERBS_OF = {noun: [verb for verb, of in WORDS if of == noun] for _, noun in WORDS}


def hoi(verb: str, noun: str = "horse") -> int:
    return WORDS.index((verb, noun))


def on_pair(verb: str = "ride", score: float = 1.0, noun: str = "horse") -> Triplet:
    """A triplet of one pair of boxes, the same for all, whatever is done there."""
    return Triplet(HUMAN, THING, verb, noun, score)


def one_image(truth: list[Triplet], predictions: list[Triplet], name: str = "a.jpg") -> ImageScene:
    """An image by hand, whose truth and predictions have the same coordinates."""
    return ImageScene(name, truth, predictions, prediction_coordinates=Coordinates.PIXELS_1)


def predictions_of(images: Mapping[str, Sequence[Triplet]]) -> Interactions:
    """A table of predictions by image; images without any are in it, too."""
    found = [ImageScene(name, predictions=list(triplets), known=False) for name, triplets in images.items()]
    return to_tables(found, CLASSES)[1]


def predict_the_truth(found: Sequence[ImageScene]) -> None:
    """Make the truths that have an area, without duplicates, both truth and predictions of their images."""
    for scene in found:
        wide = [t for t in scene.truth if all(b[0] < b[2] and b[1] < b[3] for b in (t.human_box, t.object_box))]
        scene.truth = scene.predictions = list(dict.fromkeys(wide))
        scene.prediction_coordinates = scene.truth_coordinates


@cache
def exact(part: int) -> Similarity:
    """Similarity of verbs (part 0) or objects (1): 1 for the class's own word, else 0."""
    return lambda k, word: float(WORDS[k][part] == word)


@cache
def toy_similarity(classes: HoiClasses, seed: int = 0) -> tuple[Similarity, Similarity]:
    """Similarity of verbs and of objects: fixed by the words, a quarter's multiple, 1 for the same word."""
    # Senses of one verb differ: the value depends on the class's synset. no_interaction is like itself alone.
    words = class_words(classes)

    def value(name: str, synset: str, word: str) -> float:
        if name == word:
            return 1.0
        if "no_interaction" in (name, word):
            return 0.0
        return (0.0, 0.0, 0.25, 0.5, 0.75, 1.0)[crc32(f"{seed} {synset} {word}".encode()) % 6]

    @cache
    def verb(hoi: int, word: str) -> float:
        return value(words[hoi][0], classes.verb_synsets[hoi], word)

    @cache
    def noun(hoi: int, word: str) -> float:
        return value(words[hoi][1], classes.object_synsets[hoi], word)

    return verb, noun


TOY = toy_similarity(CLASSES)


def similarity_values(similarity: Similarity, classes: HoiClasses, words: Sequence[str]) -> NDArray[np.float64]:
    """(classes, words) table of a similarity, the form in which the fast side takes it."""
    table = [[similarity(hoi, word) for word in words] for hoi in range(len(classes))]
    return np.array(table, np.float64).reshape(len(classes), len(words))


def scenes(**limits: Any) -> st.SearchStrategy[list[ImageScene]]:
    """Small scenes that a seed decides, a twentieth as dear as drawn ones; see :func:`small_scenes`."""
    return st.integers(0, 2**32 - 1).map(lambda seed: small_scenes(np.random.default_rng(seed), **limits))


def small_scenes(
    rng: np.random.Generator, max_images: int = 4, max_truth: int = 5, max_predictions: int = 8, labels: bool = True
) -> list[ImageScene]:
    """Known images in order, then perhaps one that the truth does not list."""
    # ``labels`` allows image-level annotations, on all images or on none.
    annotated = labels and rng.random() < 0.5
    # Few classes in an example, so that images meet in them.
    pool = [TRUTH_WORDS[i] for i in rng.permutation(len(TRUTH_WORDS))[: rng.integers(2, 5)].tolist()]
    found = [
        _known_scene(rng, i, pool, _few(rng, max_truth), _few(rng, max_predictions), annotated)
        for i in range(rng.integers(1, max_images + 1))
    ]
    if rng.random() < 0.25:
        predictions = [_free_prediction(rng, pool) for _ in range(_few(rng, 3))]
        found.append(ImageScene("HICO_test2015_99999999.jpg", predictions=predictions, known=False))
    return found


def one_of(rng: np.random.Generator, values: Sequence[T]) -> T:
    return values[int(rng.integers(len(values)))]


def _few(rng: np.random.Generator, most: int) -> int:
    """A number up to the most; small ones are more likely."""
    return int(rng.integers(0, most + 1, 2).min()) if rng.random() < 0.7 else int(rng.integers(0, most + 1))


def _known_scene(
    rng: np.random.Generator, number: int, pool: Sequence[Words], truths: int, predicted: int, annotated: bool
) -> ImageScene:
    kind = one_of(rng, (Coordinates.PIXELS_1, Coordinates.PIXELS_1, Coordinates.PIXELS_0))
    truth: list[Triplet] = []
    for _ in range(truths):
        verb, noun = one_of(rng, pool)
        if truth and rng.random() < 0.5:  # the same pair again, perhaps in the same class: a duplicate
            truth.append(Triplet(truth[-1].human_box, truth[-1].object_box, verb, noun))
        else:
            truth.append(Triplet(_grid_box(rng, 1), _grid_box(rng, 1), verb, noun))
    predictions: list[Triplet] = []
    for _ in range(predicted):
        if predictions and rng.random() < 0.2:
            copied = one_of(rng, predictions)
            predictions.append(copied if rng.random() < 0.5 else replace(copied, score=_score(rng)))
        elif truth and rng.random() < 0.8:
            predictions.append(_near(rng, one_of(rng, truth), kind))
        else:
            predictions.append(_free_prediction(rng, pool))
    named = None
    if annotated:
        more = [one_of(rng, pool) for _ in range(_few(rng, 2))]
        # Not always all that the boxes say: annotations of images and of boxes are two files.
        told = [(t.verb, t.object) for t in truth if rng.random() < 0.8]
        named = frozenset(hoi(*words) for words in [*more, *told])
    split = "train2015" if kind == Coordinates.PIXELS_0 else "test2015"
    name = f"HICO_{split}_{number + 1:08d}.jpg"
    return ImageScene(name, truth, predictions, kind, size=(64, 48), labels=named)


def _score(rng: np.random.Generator) -> float:
    return one_of(rng, SCORES) if rng.random() < 0.6 else float(one_of(rng, (rng.random(), 1e-300, np.nextafter(1, 0))))


def _grid_box(rng: np.random.Generator, least: int) -> Box:
    """A box of pixel indices; extents of 1 pixel up, many of a power of two."""
    x1, y1 = rng.integers(least, 7, 2).tolist()
    width, height = (one_of(rng, (1, 3, 3, 7, 7, 2, 4, 0)) for _ in range(2))
    return float(x1), float(y1), float(x1 + width), float(y1 + height)


def _free_prediction(rng: np.random.Generator, pool: Sequence[Words]) -> Triplet:
    verb, noun = one_of(rng, pool) if rng.random() < 0.5 else (one_of(rng, VERBS), one_of(rng, OBJECTS))
    return Triplet(_valid(_grid_box(rng, 0)), _valid(_grid_box(rng, 0)), verb, noun, _score(rng))


def _near(rng: np.random.Generator, truth: Triplet, kind: Coordinates) -> Triplet:
    """A prediction on a truth's pair: its boxes in one convention or another, moved, halved or as they are."""
    boxes = []
    for box in (truth.human_box, truth.object_box):
        x1, y1, x2, y2 = moved(box, kind, one_of(rng, ("edges", "edges", "raw")))
        change = one_of(rng, ("none", "none", "half", "half+1", "shift", "quarter"))
        if change == "half":  # IoU exactly 0.5 of edges
            x2 = (x1 + x2) / 2
        elif change == "half+1":  # IoU exactly 0.5 of pixel indices
            x2 = x1 + (x2 - x1 + 1) / 2 - 1
        elif change == "shift":
            y1, y2 = (y + int(rng.integers(-2, 3)) for y in (y1, y2))
        elif change == "quarter":
            x1 += int(rng.integers(-3, 4)) / 4
        boxes.append(_valid((x1, y1, x2, y2)))
    verb, noun = truth.verb, truth.object
    if rng.random() < 0.5:
        verb, noun = one_of(rng, VERBS), one_of(rng, (noun, noun, *OBJECTS))
    return Triplet(boxes[0], boxes[1], verb, noun, _score(rng))


def _valid(box: Box) -> Box:
    """The box with positive extents, as continuous boxes have."""
    x1, y1, x2, y2 = box
    return x1, y1, x2 if x2 > x1 else x1 + 1, y2 if y2 > y1 else y1 + 1


def random_scenes(
    rng: np.random.Generator,
    n_images: int,
    n_predictions: int = 20,
    n_truth: float = 3.5,
    decimals: int | None = None,
    open_words: bool = False,
) -> list[ImageScene]:
    """Scenes of all 600 classes, detector-like: about half of the predictions lie on a truth's pair."""
    # Scores are rounded to ``decimals``, so that they tie; with ``open_words`` a tenth of the words are no labels.

    def pair() -> tuple[Box, Box]:
        corner = rng.integers(1, 300, (2, 2))
        extent = rng.integers(8, 200, (2, 2))
        human, thing = np.concatenate([corner, corner + extent], axis=1).astype(float).tolist()
        return tuple(human), tuple(thing)

    def jittered(box: Box) -> Box:
        x1, y1, x2, y2 = (np.array(box) + rng.integers(-24, 25, 4) / 4).tolist()
        return _valid((x1, y1, x2, y2))

    found = []
    for i in range(n_images):
        truth = [Triplet(*pair(), *one_of(rng, WORDS)) for _ in range(rng.poisson(n_truth))]
        predictions = []
        for _ in range(0 if rng.random() < 0.02 else n_predictions):
            verb, noun = one_of(rng, WORDS)
            human, thing = pair()
            if truth and rng.random() < 0.5:
                near = one_of(rng, truth)
                human, thing, noun = jittered(near.human_box), jittered(near.object_box), near.object
                verb = near.verb if rng.random() < 0.6 else one_of(rng, VERBS_OF[noun])
            if open_words and rng.random() < 0.1:
                verb = one_of(rng, ("steer", "Riding", "lift"))
            score = float(rng.random())
            score = score if decimals is None else round(score, decimals)
            predictions.append(Triplet(human, thing, verb, noun, score))
        found.append(ImageScene(f"HICO_test2015_{i + 1:08d}.jpg", truth, predictions, size=(640, 480)))
    return found
