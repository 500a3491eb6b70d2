"""The table of classes and words: against a literal reading of its rules, cell by cell, and by its properties."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import NO_INTERACTION
from shoe.benchmarks.protocols import SEMANTIC
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.lexicon.resolve import ObjectWords, match_labels, resolve
from shoe.lexicon.senses import Part, Sense, preposition_weights
from shoe.lexicon.store import ids_of, lexicon
from shoe.similarity import (
    Basis,
    Similarity,
    SimilarityMap,
    SimilarityTable,
    WordNetSimilarity,
    load_similarity,
    similarity_table,
)
from shoe.similarity.table import alternatives
from tests.examples import examples

HICO = benchmark("hico-det").classes
SENSE, DIRECTION = ("likely", "max", "first", "one"), ("class", "symmetric")
CLASSES: dict[Part, list[tuple[str, str]]] = {
    "verb": sorted(set(zip(HICO.verb_synsets, (HICO.verbs[v] for v in HICO.verb), strict=True))),
    "object": sorted(set(zip(HICO.object_synsets, (HICO.objects[o] for o in HICO.object), strict=True))),
}
WORDS: dict[Part, list[str]] = {
    "verb": [
        *("using", "being near", "riding", "Straddle", "mount", "sit_on", "hold", "carries", "no_interaction", "xqzt"),
        *("think", "pick up", "", "standing near", "sitting under / sitting at"),
    ],
    "object": [
        *("horse", "ponies", "hot dog", "cell phone", "motorcycle handlebar", "xqzt", "freedom", "TVs", "dog"),
        *("harley", "horse box"),
    ],
}


@cache
def hico() -> SimilarityMap:
    return SimilarityMap.load("hico-det")


def table(part: Part, words: Sequence[str], **options: str) -> SimilarityTable:
    return made(hico(), part, CLASSES[part], words, **options)


def made(
    similarity: Similarity, part: Part, classes: Sequence[tuple[str, str]], words: Sequence[str], **options: Any
) -> SimilarityTable:
    senses = ids_of(name for name, _ in classes)
    return similarity_table(similarity, part, senses, [w for _, w in classes], words, SemanticOptions(**options))


@cache
def ratings(part: Part) -> dict[tuple[str, str], float]:
    """The mean rating 0..1 of every pair that anybody rated."""
    table = hico().tables[part]
    means = {tuple(row): mean(row) for row in table.ratings.tolist()}
    rows = zip(table.names(), map(tuple, table.ratings.tolist()), strict=True)
    return {pair: value / 4 for pair, row in rows if (value := means[row]) is not None}


def mean(row: list[int]) -> float | None:
    """As map.json says: lists and rereadings count half each; a list's 0 only where no other rating says more."""
    parts = row[:2], row[2:5] + row[7:], row[5:7]
    lists, looked, again = ([rating for rating in part if rating >= 0] for part in parts)
    zeros = not looked and not again and not any(lists)
    counted = [(r, 1) for r in lists if r > 0 or zeros] + [(r, 2) for r in looked] + [(r, 1) for r in again]
    return sum(r * times for r, times in counted) / sum(times for _, times in counted) if counted else None


@cache
def wup(part: Part) -> dict[tuple[str, str], float]:
    """WordNet's measure of every pair that the words can lead to."""
    classes = sorted({synset for synset, _ in CLASSES[part] if synset})
    modes: tuple[ObjectWords, ...] = ("phrase-first", "pooled", "head", "phrase")
    found = {c.name for word in WORDS[part] for mode in modes for c in resolve(word, part, mode).candidates}
    values = WordNetSimilarity("wup").between(part, classes, sorted(found))
    return dict(zip(itertools.product(classes, sorted(found)), values.ravel().tolist(), strict=True))


def unlikely(candidate: Sense) -> bool:
    """Whether the tagged texts use the lemma five times or more, and in at most one of twenty as the candidate."""
    store, pos = lexicon(), lexicon().pos(candidate.synset)
    uses = dict(zip(store.senses(candidate.lemma, pos), store.tag_count(candidate.lemma, pos), strict=True))
    return sum(uses.values()) >= 5 and 20 * uses.get(candidate.synset, math.inf) <= sum(uses.values())


