"""Figures over seeds: those of each seed alone, taken together."""

from collections.abc import Callable, Iterable
from statistics import mean, stdev
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import OptionError
from shoe.diagnosis.diagnose import Diagnosis
from tests.diagnosis.by_hand import AWAY, O1, O2, P1, P2, RIDE, comparable, diagnosed, image
from tests.examples import examples
from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import random_scenes


def over(figures: Iterable[float | None], of: Callable[[list[float]], float]) -> float | None:
    there = [figure for figure in figures if figure is not None]
    return of(there) if there else None


@examples(0.2)
@given(found=comparable(), keep=st.booleans())
def test_figures_are_the_means_of_those_of_each_seed(found: list[ImageScene], keep: bool) -> None:
    how = {"no_interaction": "keep" if keep else "exclude"}
    agree(diagnosed(*found, seed=3, seeds=4, **how), [diagnosed(*found, seed=3 + k, seeds=1, **how) for k in range(4)])


@pytest.mark.slow
def test_they_are_on_many_images() -> None:
    scenes = random_scenes(np.random.default_rng(5), 300, n_predictions=30, decimals=1)
    agree(diagnosed(*scenes), [diagnosed(*scenes, seed=seed, seeds=1) for seed in range(20)])


def agree(together: Diagnosis, alone: list[Diagnosis]) -> None:
    # One seed alone counts by another way: its states, held to the slow oracle.
    single = [{name: one.means_after(state).minus(one.means) for name, state in one.states.items()} for one in alone]
    for name, delta in together.deltas.items():
        for part, value in enumerate(delta):
            of_each = [deltas[name][part] for deltas in single]
            assert value == pytest.approx(over(of_each, mean), abs=1e-9)
            spread = over(of_each, lambda there: stdev(there) if len(there) > 1 else 0.0)
            assert together.spreads[name][part] == pytest.approx(spread, abs=1e-9)
    for number, step in enumerate(together.progression):
        for part, value in enumerate(step.means):
            of_each = [one.progression[number].means[part] for one in alone]
            assert value == pytest.approx(over(of_each, mean), abs=1e-9)
    assert together.counts["missed_gt"] == round(mean(int((one.truth_status == 2).sum()) for one in alone))
    assert together.target.tolist() == alone[0].target.tolist()


def test_two_seeds_by_hand() -> None:
    """P1 kisses a horse that it rides and holds, each seed gains one of the two; the wrong box gains the same always.

    Three classes: ride and hold with one truth each, and feed, which the box error makes right.
    """
    truth = [RIDE, Triplet(P1, O1, "hold", "horse"), Triplet(P2, O2, "feed", "horse"), Triplet(P2, O1, "ride", "horse")]
    scene = image(truth, [Triplet(P1, O1, "kiss", "horse", 0.9), Triplet(AWAY, O2, "feed", "horse", 0.8)])
    rides = [int(diagnosed(scene, seed=seed).target[0]) for seed in range(20)].count(0) / 20
    found = diagnosed(scene)
    # Of two truths of ride one is found: 1/2 over three classes; hold: 1/3.
    assert found.deltas["interaction"].map == pytest.approx(rides / 6 + (1 - rides) / 3)
    assert found.spreads["interaction"].map == pytest.approx((rides * (1 - rides) * 20 / 19) ** 0.5 / 6)
    assert found.deltas["human_box"].map == pytest.approx(1 / 3)
    assert found.spreads["human_box"].map == pytest.approx(0)


@pytest.mark.parametrize("how", [{"choice": "greedy"}, {"variant": "released"}, {"seeds": 1}], ids=str)
def test_what_is_not_drawn_has_no_spread(how: dict[str, Any]) -> None:
    found = diagnosed(image([RIDE], [Triplet(P1, O1, "kiss", "horse", 0.5)]), **how)
    assert set(found.spreads["interaction"]) <= {0.0, None}


@pytest.mark.parametrize("seeds", [0, 1001])
def test_how_many_seeds(seeds: int) -> None:
    with pytest.raises(OptionError, match=f"seeds: found {seeds}, .*1000"):
        diagnosed(image([], []), seeds=seeds)
