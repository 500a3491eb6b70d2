"""Leaderboards: who stands in one, where, and who does not, and why."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.core.errors import OptionError
from tests.service.calling import received
from tests.service.client.serving import TRUTH

MAP, STRICT = "semantic:map", "strict:hico-det:full"
SIGNED = "shoe:1|data:x|boxes:{}|protocol:shoe"


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Any]:
    from shoe.service.folder import Folder
    from shoe.service.truths import add_truth

    made = Folder.open(tmp_path / "lab")
    add_truth(made, "small", TRUTH)
    yield made
    made.close()


def submitted(folder: Any, team: str, name: str, board: str = "main", **more: Any) -> str:
    from shoe.service import runs, submissions
    from shoe.service.types import Request

    stored = received(folder.files, [f"{team} {name}".encode()])
    runs.add_file(folder, team, name, stored)
    run = submissions.submit(folder, team, name, stored.sha256, Request(truth="small", **more), board=board)
    return str(run.id)


def worked(folder: Any, value: float, signature: str = SIGNED.format("xyxy"), reason: str | None = None) -> None:
    """Do what is queued as a child would, with one value for all figures of a scoring."""
    from shoe.service import jobs, submissions, types

    while (job := jobs.claim(folder)) is not None:
        if reason is not None:
            jobs.fail(folder, job, reason)
            continue
        figures: dict[str, Any] = {MAP: value, STRICT: value / 2}
        files = {"run.shoe": job.key.encode()}
        if job.kind == "board":
            random = np.random.default_rng(int(value * 1e6))
            stream = io.BytesIO()
            draws: dict[str, Any] = {key: of + random.normal(0, 0.01, 300) for key, of in figures.items()}
            draws |= {} if job.request["shown"] else {"decimals": np.array(3)}
            np.savez_compressed(stream, **draws)
            files = {"draws.npz": stream.getvalue()}
        elif job.kind == "diagnose":
            figures = {"error:duplicate": 0.01, "error:missed_gt": 0.2}
        made = {name: received(folder.files, [data]) for name, data in files.items()}
        outputs = {name: types.File(of.sha256, of.size, "x/y") for name, of in made.items()}
        jobs.finish(folder, job, outputs, figures, signature, after=submissions.follow_up)


def board(folder: Any, **more: Any) -> Any:
    from shoe.service.boards import add_board
    from shoe.service.types import Request

    return add_board(folder, "main", Request(truth="small", options=("tau=0.4",)), **more)


def test_runs_stand_with_what_chance_leaves_open_and_what_cost_them_most(folder: Any) -> None:
    from shoe.service import runs
    from shoe.service.boards import standing

    board(folder, title="The main one")
    made = []
    for team, value in (("a", 0.5), ("b", 0.505), ("c", 0.9)):
        made.append(submitted(folder, team, "mine.json", options=("tau=0.1",)))
        worked(folder, value)
    found = standing(folder, "main")
    assert [(row.team, row.lowest, row.highest) for row in found.rows] == [("c", 1, 1), ("b", 2, 3), ("a", 2, 3)]
    first = found.rows[0]
    assert (first.run, first.figures) == (made[2], {MAP: 0.9, STRICT: 0.45})
    assert first.intervals[MAP][0] < 0.9 < first.intervals[MAP][1]
    assert all(end == round(end, 3) for end in first.intervals[MAP])  # the ground truth is not shown
    assert list(first.why.items()) == [("missed_gt", 0.2), ("duplicate", 0.01)]
    assert found.left_out == []
    assert runs.run(folder, made[0]).request["options"] == ["tau=0.4"]  # the board's, not the team's
    runs.delete(folder, made[2])
    assert [row.team for row in standing(folder, "main").rows] == ["b", "a"]
    submitted(folder, "c", "mine.json")
    assert [row.team for row in standing(folder, "main").rows] == ["c", "b", "a"]  # nothing was done again


def test_runs_of_other_signatures_are_left_out_and_told_what_differs(folder: Any) -> None:
    from shoe.service.boards import standing

    board(folder)
    for team, signature in (
        ("old", SIGNED.replace("shoe:1", "shoe:0").format("xyxy")),
        ("xywh", SIGNED.format("xywh")),
        ("new", SIGNED.format("xyxy")),
    ):
        submitted(folder, team, "mine.json")
        worked(folder, 0.5, signature)
    submitted(folder, "broken", "mine.json")
    worked(folder, 0, reason="it holds no predictions")
    submitted(folder, "late", "mine.json")
    found = standing(folder, "main")
    assert {row.team for row in found.rows} == {"xywh", "new"}  # how a file is read is its own
    assert {of.team: of.why for of in found.left_out} == {
        "old": "shoe: found 0, expected 1",
        "broken": "failed",
        "late": "queued",
    }
    assert found.signature == "shoe:1|data:x|protocol:shoe"


def test_a_quota_counts_no_failed_runs(folder: Any) -> None:
    from shoe.service.errors import QuotaError

    board(folder, quota=2)
    submitted(folder, "a", "1")
    worked(folder, 0, reason="it is broken")
    submitted(folder, "a", "2")
    submitted(folder, "a", "3")
    with pytest.raises(QuotaError, match=r"limit of 2 .*\(2 used\)"):
        submitted(folder, "a", "4")
    submitted(folder, "a", "3")  # which is the same
    submitted(folder, "b", "4")


def test_who_gives_up_and_tries_again_gets_no_more_than_the_quota(folder: Any) -> None:
    from shoe.service import runs, submissions
    from shoe.service.errors import ConflictError, QuotaError

    board(folder, quota=1)
    made = []
    for name in ("1", "2"):
        made.append(submitted(folder, "a", name))
        runs.cancel(folder, made[-1])
    assert submissions.retry(folder, made[0]).state == "queued"
    with pytest.raises(QuotaError, match=r"limit of 1 .*\(1 used\)"):
        submissions.retry(folder, made[1])
    worked(folder, 0.4)
    with pytest.raises(ConflictError, match="is done"):
        runs.cancel(folder, made[0])


def test_a_cancelled_run_has_no_results_although_others_want_them(folder: Any) -> None:
    from shoe.service import runs, submissions
    from shoe.service.boards import add_board
    from shoe.service.types import Request

    board(folder)
    add_board(folder, "second", Request(truth="small", options=("tau=0.4",)))
    given_up, kept = (submitted(folder, "a", "1", name) for name in ("main", "second"))
    runs.cancel(folder, given_up)
    worked(folder, 0.4)
    found = runs.run(folder, given_up)
    assert (runs.run(folder, kept).state, found.state) == ("done", "cancelled")
    assert (dict(found.figures), dict(found.outputs), found.signature) == ({}, {}, None)
    assert submissions.retry(folder, given_up).further["board"] == "done"


def test_the_similarity_of_a_board_is_that_of_its_dataset(folder: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    from shoe.service import boards

    monkeypatch.setattr(boards, "similarity", lambda *words: asked.append(words[1:]))
    board(folder)
    assert asked == [("dataset", "hico-det")]


def test_boards_that_cannot_be_are_refused(folder: Any) -> None:
    from shoe.service.boards import add_board
    from shoe.service.types import Request

    with pytest.raises(OptionError, match="unknown figure 'strict:qpic:full'"):
        board(folder, figure="strict:qpic:full")
    with pytest.raises(OptionError, match="unknown truth 'smal'"):
        add_board(folder, "main", Request(truth="smal"))
    with pytest.raises(OptionError, match="unknown option"):
        add_board(folder, "main", Request(truth="small", options=("tua=0.4",)))
    board(folder)
    with pytest.raises(OptionError, match=r"'main'.* already"):
        board(folder)
    with pytest.raises(OptionError, match=r"'\.\./main'"):
        add_board(folder, "../main", Request(truth="small"))


def test_results_of_a_hidden_board_are_for_who_runs_the_service(folder: Any) -> None:
    pytest.importorskip("fastapi")
    from starlette.testclient import TestClient

    from shoe.service import runs
    from shoe.service.app import make_app
    from shoe.service.boards import show_board
    from shoe.service.pages.views import Viewer, run_page
    from shoe.service.tokens import new_token

    board(folder, hidden=True)
    run = submitted(folder, "a", "mine.json")
    worked(folder, 0.5)
    team, admin = (
        {"Authorization": f"Bearer {new_token(folder, name, name, [scope])}"}
        for name, scope in (("a", "submit"), ("admin", "admin"))
    )
    with TestClient(make_app(folder), "http://127.0.0.1:8017") as client:

        def got(path: str, who: dict[str, str]) -> Any:
            return client.get(path, headers=who)

        assert got("/v1/boards/main", team).json()["rows"] == []
        assert len(got("/v1/boards/main", admin).json()["rows"]) == 1
        assert got(f"/v1/runs/{run}", team).json()["figures"] == {}
        assert got("/v1/runs", team).json()["runs"][0]["figures"] == {}
        assert got(f"/v1/runs/{run}/log", team).json()["lines"] == []
        one = runs.run(folder, run)
        logs = [run_page(folder, Viewer("a", admin=admin), one)[1]["log"] for admin in (False, True)]
        assert (logs[0], logs[1][-1]) == ([], "finished")
        assert (refused := got(f"/v1/runs/{run}/files/run.shoe", team)).status_code == 403
        assert "hidden for now" in refused.json()["error"]
        outside = {"truth": "small", "prediction": "0" * 64}
        assert (refused := client.post("/v1/runs", json=outside, headers=team)).status_code == 403
        assert (refused.json()["field"], refused.json()["error"].endswith(" main")) == ("board", True)
        show_board(folder, "main")
        assert len(got("/v1/boards/main", team).json()["rows"]) == 1
        assert got(f"/v1/runs/{run}", team).json()["figures"][MAP] == 0.5
