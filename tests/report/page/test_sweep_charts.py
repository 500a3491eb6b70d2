"""Charts of sweeps, and pages of Bongard problems."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoe.comparison.sweeps import Point, RankStability, Setting
from shoe.report.bongard import problem_page
from shoe.report.comparison import NAMES
from shoe.report.page.rendering import write_document
from shoe.report.page.svg import sweep_charts
from tests.scoring.bongard.made import BOX, CROP, problems_of

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


GROUPS = ("seen_obj_seen_act", "unseen_obj_seen_act")


def test_boxes_stand_in_their_crop_at_its_true_size() -> None:
    page = problem_page(problems_of(1), None, 1, 0)
    assert page.count("<svg") == page.count('viewBox="0 0 100 100"') == 14
    left, top, right, bottom = (edge - CROP[0] for edge in BOX)
    shown = f'x="{left:g}" y="{top:g}" width="{right - left:g}" height="{bottom - top:g}" class="triplet human"'
    assert page.count(shown) == 14
    assert "<image" not in page


def test_a_sample_follows_the_seed_and_names_are_text() -> None:
    problems = problems_of(12, GROUPS)
    pages = [problem_page(problems, None, 2, seed) for seed in (0, 0, 1)]
    assert pages[0] == pages[1] != pages[2]
    assert [page.count("<article") for page in pages] == [4, 4, 4]
    assert pages[0].index("Seen object, seen") < pages[0].index("Unseen object, seen")
    made = problems_of(1)
    named = replace(made, regions=replace(made.regions, objects=("<script>x</script>",)))
    page = problem_page(named, None, 1, 0)
    assert "<script" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1280])
def test_it_asks_for_nothing_and_fits(width: int, browser: Any, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    folder = tmp_path / "images"
    folder.mkdir()
    for number in range(1, 14):
        image.new("RGB", (200, 150), (20 * number, 90, 120)).save(folder / f"{number:03d}.jpg")
    image.new("RGB", (80, 60)).save(folder / "000.jpg")  # the crop leaves it
    path = tmp_path / "page.html"
    write_document(path, problem_page(problems_of(2, GROUPS), folder, 3, 0))
    page = browser.new_page(viewport={"width": width, "height": 900})
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url[:40]))
    page.on("console", lambda message: said.append(message.text))
    page.goto(path.as_uri())
    assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()[:40]]
    assert said == []
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("svg image").count() == 14  # the second problem's images are missing
    assert (page.locator("svg").count(), page.locator('svg image[width="70"][height="50"]').count()) == (28, 1)
    assert not re.search("https?://(?!www.w3.org)", path.read_text())
    page.close()
