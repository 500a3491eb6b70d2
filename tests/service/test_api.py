"""The interface as a client sees it, on the loopback address, where no token is needed."""

import gzip
import hashlib
import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import zstandard

from shoe.service.boards import add_board
from shoe.service.tokens import entries
from shoe.service.types import Request
from tests.cli.run import run
from tests.service.calling import PREDICTIONS, calling, done_by_hand, sent, statuses, submitted

DATA = PREDICTIONS.read_bytes()
DIGEST, HALF = hashlib.sha256(DATA).hexdigest(), len(DATA) // 2


def test_predictions_come_plain_or_packed_and_are_one_file(folder: Any, client: Any) -> None:
    entry = {"sha256": DIGEST, "size": len(DATA)}
    assert client.get(f"/v1/predictions/{DIGEST}").status_code == 404
    packed = (("gzip", gzip.compress(DATA)), ("zstd", zstandard.compress(DATA)), ("identity", DATA))
    for encoding, content in packed:
        answer = client.put("/v1/predictions", content=content, headers={"Content-Encoding": encoding})
        assert answer.json() == entry
    assert client.get(f"/v1/predictions/{DIGEST}").json() == entry
    wrong = client.put("/v1/predictions", content=DATA, headers={"X-Content-SHA256": "0" * 64})
    assert (wrong.status_code, DIGEST in wrong.json()["error"]) == (422, True)
    assert list(folder.files.hashes()).count(DIGEST) == 1
    assert folder.files.path(DIGEST).read_bytes() == DATA


def test_the_same_work_said_otherwise_is_the_same_run(client: Any) -> None:
    def asked(*protocols: str, options: tuple[str, ...] = (), **more: Any) -> str:
        run = submitted(client, protocols=list(protocols), options=list(options), **more)
        assert run["state"] in ("queued", "running")
        return str(run["id"])

    usual = asked()
    assert {
        asked("shoe", "hico-det"),
        asked("hico-det", "shoe", "shoe", name="mine", similarity="hico-det"),
        asked(options=("tau=0.50", "strict.threshold=0.5", "assign=hungarian", "assign=best-first")),
    } == {usual}
    changed = asked("qpic", "shoe", options=("tau=0.4", "strict.ties=reversed"))
    assert asked("shoe", "qpic", options=("strict.ties=reversed", "tau=4e-1", "delta=0.5")) == changed
    assert len({
        usual, changed, asked("shoe"), asked("qpic", "shoe"), asked("all"), asked("shoe", "qpic", "ppdm"),
        asked("shoe", "ppdm", "qpic"), asked("shoe-literal"), asked("shoe-robust"), asked(options=("tau=0.4",)),
        asked(options=("map-tau=0.5",)), asked(bounds=True), asked(subset="single-pair"), asked(boxes="xyxy"),
        asked(scores="rank"), asked(similarity="wup"), asked(images_in_predictions=True),
    }) == 17  # fmt: skip


def test_a_file_in_parts_goes_on_where_it_ended(folder: Any) -> None:
    rest, start = DATA[HALF:], {"Upload-Offset": "0"}
    announced = {"size": len(DATA), "sha256": DIGEST, "name": "in parts.json"}
    with calling(folder) as client:
        place = f"/v1/uploads/{client.post('/v1/uploads', json=announced).json()['id']}"
        first = client.patch(place, content=DATA[:HALF], headers=start)
        assert (first.status_code, first.headers["upload-offset"]) == (200, str(HALF))
    with calling(folder) as client:  # the server was started again
        assert client.post("/v1/uploads", json=announced).json()["offset"] == HALF
        again = client.patch(place, content=DATA[:HALF], headers=start)
        assert (again.status_code, again.headers["upload-offset"]) == (409, str(HALF))
        packed = {"Upload-Offset": str(HALF), "Content-Encoding": "gzip"}
        for content, status in ((gzip.compress(rest)[:-9], 422), (gzip.compress(rest + b"!"), 413)):
            assert client.head(place).headers["upload-offset"] == str(HALF)
            assert client.patch(place, content=content, headers=packed).status_code == status
        assert client.head(place).headers["upload-offset"] == str(HALF)
        last = client.patch(place, content=gzip.compress(rest), headers=packed)
        assert (last.json()["sha256"], last.headers["upload-offset"]) == (DIGEST, str(len(DATA)))
        assert client.head(place).status_code == 404
        assert client.get(f"/v1/predictions/{DIGEST}").status_code == 200
    assert not list(folder.uploads.glob("upload-*"))