@dataclass(frozen=True)
class Rules:
    """The rules of the table, read literally, one pair of senses at a time."""

    part: Part
    sense: str
    unrated: str
    direction: str
    object_words: str
    partial: str = "weighed"

    def pair(self, class_synset: str, synset: str) -> tuple[float, Basis]:
        if class_synset == synset:
            return 1.0, Basis.IDENTICAL
        both = [ratings(self.part).get((class_synset, synset))]
        if self.direction == "symmetric":
            both.append(ratings(self.part).get((synset, class_synset)))
        rated = [value for value in both if value is not None]
        if rated:
            value = sum(rated) / len(rated)
            return value, Basis.RATED if value > 0 else Basis.ZERO
        if self.unrated == "wup" and class_synset:
            return wup(self.part)[class_synset, synset], Basis.UNRATED
        return 0.0, Basis.UNRATED

    @cache  # noqa: B019 - one object a test
    def senses(self, word: str) -> dict[str, float]:
        """The senses that count, and how much of its value each has."""
        candidates = resolve(word, self.part, self.object_words).candidates  # type: ignore[arg-type]
        labels = [of for _, of in CLASSES[self.part]]
        if self.partial == "full" or match_labels([word], labels, self.part)[0] >= 0:
            candidates = tuple(c for c in candidates if c.own)
        senses = {c.name: c.weight if self.partial == "weighed" else 1 for c in candidates}
        if self.sense == "likely":
            senses = {c.name: senses[c.name] * (0.8 if unlikely(c) else 1) for c in candidates}
        if self.sense == "first":
            return dict(list(senses.items())[:1])
        if self.sense == "one" and senses:
            highest = [w * max(self.pair(of, sense)[0] for of, _ in CLASSES[self.part]) for sense, w in senses.items()]
            return dict([list(senses.items())[highest.index(max(highest))]])
        return senses

    def cell(self, class_synset: str, class_word: str, word: str) -> tuple[float, Basis]:
        """Of alternatives: the mean of their values, and the basis of the highest, the first of equals.

        Where one sense counts for all classes: that of the alternative with the highest value for any class.
        """
        several = list(dict.fromkeys(word.split(" / ")))
        if self.sense == "one" and len(several) > 1:
            several = [max(several, key=lambda each: max(self.alone(*of, each)[0] for of in CLASSES[self.part]))]
        cells = [self.alone(class_synset, class_word, each) for each in several]
        _, basis = max(cells, key=lambda cell: cell[0])
        value = sum(value for value, _ in cells) / len(cells)
        return value, Basis.RATED if value < 1 and basis >= Basis.IDENTICAL else basis

    @cache  # noqa: B019 - one object a test
    def alone(self, class_synset: str, class_word: str, word: str) -> tuple[float, Basis]:
        labels = [*(of for _, of in CLASSES[self.part]), NO_INTERACTION]
        label = match_labels([word], labels, self.part)[0]
        senses = self.senses(word)
        weighed = self.partial == "weighed" and self.part == "verb"
        elsewhere = preposition_weights([class_word], [word])[0, 0] if weighed else 1
        if senses.get(class_synset) == 1 == elsewhere:
            return 1.0, Basis.IDENTICAL
        if label >= 0 and labels[label] == class_word:
            return 1.0, Basis.SAME_WORD
        if class_synset == "" or (label >= 0 and labels[label] == NO_INTERACTION):
            return 0.0, Basis.ZERO
        if not senses:
            return 0.0, Basis.UNRESOLVED
        rated = [(self.pair(class_synset, sense), weight) for sense, weight in senses.items()]
        if weighed and class_word.endswith("with") and "use.v.01" in senses:
            place = list(senses).index("use.v.01")
            (value, basis), weight = rated[place]
            rated[place] = (max(value, 0.75), Basis.RATED if basis == Basis.ZERO else basis), weight
        pairs = [(value * weight, Basis.RATED if value == 1 else basis) for (value, basis), weight in rated]
        value = max(value for value, _ in pairs)
        if elsewhere < 1 and list(senses)[[v for v, _ in pairs].index(value)] == class_synset:
            return value * elsewhere, Basis.RATED
        # A rated 0 says more than an unrated sense beside it.
        bases = [basis for v, basis in pairs if v == value and (value > 0 or basis != Basis.UNRATED)]
        return value, bases[0] if bases else Basis.UNRATED


