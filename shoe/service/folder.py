"""The folder of a service: its database, files by their hashes, and places for unfinished work."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Literal

from shoe.core.errors import InputError, MissingExtraError, OptionError, many
from shoe.service.contract import DamagedError, FullError, NotFoundError, TooLargeError
from shoe.service.database import Database

# Files by the SHA-256 of their content: written once, checked while they come, never named by a client.

Encoding = Literal["gzip", "zstd"]
LARGEST = 2_000_000_000
"""Decoded bytes of one file, unless told otherwise."""
FREE_BELOW = 1_000_000_000
"""Bytes that stay free on the disk."""
LARGEST_RATIO = 300
"""Decoded bytes for each packed one, as for packed files that are read; small ones may go beyond."""
_SMALL = 10_000_000
_STEP = 1 << 20
_WINDOW = 1 << 23
"""Bytes that a decoder of zstd may keep for one request, the largest that HTTP has (RFC 9659)."""
_HASH = re.compile(r"[0-9a-f]{64}")
_YOUNG = 3600.0
"""Seconds in which a file is not yet removed, as what will refer to it is being written."""


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored file: its hash, its size in bytes, and whether it was stored before."""

    sha256: str
    size: int
    known: bool = False


class Store:
    """A folder of files ``ab/cdef...`` by hash, private to its user; files appear only whole."""

    def __init__(self, path: Path, parts: Path) -> None:
        """Open the store in ``path``; unfinished files are kept in ``parts``, on the same disk."""
        self.folder, self._parts = path, parts
        path.mkdir(mode=0o700, exist_ok=True)
        for left in parts.glob("part-*"):
            if time.time() - left.stat().st_mtime > _YOUNG:
                left.unlink(missing_ok=True)

    def path(self, sha256: str) -> Path:
        """Return the path of a file.

        Raises:
            NotFoundError: if there is none, or the text is no hash.
        """
        path = self._place(sha256)
        if not path.is_file():
            raise NotFoundError(f"no file {sha256}")
        return path

    def _place(self, sha256: str) -> Path:
        if not _HASH.fullmatch(sha256):
            raise NotFoundError("no file of this name: expected 64 hex digits")
        return self.folder / sha256[:2] / sha256[2:]

    def open(self, sha256: str) -> IO[bytes]:
        """Open a file for reading.

        Raises:
            NotFoundError: if there is none.
        """
        return self.path(sha256).open("rb")

    @contextmanager
    def receiving(
        self, encoding: Encoding | None = None, limit: int = LARGEST, free_below: int = FREE_BELOW
    ) -> Iterator[Receiver]:
        """Receive a file: ``write`` the pieces, then ``finish``. Without ``finish`` nothing is kept.

        Args:
            encoding: compression of the pieces; the file is stored and hashed decompressed.
            limit: largest size of the decompressed file, in bytes.
            free_below: bytes that have to stay free on the disk.
        """
        self._check_room(free_below)
        handle, name = tempfile.mkstemp(dir=self._parts, prefix="part-")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield Receiver(self, stream, Path(name), encoding, limit, free_below)
        finally:
            with suppress(FileNotFoundError):
                os.unlink(name)

    def receive(
        self,
        chunks: Iterable[bytes],
        encoding: Encoding | None = None,
        limit: int = LARGEST,
        free_below: int = FREE_BELOW,
    ) -> Stored:
        """Receive a whole file; arguments as in :meth:`receiving`, errors as in :class:`Receiver`."""
        with self.receiving(encoding, limit, free_below) as receiver:
            for chunk in chunks:
                receiver.write(chunk)
            return receiver.finish()

    def put(self, path: Path) -> Stored:
        """Store a copy of a file."""
        with path.open("rb") as stream:
            return self.receive(iter(lambda: stream.read(_STEP), b""), limit=1 << 62, free_below=0)

    def _check_room(self, free_below: int) -> None:
        if shutil.disk_usage(self.folder).free < free_below:
            raise FullError(f"the disk of the service is full: fewer than {many(free_below, 'byte')} are free")

    def hashes(self) -> Iterator[str]:
        """Yield the hashes of all files."""
        for folder in sorted(self.folder.iterdir()):
            yield from (folder.name + path.name for path in sorted(folder.iterdir()))

    def remove_unreferenced(self, referenced: Collection[str], older: float = _YOUNG) -> int:
        """Remove unreferenced files that are `older` than so many seconds; return the number of files removed."""
        removed = 0
        for sha256 in self.hashes():
            path = self._place(sha256)
            if sha256 not in referenced and time.time() - path.stat().st_mtime >= older:
                path.unlink()
                removed += 1
        return removed


