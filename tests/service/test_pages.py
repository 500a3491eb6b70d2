"""Pages as programs see them: what they say, who sees which, that nothing hostile is markup, and what forms do."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any, cast
from urllib.parse import quote, unquote

import pytest
from hypothesis import given, strategies as st
from markupsafe import escape

from shoe.core.errors import InputError
from shoe.report.page.rendering import environment
from shoe.report.page.svg import matrix
from shoe.service import jobs, runs
from shoe.service.backup import export
from shoe.service.boards import add_board
from shoe.service.job_process import LEAST_TRUTHS
from shoe.service.pages import rendering
from shoe.service.pages.rendering import file_of, server_link, site_link
from shoe.service.pages.views import comparison_values, figures
from shoe.service.tokens import new_token
from shoe.service.types import Request
from tests.cli.run import as_json
from tests.examples import examples
from tests.service.calling import (
    PUBLIC,
    bearer,
    calling,
    done_by_hand,
    execute,
    made_folder,
    one_value,
    outside,
    queued,
)
from tests.service.processes import waited
from tests.service.site import DIAGNOSIS, HOSTILE, RESULT, do_all, fail_one, made_site

SHOWN = str(escape(HOSTILE.replace("\u202e", "\ufffd")))
PAGES = ("/", "/submit", "/runs", "/compare", "/boards", "/boards/board", "/maps", "/maps/hico-det", "/truths")
ASKED = "/playground?said=sitting+astride+a+bike&truth=ride+bicycle"
TEMPLATES = Path(rendering.__file__).parent / "templates"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, dict[str, str]]:
    return made_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def client(site: Any) -> Iterator[Any]:
    with calling(site[0]) as found:
        yield found


class _Seen(HTMLParser):
    """What a page may not have: what its policy would stop, and what would come from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.wrong: list[Any] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "style" or (tag == "script" and not str(given.get("src")).startswith("/static/")):
            self.wrong.append((tag, attrs))
        for name, value in attrs:
            elsewhere = name in ("href", "src", "action") and not str(value).startswith(("/", "#"))
            if tag == "a" and given.get("rel") == "nofollow noopener" and str(value).startswith("https://"):
                continue
            if name == "style" or name.startswith("on") or elsewhere or str(value).startswith("//"):
                self.wrong.append((tag, name, value))


