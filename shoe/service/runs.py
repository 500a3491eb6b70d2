"""Runs of teams: queries, changes, and prediction files. Runs with the same request share one job."""

import re
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shoe.core.errors import OptionError, pluralize, printable, quote
from shoe.service import truths
from shoe.service.database import read_row, to_json
from shoe.service.errors import ConflictError, FullError, NotFoundError
from shoe.service.folder import Folder
from shoe.service.jobs import command
from shoe.service.types import File, Line, Run, StoredFile, Visibility

THE_FILE = "{file}"
"""Placeholder for the name of the prediction file in the log and in the failure reason of a job.

A job may belong to runs of several teams, which uploaded the same file under different names."""
_DAY = 86400.0
_LINK = re.compile(r"https?://[\x21-\x7e]{1,190}")


def run(folder: Folder, id_: str) -> Run:
    """Return the run with the ID `id_`; raise NotFoundError if there is no such run, or the run was deleted."""
    with folder.database.read() as db:
        return _runs(db, [_row(db, id_)])[0]


def runs(folder: Folder, where: str = "TRUE", values: Mapping[str, Any] = {}, limit: int = -1) -> list[Run]:
    """Return at most `limit` runs (-1: all), the latest first, without deleted runs.

    `where` is an SQL condition on the tables `runs` and `jobs`, with named placeholders for `values`.
    """
    query = f"{_RUNS} WHERE runs.deleted = 0 AND {where} ORDER BY runs.number DESC LIMIT :limit"
    with folder.database.read() as db:
        return _runs(db, db.execute(query, {**values, "limit": limit}).fetchall())


def log(folder: Folder, id_: str, after: int = 0) -> list[Line]:
    """Return the first 1,000 log lines of a run (of all attempts) with line numbers greater than `after`, in order."""
    with folder.database.read() as db:
        row = _row(db, id_)
        rows = db.execute(
            "SELECT number, at, attempt, line FROM log WHERE key = ? AND number > ? ORDER BY number LIMIT 1000",
            (row["key"], after),
        )
        file = file_of(db, row)
        return [read_row(each, Line, line=each["line"].replace(THE_FILE, file)) for each in rows]


def command_of(folder: Folder, id_: str) -> str:
    """Return the command line that reproduces the result of a run; raise NotFoundError if there is no such run."""
    with folder.database.read() as db:
        row = _row(db, id_)
        return command(row["kind"], msgspec.json.decode(row["job"]), file_of(db, row))


def cancel(folder: Folder, id_: str) -> Run:
    """Cancel a run, whose job continues if another run needs it, and return the run; ConflictError if it has ended."""
    with folder.database.write() as db:
        cancelled = db.execute(
            "UPDATE runs SET cancelled = 1 WHERE id = ? AND cancelled = 0 "
            "AND (SELECT state FROM jobs WHERE jobs.key = runs.key) IN ('queued', 'running')",
            (id_,),
        ).rowcount
        _cancel_unwanted(db, [_row(db, id_)["key"]])
    found = run(folder, id_)
    if not cancelled:
        raise ConflictError(f"run {id_} is {found.state}: only queued or running runs can be cancelled")
    return found


def change(
    folder: Folder, id_: str, name: str | None = None, visibility: Visibility | None = None, link: str | None = None
) -> Run:
    """Change the name (cut to 200 characters), visibility and link of a run, if not None, and return the run.

    Raise OptionError if the link is neither "", which removes the link, nor an address with http or https.
    """
    if link and not _LINK.fullmatch(link):
        raise OptionError(f"link: found {quote(link)}, expected an address that starts with https:// or http://")
    with folder.database.write() as db:
        db.execute(
            "UPDATE runs SET name = coalesce(?, name), visibility = coalesce(?, visibility), "
            "link = nullif(coalesce(?, link), '') WHERE id = ?",
            (name and printable(name, longest=200), visibility, link, id_),
        )
    return run(folder, id_)


