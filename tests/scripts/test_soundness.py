"""The search for unsound scenes finds what is known to be unsound, and nothing in what depends on no order."""

from types import ModuleType

import pytest

from tests.scripts.conftest import loaded


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return loaded("soundness")


@pytest.mark.slow
def test_orders_move_the_letter_and_not_shoe(script: ModuleType) -> None:
    tallies = script.search(range(60))
    moved = {name: sum(tallies[f"{name} | SHOE-mAP", what].times for what in script.ORDERS) for name in script.SEMANTIC}
    assert moved["shoe"] == 0
    assert moved["shoe-literal"] > 0
    figure = "shoe-literal | SHOE-mAP"
    cases = tallies[figure, "word put right"].found
    smallest = script.smallest(figure, cases)
    assert script.fall(figure, *smallest) > script.ROUNDING
    assert script.size(smallest[0]) <= min(script.size(found) for found, _ in cases)
    assert "word put right" in script.described(figure, *smallest)
