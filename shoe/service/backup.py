"""Copies of a service's folder, made while it runs; and what a folder lacks that it should have.

The database is copied first, in one state of things (``VACUUM INTO``); files never change once they are there, and
are only removed when nothing has referred to them for long, so that all that the copy refers to are found after it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shoe.core.errors import InputError, many
from shoe.service.database import VERSION
from shoe.service.files import Store
from shoe.service.runs import referenced

_DATABASE, _FILES, _MAPS, _UPLOADS, _LOCK = "shoe.sqlite", "files", "maps", "uploads", "lock"
_PRIVATE = 0o700
_STEP = 1 << 20


@dataclass(frozen=True, slots=True)
class Copied:
    """What a copy holds: files by their hashes, and bytes of them in all."""

    files: int
    size: int


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is not as it should be.

    Attributes:
        what: is wrong.
        advice: what to do.
        harmful: whether something is lost or broken; else it is only to be known.
    """

    what: str
    advice: str
    harmful: bool = True


def backup(folder: Path, target: Path) -> Copied:
    """Copy a service's folder, which may be in use; the copy is whole or not there.

    Raises:
        InputError: for a folder of something else, one that lacks files, or a target that is there.
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
    """Make a service's folder, a new or empty one, from a copy, every file of which is checked.

    Raises:
        InputError: for a copy that is damaged, or a folder that holds something.
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
    """Look for what is wrong with a service's folder, which may be in use.

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
    """Remove files that nothing refers to and that are not just coming in; returns how many."""
    _check_is_folder(folder)
    with closing(_opened(folder)) as db:
        kept = referenced(db)
    return Store(folder / _FILES, folder / _UPLOADS).remove_unreferenced(kept)


def is_in_use(folder: Path) -> bool:
    """Whether a server has the folder."""
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
    """Copy a file, checking its hash on the way; returns its size."""
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
