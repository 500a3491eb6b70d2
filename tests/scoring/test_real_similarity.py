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
from shoe.benchmarks.scoring_options import SemanticOptions, changed
from shoe.core.arrays import Floats
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.senses import Part
from shoe.lexicon.store import ids_of
from shoe.scoring.score import Report
from shoe.similarity import Similarity, similarity_table
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import CLASSES, WORDS, one_of, random_scenes
from tests.oracles.semantic import semantic
from tests.oracles.strict import Protocol, strict
from tests.scoring.compare import SEMANTIC_FIGURES, STRICT_FIGURES, same, same_figures

TABLE_OPTIONS = ("sense", "unrated", "direction", "object-words")
IN_TABLES = (*TABLE_OPTIONS, "senses", "ensemble")
"""Options that decide what a word is like: they are in the tables, and the oracle knows nothing of them."""

OPEN_VERBS = ("straddle", "sitting astride", "devour", "is petting", "xqzt", "on", "no_interaction", "amble", "fly")
OPEN_OBJECTS = ("pony", "brown horse", "racing bicycle", "xqzt", "vehicle", "motorcycle handlebar", "wineglass", "puma")

INFLECTED_VERBS = {
    "ride": ("riding", "RIDES", "rode"), "hold": ("holding", "Held"), "sit_on": ("sitting on", "sat-on", "Sit on"),
    "carry": ("carries", "carrying"), "hop_on": ("hopping on", "hops_on"), "wash": ("washes",), "run": ("running",),
    "no_interaction": ("no interaction", "No-Interaction"), "talk_on": ("talking on",), "cut_with": ("cutting with",),
}  # fmt: skip
INFLECTED_OBJECTS = {
    "horse": ("horses", "Horse"), "bicycle": ("bicycles",), "knife": ("knives",), "bus": ("buses", "BUS"),
    "wine_glass": ("wine glasses", "Wine-Glass"), "tv": ("TVs", "TV"), "skis": ("SKIS",), "sheep": ("Sheep",),
    "dining_table": ("dining tables", "dining table"), "mouse": ("mice",),
}  # fmt: skip


def open_scenes(seed: int, n_images: int = 25) -> list[ImageScene]:
    """Scenes of all classes in which every sixth word is one that the dataset does not have."""
    rng = np.random.default_rng(seed)
    found = random_scenes(rng, n_images, n_predictions=16, decimals=3, open_words=True)

    def opened(t: Triplet) -> Triplet:
        verb = one_of(rng, OPEN_VERBS) if rng.random() < 1 / 6 else t.verb
        noun = one_of(rng, OPEN_OBJECTS) if rng.random() < 1 / 6 else t.object
        return replace(t, verb=verb, object=noun)

    return with_predictions(found, opened)


def with_predictions(scenes: list[ImageScene], change: Callable[[Triplet], Triplet]) -> list[ImageScene]:
    return [replace(scene, predictions=[change(t) for t in scene.predictions]) for scene in scenes]


@cache
def class_senses(part: Part, senses: str) -> list[str]:
    """The sense of each of the 600 classes; no_interaction has none."""
    if senses == "table":
        return list(CLASSES.verb_synsets if part == "verb" else CLASSES.object_synsets)
    words = [words[part == "object"] for words in WORDS]
    return ["" if word == "no_interaction" else resolve(word, part).candidates[0].name for word in words]


@dataclass(frozen=True)
class Distinct(Similarity):
    """A similarity that is asked for each sense once, however often its caller asks."""

    source: Similarity

    name = "distinct"

    @property
    def digest(self) -> str:
        return self.source.digest

    def values(self, part: Part, class_senses: NDArray[np.int32], senses: NDArray[np.int32]) -> Floats:
        return cast(Floats, self.once(self.source.values, part, class_senses, senses))

    def predicted(self, part: Part, class_senses: NDArray[np.int32], senses: NDArray[np.int32]) -> Floats | None:
        return self.once(self.source.predicted, part, class_senses, senses)

    def once(self, ask: Callable[..., Floats | None], part: Part, *numbers: NDArray[np.int32]) -> Floats | None:
        (classes, which), (senses, where) = (np.unique(of, return_inverse=True) for of in numbers)
        found = ask(part, classes, senses)
        return None if found is None else found[np.ix_(which, where)]


