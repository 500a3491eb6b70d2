"""The pages in a browser, as people use them: a real server, real files, no complaint, and nothing asked of others."""

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.service.backup import export
from shoe.service.boards import add_board
from shoe.service.folder import Folder
from shoe.service.runs import change
from shoe.service.tokens import new_token
from shoe.service.truths import add_truth
from shoe.service.types import Request
from tests.cli.run import as_json
from tests.service.processes import serve
from tests.service.site import HOSTILE
from tests.study.browser import violations

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
LONGEST = 60_000  # milliseconds that a page may wait for a run: machines of CI are slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A server's address and folder: it is started by the command, with a ground truth that is shown and one not."""
    path = tmp_path_factory.mktemp("lab") / "folder"
    folder = Folder.open(path)
    add_truth(folder, "demo", TRUTH, shown=True)
    add_truth(folder, "kept", TRUTH)
    add_board(folder, "board", Request(truth="demo"), title="A board")
    add_board(folder, "over", Request(truth="demo"), title="Ended", ends=1.0)
    folder.close()
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with serve(path, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1], path
        finally:
            process.terminate()


class Opened:
    """A tab, and everything that its pages complained of or asked of others."""

    def __init__(self, browser: Any, address: str, **how: Any) -> None:
        self.address, self.page = address, browser.new_page(**how)
        self.page.set_default_timeout(LONGEST)
        self.complaints: list[str] = []
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", self._asked)

    def _heard(self, said: Any) -> None:
        # The file is asked for before the upload, and then not there yet.
        if said.type != "log" and not said.location["url"].endswith("/v1/runs"):
            self.complaints.append(said.text)

    def _asked(self, request: Any) -> None:
        if not request.url.startswith((self.address, "blob:", "data:")):
            self.complaints.append(f"asked for {request.url}")

    def go(self, path: str) -> Any:
        self.page.goto(self.address + path)
        return self.page

    def pardon(self, known: str) -> None:
        """Forget the complaints that a test provokes."""
        self.complaints = [said for said in self.complaints if known not in said]


@contextmanager
def opened(browser: Any, address: str, **how: Any) -> Iterator[Opened]:
    tab = Opened(browser, address, **how)
    yield tab
    assert tab.complaints == []
    tab.page.close()


@pytest.fixture
def tab(browser: Any, server: tuple[str, Path]) -> Iterator[Opened]:
    with opened(browser, server[0]) as made:
        yield made