@pytest.mark.parametrize(
    ("part", "object_words", "sense", "unrated", "direction", "partial"),
    [
        *(
            (part, "phrase-first", *options, "weighed")
            for part in ("verb", "object")
            for options in itertools.product(SENSE, ["zero", "wup"], DIRECTION)
        ),
        ("object", "pooled", "max", "zero", "class", "weighed"),
        ("object", "pooled", "one", "wup", "symmetric", "weighed"),
        ("object", "head", "max", "zero", "symmetric", "weighed"),
        ("object", "phrase", "first", "zero", "class", "weighed"),
        *((part, "phrase-first", "likely", "zero", "class", "full") for part in ("verb", "object")),
    ],
)
def test_every_cell_follows_the_rules(
    part: Part, object_words: str, sense: str, unrated: str, direction: str, partial: str
) -> None:
    words = WORDS[part]
    options = {"object_words": object_words, "sense": sense, "unrated": unrated}
    options |= {"direction": direction, "partial": partial}
    found, rules = table(part, words, **options), Rules(part, **options)
    near = {"ride", "hold", "sit_on", "cut_with", "stand_under", NO_INTERACTION}
    near |= {"horse", "hot_dog", "motorcycle", "cell_phone", "tv"}
    for c, of in enumerate(CLASSES[part]):
        for w, word in enumerate(words) if of[1] in near or c % 12 == 0 or partial == "full" else ():
            value, basis = rules.cell(*of, word)
            assert found.values[c, w] == pytest.approx(value, abs=1e-15), (of, word)
            assert found.basis[c, w] == basis, (of, word)


def test_rare_senses_and_words_of_a_part_count_less() -> None:
    row = [word for _, word in CLASSES["verb"]].index("hug")
    assert table("verb", ["squeezing", "embracing"]).values[row].tolist() == [0.8, 1]
    assert table("verb", ["squeezing", "embracing"], sense="max").values[row].tolist() == [1, 1]
    # What says only a part counts less.
    found = table("verb", ["standing near", "standing beneath", "standing", "standing near / standing under"])
    row = [word for _, word in CLASSES["verb"]].index("stand_under")
    assert found.values[row].tolist() == [0.5, 1, 1, 0.75]
    assert [Basis(b).name for b in found.basis[row]] == ["RATED", "IDENTICAL", "IDENTICAL", "RATED"]
    objects = table("object", ["harley", "pizza box", "pizza", "box of pizza"])
    rows = {word: number for number, (_, word) in enumerate(CLASSES["object"])}
    assert objects.values[rows["motorcycle"], 0] == 0.75
    assert objects.values[rows["pizza"]].tolist() == [0, 0.75, 1, 0.75]
    # In full only the own senses of a word count.
    words = ["sit astride", "stepping off", "astride", "rides", "lay"]
    rows = {word: number for number, (_, word) in enumerate(CLASSES["verb"])}
    weighed, full = (table("verb", words, partial=partial, unrated="zero").values for partial in ("weighed", "full"))
    assert weighed[rows["straddle"], 0] == 1 > full[rows["straddle"], 0]
    assert weighed[rows["exit"], 1] == 0.75 > full[rows["exit"], 1]
    assert full[rows["ride"], 3] == full[rows["lie_on"], 4] == 1


@pytest.mark.parametrize("protocol", SEMANTIC)
def test_a_label_has_only_the_senses_of_its_own_lemmas(protocol: str) -> None:
    synsets = {word: synset for synset, word in CLASSES["verb"]}
    words = ["board", "boarding", "cut_with", "brush_with", "sit_on", "slicing with"]
    identity = load_similarity("identity")
    options = SEMANTIC[protocol]
    found = similarity_table(identity, "verb", ids_of(synsets.values()), list(synsets), words, options).values
    row = {word: number for number, word in enumerate(synsets)}
    assert found[row["ride"], :2].tolist() == [0, 0]
    assert found[[row["cut_with"], row["brush_with"]]][:, [3, 2]].diagonal().tolist() == [0, 0]
    assert found[row["board"], 0] == found[row["cut_with"], 2] == found[row["sit_on"], 4] == 1
    # No label: "slicing with" may be using, except where only the own senses of a word count.
    assert (found[row["brush_with"], 5] > 0) == (protocol != "shoe-literal")