def values_of(part: Part, words: Sequence[str], name: str, options: dict[str, str]) -> tuple[dict[str, int], Floats]:
    """Column of each word, and similarities to 600 classes, one row each: words stand in an order of their own."""
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
    return {word: i for i, word in enumerate(ordered)}, table.values


def similarity_of(part: Part, words: Sequence[str], name: str, options: dict[str, str]) -> Callable[[int, str], float]:
    place, values = values_of(part, words, name, options)
    rows: list[list[float]] = values.tolist()
    return lambda hoi, word: rows[hoi][place[word]]


def fast(scenes: list[ImageScene], name: str, options: dict[str, str], protocol: str = "shoe") -> Report:
    truth, predictions = to_tables(scenes, CLASSES)
    settings = [f"{option}={value}" for option, value in options.items()]
    return shoe.score(predictions, truth, similarity=name, protocols=[protocol], options=settings)


def comparable(words: set[str], part: Part, name: str, options: dict[str, str]) -> set[str]:
    """The words that stay under unrated=drop: one of their senses was rated with some class's, or is one."""
    # no_interaction is compared by rule, and needs no sense.
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
    verbs = {t.verb for scene in scenes for t in scene.predictions}
    nouns = {t.object for scene in scenes for t in scene.predictions}
    kept_verbs, kept_nouns = comparable(verbs, "verb", name, options), comparable(nouns, "object", name, options)
    assert kept_verbs < verbs
    assert kept_nouns < nouns
    kept = [[t for t in s.predictions if t.verb in kept_verbs and t.object in kept_nouns] for s in scenes]
    return [replace(scene, predictions=of) for scene, of in zip(scenes, kept, strict=True)]


def agree(scenes: list[ImageScene], options: dict[str, str], name: str = "hico-det") -> None:
    said = [t for scene in scenes for t in scene.predictions]
    verb = similarity_of("verb", [t.verb for t in said], name, options)
    noun = similarity_of("object", [t.object for t in said], name, options)
    left = without_incomparable(scenes, name, options) if options.get("unrated") == "drop" else scenes
    known = {k: float(v) if k == "weight" else v for k, v in options.items() if k not in IN_TABLES}
    mode = cast(ObjectWords, options.get("object-words", "phrase-first"))
    senseless = {"xqzt", *(t.object for t in said if not resolve(t.object, "object", mode).candidates)}
    slow = semantic(left, CLASSES, verb, noun, known, senseless)
    assert 0 < (slow["map"] or 0) < 1
    same_figures(fast(scenes, name, options).semantic, slow, SEMANTIC_FIGURES)


SCENES = open_scenes(11, 6)

SETTINGS = (
    "", "senses=first", "sense=first", "sense=one", "unrated=wup", "unrated=drop", "unrated=drop sense=first",
    "unrated=drop senses=first object-words=phrase", "direction=symmetric", "direction=symmetric sense=one unrated=wup",
    "object-words=pooled", "object-words=head", "object-words=phrase", "ensemble=median", "ensemble=majority",
    "ensemble=majority-mean", "senses=first sense=one combine=minimum",
    "ensemble=median weight=0.25 min-sigma=positive",
)  # fmt: skip


def options_of(setting: str) -> dict[str, str]:
    return dict(each.split("=") for each in setting.split())