def delete(folder: Folder, id_: str) -> None:
    """Mark a run as deleted, and remove its prediction file from the team's files if no other run of the team uses it.

    :func:`tidy` later removes results and stored files to which no run of any team refers. Unfinished jobs that no
    other run needs are cancelled.
    """
    with folder.database.write() as db:
        row = _row(db, id_)
        keys = [row["key"], *(each["key"] for each in db.execute("SELECT key FROM further WHERE run = ?", (id_,)))]
        db.execute("UPDATE runs SET deleted = 1 WHERE id = ?", (id_,))
        db.execute(
            "DELETE FROM given WHERE sha256 = ?1 AND team = ?2 AND NOT EXISTS "
            "(SELECT 1 FROM runs WHERE prediction_sha256 = ?1 AND team = ?2 AND deleted = 0)",
            (row["prediction_sha256"], row["team"]),
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
    "SELECT runs.*, prediction_sha256 AS prediction, jobs.kind, jobs.reason, jobs.stage, jobs.progress, jobs.attempt, "
    "jobs.started, jobs.ended, jobs.signature, jobs.figures, jobs.outputs, jobs.request AS job, "
    "CASE WHEN runs.cancelled THEN 'cancelled' ELSE jobs.state END AS state FROM runs JOIN jobs USING (key)"
)
_LISTED = "(SELECT value FROM json_each(?))"
_OUTPUTS = msgspec.json.Decoder(dict[str, File])


def _row(db: sqlite3.Connection, id_: str) -> sqlite3.Row:
    found: sqlite3.Row | None = db.execute(_RUNS + " WHERE runs.id = ? AND runs.deleted = 0", (id_,)).fetchone()
    if found is None:
        raise NotFoundError(f"no run {printable(id_)}")
    return found


