"""`shoe.score` end to end, words and maps included, against the slow oracles."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray

import shoe
from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.benchmarks.protocol_options import SemanticOptions, changed
from shoe.lexicon.expressions import Part
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.store import ids_of
from shoe.scoring.score import Report
from shoe.similarity import Similarity, similarity_table
from tests.oracles.model import ImageScene, Triplet, class_words, to_tables
from tests.oracles.scenes import random_scenes, small_classes
from tests.oracles.semantic import semantic
from tests.oracles.strict import strict
from tests.scoring.compare import close, same

CLASSES = small_classes()
WORDS = class_words(CLASSES)
TABLE_OPTIONS = ("sense", "unrated", "direction", "object-words")
IN_TABLES = (*TABLE_OPTIONS, "senses", "ensemble")
"""Options that decide what a word is like: they are in the tables, and the oracle knows nothing of them."""

OPEN_VERBS = ("straddle", "sitting astride", "devour", "is petting", "xqzt", "on", "no_interaction", "amble", "fly")
OPEN_OBJECTS = ("pony", "brown horse", "racing bicycle", "xqzt", "vehicle", "motorcycle handlebar", "wineglass", "puma")

INFLECTED_VERBS = {
    "ride": ("riding", "RIDES", "rode"),
    "hold": ("holding", "Held"),
    "sit_on": ("sitting on", "sat-on", "Sit on"),
    "carry": ("carries", "carrying"),
    "hop_on": ("hopping on", "hops_on"),
    "wash": ("washes",),
    "run": ("running",),
    "no_interaction": ("no interaction", "No-Interaction"),
    "talk_on": ("talking on",),
    "cut_with": ("cutting with",),
}
INFLECTED_OBJECTS = {
    "horse": ("horses", "Horse"),
    "bicycle": ("bicycles",),
    "knife": ("knives",),
    "bus": ("buses", "BUS"),
    "wine_glass": ("wine glasses", "Wine-Glass"),
    "tv": ("TVs", "TV"),
    "skis": ("SKIS",),
    "dining_table": ("dining tables", "dining table"),
    "sheep": ("Sheep",),
    "mouse": ("mice",),
}


def open_scenes(seed: int, n_images: int = 25) -> list[ImageScene]:
    """Scenes of all classes in which every sixth word is one that the dataset does not have."""
    rng = np.random.default_rng(seed)
    found = random_scenes(rng, n_images, n_predictions=16, decimals=3, open_words=True)

    def opened(t: Triplet) -> Triplet:
        verb = OPEN_VERBS[rng.integers(len(OPEN_VERBS))] if rng.random() < 1 / 6 else t.verb
        noun = OPEN_OBJECTS[rng.integers(len(OPEN_OBJECTS))] if rng.random() < 1 / 6 else t.object
        return replace(t, verb=verb, object=noun)

    return [replace(scene, predictions=[opened(t) for t in scene.predictions]) for scene in found]


@cache
def class_senses(part: Part, senses: str) -> list[str]:
    """The sense of each of the 600 classes; no_interaction has none."""
    if senses == "table":
        return list(CLASSES.verb_synsets if part == "verb" else CLASSES.object_synsets)
    names = []
    for verb, noun in WORDS:
        word = verb if part == "verb" else noun
        names.append("" if word == "no_interaction" else resolve(word, part).candidates[0].name)
    return names


@dataclass(frozen=True)
class Distinct(Similarity):
    """A similarity that is asked for each sense once, however often its caller asks."""

    source: Similarity

    name = "distinct"

    @property
    def digest(self) -> str:
        return self.source.digest

    def values(self, part: Part, class_senses: NDArray[np.int32], senses: NDArray[np.int32]) -> NDArray[np.float64]:
        classes, which = np.unique(class_senses, return_inverse=True)
        once, where = np.unique(senses, return_inverse=True)
        return self.source.values(part, classes, once)[np.ix_(which, where)]

    def predicted(
        self, part: Part, class_senses: NDArray[np.int32], senses: NDArray[np.int32]
    ) -> NDArray[np.float64] | None:
        classes, which = np.unique(class_senses, return_inverse=True)
        once, where = np.unique(senses, return_inverse=True)
        found = self.source.predicted(part, classes, once)
        return None if found is None else found[np.ix_(which, where)]


def similarity_of(part: Part, words: Sequence[str], name: str, options: dict[str, str]) -> Callable[[int, str], float]:
    """Similarity to each of 600 classes, one row each: no class shares another's, and words stand in another order."""
    ordered = sorted(set(words), reverse=True)
    chosen = [f"{option}={options[option]}" for option in TABLE_OPTIONS if option in options]
    table = similarity_table(
        Distinct(shoe.load_similarity(name, options.get("ensemble", "mean"))),
        part,
        ids_of(class_senses(part, options.get("senses", "table"))),
        [verb if part == "verb" else noun for verb, noun in WORDS],
        ordered,
        changed(SemanticOptions(), chosen),
    )
    place = {word: i for i, word in enumerate(ordered)}
    values = table.values.tolist()
    return lambda hoi, word: float(values[hoi][place[word]])


