"""What a hostile client sends, and that nothing comes of it."""

import asyncio
import errno
import gzip
import json
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from shoe.service import runs
from shoe.service.boards import add_board
from shoe.service.callers import Buckets
from shoe.service.folder import Receiver
from shoe.service.settings import Rate
from shoe.service.tokens import tokens
from shoe.service.types import Request
from tests.examples import examples
from tests.service.calling import (
    PUBLIC,
    bearer,
    calling,
    done_by_hand,
    execute,
    outside,
    sent,
    statuses,
    submitted,
)

TRUTH_IS_SHOWN = False
MIB = 1 << 20


# Names and paths


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a\x00b", "CON", "..", "=cmd|'/c calc'!A1", "\u202egpj"]
)
def test_a_file_name_is_text_and_never_a_path(folder: Any, client: Any, tmp_path: Path, name: str) -> None:
    def files() -> set[Path]:
        return {path for path in tmp_path.rglob("*") if path.is_file() and "sqlite" not in path.name}

    before = files()
    digest = client.put("/v1/predictions", params={"name": name}, content=b"[1]").json()["sha256"]
    assert files() - before == {folder.files.path(digest)}
    run = client.post("/v1/runs", json={"prediction": digest, "truth": "small"}).json()
    assert run["name"].isprintable()


@pytest.mark.parametrize("path", ["/%2e%2e/%2e%2e/etc/passwd", "/v1/runs/..%2f", "/static/../../x", "//etc"])
def test_a_path_leads_nowhere_else(lasting: Any, path: str) -> None:
    answer = lasting.get(lasting.base_url.copy_with(raw_path=path.encode()))
    assert answer.status_code in (404, 422)
    assert "error" in answer.json()


# Bodies


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_while_it_unpacks(folder: Any, client: Any, encoding: str) -> None:
    import zstandard

    pack: Any = {"gzip": gzip.compress, "zstd": zstandard.compress}[encoding]
    for bomb in (pack(bytes(64 * MIB)), pack(bytes(16 * MIB)) * 64):
        answer = client.put("/v1/predictions", content=bomb, headers={"Content-Encoding": encoding})
        assert answer.status_code == 413
    assert not list(folder.uploads.iterdir())


def test_sizes_are_limited_announced_or_not(folder: Any) -> None:
    with calling(folder, largest_upload=8 * MIB) as client:
        for path, method in (("/v1/predictions", "PUT"), ("/v1/runs", "POST"), ("/v1/uploads", "POST")):
            for size in ("10000000000", "-1"):
                refused = client.request(method, path, content=b"{}", headers={"Content-Length": size})
                assert (refused.status_code, refused.headers["connection"]) == (413, "close")
            status, read = endless(client.app, method, path)
            assert (status, read <= 10 * MIB) == (413, True)
    assert not list(folder.uploads.iterdir())


