"""Submissions of teams, and the jobs that they create."""

import secrets
import sqlite3
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from shoe.benchmarks import benchmark
from shoe.benchmarks.protocols import shortest
from shoe.core.errors import OptionError, printable, unknown_name
from shoe.predictions import validate_names
from shoe.service import boards, jobs
from shoe.service.database import to_json
from shoe.service.errors import BusyError, ConflictError, NotFoundError, QuotaError
from shoe.service.folder import Folder
from shoe.service.jobs import NewJob
from shoe.service.runs import change, correct_times, file_name, file_of, run
from shoe.service.truths import Truth, similarity, truth, truths
from shoe.service.types import File, Request, Run, Visibility

_MOST_COMPARED = 20
_DAY = 86400.0
DAILY = 10
"""Default limit of a team's submissions in 24 hours on a ground truth that is not shown."""
_DRAWN = {"resamples": 1000, "seed": 0}
"""Bootstrap samples of images for all leaderboards: every run gets the same samples, so that runs are comparable."""


def submit(
    folder: Folder,
    team: str,
    name: str | None,
    prediction_sha256: str,
    request: Request,
    visibility: Visibility = "team",
    board: str | None = None,
    most_waiting: int | None = None,
) -> Run:
    """Submit predictions for scoring, and return the run.

    If the team has submitted the same predictions with the same request before, the earlier run is returned, even if it
    failed, but not if it was cancelled or deleted. The earlier run gets the new name, if there is one, and becomes
    public if `visibility` is "public".

    Args:
        name: name of the run; None for the name of the file.
        request: scoring request; with a leaderboard, only its `format`, `boxes`, `scores` and `bad_boxes` are used.
        board: name of the leaderboard; None for a run without a leaderboard.
        most_waiting: limit of the team's queued and running runs; None for no limit.

    Raises:
        NotFoundError: if the team did not upload the predictions, or the leaderboard is unknown.
        OptionError: for an unknown name or value in the request.
        QuotaError, BusyError: if the team has reached its limit of submissions in 24 hours, or of unfinished runs.
    """
    if board is not None:
        own = boards.board(folder, board)
        read = {name: getattr(request, name) for name in ("boxes", "scores", "format", "bad_boxes")}
        request = msgspec.structs.replace(own.request, truth=own.truth, **read)
    target = truth(folder, request.truth)
    new = _scoring(folder, target, prediction_sha256, request)
    file = file_name(folder, team, prediction_sha256)
    if file is None:  # checked last, so that a client learns of all other errors before it uploads a large file
        with folder.database.read() as db:
            _check_quota(db, team, board, target.name)
        raise NotFoundError(f"no prediction file {prediction_sha256}: upload the file first")
    columns = {"truth": target.name, "visibility": visibility, "prediction_sha256": prediction_sha256}
    return _add_run(folder, team, new, name or file, request, most_waiting, board=board, new_name=name, **columns)


def retry(folder: Folder, id_: str, most_waiting: int | None = None) -> Run:
    """Repeat a failed or cancelled run, and return the run; quota and queue limits apply as for a new submission.

    Raises:
        ConflictError: if the run is neither failed nor cancelled, or the team has submitted an equal run since.
        QuotaError, BusyError: if the team has reached its limit of submissions in 24 hours, or of unfinished runs.
    """
    old = run(folder, id_)
    if old.state not in ("failed", "cancelled"):
        raise ConflictError(f"run {id_} is {old.state}: only failed or cancelled runs can be repeated")
    correct_times(folder)
    with folder.database.write() as db:
        _check_quota(db, old.team, old.board, old.truth)
        _check_waiting(db, old.team, most_waiting)
        now = time.time()
        try:
            db.execute("UPDATE runs SET cancelled = 0, created = ? WHERE id = ?", (now, id_))
        except sqlite3.IntegrityError:
            raise ConflictError(f"run {id_}: the team has submitted the same run again: use the later run") from None
        db.execute(
            "UPDATE jobs SET state = 'queued', reason = NULL, deaths = 0, ended = NULL, created = ? "
            "WHERE key = (SELECT key FROM runs WHERE id = ?) AND state IN ('failed', 'cancelled')",
            (now, id_),
        )
        _follow_done(db, id_)
    folder.work.set()
    return run(folder, id_)


