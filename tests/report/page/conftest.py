"""One comparison of the demo's models, and its page, for all tests of pages."""

from collections.abc import Mapping
from pathlib import Path

import pytest

import shoe
from shoe.benchmarks.truth import GroundTruth
from shoe.comparison.compare import Comparison, compare
from shoe.comparison.run import Run
from shoe.comparison.sweeps import Point, RankStability, Setting
from shoe.demo import PREDICTIONS, TRUTH
from shoe.report.page.build import write_page
from shoe.scoring.score import Report


@pytest.fixture(scope="session")
def truth() -> GroundTruth:
    return shoe.read_ground_truth(TRUTH)


@pytest.fixture(scope="session")
def reports(truth: GroundTruth) -> Mapping[str, Report]:
    tables = {name: shoe.read_predictions(file) for name, file in PREDICTIONS.items()}
    return {name: shoe.score(table, truth, protocols=["hico-det", "shoe"]) for name, table in tables.items()}


@pytest.fixture(scope="session")
def found(reports: Mapping[str, Report]) -> Comparison:
    return compare([Run.from_report(report, name) for name, report in reports.items()], resamples=20)


@pytest.fixture(scope="session")
def demo(found: Comparison, reports: Mapping[str, Report], tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    points = [Point(Setting("delta", value, value == 0.5), {"map": (value, 0.4)}) for value in (0.1, 0.5, 0.9)]
    points.append(Point(Setting("delta", 0.25), {"map": (0.12345, None)}))
    survivals = [RankStability("map", 2, (points[0].setting,), -1.0), RankStability("mf1", 1, (), None)]
    write_page(path, found, reports, "shoe compare ... --html report.html", swept=(points, survivals))
    return path
