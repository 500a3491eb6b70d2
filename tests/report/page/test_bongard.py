"""The page of sampled problems: it asks for nothing, holds hostile names, and shows the crop that a problem means."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shoe.report.bongard import problem_page
from shoe.report.page.rendering import write_document
from tests.scoring.bongard.made import BOX, CROP, problems_of

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