def compare(
    folder: Folder,
    team: str,
    ids: Sequence[str],
    *,
    resamples: int | None = None,
    seed: int = 0,
    allow_different: bool = False,
    visibility: Visibility = "team",
    most_waiting: int | None = None,
) -> Run:
    """Submit a comparison of 2 to 20 finished runs; return its run, or the run of an equal earlier comparison.

    `resamples`, `seed` and `allow_different` are the options of ``shoe compare``.

    Raises:
        NotFoundError: for an unknown run.
        ConflictError: if a run is not done, or is a comparison itself.
        BusyError: if the team has `most_waiting` queued and running runs or more.
        OptionError: for too few or too many runs, or duplicate runs.
    """
    if not 2 <= len(set(ids)) == len(ids) <= _MOST_COMPARED:
        raise OptionError(f"compare: found {len(ids)} runs, expected 2 to {_MOST_COMPARED} different runs")
    found = [run(folder, id_) for id_ in ids]
    for one in found:
        if "run.shoe" not in one.outputs:
            state = "a comparison" if one.kind == "compare" else one.state
            raise ConflictError(f"run {one.id} is {state}: only finished scoring runs can be compared")
    names = [one.name for one in found]
    unique = [name if names.count(name) == 1 else f"{name} ({n})" for n, name in enumerate(names, 1)]
    files = [one.outputs["run.shoe"].sha256 for one in found]
    shown = {each.name: each.shown for each in truths(folder)}
    request = {
        "shown": all(shown.get(one.truth, False) for one in found),
        "runs": [{"sha256": sha256, "name": name} for sha256, name in zip(files, unique, strict=True)],
    }
    options = {"resamples": resamples, "seed": seed, "allow_different": allow_different}
    new = NewJob("compare", request | options)
    asked = {"runs": list(ids)} | options
    columns = {"truth": found[0].truth, "visibility": visibility}
    return _add_run(folder, team, new, ", ".join(names), asked, most_waiting, **columns)


def follow_up(db: sqlite3.Connection, job: jobs.Job) -> None:
    """Queue follow-up jobs (page, diagnosis, leaderboard) for all runs of `job`, if it is a finished scoring job."""
    query = "SELECT id FROM runs WHERE key = ? AND cancelled = 0 AND deleted = 0"
    for row in db.execute(query, (job.key,)).fetchall():
        _follow_done(db, row["id"])


def _follow_done(db: sqlite3.Connection, id_: str) -> None:
    """Queue the follow-up jobs of a run (page, diagnosis, leaderboard) if its scoring job is done."""
    row = db.execute(
        "SELECT runs.*, jobs.outputs, jobs.request AS asked FROM runs JOIN jobs USING (key) "
        "WHERE id = ? AND kind = 'score' AND state = 'done'",
        (id_,),
    ).fetchone()
    if row is None:
        return
    file = file_of(db, row)
    request = {**msgspec.json.decode(row["asked"]), "name": Path(file).stem}
    further = [NewJob("diagnose", request)]
    if request["shown"]:
        further.append(NewJob("page", {**request, "file": file}))
    if row["board"] is not None:
        made = msgspec.json.decode(row["outputs"], type=dict[str, File])
        further.append(NewJob("board", {"run": made["run.shoe"].sha256, "shown": request["shown"], **_DRAWN}))
    for new in further:
        jobs.add(db, new)
        db.execute("INSERT OR IGNORE INTO further VALUES (?, ?)", (id_, new.key))


def _scoring(folder: Folder, target: Truth, sha256: str, request: Request) -> NewJob:
    """Return the job of a scoring request; in the job, hashes replace the names of ground truth and similarity map."""
    validate_names(request.format, request.boxes, request.scores)
    own, labels = benchmark(target.dataset), target.reading.image_labels is not None
    if request.subset is not None and request.subset not in own.subsets:
        raise unknown_name("subset", request.subset, own.subsets)
    names = request.protocols or own.usual_protocols
    protocols, options = shortest(names, request.options, own.protocols, own.role_protocols, image_labels=labels)
    asked = msgspec.to_builtins(request) | {"protocols": protocols, "options": options}
    asked |= {"truth": msgspec.to_builtins(target.reading), "shown": target.shown}
    asked |= {"similarity": similarity(folder, request.similarity, target.dataset)}
    return NewJob("score", {"predictions": sha256, **asked})


