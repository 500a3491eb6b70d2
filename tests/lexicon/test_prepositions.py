import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import benchmark
from shoe.lexicon.resolve import resolve
from shoe.lexicon.senses import preposition_weights, relation

VERBS = benchmark("hico-det").classes.verbs


@pytest.mark.parametrize(
    ("verb", "where"),
    [
        ("stand_under", "under"),
        ("standing beneath", "under"),
        ("sitting on top of", "on"),
        ("standing in front of", "near"),
        ("standing in", "in"),
        ("standing next to", "near"),
        ("walking away from", "past"),
        ("standing over", "over"),
        ("sitting down at", "at"),
        ("standing", ""),
        ("on", ""),
        ("", ""),
    ],
)
def test_where_a_verb_says_something_is(verb: str, where: str) -> None:
    assert relation(verb) == where


def test_weights_by_hand() -> None:
    said = ["standing near", "standing", "standing below", "standing on", "standing near / standing below"]
    found = preposition_weights(["stand_under", "stand_on", "hold"], said)
    assert found.tolist() == [[0.5, 1, 1, 0.5, 1], [0.5, 1, 0.5, 1, 0.5], [1, 1, 1, 1, 1]]
    # A motion past a thing is not one of the thing, but what is held may be anywhere.
    found = preposition_weights(["ride", "walk", "hold", "stand_under"], ["riding past", "going beside", "being over"])
    assert found.tolist() == [[0.25, 0.5, 1], [0.25, 0.5, 1], [1, 1, 1], [0.25, 0.5, 0.25]]
    # constructions.tsv: walking beside a dog is taking it for a walk.
    assert preposition_weights(["walk", "ride"], ["walking beside", "riding beside"]).tolist() == [[1, 0.5], [1, 0.5]]


@given(st.text(), st.sampled_from(VERBS))
def test_weights_are_shares_and_a_label_has_all_of_its_own(text: str, label: str) -> None:
    found = preposition_weights(VERBS, [text, label, f"{text} / {label}"])
    assert ((found > 0) & (found <= 1)).all()
    assert found[VERBS.index(label), 1] == 1
    assert (found[:, 2] >= np.minimum(found[:, 0], found[:, 1])).all()


def test_who_is_around_a_thing_may_stand() -> None:
    for verb in ("being near", "being around"):
        assert "stand.v.01" in [sense.name for sense in resolve(verb, "verb").candidates]