def endless(app: Any, method: str, path: str) -> tuple[int, int]:
    """Send an endless body in chunks: the status of the answer, and how much was read before it came."""
    seen, read = [], 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        assert read < 1 << 30, "it reads without end"
        read += MIB
        return {"type": "http.request", "body": bytes(MIB), "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            seen.append(message["status"])

    scope: dict[str, Any] = {"type": "http", "http_version": "1.1", "scheme": "http", "state": {}, "root_path": ""}
    scope |= {"method": method, "path": path, "raw_path": path.encode(), "query_string": b""}
    scope |= {"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 8000)}
    scope["headers"] = [(b"host", b"127.0.0.1:8000"), (b"transfer-encoding", b"chunked")]
    asyncio.run(app(scope, receive, send))
    return seen[0], read


def test_a_full_disk_is_told_from_a_full_team(folder: Any) -> None:
    with calling(folder, free_below=1 << 60) as client:
        assert client.put("/v1/predictions", content=b"[]").status_code == 507
    with calling(folder, disk_per_team=10) as client:
        bodies = (b"[12345]", b"[54321]", gzip.compress(b"[5432]"))
        answers = [client.put("/v1/predictions", content=body) for body in bodies]
        assert statuses([*answers, client.post("/v1/uploads", json={"size": 4})]) == [200, 507, 507, 507]
        assert "has 3 bytes of" in answers[1].json()["error"]


def test_a_team_gets_no_more_room_by_sending_at_once(folder: Any) -> None:
    with calling(folder, disk_per_team=10) as client:
        for attempt in range(3):
            with ThreadPoolExecutor(8) as pool:
                bodies = [b"[%d%d111]" % (attempt, number) for number in range(8)]
                answers = list(pool.map(lambda body: client.put("/v1/predictions", content=body), bodies))
            assert sorted(statuses(answers)) == [507 if attempt else 200, *[507] * 7]
            refusals = [answer.json()["error"] for answer in answers if answer.status_code == 507]
            assert all(re.search(r"\b(0|3|10) bytes of", refusal) for refusal in refusals)
        assert client.post("/v1/uploads", json={"size": 3}).status_code == 201
        assert client.put("/v1/predictions", content=b"[0]").status_code == 507  # it is to come in parts


@pytest.mark.slow
def test_a_disk_that_fills_up_refuses_and_is_used_again(
    folder: Any, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuses(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "full")

    with monkeypatch.context() as filling:
        filling.setattr(Receiver, "write", refuses)
        assert client.put("/v1/predictions", content=b"[1]").status_code == 507
    run = f"/v1/runs/{submitted(client)['id']}"
    execute(folder, "PRAGMA max_page_count = 1")  # as many as there are
    answers = [client.put(f"/v1/predictions?name={'x' * 190}", content=b"%d" % n) for n in range(200)]
    assert set(statuses(answers)) == {200, 507}
    assert client.get(run).status_code == 200
    execute(folder, "PRAGMA max_page_count = 1000000")
    assert sent(client, data=b"again")


@pytest.mark.parametrize("body", [
    b'{"prediction": NaN}', b"[" * 100_000, b'{"a":' * 100_000, b'{"prediction": 1e999}', b"\xff\xfe", b"",
    b'"\\ud800"', b'{"prediction": ' + b"9" * 100_000 + b"}", b"null", pickle.dumps({"prediction": "x"}),
    b'{"prediction": "' + b"0" * 64 + b'", "truth": "small", "weights": [' + b"0," * 400_000 + b"0]}",
])  # fmt: skip
def test_no_body_is_more_than_a_mistake(lasting: Any, body: bytes) -> None:
    answer = lasting.post("/v1/runs", content=body)
    assert answer.status_code == 422
    assert len(answer.json()["error"]) < 2000


def test_too_many_uploads_at_once_are_refused(folder: Any) -> None:
    with calling(folder, uploads_per_team=2) as client:
        answers = [client.post("/v1/uploads", json={"size": 5, "name": str(n)}) for n in range(3)]
        assert statuses(answers) == [201, 201, 429]
        assert int(answers[2].headers["retry-after"]) >= 1
        deleted = client.delete(f"/v1/uploads/{answers[0].json()['id']}")
        assert statuses([deleted, client.post("/v1/uploads", json={"size": 5, "name": "2"})]) == [204, 201]


def test_a_flooded_queue_is_closed_to_who_floods_it(folder: Any) -> None:
    flood, other = bearer(folder, "flood"), bearer(folder, "other")
    with outside(folder, queue_per_team=2) as client:
        body = {"prediction": sent(client, flood), "truth": "small"}
        bodies = [body | {"options": [f"weight={n / 10}"]} for n in (0, 1, 2, 3, 0)]
        answers = [client.post("/v1/runs", json=body, headers=flood) for body in bodies]
        assert statuses(answers) == [200, 200, 429, 429, 200]
        assert "retry-after" in answers[2].headers
        assert submitted(client, other)["state"] == "queued"
        assert answers[4].json()["id"] == answers[0].json()["id"]


# Who asks


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.", "[::ffff:1.2.3.4]", "10.0.0.1"]
)
def test_a_rebound_name_reads_nothing(lasting: Any, host: str) -> None:
    answer = lasting.get("/v1/health", headers={"Host": host})
    assert answer.status_code == 421
    assert "queued" not in answer.text


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://127.0.0.1:9999"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Sec-Fetch-Site": "same-site", "Origin": "http://127.0.0.1:8000"}, 403),
        ({"Cookie": "shoe_session=x"}, 403),
        ({"Origin": "http://127.0.0.1:8000"}, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 200),
        ({}, 200),
    ],
)
def test_a_change_is_asked_for_by_own_pages_or_by_no_browser(
    lasting: Any, headers: dict[str, str], status: int
) -> None:
    assert lasting.put("/v1/predictions", content=b"[]", headers=headers).status_code == status


def test_every_answer_tells_browsers_what_they_may_do(folder: Any) -> None:
    with calling(folder, raises=False) as client:
        answers = [
            client.get("/v1/health"),
            client.get("/nothing"),
            client.get("/v1/health", headers={"Host": "evil.example"}),
            client.post("/v1/runs", content=b"?"),
            client.put("/v1/predictions", content=b"", headers={"Content-Length": str(10**12)}),
        ]
    for answer in answers:
        names = ("x-content-type-options", "referrer-policy", "access-control-allow-origin")
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert [answer.headers.get(name) for name in names] == ["nosniff", "same-origin", None]


