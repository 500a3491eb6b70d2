"""Runs: what teams submitted, each a name for a job that others may have asked for, too."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from shoe.core.errors import printable
from shoe.service.errors import ConflictError, NotFoundError
from shoe.service.folder import Folder
from shoe.service.jobs import Output

Visibility = Literal["team", "public"]
THE_FILE = "{file}"
"""Stands for the client's file in the words of a job, which may have come under several names."""


class Request(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is to be measured: the name of a ground truth, and the options of ``shoe score``."""

    truth: str
    protocols: tuple[str, ...] = ()
    similarity: str = "dataset"
    options: tuple[str, ...] = ()
    boxes: str | None = None
    scores: str | None = None
    format: str | None = None
    subset: str | None = None
    images_in_predictions: bool = False
    bounds: bool = False


@dataclass(frozen=True, slots=True)
class Run:
    """A run as it stands.

    Attributes:
        id: by which it is found.
        number: rises with each run; lists go on after one.
        key, kind: of its job.
        team: whose it is.
        name: what its team calls it; the name of the file unless changed.
        state: queued, running, done, failed, cancelled.
        reason: why it failed, one line.
        position: in the queue, from 1; None where it is not queued.
        stage, progress: what is being done, and how much is behind, 0 to 1.
        attempt: how often it was begun.
        created, started, ended: seconds since 1970.
        signature: of its figures.
        figures: by key, as fractions.
        outputs: files by name, those of its page and diagnosis among them.
        further: states of the jobs that follow by their kind.
        request: what was asked for.
        prediction: hash of the predictions.
        truth: name of the ground truth.
        visibility: team or public.
        board: name of the leaderboard that it was submitted to.
    """

    id: str
    number: int
    key: str
    kind: str
    team: str
    name: str
    state: str
    reason: str | None
    position: int | None
    stage: str | None
    progress: float | None
    attempt: int
    created: float
    started: float | None
    ended: float | None
    signature: str | None
    figures: Mapping[str, Any]
    outputs: Mapping[str, Output]
    request: Mapping[str, Any]
    prediction: str | None
    truth: str
    visibility: str
    board: str | None
    further: Mapping[str, str] = field(default_factory=dict)


class Line(msgspec.Struct, frozen=True):
    """A line of a run's log: its number, by which reading goes on, when it was written, in which attempt."""

    number: int
    at: float
    attempt: int
    line: str


def given(folder: Folder, team: str, sha256: str) -> str | None:
    """The name under which a team gave a file; None where it did not."""
    with folder.database.read() as db:
        row = db.execute("SELECT name FROM given WHERE sha256 = ? AND team = ?", (sha256, team)).fetchone()
    return row["name"] if row else None


def run(folder: Folder, id_: str) -> Run:
    """A run.

    Raises:
        NotFoundError: for an unknown one.
    """
    with folder.database.read() as db:
        row = db.execute(_RUNS + " WHERE runs.id = ? AND runs.deleted = 0", (id_,)).fetchone()
        if row is None:
            raise NotFoundError(f"no run {printable(id_)}")
        return _runs(db, [row])[0]


def runs(
    folder: Folder,
    team: str | None = None,
    after: int | None = None,
    limit: int = 50,
    state: str | None = None,
    *,
    name: str | None = None,
    truth: str | None = None,
) -> list[Run]:
    """Runs, the latest first.

    Args:
        folder: of the service.
        team: whose runs, and public ones; None for all.
        after: number of the last run of the list before.
        limit: most of them.
        state: in which they are; None for any.
        name: part of what they are called.
        truth: name of their ground truth.
    """
    with folder.database.read() as db:
        rows = db.execute(
            _RUNS + " WHERE runs.deleted = 0 AND (?1 IS NULL OR runs.team = ?1 OR runs.visibility = 'public') "
            "AND (?2 IS NULL OR runs.number < ?2) "
            "AND (?3 IS NULL OR ?3 = CASE WHEN runs.cancelled THEN 'cancelled' ELSE jobs.state END) "
            "AND (?5 IS NULL OR instr(lower(runs.name), lower(?5))) AND (?6 IS NULL OR runs.truth = ?6) "
            "ORDER BY runs.number DESC LIMIT ?4",
            (team, after, state, limit, name, truth),
        ).fetchall()
        return _runs(db, rows)


def log(folder: Folder, id_: str, after: int = 0) -> list[Line]:
    """Lines of a run's log that come after one, by its number.

    Raises:
        NotFoundError: for an unknown run.
    """
    of = run(folder, id_)
    with folder.database.read() as db:
        rows = db.execute(
            "SELECT number, at, attempt, line FROM log WHERE key = ? AND number > ? ORDER BY number LIMIT 1000",
            (of.key, after),
        ).fetchall()
        file = file_of(db, of.prediction, of.team, of.name)
    return [Line(row["number"], row["at"], row["attempt"], row["line"].replace(THE_FILE, file)) for row in rows]


def cancel(folder: Folder, id_: str) -> Run:
    """Give a run up; its job goes on if somebody else wants it.

    Raises:
        NotFoundError: for an unknown run.
        ConflictError: for one that has ended.
    """
    of = run(folder, id_)
    with folder.database.write() as db:
        cancelled = db.execute(
            "UPDATE runs SET cancelled = 1 WHERE id = ? AND cancelled = 0 "
            "AND (SELECT state FROM jobs WHERE jobs.key = runs.key) IN ('queued', 'running')",
            (id_,),
        ).rowcount
        _cancel_unwanted(db, [of.key])
    found = run(folder, id_)
    if not cancelled:
        raise ConflictError(f"run {id_}: found it {found.state}, expected one that is queued or running")
    return found


def change(folder: Folder, id_: str, name: str | None = None, visibility: Visibility | None = None) -> Run:
    """Call a run otherwise, or show it to others.

    Raises:
        NotFoundError: for an unknown run.
    """
    with folder.database.write() as db:
        db.execute(
            "UPDATE runs SET name = coalesce(?, name), visibility = coalesce(?, visibility) WHERE id = ?",
            (name and printable(name, longest=200), visibility, id_),
        )
    return run(folder, id_)


def delete(folder: Folder, id_: str) -> None:
    """Delete a run, and its team's file of predictions with the last run of it.

    Its job's results, and the file, stay as long as another run has them.

    Raises:
        NotFoundError: for an unknown run.
    """
    of = run(folder, id_)
    with folder.database.write() as db:
        keys = [of.key, *(row["key"] for row in db.execute("SELECT key FROM further WHERE run = ?", (id_,)))]
        db.execute("UPDATE runs SET deleted = 1 WHERE id = ?", (id_,))
        db.execute(
            "DELETE FROM given WHERE sha256 = ?1 AND team = ?2 AND NOT EXISTS "
            "(SELECT 1 FROM runs WHERE prediction_sha256 = ?1 AND team = ?2 AND deleted = 0)",
            (of.prediction, of.team),
        )
        _cancel_unwanted(db, keys)


def _cancel_unwanted(db: sqlite3.Connection, keys: Sequence[str]) -> None:
    db.executemany(
        "UPDATE jobs SET state = 'cancelled', stage = NULL, ended = ? WHERE key = ? AND state IN ('queued', 'running') "
        "AND NOT EXISTS (SELECT 1 FROM runs LEFT JOIN further ON further.run = runs.id "
        "WHERE (runs.key = jobs.key OR further.key = jobs.key) AND cancelled = 0 AND deleted = 0)",
        [(time.time(), key) for key in keys],
    )


_RUNS = (
    "SELECT runs.*, jobs.kind, jobs.reason, jobs.stage, jobs.progress, jobs.attempt, jobs.started, jobs.ended, "
    "jobs.signature, jobs.figures, jobs.outputs, "
    "CASE WHEN runs.cancelled THEN 'cancelled' ELSE jobs.state END AS state FROM runs JOIN jobs USING (key)"
)
_GIVEN = "(SELECT value FROM json_each(?))"
_OUTPUTS = msgspec.json.Decoder(dict[str, Output])


def _runs(db: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> list[Run]:
    """Runs of their rows: however many there are, what else belongs to them is looked for once."""
    further: dict[str, list[sqlite3.Row]] = {}
    for other in db.execute(
        f"SELECT run, kind, state, outputs FROM further JOIN jobs USING (key) WHERE run IN {_GIVEN}",  # noqa: S608
        (_json([row["id"] for row in rows]),),
    ):
        further.setdefault(other["run"], []).append(other)
    waiting = _json([row["key"] for row in rows if row["state"] == "queued"])
    positions: dict[str, int] = {}
    if waiting != "[]":
        positions = dict(db.execute(f"SELECT key, position FROM waiting WHERE key IN {_GIVEN}", (waiting,)).fetchall())  # noqa: S608
    return [_run(db, row, further.get(row["id"], ()), positions.get(row["key"])) for row in rows]


def _run(db: sqlite3.Connection, row: sqlite3.Row, others: Sequence[sqlite3.Row], position: int | None) -> Run:
    done = row["state"] == "done"  # of a run that was cancelled, the job may be: others want it
    outputs = _OUTPUTS.decode((done and row["outputs"]) or "{}")
    for other in others:
        outputs |= _OUTPUTS.decode(other["outputs"] or "{}")
    reason = row["reason"] if row["state"] == "failed" else None
    if reason is not None:
        reason = reason.replace(THE_FILE, file_of(db, row["prediction_sha256"], row["team"], row["name"]))
    return Run(
        id=row["id"],
        number=row["number"],
        key=row["key"],
        kind=row["kind"],
        team=row["team"],
        name=row["name"],
        state=row["state"],
        reason=reason,
        position=position,
        stage=row["stage"] if row["state"] == "running" else None,
        progress=row["progress"],
        attempt=row["attempt"],
        created=row["created"],
        started=row["started"],
        ended=row["ended"],
        signature=row["signature"] if done else None,
        figures=msgspec.json.decode((done and row["figures"]) or "{}"),
        outputs=outputs,
        request=msgspec.json.decode(row["request"]),
        prediction=row["prediction_sha256"],
        truth=row["truth"],
        visibility=row["visibility"],
        board=row["board"],
        further={other["kind"]: other["state"] for other in others},
    )


def _json(words: Sequence[str]) -> str:
    return msgspec.json.encode(words).decode()


def file_of(db: sqlite3.Connection, sha256: str | None, team: str, name: str) -> str:
    """What a team called a file; the name of a run where it gave none."""
    row = db.execute("SELECT name FROM given WHERE sha256 = ? AND team = ?", (sha256, team)).fetchone()
    return row["name"] if row else name
