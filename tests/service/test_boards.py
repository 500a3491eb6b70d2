"""Leaderboards: who stands in one, where, and who does not, and why."""

import time
from typing import Any

import numpy as np
import pytest

from shoe.core.errors import OptionError
from shoe.service import boards, jobs, runs, submissions
from shoe.service.boards import add_board, show_board
from shoe.service.errors import ConflictError, QuotaError
from shoe.service.folder import Folder
from shoe.service.pages.views import run_page
from shoe.service.tokens import Identity
from shoe.service.types import Request, Standing
from tests.service.calling import bearer, calling, claimed, packed, queued, stored_files

TRUTH_IS_SHOWN = False
MAP, STRICT = "semantic:map", "strict:hico-det:full"
SIGNED = "shoe:1|data:x|boxes:{}|protocol:shoe"


def standing(folder: Folder, name: str) -> Standing:
    return boards.standing(folder, boards.board(folder, name))


def submitted(folder: Folder, team: str, name: str = "mine.json", board: str = "main", **more: Any) -> str:
    return queued(folder, name, f"{team} {name}".encode(), team, board=board, **more).id


def worked(folder: Folder, value: float, signature: str = SIGNED.format("xyxy"), reason: str | None = None) -> None:
    """Do what is queued as a child would, with one value for all figures of a scoring."""
    while (job := jobs.claim(folder)) is not None:
        if reason is not None:
            jobs.fail(folder, job, reason)
            continue
        figures = {MAP: value, STRICT: value / 2}
        files = {"run.shoe": job.key.encode()}
        if job.kind == "board":
            random = np.random.default_rng(int(value * 1e6))
            draws: dict[str, Any] = {key: of + random.normal(0, 0.01, 300) for key, of in figures.items()}
            files = {"draws.npz": packed(**draws, **({} if job.request["shown"] else {"decimals": np.array(3)}))}
        elif job.kind == "diagnose":
            figures = {"error:duplicate": 0.01, "error:missed_gt": 0.2}
        jobs.finish(folder, job, stored_files(folder, files), figures, signature, after=submissions.follow_up)


def board(folder: Folder, name: str = "main", **more: Any) -> Any:
    return add_board(folder, name, Request(truth="small", options=("tau=0.4",)), **more)


def test_runs_stand_with_what_chance_leaves_open_and_what_cost_them_most(folder: Folder) -> None:
    board(folder, title="The main one")
    made = []
    for team, value in (("a", 0.5), ("b", 0.505), ("c", 0.9)):
        made.append(submitted(folder, team, options=("tau=0.1",)))
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
    submitted(folder, "c")
    assert [row.team for row in standing(folder, "main").rows] == ["c", "b", "a"]  # nothing was done again


def test_runs_of_other_signatures_are_left_out_and_told_what_differs(folder: Folder) -> None:
    board(folder)
    new = SIGNED.format("xyxy")
    for team, signature in (("old", new.replace("shoe:1", "shoe:0")), ("xywh", SIGNED.format("xywh")), ("new", new)):
        submitted(folder, team)
        worked(folder, 0.5, signature)
    submitted(folder, "broken")
    worked(folder, 0, reason="it holds no predictions")
    submitted(folder, "scored")
    job = claimed(folder)
    jobs.finish(folder, job, stored_files(folder, {"run.shoe": b"x"}), {MAP: 0.5}, new, after=submissions.follow_up)
    submitted(folder, "late")
    found = standing(folder, "main")
    assert {row.team for row in found.rows} == {"xywh", "new"}  # how a file is read is its own
    left_out = {of.team: of.why for of in found.left_out}
    waiting = {"scored": "ranking is in progress", "late": "queued"}
    assert left_out == {"old": "shoe: found 0, expected 1", "broken": "failed", **waiting}
    assert found.signature == "shoe:1|data:x|protocol:shoe"


def test_a_quota_counts_no_failed_runs(folder: Folder) -> None:
    board(folder, quota=2)
    submitted(folder, "a", "1")
    worked(folder, 0, reason="it is broken")
    for name in ("2", "3"):
        submitted(folder, "a", name)
    with pytest.raises(QuotaError, match=r"limit of 2 .*\(2 used\)"):
        submitted(folder, "a", "4")
    submitted(folder, "a", "3")  # which is the same
    submitted(folder, "b", "4")


