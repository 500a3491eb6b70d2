"""Requests of jobs, and the job queue: each job is claimed by one worker, is never lost, and runs to its end only once.

The key of a job is a hash of everything that its outcome depends on. Only the current attempt may report the outcome of
a job; reports of earlier attempts are ignored.
"""

import hashlib
import shlex
import sqlite3
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from shoe.service.database import read_row, to_json
from shoe.service.folder import Folder
from shoe.service.truths import TruthOptions
from shoe.service.types import File, ScoringFields
from shoe.version import __version__

PRIORITIES = {"score": 0, "compare": 1, "board": 1, "diagnose": 2, "page": 3}
"""Priority of each kind of job; lower numbers run first."""
MOST_DEATHS = 3
"""Number of crashes of a job's child process after which the job fails; exceeded resource limits do not count."""
LEASE = 60.0
"""Seconds after the last progress report of a worker until its job is queued again."""
_OUTCOMES = 2
"""Version of the output files of jobs. Since version 2, metrics on a ground truth that is not shown are rounded."""


class ScoringRequest(ScoringFields, kw_only=True):
    """Request to score or diagnose predictions: hashes of files, and the options of ``shoe score``."""

    predictions: str  # SHA-256 of the prediction file
    truth: TruthOptions
    similarity: dict[str, str]  # "name" of the similarity, and for a registered map also "folder" and "digest"
    name: str = "predictions"  # name of the predictions in reports
    file: str | None = None  # name of the prediction file as uploaded
    shown: bool = False  # whether reports may contain boxes and labels of the ground truth


class ComparedRun(msgspec.Struct):
    """A run in a comparison: SHA-256 of its file ``run.shoe``, and its name in the comparison."""

    sha256: str
    name: str


class ComparisonRequest(msgspec.Struct):
    """Request to compare runs, with the options of ``shoe compare``."""

    runs: list[ComparedRun]
    resamples: int | None
    seed: int
    allow_different: bool
    shown: bool = False


class RankingRequest(msgspec.Struct):
    """Request to compute a run's metrics on bootstrap samples, from which a leaderboard ranks the run."""

    run: str  # SHA-256 of the file ``run.shoe`` of the run
    resamples: int  # number of bootstrap samples of images
    seed: int
    shown: bool  # whether reports may contain boxes and labels of the ground truth; otherwise, metrics are rounded


def command(kind: str, request: Mapping[str, Any], file: str | None = None) -> str:
    """Return the command line for the request of a job: ``shoe compare`` for a comparison, otherwise ``shoe score``.

    `file` is the name of the prediction file (default: the name in the request), not used for a comparison.
    """
    if kind == "compare":
        compared = msgspec.convert(request, ComparisonRequest)
        words = ["shoe", "compare", *(f"{run.name}.shoe" for run in compared.runs)]
        words += ["--resamples", str(compared.resamples)] if compared.resamples else []
        words += ["--seed", str(compared.seed), *(["--allow-different"] if compared.allow_different else [])]
        return shlex.join([*words, "--json", "-"])
    asked = msgspec.convert(request, ScoringRequest)
    truth = asked.truth
    values = [("ground-truth", truth.truth.file), ("dataset", truth.dataset), ("split", truth.split)]
    files = {"classes": truth.classes, "image-labels": truth.image_labels}
    values += [(name, stored.file) for name, stored in files.items() if stored]
    values += [("protocol", name) for name in asked.protocols] + [("similarity", asked.similarity["name"])]
    values += [("option", option) for option in asked.options]
    values += [(name, getattr(asked, name)) for name in ("boxes", "scores", "format", "subset")]
    values += [("bad-boxes", asked.bad_boxes)] if asked.bad_boxes != "refuse" else []
    words = ["shoe", "score", file or asked.file or asked.name]
    words += [word for name, value in values if value is not None for word in (f"--{name}", value)]
    words += ["--images-in-predictions"] if asked.images_in_predictions else []
    words += ["--bounds"] if asked.bounds else []
    return shlex.join([*words, "--json", "-"])


