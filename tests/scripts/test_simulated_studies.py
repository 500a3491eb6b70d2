"""Simulated raters: those who do not look are found by the rules, and all others kept."""

import numpy as np
import pytest
from simulated_studies import SPAMMERS, Population, careless

from shoe.study.analysis import excluded
from shoe.study.sampling import simulated


@pytest.mark.slow
def test_raters_who_answer_at_random_are_excluded_and_others_are_not() -> None:
    study = careless(simulated(100, 2_000, 1), 1)
    assert len(excluded(study)) / 2_000 == pytest.approx(SPAMMERS, abs=0.015)
    assert (study.first[~study.measured] >= 0).mean() > 0.9


def test_drawn_pairs_stand_for_their_population() -> None:
    population = Population.simulated(400, 0)
    for study in (population.by_influence(50, 2, 3), population.by_stratum(50, 2, 3)):
        assert study.weights is not None
        assert len(study.items) == 50
        assert study.weights.population == pytest.approx(400, rel=0.25)
    assert np.array_equal(population.by_influence(50, 2, 3).first, population.by_influence(50, 2, 3).first)
