import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.lexicon.store import lexicon
from shoe.rating.neighbourhood import BODILY, MIXED, verb_vocabulary


def synsets(*names: str) -> np.typing.NDArray[np.int32]:
    return np.array([lexicon().synset(name) for name in names], np.int32)


def names(*classes: str) -> set[str]:
    return {lexicon().name(synset) for synset in verb_vocabulary(synsets(*classes)).tolist()}


def test_the_counts_that_the_documents_state() -> None:
    classes = {name for name in benchmark("hico-det").classes.verb_synsets if name}
    assert len(verb_vocabulary(synsets(*classes))) == 7172
    assert len(verb_vocabulary(synsets())) == 6289
    assert len(lexicon()) - lexicon().nouns == 13767


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("ride.v.01", "a movement"),
        ("frog.v.01", "a movement that no tagged text has"),
        ("cook.v.03", "a visible change that tagged texts have"),
        ("give.v.03", "a visible act of giving that tagged texts have"),
    ],
)
def test_what_is_in_for_any_dataset(name: str, why: str) -> None:
    assert name in names()


@pytest.mark.parametrize("name", ["know.v.01", "promise.v.01", "hate.v.01", "appoint.v.01", "differ.v.01", "rain.v.01"])
def test_what_nobody_can_see_is_out(name: str) -> None:
    assert name not in names()
    assert name in names(name), "a class's own sense is always in"


def test_what_is_like_a_class_is_in_whatever_its_file() -> None:
    brought = names("sign.v.01") - names()
    assert {"sign.v.01", "handwrite.v.01", "communicate.v.02"} <= brought


def test_it_ascends_without_repeats_and_holds_verbs_alone() -> None:
    found = verb_vocabulary(synsets("ride.v.01", "ride.v.01"))
    assert (np.diff(found) > 0).all()
    assert (found >= lexicon().nouns).all()


def test_every_lexicographer_file_of_the_rule_exists() -> None:
    files = {lexicon().lexname(synset) for synset in range(lexicon().nouns, len(lexicon()))}
    assert files > BODILY | MIXED
    assert not BODILY & MIXED
