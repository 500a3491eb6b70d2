from functools import cache

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import benchmark
from shoe.lexicon.store import ids_of, lexicon, names_of
from shoe.maps.planning import BODILY, INVISIBLE, MIXED, object_neighbours, senses_near, verb_vocabulary


def near(name: str, steps: int) -> set[str]:
    return set(names_of(senses_near(ids_of([name]), steps)[1]))


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
    _, found = senses_near(ids_of([name]), 2)
    assert set(found.tolist()) == walked(lexicon().synset(name), 2)


@given(st.lists(st.integers(0, len(lexicon()) - 1), max_size=4), st.integers(0, 3))
def test_each_row_is_found_as_if_it_were_alone(synsets: list[int], steps: int) -> None:
    owner, found = senses_near(np.array(synsets, np.int32), steps)
    assert (np.diff(owner) >= 0).all()
    for row, synset in enumerate(synsets):
        assert (found[owner == row] == senses_near(np.array([synset], np.int32), steps)[1]).all()


@given(st.integers(0, len(lexicon()) - 1), st.integers(0, len(lexicon()) - 1))
def test_near_is_mutual(one: int, other: int) -> None:
    owner, found = senses_near(np.array([one, other], np.int32), 3)
    assert (other in found[owner == 0]) == (one in found[owner == 1])


def test_objects_are_compared_with_all_other_classes_and_with_nothing_that_cannot_be_seen() -> None:
    classes = ids_of(("person.n.01", "spoon.n.01", "houseplant.n.01"))
    owner, found = object_neighbours(classes, 4)
    for row in range(len(classes)):
        assert set(classes.tolist()) <= set(found[owner == row].tolist())
    assert not {lexicon().lexname(synset) for synset in found.tolist()} & INVISIBLE
    assert {lexicon().lexname(synset) for synset in senses_near(classes, 4)[1].tolist()} & INVISIBLE


def test_every_lexicographer_file_that_is_left_out_exists() -> None:
    assert {lexicon().lexname(synset) for synset in range(lexicon().nouns)} > INVISIBLE


@cache
def names(*classes: str) -> set[str]:
    return set(names_of(verb_vocabulary(ids_of(classes))))


def test_the_counts_of_verbs_that_the_documents_state() -> None:
    classes = {name for name in benchmark("hico-det").classes.verb_synsets if name}
    assert len(verb_vocabulary(ids_of(classes))) == 7172
    assert len(verb_vocabulary(ids_of([]))) == 6289
    assert len(lexicon()) - lexicon().nouns == 13767


@pytest.mark.parametrize(
    "name",
    [
        "ride.v.01",  # a movement
        "frog.v.01",  # a movement that no tagged text has
        "cook.v.03",  # a visible change that tagged texts have
        "give.v.03",  # a visible act of giving that tagged texts have
    ],
)
def test_what_is_in_for_any_dataset(name: str) -> None:
    assert name in names()


@pytest.mark.parametrize("name", ["know.v.01", "promise.v.01", "hate.v.01", "appoint.v.01", "differ.v.01", "rain.v.01"])
def test_what_nobody_can_see_is_out(name: str) -> None:
    assert name not in names()
    assert name in names(name), "a class's own sense is always in"


def test_what_is_like_a_class_is_in_whatever_its_file() -> None:
    brought = names("sign.v.01") - names()
    assert {"sign.v.01", "handwrite.v.01", "communicate.v.02"} <= brought


def test_it_ascends_without_repeats_and_holds_verbs_alone() -> None:
    found = verb_vocabulary(ids_of(["ride.v.01", "ride.v.01"]))
    assert (np.diff(found) > 0).all()
    assert (found >= lexicon().nouns).all()


def test_every_lexicographer_file_of_the_rule_exists() -> None:
    files = {lexicon().lexname(synset) for synset in range(lexicon().nouns, len(lexicon()))}
    assert files > BODILY | MIXED
    assert not BODILY & MIXED
