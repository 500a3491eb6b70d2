"""Programs in scripts/."""

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from simulated_studies import SPAMMERS, Population, careless

from shoe.benchmarks.truth import GroundTruth
from shoe.demo import DATA
from shoe.study.analysis import excluded
from shoe.study.sampling import simulated
from tests.scripts.conftest import SCRIPTS, loaded


@pytest.mark.real_data
def test_the_sample_is_what_the_script_makes(shared_data: Path, tmp_path: Path) -> None:
    source = shared_data / "hico_det" / "instances_test2015.json"
    subprocess.run([sys.executable, SCRIPTS / "make-demo-data", source, tmp_path], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(path.name for path in DATA.iterdir())
    for path in tmp_path.iterdir():
        assert path.read_bytes() == (DATA / path.name).read_bytes(), path.name


def test_the_sample_shows_many_classes_rare_ones_and_an_image_without_any(sample: GroundTruth) -> None:
    assert len(sample.interactions.images) == 200
    shown = sample.triplets_per_class > 0
    assert shown.sum() > 300
    assert (shown & sample.classes.rare).sum() > 50
    assert (sample.interactions.offsets[1:] == sample.interactions.offsets[:-1]).any()
    assert sample.split == "test2015/part"


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
