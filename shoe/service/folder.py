"""Data folder of a server: database, files by hash, unfinished uploads, and folders of running jobs."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import sqlite3
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal

import msgspec

from shoe.core.errors import InputError, MissingExtraError, OptionError, ShoeError, pluralize
from shoe.service.database import Database, is_empty
from shoe.service.errors import BusyError, ConflictError, DamagedError, FullError, NotFoundError, TooLargeError
from shoe.service.settings import Settings
from shoe.service.types import StoredFile

Encoding = Literal["gzip", "zstd"]
LARGEST = 2_000_000_000
"""Default limit of the decompressed size of a file, in bytes."""
FREE_BELOW = 1_000_000_000
"""Default minimum of free disk space, in bytes."""
LARGEST_RATIO = 300
"""Limit of the ratio of decompressed to compressed size, against decompression bombs; small files are exempt."""
_SMALL = 10_000_000
_STEP = 1 << 20
_PACKED_STEP = 1 << 10
"""Bytes of compressed data that are decompressed at once; bounds the decompressed output per step."""
_WINDOW = 1 << 23  # limit of the window of a zstd decoder in bytes: the largest window that HTTP allows (RFC 9659)
_HASH = re.compile(r"[0-9a-f]{64}")
_YOUNG = 3600.0
"""Age in seconds below which files may be new, without a reference in the database yet; they are never removed."""


class Store:
    """Content-addressed file store; for example, ``ab/cdef...`` is the file with SHA-256 ``abcdef...``."""

    def __init__(self, path: Path, parts: Path) -> None:
        """Open the store; delete files older than an hour in `parts`, a folder of unfinished files on the same disk."""
        self.folder, self._parts, self._lock = path, parts, threading.Lock()
        path.mkdir(mode=0o700, exist_ok=True)
        for left in parts.glob("part-*"):
            if time.time() - left.stat().st_mtime > _YOUNG:
                left.unlink(missing_ok=True)

    def path(self, sha256: str) -> Path:
        """Return the path of a file; raise NotFoundError if there is no such file, or `sha256` is malformed."""
        path = self._path(sha256)
        if not path.is_file():
            raise NotFoundError(f"no file {sha256}")
        return path

    def _path(self, sha256: str) -> Path:
        if not _HASH.fullmatch(sha256):
            raise NotFoundError("no such file: a file name consists of 64 hex digits")
        return self.folder / sha256[:2] / sha256[2:]

    @contextmanager
    def receiving(
        self, encoding: Encoding | None = None, limit: int = LARGEST, free_below: int = FREE_BELOW
    ) -> Iterator[Receiver]:
        """Yield a receiver for a new file, which is stored only if ``finish`` of the receiver is called at the end.

        Pieces compressed by `encoding` are decompressed; `limit` is the maximum decompressed size in bytes. Raise
        FullError if less than `free_below` bytes of the disk are free.
        """
        self._check_room(free_below)
        handle, name = tempfile.mkstemp(dir=self._parts, prefix="part-")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield Receiver(self, stream, Path(name), encoding, limit, free_below)
        finally:
            Path(name).unlink(missing_ok=True)

    def put(self, path: Path) -> StoredFile:
        """Store a copy of the file at a path, without limits of size or disk space; return its SHA-256 and size."""
        with path.open("rb") as stream, self.receiving(limit=1 << 62, free_below=0) as receiver:
            shutil.copyfileobj(stream, receiver, _STEP)
            return receiver.finish()

    def _check_room(self, free_below: int) -> None:
        if shutil.disk_usage(self.folder).free < free_below:
            raise FullError(f"the disk of the server is full: less than {free_below / 1e9:.3g} GB is free")

    def hashes(self) -> Iterator[str]:
        """Yield the SHA-256 of each stored file, in ascending order."""
        for folder in sorted(self.folder.iterdir()):
            yield from (folder.name + path.name for path in sorted(folder.iterdir()))

    def remove(self, hashes: Iterable[str], before: float | None = None) -> int:
        """Remove files last stored before a time (default: an hour ago), and return the number of removed files."""
        before, removed = time.time() - _YOUNG if before is None else before, 0
        for path in map(self._path, hashes):
            with self._lock, suppress(FileNotFoundError):
                if path.stat().st_mtime <= before:
                    path.unlink()
                    removed += 1
        return removed


class Receiver:
    """Writer of a new stored file, which checks size, compression and hash."""

    def __init__(
        self, store: Store, stream: IO[bytes], path: Path, encoding: Encoding | None, limit: int, free_below: int
    ) -> None:
        self._store, self._stream, self._path = store, stream, path
        self._limit, self._free_below, self._unchecked = limit, free_below, 0
        self._hash, self._packed, self.size = hashlib.sha256(), 0, 0
        self._decoder = _Decoder(encoding) if encoding else None

    def write(self, chunk: bytes) -> None:
        """Add the next piece of the file.

        Raise TooLargeError if the file exceeds its limit or the limit of the compression ratio, DamagedError if
        compressed data is damaged or followed by other data, and FullError if too little disk space is left.
        """
        self._packed += len(chunk)
        for piece in self._decoder.pieces(chunk) if self._decoder else (chunk,):
            self.size += len(piece)
            if self.size > self._limit:
                raise TooLargeError(f"file exceeds the limit of {pluralize(self._limit, 'byte')}")
            if self._decoder and self.size > max(_SMALL, LARGEST_RATIO * self._packed):
                found = f"compressed data expands to more than {LARGEST_RATIO} times its size"
                raise TooLargeError(f"{found}: send the file uncompressed")
            self._unchecked += len(piece)
            if self._unchecked > 64 * _STEP:  # disk space is checked every 64 MiB
                self._store._check_room(self._free_below)
                self._unchecked = 0
            self._hash.update(piece)
            self._stream.write(piece)

    def check_whole(self) -> None:
        """Raise DamagedError if compressed data is truncated."""
        if self._decoder and not self._decoder.decoder.eof:
            raise DamagedError("compressed data is truncated: send the file again")

    def finish(self, expected: str | None = None) -> StoredFile:
        """Move the complete file into the store; return its entry, DamagedError if its SHA-256 is not `expected`."""
        self.check_whole()
        sha256 = self._hash.hexdigest()
        if expected not in (None, sha256):
            raise DamagedError(f"found content with SHA-256 {sha256}, expected {expected}")
        path = self._store._path(sha256)
        self._stream.flush()
        os.fsync(self._stream.fileno())
        with self._store._lock:
            is_stored = path.exists()
            if is_stored:
                os.utime(path)  # so that the file is not removed as one that was deleted earlier
            else:
                path.parent.mkdir(mode=0o700, exist_ok=True)
                os.rename(self._path, path)
        if not is_stored:
            parent = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(parent)  # so that the new name survives a power failure
            finally:
                os.close(parent)
        return StoredFile(sha256=sha256, size=self.size)


class _Decoder:
    """Decoder of compressed data that consists of one or more consecutive gzip members or zstd frames."""

    def __init__(self, encoding: Encoding) -> None:
        self._encoding = encoding
        self._make: Callable[[], Any] = partial(zlib.decompressobj, 16 + zlib.MAX_WBITS)
        self._error: type[Exception] = zlib.error
        if encoding == "zstd":
            try:
                import zstandard
            except ImportError:
                raise MissingExtraError("zstd", "serve") from None
            self._make = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj
            self._error = zstandard.ZstdError
        self.decoder = self._make()

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        for start in range(0, len(chunk), _PACKED_STEP):
            piece = chunk[start : start + _PACKED_STEP]
            while piece:
                if self.decoder.eof:
                    self.decoder = self._make()
                try:
                    yield self.decoder.decompress(piece)
                except self._error as error:
                    raise DamagedError(f"{self._encoding} data is damaged ({error}): send the file again") from None
                piece = self.decoder.unused_data


_PRIVATE = 0o700


def has_files(root: Path) -> bool:
    """Return whether a data folder has stored files or similarity maps."""
    return any(True for name in ("files", "maps") for _ in (root / name).glob("*/*"))


def refuse_empty_database(root: Path, db: sqlite3.Connection | None = None) -> None:
    """Raise InputError if files are stored, but the open database has no rows, or without `db`, its file has 0 bytes.

    SQLite would delete the write-ahead log of a file with 0 bytes.
    """
    path = root / "shoe.sqlite"
    if has_files(root) and (is_empty(db) if db else path.is_file() and path.stat().st_size == 0):
        hint = "restore shoe.sqlite from a backup; to start anew, use a new folder"
        expected = "the database that lists the stored files"
        raise InputError(path, found="an empty database", expected=expected, hint=hint)


class Folder:
    """Data folder of one server."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.uploads = path / "uploads"  # unfinished uploads
        self.jobs = path / "jobs"  # one scratch folder per running job
        self.maps = path / "maps"  # copies of registered similarity maps
        for folder in (self.uploads, self.jobs, self.maps):
            folder.mkdir(mode=_PRIVATE, exist_ok=True)
        self.files = Store(path / "files", self.uploads)  # prediction files, ground truths and results
        self.database = Database(path / "shoe.sqlite")
        self.work = threading.Event()  # wakes idle workers; set when a job is queued
        self._lock: int | None = None

    @classmethod
    def open(cls, path: str | Path, create: bool = True) -> Folder:
        """Open a data folder, restrict its permissions to the owner, and return it; with `create`, create it if absent.

        Raise InputError if the folder is absent, cannot be written, or contains other files or a damaged database.
        """
        root = Path(path)
        if not create and not (root / "shoe.sqlite").is_file():
            expected, hint = "a data folder of `shoe serve`", "`shoe serve add-truth` creates a data folder"
            raise InputError(path, found="no file shoe.sqlite", expected=expected, hint=hint)
        try:
            root.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            if not (root / "shoe.sqlite").exists() and any(root.iterdir()):
                expected = "an empty folder, or a data folder of `shoe serve`"
                raise InputError(path, found="a folder with other files", expected=expected)
            refuse_empty_database(root)
            os.chmod(root, _PRIVATE)
            made = cls(root.resolve())
            try:
                with made.database.read() as db:
                    refuse_empty_database(root, db)
            except InputError:
                made.close()
                raise
            return made
        except OSError as error:
            raise InputError(path, found=error.strerror or str(error), expected="a writable folder") from None

    def lock(self) -> None:
        """Lock the folder for the server in this process; raise OptionError if another process has locked it."""
        from filelock import lock_descriptor

        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        if not lock_descriptor(handle, blocking=False):
            os.close(handle)
            raise OptionError(f"{self.path}: another `shoe serve` uses this folder: stop that server first")
        self._lock = handle

    def close(self) -> None:
        """Close the database, and release the lock, if any."""
        self.database.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