def text_of(answer: Any, status: int = 200) -> str:
    """A page, with what every page must have."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    page = str(answer.text)
    assert re.match(r'<!doctype html>\n<html lang="en">', page)
    assert page.count("<h1>") == 1
    assert "'unsafe" not in answer.headers["content-security-policy"]
    seen = _Seen()
    seen.feed(page)
    assert seen.wrong == []
    assert not re.search("\u202e|<script>alert", page)
    return page


def absent(parts: Any, page: str) -> list[str]:
    return [part for part in parts if part not in page]


def test_every_page_is_whole_and_hostile_names_are_text(client: Any, site: Any) -> None:
    of_runs = [f"/runs/{id_}" for name, id_ in site[1].items() if name != "foreign"]
    for path in (*PAGES, *of_runs, f"/runs/{site[1]['public']}/classes", ASKED, "/api", "/login"):
        page = text_of(client.get(path))
        if path in ("/", "/runs", "/compare", "/boards", "/boards/board", *of_runs[:5]):
            assert SHOWN in page, path
    assert client.get("/static/page.css").headers["content-type"].startswith("text/css")
    assert client.get("/static/nothing.css").status_code == 404


def test_a_run_says_strict_beside_semantic_beside_why(client: Any, site: Any) -> None:
    public, failed, queued = (site[1][name] for name in ("public", "failed", "queued"))
    page = text_of(client.get(f"/runs/{public}"))
    said = (
        "15.93 mAP, hico-det", "36.19 SHOE-mAP +20.26", "+6.00 missed GT", "human box 25.00 +5.00", "1,234 predictions",
        "exact matches 22.00", "similar verbs +10.00", "pony", "5.2 1.8", "--ground-truth instances_test2015.json",
        "shoe:1|data:hico-det", "a note without a key",
    )  # fmt: skip
    assert absent(said, re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))) == []
    for name in ("result.json", "run.shoe", "report.html", "diagnosis.json", "classes.csv"):
        address = f"/v1/runs/{public}/files/{name}"
        assert f'href="{address}"' in page
        assert client.get(address).status_code == 200
    reason = ("Why it failed", f"broken.json: line 1: found {SHOWN[:40]}")
    assert absent(reason, text_of(client.get(f"/runs/{failed}"))) == []
    live = (f'data-events="/v1/runs/{queued}/events"', '<noscript><meta http-equiv="refresh"')
    assert absent(live, text_of(client.get(f"/runs/{queued}"))) == []


def test_a_page_is_rendered_again_only_if_what_it_shows_changes(client: Any, site: Any, monkeypatch: Any) -> None:
    folder, ids = site
    rendered: list[str] = []
    render = rendering.render

    def counted(view: Any, *more: Any) -> bytes:
        rendered.append(view.template)
        return render(view, *more)

    def fresh() -> list[str]:
        rendered.clear()
        for page in (f"/runs/{ids['public']}", "/runs", "/boards/board"):
            text_of(client.get(page))
        return sorted(rendered)

    monkeypatch.setattr(rendering, "render", counted)
    fresh()
    assert fresh() == []
    job = jobs.claim(folder)
    assert job is not None
    assert fresh() == ["runs.html"]  # a run in the list is running now
    for progress in (0.1, 0.2):
        jobs.beat(folder, job, "scoring", progress, ["a line"])
        assert fresh() == []
    jobs.release(folder, job)
    runs.change(folder, ids["public"], name="renamed")
    assert fresh() == ["run.html", "runs.html"]
    runs.change(folder, ids["public"], name=f"{HOSTILE} public")


def test_a_run_shows_its_worst_errors_with_boxes(client: Any, site: Any, tmp_path: Path) -> None:
    folder, ids = site
    page = text_of(client.get(f"/runs/{ids['public']}"))
    assert [page.count(f'class="triplet {kind}"') for kind in ("truth", "m1")] == [2, 1]
    # The second error is a ground truth without a match.
    said = (SHOWN, "human 0.90, object 0.80", "score 0.50 matched", "that no prediction")
    assert absent(said, page) == []
    image = f"/runs/{ids['public']}/images/0"
    assert client.get(image).status_code == 404
    (tmp_path / "HICO_test2015_00000001.jpg").write_bytes(b"a photo")
    with calling(folder, images=tmp_path) as other:
        assert f'href="{image}"' in text_of(other.get(f"/runs/{ids['public']}"))
        assert (other.get(image).content, other.get(image).headers["content-type"]) == (b"a photo", "image/jpeg")
        for path in (f"/runs/{ids['public']}/images/2", f"/runs/{ids['secret']}/images/0"):
            assert other.get(path).status_code == 404


def test_a_run_says_what_is_hidden_or_being_made_and_its_reason_once(client: Any, site: Any) -> None:
    folder, ids = site
    hidden = text_of(client.get(f"/runs/{ids['secret']}"))
    assert "results hidden" in hidden
    assert "Compare with" not in hidden
    assert hidden.count('href="/boards/secret"') == 2
    assert text_of(client.get(f"/runs/{ids['failed']}")).count("expected JSON") == 1
    query = "SELECT further.key FROM further JOIN jobs USING (key) WHERE run = ? AND kind = 'page'"
    key = one_value(folder, query, ids["public"])
    for state, is_live in (("done", False), ("queued", True), ("done", False)):
        execute(folder, "UPDATE jobs SET state = ? WHERE key = ?", state, key)
        page = text_of(client.get(f"/runs/{ids['public']}"))
        assert ("is being made" in page) == ('id="live"' in page) == is_live
    assert jobs.running(folder) == []


def _rendered(source: str, **values: Any) -> str:
    source = '{% import "parts.html" as parts with context %}' + source
    return environment(TEMPLATES).from_string(source).render(values)


def _figures(changes: dict[str, Any], diagnosis: Any = None) -> str:
    result = {name: value for name, value in (RESULT | changes).items() if value is not None}
    values = figures(result, diagnosis, None) | {"examples": [], "files": {"words": None}, "link": str}
    return _rendered('{% include "figures.html" %}', **values)


def test_a_negative_gain_and_a_file_without_predictions_are_explained() -> None:
    for gain, predictions, explained in ((-0.1, 0, True), (0.1, 1, False)):
        page = _figures({"semantic": {"map": 0.1593 + gain, "mf1": 0.4}, "predictions": predictions})
        assert ("gain is negative" in page) == explained
        assert ("contains no predictions" in page.partition("Strict")[0]) == explained


def test_errors_without_a_gain_are_not_called_the_largest_loss() -> None:
    errors = {name: {"count": 1, "delta_map": 0.0} for name in cast(dict[str, Any], DIAGNOSIS["errors"])}
    for diagnosis, is_said in ((DIAGNOSIS, False), (DIAGNOSIS | {"errors": errors}, True)):
        assert ("not raise mAP" in _figures({}, diagnosis)) == is_said
    # The diagnosis has SHOE-mAP anyway.
    page = _figures({"semantic": None}, DIAGNOSIS)
    heads = ("lower bar: SHOE-mAP", ">error type</text>", ">mAP gain</text>", ">errors</text>", ">60</text>")
    assert absent(heads, page) == []


def test_commands_in_notes_are_code() -> None:
    note = _rendered("{{ parts.note(line) }}", line="tests      `--json` writes <all>")
    assert note == "<li><b>tests: </b><bdi><code>--json</code> writes &lt;all&gt;</bdi></li>"


def test_runs_of_other_protocols_are_marked(client: Any, site: Any) -> None:
    assert "<small>hico-det</small>" not in text_of(client.get("/runs"))
    folder, ids = site
    query = "UPDATE jobs SET figures = replace(figures, ?, ?) WHERE key = (SELECT key FROM runs WHERE id = ?)"
    protocols = ("strict:hico-det:", "strict:qpic:")
    execute(folder, query, *protocols, ids["other"])
    for path in ("/runs", "/compare"):
        assert absent(("<small>qpic</small>", "<small>hico-det</small>"), text_of(client.get(path))) == []
    execute(folder, query, *protocols[::-1], ids["other"])


def test_a_leaderboard_shows_dates_baselines_and_the_best_run_of_each_team(folder: Any) -> None:
    add_board(folder, "open", Request(truth="small"), quota=3)

    def submit(name: str, team: str) -> None:
        queued(folder, name, None, team, visibility="public", board="open")

    for name, team in (("first", "admin"), ("second", "admin"), ("third", "local"), ("fourth", "local")):
        submit(name, team)
    do_all(folder)
    with calling(folder) as client:
        rows = client.get("/v1/boards/open").json()["rows"]
        first, third = rows[0]["run"], next(row["run"] for row in rows if row["team"] == "local")
        assert client.post(f"/runs/{first}/change", data={"name": "a", "link": "javascript:alert()"}).status_code == 403
        for link, status in (("javascript:alert()", 422), ("https://paper.example/1", 200)):
            assert client.patch(f"/v1/runs/{third}", json={"link": link}).status_code == status
        every, best = (text_of(client.get(f"/boards/open{query}")) for query in ("", "?best=true"))
        assert "1 of 3 submissions" in every
        for part, counts in (("baseline</span>", [2, 2]), ('scope="row"', [4, 3])):
            assert [page.count(part) for page in (every, best)] == counts
        assert (every.count("<time "), every.count('href="https://paper.example/1"')) == (4, 1)
        assert "(1 submission left" in text_of(client.get("/submit"))
        api = text_of(client.get("/api")).replace("&#34;", '"')
        assert '\\"board\\": \\"open\\"' in api  # small is closed to others
        told = {"prediction": "0" * 64, "board": "open"}
        assert client.post("/v1/runs", json=told).status_code == 404
        submit("fifth", "local")
        refused = client.post("/v1/runs", json=told)  # before the file is sent
        assert refused.status_code == 429
        assert 86_300 < int(refused.headers["retry-after"]) <= 86_400
        assert "possible at <time" in text_of(client.get("/boards/open"))
    with outside(folder) as public:
        assert absent(("Log in to", "fourth"), text_of(public.get("/"))) == []


def test_what_takes_no_submission_is_said_before_the_upload_and_offers_no_retry(folder: Any) -> None:
    for name, hidden in (("open", False), ("secret", True)):
        add_board(folder, name, Request(truth="small"), title=f"board {name}", quota=2, hidden=hidden)

    def notice(name: str) -> tuple[bool, str]:
        (found,) = re.findall(f'<p class="across notice([^"]*)" data-of="board {name}"[^>]*>(.*?)</p>', pages()[0])
        return found[0] == " closed", re.sub(r"<[^>]+>", "", found[1])

    def pages() -> list[str]:
        return [text_of(client.get(path)) for path in ("/submit", f"/runs/{failed.id}")]

    failed, buttons = queued(folder, "broken.json", board="open"), ("Retry</button>", "Submit a corrected file")
    fail_one(folder)
    with calling(folder) as client:
        assert notice("open") == (False, "board open: your team has 2 of 2 submissions in 24 hours left.")
        assert "Results are hidden" in notice("secret")[1]
        assert absent(buttons, pages()[1]) == []
        for n in range(2):
            queued(folder, f"{n}", board="open")
        for why in ("possible at", "ended on"):
            assert notice("open")[0]
            assert why in notice("open")[1]
            page = pages()[1]
            assert why in page
            assert absent(buttons, page) == [*buttons]
            execute(folder, "UPDATE boards SET ends = 1")


def test_lists_are_filtered(client: Any, site: Any) -> None:
    for query, name in (("state=failed", "failed"), ("name=QUEUED", "queued")):
        assert re.findall(r"/runs/(r_\w+)\"", text_of(client.get(f"/runs?{query}"))) == [site[1][name]]
    assert "No run matches" in text_of(client.get("/runs?truth=unknown"))


def _row(page: str, name: str) -> str:
    (row,) = (row for row in page.split("<tr>") if f">{name}</bdi>" in row)
    return re.sub(r"<[^>]+>", " ", row)


def test_a_table_of_runs_says_why_figures_are_missing_and_names_cut_names(client: Any, site: Any) -> None:
    page = text_of(client.get("/runs"))
    assert ["results hidden" in _row(page, f"{SHOWN} {name}") for name in ("secret", "public")] == [True, False]
    assert re.search("SHOE-mAP.*SHOE-mF1.*percent", page)
    for path in ("/runs", "/boards/board", f"/runs/{site[1]['compare']}"):
        assert f'<bdi title="{SHOWN}' in text_of(client.get(path)), path
    assert "found &lt;script" in page.partition(">broken.json</bdi>")[2].partition("</th>")[0]  # why it failed
    for name, tag in (("public", "public"), ("team", "team only")):
        assert tag in _row(page, f"{SHOWN} {name}").split("  "), name
    assert '<span class="tag">public</span>' in text_of(client.get(f"/runs/{site[1]['public']}"))
    assert "hash (sha) is therefore different" in text_of(client.get("/boards/board"))
    assert 'class="m2 mark"' in text_of(client.get(f"/runs/{site[1]['compare']}"))  # squares beside circles
    assert '<bdi title="local">' in text_of(client.get("/boards/board"))


@pytest.mark.parametrize(("shown", "strict", "of_class"), [(True, "15.93", "25.00"), (False, "16", "25")])
def test_rounded_metrics_have_no_more_digits_in_lists_than_on_their_page(
    tmp_path: Path, shown: bool, strict: str, of_class: str
) -> None:
    folder = made_folder(tmp_path, shown=shown)
    run = queued(folder, "once")
    do_all(folder)
    execute(folder, "UPDATE jobs SET figures = replace(figures, '0.1593', ?)", str(float(strict) / 100))
    with calling(folder) as client:
        for path in ("/", "/runs"):
            assert strict in _row(text_of(client.get(path)), "once").split(), path
        classes, page = (text_of(client.get(f"/runs/{run.id}{part}")) for part in ("/classes", ""))
        report = client.get(f"/runs/{run.id}/report")
    assert absent((f"<td>{of_class}</td>", '<th scope="col">shoe AP</th>'), classes) == []
    for part in ("Reproduce these results", "all results"):
        assert (part in page) == shown
    assert ("can be computed only on the server" in page) == (not shown)
    if shown:  # the report opens in a page that names the run and leads back
        assert absent(("<title>Report of once", f'href="/runs/{run.id}">← <bdi>once'), text_of(report)) == []
    else:
        assert report.status_code == 404
    folder.close()


def test_a_table_without_classes_says_why(tmp_path: Path) -> None:
    folder = made_folder(tmp_path, shown=False)
    run = queued(folder, "once")
    done_by_hand(folder, {"classes.csv": b"class,verb,object,ground_truths,shoe_ap\n"})
    with calling(folder) as client:
        page = text_of(client.get(f"/runs/{run.id}/classes"))
    assert f"fewer than {LEAST_TRUTHS} ground truths" in page
    assert "<table" not in page
    folder.close()


def test_who_may_not_see_something_is_told_as_if_it_were_not_there(client: Any, site: Any) -> None:
    folder, ids = site
    nothing = text_of(client.get("/runs/r_00000000000000000000"), 404)
    assert text_of(client.get(f"/runs/{ids['foreign']}"), 404).replace(ids["foreign"], "r_" + "0" * 20) == nothing
    assert "15.93" not in text_of(client.get(f"/runs/{ids['secret']}"))
    assert "hidden for now" in text_of(client.get("/boards/secret"))
    assert "object box +22.00" in text_of(client.get("/boards/board"))
    with outside(folder) as public:
        for path in (
            "/runs?state=done",
            f"/runs/{ids['team']}",
            f"/runs/{ids['team']}/report",
            "/truths",
            "/tokens",
            "/submit?board=board",
        ):
            away = public.get(path, follow_redirects=False)
            assert (away.status_code, away.headers["location"]) == (303, f"/login?next={quote(path)}")
        assert ids["public"] not in text_of(public.get("/"))
        assert "/boards/secret" not in text_of(public.get("/boards"))
        assert public.get("/boards/secret", follow_redirects=False).status_code == 303
        assert SHOWN in text_of(public.get(f"/runs/{ids['foreign']}", headers=bearer(folder, "others")))


def test_a_login_is_a_cookie_and_leads_to_pages_of_the_server_alone(site: Any) -> None:
    token = new_token(site[0], "me", "lab", ("admin",))
    with calling(site[0], f"http://{PUBLIC}", names=(PUBLIC,)) as public:
        ours = {"Origin": f"http://{PUBLIC}"}

        def post(path: str, **data: str) -> Any:
            return public.post(path, data=data, headers=ours, follow_redirects=path == "/tokens")

        assert "not valid" in text_of(post("/login", token="shoe_no", next="/"), 401)
        for wanted in ("/runs", "//evil.example", "https://evil.example", "/\\e"):
            into = post("/login", token=token, next=wanted)
            assert (into.status_code, into.headers["location"]) == (303, "/runs" if wanted == "/runs" else "/")
            marks = {each.strip().lower() for each in into.headers["set-cookie"].split(";")}
            assert {"httponly", "samesite=strict"} <= marks
        assert "log out" in text_of(public.get("/tokens"))
        (shown,) = re.findall(r"shoe_[\w-]{43}", text_of(post("/tokens", name="a", team="b", scopes="read")))
        listed = text_of(public.get("/tokens"))
        assert shown not in listed
        assert "never" in listed  # used, and of the first token also: expires
        post("/tokens/revoke", prefix=shown[:10])
        assert public.get("/v1/runs", headers={"Authorization": f"Bearer {shown}"}).status_code == 401
        post("/logout")
        assert public.get("/runs", follow_redirects=False).headers["location"] == "/login?next=/runs"


def test_forms_change_runs(client: Any, site: Any) -> None:
    run = f"/runs/{site[1]['mine']}"
    assert client.post(f"{run}/cancel", headers={"Origin": "https://evil.example"}).status_code == 403
    for action, state in (("cancel", "cancelled"), ("retry", "queued")):
        assert f'class="state {state}"' in text_of(client.post(f"{run}/{action}"))
    renamed = text_of(client.post(f"{run}/change", data={"name": HOSTILE, "visibility": "public"}))
    assert f"<bdi>{SHOWN}</bdi></h1>" in renamed
    assert text_of(client.post(f"{run}/nothing"), 404)
    assert client.post(f"{run}/delete").url.path == "/runs"
    assert client.get(run).status_code == 404
    both = [site[1]["public"], site[1]["other"]]
    compared = client.post("/compare", data={"run": both, "resamples": "200", "seed": "0"})
    assert 'class="state queued"' in text_of(compared)
    assert compared.url.path.startswith("/runs/r_")
    assert "1 runs, expected 2 to 20" in text_of(client.post("/compare", data={"run": both[:1]}), 409)


def test_the_playground_says_what_the_commands_say(client: Any) -> None:
    found = as_json("similarity", "ride bicycle", "sitting astride a bike")
    said = [
        f'<p class="large">{found["interaction"]["value"]:.2f} ',
        "sitting astride · bike",
        "Strict: no class",
        *(sense["synset"] for part in found["parts"] for sense in part["candidates"]),
    ]
    assert absent(said, text_of(client.get(ASKED))) == []
    exact = text_of(client.get("/playground?said=riding+a+bicycle&truth=ride+moon"))
    assert absent(("class <b>ride bicycle</b>", "hico-det has no"), exact) == []
    assert SHOWN in text_of(client.get("/playground", params={"said": HOSTILE}))


def test_the_page_of_the_api_has_every_call_of_its_schema(client: Any) -> None:
    paths = client.get("/openapi.json").json()["paths"]
    every = (f">{method.upper()}</code> <code>{path}<" for path, calls in paths.items() for method in calls)
    assert absent(every, text_of(client.get("/api"))) == []


def test_a_site_on_disk_is_whole_and_holds_what_is_public_alone(site: Any, tmp_path: Path) -> None:
    folder, ids = site
    target = tmp_path / "site"
    assert export(folder, target) == export(folder, target)
    pages = {page: page.read_text("utf-8") for page in target.rglob("*.html") if page.name != "report.html"}
    for page, text in pages.items():
        for link in re.findall(r"(?:href|src)=\"([^\"#]+)", text):
            assert (page.parent / link).exists(), (page, link)
        assert not re.search("<form|<script>alert", text)
    everything = json.dumps(list(pages.values()))
    hidden = ["secret title", *(ids[name] for name in ("secret", "team", "foreign", "queued", "failed"))]
    assert absent([ids["public"], *hidden], everything) == hidden
    assert not (target / "boards" / "secret.html").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(InputError, match="found other files"):
        export(folder, tmp_path / "other")


def test_a_wrong_address_is_told_to_people_as_a_page_and_to_programs_as_json(client: Any) -> None:
    page = client.get("/nothing", headers={"Accept": "text/html,*/*"})
    assert (page.status_code, "Page not found" in page.text) == (404, True)
    said = client.get("/nothing").json()
    assert (list(said), said["error"].split()[-1]) == (["error"], "/nothing")
    said = client.get("/v1/runs?limit=1000").json()
    assert (said["field"], re.findall(r"^limit:|\d+", said["error"])) == ("limit", ["limit:", "1000", "200"])


def test_a_quota_is_a_quota_on_every_page(tmp_path: Path) -> None:
    folder = made_folder(tmp_path, shown=False)
    for name, quota in (("usual", None), ("once", 1)):
        add_board(folder, name, Request(truth="small"), quota=quota)
    queued(folder, "once", board="once")
    with calling(folder) as client:
        for path in ("/", "/boards"):  # the limit of a hidden truth, and that of the leaderboard
            assert absent(("9 of 10 submissions", "its 1 submission", "at <time"), text_of(client.get(path))) == [], (
                path
            )
        for name in ("usual", "once"):
            assert (f"/submit?board={name}" in text_of(client.get(f"/boards/{name}"))) == (name == "usual")
        form = text_of(client.get("/submit"))
        assert absent(("(9 submissions left", "Everybody who"), form) == []
        assert re.search(r"used; [^<]*:\d\d UTC\)", form)
    with outside(folder) as public:
        for path in ("/", "/boards", "/boards/usual"):
            assert "at most 10 submissions" in text_of(public.get(path)), path
        assert "at most 1 submission " in text_of(public.get("/boards/once"))
    folder.close()


def test_pages_offer_only_what_works(client: Any, site: Any) -> None:
    folder, ids = site
    execute(folder, "UPDATE runs SET team = 'others', visibility = 'team' WHERE id = ?", ids["ranked"])
    board = text_of(client.get("/boards/board"))
    assert f"{SHOWN} ranked" in board
    assert f"/runs/{ids['ranked']}" not in board  # the page of another team's private run would be "not found"
    runs.change(folder, ids["ranked"], visibility="public")
    assert f'href="/runs/{ids["ranked"]}"' in text_of(client.get("/boards/board"))
    for path, may in (("/runs", {"public", "other", "team", "ranked"}), ("/compare", {"public", "other"})):
        offered = set(re.findall(r'name="run" value="(r_\w+)"', text_of(client.get(path))))
        assert {ids[name] for name in may} <= offered
        assert offered.isdisjoint({ids[name] for name in ("failed", "compare", "queued", "secret")})
    assert ids["secret"] not in text_of(client.get("/compare"))
    for path, status, before, link in (
        (f"/runs/{ids['failed']}", 200, "Why it failed", '"/submit"'),
        ("/runs/none", 404, "<h1>", 'href="/login?next=/runs/none"'),
        ("/runs?name=nobody", 200, "No run matches", 'href="/runs"'),
    ):
        assert link in text_of(client.get(path), status).partition(before)[2], path


def test_a_comparison_shows_what_is_significant_and_which_settings_differ() -> None:
    models = [
        {"name": name, "figures": {"semantic:gt_miss_rate": {"value": value, "rank": rank}}}
        for name, value, rank in (("a", 0.2, 2), ("b", 0.1, 1), ("c", 0.3, 3))
    ]
    tests = [
        {"models": pair, "figure": "semantic:gt_miss_rate", "significant": significant}
        for pair, significant in ((["a", "b"], False), (["a", "c"], True), (["c", "b"], True))
    ]
    found = {"models": models, "differences": tests, "notes": ["tests      see `--json`"], "unlike": ["tau is 1 for a"]}
    values = comparison_values(found, ["r_1", "r_2", "r_3"])
    assert [above for model in values["models"] for _, above in model["cells"]] == [[3], [3], []]
    assert (values["unlike"], values["notes"]) == (found["unlike"], found["notes"])


def test_raters_of_a_map_are_told_apart() -> None:
    drawn = matrix(["reading_c", "reading_d", "reading_e"], [(0, 1, 0.5)], "agreement")
    shown = {text.partition("<")[0] for text in re.findall(r"<text[^>]*>(.*?)</text>", drawn)}
    assert {"reading_c", "reading_d", "reading_e"} <= shown


def test_readers_do_not_wait_for_templates_to_be_compiled(site: Any, monkeypatch: Any) -> None:
    found, compiled = environment(TEMPLATES), []
    compile_one = found.compile

    def counted(source: Any, name: str, *more: Any, **options: Any) -> Any:
        compiled.append(name)
        return compile_one(source, name, *more, **options)

    monkeypatch.setattr(found, "compile", counted)
    assert found.cache is not None
    found.cache.clear()
    every = sorted(path.name for path in TEMPLATES.iterdir())
    with calling(site[0]) as client:
        waited(lambda: len(compiled) >= len(every))
        for path in PAGES:
            text_of(client.get(path))
    assert sorted(compiled) == every  # each once, by the server and not by a request


names = st.text("ab.-_ é%?#", min_size=1, max_size=6).filter(lambda name: name.strip(".") != "")
paths = st.one_of(
    st.sampled_from(["/", "/runs", "/static/page.css"]),
    names.map(lambda name: f"/maps/{name}"),
    names.map(lambda name: f"/runs/{name}/classes"),
    names.map(lambda name: f"/v1/runs/r/files/{name}"),
)


@examples(2)
@given(here=paths, to=paths)
def test_links_on_disk_lead_where_they_should(here: str, to: str) -> None:
    if "#" in here + to:
        return
    link = site_link(here, {here, to}, to)
    assert normpath(join(dirname(file_of(here)), unquote(link))) == normpath(file_of(to))
    assert site_link(here, {here}, "/absent") == ""


def test_links_of_a_server_lie_below_its_proxys_path() -> None:
    assert server_link("/lab/", "/runs/r_1?a=b") == "/lab/runs/r_1?a=b"
    assert server_link("", '/maps/"é') == "/maps/%22%C3%A9"