def test_a_file_in_parts_has_the_announced_hash(client: Any) -> None:
    place = f"/v1/uploads/{client.post('/v1/uploads', json={'size': 2, 'sha256': '0' * 64}).json()['id']}"
    assert client.patch(place, content=b"[]", headers={"Upload-Offset": "0"}).status_code == 422
    assert client.get(f"/v1/predictions/{hashlib.sha256(b'[]').hexdigest()}").status_code == 404
    assert client.head(place).status_code == 404


def test_equal_submissions_at_once_are_one_run(client: Any) -> None:
    body = {"prediction": sent(client), "truth": "small", "options": ["combine=geometric"]}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post("/v1/runs", json=body), range(16)))
    assert statuses(answers) == [200] * 16
    (id_,) = {answer.json()["id"] for answer in answers}
    assert [run["id"] for run in client.get("/v1/runs").json()["runs"]] == [id_]
    assert client.post("/v1/runs", json=body | {"options": []}).json()["id"] != id_


def test_a_run_from_the_first_second_to_the_last(folder: Any, client: Any) -> None:
    run = submitted(client)
    place = f"/v1/runs/{run['id']}"
    assert (run["state"], run["position"], run["name"], run["team"]) == ("queued", 1, "mine.json", "local")
    assert client.get(f"{place}/result").status_code == 409
    changes = [client.post(f"{place}/{action}") for action in ("cancel", "cancel", "retry")]
    states = [(answer.status_code, answer.json().get("state")) for answer in changes]
    assert states == [(200, "cancelled"), (409, None), (200, "queued")]
    done_by_hand(folder, {"result.json": b'{"signature": "s"}', "classes.csv": b"class,ap\n", "run.shoe": b"x"})
    assert client.get(place).json()["state"] == "done"
    assert client.get(f"{place}/result").content == b'{"signature": "s"}'
    table = client.get(f"{place}/files/classes.csv")
    assert table.headers["content-disposition"].startswith("attachment")
    again = client.get(f"{place}/files/classes.csv", headers={"If-None-Match": table.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get(f"{place}/files/..%2f..%2fshoe.sqlite").status_code == 404
    assert client.patch(place, json={"name": "better"}).json()["name"] == "better"
    assert (client.delete(place).status_code, client.get(place).status_code) == (204, 404)


def test_predictions_are_taken_back_with_the_runs_of_them(folder: Any) -> None:
    with calling(folder, disk_per_team=5000) as client:
        run = submitted(client)
        place = f"/v1/predictions/{run['prediction']}"
        full = client.put("/v1/predictions", content=bytes(4000))
        gone = [client.delete(place), client.delete(f"/v1/runs/{run['id']}"), client.get(place)]
        assert statuses([full, *gone]) == [507, 409, 204, 404]
        sent(client)
        again = [client.delete(place), client.delete(place), client.put("/v1/predictions", content=bytes(4000))]
        assert statuses(again) == [204, 404, 200]


def test_lists_go_on_and_never_load_results(client: Any) -> None:
    digest = sent(client)
    asked = [{"prediction": digest, "truth": "small", "options": [f"weight={n / 10}"]} for n in range(5)]
    ids = [client.post("/v1/runs", json=body).json()["id"] for body in asked]
    first = client.get("/v1/runs", params={"limit": 3}).json()
    rest = client.get("/v1/runs", params={"limit": 3, "after": first["after"]}).json()
    assert [run["id"] for run in first["runs"] + rest["runs"]] == ids[::-1]
    assert "after" not in rest
    assert client.get("/v1/runs", params={"state": "done"}).json()["runs"] == []


def test_events_tell_each_state_and_line_once(folder: Any, client: Any) -> None:
    run = submitted(client)
    done_by_hand(folder, {"result.json": b"{}"})
    with client.stream("GET", f"/v1/runs/{run['id']}/events") as stream:
        assert stream.headers["content-type"].startswith("text/event-stream")
        blocks = "".join(stream.iter_text()).strip().split("\n\n")
    events = [dict(line.split(": ", 1) for line in block.splitlines()) for block in blocks]
    assert [event["event"] for event in events] == ["log", "log", "run", "end"]
    assert [json.loads(event["data"])["line"] for event in events[:2]] == ["started, attempt 1", "finished"]
    assert json.loads(events[2]["data"])["state"] == "done"


def test_words_are_explained_as_the_commands_do(client: Any, tmp_path: Path) -> None:
    run("similarity", "ride", "straddling", "--json", tmp_path / "said.json")
    said = client.get("/v1/similarity", params={"a": "ride", "b": "straddling"}).json()
    assert said == json.loads((tmp_path / "said.json").read_text())
    whole = client.get("/v1/similarity", params={"a": "ride horse", "b": "straddle pony", "weight": 0.25}).json()
    assert whole["interaction"]["weight"] == 0.25
    senses = client.get("/v1/resolve", params={"word": "hot dogs", "part": "object"}).json()["resolutions"]
    assert senses[0]["candidates"][0]["name"] == "hotdog.n.01"
    assert client.get("/v1/similarity", params={"a": "ride", "b": "x", "map": "/etc"}).status_code == 422


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"prediction": "0" * 64, "truth": "small", "speed": 1, "colour": 2}, "colour", "speed"),
        ({"prediction": "zz", "truth": "small"}, "prediction", "zz"),
        ({"truth": "small"}, None, "prediction"),
        ({"prediction": "0" * 64, "truth": "small", "protocols": "all"}, "protocols", "all"),
        ({"prediction": "0" * 64, "truth": "small", "bounds": "yes"}, "bounds", "yes"),
        ([], None, ""),
        ({"prediction": "0" * 64, "truth": "smal"}, None, "mean small"),
        ({"prediction": "0" * 64, "truth": "small", "protocols": ["shoo"]}, None, "shoo"),
        ({"prediction": "0" * 64, "truth": "small", "options": ["weight=7"]}, None, "weight"),
        ({"prediction": "0" * 64, "truth": "small", "similarity": "../maps"}, None, "similarity"),
        ({"prediction": "0" * 64}, None, "truth"),
    ],
)
def test_what_is_wrong_in_a_request_is_named(lasting: Any, body: Any, field: str | None, said: str) -> None:
    answer = lasting.post("/v1/runs", json=body)
    assert (answer.status_code, answer.json().get("field")) == (422, field)
    assert said in answer.json()["error"]
    assert "\n" not in answer.json()["error"]


