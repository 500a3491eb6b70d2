"""SHOE-mAP under single raters: what each sees, who is left out, and what the figures are."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import shoe
from shoe.benchmarks.truth import read_truth_file
from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions
from shoe.report.evidence import notes
from shoe.report.score import Score
from shoe.scoring.evidence import interval, spread
from shoe.scoring.evidence.collect import Evidence
from shoe.scoring.evidence.facts import Spread, single_rater_map
from shoe.scoring.score import Report
from shoe.similarity import SimilarityMap
from tests.maps.samples import Rows, made

ROWS: Rows = {
    "ride.v.01 straddle.v.01": (3, 2, None),
    "ride.v.01 sit.v.01": (None, 1, None),
    "ride.v.01 board.v.01": (None, None, 4),
    "horse.n.01 pony.n.01": (4, 0, None),
}


@pytest.fixture
def similarity(tmp_path: Path) -> SimilarityMap:
    return made(tmp_path / "map", ROWS, ("one", "two", "alone"))


def value(similarity: SimilarityMap, of_class: str, sense: str) -> float:
    return float(similarity.between("verb" if ".v." in sense else "object", [of_class], [sense])[0, 0])


def test_a_rater_sees_own_ratings_and_the_ensembles_elsewhere(similarity: SimilarityMap) -> None:
    raters = [single_rater_map(similarity, column) for column in range(3)]
    for pair, expected in zip(ROWS, ([0.75, 0.5, 0.625], [0.25] * 3, [1, 1, 1], [1, 0, 0.5]), strict=True):
        assert [value(rater, *pair.split()) for rater in raters] == expected


def scored(folder: Path, rows: Rows, raters: Sequence[str]) -> Report:
    """The packaged sample under a map that is made of these rows."""
    made(folder / "-".join(raters), rows, raters)
    table = read_predictions(PREDICTIONS["free text"])
    return shoe.score(table, read_truth_file(TRUTH), similarity=folder / "-".join(raters), protocols=["shoe"])


def held() -> list[str]:
    names = SimilarityMap.load("hico-det").tables["verb"].names()
    return [" ".join(pair) for pair in names if pair[0] == "hold.v.02"]


def test_each_figure_is_that_of_a_map_of_this_rater(tmp_path: Path) -> None:
    rows: Rows = {pair: (i % 5, i % 3) for i, pair in enumerate(held())}
    both = spread(scored(tmp_path, rows, ("one", "two")))
    assert both is not None
    for column, name in enumerate(("one", "two")):
        report = scored(tmp_path, {pair: (ratings[column],) for pair, ratings in rows.items()}, (name,))
        assert report.semantic is not None
        assert both.raters[name] == report.semantic.map
        assert spread(report) is None
    assert both.raters["one"] != both.raters["two"]


def test_who_shares_no_pair_is_left_out(tmp_path: Path) -> None:
    rows: Rows = {pair: (i % 5, i % 3, None) if i % 2 else (None, None, 3) for i, pair in enumerate(held())}
    report = scored(tmp_path, rows, ("one", "two", "alone"))
    evidence = Evidence.from_report(report, bounds=True)
    assert evidence.spread is not None
    assert list(evidence.spread.raters) == ["one", "two"]
    assert Score.from_report(report, evidence).to_dict()["semantic"]["raters"] == evidence.spread.raters
    (line,) = (line for line in notes(report, evidence) if line.startswith("raters "))
    for figure in ("low", "high", "deviation"):
        assert f"{100 * getattr(evidence.spread, figure):.2f}" in line
    assert not {"raters", "map_interval"} & set(Score.from_report(report).to_dict()["semantic"])


def test_range_and_deviation() -> None:
    found = Spread({"a": 0.2, "b": 0.4, "c": 0.3})
    assert (found.low, found.high) == (0.2, 0.4)
    assert found.deviation == pytest.approx(0.1)


def test_strict_figures_have_no_spread() -> None:
    report = shoe.score(read_predictions(PREDICTIONS["free text"]), read_truth_file(TRUTH), protocols=["hico-det"])
    assert (spread(report), interval(report)) == (None, None)
