"""Runs that teams submitted: each a name for a job, its files of predictions, and who may see and change it."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from shoe.core.errors import many, printable
from shoe.service.callers import demand
from shoe.service.contract import ConflictError, FullError, NotFoundError, Refused
from shoe.service.database import read_row, to_json
from shoe.service.folder import Folder, Stored
from shoe.service.requests import command
from shoe.service.tokens import Identity
from shoe.service.truths import Reading
from shoe.service.types import File, Line, Run, Visibility

THE_FILE = "{file}"
"""Placeholder in a job's log and reason for the name of the client's file, which may have come under several names."""
_DAY = 86400.0


def run(folder: Folder, id_: str) -> Run:
    """Return a run.

    Raises:
        NotFoundError: for an unknown ID.
    """
    with folder.database.read() as db:
        return _runs(db, [_row(db, id_)])[0]


def runs(
    folder: Folder,
    team: str | None = None,
    after: str | None = None,
    limit: int = 50,
    state: str | None = None,
    *,
    name: str | None = None,
    truth: str | None = None,
) -> list[Run]:
    """Return runs, the latest first.

    Args:
        team: team whose runs are listed beside public ones; None for all runs.
        after: ID of the last run of the list before.
        state: only runs in this state.
        name: only runs whose name contains this text.
        truth: only runs scored on this ground truth.
    """
    with folder.database.read() as db:
        rows = db.execute(
            _RUNS  # noqa: S608 - constants of this file
            + " WHERE runs.deleted = 0 AND (?1 IS NULL OR runs.team = ?1 OR runs.visibility = 'public') "
            "AND (?2 IS NULL OR runs.number < (SELECT number FROM runs WHERE id = ?2)) "
            "AND (?3 IS NULL OR ?3 = CASE WHEN runs.cancelled THEN 'cancelled' ELSE jobs.state END) "
            "AND (?5 IS NULL OR instr(lower(runs.name), lower(?5))) AND (?6 IS NULL OR runs.truth = ?6) "
            "ORDER BY runs.number DESC LIMIT ?4",
            (team, after, state, limit, name, truth),
        ).fetchall()
        return _runs(db, rows)


def log(folder: Folder, id_: str, after: int = 0) -> list[Line]:
    """Return at most 1,000 lines of a run's log, those whose number is greater than `after`.

    Raises:
        NotFoundError: for an unknown run.
    """
    with folder.database.read() as db:
        row = _row(db, id_)
        rows = db.execute(
            "SELECT number, at, attempt, line FROM log WHERE key = ? AND number > ? ORDER BY number LIMIT 1000",
            (row["key"], after),
        )
        file = file_of(db, row["prediction_sha256"], row["team"], row["name"])
        return [read_row(each, Line, line=each["line"].replace(THE_FILE, file)) for each in rows]


def command_of(folder: Folder, id_: str) -> str:
    """Return the command that reproduces the result of a run from its files.

    Raises:
        NotFoundError: for an unknown run.
    """
    with folder.database.read() as db:
        row = _row(db, id_)
        file = file_of(db, row["prediction_sha256"], row["team"], row["name"])
    return command(row["kind"], msgspec.json.decode(row["job"]), file)


def cancel(folder: Folder, id_: str) -> Run:
    """Cancel a run; its job goes on if another run needs it.

    Raises:
        NotFoundError: for an unknown run.
        ConflictError: for one that has ended.
    """
    run(folder, id_)
    with folder.database.write() as db:
        cancelled = db.execute(
            "UPDATE runs SET cancelled = 1 WHERE id = ? AND cancelled = 0 "
            "AND (SELECT state FROM jobs WHERE jobs.key = runs.key) IN ('queued', 'running')",
            (id_,),
        ).rowcount
        _cancel_unwanted(db, [_row(db, id_)["key"]])
    found = run(folder, id_)
    if not cancelled:
        raise ConflictError(f"run {id_}: found it {found.state}, expected one that is queued or running")
    return found


def change(folder: Folder, id_: str, name: str | None = None, visibility: Visibility | None = None) -> Run:
    """Change the name or the visibility of a run.

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
    """Delete a run, and its team's file of predictions with the last run of that file.

    The results of its job, and the file, stay as long as another run has them.

    Raises:
        NotFoundError: for an unknown run.
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
    """Return the runs of some rows. However many there are, what else belongs to them takes one query each."""
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
    done = row["state"] == "done"  # the job of a cancelled run may be done: others want it
    outputs = _OUTPUTS.decode((done and row["outputs"]) or "{}")
    for other in others:
        outputs |= _OUTPUTS.decode(other["outputs"] or "{}")
    reason = row["reason"] if row["state"] == "failed" else None
    if reason is not None:
        reason = reason.replace(THE_FILE, file_of(db, row["prediction"], row["team"], row["name"]))
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


# Files of predictions, which teams have under names


def add_file(folder: Folder, team: str, name: str, stored: Stored, most: int | None = None) -> None:
    """Record that a team has a file of predictions under a name.

    Raises:
        FullError: if the team's files exceed `most` bytes with it.
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
    """Return the name under which a team has a file; None if it does not have it."""
    with folder.database.read() as db:
        row = db.execute("SELECT name FROM given WHERE sha256 = ? AND team = ?", (sha256, team)).fetchone()
    return row["name"] if row else None