@pytest.mark.parametrize("setting", SETTINGS)
def test_real_similarities_agree_with_the_oracle(setting: str) -> None:
    agree(SCENES, options_of(setting))


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_scorer_uses_these_similarities_for_every_class_and_word(setting: str) -> None:
    """Figures rest on the few cells that a match or a false positive meets; here are all."""
    options = options_of(setting)
    report = fast(SCENES, "hico-det", options)
    found, words = report.similarities, report.predictions
    assert found is not None
    for part, said, table, row in (
        ("verb", words.verbs, found.verbs, found.verb_row),
        ("object", words.objects, found.objects, found.object_row),
    ):
        place, expected = values_of(cast(Part, part), said, "hico-det", options)
        np.testing.assert_array_equal(table.values[row], expected[:, [place[word] for word in said]])


@pytest.mark.parametrize("name", ["identity", "path", "wup"])
def test_measures_without_ratings_agree_with_the_oracle(name: str) -> None:
    agree(SCENES, {}, name)


@pytest.mark.parametrize("seed", range(3))
def test_other_scenes_agree_with_the_oracle(seed: int) -> None:
    agree(open_scenes(seed, 12), {})


@pytest.mark.parametrize("option", ["senses=first", "sense=first", "sense=one", "unrated=wup", "unrated=drop"])
def test_each_choice_about_words_moves_a_figure_here(option: str) -> None:
    """Scenes on which a choice changes nothing would say nothing about it."""
    usual, other = (fast(SCENES, "hico-det", options_of(setting)).semantic for setting in ("", option))
    assert usual is not None
    assert other is not None
    assert usual.map != other.map


def inflected(scenes: list[ImageScene], seed: int) -> list[ImageScene]:
    """The same predictions with labels in the forms and spellings of free text."""
    rng = np.random.default_rng(seed)

    def said(word: str, forms: dict[str, tuple[str, ...]]) -> str:
        known = (*forms.get(word, ()), word, word.upper(), word.replace("_", " "), word.replace("_", "-").title())
        return one_of(rng, known)

    return with_predictions(
        scenes, lambda t: replace(t, verb=said(t.verb, INFLECTED_VERBS), object=said(t.object, INFLECTED_OBJECTS))
    )


def labelled_scenes(seed: int) -> list[ImageScene]:
    """Scenes of the words that have inflected forms above; predictions lie on truths, three in ten of other words."""
    rng = np.random.default_rng(seed)
    of_verbs = [words for words in WORDS if words[0] in INFLECTED_VERBS]
    common = [words for words in of_verbs if words[1] in INFLECTED_OBJECTS or rng.random() < 0.3]

    def anything(t: Triplet) -> Triplet:
        verb, noun = one_of(rng, common)
        return replace(t, verb=verb, object=noun)

    found = random_scenes(rng, 40, n_predictions=0)
    for scene in found:
        scene.truth = [anything(t) for t in scene.truth]
        said = [t if rng.random() < 0.7 else anything(t) for t in scene.truth]
        scene.predictions = [replace(t, score=round(float(rng.random()), 3)) for t in said]
    return found


@pytest.mark.parametrize("protocol", STRICT)
@pytest.mark.parametrize("seed", [0, 1])
def test_strict_figures_of_inflected_words_are_those_of_their_labels(protocol: Protocol, seed: int) -> None:
    scenes = labelled_scenes(seed)
    slow = strict(scenes, CLASSES, protocol)
    same_figures(fast(inflected(scenes, seed), "hico-det", {}, protocol).strict, slow, STRICT_FIGURES)
    assert (slow["map"] or 0) > 0.05


@pytest.mark.parametrize("protocol", STRICT)
def test_strict_figures_see_through_inflection_among_open_words(protocol: Protocol) -> None:
    """What is a label but for its form counts as one; what is no label stays none."""
    labels = {"Riding": "ride", "is petting": "pet", "wineglass": "wine_glass"}
    as_labels = with_predictions(
        SCENES, lambda t: replace(t, verb=labels.get(t.verb, t.verb), object=labels.get(t.object, t.object))
    )
    result = fast(SCENES, "hico-det", {}, protocol).strict
    assert result is not None
    same(result.ap, strict(as_labels, CLASSES, protocol)["ap"])
