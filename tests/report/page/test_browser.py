"""The page in a browser: it asks for nothing, complains of nothing, and sorts, filters, shows and scores again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoe
from shoe.benchmarks.truth import GroundTruth
from shoe.comparison.compare import single_run
from shoe.comparison.run import Run
from shoe.demo import PREDICTIONS, TRUTH
from shoe.report.page.build import write_page
from tests.cli.run import run
from tests.report.page.made import write, write_hostile

pytestmark = pytest.mark.slow


class Opened:
    """A page, and everything that it complained of or asked for."""

    def __init__(self, browser: Any, path: Path, **how: Any) -> None:
        self.page = browser.new_page(**how)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda said: self.complaints.append(said.text) if said.type != "log" else None)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]")

    def texts(self, selector: str) -> list[str]:
        return [str(text) for text in self.page.locator(selector).all_text_contents()]

    def set(self, slider: str, value: float) -> None:
        self.page.locator(f"#{slider}").fill(str(value))
        self.page.wait_for_selector("#rescored:not([aria-busy])")

    def close(self) -> None:
        assert self.complaints == []
        assert [url for url in self.asked if not url.startswith(("file:", "blob:", "data:"))] == []
        self.page.close()


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 400)])
def test_nothing_is_wider_than_the_window_and_all_shows(browser: Any, demo: Path, scheme: str, width: int) -> None:
    opened = Opened(browser, demo, color_scheme=scheme, viewport={"width": width, "height": 900})
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= width
    assert opened.texts("#summary th bdi") == ["detector", "free text"]
    assert opened.page.get_by_role("img", name="places under 0.1").bounding_box()["width"] > 200
    ground = opened.page.evaluate("getComputedStyle(document.body).backgroundColor").removeprefix("rgb(").rstrip(")")
    assert (sum(map(int, ground.split(","))) < 3 * 60) == (scheme == "dark")
    opened.close()


def test_classes_are_sorted_and_filtered(browser: Any, demo: Path) -> None:
    opened = Opened(browser, demo)
    page = opened.page
    page.locator("#class-head button", has_text="class").click()
    labels = opened.texts("#class-rows tr th button")
    assert (len(labels), labels) == (600, sorted(labels))
    page.locator("#class-head button", has_text="truths").click()
    truths = [int(text) for text in opened.texts("#class-rows tr td:nth-child(2)")]
    assert truths == sorted(truths, reverse=True)
    page.locator("#filter").fill("ride hor")
    assert opened.texts("#class-rows button") == ["ride horse"]
    page.locator("#class-rows button").focus()
    page.keyboard.press("Enter")
    assert opened.texts("#curves h3") == ["ride horse"]
    assert page.locator("#curves path.line").count() >= 2
    page.locator("#filter").fill("no such class")
    assert opened.texts("#curves") == [""]
    page.locator("#filter").fill("ride")
    assert opened.texts("#curves h3") == ["ride horse"]
    opened.close()


def test_sliders_say_what_the_command_says(browser: Any, demo: Path, truth: GroundTruth) -> None:
    opened = Opened(browser, demo)
    opened.set("weight", 0.3)
    opened.set("delta", 0.65)
    opened.page.locator("#ensemble").select_option(label="majority")
    opened.page.wait_for_selector("#rescored:not([aria-busy])")
    options = [each.removeprefix("-o ") for each in opened.texts("#same-options")[0].split(" -o ")]
    for number, file in enumerate(PREDICTIONS.values()):
        wanted = shoe.score(shoe.read_predictions(file), truth, protocols=["shoe"], options=options).semantic
        row = opened.page.locator("#rescored tr").nth(number)
        for figure in ("map", "mf1", "gt_miss_rate", "prediction_miss_rate"):
            value = row.locator(f"[data-figure={figure}]").get_attribute("data-value")
            assert float(value) == pytest.approx(getattr(wanted, figure), abs=1e-9)
    opened.page.locator("#reset").click()
    assert opened.page.locator("#rescored .change").count() == 0
    opened.close()


def test_examples_show_boxes_and_say_why(browser: Any, demo: Path) -> None:
    opened = Opened(browser, demo)
    page = opened.page
    assert page.locator("#canvas .triplet rect").count() > 0
    page.locator("#example-models button").nth(1).click()
    page.locator("#image").select_option(index=9)
    page.locator("#said button", has_text="σ").first.focus()
    assert page.locator("#canvas .pointed").count() == 2
    assert page.locator("#why meter").count() == 2
    assert "σ =" in opened.texts("#why")[0]
    page.locator("#next").click()  # without an image, the frame shows the boxes of one line only
    first = page.locator("#said button").first.evaluate("each => each.textContent.includes('missed') ? 1 : 2")
    assert page.locator("#canvas .pointed").count() <= first
    assert page.locator("#canvas .triplet:visible").count() == page.locator("#canvas .pointed").count() > 0
    opened.close()


def test_the_command_writes_the_page(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "of command.html"
    done = run("compare", *PREDICTIONS.values(), "-g", TRUTH, "--resamples", "9", "--html", path)
    assert (done.returncode, done.stderr) == (0, "")
    opened = Opened(browser, path)
    assert opened.texts("#summary td span")[0] == "67.98"
    assert opened.texts("#command")[0].endswith(f"--html '{path.name}'")
    opened.close()


def test_hostile_names_stay_names(browser: Any, truth: GroundTruth, tmp_path: Path) -> None:
    path = tmp_path / "hostile.html"
    write_hostile(path, truth)
    opened = Opened(browser, path, viewport={"width": 400, "height": 900})
    assert "taken" not in opened.page.title().split(": ")[0]
    assert opened.page.title().startswith("shoe: ")
    assert opened.page.evaluate("document.documentElement.scrollWidth") <= 400
    assert opened.page.locator("img, main script").count() == 0
    assert opened.texts("#command")[0].endswith("compare '</script>' <b>&amp;")
    opened.page.locator("#said button").first.focus()
    opened.set("weight", 0.4)
    opened.close()


def test_pictures_and_runs_without_predictions(browser: Any, truth: GroundTruth, tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image", reason="pillow is not installed")
    for name in truth.interactions.images:
        image.fromarray(np.full((60, 80, 3), 90, np.uint8)).save(tmp_path / name)
    models = {name: shoe.read_predictions(file) for name, file in PREDICTIONS.items()}
    found = write(tmp_path / "pictures.html", models, truth, images=tmp_path)
    opened = Opened(browser, tmp_path / "pictures.html")
    assert opened.page.locator("#canvas image").count() == 1
    opened.close()
    write_page(tmp_path / "runs.html", found, {}, "shoe compare a.shoe b.shoe")
    opened = Opened(browser, tmp_path / "runs.html")
    assert "predictions" in opened.texts("#settings p")[0]
    assert opened.page.locator("#weight, #canvas").count() == 0
    assert opened.page.locator("#class-rows tr").count() == 600
    opened.close()
    bare = replace(found, runs=tuple(replace(run, strict=(), semantic=None) for run in found.runs), statistics=None)
    write_page(tmp_path / "nothing.html", bare, {}, "shoe compare a.shoe b.shoe")
    opened = Opened(browser, tmp_path / "nothing.html")
    assert opened.page.locator("#class-rows").count() == 0
    opened.close()


def test_a_page_of_one_model_tells_no_image_unless_it_may(browser: Any, truth: GroundTruth, tmp_path: Path) -> None:
    report = shoe.score(shoe.read_predictions(PREDICTIONS["free text"]), truth)
    found = single_run(Run.from_report(report, "mine"), resamples=20)
    for shown in (True, False):
        write_page(tmp_path / "one.html", found, {"mine": report}, "shoe score mine.json", shown=shown)
        opened = Opened(browser, tmp_path / "one.html")
        assert opened.texts("h1") == ["mine"]
        assert opened.page.locator("#class-rows tr").count() == 600
        assert opened.page.locator("#class-head th").count() == 3
        assert opened.page.locator("#canvas, #weight").count() == 2 * shown
        assert (opened.page.locator(".plots svg").count() > 0) == shown
        opened.close()