def file_of(db: sqlite3.Connection, sha256: str | None, team: str, name: str) -> str:
    """Return a team's name of a file; the name of the run if it does not have the file."""
    row = db.execute("SELECT name FROM given WHERE sha256 = ? AND team = ?", (sha256, team)).fetchone()
    return row["name"] if row else name


def disk_used(db: sqlite3.Connection, team: str) -> int:
    """Return the bytes of all files that a team has."""
    query = "SELECT coalesce(sum(size), 0) FROM given JOIN predictions USING (sha256) WHERE team = ?"
    return int(db.execute(query, (team,)).fetchone()[0])


def no_room(left: int) -> FullError:
    """Return the refusal of a file for which a team has too few bytes left."""
    return FullError(f"the team has room for {many(max(left, 0), 'byte')} more: delete runs and predictions")


_WANTED = """
  SELECT runs.key FROM runs WHERE deleted = 0 OR (board IS NOT NULL AND created > ?1)
  UNION SELECT further.key FROM further JOIN runs ON runs.id = further.run
  WHERE deleted = 0 OR (board IS NOT NULL AND created > ?1)
"""
"""Keys of the jobs of runs that exist, or that count towards a quota."""


def tidy(folder: Folder) -> int:
    """Remove the rows of deleted runs and the files that nothing else refers to; return the number of files."""
    with folder.database.write() as db:
        db.execute(
            f"DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND key NOT IN ({_WANTED})",  # noqa: S608
            (time.time() - _DAY,),
        )
        db.execute("DELETE FROM runs WHERE deleted = 1 AND key NOT IN (SELECT key FROM jobs)")
        db.execute("DELETE FROM further WHERE run NOT IN (SELECT id FROM runs)")
        db.execute("DELETE FROM log WHERE key NOT IN (SELECT key FROM jobs)")
        db.execute(
            "DELETE FROM predictions WHERE sha256 NOT IN (SELECT sha256 FROM given) AND sha256 NOT IN "
            "(SELECT prediction_sha256 FROM runs WHERE prediction_sha256 IS NOT NULL)"
        )
    with folder.database.read() as db:
        kept = referenced(db)
    return folder.files.remove_unreferenced(kept)


def referenced(db: sqlite3.Connection) -> set[str]:
    """Return the hashes of files that something refers to."""
    found = {row["sha256"] for row in db.execute("SELECT sha256 FROM predictions")}
    for row in db.execute("SELECT options FROM truths"):
        found |= {file.sha256 for file in msgspec.json.decode(row["options"], type=Reading).files}
    for row in db.execute("SELECT outputs FROM jobs WHERE outputs IS NOT NULL"):
        found |= {file.sha256 for file in _OUTPUTS.decode(row["outputs"]).values()}
    return found


# Who may see and change which run.

AGGREGATES = frozenset(
    {"result.json", "report.txt", "classes.csv", "words.csv", "table.tex", "table.md", "diagnosis.json", "report.html"}
    | {f"comparison.{ending}" for ending in ("json", "tex", "md", "csv", "html")}
    | {"ranking.json"}
)
"""Files of a run that hold nothing of single images; all others stay where the ground truth is not shown."""


