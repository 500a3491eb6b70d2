"""The second phase of a study: each pair again with a picture, and the rating is kept or changed."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe.predictions.truth import read_ground_truth
from shoe.study.folder import load_study
from shoe.study.plan import Study
from tests.cli.run import refused, run
from tests.study.browser import opened, saved, violations
from tests.study.made import HUMAN, SIZE, THING, illustrated, scene

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab")
    truth, images = illustrated(path)
    done = run("study", "new", path / "study", "--items", "20", "--ground-truth", truth, "--images", images)
    assert (done.returncode, done.stderr) == (0, "")
    assert "20 pictures" in done.stdout
    return path


def kept(folder: Path) -> Study:
    study = load_study(folder)
    assert isinstance(study, Study)
    return study


def test_each_item_has_a_picture_of_its_first_class_and_words_come_first(lab: Path) -> None:
    study, truth = kept(lab / "study"), read_ground_truth(lab / "truth.npz")
    for item in study.items:
        assert bool(item.picture) == (item.gold is None)
        if item.picture:
            shown = truth.hoi[truth.interactions.images.index(item.picture.image)]
            of = truth.classes
            words = (of.verbs[of.verb[shown]], of.objects[of.object[shown]])
            assert item.words_a == tuple(word.replace("_", " ") for word in words)
            assert (item.picture.size, item.picture.human, item.picture.object) == (SIZE, HUMAN, THING)
    orders = [study.order(rater) for rater in range(2)]
    for order in orders:
        phases = [question.phase for question in order]
        assert phases == sorted(phases, reverse=True)
        again = [question.item for question in order if question.phase == "picture"]
        assert sorted(again) == [i for i, item in enumerate(study.items) if item.picture]
    assert orders[0][-20:] != orders[1][-20:]
    # Pictures change no item.
    run("study", "new", lab / "plain", "--items", "20")
    without = [msgspec.structs.replace(item, picture=msgspec.UNSET) for item in kept(lab / "study").items]
    assert without == kept(lab / "plain").items


def test_large_pictures_are_made_smaller_and_boxes_with_them(lab: Path, tmp_path: Path) -> None:
    (tmp_path / "images").mkdir()
    for path in (lab / "images").iterdir():
        scene(tmp_path / "images" / path.name, "large", (2 * SIZE[0], 2 * SIZE[1]))
    min((tmp_path / "images").iterdir()).write_bytes(b"no picture")
    given = "--ground-truth", lab / "truth.npz", "--images", tmp_path / "images"
    assert run("study", "new", tmp_path / "study", "--items", "20", *given).returncode == 0
    for item in kept(tmp_path / "study").items:
        if item.picture:
            assert (item.picture.size, item.picture.human) == ((480, 360), tuple(edge * 0.75 for edge in HUMAN))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ratings_are_kept_and_changed_by_keyboard(lab: Path, browser: Any, tmp_path: Path, scheme: Any) -> None:
    study = kept(lab / "study")
    order = study.order(0)
    words = sum(question.phase == "words" for question in order)
    with opened(browser, lab / "study" / "rater-1.html") as tab:
        tab.emulate_media(color_scheme=scheme)
        tab.get_by_role("button", name="I agree").click()
        tab.get_by_role("button", name="Try it").click()
        for _ in study.training:
            tab.keyboard.press("0")
        for question in order[:words]:
            tab.keyboard.press(str(question.item % 4))
        assert "picture" in tab.inner_text("h1")
        tab.get_by_role("button", name="Go on").click()
        for number, question in enumerate(order[words:]):
            item = study.items[question.item]
            assert f"{words + number + 1} of {len(order)}" in tab.inner_text("main")
            assert f"words you said {question.item % 4}" in tab.inner_text("main")
            label = f"a person and {item.words_a[1]}: {' '.join(item.words_a)}"
            assert tab.locator("svg").get_attribute("aria-label") == label
            tab.wait_for_selector("svg image[href^='data:image/jpeg']", state="attached")
            if number == 0:
                assert tab.get_by_role("button", name="back").is_enabled()  # nothing is judged by a picture yet
                assert violations(tab) == []
                assert tab.evaluate("document.documentElement.scrollWidth") <= 400
            if number == 1:
                tab.reload()
                tab.get_by_role("button", name="Go on").click()
                tab.keyboard.press("ArrowLeft")
                assert not tab.get_by_role("button", name="back").is_enabled()  # what was said by words stays
                tab.keyboard.press("Enter")
            if number == 3:
                tab.keyboard.press("4")
                tab.keyboard.press("ArrowLeft")
                assert tab.locator("[aria-pressed=true]").inner_text().startswith("4")
            tab.keyboard.press(("Enter", "k", "4")[number % 3])
        returned = saved(tab, tmp_path / "rater-1.json")
    table = tmp_path / "answers.csv"
    assert run("study", "collect", lab / "study", returned, "--out", table).returncode == 0
    found = json.loads(run("study", "report", table, "--json", "-").stdout)
    changed = [4 - question.item % 4 for question in order[words + 2 :: 3]]
    assert (found["picture"]["answers"], found["picture"]["changed"]["value"]) == (20, len(changed) / 20)
    assert found["picture"]["size"]["value"] == pytest.approx(sum(changed) / len(changed))


def test_what_pictures_cannot_be_had_from(lab: Path, tmp_path: Path) -> None:
    new = "study", "new", tmp_path / "study", "--items", "20"
    truth = "--ground-truth", lab / "truth.npz"
    refused(run(*new, *truth), "--ground-truth ", "--for, --images")
    refused(run(*new, *truth, "--images", tmp_path / "none"), "none: found no such folder")
    refused(run(*new, *truth, "--images", tmp_path), "found no image")
    refused(run("study", "new", lab / "study", "--items", "20"), "holds another study")
    assert list(tmp_path.iterdir()) == []