def fast(scenes: list[ImageScene], name: str, options: dict[str, str], protocol: str = "shoe") -> Report:
    truth, predictions = to_tables(scenes, CLASSES)
    settings = [f"{option}={value}" for option, value in options.items()]
    return shoe.score(predictions, truth, similarity=name, protocols=[protocol], options=settings)


def comparable(words: set[str], part: Part, name: str, options: dict[str, str]) -> set[str]:
    """The words that stay under unrated=drop: one of their senses was rated with some class's, or is one.

    no_interaction is compared by rule, and needs no sense.
    """
    source = shoe.load_similarity(name, options.get("ensemble", "mean"))
    of_classes = sorted({synset for synset in class_senses(part, options.get("senses", "table")) if synset})
    first_only = options.get("sense") == "first"
    found = set()
    for word in words:
        candidates = resolve(word, part, cast(ObjectWords, options.get("object-words", "phrase-first"))).candidates
        senses = np.array([c.synset for c in candidates[: 1 if first_only else None]], np.int32)
        rated = ~np.isnan(source.values(part, ids_of(of_classes), senses))  # a sense and itself have a value as well
        if rated.any() or word == "no_interaction":
            found.add(word)
    return found


def without_incomparable(scenes: list[ImageScene], name: str, options: dict[str, str]) -> list[ImageScene]:
    """Scenes without the predictions that unrated=drop leaves out."""
    verbs = {t.verb for scene in scenes for t in scene.predictions}
    nouns = {t.object for scene in scenes for t in scene.predictions}
    kept_verbs, kept_nouns = comparable(verbs, "verb", name, options), comparable(nouns, "object", name, options)
    assert kept_verbs < verbs
    assert kept_nouns < nouns
    return [
        replace(s, predictions=[t for t in s.predictions if t.verb in kept_verbs and t.object in kept_nouns])
        for s in scenes
    ]


def agree(scenes: list[ImageScene], options: dict[str, str], name: str = "hico-det") -> None:
    """Assert that shoe and the oracle, fed with the similarities of these words, give equal figures."""
    said = [t for scene in scenes for t in scene.predictions]
    verb = similarity_of("verb", [t.verb for t in said], name, options)
    noun = similarity_of("object", [t.object for t in said], name, options)
    left = without_incomparable(scenes, name, options) if options.get("unrated") == "drop" else scenes
    known = {k: float(v) if k == "weight" else v for k, v in options.items() if k not in IN_TABLES}
    mode = cast(ObjectWords, options.get("object-words", "phrase-first"))
    senseless = {"xqzt", *(t.object for t in said if not resolve(t.object, "object", mode).candidates)}
    slow = semantic(left, CLASSES, verb, noun, known, senseless)
    result = fast(scenes, name, options).semantic
    assert result is not None
    assert slow["map"] is not None
    assert 0 < slow["map"] < 1
    same(result.ap, slow["ap"])
    same(result.f1, slow["f1"])
    for figure in ("map", "mf1", "mf1_best_tau", "gt_miss_rate", "prediction_miss_rate", "no_overlap_rate"):
        assert close(getattr(result, figure), slow[figure]), figure


SCENES = open_scenes(11, 10)

SETTINGS: list[dict[str, str]] = [
    {},
    {"senses": "first"},
    {"sense": "first"},
    {"sense": "one"},
    {"unrated": "wup"},
    {"unrated": "drop"},
    {"unrated": "drop", "sense": "first"},
    {"unrated": "drop", "senses": "first", "object-words": "phrase"},
    {"direction": "symmetric"},
    {"direction": "symmetric", "sense": "one", "unrated": "wup"},
    {"object-words": "pooled"},
    {"object-words": "head"},
    {"object-words": "phrase"},
    {"ensemble": "median"},
    {"ensemble": "majority"},
    {"ensemble": "majority-mean"},
    {"senses": "first", "sense": "one", "combine": "minimum"},
    {"ensemble": "median", "weight": "0.25", "min-sigma": "positive"},
]


def named(options: dict[str, str]) -> str:
    return ",".join(f"{name}={value}" for name, value in options.items()) or "defaults"


@pytest.mark.parametrize("options", SETTINGS, ids=named)
def test_real_similarities_agree_with_the_oracle(options: dict[str, str]) -> None:
    agree(SCENES, options)


