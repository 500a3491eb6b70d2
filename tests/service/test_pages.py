"""Pages as programs see them: what they say, who sees which, that nothing hostile is markup, and what forms do."""

import json
import re
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import pytest

from tests.service.calling import PUBLIC, bearer, calling, made_folder, received
from tests.service.site import HOSTILE, do_all, made_site

markupsafe = pytest.importorskip("markupsafe", reason="the libraries of shoe serve are not installed")
SHOWN = str(markupsafe.escape(HOSTILE.replace("\u202e", "\ufffd")))
PAGES = ("/", "/submit", "/runs", "/compare", "/boards", "/boards/board", "/maps", "/maps/hico-det", "/truths")
ASKED = "/playground?said=sitting+astride+a+bike&truth=ride+bicycle"


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
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert page.count("<h1>") == 1
    assert "'unsafe" not in answer.headers["content-security-policy"]
    seen = _Seen()
    seen.feed(page)
    assert seen.wrong == []
    assert "\u202e" not in page
    assert "<script>alert" not in page
    return page


def test_every_page_is_whole_and_hostile_names_are_text(client: Any, site: Any) -> None:
    of_runs = [f"/runs/{id_}" for name, id_ in site[1].items() if name != "foreign"]
    for path in (*PAGES, *of_runs, f"/runs/{site[1]['public']}/classes", ASKED, "/api", "/login"):
        page = text_of(client.get(path))
        if path in ("/", "/runs", "/compare", "/boards", "/boards/board", *of_runs[:5]):
            assert SHOWN in page, path
    assert client.get("/static/page.css").headers["content-type"].startswith("text/css")
    assert client.get("/static/nothing.css").status_code == 404


def test_a_run_says_strict_beside_semantic_beside_why(client: Any, site: Any) -> None:
    page = text_of(client.get(f"/runs/{site[1]['public']}"))
    plain = re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", page))
    for said in (
        "15.93 mAP, hico-det",
        "36.19 SHOE-mAP +20.26",
        "+6.00 missed GT",
        "human box 25.00 +5.00",
        "1,234 predictions",
        "exact matches 22.00",
        "credit for similar verbs +10.00",
        "pony",
        "5.2 1.8",
        "--ground-truth instances_test2015.json",
        "shoe:1|data:hico-det",
        "a note without a key",
    ):
        assert said in plain, said
    for name in ("result.json", "run.shoe", "report.html", "diagnosis.json", "classes.csv"):
        address = f"/v1/runs/{site[1]['public']}/files/{name}"
        assert f'href="{address}"' in page
        assert client.get(address).status_code == 200
    failed = text_of(client.get(f"/runs/{site[1]['failed']}"))
    assert "Why it failed" in failed
    assert f"broken.json: line 1: found {SHOWN[:40]}" in failed
    queued = text_of(client.get(f"/runs/{site[1]['queued']}"))
    assert f'data-events="/v1/runs/{site[1]["queued"]}/events"' in queued
    assert '<noscript><meta http-equiv="refresh"' in queued


def test_a_page_is_rendered_again_only_if_what_it_shows_changes(client: Any, site: Any, monkeypatch: Any) -> None:
    from shoe.service import jobs, runs
    from shoe.service.pages import rendering

    folder, ids = site
    rendered: list[str] = []
    render = rendering.render

    def counted(view: Any, *more: Any) -> bytes:
        rendered.append(view.template)
        return render(view, *more)

    monkeypatch.setattr(rendering, "render", counted)
    pages = [f"/runs/{ids['public']}", "/runs", "/boards/board"]

    def fresh() -> list[str]:
        rendered.clear()
        for page in pages:
            text_of(client.get(page))
        return sorted(rendered)

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
    assert page.count('class="triplet truth"') == 2
    assert page.count('class="triplet m1"') == 1
    for said in (
        SHOWN,
        "human 0.90, object 0.80",
        "score 0.50 matched this ground truth",
        "ground truth that no prediction",
    ):
        assert said in page
    image = f"/runs/{ids['public']}/images/0"
    assert client.get(image).status_code == 404
    (tmp_path / "HICO_test2015_00000001.jpg").write_bytes(b"a photo")
    with calling(folder, images=tmp_path) as other:
        assert f'href="{image}"' in text_of(other.get(f"/runs/{ids['public']}"))
        assert (other.get(image).content, other.get(image).headers["content-type"]) == (b"a photo", "image/jpeg")
        for path in (f"/runs/{ids['public']}/images/2", f"/runs/{ids['secret']}/images/0"):
            assert other.get(path).status_code == 404