def test_a_leaderboard_that_has_ended_takes_nothing_and_says_since_when(folder: Folder) -> None:
    board(folder, ends=time.time() + 3600)
    runs.cancel(folder, run := submitted(folder, "a"))
    with folder.database.write() as db:
        db.execute("UPDATE boards SET ends = 86400.0")
    for late in (lambda: submissions.retry(folder, run), lambda: submitted(folder, "a", "2")):
        with pytest.raises(ConflictError, match=r"^main: submissions ended at 1970-01-02 00:00 UTC$"):
            late()
    with calling(folder) as client:
        assert client.get("/v1/boards").json()["boards"][0]["ends"] == 86400
        pages = {path: client.get(path).text for path in ("/boards/main", "/", "/boards", "/submit")}
    assert all("1 Jan 1970" in pages[path] for path in ("/boards/main", "/", "/boards"))
    assert "/submit?board" not in pages["/boards/main"]
    assert '<option value="main" disabled' in pages["/submit"]


def test_who_gives_up_and_tries_again_gets_no_more_than_the_quota(folder: Folder) -> None:
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


def test_a_cancelled_run_has_no_results_although_others_want_them(folder: Folder) -> None:
    for name in ("main", "second"):
        board(folder, name)
    given_up, kept = (submitted(folder, "a", "1", name) for name in ("main", "second"))
    runs.cancel(folder, given_up)
    worked(folder, 0.4)
    found = runs.run(folder, given_up)
    assert (runs.run(folder, kept).state, found.state) == ("done", "cancelled")
    assert (dict(found.figures), dict(found.outputs), found.signature) == ({}, {}, None)
    assert submissions.retry(folder, given_up).further["board"] == "done"


@pytest.mark.parametrize(
    ("name", "request_", "more", "found"),
    [
        ("other", {}, {"figure": "strict:qpic:full"}, "unknown figure 'strict:qpic:full'"),
        ("other", {"truth": "smal"}, {}, "unknown truth 'smal'"),
        ("other", {"options": ("tua=0.4",)}, {}, "unknown option 'tua'"),
        ("other", {"similarity": "maps"}, {}, "unknown similarity 'maps'"),
        ("main", {}, {}, "'main'.* already"),
        ("../main", {}, {}, r"'\.\./main'"),
    ],
)
def test_boards_that_cannot_be_are_refused(folder: Folder, name: str, request_: Any, more: Any, found: str) -> None:
    board(folder)
    with pytest.raises(OptionError, match=found):
        add_board(folder, name, Request(**{"truth": "small"} | request_), **more)


def test_results_of_a_hidden_board_are_for_who_runs_the_service(folder: Folder) -> None:
    board(folder, hidden=True)
    run = submitted(folder, "a")
    worked(folder, 0.5)
    team, admin = bearer(folder, "a", "submit"), bearer(folder, "admin", "admin")
    with calling(folder, "http://127.0.0.1:8017") as client:

        def got(path: str, who: dict[str, str] = team) -> Any:
            return client.get(path, headers=who).json()

        assert [len(got("/v1/boards/main", who)["rows"]) for who in (team, admin)] == [0, 1]
        assert got(f"/v1/runs/{run}/log")["lines"] == []
        one = runs.run(folder, run)
        callers = [Identity("a", frozenset({scope}), "", None) for scope in ("read", "admin")]
        logs = [run_page(folder, caller, one)[1]["log"] for caller in callers]
        assert (logs[0], logs[1][-1]) == ([], "finished")
        refused = client.post("/v1/runs", json={"truth": "small", "prediction": "0" * 64}, headers=team)
        assert (refused.status_code, refused.json()["field"]) == (403, "board")
        assert refused.json()["error"].endswith(" main")
        show_board(folder, "main")
        assert len(got("/v1/boards/main")["rows"]) == 1
        assert got(f"/v1/runs/{run}")["figures"][MAP] == 0.5