@examples(1)
@given(st.sampled_from(["verb", "object"]), st.data())
def test_alternatives_have_the_mean_of_their_values_or_the_best_of_them(part: Part, data: st.DataObject) -> None:
    words = st.sampled_from([word for word in WORDS[part] if word and "/" not in word])
    said = data.draw(st.lists(words, min_size=2, max_size=3))
    separator = data.draw(st.sampled_from([" / ", "/", " or ", " | "]))
    alone = list(dict.fromkeys(said))
    for how, value in (("mean", np.mean), ("best", np.max)):
        found = table(part, [*alone, separator.join(said)], alternatives=how)
        np.testing.assert_allclose(found.values[:, -1], value(found.values[:, :-1], axis=1), rtol=0, atol=1e-15)
        assert (found.basis[:, -1] <= found.basis[:, :-1].max(axis=1)).all()
        assert ((found.basis[:, -1] < Basis.IDENTICAL) | (found.values[:, -1] == 1)).all()


def test_alternatives_by_hand() -> None:
    rows = [[word for _, word in CLASSES["verb"]].index(verb) for verb in ("ride", "hold", "feed")]
    words = ["riding", "holding", "ride / hold", "ride or hold", "ride, hold and feed", "qwzx / ride", "ride / riding"]
    values = table("verb", words).values[rows]
    ride, hold = values[:, 0], values[:, 1]
    assert values[:, 2].tolist() == values[:, 3].tolist() == ((ride + hold) / 2).tolist()
    assert (values[0, 4], values[:, 5].tolist()) == (pytest.approx(1 / 3), (ride / 2).tolist())
    assert values[:, 6].tolist() == ride.tolist()
    best = table("verb", words, alternatives="best").values[rows]
    assert best[:, 2].tolist() == np.maximum(ride, hold).tolist()
    # Expressions of the lexicon, and adjectives of an object, are no alternatives.
    for word in ("trick or treat", "black and white cat"):
        assert alternatives(word, "object") == [word]
    assert table("verb", ["qwzx / vbnm", "qwzx / ride"]).unresolved == ("qwzx / vbnm",)


def test_the_sense_named_is_the_one_that_gave_the_value() -> None:
    found = table("verb", WORDS["verb"], partial="full", sense="max")
    for c, w in np.argwhere(found.basis == Basis.RATED):
        number = found.sense[c, w : w + 1]
        assert hico().values("verb", ids_of([CLASSES["verb"][c][0]]), number)[0, 0] == found.values[c, w]
    identical = found.basis == Basis.IDENTICAL
    numbers = np.array([lexicon().synset(synset) for synset, _ in CLASSES["verb"]], np.int32)
    assert (found.sense == numbers[:, None])[identical].all()
    assert identical.sum() >= 4
    assert (found.sense[(found.basis == Basis.UNRATED) | (found.basis == Basis.UNRESOLVED)] == -1).all()


def test_no_interaction_is_similar_to_itself_alone() -> None:
    found = table("verb", ["no_interaction", "ride", "hold", "xqzt"])
    assert found.unresolved == table("object", WORDS["object"]).unresolved == ("xqzt",)
    assert table("verb", WORDS["verb"]).unresolved == ("xqzt", "")
    row = [word for _, word in CLASSES["verb"]].index(NO_INTERACTION)
    assert (found.values[row].tolist(), found.values[:, 0].sum()) == ([1, 0, 0, 0], 1)
    assert found.basis[row].tolist() == [Basis.SAME_WORD, Basis.ZERO, Basis.ZERO, Basis.ZERO]
    # Where the classes leave it out, it is still no word that could not be resolved.
    without = made(hico(), "verb", [("ride.v.01", "ride")], ["no_interaction"])
    assert (without.values[0, 0], without.basis[0, 0], without.unresolved) == (0, Basis.ZERO, ())