class Upload(msgspec.Struct, frozen=True):
    """A file uploaded in parts."""

    id: str  # upload ID, given with each part
    team: str
    name: str
    size: int  # total size in bytes
    sha256: str | None  # expected SHA-256 of the complete file


class Uploads:
    """Unfinished uploads of a data folder; each upload has a file with the received bytes, and a JSON file about it."""

    def __init__(self, folder: Folder, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._busy: set[str] = set()
        self._lock = threading.Lock()

    def begin(self, team: str, name: str, size: int, sha256: str | None, room: int) -> Upload:
        """Start an upload, or find the team's unfinished upload with equal name, size and SHA-256, and return it.

        `room` is the rest of the team's disk quota in bytes, not yet without the unfinished uploads. Raise
        BusyError if the team has too many unfinished uploads, and FullError if the file exceeds the disk quota.
        """
        with self._lock:
            mine = self._all(team)
            same = next((u for u in mine if (u.name, u.size, u.sha256) == (name, size, sha256) and sha256), None)
            if same is not None:
                return same
            if len(mine) >= self._settings.uploads_per_team:
                raise BusyError(f"limit of {len(mine)} unfinished uploads reached: finish or cancel an upload")
            room -= sum(upload.size for upload in mine)
            if size > room:
                left = pluralize(max(room, 0), "byte")
                raise FullError(f"the team has {left} of disk space left, but the file needs {size:,}")
            made = Upload(secrets.token_hex(16), team, name, size, sha256)
            self._part(made.id).touch(mode=0o600)
            about = self._about(made.id)
            about.touch(mode=0o600)
            about.write_bytes(msgspec.json.encode(made))
        return made

    def announced(self, team: str) -> int:
        """Return the total size of the files in a team's unfinished uploads, including bytes not yet received."""
        return sum(upload.size for upload in self._all(team))

    def find(self, team: str, id_: str) -> Upload:
        """Return the unfinished upload with an ID, or raise NotFoundError if the team has no such upload."""
        found = next((upload for upload in self._all(team) if upload.id == id_), None)
        if found is None:
            raise NotFoundError("no unfinished upload with this ID")
        return found

    def offset(self, upload: Upload) -> int:
        """Return the number of bytes received so far; the next part of the upload starts at this offset."""
        return self._part(upload.id).stat().st_size

    @contextmanager
    def receiving(self, upload: Upload, offset: int, encoding: Encoding | None) -> Iterator[Receiver]:
        """Yield a receiver, to which the caller writes the pieces of the next part, which begins at `offset`.

        If the connection breaks, the received bytes are kept. If the part is refused, its bytes are removed. Raise
        ConflictError if `offset` is not the number of received bytes, or another part is just being received.
        """
        with self._lock:
            if upload.id in self._busy:
                raise ConflictError("another part of this upload is being received: try again later")
            if offset != self.offset(upload):
                raise ConflictError(f"Upload-Offset: found {offset:,}, expected {self.offset(upload):,}")
            self._busy.add(upload.id)
        path = self._part(upload.id)
        try:
            with path.open("r+b") as stream:
                stream.seek(offset)
                rest, free = upload.size - offset, self._settings.free_below
                receiver = Receiver(self._folder.files, stream, path, encoding, rest, free)
                try:
                    yield receiver
                    receiver.check_whole()
                except ShoeError:
                    stream.flush()
                    stream.truncate(offset)
                    raise
        finally:
            self._busy.discard(upload.id)

    def finish(self, upload: Upload) -> StoredFile:
        """Store a complete file, and end its upload; DamagedError if the file does not have the expected SHA-256."""
        with self._part(upload.id).open("rb") as stream, self._folder.files.receiving(limit=upload.size) as receiver:
            shutil.copyfileobj(stream, receiver, _STEP)
            try:
                return receiver.finish(upload.sha256)
            finally:
                self.end(upload)

    def end(self, upload: Upload) -> None:
        """Remove an upload and its received bytes."""
        self._about(upload.id).unlink(missing_ok=True)
        self._part(upload.id).unlink(missing_ok=True)

    def end_old(self) -> None:
        """Remove uploads without a new part for more than ``Settings.upload_kept`` seconds (24 hours by default)."""
        before = time.time() - self._settings.upload_kept
        for upload in self._all():
            if self._part(upload.id).stat().st_mtime < before:
                self.end(upload)

    def _all(self, team: str | None = None) -> list[Upload]:
        found = []
        for path in self._folder.uploads.glob("upload-*.json"):
            with suppress(OSError, msgspec.MsgspecError):  # another thread is creating or removing the upload
                upload = msgspec.json.decode(path.read_bytes(), type=Upload)
                self._part(upload.id).stat()
                if team in (None, upload.team):
                    found.append(upload)
        return found

    def _part(self, id_: str) -> Path:
        return self._folder.uploads / f"upload-{id_}.part"

    def _about(self, id_: str) -> Path:
        return self._folder.uploads / f"upload-{id_}.json"
