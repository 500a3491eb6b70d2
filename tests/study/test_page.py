"""A study from its making to its report: drawn, answered in a browser by keyboard, with and without pictures."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.demo import PREDICTIONS, TRUTH
from shoe.maps.diff import scored
from shoe.predictions.truth import read_ground_truth
from shoe.report.page.study import read_texts
from shoe.similarity import load_similarity
from shoe.study.folder import answers_of, load_study, table_of
from shoe.study.plan import Question, Study, new_study
from shoe.study.ratings import SENSES
from shoe.study.sampling import draw, influential, similarities_of
from tests.cli.run import refused, run
from tests.errors import input_error, says
from tests.present import present
from tests.study.browser import opened, saved, violations
from tests.study.made import HUMAN, SIZE, THING, illustrated, scene

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab") / "study"
    done = run("study", "new", path, "--items", "20", "--raters", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert says(done.stdout, "20 items", "2 gold", "5 practice", "2 raters")
    return path


def kept(folder: Path) -> Study:
    study = load_study(folder)
    assert isinstance(study, Study)
    return study


@pytest.fixture
def tab(browser: Any, folder: Path) -> Iterator[Any]:
    with opened(browser, folder / "rater-1.html") as page:
        yield page


def test_strata_are_drawn_evenly_and_from_the_seed_alone() -> None:
    classes, similarity = benchmark("hico-det").classes, load_similarity("hico-det")
    sample, again, other = (draw(classes, similarity, 100, seed) for seed in (3, 3, 4))
    assert sample.a.tolist() == again.a.tolist() != other.a.tolist()
    assert len(sample.a) == 100 == sum(drawn for _, drawn in sample.strata.values())
    assert len(set(zip(sample.a, sample.b, strict=True))) == 100
    unfilled = [drawn for there, drawn in sample.strata.values() if drawn < there]
    assert max(unfilled) - min(unfilled) <= 1
    assert ((similarities_of(classes, similarity)[sample.a, sample.b] * 4).round() == sample.level).all()
    for column, same in ((classes.verb, sample.differs == 1), (classes.object, sample.differs == 0)):
        assert ((column[sample.a] == column[sample.b]) == same).all()


def test_each_rater_has_an_order_of_its_own_and_repeats_far_apart(folder: Path) -> None:
    study = kept(folder)
    orders = [study.order(rater) for rater in range(2)]
    assert orders[0] != orders[1]
    for order in orders:
        assert Counter(item for item, occasion, _ in order if occasion == 1) == Counter(range(len(study.items)))
        for place, (item, occasion, _) in enumerate(order):
            if occasion == 2:
                assert study.items[item].gold is None
                assert place - order.index(Question(item)) >= len(study.items) // 2
    assert sum(occasion == 2 for _, occasion, _ in orders[0]) == 2


def test_a_study_is_finished_by_keyboard_collected_and_reported(tab: Any, folder: Path, tmp_path: Path) -> None:
    study = kept(folder)
    order = study.order(0)
    tab.get_by_role("button", name="I agree").click()
    tab.get_by_role("button", name="Try it").click()
    for _ in study.training:
        tab.keyboard.press("2")
    given = {}
    for number, (item, occasion, _) in enumerate(order):
        assert f"{number + 1} of {len(order)}" in tab.inner_text("main")
        assert " ".join(study.items[item].words_a) in tab.inner_text("main")
        rating = 4 if study.items[item].gold == 4 else (item + occasion) % 5
        given[item, occasion] = rating
        if number == 3:  # pressed wrong, and put right
            tab.keyboard.press(str((rating + 1) % 5))
            tab.keyboard.press("ArrowLeft")
        if number == 7:  # the browser crashed
            tab.reload()
        if number == 9:  # a second tab answers, and the first goes on behind it
            other = tab.context.new_page()
            other.goto(tab.url)
            other.keyboard.press(str(rating))
            tab.wait_for_function("number => document.body.innerText.includes(number)", arg=f"{number + 2} of")
            other.close()
            continue
        tab.keyboard.press(str(rating))
    with tab.expect_download() as download:
        tab.get_by_role("button", name="Save rater-1.json").click()
    returned = tmp_path / "rater-1.json"
    download.value.save_as(returned)
    assert len(json.loads(returned.read_bytes())["answers"]) == len(order) + 1
    table = tmp_path / "answers.csv"
    done = run("study", "collect", folder, returned, returned, "--out", table)
    assert (done.returncode, done.stdout) == (0, f"{table}: {len(order)} answers of 1 rater\n")
    found = json.loads(run("study", "report", table, "--similarity", "hico-det", "--json", "-").stdout)
    assert (found["all"]["items"], found["retest"]["answers"]) == (20, 2)
    levels = Counter(r for (item, occasion), r in given.items() if occasion == 1 and study.items[item].gold is None)
    assert found["raters"]["rater-1"]["levels"] == [levels[level] for level in range(5)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out(tab: Any, scheme: str) -> None:
    tab.emulate_media(color_scheme=scheme)
    for name in ("I agree", "Try it", "0 not similar", None):
        assert violations(tab) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
        if name:
            tab.get_by_role("button", name=name).click()


def test_what_is_sent_back_is_looked_at(folder: Path, tmp_path: Path) -> None:
    study = kept(folder)
    good = {"study": study.id, "rater": "rater-1", "answers": []}
    last = len(study.items) - 1  # of known rating, so never asked twice
    answer = {"item": 0, "occasion": 1, "phase": "words", "rating": 3, "shown": 0, "answered": 900}
    for change, said in (
        ({"study": "other"}, "study: found 'other'"),
        ({"rater": "eve"}, "rater: found 'eve', expected one of the 2 "),
        ({"answers": [answer | {"rating": 7}]}, "answer 1: found [0, 1, 'words', 7]"),
        ({"answers": [answer | {"item": -1}]}, "answer 1: found [-1, 1, 'words', 3]"),
        ({"answers": [answer | {"item": last, "occasion": 2}]}, f"answer 1: found [{last}, 2, 'words', 3]"),
        ({"answers": "none"}, "answers: found 'none'"),
    ):
        path = tmp_path / "back.json"
        path.write_text(json.dumps(good | change))
        refused(run("study", "collect", folder, path, "--out", tmp_path / "out.csv"), said)
        assert not (tmp_path / "out.csv").exists()
    done = run("study", "collect", folder, path, "--out", folder / "study.json")
    refused(done, f"{folder / 'study.json'}: found an input")
    assert kept(folder) == study


def test_items_that_are_gold_are_told_by_the_table_and_not_by_the_page(folder: Path) -> None:
    page = (folder / "rater-1.html").read_text("utf-8")
    found = present(re.search(r'<script type="application/json" id="data">(.*?)</script>', page))
    items = json.loads(found[1])["items"]
    assert {"words_a", "words_b"} < items[0].keys() == set.intersection(*(set(item) for item in items))
    same = [name for name in items[0] if len({json.dumps(item[name]) for item in items}) == 1]
    assert set(items[0]) - set(same) == {*SENSES, "words_a", "words_b"}
    assert [item.gold is None for item in kept(folder).items][-2:] != [False, False]
    of = benchmark("hico-det")
    for items, seed in ((40, 0), (60, 1)):
        made, _ = new_study(of, load_similarity("hico-det"), items, 2, seed)
        assert sum(item.gold is not None for item in made.items) == 2
        assert len({item.senses for item in made.items}) == items + 2


def test_the_last_answer_counts_by_the_log_whatever_the_clock_says(folder: Path, tmp_path: Path) -> None:
    study = kept(folder)

    def sent(name: str, *answers: tuple[int, int]) -> Path:
        path = tmp_path / name
        answer = {"item": 0, "occasion": 1, "phase": "words", "shown": 0}
        told = [answer | {"rating": rating, "answered": at} for rating, at in answers]
        path.write_text(json.dumps({"study": study.id, "rater": "rater-1", "answers": told}))
        return path

    early, late = sent("early.json", (1, 900)), sent("late.json", (1, 900), (4, 100))
    for files in ((early, late), (late, early)):
        assert [row[5] for row in table_of(study, answers_of(study, files))[1:]] == [4]
    with input_error("found 2", "1", "early.json", source=str(tmp_path / "edited.json"), record="answer 1"):
        answers_of(study, (early, sent("edited.json", (2, 900))))


@pytest.mark.parametrize("damaged", ["{", "null"])
def test_a_damaged_log_is_told(tab: Any, folder: Path, damaged: str) -> None:
    page = (folder / "rater-1.html").as_uri()
    tab.goto(page)
    key = f"shoe-study:{kept(folder).id}:rater-1:{damaged}"
    tab.evaluate("key => localStorage.setItem(key, '')", key)
    tab.goto(page)
    assert "cannot be saved" in tab.locator("h1").inner_text()
    tab.evaluate("key => localStorage.removeItem(key)", key)


def test_texts_are_taken_over_and_another_study_is_not_written_over(folder: Path, tmp_path: Path) -> None:
    (folder / "consent.txt").write_text("\n\n\nOur own <words>.\n \n\n\nMore.\n")
    (folder / "instructions.txt").write_text("")
    assert run("study", "new", folder, "--items", "20", "--raters", "2").returncode == 0
    assert "Our own \\u003cwords>." in (folder / "rater-2.html").read_text()
    refused(run("study", "new", folder, "--items", "21", "--raters", "2"), "another study")
    (folder / "consent.txt").unlink()
    (folder / "consent.txt").mkdir()
    refused(run("study", "new", folder, "--items", "20", "--raters", "2"), "consent.txt: ", "a folder")
    (folder / "consent.txt").rmdir()
    (tmp_path / "consent.txt").write_bytes("Grüße".encode("latin-1"))
    with input_error("not UTF-8", source=str(tmp_path / "consent.txt")):
        read_texts(tmp_path, kept(folder))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab")
    truth, images = illustrated(path)
    done = run("study", "new", path / "study", "--items", "20", "--ground-truth", truth, "--images", images)
    assert (done.returncode, done.stderr) == (0, "")
    assert "20 pictures" in done.stdout
    return path


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


MODELS = (PREDICTIONS["free text"], PREDICTIONS["detector"])


def test_influence_is_of_pairs_that_may_match_and_adds_up() -> None:
    tasks = [scored(path, TRUTH, "hico-det", "hico-det").task for path in MODELS]
    similarity = load_similarity("hico-det")
    alone = [influential([task], similarity) for task in tasks]
    both = influential(tasks, similarity)
    assert set(both.senses) == {senses for each in alone for senses in each.senses}
    assert both.influence.sum() == pytest.approx(np.mean([each.influence.sum() for each in alone]))
    assert all(a != b or x != y for a, x, b, y in both.senses)
    # Of one prediction file, most of what SHOE-mAP would leave open rests on pairs that have senses.
    assert all(0.2 < each.influence.sum() <= 1 for each in alone)
    assert (both.influence >= 0).all()


def test_a_study_by_influence(tmp_path: Path) -> None:
    folder = tmp_path / "study"
    done = run("study", "new", folder, "--items", "40", "--raters", "1", "--for", MODELS[0], "-g", TRUTH)
    assert (done.returncode, done.stderr.count("Traceback")) == (0, 0)
    assert "% of the influence" in done.stdout
    measured = [item for item in kept(folder).items if item.gold is None]
    assert all(isinstance(item.weight, float) and item.weight > 1 for item in measured)
    assert {item.part for item in measured} <= {"verb", "object", "both"}
    alone = run("study", "new", tmp_path / "other", "--for", MODELS[0])
    assert (alone.returncode, alone.stderr.count("\n")) == (2, 1)


def test_a_stratified_study_keeps_what_items_stand_for(tmp_path: Path) -> None:
    assert run("study", "new", tmp_path, "--items", "60", "--raters", "1").returncode == 0
    made = kept(tmp_path)
    weights = {(item.stratum, item.weight) for item in made.items if item.gold is None}
    assert len(weights) == len({stratum for stratum, _ in weights})  # the same for all of a stratum
    assert not any(item.weight for item in made.items if item.gold is not None)