def test_a_run_says_what_is_hidden_or_being_made_and_its_reason_once(client: Any, site: Any) -> None:
    from shoe.service import jobs

    folder, ids = site
    hidden = text_of(client.get(f"/runs/{ids['secret']}"))
    assert "results hidden" in hidden
    assert hidden.count('href="/boards/secret"') == 2
    assert "Compare with" not in hidden
    assert text_of(client.get(f"/runs/{ids['failed']}")).count("expected JSON") == 1
    public = f"/runs/{ids['public']}"
    assert "is being made" not in text_of(client.get(public))
    with folder.database.write() as db:
        key = db.execute(
            "SELECT further.key FROM further JOIN jobs USING (key) WHERE run = ? AND kind = 'page'", (ids["public"],)
        )
        key = key.fetchone()["key"]
        db.execute("UPDATE jobs SET state = 'queued' WHERE key = ?", (key,))
    page = text_of(client.get(public))
    assert "is being made" in page
    assert 'id="live"' in page
    with folder.database.write() as db:
        db.execute("UPDATE jobs SET state = 'done' WHERE key = ?", (key,))
    assert jobs.running(folder) == []


def test_a_negative_gain_is_explained() -> None:
    from shoe.report.page.rendering import environment
    from shoe.service.pages.views import figures
    from tests.service.site import RESULT

    for semantic, explained in ((0.1, True), (0.3, False)):
        result = {**RESULT, "semantic": {"map": semantic, "mf1": 0.4}}
        values = figures(result, None, None) | {"examples": [], "files": {"words": None}, "link": str}
        folder = Path(__file__).parents[2] / "shoe" / "service" / "pages" / "templates"
        source = '{% import "parts.html" as parts with context %}{% include "figures.html" %}'
        page = environment(folder).from_string(source).render(values)
        assert ("The gain is negative" in page) == explained


def test_runs_of_other_protocols_are_marked(client: Any, site: Any) -> None:
    assert "<small>hico-det</small>" not in text_of(client.get("/runs"))
    folder, ids = site
    with folder.database.write() as db:
        figures = """UPDATE jobs SET figures = replace(figures, ?, ?) WHERE key = (SELECT key FROM runs WHERE id = ?)"""
        db.execute(figures, ("strict:hico-det:", "strict:qpic:", ids["other"]))
    for path in ("/runs", "/compare"):
        page = text_of(client.get(path))
        assert "<small>qpic</small>" in page
        assert "<small>hico-det</small>" in page
    with folder.database.write() as db:
        db.execute(figures, ("strict:qpic:", "strict:hico-det:", ids["other"]))


