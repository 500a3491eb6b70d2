"""Small nasty scenes for properties, larger seeded ones for runs, and a toy similarity.

All coordinates are multiples of 1/4, and all similarities of 1/4, so that sums, products and shifts are exact: equal
IoUs, IoUs of exactly 0.5 and equal similarities are equal in any order of arithmetic.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from zlib import crc32

import numpy as np
from hypothesis import reject
from hypothesis import strategies as st
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import HoiClasses
from shoe.core.coordinates import Coordinates
from tests.oracles.average_precision import OutOfReachError
from tests.oracles.boxes import Box, moved
from tests.oracles.meaning import Similarity
from tests.oracles.model import ImageScene, Triplet, class_words

Words = tuple[str, str]

TRUTH_WORDS: tuple[Words, ...] = (
    ("ride", "horse"),
    ("hold", "horse"),
    ("feed", "horse"),
    ("hop_on", "horse"),
    ("kiss", "horse"),
    ("no_interaction", "horse"),
    ("ride", "bicycle"),
    ("hold", "bicycle"),
    ("no_interaction", "bicycle"),
    ("fly", "kite"),
    ("pull", "kite"),
)
"""Rare and non-rare classes, one verb with several senses, and no_interaction of two objects."""

VERBS = ("ride", "hold", "feed", "hop_on", "kiss", "fly", "pull", "no_interaction", "steer", "Riding")
OBJECTS = ("horse", "bicycle", "kite", "pony", "brown horse")
SCORES = (0.0, 0.25, 0.5, 0.5, 0.9, 1.0)


def small_classes() -> HoiClasses:
    return benchmark("hico-det").classes


def toy_similarity(classes: HoiClasses, seed: int = 0) -> tuple[Similarity, Similarity]:
    """Similarity of verbs and of objects: fixed by the words, a quarter's multiple, 1 for the same word.

    Senses of one verb differ: the value hangs on the class's synset. no_interaction is like itself alone.
    """
    words = class_words(classes)

    def value(name: str, synset: str, word: str) -> float:
        if name == word:
            return 1.0
        if "no_interaction" in (name, word):
            return 0.0
        return (0.0, 0.0, 0.25, 0.5, 0.75, 1.0)[crc32(f"{seed} {synset} {word}".encode()) % 6]

    def verb(hoi: int, word: str) -> float:
        return value(words[hoi][0], classes.verb_synsets[hoi], word)

    def noun(hoi: int, word: str) -> float:
        return value(words[hoi][1], classes.object_synsets[hoi], word)

    return verb, noun


def similarity_values(similarity: Similarity, classes: HoiClasses, words: Sequence[str]) -> NDArray[np.float64]:
    """(classes, words) table of a similarity, the form in which the fast side takes it."""
    table = [[similarity(hoi, word) for word in words] for hoi in range(len(classes))]
    return np.array(table, np.float64).reshape(len(classes), len(words))


@contextmanager
def within_reach() -> Iterator[None]:
    """Leave out the example of a property that an oracle cannot enumerate."""
    try:
        yield
    except OutOfReachError:
        reject()


@st.composite
def scenes(
    draw: st.DrawFn, max_images: int = 4, max_truth: int = 5, max_predictions: int = 8, labels: bool = True
) -> list[ImageScene]:
    """Known images in order, then perhaps one that the truth does not list.

    ``labels`` allows image-level annotations, on all images or on none.
    """
    annotated: bool = draw(st.booleans()) if labels else False
    # Few classes in an example, so that images meet in them.
    pool = draw(st.lists(st.sampled_from(TRUTH_WORDS), min_size=2, max_size=4, unique=True))
    found = [
        draw(_known_scene(i, pool, max_truth, max_predictions, annotated))
        for i in range(draw(st.integers(1, max_images)))
    ]
    if draw(st.integers(0, 3)) == 0:
        predictions = draw(st.lists(_free_prediction(pool), max_size=3))
        found.append(ImageScene("HICO_test2015_99999999.jpg", predictions=predictions, known=False))
    return found


@st.composite
def _known_scene(
    draw: st.DrawFn, number: int, pool: Sequence[Words], max_truth: int, max_predictions: int, annotated: bool
) -> ImageScene:
    frame = draw(st.sampled_from((Coordinates.PIXELS_1, Coordinates.PIXELS_1, Coordinates.PIXELS_0)))
    truth: list[Triplet] = []
    for _ in range(draw(st.integers(0, max_truth))):
        verb, noun = draw(st.sampled_from(pool))
        if len(truth) > 0 and draw(st.booleans()):  # the same pair again, perhaps in the same class: a duplicate
            truth.append(Triplet(truth[-1].human_box, truth[-1].object_box, verb, noun))
        else:
            truth.append(Triplet(draw(_grid_box(1)), draw(_grid_box(1)), verb, noun))
    predictions: list[Triplet] = []
    for _ in range(draw(st.integers(0, max_predictions))):
        if predictions and draw(st.integers(0, 4)) == 0:
            copied = draw(st.sampled_from(predictions))
            score = draw(st.one_of(st.just(copied.score), _score()))
            predictions.append(Triplet(copied.human_box, copied.object_box, copied.verb, copied.object, score))
        elif truth and draw(st.integers(0, 5)) > 0:
            predictions.append(draw(_near(draw(st.sampled_from(truth)), frame)))
        else:
            predictions.append(draw(_free_prediction(pool)))
    named = None
    if annotated:
        numbers = {words: k for k, words in enumerate(class_words(small_classes()))}
        more = draw(st.lists(st.sampled_from(pool), max_size=2))
        # Not always all that the boxes say: annotations of images and of boxes are two files.
        told = [(t.verb, t.object) for t in truth if draw(st.integers(0, 5)) > 0]
        named = frozenset(numbers[words] for words in [*more, *told])
    split = "train2015" if frame == Coordinates.PIXELS_0 else "test2015"
    return ImageScene(
        f"HICO_{split}_{number + 1:08d}.jpg",
        truth=truth,
        predictions=predictions,
        truth_frame=frame,
        size=(64, 48),
        labels=named,
    )


def _score() -> st.SearchStrategy[float]:
    return st.one_of(st.sampled_from(SCORES), st.floats(0.0, 1.0, allow_subnormal=False))


@st.composite
def _grid_box(draw: st.DrawFn, least: int) -> Box:
    """A box of pixel indices; extents of 1 pixel up, many of a power of two."""
    x1, y1 = draw(st.integers(least, 6)), draw(st.integers(least, 6))
    extents = st.sampled_from((1, 3, 3, 7, 7, 2, 4, 0))
    return float(x1), float(y1), float(x1 + draw(extents)), float(y1 + draw(extents))


@st.composite
def _free_prediction(draw: st.DrawFn, pool: Sequence[Words]) -> Triplet:
    boxes = [_valid(draw(_grid_box(0))) for _ in range(2)]
    verb, noun = draw(st.one_of(st.sampled_from(pool), st.tuples(st.sampled_from(VERBS), st.sampled_from(OBJECTS))))
    return Triplet(boxes[0], boxes[1], verb, noun, draw(_score()))


@st.composite
def _near(draw: st.DrawFn, truth: Triplet, frame: Coordinates) -> Triplet:
    """A prediction on a truth's pair: its boxes in one convention or another, moved, halved or as they are."""
    boxes = []
    for box in (truth.human_box, truth.object_box):
        x1, y1, x2, y2 = moved(box, frame, draw(st.sampled_from(("edges", "edges", "raw"))))
        change = draw(st.sampled_from(("none", "none", "half", "half+1", "shift", "quarter")))
        if change == "half":  # IoU exactly 0.5 of edges
            x2 = (x1 + x2) / 2
        elif change == "half+1":  # IoU exactly 0.5 of pixel indices
            x2 = x1 + (x2 - x1 + 1) / 2 - 1
        elif change == "shift":
            y1, y2 = (y + draw(st.integers(-2, 2)) for y in (y1, y2))
        elif change == "quarter":
            x1 += draw(st.integers(-3, 3)) / 4
        boxes.append(_valid((x1, y1, x2, y2)))
    verb, noun = truth.verb, truth.object
    if draw(st.booleans()):
        verb, noun = draw(st.sampled_from(VERBS)), draw(st.sampled_from((noun, noun, *OBJECTS)))
    return Triplet(boxes[0], boxes[1], verb, noun, draw(_score()))


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
    """Scenes of all 600 classes, detector-like: about half of the predictions lie on a truth's pair.

    Args:
        rng: fixes everything.
        n_images: number of images, all known; some have no truth, some no predictions.
        n_predictions: predictions of most images.
        n_truth: mean number of truths.
        decimals: round scores, so that they tie; None leaves them distinct.
        open_words: a tenth of the words are none of the dataset's.
    """
    classes = small_classes()
    words = class_words(classes)
    of_object: dict[str, list[str]] = {}
    for verb, noun in words:
        of_object.setdefault(noun, []).append(verb)

    def pair() -> tuple[Box, Box]:
        corner = rng.integers(1, 300, (2, 2))
        extent = rng.integers(8, 200, (2, 2))
        boxes = np.concatenate([corner, corner + extent], axis=1).astype(float).tolist()
        return tuple(boxes[0]), tuple(boxes[1])

    def jittered(box: Box) -> Box:
        x1, y1, x2, y2 = (np.array(box) + rng.integers(-24, 25, 4) / 4).tolist()
        return _valid((x1, y1, x2, y2))

    found = []
    for i in range(n_images):
        truth = []
        for _ in range(rng.poisson(n_truth)):
            human, thing = pair()
            truth.append(Triplet(human, thing, *words[rng.integers(len(words))]))
        predictions = []
        for _ in range(0 if rng.random() < 0.02 else n_predictions):
            verb, noun = words[rng.integers(len(words))]
            human, thing = pair()
            if truth and rng.random() < 0.5:
                near = truth[rng.integers(len(truth))]
                human, thing, noun = jittered(near.human_box), jittered(near.object_box), near.object
                verbs = of_object[noun]
                verb = near.verb if rng.random() < 0.6 else verbs[rng.integers(len(verbs))]
            if open_words and rng.random() < 0.1:
                verb = ("steer", "Riding", "lift")[rng.integers(3)]
            score = float(rng.random())
            score = score if decimals is None else round(score, decimals)
            predictions.append(Triplet(human, thing, verb, noun, score))
        found.append(
            ImageScene(f"HICO_test2015_{i + 1:08d}.jpg", truth=truth, predictions=predictions, size=(640, 480))
        )
    return found