def test_guessing_tokens_is_slowed_and_locks_out_nobody_who_has_one(folder: Any) -> None:
    good, other = bearer(folder), bearer(folder)
    guesses = [{"Authorization": f"Bearer shoe_{n}"} for n in range(20)]
    with outside(folder) as client:
        # The other token was not seen before.
        found = statuses(client.get("/v1/runs", headers=who) for who in (good, *guesses, other, good))
    assert (found[:6], found[-7:]) == ([200, *[401] * 5], [*[429] * 5, 200, 200])


def test_what_is_no_token_is_none_and_an_empty_one_is_none_given(folder: Any) -> None:
    wrong: tuple[Any, ...] = ("Basic eA==", "bearer \u00e9".encode("latin-1"), "Bearer a b", "'; DROP TABLE tokens")
    for called, unset in ((calling, 200), (outside, 401)):
        with called(folder) as client:
            for given, status in (*((each, 401) for each in wrong), ("Bearer", unset), ("Bearer ", unset)):
                answer = client.get("/v1/runs", headers={"Authorization": given})
                assert answer.status_code == status, given


def test_scopes_and_teams_are_kept_apart(folder: Any) -> None:
    who = (("a",), ("b",), ("a", "read"), ("root", "admin"))
    a, b, reader, admin = (bearer(folder, team, *scopes) for team, *scopes in who)
    with outside(folder, submissions=Rate(100, 1000)) as client:
        run = submitted(client, a)
        place = f"/v1/runs/{run['id']}"
        done_by_hand(folder, {"result.json": b"{}", "run.shoe": b"boxes", "classes.csv": b"x"})
        assert statuses(client.get(place, headers=who) for who in (a, reader, admin, b, {})) == [200] * 3 + [404, 401]
        assert statuses(client.delete(place, headers=who) for who in (b, reader, {})) == [404, 403, 401]
        assert client.get("/v1/runs", headers=b).json()["runs"] == []
        upload = client.post("/v1/uploads", json={"size": 5}, headers=a).json()["id"]
        assert statuses(client.get(f"/v1/uploads/{upload}", headers=who) for who in (a, b)) == [200, 404]
        body = {"prediction": run["prediction"], "truth": "small"}
        assert client.post("/v1/runs", json=body, headers=b).status_code == 404  # who has only the hash has nothing
        assert client.get("/v1/tokens", headers=a).status_code == 403
        # The ground truth is not shown: nothing of single images leaves, not even to the team itself.
        some = client.post("/v1/runs", json=body | {"images_in_predictions": True}, headers=a)
        assert (some.status_code, some.json()["field"]) == (403, "images_in_predictions")
        assert client.get(f"{place}/files/classes.csv", headers=a).status_code == 200
        refused = client.get(f"{place}/files/run.shoe", headers=a)
        assert (refused.status_code, "withheld" in refused.json()["error"]) == (403, True)
        assert client.get(f"{place}/files/run.shoe", headers=admin).content == b"boxes"
        assert client.patch(place, json={"visibility": "public"}, headers=a).json()["visibility"] == "public"
        assert statuses(client.get(place, headers=who) for who in (b, {})) == [200, 401]
        assert client.delete(place, headers=b).status_code == 403


def test_a_hidden_board_hides_results_wherever_they_could_be_asked_for(folder: Any, client: Any) -> None:
    add_board(folder, "secret", Request(truth="small"), hidden=True)
    admin = bearer(folder, "root", "admin")
    run = submitted(client, board="secret")
    done_by_hand(folder, {"result.json": b"{}", "run.shoe": b"x"})
    place = f"/v1/runs/{run['id']}"
    assert client.get(place, headers=admin).json()["figures"]
    again = {"prediction": run["prediction"], "truth": "small"}
    gets = (place, "/v1/runs", f"{place}/events", f"{place}/log", f"{place}/result", f"{place}/files/result.json")
    answers = [
        *map(client.get, gets),
        client.patch(place, json={"visibility": "public"}),
        client.post(f"{place}/diagnose"),
        client.post("/v1/runs", json=again | {"board": "secret"}),
        client.post("/v1/runs", json=again),
        client.post("/v1/compare", json={"runs": [run["id"], run["id"]]}),
        client.post("/compare", data={"run": [run["id"], run["id"]]}),
        *map(client.get, ("/v1/boards/secret", f"/runs/{run['id']}", "/boards/secret")),
    ]
    assert statuses(answers) == [200] * 4 + [403] * 2 + [200] * 3 + [403] * 3 + [200] * 3
    assert all("hidden for now" in answer.text for answer in answers[4:6])
    for answer in answers:
        assert '"figures":{"' not in answer.text
        assert not re.search(r"(?<!\d)(0\.5|50\.0)", answer.text)  # a time such as 1795963760.55 is no score