def _add_run(
    folder: Folder,
    team: str,
    new: NewJob,
    name: str,
    request: Any,
    most_waiting: int | None,
    *,
    board: str | None = None,
    new_name: str | None = None,
    **columns: str,
) -> Run:
    """Queue a job, and return its new run, or the team's run with the same job and leaderboard, named `new_name`."""
    row: dict[str, Any] = {"team": team, "key": new.key, "board": board, **columns}
    correct_times(folder)
    with folder.database.write() as db:
        same = db.execute(
            "SELECT id FROM runs WHERE team = :team AND key = :key AND truth = :truth AND board IS :board "
            "AND cancelled = 0 AND deleted = 0",
            row,
        ).fetchone()
        if same is None:
            if new.kind == "score":
                _check_quota(db, team, board, columns["truth"])
            _check_waiting(db, team, most_waiting)
            jobs.add(db, new)
            row |= {"id": f"r_{secrets.token_hex(10)}", "name": printable(name, longest=200)}
            row |= {"request": to_json(request), "created": time.time()}
            names, marks = ", ".join(row), ", ".join(f":{column}" for column in row)
            db.execute(f"INSERT INTO runs ({names}) VALUES ({marks})", row)  # noqa: S608  # names of this file
            _follow_done(db, row["id"])
    folder.work.set()
    if same:
        return change(folder, same["id"], new_name, "public" if columns["visibility"] == "public" else None)
    return run(folder, row["id"])


class Quota(NamedTuple):
    """Quota of a team: number of submissions in 24 hours to a leaderboard, or on a ground truth."""

    name: str  # name of the leaderboard or ground truth
    limit: int | None  # None for any number
    used: int  # number of submissions in the last 24 hours; 0 without a limit
    free_at: float | None  # time of the next possible submission, in seconds since 1970, if the limit is reached

    @property
    def left(self) -> int | None:
        """Number of submissions that are still possible now; None for no limit."""
        return None if self.limit is None else max(self.limit - self.used, 0)


def quota_of(db: sqlite3.Connection, team: str, board: str | None, truth: str) -> Quota:
    """Return a team's quota of submissions to a leaderboard or, if `board` is None, on a ground truth.

    On a leaderboard, the limit is the lower of its quota and the team's quota. If neither is set, the limit is 10 for
    a hidden ground truth, else None. Failed and cancelled runs and comparisons do not count; deleted runs do.
    """
    quota = db.execute(
        "SELECT min(quota) AS least FROM (SELECT quota FROM boards WHERE name = ? "
        "UNION ALL SELECT quota FROM teams WHERE name = ? AND ?1 IS NOT NULL)",
        (board, team),
    ).fetchone()["least"]
    where, name = "board = ?", str(board)
    if quota is None:
        if db.execute("SELECT 1 FROM truths WHERE name = ? AND shown = 0", (truth,)).fetchone() is None:
            return Quota(truth, None, 0, None)
        where = "truth IN (SELECT b.name FROM truths a JOIN truths b USING (sha256) WHERE a.name = ? AND b.shown = 0)"
        name, quota = truth, DAILY
    rows = db.execute(
        f"SELECT runs.created FROM runs JOIN jobs USING (key) WHERE team = ? AND {where} AND cancelled = 0 "  # noqa: S608
        "AND jobs.state != 'failed' AND jobs.kind = 'score' AND runs.created > ? ORDER BY runs.created",
        (team, name, time.time() - _DAY),
    ).fetchall()
    used = len(rows)
    return Quota(name, quota, used, rows[used - quota]["created"] + _DAY if used >= quota else None)


def _check_quota(db: sqlite3.Connection, team: str, board: str | None, truth: str) -> None:
    query = "SELECT strftime('%Y-%m-%d %H:%M', ends, 'unixepoch') AS at FROM boards WHERE name = ? AND ends < ?"
    for row in db.execute(query, (board, time.time())):
        raise ConflictError(f"{board}: submissions ended at {row['at']} UTC")
    quota = quota_of(db, team, board, truth)
    if quota.free_at is not None:
        at = f"{datetime.fromtimestamp(quota.free_at, UTC):%Y-%m-%d %H:%M} UTC"
        raise QuotaError(
            f"{quota.name}: {team} has reached its limit of {quota.limit} submissions in 24 hours ({quota.used} used); "
            f"the next submission is possible at {at}",
            quota.free_at - time.time(),
        )


def _check_waiting(db: sqlite3.Connection, team: str, most: int | None) -> None:
    waiting = db.execute(
        "SELECT count(*) FROM runs JOIN jobs USING (key) WHERE team = ? AND cancelled = 0 AND deleted = 0 "
        "AND jobs.state IN ('queued', 'running')",
        (team,),
    ).fetchone()[0]
    if most is not None and waiting >= most:
        raise BusyError(f"{team} has {waiting} queued or running runs (limit: {most}): try again later")
