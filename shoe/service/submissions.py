"""Submissions of teams, and the jobs that they create."""

from __future__ import annotations

import secrets
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from shoe.core.errors import OptionError, printable, unknown_name
from shoe.service import jobs
from shoe.service.contract import BusyError, ConflictError, NotFoundError, QuotaError
from shoe.service.folder import Folder
from shoe.service.jobs import New
from shoe.service.runs import file_name, file_of, run
from shoe.service.truths import Truth, similarity, truth, truths
from shoe.service.types import File, Request, Run, Visibility

_MOST_COMPARED = 20
_DAY = 86400.0
_DRAWN = {"resamples": 1000, "seed": 0}
"""How images are drawn for all leaderboards, so that runs of all can stand beside each other."""


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
    """Submit predictions to be scored; an equal submission returns the same run.

    Args:
        name: name of the run; that of the file unless given.
        request: how to score; a leaderboard's own request replaces all of it but how the file is read.
        most_waiting: limit on the team's waiting and running runs; None for no limit.

    Raises:
        NotFoundError: for predictions that the team did not upload, or an unknown leaderboard.
        OptionError: for an unknown truth, protocol, option, similarity or subset, or a way to read predictions that
            does not exist.
        QuotaError: if the team has no submission to the leaderboard left for today.
        BusyError: if too many of its runs wait.
    """
    if board is not None:
        request = _request_of_board(folder, board, request)
    of = truth(folder, request.truth)
    new = _scoring(folder, of, prediction_sha256, request)
    file = file_name(folder, team, prediction_sha256)
    if file is None:  # checked last, so that clients learn of all other mistakes before they send a file
        raise NotFoundError(f"no predictions {prediction_sha256}: send the file first")
    row = _row(team, name or file, of.name, request, prediction_sha256, visibility, board)
    with folder.database.write() as db:
        known = _same(db, team, new.key, of.name, board)
        if known is None:
            _check_quota(db, team, board)
            _check_waiting(db, team, most_waiting)
            jobs.add(db, new)
            known = _insert(db, new.key, row)
            _follow_done(db, known)
    folder.work.set()
    return run(folder, known)


def retry(folder: Folder, id_: str, most_waiting: int | None = None) -> Run:
    """Repeat a failed or cancelled run; for quota and queue it is a submission like any other.

    Raises:
        NotFoundError: for an unknown run.
        ConflictError: for a run that has neither failed nor was cancelled, or that was submitted again since.
        QuotaError, BusyError: as :func:`submit`.
    """
    of = run(folder, id_)
    if of.state not in ("failed", "cancelled"):
        raise ConflictError(f"run {id_}: found it {of.state}, expected one that failed or was cancelled")
    with folder.database.write() as db:
        _check_quota(db, of.team, of.board)
        _check_waiting(db, of.team, most_waiting)
        now = time.time()
        try:
            db.execute("UPDATE runs SET cancelled = 0, created = ? WHERE id = ?", (now, id_))
        except sqlite3.IntegrityError:
            raise ConflictError(f"run {id_}: found another run of the same work") from None
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
    """Submit a comparison of finished runs.

    Args:
        ids: IDs of 2 to 20 runs of one ground truth.
        resamples: number of draws of images.
        most_waiting: as of :func:`submit`.

    Raises:
        NotFoundError: for an unknown run.
        ConflictError: for a run that is not done.
        BusyError: if too many of the team's runs wait.
        OptionError: for too few or too many runs, or one twice.
    """
    if not 2 <= len(set(ids)) == len(ids) <= _MOST_COMPARED:
        raise OptionError(f"compare: found {len(ids)} runs, expected 2 to {_MOST_COMPARED}, each once")
    found = [run(folder, id_) for id_ in ids]
    for one in found:
        if "run.shoe" not in one.outputs:
            raise ConflictError(f"run {one.id}: found it {one.state}, expected one that is done")
    names = [one.name for one in found]
    shown = {of.name: of.shown for of in truths(folder)}
    request = {
        "shown": all(shown.get(one.truth, False) for one in found),
        "runs": [
            {
                "sha256": one.outputs["run.shoe"].sha256,
                "name": one.name if names.count(one.name) == 1 else f"{one.name} ({n})",
            }
            for n, one in enumerate(found, 1)
        ],
        "resamples": resamples,
        "seed": seed,
        "allow_different": allow_different,
    }
    new = New("compare", request)
    asked = {"runs": list(ids), "resamples": resamples, "seed": seed, "allow_different": allow_different}
    row = _row(team, ", ".join(names)[:200], found[0].truth, asked, None, visibility, None)
    with folder.database.write() as db:
        known = _same(db, team, new.key, found[0].truth, None)
        if known is None:
            _check_waiting(db, team, most_waiting)
            jobs.add(db, new)
            known = _insert(db, new.key, row)
    folder.work.set()
    return run(folder, known)


def follow_up(db: sqlite3.Connection, job: jobs.Job) -> None:
    """Queue page and diagnosis of every run whose job is done."""
    rows = db.execute("SELECT id FROM runs WHERE key = ? AND cancelled = 0 AND deleted = 0", (job.key,)).fetchall()
    for row in rows:
        _follow_done(db, row["id"])