def test_a_repeated_submission_gets_the_new_name_and_becomes_public(client: Any) -> None:
    first = submitted(client)
    for again in (submitted(client, name="better", visibility="public"), submitted(client)):
        assert (again["id"], again["name"], again["visibility"]) == (first["id"], "better", "public")


def test_a_refused_method_names_all_methods_of_the_path(lasting: Any) -> None:
    for path, methods in (("/v1/runs", "GET, POST"), (f"/v1/predictions/{'0' * 64}", "DELETE, GET")):
        answer = lasting.patch(path)
        assert (answer.status_code, answer.headers["allow"]) == (405, methods)


def test_two_lengths_of_a_body_are_refused(lasting: Any) -> None:
    both = {"Transfer-Encoding": "chunked", "Content-Length": "2"}
    answer = lasting.put("/v1/predictions", content=b"[]", headers=both)
    assert (answer.status_code, answer.json()["field"]) == (400, "Content-Length")


def test_the_audit_log_names_run_file_and_leaderboard(folder: Any, client: Any) -> None:
    add_board(folder, "main", Request(truth="small"))
    run = submitted(client, board="main", name="ours")
    client.patch(f"/v1/runs/{run['id']}", json={"name": "other"})
    client.post(f"/runs/{run['id']}/cancel", headers={"Origin": "http://127.0.0.1:8000"}, follow_redirects=False)
    id_, file = run["id"], run["prediction"]
    assert {entry.action: str(entry.object).split() for entry in entries(folder)} == {
        "PUT /v1/predictions": [file],
        "POST /v1/runs": [id_, "main", file, "ours"],
        "PATCH /v1/runs/{id}": [id_, "main", file, "other"],
        "POST /runs/{id}/{action}": [id_, "cancel"],
    }


def test_a_change_that_is_kept_is_not_refused_by_a_full_disk(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    run = submitted(client)
    monkeypatch.setattr("shoe.service.tokens.record", full)
    answer = client.patch(f"/v1/runs/{run['id']}", json={"name": "better"})
    assert (answer.status_code, answer.json()["name"]) == (200, "better")