def test_a_leaderboard_shows_dates_baselines_and_the_best_run_of_each_team(tmp_path: Path) -> None:
    from shoe.service import runs, submissions
    from shoe.service.boards import add_board
    from shoe.service.types import Request

    folder = made_folder(tmp_path)
    add_board(folder, "open", Request(truth="small"), quota=3)
    for team, name in (("admin", "first"), ("admin", "second"), ("local", "third"), ("local", "fourth")):
        stored = received(folder.files, [name.encode()])
        runs.add_file(folder, team, name, stored)
        submissions.submit(folder, team, name, stored.sha256, Request(truth="small"), "public", "open")
    do_all(folder)
    with calling(folder) as client:
        first = client.get("/v1/boards/open").json()["rows"][0]["run"]
        assert client.post(f"/runs/{first}/change", data={"name": "a", "link": "javascript:alert()"}).status_code == 403
        third = next(row["run"] for row in client.get("/v1/boards/open").json()["rows"] if row["team"] == "local")
        for link, status in (("javascript:alert()", 422), ("https://paper.example/1", 200)):
            assert client.patch(f"/v1/runs/{third}", json={"link": link}).status_code == status
        every, best = (text_of(client.get(f"/boards/open{query}")) for query in ("", "?best=true"))
        assert "has 1 of 3 submissions in 24 hours left" in every
        assert [page.count("baseline</span>") for page in (every, best)] == [2, 2]
        assert [page.count('scope="row"') for page in (every, best)] == [4, 3]
        assert every.count("<time ") == 4
        assert every.count('href="https://paper.example/1"') == 1
        assert "(1 submission left in 24 hours)" in text_of(client.get("/submit"))
        assert '\\"board\\": \\"open\\"' in text_of(client.get("/api")).replace(
            "&#34;", '"'
        )  # small is closed to others
        told = {"prediction": "0" * 64, "board": "open"}
        assert client.post("/v1/runs", json=told).status_code == 404
        stored = received(folder.files, [b"fifth"])
        runs.add_file(folder, "local", "fifth", stored)
        submissions.submit(folder, "local", "fifth", stored.sha256, Request(truth="small"), "public", "open")
        refused = client.post("/v1/runs", json=told)  # before the file is sent
        assert refused.status_code == 429
        assert 86_300 < int(refused.headers["retry-after"]) <= 86_400
        assert "the next one is possible at" in text_of(client.get("/boards/open"))
    with calling(folder, f"http://{PUBLIC}", names=(PUBLIC,)) as outside:
        front = text_of(outside.get("/"))
        assert "Log in to submit" in front
        assert "fourth" in front
    folder.close()


def test_lists_are_filtered(client: Any, site: Any) -> None:
    failed = text_of(client.get("/runs?state=failed"))
    assert re.findall(r"/runs/(r_\w+)\"", failed) == [site[1]["failed"]]
    assert re.findall(r"/runs/(r_\w+)\"", text_of(client.get("/runs?name=QUEUED"))) == [site[1]["queued"]]
    assert "No run matches the filter" in text_of(client.get("/runs?truth=unknown"))


def _row(page: str, name: str) -> str:
    (row,) = (row for row in page.split("<tr>") if f">{name}</bdi>" in row)
    return re.sub(r"<[^>]+>", " ", row)


def test_a_table_of_runs_says_why_figures_are_missing_and_names_cut_names(client: Any, site: Any) -> None:
    page = text_of(client.get("/runs"))
    assert "results hidden" in _row(page, f"{SHOWN} secret")
    assert "results hidden" not in _row(page, f"{SHOWN} public")
    assert "SHOE-mAP and SHOE-mF1 in percent" in page
    for path in ("/runs", "/boards/board", f"/runs/{site[1]['compare']}"):
        assert f'<bdi title="{SHOWN}' in text_of(client.get(path)), path
    assert '<bdi title="local">' in text_of(client.get("/boards/board"))


def test_rounded_metrics_have_no_more_digits_in_lists_than_on_their_page(tmp_path: Path) -> None:
    from shoe.service import runs, submissions
    from shoe.service.types import Request

    for shown, strict, of_class in ((True, "15.93", "25.00"), (False, "16", "25")):
        folder = made_folder(tmp_path / str(shown), shown=shown)
        stored = received(folder.files, [b"once"])
        runs.add_file(folder, "local", "once", stored)
        run = submissions.submit(folder, "local", "once", stored.sha256, Request(truth="small"))
        do_all(folder)
        with folder.database.write() as db:
            db.execute("UPDATE jobs SET figures = replace(figures, '0.1593', ?)", (str(float(strict) / 100),))
        with calling(folder) as client:
            for path in ("/", "/runs"):
                assert strict in _row(text_of(client.get(path)), "once").split(), path
            classes = text_of(client.get(f"/runs/{run.id}/classes"))
            assert f"<td>{of_class}</td>" in classes
            assert '<th scope="col">shoe AP</th>' in classes
        folder.close()


def test_a_run_without_predictions_says_so_beside_its_figures() -> None:
    from shoe.service.pages.views import figures
    from tests.service.site import RESULT

    for predictions in (0, 1):
        values = figures(RESULT | {"predictions": predictions}, None, None) | {"examples": [], "link": str}
        page = _rendered('{% include "figures.html" %}', **values | {"files": {"words": None}})
        assert ("The file contains no predictions" in page.partition("Strict")[0]) == (predictions == 0)


