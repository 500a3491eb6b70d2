"""Raters that stand in for models."""

from collections.abc import Iterator

import pytest

from tests.maps.standin import know_this_kind


@pytest.fixture(scope="module")
def stand_in() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        know_this_kind(patch.setitem)
        yield
