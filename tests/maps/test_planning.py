"""Plans of pairs to rate: what is near a class, what predictions need, and the counts that the documents state."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import benchmark
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.errors import OptionError
from shoe.core.interactions import Interactions
from shoe.demo import PREDICTIONS
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.senses import Part
from shoe.lexicon.store import ids_of, lexicon, names_of
from shoe.maps import planning
from shoe.predictions import read_predictions
from shoe.similarity import Similarity, SimilarityMap, similarity_table
from tests.tables import one_triplet

HICO = benchmark("hico-det").classes
SENSES = [lexicon().name(synset) for synset in lexicon().senses("ride", "v").tolist()]


@pytest.fixture(scope="module")
def whole() -> dict[Part, planning.Plan]:
    return planning.plan_dataset(HICO)


def rows(plan: planning.Plan) -> list[tuple[str, str]]:
    return list(zip(names_of(plan.class_synset), names_of(plan.synset), strict=True))


def questions(plan: planning.Plan) -> list[tuple[str, str]]:
    return list(zip(names_of(plan.first), names_of(plan.second), strict=True))


def rated_above_zero(part: Part) -> Iterator[tuple[tuple[str, str], float]]:
    table = SimilarityMap.load("hico-det").tables[part]
    for pair, ratings in zip(table.names(), table.ratings, strict=True):
        given = ratings[ratings >= 0]
        if given.any() and pair[0] != pair[1]:
            yield pair, float(given.mean())


def test_the_counts_that_the_documents_state(whole: dict[Part, planning.Plan]) -> None:
    sizes = {part: (len(plan.synset), len(plan)) for part, plan in whole.items()}
    assert sizes == {"verb": (853_349, 846_328), "object": (40_043, 36_883)}
    needed = planning.plan_needed(HICO, [read_predictions(PREDICTIONS["free text"])])
    text = (Path(__file__).parents[2] / "docs" / "maps.md").read_text("utf-8")
    for plan in whole.values():
        assert f"| {len(plan.synset):,} | {len(plan):,} |" in text
    assert f"need about {round(sum(map(len, needed.values())), -3):,} questions" in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "shares"), [("verb", {0: 0.807, 2: 0.827, 3: 0.874}), ("object", {0: 0.819, 2: 0.941, 3: 0.976})]
)
def test_the_shares_of_the_shipped_map_that_the_documents_state(
    whole: dict[Part, planning.Plan], part: Part, shares: dict[int, float]
) -> None:
    planned = set(rows(whole[part]))
    classes = {class_synset for class_synset, _ in planned}
    rated = [(pair, mean) for pair, mean in rated_above_zero(part) if pair[0] in classes]
    for least, share in shares.items():
        found = [pair in planned for pair, mean in rated if mean >= least]
        assert np.mean(found) == pytest.approx(share, abs=0.0005)


def test_every_class_is_compared_with_every_other(whole: dict[Part, planning.Plan]) -> None:
    for plan in whole.values():
        classes = set(plan.class_synset.tolist())
        for synset in classes:
            assert classes - {synset} <= set(plan.synset[plan.class_synset == synset].tolist())


def test_fewer_steps_plan_fewer_objects_and_the_same_verbs(whole: dict[Part, planning.Plan]) -> None:
    near = planning.plan_dataset(HICO, steps=2)
    assert set(rows(near["object"])) < set(rows(whole["object"]))
    assert (near["verb"].synset == whole["verb"].synset).all()


def test_rows_and_questions_of_a_whole_plan_are_sorted(whole: dict[Part, planning.Plan]) -> None:
    plan = whole["object"]
    assert (rows(plan), questions(plan)) == (sorted(set(rows(plan))), sorted(set(questions(plan))))


@given(st.lists(st.tuples(st.sampled_from(SENSES), st.sampled_from(SENSES))))
def test_given_pairs_are_planned_once_each_and_asked_in_one_direction(pairs: list[tuple[str, str]]) -> None:
    plan = planning.plan_pairs("verb", pairs)
    assert rows(plan) == sorted({pair for pair in pairs if pair[0] != pair[1]})
    asked, in_order = questions(plan), [(min(pair), max(pair)) for pair in rows(plan)]
    assert (asked, [asked[number] for number in plan.question.tolist()]) == (sorted(set(in_order)), in_order)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("horse.n.01", r"'horse\.n\.01' .*verb.* WordNet 3\.0.*horse\.v\.01"),
        ("ride.v.99", r"'ride\.v\.99' .*verb.*ride\.v\.\d\d\?"),
        ("", r"'' .*verb.* WordNet 3\.0.*ride\.v\.01$"),
        ("\x1b[2J.v.01", r"'\\x1b\[2J\.v\.01' .*verb"),
    ],
)
def test_a_name_that_is_none_is_refused(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        planning.plan_pairs("verb", [("ride.v.01", name)])


def test_a_synset_goes_by_any_of_its_lemmas() -> None:
    assert rows(planning.plan_pairs("object", [("horse.n.01", "auto.n.01")])) == [("horse.n.01", "car.n.01")]


class Recorded(Similarity):
    name, digest = "recorded", "00000000"

    def __init__(self) -> None:
        self.asked: set[tuple[str, str]] = set()

    def values(
        self, part: Part, class_senses: np.typing.NDArray[np.int32], senses: np.typing.NDArray[np.int32]
    ) -> np.typing.NDArray[np.float64]:
        names = names_of(senses)
        self.asked |= {(c, name) for c in names_of(class_senses) if c for name in names if name != c}
        return np.full((len(class_senses), len(senses)), np.nan)


@pytest.mark.parametrize("object_words", ["phrase-first", "pooled"])
def test_what_predictions_need_is_what_scoring_looks_up(object_words: ObjectWords) -> None:
    words = [("riding", "motor bike"), ("no_interaction", "horse"), ("qwxz", "tennis racket"), ("stroke", "a qwxz")]
    plans = planning.plan_needed(HICO, [predicted(*words)], object_words=object_words)
    for part, class_synsets, place in (("verb", HICO.verb_synsets, 0), ("object", HICO.object_synsets, 1)):
        synsets, recorded = sorted(set(class_synsets)), Recorded()
        said, options = list(dict.fromkeys(pair[place] for pair in words)), SemanticOptions(object_words=object_words)
        labels = ["a class"] * len(synsets)
        similarity_table(recorded, part, ids_of(synsets), labels, said, options)  # type: ignore[arg-type]
        assert set(rows(plans[part])) == recorded.asked  # type: ignore[index]


def test_the_rules_in_words_say_what_the_code_does() -> None:
    assert all(file in planning.VERB_RULE for file in planning.BODILY | planning.MIXED)
    assert f"at most {planning.VERB_STEPS} steps" in planning.VERB_RULE
    assert f"at most {planning.STEPS} steps" in planning.object_rule()
    assert "at most 3 steps" in planning.object_rule(3)


def predicted(*triplets: tuple[str, str]) -> Interactions:
    """Predictions with these words; the vocabularies have a verb and an object that no triplet uses."""
    n = len(triplets)
    verbs = [*dict.fromkeys(verb for verb, _ in triplets), "juggle"]
    objects = ["unicorn", *dict.fromkeys(object_ for _, object_ in triplets)]
    return one_triplet(
        image=np.zeros(n, int),
        human_boxes=np.tile([0.0, 0.0, 1.0, 1.0], (n, 1)),
        object_boxes=np.tile([0.0, 0.0, 1.0, 1.0], (n, 1)),
        verb=np.array([verbs.index(verb) for verb, _ in triplets], int),
        object=np.array([objects.index(object_) for _, object_ in triplets], int),
        verbs=verbs,
        objects=objects,
    )


def test_all_senses_of_all_words_that_occur_and_no_others() -> None:
    senses = planning.needed_senses([predicted(("riding", "pony")), predicted(("straddle", "pony"), ("riding", "cab"))])
    words: dict[Part, tuple[str, str]] = {"verb": ("riding", "straddle"), "object": ("pony", "cab")}
    for part, of_part in words.items():
        assert set(names_of(senses[part])) == {c.name for word in of_part for c in resolve(word, part).candidates}


def test_words_without_a_sense_and_no_predictions_need_nothing() -> None:
    for tables in ([predicted(("no_interaction", "qwxz"))], [predicted()], []):
        assert {part: len(found) for part, found in planning.needed_senses(tables).items()} == {"verb": 0, "object": 0}
    for plan in planning.plan_needed(HICO, [predicted()]).values():
        assert (len(plan), len(plan.synset), len(plan.question)) == (0, 0, 0)


@pytest.mark.parametrize(("how", "pooled"), [("phrase-first", False), ("pooled", True)])
def test_objects_of_several_words_are_looked_up_as_scoring_will(how: ObjectWords, pooled: bool) -> None:
    senses = planning.needed_senses([predicted(("hold", "tennis racket"))], how)["object"].tolist()
    assert (lexicon().synset("tennis.n.01") in senses) == pooled


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(OptionError, match="object-words"):
        planning.needed_senses([predicted(("hold", "cup"))], "whole")  # type: ignore[arg-type]


def near(name: str, steps: int) -> set[str]:
    return set(names_of(planning.senses_near(ids_of([name]), steps)[1]))


def walked(synset: int, steps: int) -> set[int]:
    """The same, link by link; hyponyms found by asking every sense for its hypernyms."""
    found = {synset}
    for _ in range(steps):
        above = {up for one in found for up in lexicon().hypernyms(one).tolist()}
        below = {one for one in range(len(lexicon())) if found.intersection(lexicon().hypernyms(one).tolist())}
        found |= above | below
    return found


def test_no_step_is_the_sense_itself_one_its_hypernyms_and_hyponyms_and_two_reach_siblings() -> None:
    assert near("horse.n.01", 0) == {"horse.n.01"}
    assert {"equine.n.01", "pony.n.05"} <= near("horse.n.01", 1)
    assert "zebra.n.01" not in near("horse.n.01", 1)
    assert {"zebra.n.01", "stallion.n.01"} <= near("horse.n.01", 2)


@pytest.mark.parametrize("name", ["horse.n.01", "ride.v.01", "entity.n.01", "santa_claus.n.01"])
def test_the_walk_of_all_at_once_is_that_of_one_link_at_a_time(name: str) -> None:
    _, found = planning.senses_near(ids_of([name]), 2)
    assert set(found.tolist()) == walked(lexicon().synset(name), 2)


@given(st.lists(st.integers(0, len(lexicon()) - 1), max_size=4), st.integers(0, 3))
def test_each_row_is_found_as_if_it_were_alone(synsets: list[int], steps: int) -> None:
    owner, found = planning.senses_near(np.array(synsets, np.int32), steps)
    assert (np.diff(owner) >= 0).all()
    for row, synset in enumerate(synsets):
        assert (found[owner == row] == planning.senses_near(np.array([synset], np.int32), steps)[1]).all()


@given(st.integers(0, len(lexicon()) - 1), st.integers(0, len(lexicon()) - 1))
def test_near_is_mutual(one: int, other: int) -> None:
    owner, found = planning.senses_near(np.array([one, other], np.int32), 3)
    assert (other in found[owner == 0]) == (one in found[owner == 1])


def test_objects_are_compared_with_all_other_classes_and_with_nothing_that_cannot_be_seen() -> None:
    classes = ids_of(("person.n.01", "spoon.n.01", "houseplant.n.01"))
    owner, found = planning.object_neighbours(classes, 4)
    for row in range(len(classes)):
        assert set(classes.tolist()) <= set(found[owner == row].tolist())
    assert not {lexicon().lexname(synset) for synset in found.tolist()} & planning.INVISIBLE
    assert {lexicon().lexname(synset) for synset in planning.senses_near(classes, 4)[1].tolist()} & planning.INVISIBLE


def test_every_lexicographer_file_that_is_left_out_exists() -> None:
    assert {lexicon().lexname(synset) for synset in range(lexicon().nouns)} > planning.INVISIBLE


@cache
def vocabulary(*classes: str) -> set[str]:
    return set(names_of(planning.verb_vocabulary(ids_of(classes))))


def test_the_counts_of_verbs_that_the_documents_state() -> None:
    classes = {name for name in benchmark("hico-det").classes.verb_synsets if name}
    assert (len(planning.verb_vocabulary(ids_of(classes))), len(planning.verb_vocabulary(ids_of([])))) == (7172, 6289)
    assert len(lexicon()) - lexicon().nouns == 13767


# Movements, of which no tagged text has the second; and a visible change and act of giving that tagged texts have.
@pytest.mark.parametrize("name", ["ride.v.01", "frog.v.01", "cook.v.03", "give.v.03"])
def test_what_is_in_for_any_dataset(name: str) -> None:
    assert name in vocabulary()


@pytest.mark.parametrize("name", ["know.v.01", "promise.v.01", "hate.v.01", "appoint.v.01", "differ.v.01", "rain.v.01"])
def test_what_nobody_can_see_is_out(name: str) -> None:
    assert name not in vocabulary()
    assert name in vocabulary(name), "a class's own sense is always in"


def test_what_is_like_a_class_is_in_whatever_its_file() -> None:
    brought = vocabulary("sign.v.01") - vocabulary()
    assert {"sign.v.01", "handwrite.v.01", "communicate.v.02"} <= brought


def test_it_ascends_without_repeats_and_holds_verbs_alone() -> None:
    found = planning.verb_vocabulary(ids_of(["ride.v.01", "ride.v.01"]))
    assert (np.diff(found) > 0).all()
    assert (found >= lexicon().nouns).all()


def test_every_lexicographer_file_of_the_rule_exists() -> None:
    files = {lexicon().lexname(synset) for synset in range(lexicon().nouns, len(lexicon()))}
    assert files > planning.BODILY | planning.MIXED
    assert not planning.BODILY & planning.MIXED