def _follow_done(db: sqlite3.Connection, id_: str) -> None:
    """Queue page and diagnosis of a run, and its leaderboard's job, if its own job is done."""
    row = db.execute(
        "SELECT runs.*, jobs.outputs, jobs.request AS asked FROM runs JOIN jobs USING (key) "
        "WHERE id = ? AND kind = 'score' AND state = 'done'",
        (id_,),
    ).fetchone()
    if row is None:
        return
    file = file_of(db, row["prediction_sha256"], row["team"], row["name"])
    request = {**msgspec.json.decode(row["asked"]), "name": Path(file).stem}
    further = [New("diagnose", request), New("page", {**request, "file": file})]
    if row["board"] is not None:
        made = msgspec.json.decode(row["outputs"], type=dict[str, File])
        further.append(New("board", {"run": made["run.shoe"].sha256, **_DRAWN}))
    for new in further:
        jobs.add(db, new)
        db.execute("INSERT OR IGNORE INTO further VALUES (?, ?)", (id_, new.key))


def _scoring(folder: Folder, of: Truth, sha256: str, request: Request) -> New:
    """Return the job of a request: names of truth and map are replaced by their contents."""
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.protocols import shortest
    from shoe.predictions import check_names

    check_names(request.format, request.boxes, request.scores)
    own, labels = benchmark(of.dataset), of.reading.image_labels is not None
    if request.subset is not None and request.subset not in own.subsets:
        raise unknown_name("subset", request.subset, own.subsets)
    names = request.protocols or own.usual_protocols
    protocols, options = shortest(names, request.options, own.protocols, own.role_protocols, image_labels=labels)
    asked = msgspec.to_builtins(request) | {"protocols": protocols, "options": options}
    asked |= {"truth": msgspec.to_builtins(of.reading), "shown": of.shown}
    asked |= {"similarity": similarity(folder, request.similarity, of.dataset)}
    return New("score", {"predictions": sha256, **asked})


def _request_of_board(folder: Folder, board: str, request: Request) -> Request:
    with folder.database.read() as db:
        row = db.execute("SELECT * FROM boards WHERE name = ?", (board,)).fetchone()
    if row is None:
        raise NotFoundError(f"no leaderboard {printable(board)}")
    own = msgspec.json.decode(row["request"], type=Request)
    read = {name: getattr(request, name) for name in ("boxes", "scores", "format")}
    return msgspec.structs.replace(own, truth=row["truth"], **read)


def _check_quota(db: sqlite3.Connection, team: str, board: str | None) -> None:
    """Raise QuotaError if a team has used its quota; failed and cancelled runs do not count."""
    if board is None:
        return
    quota = db.execute(
        "SELECT min(quota) AS least FROM (SELECT quota FROM boards WHERE name = ? "
        "UNION ALL SELECT quota FROM teams WHERE name = ?)",
        (board, team),
    ).fetchone()["least"]
    used = db.execute(
        "SELECT count(*) FROM runs JOIN jobs USING (key) WHERE team = ? AND board = ? AND cancelled = 0 "
        "AND jobs.state != 'failed' AND runs.created > ?",
        (team, board, time.time() - _DAY),
    ).fetchone()[0]
    if quota is not None and used >= quota:
        raise QuotaError(f"{board}: found {used} submissions of {team} in 24 hours, expected at most {quota}")


def _check_waiting(db: sqlite3.Connection, team: str, most: int | None) -> None:
    waiting = db.execute(
        "SELECT count(*) FROM runs JOIN jobs USING (key) WHERE team = ? AND cancelled = 0 AND deleted = 0 "
        "AND jobs.state IN ('queued', 'running')",
        (team,),
    ).fetchone()[0]
    if most is not None and waiting >= most:
        raise BusyError(f"found {waiting} runs of {team} that wait or are under way, expected at most {most}")


def _row(
    team: str, name: str, of: str, request: Any, sha256: str | None, visibility: str, board: str | None
) -> dict[str, Any]:
    return {
        "team": team,
        "name": printable(name, longest=200),
        "prediction_sha256": sha256,
        "truth": of,
        "visibility": visibility,
        "board": board,
        "request": msgspec.json.encode(request).decode(),
        "created": time.time(),
    }


def _insert(db: sqlite3.Connection, key: str, row: Mapping[str, Any]) -> str:
    whole = {"id": f"r_{secrets.token_hex(10)}", "key": key, **row}
    columns, marks = ", ".join(whole), ", ".join(f":{name}" for name in whole)
    db.execute(f"INSERT INTO runs ({columns}) VALUES ({marks})", whole)  # noqa: S608  # names of this file
    return str(whole["id"])


def _same(db: sqlite3.Connection, team: str, key: str, of: str, board: str | None) -> str | None:
    row = db.execute(
        "SELECT id FROM runs WHERE team = ? AND key = ? AND truth = ? AND board IS ? AND cancelled = 0 AND deleted = 0",
        (team, key, of, board),
    ).fetchone()
    return row["id"] if row else None
