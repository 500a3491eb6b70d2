"""What a hostile client sends, and that nothing comes of it."""

import errno
import gzip
import json
import pickle
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.service.calling import PUBLIC, bearer, calling, done_by_hand, made_folder, sent, submitted

MIB = 1 << 20


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Any:
    return made_folder(tmp_path, shown=False)


# Names and paths


@pytest.mark.parametrize(
    "name", ["../../etc/passwd", "/etc/passwd", "a\x00b", "CON", "..", "=cmd|'/c calc'!A1", "\u202egpj"]
)
def test_a_file_name_is_text_and_never_a_path(folder: Any, tmp_path: Path, name: str) -> None:
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    with calling(folder) as client:
        answer = client.put("/v1/predictions", params={"name": name}, content=b"[1]")
        assert answer.status_code == 200
        made = {path for path in tmp_path.rglob("*") if path.is_file()} - before
        place = folder.files.path(answer.json()["sha256"])
        assert {path for path in made if "sqlite" not in path.name} == {place}
        run = client.post("/v1/runs", json={"prediction": answer.json()["sha256"], "truth": "small"}).json()
        assert run["name"].isprintable()


@pytest.mark.parametrize("path", ["/%2e%2e/%2e%2e/etc/passwd", "/v1/runs/..%2f", "/static/../../x", "//etc"])
def test_a_path_leads_nowhere_else(folder: Any, path: str) -> None:
    with calling(folder) as client:
        answer = client.get(client.base_url.copy_with(raw_path=path.encode()))
        assert answer.status_code in (404, 422)
        assert "error" in answer.json()


# Bodies


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_a_bomb_is_refused_while_it_unpacks(folder: Any, encoding: str) -> None:
    import zstandard

    pack: Any = {"gzip": gzip.compress, "zstd": zstandard.compress}[encoding]
    with calling(folder) as client:
        for bomb in (pack(bytes(64 * MIB)), pack(bytes(16 * MIB)) * 64):
            answer = client.put("/v1/predictions", content=bomb, headers={"Content-Encoding": encoding})
            assert answer.status_code == 413
    assert not list(folder.uploads.iterdir())


def test_sizes_are_limited_announced_or_not(folder: Any) -> None:
    with calling(folder, largest_upload=8 * MIB) as client:
        for path, method in (("/v1/predictions", "PUT"), ("/v1/runs", "POST"), ("/v1/uploads", "POST")):
            ten_gb = client.request(method, path, content=b"{}", headers={"Content-Length": str(10**10)})
            assert (ten_gb.status_code, ten_gb.headers["connection"]) == (413, "close")
            assert client.request(method, path, content=b"", headers={"Content-Length": "-1"}).status_code == 413
            status, read = endless(client.app, method, path)
            assert status == 413
            assert read <= 10 * MIB
    assert not list(folder.uploads.iterdir())


def endless(app: Any, method: str, path: str) -> tuple[int, int]:
    """Send an endless body in chunks: the status of the answer, and how much was read before it came."""
    import asyncio

    statuses, read = [], 0

    async def receive() -> dict[str, Any]:
        nonlocal read
        assert read < 1 << 30, "it reads without end"
        read += MIB
        return {"type": "http.request", "body": bytes(MIB), "more_body": True}

    async def send(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", b"127.0.0.1:8000"), (b"transfer-encoding", b"chunked")],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8000),
        "state": {},
    }
    asyncio.run(app(scope, receive, send))
    return statuses[0], read


def test_a_full_disk_is_told_from_a_full_team(folder: Any) -> None:
    with calling(folder, free_below=1 << 60) as client:
        assert client.put("/v1/predictions", content=b"[]").status_code == 507
    with calling(folder, disk_per_team=10) as client:
        assert client.put("/v1/predictions", content=b"[12345]").status_code == 200
        answer = client.put("/v1/predictions", content=b"[54321]")
        assert (answer.status_code, "has 3 bytes of disk space left" in answer.json()["error"]) == (507, True)
        assert client.put("/v1/predictions", content=gzip.compress(b"[5432]")).status_code == 507
        assert client.post("/v1/uploads", json={"size": 4}).status_code == 507