@pytest.fixture(scope="module")
def runs(browser: Any, server: tuple[str, Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Paths of the runs that a person made: two files sent, watched till they were done, and compared."""
    made = {}
    hostile = tmp_path_factory.mktemp("files") / f"{HOSTILE.replace('/', '')}.jsonl"
    hostile.write_bytes(PREDICTIONS["free text"].read_bytes())
    with opened(browser, server[0]) as tab:
        for name, file in {"detector": PREDICTIONS["detector"], "hostile": hostile}.items():
            page = tab.go("/submit?board=board")
            page.set_input_files("#file", str(file))
            page.select_option("select[name=visibility]", "public")
            page.click("#go")
            page.wait_for_url("**/runs/r_*")
            made[name] = page.url.removeprefix(server[0])
            page.wait_for_selector(".state.done")
            page.wait_for_selector("text=mAP gain from")
        page = tab.go("/compare")
        page.get_by_label("choose detector").check()
        page.locator("tr", has_text="alert(").get_by_role("checkbox").check()
        page.click("text=Compare >> nth=-1")
        page.wait_for_url("**/runs/r_*")
        made["compare"] = page.url.removeprefix(server[0])
        page.wait_for_selector(".state.done")
        page = tab.go(made["detector"])
        page.wait_for_selector("text=Interactive report")
        page.wait_for_selector("#errors")
    return made


def test_a_run_shows_the_figures_of_the_command_line(tab: Any, runs: dict[str, str]) -> None:
    found = as_json("score", PREDICTIONS["detector"], "--ground-truth", TRUTH)
    page = tab.go(runs["detector"])
    large = [text.split()[0] for text in page.locator(".large").all_text_contents()[:2]]
    assert large == [f"{100 * found[kind]['map']:.2f}" for kind in ("strict", "semantic")]
    assert page.locator("#signature").text_content() == found["signature"]
    page.click("text=Classes")
    page.locator("thead button", has_text="ground truths").click()
    counts = [int(text.replace(",", "")) for text in page.locator("tbody td:nth-child(3)").all_text_contents()]
    assert counts == sorted(counts, reverse=True)
    page.fill("#filter", "ride bic")
    assert page.locator("tbody tr:visible th").all_text_contents() == ["ride bicycle"]


def test_a_running_job_says_how_far_it_is_and_how_long_it_takes(tab: Any, runs: dict[str, str]) -> None:
    page = tab.go(runs["detector"])
    parts = "".join(f"<i data-said={name}></i>" for name in ("state", "position", "stage", "reason"))
    page.evaluate("(parts) => { document.querySelector('main').innerHTML = `<progress></progress>${parts}` }", parts)
    page.evaluate("show({state: 'running', stage: 'resampling', progress: 0.5, started: Date.now() / 1000 - 58})")
    assert page.locator("main").inner_text() == "running: resampling, about 60 s left"
    assert page.locator("main progress").get_attribute("value") == "0.5"


def test_a_leaderboard_is_sorted_by_any_column(tab: Any, runs: dict[str, str]) -> None:
    page = tab.go("/boards/board")
    for heading, column in (("mAP", 3), ("gain", 6), ("rank", 1)):
        page.locator("thead button", has_text=re.compile(f"^{heading}$")).click()
        values = page.locator(f"tbody td:nth-child({column})").evaluate_all("all => all.map(c => +c.dataset.value)")
        assert values == sorted(values, reverse=True), heading
        assert len(values) > 1


def test_the_report_works_apart_from_the_server(tab: Any, runs: dict[str, str]) -> None:
    page = tab.go(runs["compare"])
    page.click("text=Interactive report")
    page.frame_locator("iframe").locator("html[data-ready]").wait_for()
    assert page.frames[1].evaluate(HIDDEN_WIDTHS)[0] <= 1  # the last column is seen
    page = tab.go(runs["detector"])
    page.click("text=Interactive report")
    page.frame_locator("iframe").locator("html[data-ready]").wait_for()
    frame = page.frames[1]
    before = frame.locator("#rescored").text_content()
    frame.locator("#weight").fill("0.9")
    frame.wait_for_selector("#rescored:not([aria-busy])")
    assert frame.locator("#rescored").text_content() != before
    call = "fetch('/v1/runs').then(() => 'answered', () => 'stopped')"
    cookie = "(() => { try { return document.cookie } catch { return 'stopped' } })()"
    assert [frame.evaluate(code) for code in (call, cookie)] == ["stopped", "stopped"]
    tab.pardon("Content Security Policy")
    page.click("text=← detector")
    page.wait_for_selector(".state.done")


def test_an_upload_goes_on_where_it_was_cut_off(tab: Any, tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    file.write_bytes(b" " * (9 << 20) + b"{}")
    page = tab.go("/submit")
    dropped = "() => { const d = new DataTransfer(); d.items.add(new File(['{}'], 'dropped.json')); return d }"
    page.dispatch_event("#drop", "drop", {"dataTransfer": page.evaluate_handle(dropped)})
    assert page.locator("#drop").inner_text() == "dropped.json, 2 bytes"
    sent: list[str] = []

    def cut(route: Any) -> None:
        sent.append(route.request.headers["upload-offset"])
        if len(sent) == 2:
            route.abort()
        else:
            route.continue_()

    page.route("**/v1/uploads/*", cut)
    page.set_input_files("#file", str(file))
    page.select_option("select[name=truth]", "kept")
    page.click("#go")
    page.wait_for_url("**/runs/r_*")
    assert sent == ["0", str(8 << 20), str(8 << 20)]
    page.wait_for_selector(".state.failed")
    assert "expected" in page.locator(".cause").text_content()
    page.get_by_role("button", name="Retry").click()
    page.wait_for_selector(".state.failed")
    tab.pardon("ERR_FAILED")


def test_the_keyboard_is_enough(tab: Any, runs: dict[str, str]) -> None:
    def press(*keys: str) -> None:
        for key in keys:
            (page.keyboard.press if key in ("Tab", "Enter", "Control+A", "Escape") else page.keyboard.type)(key)

    page = tab.go("/")
    for keys, focused in ((["Tab"], "skip to content"), (["Enter", "Tab"], "Submit predictions")):
        press(*keys)
        assert page.evaluate("document.activeElement.textContent") == focused
    press("Tab", "Enter")
    page.wait_for_url("**/playground")
    page.get_by_label("predicted phrase").focus()
    press("sitting astride a bike", "Tab", "ride bicycle", "Enter")
    page.wait_for_selector("text=as a match")
    page = tab.go(runs["detector"])
    page.get_by_text("Change", exact=True).focus()
    press("Enter", "Tab", "Escape")
    assert page.locator(".menu[open]").count() == 0
    press("Enter", "Tab", "Control+A", "renamed", "Enter")
    page.wait_for_selector("h1:has-text('renamed')")


def test_without_scripts_all_but_sending_works(browser: Any, server: Any, runs: dict[str, str]) -> None:
    with opened(browser, server[0], java_script_enabled=False) as tab:
        page = tab.go(runs["detector"])
        assert page.locator(".bars rect").count() == 14
        page = tab.go("/submit")
        assert "shoe submit predictions.json" in page.locator("noscript").inner_text()


def pages_of(runs: dict[str, str]) -> list[str]:
    playground = "/playground?said=sitting+astride+a+bike&truth=ride+bicycle"
    fixed = ("/", "/submit", "/runs", "/compare", "/boards", "/boards/board", playground, "/maps", "/maps/hico-det")
    of_runs = (f"{runs['detector']}/classes", f"{runs['compare']}/report")
    return [*fixed, "/truths", "/api", "/login", "/runs/none", *runs.values(), *of_runs]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nobody_is_shut_out(browser: Any, server: Any, runs: dict[str, str], scheme: str) -> None:
    with opened(browser, server[0], color_scheme=scheme) as tab:
        found = [(path, *problem) for path in pages_of(runs) for problem in violations(tab.go(path))]
        tab.pardon("404")
    assert found == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_window(browser: Any, server: Any, runs: dict[str, str], width: int) -> None:
    with opened(browser, server[0], viewport={"width": width, "height": 900}) as tab:
        for path in pages_of(runs):
            assert tab.go(path).evaluate("document.documentElement.scrollWidth") <= width, path
        tab.pardon("404")


OUTSIDE_ITS_CELL = """() => [...document.querySelectorAll("td, tbody th")].filter((cell) => {
  const texts = [...cell.querySelectorAll("bdi, small")].map((text) => text.getBoundingClientRect().right);
  return Math.max(0, ...texts) > cell.getBoundingClientRect().right + 1;
}).map((cell) => cell.textContent)"""
HIDDEN_WIDTHS = "[...document.querySelectorAll('.wide')].map((e) => e.scrollWidth - e.clientWidth)"


@pytest.mark.parametrize("width", [1280, 400])
def test_long_names_stay_in_their_cells(browser: Any, server: Any, runs: dict[str, str], width: int) -> None:
    folder = Folder.open(server[1])
    for run, name in (
        ("detector", "a_very_long_name_with_underscores_for_every_single_setting_12"),
        ("hostile", "é " * 30),
        ("compare", "a very long name of a comparison that is visible to the team only"),
    ):
        change(folder, runs[run].removeprefix("/runs/"), name)
    with folder.database.write() as db:
        team = "robotics-and-perception-laboratory-of-the-university"
        db.execute("UPDATE runs SET team = ? WHERE id = ?", (team, runs["detector"].removeprefix("/runs/")))
    with opened(browser, server[0], viewport={"width": width, "height": 900}) as tab:
        for path in ("/", "/runs", "/compare", "/boards/board", runs["compare"]):
            page = tab.go(path)
            assert page.evaluate(OUTSIDE_ITS_CELL) == [], path
            if path == "/runs":  # team and ground truth are columns, or below the name
                assert page.locator(".narrow").first.is_visible() == (width == 400)
            if width == 1280:
                assert max(page.evaluate(HIDDEN_WIDTHS)) <= 1, path  # all columns are in the window
    with folder.database.write() as db:
        db.execute("UPDATE runs SET team = 'local'")
    for run, name in (("detector", "renamed"), ("hostile", HOSTILE), ("compare", HOSTILE)):
        change(folder, runs[run].removeprefix("/runs/"), name)
    folder.close()


def test_a_leaderboard_says_what_it_decides_and_who_sees_the_run(tab: Any) -> None:
    page = tab.go("/submit?board=board")
    notice = page.locator(".notice:visible")
    assert notice.inner_text() == "A board: unlimited submissions."  # in full: the list cuts it
    warning, truth = page.get_by_text("Everybody who"), page.locator("select[name=truth]")
    # The list of ground truths would name another one than the leaderboard's.
    assert (warning.is_visible(), truth.is_visible()) == (True, False)
    page.select_option("select[name=board]", "")
    assert (warning.is_visible(), truth.is_visible()) == (False, True)
    page.select_option("select[name=truth]", "kept")
    assert re.search("hidden.* 10 submissions in 24 hours left", notice.inner_text())
    page = tab.go("/submit?board=over")
    assert "ended on" in notice.inner_text()
    assert page.locator("#go").is_disabled()
    page.select_option("select[name=board]", "board")
    assert page.locator("#go").is_enabled()


def test_a_login_by_form_lasts_and_ends(browser: Any, server: Any) -> None:
    folder = Folder.open(server[1])
    token = new_token(folder, "me", "lab", ("admin",))
    folder.close()
    with opened(browser, server[0], viewport={"width": 400, "height": 800}) as tab:
        page = tab.go("/tokens")
        page.wait_for_url("**/login?next=/tokens")
        page.fill("input[name=token]", token)
        page.keyboard.press("Enter")
        page.wait_for_selector("h1:has-text('Tokens')")
        page.fill("input[name=name]", "robot")
        page.fill("input[name=team]", "robotics-and-perception-laboratory-of-the-university")
        page.get_by_role("button", name="Create token").click()
        assert page.locator("#token").text_content().startswith("shoe_")
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert page.evaluate(HIDDEN_WIDTHS)[0] <= 1  # Revoke is seen
        page.set_viewport_size({"width": 1280, "height": 800})
        assert page.evaluate(HIDDEN_WIDTHS)[0] <= 1  # Revoke is seen
        page.get_by_role("button", name="log out").click()
        page.wait_for_url(f"{server[0]}/")
        tab.go("/tokens").wait_for_url("**/login?next=/tokens")


def test_a_site_on_disk_works_without_a_server(browser: Any, server: Any, runs: dict[str, str], tmp_path: Path) -> None:
    folder = Folder.open(server[1])
    export(folder, tmp_path / "site")
    folder.close()
    with opened(browser, "file:") as tab:
        page = tab.page
        page.goto((tmp_path / "site" / "index.html").as_uri())
        page.click("text=A board")
        page.locator("tbody a").first.click()
        page.wait_for_selector("text=Credit for similar")
        page.click("text=result.json")
        assert '"signature"' in page.content()
        page.go_back()
        page.click("text=Interactive report")
        page.wait_for_selector("html[data-ready]")
        page.go_back()
        page.click("text=Classes")
        page.fill("#filter", "ride bic")
        assert page.locator("tbody tr:visible").count() == 1