def test_who_may_not_see_something_is_told_as_if_it_were_not_there(client: Any, site: Any) -> None:
    folder, ids = site
    absent = text_of(client.get("/runs/r_00000000000000000000"), 404)
    assert text_of(client.get(f"/runs/{ids['foreign']}"), 404).replace(ids["foreign"], "r_" + "0" * 20) == absent
    assert "15.93" not in text_of(client.get(f"/runs/{ids['secret']}"))
    assert "hidden for now" in text_of(client.get("/boards/secret"))
    assert "object box +22.00" in text_of(client.get("/boards/board"))
    with calling(folder, f"http://{PUBLIC}", names=(PUBLIC,)) as outside:
        for path in ("/runs?state=done", f"/runs/{ids['team']}", "/truths", "/tokens", "/submit?board=board"):
            away = outside.get(path, follow_redirects=False)
            assert (away.status_code, away.headers["location"]) == (303, f"/login?next={quote(path)}")
        assert ids["public"] not in text_of(outside.get("/"))
        assert "/boards/secret" not in text_of(outside.get("/boards"))
        assert outside.get("/boards/secret", follow_redirects=False).status_code == 303
        team = outside.get(f"/runs/{ids['foreign']}", headers=bearer(folder, "others"))
        assert SHOWN in text_of(team)


def test_a_login_is_a_cookie_and_leads_to_pages_of_the_server_alone(site: Any) -> None:
    from shoe.service.tokens import new_token

    token = new_token(site[0], "me", "lab", ("admin",))
    with calling(site[0], f"http://{PUBLIC}", names=(PUBLIC,)) as outside:
        ours = {"Origin": f"http://{PUBLIC}"}
        wrong = outside.post("/login", data={"token": "shoe_no", "next": "/"}, headers=ours)
        assert "the token is not valid" in text_of(wrong, 401)
        for wanted, leads in (
            ("/runs", "/runs"),
            ("//evil.example", "/"),
            ("https://evil.example", "/"),
            ("/\\e", "/"),
        ):
            into = outside.post("/login", data={"token": token, "next": wanted}, headers=ours, follow_redirects=False)
            assert (into.status_code, into.headers["location"]) == (303, leads)
            assert {"httponly", "samesite=strict"} <= {
                each.strip().lower() for each in into.headers["set-cookie"].split(";")
            }
        assert "log out" in text_of(outside.get("/tokens"))
        made = text_of(outside.post("/tokens", data={"name": "a", "team": "b", "scopes": "read"}, headers=ours))
        (shown,) = re.findall(r"shoe_[\w-]{43}", made)
        assert shown not in text_of(outside.get("/tokens"))
        assert "never" in text_of(outside.get("/tokens"))  # used, and of the first token also: expires
        outside.post("/tokens/revoke", data={"prefix": shown[:10]}, headers=ours)
        assert outside.get("/v1/runs", headers={"Authorization": f"Bearer {shown}"}).status_code == 401
        outside.post("/logout", headers=ours)
        assert outside.get("/runs", follow_redirects=False).headers["location"] == "/login?next=/runs"


def test_forms_change_runs(client: Any, site: Any) -> None:
    run = f"/runs/{site[1]['mine']}"
    assert client.post(f"{run}/cancel", headers={"Origin": "https://evil.example"}).status_code == 403
    assert 'class="state cancelled"' in text_of(client.post(f"{run}/cancel"))
    assert 'class="state queued"' in text_of(client.post(f"{run}/retry"))
    renamed = text_of(client.post(f"{run}/change", data={"name": HOSTILE, "visibility": "public"}))
    assert f"<bdi>{SHOWN}</bdi></h1>" in renamed
    assert text_of(client.post(f"{run}/nothing"), 404)
    assert client.post(f"{run}/delete").url.path == "/runs"
    assert client.get(run).status_code == 404
    both = {"run": [site[1]["public"], site[1]["other"]], "resamples": "200", "seed": "0"}
    compared = client.post("/compare", data=both)
    assert 'class="state queued"' in text_of(compared)
    assert compared.url.path.startswith("/runs/r_")
    assert "found 1 runs, expected 2 to 20" in text_of(client.post("/compare", data={"run": both["run"][:1]}), 409)