def test_a_team_gets_no_more_room_by_sending_at_once(folder: Any) -> None:
    with calling(folder, disk_per_team=10) as client:
        for attempt in range(3):
            with ThreadPoolExecutor(8) as pool:
                bodies = [b"[%d%d111]" % (attempt, number) for number in range(8)]
                answers = list(pool.map(lambda body: client.put("/v1/predictions", content=body), bodies))
            statuses = sorted(answer.status_code for answer in answers)
            assert statuses in ([200, *[507] * 7], [507] * 8)
            assert (statuses[0] == 200) is (attempt == 0)
            assert {answer.json()["error"] for answer in answers if answer.status_code == 507} <= {
                f"the team has {left} of disk space left: delete runs or predictions"
                for left in ("3 bytes", "10 bytes", "0 bytes")
            }
        assert client.post("/v1/uploads", json={"size": 3}).status_code == 201
        assert client.put("/v1/predictions", content=b"[0]").status_code == 507  # it is to come in parts


@pytest.mark.slow
def test_a_disk_that_fills_up_refuses_and_is_used_again(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoe.service.folder import Receiver

    def refuses(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with calling(folder) as client:
        with monkeypatch.context() as filling:
            filling.setattr(Receiver, "write", refuses)
            assert client.put("/v1/predictions", content=b"[1]").status_code == 507
        run = f"/v1/runs/{submitted(client)['id']}"
        with folder.database.write() as db:
            db.execute("PRAGMA max_page_count = 1")  # as many as there are
        statuses = {client.put(f"/v1/predictions?name={'x' * 190}", content=b"%d" % n).status_code for n in range(200)}
        assert statuses == {200, 507}
        assert client.get(run).status_code == 200
        with folder.database.write() as db:
            db.execute("PRAGMA max_page_count = 1000000")
        assert sent(client, data=b"again")


@pytest.mark.parametrize(
    "body",
    [
        b'{"prediction": NaN}',
        b"[" * 100_000,
        b'{"a":' * 100_000,
        b'{"prediction": 1e999}',
        b'{"prediction": ' + b"9" * 100_000 + b"}",
        b"\xff\xfe",
        b'"\\ud800"',
        b"",
        b"null",
        pickle.dumps({"prediction": "x"}),
        b'{"prediction": "' + b"0" * 64 + b'", "truth": "small", "weights": [' + b"0," * 400_000 + b"0]}",
    ],
)
def test_no_body_is_more_than_a_mistake(folder: Any, body: bytes) -> None:
    with calling(folder) as client:
        answer = client.post("/v1/runs", content=body)
        assert answer.status_code == 422
        assert len(answer.json()["error"]) < 2000


@pytest.mark.slow
def test_a_pickle_runs_nothing_even_in_the_child(folder: Any, tmp_path: Path) -> None:
    from shoe.service.worker import Worker

    marker = tmp_path / "ran"
    with calling(folder) as client:
        body = {"prediction": sent(client, data=pickle.dumps(Touching(str(marker)))), "truth": "small"}
        run = client.post("/v1/runs", json=body).json()
        worker = Worker(folder)
        worker.start()
        try:
            end = time.monotonic() + 60
            while run["state"] in ("queued", "running") and time.monotonic() < end:
                time.sleep(0.1)
                run = client.get(f"/v1/runs/{run['id']}").json()
        finally:
            worker.stop()
    assert run["state"] == "failed"
    assert "mine.json" in run["reason"]
    assert str(tmp_path) not in json.dumps(run)
    assert not marker.exists()


class Touching:
    """What makes a file when it is unpickled."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (self.path, "w")


def test_too_many_uploads_at_once_are_refused(folder: Any) -> None:
    with calling(folder, uploads_per_team=2) as client:
        answers = [client.post("/v1/uploads", json={"size": 5, "name": str(n)}) for n in range(3)]
        assert [answer.status_code for answer in answers] == [201, 201, 429]
        assert int(answers[2].headers["retry-after"]) >= 1
        assert client.delete(f"/v1/uploads/{answers[0].json()['id']}").status_code == 204
        assert client.post("/v1/uploads", json={"size": 5, "name": "2"}).status_code == 201


def test_a_flooded_queue_is_closed_to_who_floods_it(folder: Any) -> None:
    flood, other = bearer(folder, "flood"), bearer(folder, "other")
    with calling(folder, f"https://{PUBLIC}", names=(PUBLIC,), queue_per_team=2) as client:
        digest, answers = sent(client, flood), []
        for n in range(4):
            body = {"prediction": digest, "truth": "small", "options": [f"weight={n / 10}"]}
            answers.append(client.post("/v1/runs", json=body, headers=flood))
        assert [answer.status_code for answer in answers] == [200, 200, 429, 429]
        assert "retry-after" in answers[2].headers
        assert submitted(client, other)["state"] == "queued"
        again = client.post(
            "/v1/runs", json={"prediction": digest, "truth": "small", "options": ["weight=0.0"]}, headers=flood
        )
        assert again.json()["id"] == answers[0].json()["id"]


# Who asks


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example", "", "localhost.", "[::ffff:1.2.3.4]", "10.0.0.1"]
)
def test_a_rebound_name_reads_nothing(folder: Any, host: str) -> None:
    with calling(folder) as client:
        answer = client.get("/v1/health", headers={"Host": host})
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
def test_a_change_is_asked_for_by_own_pages_or_by_no_browser(folder: Any, headers: dict[str, str], status: int) -> None:
    with calling(folder) as client:
        assert client.put("/v1/predictions", content=b"[]", headers=headers).status_code == status


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
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "same-origin"
        assert "access-control-allow-origin" not in answer.headers


def test_guessing_tokens_is_slowed_and_locks_out_nobody_who_has_one(folder: Any) -> None:
    good, other = bearer(folder), bearer(folder)
    with calling(folder, f"https://{PUBLIC}", names=(PUBLIC,)) as client:
        assert client.get("/v1/runs", headers=good).status_code == 200
        wrong = [client.get("/v1/runs", headers={"Authorization": f"Bearer shoe_{n}"}).status_code for n in range(20)]
        assert wrong[:5] == [401] * 5
        assert wrong[-5:] == [429] * 5
        assert client.get("/v1/runs", headers=other).status_code == 200  # which was not seen before
        assert client.get("/v1/runs", headers=good).status_code == 200


@pytest.mark.parametrize(
    "given",
    ["Basic eA==", "bearer \u00e9".encode("latin-1"), "Bearer a b", "'; DROP TABLE tokens"],
)
def test_what_is_no_token_is_none(folder: Any, given: Any) -> None:
    with calling(folder) as client:
        assert client.get("/v1/runs", headers={"Authorization": given}).status_code == 401


@pytest.mark.parametrize("given", ["Bearer", "Bearer "])
def test_an_empty_token_is_none_given(folder: Any, given: str) -> None:
    with calling(folder) as client:
        assert client.get("/v1/runs", headers={"Authorization": given}).status_code == 200
    with calling(folder, f"https://{PUBLIC}", names=(PUBLIC,)) as client:
        assert client.get("/v1/runs", headers={"Authorization": given}).status_code == 401


def test_scopes_and_teams_are_kept_apart(folder: Any) -> None:
    from shoe.service.settings import Rate

    a, b, reader, admin = (
        bearer(folder, "a"), bearer(folder, "b"), bearer(folder, "a", "read"), bearer(folder, "root", "admin"),
    )  # fmt: skip
    with calling(folder, f"https://{PUBLIC}", names=(PUBLIC,), submissions=Rate(100, 1000)) as client:
        run = submitted(client, a)
        place = f"/v1/runs/{run['id']}"
        done_by_hand(folder, {"result.json": b"{}", "run.shoe": b"boxes", "classes.csv": b"x"})
        assert [client.get(place, headers=who).status_code for who in (a, reader, admin, b, {})] == [
            200,
            200,
            200,
            404,
            401,
        ]
        assert [client.delete(place, headers=who).status_code for who in (b, reader, {})] == [404, 403, 401]
        assert client.get("/v1/runs", headers=b).json()["runs"] == []
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
        assert [client.get(place, headers=who).status_code for who in (b, {})] == [200, 401]
        assert client.delete(place, headers=b).status_code == 403


def test_a_hidden_board_hides_results_wherever_they_could_be_asked_for(folder: Any) -> None:
    from shoe.service.boards import add_board
    from shoe.service.types import Request

    add_board(folder, "secret", Request(truth="small"), hidden=True)
    admin = bearer(folder, "root", "admin")
    with calling(folder) as client:
        run = submitted(client, board="secret")
        done_by_hand(folder, {"result.json": b"{}", "run.shoe": b"x"})
        place = f"/v1/runs/{run['id']}"
        assert client.get(place, headers=admin).json()["figures"]
        again = {"prediction": run["prediction"], "truth": "small"}
        answers = [
            client.get(place),
            client.get("/v1/runs"),
            client.get(f"{place}/events"),
            client.get(f"{place}/log"),
            client.get(f"{place}/result"),
            client.get(f"{place}/files/result.json"),
            client.patch(place, json={"visibility": "public"}),
            client.post(f"{place}/diagnose"),
            client.post("/v1/runs", json=again | {"board": "secret"}),
            client.post("/v1/runs", json=again),
            client.post("/v1/compare", json={"runs": [run["id"], run["id"]]}),
            client.post("/compare", data={"run": [run["id"], run["id"]]}),
            client.get("/v1/boards/secret"),
            client.get(f"/runs/{run['id']}"),
            client.get("/boards/secret"),
        ]
        assert [answer.status_code for answer in answers] == [200] * 4 + [403] * 2 + [200] * 3 + [403] * 3 + [200] * 3
        for answer in answers:
            assert '"figures":{"' not in answer.text
            assert not re.search(r"(?<!\d)(0\.5|50\.0)", answer.text)  # a time such as 1795963760.55 is no score


def test_tokens_end_and_logins_with_them(folder: Any) -> None:
    admin = bearer(folder, "root", "admin")
    with calling(folder, f"https://{PUBLIC}", names=(PUBLIC,)) as client:
        made = client.post(
            "/v1/tokens", json={"name": "ci", "team": "a", "scopes": ["submit"], "days": 1}, headers=admin
        )
        token = made.json()["token"]
        own = {"Origin": f"https://{PUBLIC}"}
        assert client.post("/v1/session", json={"token": token}).status_code == 200
        cookie = client.post("/v1/session", json={"token": token}, headers=own).headers["set-cookie"]
        assert all(mark in cookie for mark in ("HttpOnly", "SameSite=strict", "Secure", "Max-Age=43200"))
        assert client.get("/v1/runs").status_code == 200  # by the cookie
        assert client.put("/v1/predictions", content=b"[]").status_code == 403  # which alone changes nothing
        assert client.put("/v1/predictions", content=b"[]", headers=own).status_code == 200
        listed = client.get("/v1/tokens", headers=admin).json()["tokens"]
        assert token not in json.dumps(listed)
        assert client.delete(f"/v1/tokens/{listed[0]['prefix']}", headers=admin | own).json()["name"] == "ci"
        assert client.get("/v1/runs").status_code == 401
        assert client.get("/v1/runs", headers={"Authorization": f"Bearer {token}"}).status_code == 401
        done = [entry["action"] for entry in client.get("/v1/audit", headers=admin).json()["entries"]]
        assert done == [
            "DELETE /v1/tokens/{prefix}",
            "PUT /v1/predictions",
            *["POST /v1/session"] * 2,
            "POST /v1/tokens",
        ]
    database = (folder.path / "shoe.sqlite").read_bytes() + (folder.path / "shoe.sqlite-wal").read_bytes()
    assert token.encode() not in database


def test_requests_are_counted_by_token(folder: Any) -> None:
    from shoe.service.settings import Rate
    from shoe.service.tokens import tokens

    a, b = bearer(folder), bearer(folder)
    with calling(folder, f"https://{PUBLIC}", names=(PUBLIC,), reads=Rate(0.01, 3)) as client:
        assert [client.get("/v1/runs", headers=a).status_code for _ in range(4)] == [200, 200, 200, 429]
        assert client.get("/v1/runs", headers=b).status_code == 200
    assert all(token.last_used is not None for token in tokens(folder))


# What answers hold


def test_no_name_becomes_markup_or_a_formula(folder: Any) -> None:
    with calling(folder) as client:
        run = submitted(client, name="<script>alert(1)</script>")
        done_by_hand(
            folder, {"report.html": b"<script>alert(1)</script>", "classes.csv": b"=1+1", "result.json": b"{}"}
        )
        answer = client.get(f"/v1/runs/{run['id']}")
        assert answer.headers["content-type"] == "application/json"
        report = client.get(f"/v1/runs/{run['id']}/files/report.html", headers=bearer(folder, "root", "admin"))
        assert report.headers["content-security-policy"].startswith("sandbox allow-scripts")
        assert "allow-same-origin" not in report.headers["content-security-policy"]
        table = client.get(f"/v1/runs/{run['id']}/files/classes.csv")
        assert table.headers["content-disposition"] == f'attachment; filename="{run["id"]}-classes.csv"'
        log = client.get("/<script>alert(1)</script>")
        assert (log.status_code, log.headers["content-type"]) == (404, "application/json")


def test_a_fault_tells_nothing_of_the_server(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from shoe.service import runs

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError(f"secret of {folder.path}")

    with calling(folder, raises=False) as client:
        monkeypatch.setattr(runs, "runs", broken)
        answer = client.get("/v1/runs")
        assert answer.status_code == 500
        assert answer.json()["error"] == "internal server error"
        assert answer.headers["x-content-type-options"] == "nosniff"
