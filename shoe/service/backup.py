"""Backups of a service's folder, made while it runs; its pages as static files; and a check of the folder.

The database is copied first, in one transaction (``VACUUM INTO``). Files never change once stored, and are removed only
long after the last reference to them; so all files that the copied database refers to still exist afterwards.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any

from shoe.core.errors import InputError, many
from shoe.service import boards, runs
from shoe.service.contract import NotFoundError
from shoe.service.database import VERSION
from shoe.service.folder import Folder, Store
from shoe.service.pages import playground, views
from shoe.service.pages.rendering import STATIC, Stored, file_of, render
from shoe.service.pages.views import View, Viewer
from shoe.service.runs import AGGREGATES, for_all, referenced
from shoe.service.truths import truths
from shoe.service.types import Run

_DATABASE, _FILES, _MAPS, _UPLOADS, _LOCK = "shoe.sqlite", "files", "maps", "uploads", "lock"
_PRIVATE = 0o700
_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class Copied:
    """Content of a backup: files by their hashes, and their bytes in all."""

    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding of ``shoe serve doctor``.

    Attributes:
        harmful: whether something is lost or broken; otherwise it is information only.
    """

    what: str
    advice: str
    harmful: bool = True


def backup(folder: Path, target: Path) -> Copied:
    """Copy a service's folder, which may be in use; after an error there is no copy.

    Raises:
        InputError: for a folder of something else, one that lacks files, or a target that exists.
    """
    _check_is_folder(folder)
    if target.exists():
        raise InputError(target, found="something there already", expected="the name of a new folder")
    part = target.with_name(f".{target.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    target.parent.mkdir(parents=True, exist_ok=True)
    for each in (part, part / _FILES, part / _MAPS):
        each.mkdir(mode=_PRIVATE)
    try:
        with closing(_opened(folder)) as db:
            db.execute("VACUUM INTO ?", (str(part / _DATABASE),))
        os.chmod(part / _DATABASE, 0o600)
        with closing(_opened(part)) as db:
            for finding in _of_database(db):
                raise InputError(folder, found=finding.what, expected="a whole database", hint=finding.advice)
            hashes = sorted(referenced(db))
            maps = [row["folder"] for row in db.execute("SELECT folder FROM maps")]
        size = sum(_copy(folder, part, sha256) for sha256 in hashes)
        for name in maps:
            shutil.copytree(folder / _MAPS / name, part / _MAPS / name)
        os.sync()
        part.rename(target)
    except OSError as error:
        raise InputError(target, found=error.strerror or str(error), expected="a place for a copy") from None
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Copied(len(hashes), size)


def restore(copy: Path, folder: Path) -> Copied:
    """Make a service's folder, a new or empty one, from a backup, and check every file.

    Raises:
        InputError: for a backup that is damaged, or a folder that is not empty.
    """
    _check_is_folder(copy)
    if folder.is_dir() and any(folder.iterdir()):
        raise InputError(folder, found="a folder that holds something", expected="a new or empty one")
    harmful = [each for each in doctor(copy) if each.harmful]
    if harmful:
        raise InputError(copy, found=harmful[0].what, expected="a whole copy", hint="shoe serve doctor lists all")
    if folder.is_dir():
        folder.rmdir()
    return backup(copy, folder)


def doctor(folder: Path) -> list[Finding]:
    """Check a service's folder, which may be in use.

    Raises:
        InputError: for a folder of something else.
    """
    _check_is_folder(folder)
    with closing(_opened(folder)) as db:
        found = list(_of_database(db))
        if any(each.harmful for each in found):
            return found
        for sha256 in sorted(referenced(db)):
            found += _of_file(folder, sha256)
        for row in db.execute("SELECT name, folder FROM maps"):
            if not (folder / _MAPS / row["folder"] / "map.json").is_file():
                found.append(Finding(f"the map {row['name']} has no folder", "copy it from a backup"))
        stray = {path.parent.name + path.name for path in (folder / _FILES).glob("??/*")} - referenced(db)
    if stray:
        said = f"{many(len(stray), 'file')} that nothing refers to"
        found.append(Finding(said, "they take space alone: shoe serve doctor --clean removes them", harmful=False))
    if folder.stat().st_mode & 0o077:
        found.append(Finding("other users can look into the folder", f"chmod 700 {folder}"))
    free = shutil.disk_usage(folder).free
    if free < 1_000_000_000:
        found.append(Finding(f"only {free / 1e9:.1f} GB are free on the disk", "make room: uploads are refused"))
    return found


def clean(folder: Path) -> int:
    """Remove files without any reference that are not being uploaded, and return their number."""
    _check_is_folder(folder)
    with closing(_opened(folder)) as db:
        kept = referenced(db)
    return Store(folder / _FILES, folder / _UPLOADS).remove_unreferenced(kept)


def is_in_use(folder: Path) -> bool:
    """Return whether a server has locked the folder."""
    from filelock import lock_descriptor

    try:
        with (folder / _LOCK).open("rb") as lock:
            return not lock_descriptor(lock.fileno(), blocking=False)
    except FileNotFoundError:
        return False


def _of_database(db: sqlite3.Connection) -> Iterator[Finding]:
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            yield Finding(
                f"its tables are of version {version}, expected at most {VERSION}", "use the shoe that made it"
            )
            return
        damage = db.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if damage != "ok":
            raise sqlite3.DatabaseError(damage)
    except sqlite3.DatabaseError as error:
        yield Finding(f"the database is damaged: {error}", "restore a backup")
        return
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


def _of_file(folder: Path, sha256: str) -> Iterator[Finding]:
    try:
        with _place(folder, sha256).open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256")
    except OSError as error:
        yield Finding(f"file {sha256}: {error.strerror}", "copy it from a backup")
        return
    if digest.hexdigest() != sha256:
        yield Finding(f"file {sha256}: its content has changed", "copy it from a backup")


def _copy(folder: Path, target: Path, sha256: str) -> int:
    """Copy a file, check its hash on the way, and return its size."""
    to, size = _place(target, sha256), 0
    to.parent.mkdir(mode=_PRIVATE, exist_ok=True)
    digest = hashlib.sha256()
    with (
        _source(folder, sha256) as stream,
        open(to, "xb", opener=lambda path, flags: os.open(path, flags, 0o600)) as copy,
    ):
        while data := stream.read(_STEP):
            digest.update(data)
            size += copy.write(data)
    if digest.hexdigest() != sha256:
        raise InputError(folder, found=f"file {sha256} changed", expected="it as it came", hint="see shoe serve doctor")
    return size


def _source(folder: Path, sha256: str) -> IO[bytes]:
    try:
        return _place(folder, sha256).open("rb")
    except FileNotFoundError:
        raise InputError(folder, found=f"no file {sha256}", expected="it", hint="see shoe serve doctor") from None


def _place(folder: Path, sha256: str) -> Path:
    return folder / _FILES / sha256[:2] / sha256[2:]


def _opened(folder: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{folder / _DATABASE}?mode=rw", uri=True, isolation_level=None, timeout=30)
    connection.row_factory = sqlite3.Row
    return connection


def _check_is_folder(folder: Path) -> None:
    if not (folder / _DATABASE).is_file():
        raise InputError(folder, found="no folder of shoe serve", expected="one that shoe serve made, or a copy of it")


# The whole site as files: what everybody may see, for the day when the server is gone.

_ANYBODY = Viewer(reader=True)
_MARK = ".shoe-site"
"""A file that says that a folder holds a site, which a later one may replace."""
_AT_ONCE = 200


def export(folder: Folder, path: str | Path) -> int:
    """Write every public page and file with relative links, so that the site works from disk.

    An existing site is replaced once all of the new one is written. Returns the number of pages.

    Raises:
        InputError: if the folder holds something else, or cannot be written.
    """
    target = Path(path)
    if target.exists() and not (target.is_dir() and ((target / _MARK).exists() or not any(target.iterdir()))):
        raise InputError(path, found="something else", expected="a new or empty folder, or a site to replace")
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
        raise InputError(path, found=error.strerror or str(error), expected="a folder that can be written") from None
    return number


def _write(folder: Folder, to: Path) -> int:
    public = list(_public(folder))
    pages: dict[str, View] = dict(_pages(folder, public))
    files = {f"/static/{name}": source for name, source in STATIC.items()}
    files |= {path: folder.files.path(sha256) for run in public for path, sha256 in _files(folder, run)}
    there = pages.keys() | files.keys()
    for path, source in files.items():
        _exported_path(to, path).write_bytes(source.read_bytes())
    about: dict[str, Any] = {"who": _ANYBODY, "address": "", "made": time.time()}
    for path, (template, values) in pages.items():
        page = render(template, Stored(path, there), about | {"here": path} | values)
        _exported_path(to, path).write_bytes(page.encode("utf-8", "replace"))
    (to / _MARK).write_text("made by shoe serve export\n", "utf-8")
    return len(pages)


def _exported_path(to: Path, path: str) -> Path:
    place = to / file_of(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _public(folder: Folder) -> Iterator[Run]:
    """Return finished public runs, the latest first."""
    after = None
    while found := runs.runs(folder, "", after, _AT_ONCE, "done"):
        yield from (for_all(folder, run) for run in found)
        after = found[-1].id


def _pages(folder: Folder, public: list[Run]) -> Iterator[tuple[str, View]]:
    template, values = views.front(folder, _ANYBODY)
    yield "/", (template, values | {"runs": views.rows(_ANYBODY, folder, public[:8])})
    yield "/runs", ("runs.html", {"runs": views.rows(_ANYBODY, folder, public)})
    for run in public:
        yield f"/runs/{run.id}", views.run_page(folder, _ANYBODY, run)
        classes = views.classes_page(folder, run)
        if classes is not None:
            yield f"/runs/{run.id}/classes", classes
    yield "/boards", views.board_list(folder, _ANYBODY)
    for board in boards.boards(folder):
        if not board.hidden:
            yield f"/boards/{board.name}", views.board_page(folder, _ANYBODY, board.name)
    yield "/maps", views.map_list(folder)
    for name in playground.places(folder):
        view = views.map_page(folder, name)
        if view is not None:
            yield f"/maps/{name}", view
    yield "/truths", views.truth_list(folder)


def _files(folder: Folder, run: Run) -> Iterator[tuple[str, str]]:
    shown = any(truth.shown for truth in truths(folder) if truth.name == run.truth)
    for name, output in run.outputs.items():
        if shown or name in AGGREGATES:
            try:
                folder.files.path(output.sha256)
            except NotFoundError:  # deleted meanwhile
                continue
            yield f"/v1/runs/{run.id}/files/{name}", output.sha256
