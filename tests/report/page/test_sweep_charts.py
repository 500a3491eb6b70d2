"""The charts of a sweep: values where they belong, gaps where there are none, and everything said in words, too."""

import re

import pytest

from shoe.comparison.sweeps import Point, RankStability, Setting
from shoe.report.comparison import NAMES
from shoe.report.page.svg import sweep_charts

HIGH, ASKED, LOW = Setting("delta", 0.9), Setting("delta", 0.5, asked=True), Setting("delta", 0.1)
RATERS = [Setting("ensemble", "mean", asked=True), Setting("rater", "a rater of a very long name")]


def test_a_choice_is_drawn_with_what_was_asked_for_and_where_models_change_places() -> None:
    values = [(0.2, 0.1), (0.3, 0.2), (0.1, 0.4)]
    points = [Point(setting, {"map": of}) for setting, of in zip((LOW, ASKED, HIGH), values, strict=True)]
    charts = sweep_charts(["<a>", "b"], points, [RankStability("map", 2, (HIGH,), -1.0)])
    assert {name: list(of) for name, of in charts.items()} == {"SHOE-mAP": ["delta"]}
    made = charts["SHOE-mAP"]["delta"]
    assert "; &lt;a&gt;: 0.1 20.00, 0.5 30.00, 0.9 10.00; b: 0.1 10.00" in made
    assert "Requested: 0.5. " in made
    assert "places under 0.9." in made
    assert [float(v) for v in re.findall(r'y="[\d.]+" class="end">([\d.]+)<', made)] == [10, 20, 30, 40]
    first, second = ([float(n) for n in re.findall(r"[\d.]+", d)] for d in re.findall(r' d="([^"]*)"', made))
    assert first[0::2] == second[0::2] == pytest.approx([42, 138, 234])
    assert first[1::2] == pytest.approx([150 - 128 / 3, 150 - 256 / 3, 150], abs=0.1)
    assert second[1::2] == pytest.approx([150, 150 - 128 / 3, 22], abs=0.1)
    assert re.findall(r'x="([\d.]+)"[^>]*>↕', made) == ["234.0"]
    assert re.findall(r'<line x1="([\d.]+)"[^>]*class="asked"', made) == ["138.0"]


def test_raters_are_rows_and_what_has_no_value_is_a_gap() -> None:
    points = [Point(setting, {"mf1": of}) for setting, of in zip(RATERS, ((0.2, None), (0.2, 0.3)), strict=True)]
    charts = sweep_charts(["a", "b"], [*points, Point(LOW, {"mf1": (0.2, 0.2)})], [])
    assert list(charts) == ["SHOE-mF1"]
    ((by, made),) = charts["SHOE-mF1"].items()  # one value of delta is no curve
    assert by.startswith("ensemble")
    long = str(RATERS[1].value)
    assert f">{long[:12]}…<title>{long}<" in made
    assert f"; b: mean none, {long} 30.00. Requested: mean." in made
    assert (made.count("<circle"), made.count(">↕")) == (3, 0)


def test_equal_values_have_a_chart_too() -> None:
    points = [Point(setting, {"strict": (0.0,)}) for setting in (LOW, HIGH)]
    assert 'd="M42 150L234 150"' in sweep_charts(["a"], points, [])[NAMES["strict"]]["delta"]