def _runs(db: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> list[Run]:
    """Convert database rows to runs, with one query for all follow-up jobs and one query for all queue positions."""
    further: dict[str, list[sqlite3.Row]] = {row["id"]: [] for row in rows}
    for other in db.execute(
        f"SELECT run, kind, state, outputs FROM further JOIN jobs USING (key) WHERE run IN {_LISTED}",  # noqa: S608
        (to_json(list(further)),),
    ):
        further[other["run"]].append(other)
    queued = [row["key"] for row in rows if row["state"] == "queued"]
    positions: dict[str, int] = {}
    if queued:
        query = f"SELECT key, position FROM waiting WHERE key IN {_LISTED}"  # noqa: S608
        positions = dict(db.execute(query, (to_json(queued),)).fetchall())
    return [_run(db, row, further[row["id"]], positions.get(row["key"])) for row in rows]


def _run(db: sqlite3.Connection, row: sqlite3.Row, others: Sequence[sqlite3.Row], position: int | None) -> Run:
    done = row["state"] == "done"  # the job of a cancelled run may be done, because another run needs it
    outputs = _OUTPUTS.decode((done and row["outputs"]) or "{}")
    for other in others:
        outputs |= _OUTPUTS.decode(other["outputs"] or "{}")
    reason = row["reason"] if row["state"] == "failed" else None
    if reason is not None:
        reason = reason.replace(THE_FILE, file_of(db, row))
    return read_row(
        row,
        Run,
        position=position,
        reason=reason,
        stage=row["stage"] if row["state"] == "running" else None,
        signature=row["signature"] if done else None,
        figures=msgspec.json.decode((done and row["figures"]) or "{}"),
        outputs=outputs,
        further={other["kind"]: other["state"] for other in others},
    )


def add_file(folder: Folder, team: str, name: str, stored: StoredFile, most: int | None = None) -> None:
    """Record a stored file as a prediction file of a team, with the file name `name`, which replaces an earlier name.

    Raise FullError, and record nothing, if the team's files would exceed `most` bytes in total (None: no limit).
    """
    now = time.time()
    with folder.database.write() as db:
        db.execute("INSERT OR IGNORE INTO predictions VALUES (?, ?, ?)", (stored.sha256, stored.size, now))
        db.execute(
            "INSERT INTO given VALUES (?, ?, ?, ?) ON CONFLICT (sha256, team) DO UPDATE SET name = excluded.name",
            (stored.sha256, team, printable(name, longest=200), now),
        )
        if most is not None and (used := disk_used(db, team)) > most:
            raise no_room(most - used + stored.size)


def file_name(folder: Folder, team: str, sha256: str) -> str | None:
    """Return the name under which a team uploaded a file; None if the team has not uploaded the file."""
    with folder.database.read() as db:
        row = db.execute("SELECT name FROM given WHERE sha256 = ? AND team = ?", (sha256, team)).fetchone()
    return row["name"] if row else None


def file_of(db: sqlite3.Connection, row: sqlite3.Row) -> str:
    """Return the file name under which a run's predictions were uploaded; the run's name if the file was deleted."""
    query = "SELECT name FROM given WHERE sha256 = ? AND team = ?"
    found = db.execute(query, (row["prediction_sha256"], row["team"])).fetchone()
    return str(found["name"] if found else row["name"])


def disk_used(db: sqlite3.Connection, team: str) -> int:
    """Return the total size of a team's prediction files, in bytes."""
    query = "SELECT coalesce(sum(size), 0) FROM given JOIN predictions USING (sha256) WHERE team = ?"
    return int(db.execute(query, (team,)).fetchone()[0])


def no_room(left: int) -> FullError:
    """Return the error for a file that is larger than the rest of the team's disk quota, which is `left` bytes."""
    return FullError(f"the team has {pluralize(max(left, 0), 'byte')} of disk space left: delete runs or predictions")


def correct_times(folder: Folder) -> None:
    """Set submission times in the future (the clock was ahead) to now, so that quotas become free in 24 hours."""
    now = time.time()
    with folder.database.write() as db:
        db.execute("UPDATE runs SET created = ? WHERE created > ?", (now, now))


_WANTED = """
  SELECT runs.key FROM runs WHERE deleted = 0 OR created > ?1
  UNION SELECT further.key FROM further JOIN runs ON runs.id = further.run
  WHERE deleted = 0 OR created > ?1
"""
"""Query for the keys of jobs to keep: jobs of existing runs, and of runs of the last day, for daily quotas."""


def tidy(folder: Folder) -> int:
    """Remove runs marked as deleted and submitted over a day ago, ended jobs without runs, and files unused for a day.

    A file is removed only if the database has a record that its last reference was deleted, and the file was not
    stored again since. All other unreferenced files are kept: the database may be older than the files. Return the
    number of removed files.
    """
    now = time.time()
    correct_times(folder)
    with folder.database.write() as db:
        before = referenced(db)
        db.execute(
            f"DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND key NOT IN ({_WANTED})",  # noqa: S608
            (now - _DAY,),
        )
        db.execute("DELETE FROM runs WHERE deleted = 1 AND key NOT IN (SELECT key FROM jobs)")
        db.execute("DELETE FROM further WHERE run NOT IN (SELECT id FROM runs)")
        db.execute("DELETE FROM log WHERE key NOT IN (SELECT key FROM jobs)")
        db.execute(
            "DELETE FROM predictions WHERE sha256 NOT IN (SELECT sha256 FROM given) AND sha256 NOT IN "
            "(SELECT prediction_sha256 FROM runs WHERE prediction_sha256 IS NOT NULL)"
        )
        kept = referenced(db)
        deleted = [(sha256, now) for sha256 in before - kept]
        db.executemany("INSERT OR REPLACE INTO deleted_files VALUES (?, ?)", deleted)
        due = db.execute("SELECT sha256, since FROM deleted_files WHERE since < ?", (now - _DAY,)).fetchall()
    removed = sum(folder.files.remove([row["sha256"]], row["since"]) for row in due if row["sha256"] not in kept)
    with folder.database.write() as db:
        db.execute("DELETE FROM deleted_files WHERE since < ?", (now - _DAY,))
    return removed


def referenced(db: sqlite3.Connection) -> set[str]:
    """Return the SHA-256 of all stored files that the database refers to."""
    found = {row["sha256"] for row in db.execute("SELECT sha256 FROM predictions")}
    for row in db.execute("SELECT options FROM truths"):
        found |= {file.sha256 for file in msgspec.json.decode(row["options"], type=truths.TruthOptions).files}
    for row in db.execute("SELECT outputs FROM jobs WHERE outputs IS NOT NULL"):
        found |= {file.sha256 for file in _OUTPUTS.decode(row["outputs"]).values()}
    return found