def test_the_playground_says_what_the_commands_say(client: Any) -> None:
    from tests.cli.run import as_json

    page = text_of(client.get(ASKED))
    found = as_json("similarity", "ride bicycle", "sitting astride a bike")
    assert f'<p class="large">{found["interaction"]["value"]:.2f} ' in page
    for part in found["parts"]:
        for sense in part["candidates"]:
            assert sense["synset"] in page
    assert "sitting astride · bike" in page
    assert "Strict: no class" in page
    exact = text_of(client.get("/playground?said=riding+a+bicycle&truth=ride+moon"))
    assert "class <b>ride bicycle</b>" in exact
    assert "hico-det has no class" in exact
    assert SHOWN in text_of(client.get("/playground", params={"said": HOSTILE}))


def test_the_page_of_the_api_has_every_call_of_its_schema(client: Any) -> None:
    page = text_of(client.get("/api"))
    for path, calls in client.get("/openapi.json").json()["paths"].items():
        for method in calls:
            assert re.search(rf">{method.upper()}</code> <code>{re.escape(path)}</code>", page)


def test_a_site_on_disk_is_whole_and_holds_what_is_public_alone(site: Any, tmp_path: Path) -> None:
    from shoe.core.errors import InputError
    from shoe.service.backup import export

    folder, ids = site
    target = tmp_path / "site"
    assert export(folder, target) == export(folder, target)
    assert "secret title" not in (target / "boards.html").read_text("utf-8")
    pages = {page: page.read_text("utf-8") for page in target.rglob("*.html") if page.name != "report.html"}
    for page, text in pages.items():
        for link in re.findall(r"(?:href|src)=\"([^\"#]+)", text):
            assert (page.parent / link).exists(), (page, link)
        assert "<form" not in text
        assert "<script>alert" not in text
    everything = json.dumps(list(pages.values()))
    assert ids["public"] in everything
    assert all(ids[name] not in everything for name in ("team", "foreign", "queued", "failed"))
    assert "15.93" not in pages[target / "runs" / f"{ids['secret']}.html"]
    assert not (target / "boards" / "secret.html").exists()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(InputError, match="found other files"):
        export(folder, tmp_path / "other")


def test_an_address_without_a_page_is_told_to_people_as_a_page_and_to_programs_as_json(client: Any) -> None:
    page = client.get("/nothing", headers={"Accept": "text/html,*/*"})
    assert page.status_code == 404
    assert "Page not found" in page.text
    assert client.get("/nothing").json() == {"error": "no resource at /nothing"}


def test_a_wrong_parameter_is_told_with_what_was_expected(client: Any) -> None:
    said = client.get("/v1/runs?limit=1000").json()["error"]
    assert said == "limit: found '1000' (query); expected less than or equal to 200"


def test_a_quota_is_a_quota_on_every_page(tmp_path: Path) -> None:
    from shoe.service import runs, submissions
    from shoe.service.boards import add_board
    from shoe.service.types import Request

    folder = made_folder(tmp_path, shown=False)
    add_board(folder, "usual", Request(truth="small"))
    add_board(folder, "once", Request(truth="small"), quota=1)
    stored = received(folder.files, [b"once"])
    runs.add_file(folder, "local", "once", stored)
    submissions.submit(folder, "local", "once", stored.sha256, Request(truth="small"), "team", "once")
    with calling(folder) as client:
        for path in ("/", "/boards"):
            page = text_of(client.get(path))
            assert "your team has 9 of 10 submissions in 24 hours left" in page, path  # the limit of a hidden truth
            assert "has used its 1 submission in 24 hours; the next one is possible at <time" in page, path
        assert "/submit?board=usual" in text_of(client.get("/boards/usual"))
        assert "/submit?board=once" not in text_of(client.get("/boards/once"))
        form = text_of(client.get("/submit"))
        assert "(9 submissions left in 24 hours)" in form
        assert re.search(r"\(quota used; next submission \d+ \w+ \d{4}, \d\d:\d\d UTC\)", form)
        assert "Everybody who can see the leaderboard sees the name, the team and the scores" in form
    with calling(folder, f"http://{PUBLIC}", names=(PUBLIC,)) as outside:
        for path in ("/", "/boards", "/boards/usual"):
            assert "at most 10 submissions per team in 24 hours" in text_of(outside.get(path)), path
        assert "at most 1 submission per team" in text_of(outside.get("/boards/once"))
    folder.close()


