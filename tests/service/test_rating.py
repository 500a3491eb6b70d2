"""A study through a service, as raters go through it: by keyboard on a phone, off-line, in two tabs, on two devices."""

import json
import random
import re
import shutil
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest

from shoe.core.io.json import encode
from shoe.scoring.bongard.problems import write_problems
from shoe.study.folder import load_study
from shoe.study.plan import Question, Study
from tests.cli.run import run
from tests.scoring.bongard.made import BOX, problems_of
from tests.service.processes import free_port, serve
from tests.study.browser import violations
from tests.study.made import illustrated, scene

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
PHONE = {"width": 390, "height": 844}
ARRIVED = "() => document.getElementById('status').textContent === 'All answers have arrived.'"


def succeeded(*words: str | Path) -> str:
    done = run("study", *words)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


class Lab:
    """A study in a service that can be killed, and the raters' links."""

    def __init__(self, path: Path) -> None:
        self.study, self.service = path / "study", path / "service"
        self.port = free_port()
        succeeded("new", self.study, "--items", "20", "--raters", "4")
        self.links = self.published(self.study)
        self.process: subprocess.Popen[str] | None = None

    def published(self, study: Path, *more: str) -> dict[str, str]:
        out = succeeded("publish", study, self.service, "--address", f"http://127.0.0.1:{self.port}/", *more)
        return dict(line.split("\t") for line in out.splitlines()[:-1])

    def start(self) -> None:
        self.process = serve(self.service, self.port, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self.process.stdout is not None
        while str(self.port) not in self.process.stdout.readline():
            pass

    def stop(self, by: int = signal.SIGKILL) -> None:
        assert self.process is not None
        self.process.send_signal(by)
        self.process.communicate()

    def answers(self, rater: str, study: Path | None = None) -> list[dict[str, Any]]:
        folder = study or self.study
        succeeded("fetch", folder, self.service)
        found: list[dict[str, Any]] = json.loads((folder / "answers" / f"{rater}.json").read_bytes())["answers"]
        return found


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    made = Lab(tmp_path_factory.mktemp("lab"))
    made.start()
    yield made
    made.stop()


@pytest.fixture
def device(browser: Any) -> Iterator[Any]:
    """Makes devices, each with a storage of its own; whatever a page complains of is noted."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def made(link: str) -> Any:
        context = browser.new_context(viewport=PHONE, accept_downloads=True)
        contexts.append(context)
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        return tab(context, link)

    yield made
    assert complaints == []
    for context in contexts:
        context.close()


def tab(context: Any, link: str) -> Any:
    page = context.new_page()
    page.goto(link)
    page.wait_for_selector("html[data-ready]")
    return page


def asked(lab: Lab, rater: int) -> tuple[Study, list[Question]]:
    study = load_study(lab.study)
    assert isinstance(study, Study)
    return study, study.order(rater)


def begin(page: Any, study: Study) -> None:
    for _ in range(2):
        page.keyboard.press("Tab")
        page.keyboard.press("Enter")
    for _ in study.training:
        page.keyboard.press("2")


def rate(page: Any, number: int, total: int, rating: int) -> None:
    page.wait_for_function(
        "text => document.querySelector('main').innerText.includes(text)", arg=f"{number + 1} of {total}"
    )
    page.keyboard.press(str(rating))


def test_a_study_is_answered_through_kills_breaks_tabs_and_devices(lab: Lab, device: Any, tmp_path: Path) -> None:
    study, order = asked(lab, 0)
    total, link = len(order), lab.links["rater-1"]
    page = device(link)
    begin(page, study)
    given: dict[Question, int] = {}

    def go_on(page: Any, until: int) -> None:
        for number in range(len(given), until):
            question = order[number]
            given[question] = study.items[question.item].gold or (question.item + question.occasion) % 5
            rate(page, number, total, given[question])

    go_on(page, 4)
    page.wait_for_function(ARRIVED)
    lab.stop()  # the server is killed, and the rater goes on
    go_on(page, 8)
    page.wait_for_function("() => document.getElementById('status').textContent.startsWith('4 answers are stored')")
    assert len(lab.answers("rater-1")) == 4
    lab.start()
    page.wait_for_function(ARRIVED, timeout=60_000)
    page.context.set_offline(True)  # no connection, and the tab crashes
    go_on(page, 11)
    page.close()
    context = page.context
    context.set_offline(False)
    page = tab(context, link)
    page.wait_for_function(ARRIVED)
    assert len(lab.answers("rater-1")) == 11
    other = tab(context, link)  # a second tab answers, and the first goes on behind it
    go_on(other, 13)
    go_on(page, 15)
    other.close()
    page.wait_for_function(ARRIVED)
    laptop = device(link)  # another device goes on where the phone was
    go_on(laptop, 18)
    laptop.wait_for_function(ARRIVED)
    go_on(page, total)  # the phone has found out, and does not ask what the laptop has answered
    page.wait_for_selector("text=Done, thank you")
    page.wait_for_function(ARRIVED)
    assert page.locator("#save").is_hidden()  # there is nothing to save once all answers have arrived
    answers = lab.answers("rater-1")
    assert len(answers) == total
    assert max(Counter((each["item"], each["occasion"]) for each in answers).values()) == 1
    table = tmp_path / "answers.csv"
    collected = succeeded("collect", lab.study, lab.study / "answers" / "rater-1.json", "--out", table)
    assert collected == f"{table}: {total} answers of 1 rater\n"
    assert {Question(each["item"], each["occasion"]): each["rating"] for each in answers} == given
    found = json.loads(succeeded("report", table, "--json", "-"))
    assert (found["all"]["items"], found["retest"]["answers"]) == (20, 2)


def test_nothing_is_lost_or_there_twice_in_a_storm(lab: Lab, device: Any, tmp_path: Path) -> None:
    """Two tabs and another device of one rater, who answers anything anywhere, and a server that is killed each time.

    Once it comes back as it was some answers before, as from a backup.
    """
    draw = random.Random(0)
    study, order = asked(lab, 3)
    phone, laptop = device(lab.links["rater-4"]), device(lab.links["rater-4"])
    pages = [phone, tab(phone.context, lab.links["rater-4"]), laptop]
    for page in pages:
        begin(page, study)
    for kill in range(5):
        for number in range(40):
            page = draw.choice(pages)
            page.keyboard.press(draw.choice(["0", "1", "2", "3", "4", "ArrowLeft", "ArrowLeft"]))
            if number == 20:
                lab.stop()
        if kill == 1:
            shutil.copytree(lab.service, tmp_path / "copy")
        if kill == 3:
            shutil.rmtree(lab.service)
            shutil.copytree(tmp_path / "copy", lab.service)
        lab.start()
    for page in pages:
        page.keyboard.press("3")
        page.wait_for_function(ARRIVED, timeout=60_000)
    logs = [page.evaluate("() => Object.keys(localStorage).map((name) => name.split(/rater-4:/)[1])") for page in pages]
    there = [json.dumps(each, separators=(",", ":")) for each in lab.answers("rater-4")]
    assert len(there) == len(set(there)) > 2 * len(order)
    assert {text.replace(".0,", ",").replace(".0}", "}") for text in there} == {name for log in logs for name in log}
    assert {(each["item"], each["occasion"]) for each in lab.answers("rater-4")} == {each[:2] for each in order}


def test_a_link_that_has_ended_is_told_and_nothing_is_lost(lab: Lab, device: Any) -> None:
    study, order = asked(lab, 1)
    page = device(lab.links["rater-2"])
    begin(page, study)
    rate(page, 0, len(order), 3)
    page.wait_for_function(ARRIVED)
    renewed = lab.published(lab.study, "--again", "rater-2")["rater-2"]
    rate(page, 1, len(order), 1)
    page.wait_for_function("() => document.getElementById('status').textContent.includes('the token is not valid')")
    assert re.match("1 answer .* service refused", page.locator("#status").inner_text())
    page.goto(renewed)
    page.wait_for_function(ARRIVED)
    assert [each["rating"] for each in lab.answers("rater-2")] == [3, 1]


def test_pictures_of_a_second_phase_and_of_problems_come_with_the_link(lab: Lab, device: Any, tmp_path: Path) -> None:
    truth, images = illustrated(tmp_path)
    pairs, problems = tmp_path / "pairs", tmp_path / "problems"
    succeeded("new", pairs, "--items", "5", "--raters", "1", "--ground-truth", truth, "--images", images)
    link = lab.published(pairs)["rater-1"]
    study = load_study(pairs)
    words = [question for question in study.order(0) if question.phase == "words"]
    answers = [{**question._asdict(), "rating": 1, "shown": 0, "answered": 1} for question in words]
    headers = {"Authorization": f"Bearer {link.partition('#')[2]}", "Content-Type": "application/json"}
    address = f"{link.partition('/rate')[0]}/v1/study/answers"
    with urlopen(Request(address, encode({"answers": answers}), headers)) as told:
        assert json.load(told) == {"kept": len(words)}
    page = device(link)
    page.get_by_role("button", name="Go on").click()
    page.wait_for_selector("svg image[href^='data:image/jpeg']", state="attached")
    page.keyboard.press("Enter")
    page.wait_for_function(ARRIVED)
    kept = lab.answers("rater-1", pairs)[-1]
    assert (kept["phase"], kept["rating"]) == ("picture", 1)

    made = problems_of(2, ("seen_obj_seen_act",))
    for number in range(len(made.regions.verb)):
        scene(images / f"{number:03d}.jpg", str(number), (120, 115), (BOX, (50, 50, 100, 90)))
    files = write_problems(made, tmp_path / "files", "made", "folder")
    succeeded("bongard", problems, *files, "--images", images, "--raters", "1", "--testers", "1")
    page = device(lab.published(problems)["rater-1"])
    for name in ("I agree", "Start"):
        page.get_by_role("button", name=name).click()
    page.wait_for_function("() => document.images.length && [...document.images].every((image) => image.naturalWidth)")
    page.keyboard.press("a")
    page.wait_for_function(ARRIVED)
    assert [(each["phase"], each["rating"]) for each in lab.answers("rater-1", problems)] == [("sides", 1)]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out(lab: Lab, device: Any, scheme: str) -> None:
    page = device(lab.links["rater-3"])
    page.emulate_media(color_scheme=scheme)

    def look() -> None:
        assert violations(page) == []
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]

    look()
    if page.get_by_role("button", name="I agree").is_visible():
        study, _ = asked(lab, 2)
        begin(page, study)
    page.keyboard.press("3")
    page.wait_for_function(ARRIVED)
    look()
    page.context.set_offline(True)
    page.keyboard.press("1")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('stored in this browser')")
    look()