def test_tokens_end_and_logins_with_them(folder: Any) -> None:
    admin = bearer(folder, "root", "admin")
    with outside(folder) as client:
        asked = {"name": "ci", "team": "a", "scopes": ["submit"], "days": 1}
        token = client.post("/v1/tokens", json=asked, headers=admin).json()["token"]
        own = {"Origin": f"https://{PUBLIC}"}
        assert client.post("/v1/session", json={"token": token}).status_code == 200
        cookie = client.post("/v1/session", json={"token": token}, headers=own).headers["set-cookie"]
        assert all(mark in cookie for mark in ("HttpOnly", "SameSite=strict", "Secure", "Max-Age=43200"))
        # The cookie is enough to read, but alone changes nothing.
        puts = [client.put("/v1/predictions", content=b"[]", headers=headers) for headers in ({}, own)]
        assert statuses([client.get("/v1/runs"), *puts]) == [200, 403, 200]
        listed = client.get("/v1/tokens", headers=admin).json()["tokens"]
        assert token not in json.dumps(listed)
        assert client.delete(f"/v1/tokens/{listed[0]['prefix']}", headers=admin | own).json()["name"] == "ci"
        for headers in ({}, {"Authorization": f"Bearer {token}"}):
            assert client.get("/v1/runs", headers=headers).status_code == 401
        done = [entry["action"] for entry in client.get("/v1/audit", headers=admin).json()["entries"]]
    logins = ["POST /v1/session"] * 2
    assert done == ["DELETE /v1/tokens/{prefix}", "PUT /v1/predictions", *logins, "POST /v1/tokens"]
    database = (folder.path / "shoe.sqlite").read_bytes() + (folder.path / "shoe.sqlite-wal").read_bytes()
    assert token.encode() not in database


def test_requests_are_counted_by_token(folder: Any) -> None:
    a, b = bearer(folder), bearer(folder)
    with outside(folder, reads=Rate(0.01, 3)) as client:
        answers = [client.get("/v1/runs", headers=who) for who in (a, a, a, a, b)]
    assert statuses(answers) == [200, 200, 200, 429, 200]
    assert all(token.last_used is not None for token in tokens(folder))


# What answers hold


def test_no_name_becomes_markup_or_a_formula(folder: Any, client: Any) -> None:
    markup = "<script>alert(1)</script>"
    run = submitted(client, name=markup)["id"]
    done_by_hand(folder, {"report.html": markup.encode(), "classes.csv": b"=1+1", "result.json": b"{}"})
    for path, status in ((f"/v1/runs/{run}", 200), (f"/{markup}", 404)):
        answer = client.get(path)
        assert (answer.status_code, answer.headers["content-type"]) == (status, "application/json")
    report = client.get(f"/v1/runs/{run}/files/report.html", headers=bearer(folder, "root", "admin"))
    policy = report.headers["content-security-policy"]
    assert (policy[:21], "allow-same-origin" in policy) == ("sandbox allow-scripts", False)
    table = client.get(f"/v1/runs/{run}/files/classes.csv")
    assert table.headers["content-disposition"] == f'attachment; filename="{run}-classes.csv"'


def test_a_fault_tells_nothing_of_the_server(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"secret of {folder.path}")

    with calling(folder, raises=False) as client:
        monkeypatch.setattr(runs, "runs", broken)
        answer = client.get("/v1/runs")
    assert (answer.status_code, answer.json()["error"]) == (500, "internal server error")
    assert answer.headers["x-content-type-options"] == "nosniff"


# Rate limits


@examples(0.5)
@given(
    st.integers(1, 5),
    st.sampled_from((0.25, 0.5, 1.0, 2.0)),
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from((0.0, 0.25, 0.5, 1.0, 8.0))), max_size=30),
)
def test_a_bucket_gives_what_has_flowed_into_it(at_once: int, rate: float, asked: list[tuple[str, float]]) -> None:
    now = 100.0
    buckets = Buckets(Rate(rate, at_once), lambda: now)
    held, filled = dict.fromkeys("ab", float(at_once)), dict.fromkeys("ab", now)
    for key, pause in asked:
        now += pause
        held[key], filled[key] = min(at_once, held[key] + (now - filled[key]) * rate), now
        wait = 0.0 if held[key] >= 1 else (1 - held[key]) / rate
        assert abs(buckets.take(key) - wait) < 1e-9
        held[key] -= wait == 0


def test_no_number_of_keys_fills_the_memory_or_frees_who_is_waiting() -> None:
    buckets = Buckets(Rate(0.001, 1), lambda: 0.0)
    for number in range(12_000):
        assert buckets.take(f"address {number}") == 0
    assert len(buckets._full) <= 10_000
    assert buckets.take("address 11999") > 0