def test_pages_offer_only_what_works(client: Any, site: Any) -> None:
    from shoe.service import runs

    folder, ids = site
    with folder.database.write() as db:
        db.execute("UPDATE runs SET team = 'others', visibility = 'team' WHERE id = ?", (ids["ranked"],))
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
    assert '"/submit"' in text_of(client.get(f"/runs/{ids['failed']}")).partition("Why it failed")[2]
    assert 'href="/login?next=/runs/none"' in text_of(client.get("/runs/none"), 404)
    assert 'href="/runs"' in text_of(client.get("/runs?name=nobody")).partition("No run matches")[2]


def test_a_comparison_shows_what_is_significant_and_which_settings_differ() -> None:
    from shoe.service.pages.views import comparison_values

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


def _rendered(source: str, **values: Any) -> str:
    from shoe.report.page.rendering import environment

    folder = Path(__file__).parents[2] / "shoe" / "service" / "pages" / "templates"
    source = '{% import "parts.html" as parts with context %}' + source
    return environment(folder).from_string(source).render(values)


def test_commands_in_notes_are_code() -> None:
    note = _rendered("{{ parts.note(line) }}", line="tests      `--json` writes <all>")
    assert note == "<li><b>tests: </b><bdi><code>--json</code> writes &lt;all&gt;</bdi></li>"


def test_errors_without_a_gain_are_not_called_the_largest_loss() -> None:
    from shoe.service.pages.views import figures
    from tests.service.site import DIAGNOSIS, RESULT

    errors = {name: {"count": 1, "delta_map": 0.0} for name in cast(dict[str, Any], DIAGNOSIS["errors"])}
    for diagnosis, said in ((DIAGNOSIS, False), (DIAGNOSIS | {"errors": errors}, True)):
        values = figures(RESULT, diagnosis, None) | {"examples": [], "files": {"words": None}, "link": str}
        page = _rendered('{% include "figures.html" %}', **values)
        assert ("alone does not raise mAP" in page) == said
    strict = {name: value for name, value in RESULT.items() if name != "semantic"}  # the diagnosis has SHOE-mAP anyway
    values = figures(strict, DIAGNOSIS, None) | {"examples": [], "files": {"words": None}, "link": str}
    assert '<span class="dot m2"></span> SHOE-mAP' in _rendered('{% include "figures.html" %}', **values)


def test_raters_of_a_map_are_told_apart() -> None:
    from shoe.report.page.svg import matrix

    drawn = matrix(["reading_c", "reading_d", "reading_e"], [(0, 1, 0.5)], "agreement")
    shown = {text.partition("<")[0] for text in re.findall(r"<text[^>]*>(.*?)</text>", drawn)}
    assert {"reading_c", "reading_d", "reading_e"} <= shown


def test_readers_do_not_wait_for_templates_to_be_compiled(site: Any, monkeypatch: Any) -> None:
    from shoe.report.page.rendering import environment
    from shoe.service.pages import rendering

    folder = Path(rendering.__file__).parent / "templates"
    found, compiled = environment(folder), []
    compile_one = found.compile

    def counted(source: Any, name: str, *more: Any, **options: Any) -> Any:
        compiled.append(name)
        return compile_one(source, name, *more, **options)

    monkeypatch.setattr(found, "compile", counted)
    assert found.cache is not None
    found.cache.clear()
    every = sorted(path.name for path in folder.iterdir())
    with calling(site[0]) as client:
        until = time.monotonic() + 60
        while len(compiled) < len(every) and time.monotonic() < until:
            time.sleep(0.05)
        for path in PAGES:
            text_of(client.get(path))
    assert sorted(compiled) == every  # each once, by the server and not by a request
