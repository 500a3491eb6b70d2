import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import benchmark
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
    found = preposition_weights(["stand_under", "stand_on", "ride"], said)
    assert found.tolist() == [[0.5, 1, 1, 0.5, 1], [0.5, 1, 0.5, 1, 0.5], [1, 1, 1, 1, 1]]


@given(st.text(), st.sampled_from(VERBS))
def test_weights_are_shares_and_a_label_has_all_of_its_own(text: str, label: str) -> None:
    found = preposition_weights(VERBS, [text, label, f"{text} / {label}"])
    assert ((found > 0) & (found <= 1)).all()
    assert found[VERBS.index(label), 1] == 1
    assert (found[:, 2] >= np.minimum(found[:, 0], found[:, 1])).all()
