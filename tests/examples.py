"""How many examples and combinations a test tries: few by default, all of them in CI."""

import itertools
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import settings


def examples(share: float) -> settings:
    """The profile's number of examples times a share: above 1 for a cheap property, below 1 for a dear one."""
    return settings(max_examples=max(1, round(share * settings().max_examples)))


def every(count: int, **values: Sequence[Any]) -> pytest.MarkDecorator:
    """Parametrize by all combinations of values; one in ``count`` is fast and the others are slow.

    Each value is in a fast combination if another argument has ``count`` values or more.
    """
    places = itertools.product(*(range(len(of)) for of in values.values()))
    cases = zip(itertools.product(*values.values()), places, strict=True)
    marked = [pytest.param(*case, marks=[pytest.mark.slow] * (sum(place) % count > 0)) for case, place in cases]
    return pytest.mark.parametrize(tuple(values), marked, ids=str)
