"""Similarity of interactions from that of their parts."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import OptionError
from shoe.similarity import combine
from shoe.similarity.ensemble import COMBINATIONS

UNIT = st.floats(0, 1)


def one(verb: float, object_: float, how: str, weight: float = 0.5) -> float:
    return float(combine(np.array(verb), np.array(object_), how, weight))


@given(UNIT, UNIT, UNIT)
def test_formulas_and_their_order(verb: float, object_: float, weight: float) -> None:
    assert one(verb, object_, "arithmetic", weight) == weight * verb + (1 - weight) * object_
    assert one(verb, object_, "minimum", weight) == min(verb, object_)
    assert one(verb, object_, "geometric", weight) == pytest.approx(verb**weight * object_ ** (1 - weight), rel=1e-14)

    for how in COMBINATIONS:
        assert min(verb, object_) - 1e-12 <= one(verb, object_, how, weight) <= max(verb, object_) + 1e-12
    minimum, geometric, arithmetic = (one(verb, object_, how) for how in ("minimum", "geometric", "arithmetic"))
    assert minimum <= geometric + 1e-12 <= arithmetic + 2e-12


def test_arrays_broadcast() -> None:
    assert combine(np.ones((3, 1)), np.zeros(4), "arithmetic", 0.25).tolist() == [[0.25] * 4] * 3


@pytest.mark.parametrize(("how", "weight"), [("harmonic", 0.5), ("arithmetic", 1.5), ("arithmetic", float("nan"))])
def test_options_outside_their_range(how: str, weight: float) -> None:
    with pytest.raises(OptionError):
        one(1, 1, how, weight)