@pytest.mark.parametrize("name", ["hico-det", "identity", "path", "wup"])
@pytest.mark.parametrize("part", ["verb", "object"])
def test_every_class_word_is_1_to_its_own_classes(part: Part, name: str) -> None:
    classes = CLASSES[part]
    words = list(dict.fromkeys(word for _, word in classes))
    found = made(load_similarity(name), part, classes, words)
    assert (found.values[np.array([[of == word for word in words] for _, of in classes])] == 1).all()
    assert ((found.values >= 0) & (found.values <= 1)).all()
    assert found.unresolved == ()


def test_symmetric_values_are_symmetric_on_the_closed_set() -> None:
    names = sorted({synset for synset, _ in CLASSES["verb"] if synset})
    lemmas = [lexicon().lemmas(lexicon().synset(name))[0] for name in names]
    found = made(hico(), "verb", [(name, "") for name in names], lemmas, sense="first", direction="symmetric")
    # Words whose first sense is a class sense: a square table of class senses.
    column = {lexicon().name(int(sense)): w for w, sense in enumerate(found.sense.max(axis=0)) if sense >= 0}
    square = [(c, column[name]) for c, name in enumerate(names) if name in column]
    rows, columns = (list(side) for side in zip(*square, strict=True))
    assert len(rows) > 40
    closed = found.values[np.ix_(rows, columns)]
    np.testing.assert_array_equal(closed, closed.T)
    one_way = made(hico(), "verb", [(name, "") for name in names], lemmas, sense="first").values
    assert (one_way[np.ix_(rows, columns)] != one_way[np.ix_(rows, columns)].T).any()


class Toy(Similarity):
    """Random ratings of some pairs, for properties that no map may break."""

    name, digest = "toy", "00000000"

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def values(self, part: Part, class_senses: NDArray[np.int32], senses: NDArray[np.int32]) -> NDArray[np.float64]:
        found = np.array(
            [
                [np.random.default_rng([self.seed, c + 1, s]).choice([np.nan, 0, 0.5, 1]) for s in senses.tolist()]
                for c in class_senses.tolist()
            ]
        ).reshape(len(class_senses), len(senses))
        found[class_senses[:, None] == senses] = 1
        return found


@given(
    seed=st.integers(0, 1000),
    words=st.sets(st.sampled_from(["ride", "rides", "mount", "sit", "xqzt", "hold up", "no_interaction"])).map(sorted),
    sense=st.sampled_from(SENSE),
    direction=st.sampled_from(DIRECTION),
)
def test_what_holds_for_any_similarity(seed: int, words: list[str], sense: str, direction: str) -> None:
    classes = [("ride.v.01", "ride"), ("sit.v.01", "sit_on"), ("", NO_INTERACTION), ("hold.v.02", "hold")]

    def build(columns: Sequence[str], **options: str) -> SimilarityTable:
        return made(Toy(seed), "verb", classes, columns, **options)

    found = build(words, sense=sense, direction=direction)
    assert found.values.shape == found.basis.shape == found.sense.shape == (4, len(words))
    assert ((found.values >= 0) & (found.values <= 1)).all()
    unsupported = np.isin(found.basis, [Basis.UNRESOLVED, Basis.UNRATED, Basis.ZERO])
    assert (found.values[unsupported] == 0).all()
    assert (found.values[~unsupported] > 0).all()
    # The best of all senses is never below the first, nor below the one.
    assert (build(words, sense="max", direction=direction).values >= found.values).all()
    # Each column stands for itself, whatever else was predicted.
    for w, word in enumerate(words):
        alone = build([word], sense=sense, direction=direction)
        np.testing.assert_array_equal(alone.values[:, 0], found.values[:, w])
        np.testing.assert_array_equal(alone.sense[:, 0], found.sense[:, w])


def test_pooled_words_raise_values_and_nothing_gives_nothing() -> None:
    words = ["hot dog", "motorcycle handlebar", "sports ball", "wine glass"]
    pooled = table("object", words, object_words="pooled").values
    head = table("object", words, object_words="head").values
    same = table("object", words, object_words="head").basis == Basis.SAME_WORD
    assert (pooled >= head)[~same].all()
    assert (pooled > head).any()
    assert table("verb", []).values.shape == (len(CLASSES["verb"]), 0)
    assert made(hico(), "verb", [], ["ride"]).values.shape == (0, 1)
    assert table("verb", ["xqzt"]).values.max() == 0