def visible_run(folder: Folder, identity: Identity, id_: str) -> Run:
    """Return a run if the caller may see it: a run of the team, a public one, or any for administrators.

    Raises:
        NotFoundError: if there is none, in the same words as for a run that the caller may not see.
        Refused: 401 for a caller without a token, whether there is a run or not.
    """
    try:
        found = run(folder, id_)
        if (
            identity.allows("admin")
            or found.team == identity.team
            or (found.visibility == "public" and (identity.allows("read") or _is_public_board(folder, found.board)))
        ):
            return without_hidden(folder, identity, found)
    except NotFoundError:
        pass
    if identity.team is None:
        demand(identity, "read")
    raise NotFoundError(f"no run {id_}")


def own_run(folder: Folder, identity: Identity, id_: str) -> Run:
    """Return a run if the caller may change it: a run of the team, or any for administrators.

    Raises:
        NotFoundError: if the caller may not see one.
        Refused: 403 if the caller may only see it.
    """
    run = visible_run(folder, identity, id_)
    if run.team != identity.team and not identity.allows("admin"):
        raise Refused(403, f"run {id_} is of another team")
    return run


def is_hidden(folder: Folder, identity: Identity, run: Run) -> bool:
    """Return whether a run's results are hidden from a caller, as those of its leaderboard are."""
    return run.board is not None and not identity.allows("admin") and not _is_public_board(folder, run.board)


def without_hidden(folder: Folder, identity: Identity, run: Run) -> Run:
    """Return a run without results that are hidden from a caller."""
    return run if identity.allows("admin") else for_all(folder, run)


def for_all(folder: Folder, run: Run) -> Run:
    """Return a run without results that are hidden from all but administrators."""
    if run.board is None or _is_public_board(folder, run.board):
        return run
    return replace(run, figures={}, outputs={}, signature=None, further={})


def check_results(folder: Folder, identity: Identity, run: Run) -> None:
    """Raise Refused (403) if the results of a run are hidden from a caller."""
    if is_hidden(folder, identity, run):
        raise Refused(403, f"the results of the leaderboard {run.board} are hidden for now")


def with_results(folder: Folder, identity: Identity, ids: Sequence[str]) -> list[str]:
    """Return IDs of runs whose results a caller may see.

    Raises:
        NotFoundError, Refused: as :func:`visible_run` and :func:`check_results`.
    """
    for id_ in ids:
        check_results(folder, identity, visible_run(folder, identity, id_))
    return list(ids)


def check_closed(folder: Folder, identity: Identity, truth: str, *, whole: bool) -> None:
    """Check that a ground truth may be used outside of leaderboards: none of its leaderboards is hidden or has a quota.

    A ground truth that is not shown is scored as a whole: figures of a single image would reveal its labels.

    Raises:
        Refused: 403, naming the leaderboards, or that it is not shown.
    """
    if not whole and not identity.allows("admin") and not _is_shown(folder, truth):
        raise Refused(
            403,
            f"images_in_predictions: the ground truth {truth} is not shown, and some of its images would tell of it",
            field="images_in_predictions",
        )
    with folder.database.read() as db:
        closing = db.execute(
            "SELECT name FROM boards WHERE truth = ? AND (hidden OR quota IS NOT NULL) ORDER BY name", (truth,)
        ).fetchall()
    if closing and not identity.allows("admin"):
        names = ", ".join(row["name"] for row in closing)
        raise Refused(
            403, f"truth: {truth} is scored on for leaderboards alone, expected a board: {names}", field="board"
        )


def check_file(folder: Folder, identity: Identity, run: Run, name: str) -> None:
    """Raise Refused (403) if a file reveals details of a ground truth that is not shown."""
    if name not in AGGREGATES and not identity.allows("admin") and not _is_shown(folder, run.truth):
        raise Refused(
            403,
            f"{name}: the ground truth {run.truth} is not shown, and this file tells of single images",
            hint="who runs the server can get it",
        )


def _is_public_board(folder: Folder, name: str | None) -> bool:
    with folder.database.read() as db:
        return db.execute("SELECT 1 FROM boards WHERE name = ? AND hidden = 0", (name,)).fetchone() is not None


def _is_shown(folder: Folder, truth: str) -> bool:
    with folder.database.read() as db:
        return db.execute("SELECT 1 FROM truths WHERE name = ? AND shown = 1", (truth,)).fetchone() is not None