class Receiver:
    """A file in the course of being received."""

    def __init__(
        self, store: Store, stream: IO[bytes], path: Path, encoding: Encoding | None, limit: int, free_below: int
    ) -> None:
        self._store, self._stream, self._path = store, stream, path
        self._limit, self._free_below, self._unchecked = limit, free_below, 0
        self._hash, self._packed, self.size = hashlib.sha256(), 0, 0
        self._decoder = _DECODERS[encoding]() if encoding else None

    def write(self, chunk: bytes) -> None:
        """Take the next piece.

        Raises:
            TooLargeError: if the file gets too large, or unpacks to too much.
            DamagedError: if packed data is damaged, or goes on after its end.
            FullError: if the disk gets too full.
        """
        self._packed += len(chunk)
        for piece in self._decoder.pieces(chunk) if self._decoder else (chunk,):
            self.size += len(piece)
            if self.size > self._limit:
                raise TooLargeError(f"found more than {many(self._limit, 'byte')}, expected at most so many")
            if self._decoder and self.size > max(_SMALL, LARGEST_RATIO * self._packed):
                raise TooLargeError(f"found data that unpacks to more than {LARGEST_RATIO} times its size")
            self._unchecked += len(piece)
            if self._unchecked > 64 * _STEP:
                self._store._check_room(self._free_below)
                self._unchecked = 0
            self._hash.update(piece)
            self._stream.write(piece)

    def check_whole(self) -> None:
        """Raise DamagedError if packed data breaks off."""
        if self._decoder and not self._decoder.is_whole:
            raise DamagedError("found packed data that breaks off, expected all of it")

    def finish(self, expected: str | None = None) -> Stored:
        """Put the file in its place.

        Args:
            expected: required SHA-256 of the content; None for any.

        Raises:
            DamagedError: if packed data breaks off, or the hash is another one.
        """
        self.check_whole()
        sha256 = self._hash.hexdigest()
        if expected not in (None, sha256):
            raise DamagedError(f"found content of SHA-256 {sha256}, expected {expected}")
        place = self._store._place(sha256)
        known = place.exists()
        if known:
            os.utime(place)
        else:
            self._stream.flush()
            os.fsync(self._stream.fileno())
            place.parent.mkdir(mode=0o700, exist_ok=True)
            os.rename(self._path, place)
            parent = os.open(place.parent, os.O_RDONLY)
            try:
                os.fsync(parent)  # so that the new name outlasts a power cut
            finally:
                os.close(parent)
        return Stored(sha256, self.size, known)


def _small(chunk: bytes) -> Iterator[bytes]:
    """Split packed data into small pieces: a piece's output has no bound, and after an inner end the rest is copied."""
    return (chunk[start : start + (1 << 10)] for start in range(0, len(chunk), 1 << 10))


class _Gzip:
    def __init__(self) -> None:
        self._decoder, self._started = zlib.decompressobj(16 + zlib.MAX_WBITS), False

    @property
    def is_whole(self) -> bool:
        return self._decoder.eof

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        for piece in _small(chunk):
            while piece:
                if self._decoder.eof:  # a gzip file may have several members
                    self._decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
                try:
                    yield self._decoder.decompress(piece, _STEP)
                except zlib.error as error:
                    raise DamagedError(f"found damaged gzip data ({error}), expected whole data") from None
                piece = self._decoder.unused_data if self._decoder.eof else self._decoder.unconsumed_tail


class _Zstd:
    def __init__(self) -> None:
        try:
            import zstandard
        except ImportError:
            raise MissingExtraError("zstd", "serve") from None
        self._error = zstandard.ZstdError
        self._make = zstandard.ZstdDecompressor(max_window_size=_WINDOW).decompressobj
        self._decoder = self._make()

    @property
    def is_whole(self) -> bool:
        return bool(self._decoder.eof)

    def pieces(self, chunk: bytes) -> Iterator[bytes]:
        for piece in _small(chunk):
            while piece:
                if self._decoder.eof:
                    self._decoder = self._make()
                try:
                    yield self._decoder.decompress(piece)
                except self._error as error:
                    raise DamagedError(f"found damaged zstd data ({error}), expected whole data") from None
                piece = self._decoder.unused_data if self._decoder.eof else b""


_DECODERS: dict[str, Callable[[], _Gzip | _Zstd]] = {"gzip": _Gzip, "zstd": _Zstd}


_PRIVATE = 0o700


class Folder:
    """The folder of one service.

    Attributes:
        database: ``shoe.sqlite``.
        uploads: parts of unfinished uploads.
        jobs: scratch folders of running jobs.
        maps: copies of registered similarity maps.
        work: event that is set when a job is queued.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.uploads, self.jobs, self.maps = path / "uploads", path / "jobs", path / "maps"
        for folder in (self.uploads, self.jobs, self.maps):
            folder.mkdir(mode=_PRIVATE, exist_ok=True)
        self.files = Store(path / "files", self.uploads)
        self.database = Database(path / "shoe.sqlite")
        self.work = threading.Event()
        self._lock: int | None = None

    @classmethod
    def open(cls, path: str | Path, create: bool = True) -> Folder:
        """Open a folder.

        Args:
            create: whether to make the folder and its content if absent.

        Raises:
            InputError: if it is absent, cannot be made, or holds something else.
        """
        place = Path(path)
        if not create and not (place / "shoe.sqlite").is_file():
            raise InputError(
                path,
                found="no folder of shoe serve",
                expected="one that shoe serve made",
                hint="shoe serve add-truth makes one",
            )
        try:
            place.mkdir(mode=_PRIVATE, parents=True, exist_ok=True)
            if not (place / "shoe.sqlite").exists() and any(place.iterdir()):
                raise InputError(path, found="other files", expected="an empty folder, or one that shoe serve made")
            os.chmod(place, _PRIVATE)
            return cls(place.resolve())
        except OSError as error:
            found = error.strerror or str(error)
            raise InputError(path, found=found, expected="a folder that can be written to") from None

    def lock(self) -> None:
        """Lock the folder for this process until it ends: one server per folder.

        Raises:
            OptionError: if another process has the lock.
        """
        from filelock import lock_descriptor

        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        if not lock_descriptor(handle, blocking=False):
            os.close(handle)
            raise OptionError(f"{self.path}: another shoe serve has this folder")
        self._lock = handle

    def close(self) -> None:
        """Release the lock and close the database."""
        self.database.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
