"""The page of a comparison of the demo's models, for all tests of pages."""

from pathlib import Path

import pytest

import shoe
from shoe.benchmarks.truth import GroundTruth
from shoe.comparison.sweeps import Point, RankStability, Setting
from shoe.demo import PREDICTIONS, TRUTH
from tests.report.page.made import write


@pytest.fixture(scope="session")
def truth() -> GroundTruth:
    return shoe.read_ground_truth(TRUTH)


@pytest.fixture(scope="session")
def demo(truth: GroundTruth, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    points = [Point(Setting("delta", value, value == 0.5), {"map": (value, 0.4)}) for value in (0.1, 0.5, 0.9)]
    points.append(Point(Setting("delta", 0.25), {"map": (0.12345, None)}))
    survivals = [RankStability("map", 2, (points[0].setting,), -1.0), RankStability("mf1", 1, (), None)]
    models = {name: shoe.read_predictions(file) for name, file in PREDICTIONS.items()}
    write(path, models, truth, swept=(points, survivals))
    return path
