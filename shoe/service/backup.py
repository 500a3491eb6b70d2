"""Backup, restore and check of a server's data folder, and export of its pages as static files.

The server may run during a backup. The database is copied first, in one transaction (``VACUUM INTO``). Stored files
never change, and are removed only a day or more after nothing refers to them any more. All files that the copied
database refers to therefore still exist when they are copied.
"""

import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from shoe.core.errors import InputError, pluralize
from shoe.service import boards
from shoe.service.access import AGGREGATES, visible_runs
from shoe.service.database import VERSION, is_empty, is_foreign
from shoe.service.errors import NotFoundError
from shoe.service.folder import Folder, Store, has_files, refuse_empty_database
from shoe.service.pages import playground, views
from shoe.service.pages.rendering import STATIC, file_of, render, site_link, who_is
from shoe.service.pages.views import View
from shoe.service.runs import referenced
from shoe.service.tokens import Identity
from shoe.service.truths import truths
from shoe.service.types import Run

_DATABASE, _FILES, _MAPS, _UPLOADS, _LOCK = "shoe.sqlite", "files", "maps", "uploads", "lock"
_PRIVATE = 0o700


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem, or a remark if not `harmful`, that ``shoe serve doctor`` reports, and how to solve the problem."""

    what: str
    advice: str
    harmful: bool = True


def backup(folder: Path, target: Path) -> tuple[int, int]:
    """Copy a data folder to the new folder `target`, and return number and total size of the copied stored files.

    A server may use the data folder meanwhile. After an error, no incomplete copy remains. Raise InputError if `folder`
    is no data folder, files are missing or damaged, or `target` exists or is not writable.
    """
    _check_is_folder(folder)
    if target.exists():
        raise InputError(target, found="an existing path", expected="the path of a new folder")
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    for each in (part, part / _FILES, part / _MAPS):
        each.mkdir(mode=_PRIVATE)
    try:
        with closing(_connect(folder)) as db:
            db.execute("VACUUM INTO ?", (str(part / _DATABASE),))
        os.chmod(part / _DATABASE, 0o600)
        with closing(_connect(part)) as db:
            _refuse_damaged_database(folder, db)
            hashes = sorted(referenced(db))
            maps = [row["folder"] for row in db.execute("SELECT folder FROM maps")]
        size = sum(_copy(folder, part, sha256) for sha256 in hashes)
        for name in maps:
            shutil.copytree(folder / _MAPS / name, part / _MAPS / name)
        os.sync()
        part.rename(target)
    except OSError as error:
        raise InputError(target, found=error.strerror or str(error), expected="a writable folder") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return len(hashes), size


def restore(copy: Path, folder: Path) -> tuple[int, int]:
    """Create the data folder `folder` from the backup `copy`, and return number and total size of its stored files.

    Raise InputError if :func:`doctor` finds a problem in the backup, or `folder` exists and is not empty.
    """
    _check_is_folder(copy)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(folder, found="a folder with content", expected="a new or empty folder")
    if harmful := [each.what for each in doctor(copy) if each.harmful]:
        hint = "`shoe serve doctor` lists all damage"
        raise InputError(copy, found=harmful[0], expected="an intact backup", hint=hint)
    if folder.is_dir():
        folder.rmdir()
    return backup(copy, folder)


def doctor(folder: Path) -> list[Finding]:
    """Check a data folder, which a server may use meanwhile, and return all problems and remarks, if any.

    If the database has a problem, only such problems are returned. Raise InputError if `folder` is no data folder.
    """
    _check_is_folder(folder)
    with closing(_connect(folder)) as db:
        found = list(_check_database(folder, db))
        if any(each.harmful for each in found):
            return found
        damages = {f"file {sha256}": _damage(_place(folder, sha256), sha256) for sha256 in sorted(referenced(db))}
        found += [Finding(f"{file}: {why}", "copy the file from a backup") for file, why in damages.items() if why]
        for row in db.execute("SELECT name, folder FROM maps"):
            if not (folder / _MAPS / row["folder"] / "map.json").is_file():
                found.append(Finding(f"the folder of map {row['name']} is missing", "copy the folder from a backup"))
        stray = {path.parent.name + path.name for path in (folder / _FILES).glob("??/*")} - referenced(db)
    if stray:
        size = sum(_place(folder, sha256).stat().st_size for sha256 in stray)
        what = f"{pluralize(len(stray), 'stored file')} ({size / 1e6:,.1f} MB) without an entry in the database"
        advice = "restore a newer database, if there is one; otherwise, `shoe serve doctor --clean` removes the files"
        found.append(Finding(what, advice, harmful=False))
    if folder.stat().st_mode & 0o077:
        found.append(Finding("other users can read the folder", f"run `chmod 700 {folder}`", harmful=False))
    free = shutil.disk_usage(folder).free
    if free < 1_000_000_000:
        what, advice = f"only {free / 1e9:.1f} GB are free on the disk", "free disk space: uploads are refused"
        found.append(Finding(what, advice, harmful=False))
    return found


def clean(folder: Path) -> int:
    """Remove stored files older than an hour to which the database does not refer; return the number of removed files.

    Unfinished files older than an hour are also removed, but not counted. Raise InputError if the database has a
    problem, or refers to less than half of the stored files, because it may belong to another folder.
    """
    _check_is_folder(folder)
    with closing(_connect(folder)) as db:
        _refuse_damaged_database(folder, db)
        kept = referenced(db)
    store = Store(folder / _FILES, folder / _UPLOADS)
    stored = set(store.hashes())
    stray = stored - kept
    if 2 * len(stray) > len(stored):
        found = f"a database without an entry for {len(stray):,} of {pluralize(len(stored), 'stored file')}"
        raise InputError(folder, found=found, expected="the matching database", hint="restore it from a backup")
    return store.remove(stray)


def is_in_use(folder: Path) -> bool:
    """Return whether a server has locked the data folder; False if there is no lock file."""
    from filelock import lock_descriptor

    try:
        with (folder / _LOCK).open("rb") as lock:
            return not lock_descriptor(lock.fileno(), blocking=False)
    except FileNotFoundError:
        return False


def _refuse_damaged_database(folder: Path, db: sqlite3.Connection) -> None:
    for finding in _check_database(folder, db):
        raise InputError(folder, found=finding.what, expected="an intact database", hint=finding.advice)


def _check_database(folder: Path, db: sqlite3.Connection) -> Iterator[Finding]:
    try:
        if is_foreign(db):
            yield Finding("shoe.sqlite is a database of another program", "restore a backup")
            return
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            found = f"database version: found {version}, expected at most {VERSION}"
            yield Finding(found, "install a later version of shoe")
            return
        damage = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if damage != "ok":
            raise sqlite3.DatabaseError(damage)
    except sqlite3.DatabaseError as error:
        yield Finding(f"the database is damaged: {error}", "restore a backup")
        return
    if is_empty(db) and has_files(folder):
        yield Finding("the database is empty, but there are stored files", "restore the database from a backup")
    for what, query in _DANGLING.items():
        count = db.execute(f"SELECT count(*) FROM {query}").fetchone()[0]  # noqa: S608 - of this file
        if count:
            yield Finding(f"{count} {what}", "restore a backup")


_DANGLING = {
    "runs without a job": "runs LEFT JOIN jobs USING (key) WHERE jobs.key IS NULL",
    "runs without predictions": (
        "runs LEFT JOIN predictions ON sha256 = prediction_sha256 "
        "WHERE prediction_sha256 IS NOT NULL AND deleted = 0 AND sha256 IS NULL"
    ),
    "finished jobs without results": "jobs WHERE state = 'done' AND outputs IS NULL",
}


def _damage(path: Path, sha256: str) -> str | None:
    """Return why a stored file cannot be used, or None if its content has the SHA-256."""
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        return str(error.strerror)
    return None if digest == sha256 else "content does not match its SHA-256"


def _copy(folder: Path, target: Path, sha256: str) -> int:
    """Copy a stored file, check the SHA-256 of the copy, and return its size in bytes."""
    to = _place(target, sha256)
    to.parent.mkdir(mode=_PRIVATE, exist_ok=True)
    hint = "run `shoe serve doctor` to list all damage"
    try:
        shutil.copyfile(_place(folder, sha256), to)
    except FileNotFoundError:
        raise InputError(folder, found=f"no file {sha256}", expected="all stored files", hint=hint) from None
    os.chmod(to, 0o600)
    if _damage(to, sha256) is not None:
        raise InputError(folder, found=f"changed content of file {sha256}", expected="intact files", hint=hint)
    return to.stat().st_size


def _place(folder: Path, sha256: str) -> Path:
    return folder / _FILES / sha256[:2] / sha256[2:]


def _connect(folder: Path) -> sqlite3.Connection:
    read_only = "mode=ro" if (folder / f"{_DATABASE}-wal").exists() else "immutable=1"  # no lock can be created there
    mode = "mode=rw" if os.access(folder, os.W_OK) else read_only
    connection = sqlite3.connect(f"file:{folder / _DATABASE}?{mode}", uri=True, isolation_level=None, timeout=30)
    connection.row_factory = sqlite3.Row
    return connection


def _check_is_folder(folder: Path) -> None:
    if not (folder / _DATABASE).is_file():
        raise InputError(folder, found="no file shoe.sqlite", expected="a data folder of `shoe serve`, or a backup")
    refuse_empty_database(folder)


_ANYBODY = Identity(None, frozenset({"read"}), "", None)
_MARK = ".shoe-site"  # name of the marker file in an exported site; a later export replaces only folders with this file


def export(folder: Folder, path: str | Path) -> int:
    """Write all public pages and files as a static site with relative links, and return the number of pages.

    Runs that are not done, hidden results, and files that reveal labels of a hidden ground truth are left out.
    An earlier exported site in `path` is replaced at the end. Raise InputError if `path` has other files than a site.
    """
    target = Path(path)
    if target.exists() and not (target.is_dir() and ((target / _MARK).exists() or not any(target.iterdir()))):
        raise InputError(path, found="other files", expected="a new or empty folder, or a site exported earlier")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            number = _write(folder, made)
            made.chmod(0o755)
            if target.exists():
                shutil.rmtree(target)
            os.replace(made, target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise InputError(path, found=error.strerror or str(error), expected="a writable folder") from None
    return number


def _write(folder: Folder, to: Path) -> int:
    public = [run for run in visible_runs(folder, _ANYBODY, limit=-1, state="done") if run.outputs]  # else hidden
    pages: dict[str, View] = dict(_pages(folder, public))
    files = {f"/static/{name}": source for name, source in STATIC.items()}
    for run in public:
        files |= _files(folder, run)
    there = pages.keys() | files.keys()
    for path in there:
        (to / file_of(path)).parent.mkdir(parents=True, exist_ok=True)
    for path, source in files.items():
        (to / file_of(path)).write_bytes(source.read_bytes())
    about: dict[str, Any] = {"who": who_is(_ANYBODY), "address": "", "made": time.time()}
    for path, view in pages.items():
        page = render(view, partial(site_link, path, there), about | {"here": path}, live=False)
        (to / file_of(path)).write_bytes(page)
    (to / _MARK).write_text("made by shoe serve export\n", "utf-8")
    return len(pages)


def _pages(folder: Folder, public: list[Run]) -> Iterator[tuple[str, View]]:
    front = views.front(folder, _ANYBODY)
    yield "/", front._replace(values=front.values | {"runs": views.rows(folder, public[:8])})
    yield "/runs", View("runs.html", {"runs": views.rows(folder, public)})
    for run in public:
        yield f"/runs/{run.id}", views.run_page(folder, _ANYBODY, run)
        classes = views.classes_page(folder, run)
        if classes is not None:
            yield f"/runs/{run.id}/classes", classes
    yield "/boards", View("boards.html", {"boards": views.open_boards(folder, _ANYBODY)})
    for board in boards.boards(folder):
        if not board.hidden:
            yield f"/boards/{board.name}", views.board_page(folder, _ANYBODY, board)
    yield "/maps", views.map_list(folder)
    for name, place in playground.places(folder).items():
        yield f"/maps/{name}", View("map.html", views.map_values(name, place))
    yield "/truths", View("truths.html", {"truths": truths(folder)})


def _files(folder: Folder, run: Run) -> Iterator[tuple[str, Path]]:
    shown = any(truth.shown for truth in truths(folder, run.truth))
    for name, output in run.outputs.items():
        if shown or name in AGGREGATES:
            with suppress(NotFoundError):  # deleted since the run was read
                yield f"/v1/runs/{run.id}/files/{name}", folder.files.path(output.sha256)