@pytest.mark.parametrize("options", SETTINGS, ids=named)
def test_the_scorer_uses_these_similarities_for_every_class_and_word(options: dict[str, str]) -> None:
    """Figures rest on the few cells that a match or a false positive meets; here are all."""
    report = fast(SCENES, "hico-det", options)
    found, words = report.similarities, report.predictions
    assert found is not None
    for part, said, table, row in (
        ("verb", words.verbs, found.verbs, found.verb_row),
        ("object", words.objects, found.objects, found.object_row),
    ):
        expected = similarity_of(cast(Part, part), said, "hico-det", options)
        every = [[expected(hoi, word) for word in said] for hoi in range(len(CLASSES))]
        np.testing.assert_array_equal(table.values[row], every)


@pytest.mark.parametrize("name", ["identity", "path", "wup"])
def test_measures_without_ratings_agree_with_the_oracle(name: str) -> None:
    agree(SCENES, {}, name)


@pytest.mark.parametrize("seed", range(3))
def test_other_scenes_agree_with_the_oracle(seed: int) -> None:
    agree(open_scenes(seed, 12), {})


@pytest.mark.parametrize("option", ["senses=first", "sense=first", "sense=one", "unrated=wup", "unrated=drop"])
def test_each_choice_about_words_moves_a_figure_here(option: str) -> None:
    """Scenes on which a choice changes nothing would say nothing about it."""
    name, value = option.split("=")
    usual, other = fast(SCENES, "hico-det", {}).semantic, fast(SCENES, "hico-det", {name: value}).semantic
    assert usual is not None
    assert other is not None
    assert usual.map != other.map


def inflected(scenes: list[ImageScene], seed: int) -> list[ImageScene]:
    """The same predictions with labels in the forms and spellings of free text."""
    rng = np.random.default_rng(seed)

    def said(word: str, forms: dict[str, tuple[str, ...]]) -> str:
        known = (*forms.get(word, ()), word, word.upper(), word.replace("_", " "), word.replace("_", "-").title())
        return known[rng.integers(len(known))]

    return [
        replace(
            scene,
            predictions=[
                replace(t, verb=said(t.verb, INFLECTED_VERBS), object=said(t.object, INFLECTED_OBJECTS))
                for t in scene.predictions
            ],
        )
        for scene in scenes
    ]


def labelled_scenes(seed: int) -> list[ImageScene]:
    """Scenes of the words that have inflected forms above; predictions lie on truths, three in ten of other words."""
    rng = np.random.default_rng(seed)
    common = [
        words
        for words in WORDS
        if words[0] in INFLECTED_VERBS and (words[1] in INFLECTED_OBJECTS or rng.random() < 0.3)
    ]

    def anything(t: Triplet) -> Triplet:
        verb, noun = common[rng.integers(len(common))]
        return replace(t, verb=verb, object=noun)

    found = random_scenes(rng, 40, n_predictions=0)
    for scene in found:
        scene.truth = [anything(t) for t in scene.truth]
        said = [t if rng.random() < 0.7 else anything(t) for t in scene.truth]
        scene.predictions = [replace(t, score=round(float(rng.random()), 3)) for t in said]
    return found


@pytest.mark.parametrize("protocol", STRICT)
@pytest.mark.parametrize("seed", [0, 1])
def test_strict_figures_of_inflected_words_are_those_of_their_labels(protocol: str, seed: int) -> None:
    scenes = labelled_scenes(seed)
    slow = strict(scenes, CLASSES, protocol)  # type: ignore[arg-type]
    result = fast(inflected(scenes, seed), "hico-det", {}, protocol).strict
    assert result is not None
    same(result.ap, slow["ap"])
    for figure in ("map", "map_rare", "map_non_rare", "max_recall"):
        assert close(getattr(result, figure), slow[figure]), figure
    assert result.map is not None
    assert result.map > 0.05


@pytest.mark.parametrize("protocol", STRICT)
def test_strict_figures_see_through_inflection_among_open_words(protocol: str) -> None:
    """What is a label but for its form counts as one; what is no label stays none."""
    labels = {"Riding": "ride", "is petting": "pet", "wineglass": "wine_glass"}
    as_labels = [
        replace(
            s,
            predictions=[
                replace(t, verb=labels.get(t.verb, t.verb), object=labels.get(t.object, t.object))
                for t in s.predictions
            ],
        )
        for s in SCENES
    ]
    result = fast(SCENES, "hico-det", {}, protocol).strict
    assert result is not None
    same(result.ap, strict(as_labels, CLASSES, protocol)["ap"])  # type: ignore[arg-type]