def files_of(kind: str, request: Mapping[str, Any]) -> list[str]:
    """Return the SHA-256 of all stored files that a job reads."""
    if kind == "board":
        return [msgspec.convert(request, RankingRequest).run]
    if kind == "compare":
        return [run.sha256 for run in msgspec.convert(request, ComparisonRequest).runs]
    asked = msgspec.convert(request, ScoringRequest)
    return [asked.predictions, *(file.sha256 for file in asked.truth.files)]


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to queue."""

    kind: str  # a key of PRIORITIES
    request: Mapping[str, Any]  # everything that the outcome of the job depends on, as JSON values

    @property
    def key(self) -> str:
        """SHA-256, as 64 hex digits, of kind, request, version of shoe and version of the output files."""
        whole = {"kind": self.kind, "shoe": __version__, "outcomes": _OUTCOMES, "request": self.request}
        return hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()


class Job(msgspec.Struct, frozen=True):
    """A job that a worker has claimed."""

    key: str
    kind: str
    request: dict[str, Any]
    attempt: int  # number of the attempt, from 1
    deaths: int  # number of crashes of the job's child process in earlier attempts


def add(db: sqlite3.Connection, new: NewJob) -> None:
    """Queue a job; if the job exists already (same key), queue it again only if it failed or was cancelled."""
    row = (new.key, new.kind, to_json(new.request), PRIORITIES[new.kind], time.time())
    db.execute(
        "INSERT INTO jobs (key, kind, request, priority, state, created) VALUES (?, ?, ?, ?, 'queued', ?) "
        "ON CONFLICT (key) DO UPDATE SET state = 'queued', created = excluded.created, reason = NULL, ended = NULL, "
        "deaths = 0 WHERE state IN ('failed', 'cancelled')",
        row,
    )


def claim(folder: Folder, lease: float = LEASE) -> Job | None:
    """Claim the next job (by priority, teams in turn) for `lease` seconds, and return it; None for an empty queue."""
    now = time.time()
    with folder.database.read() as db:  # reading takes no lock
        if db.execute("SELECT 1 FROM jobs WHERE state = 'queued' LIMIT 1").fetchone() is None:
            return None
    with folder.database.write() as db:
        row = db.execute(
            "UPDATE jobs SET state = 'running', attempt = attempt + 1, lease_until = ?, started = ?, "
            "stage = 'starting', progress = 0, reason = NULL WHERE key = "
            "(SELECT key FROM waiting WHERE position = 1) RETURNING key, kind, request, attempt, deaths",
            (now + lease, now),
        ).fetchone()
        if row is None:
            return None
        db.execute(
            "INSERT INTO turns SELECT team, ? FROM runs WHERE key = ? ORDER BY number LIMIT 1 "
            "ON CONFLICT (team) DO UPDATE SET served = excluded.served",
            (now, row["key"]),
        )
        job = read_row(row, Job)
        _write_log(db, job, [f"started, attempt {job.attempt}"])
    return job


def beat(folder: Folder, job: Job, stage: str, progress: float, lines: Sequence[str] = ()) -> bool:
    """Renew the lease of a job, and record stage, progress (0 to 1) and log lines; False if it is not running."""
    with folder.database.write() as db:
        return _update(db, job, lines, lease_until=time.time() + LEASE, stage=stage, progress=progress)


def finish(
    folder: Folder,
    job: Job,
    outputs: Mapping[str, File],
    figures: Mapping[str, Any] | None = None,
    signature: str | None = None,
    lines: Sequence[str] = (),
    after: Callable[[sqlite3.Connection, Job], None] = lambda db, job: None,
) -> bool:
    """Record the outcome of a job, and call `after` with the database connection and the job, in one transaction.

    Return False, and record nothing, if the attempt is not running any more, for example because the job was cancelled.

    `outputs` are the output files by name, which must be stored already; `figures` the metrics by key.
    """
    columns = {"outputs": to_json(outputs), "figures": to_json(figures or {}), "signature": signature}
    ended = {"stage": None, "progress": 1, "lease_until": None, "deaths": 0, "ended": time.time()}
    with folder.database.write() as db:
        recorded = _update(db, job, [*lines, "finished"], state="done", **columns, **ended)
        if recorded:
            after(db, job)
    folder.work.set()
    return recorded


def fail(folder: Folder, job: Job, reason: str, lines: Sequence[str] = ()) -> bool:
    """Record the failure of a job; return False, and record nothing, if the attempt is not running any more."""
    return _end(folder, job, "failed", [*lines, f"failed: {reason}"], reason=reason)


def give_up(folder: Folder, job: Job, why: str, lines: Sequence[str] = ()) -> bool:
    """Queue a job again after a crash of its child process, or fail it at the third; False if it is not running."""
    deaths = job.deaths + 1
    if deaths >= MOST_DEATHS:
        return fail(folder, job, f"{why}, {deaths} times", lines)
    return _end(folder, job, "queued", [*lines, f"{why}; queued again"], deaths=deaths)


def release(folder: Folder, job: Job, why: str = "the server stops", lines: Sequence[str] = ()) -> bool:
    """Queue an interrupted job again; return False, and record nothing, if the attempt is not running any more."""
    return _end(folder, job, "queued", [*lines, f"{why}; queued again"])


def running(folder: Folder) -> list[Job]:
    """Return all running jobs."""
    with folder.database.read() as db:
        return [read_row(row, Job) for row in db.execute("SELECT * FROM jobs WHERE state = 'running'")]


def requeue_lost(folder: Folder, now: float | None = None) -> int:
    """Queue all running jobs again whose leases have expired at the time `now`, and return the number of these jobs."""
    lost = "state = 'running' AND lease_until < ?"
    now = time.time() if now is None else now
    with folder.database.read() as db:  # reading takes no lock
        if db.execute(f"SELECT 1 FROM jobs WHERE {lost} LIMIT 1", (now,)).fetchone() is None:  # noqa: S608
            return 0
    with folder.database.write() as db:
        return db.execute(
            f"UPDATE jobs SET state = 'queued', stage = NULL, lease_until = NULL WHERE {lost}",  # noqa: S608
            (now,),
        ).rowcount


def _end(folder: Folder, job: Job, state: str, lines: Iterable[str], **columns: Any) -> bool:
    ended = None if state == "queued" else time.time()
    with folder.database.write() as db:
        return _update(db, job, lines, state=state, stage=None, lease_until=None, ended=ended, **columns)


def _update(db: sqlite3.Connection, job: Job, lines: Iterable[str], **columns: Any) -> bool:
    """Change columns of a job, and add lines to its log; return False if this attempt is not running any more."""
    changed = db.execute(
        f"UPDATE jobs SET {', '.join(f'{name} = ?' for name in columns)} "  # noqa: S608 - names of this file
        "WHERE key = ? AND attempt = ? AND state = 'running'",
        (*columns.values(), job.key, job.attempt),
    ).rowcount
    if changed:
        _write_log(db, job, lines)
    return bool(changed)


def _write_log(db: sqlite3.Connection, job: Job, lines: Iterable[str]) -> None:
    first = db.execute("SELECT count(*) FROM log WHERE key = ? AND attempt = ?", (job.key, job.attempt)).fetchone()[0]
    now = time.time()
    db.executemany(
        "INSERT INTO log (key, attempt, seq, at, line) VALUES (?, ?, ?, ?, ?)",
        [(job.key, job.attempt, first + number, now, line) for number, line in enumerate(lines)],
    )
