"""A cache on disk beside the ledgers: what reading a stretch of a ledger gave, so that it need not be read again.

It is a copy: lost, damaged or foreign, it costs time and changes nothing. diskcache keeps it, behind a ``Disk`` of our
own: the library's stores whatever it is given as a pickle, and its two ``Disk`` classes run the pickle that somebody
else puts into a row. Ours knows texts, whole numbers and bytes, in the database itself, and neither opens nor removes a
file that a row names.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

from shoe.core.errors import MissingExtraError

try:
    import diskcache
except ImportError:
    raise MissingExtraError("the cache of answers", "llm") from None

FILES = ("cache.db", "cache.db-wal", "cache.db-shm")
SETTINGS: dict[str, Any] = {
    "eviction_policy": "none",
    "size_limit": 2**62,
    "cull_limit": 0,
    "statistics": 0,
    "tag_index": 0,
    "disk_min_file_size": 2**62,
    "disk_pickle_protocol": 0,
}
_RAW = 1
_PATIENCE = 10.0


class RefusedError(TypeError):
    """A row, or what was to become one, holds something else than a text, a whole number or bytes."""


class PlainDisk(diskcache.Disk):  # type: ignore[misc]  # the library has no types
    """Keeps texts, whole numbers of 64 bits and bytes in the database, and refuses all else, both ways."""

    def put(self, key: Any) -> tuple[Any, bool]:
        """Turn a key into what the database holds."""
        return _plain(key), True

    def get(self, key: Any, raw: Any) -> Any:
        """Turn what the database holds into a key."""
        return _plain(key) if raw == 1 else _refuse("a pickled key")

    def store(self, value: Any, read: bool, key: Any = None) -> tuple[int, int, None, Any]:
        """Turn a value into what the database holds: size, mode, file, value."""
        return (0, _RAW, None, _plain(value)) if not read else _refuse("a value to be read from a file")

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        """Turn what the database holds into a value."""
        if mode != _RAW or filename is not None or read:
            _refuse("a pickle, or a value in a file")
        return _plain(value)

    def remove(self, file_path: str) -> None:
        """Leave the file that a row names alone: ours name none."""


def _plain(value: Any) -> Any:
    if type(value) in (str, bytes) or (type(value) is int and -(2**63) <= value < 2**63):
        return value
    return _refuse(type(value).__name__)


def _refuse(found: str) -> NoReturn:
    raise RefusedError(f"found {found}, expected a text, a whole number or bytes")


class Cache:
    """A folder that maps texts to bytes; to be used by the thread that made it, as a context.

    Whatever goes wrong in it is a miss.
    """

    def __init__(self, folder: Path) -> None:
        """Open the folder, making it if need be, for this user alone; replace a database that is none."""
        self._cache: Any = None
        folder = folder.absolute()
        if "$" in str(folder):
            return  # the library would put a variable's value in its place
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            try:
                self._cache = _opened(folder)
            except sqlite3.DatabaseError:
                for name in FILES:
                    (folder / name).unlink(missing_ok=True)
                self._cache = _opened(folder)
        except Exception:  # what a foreign database can do to the library has no bounds
            self._cache = None

    def __enter__(self) -> Cache:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._cache is not None:
            self._cache.close()

    def get(self, key: str) -> bytes | None:
        """Return what was put, or None."""
        if self._cache is None:
            return None
        try:
            value = self._cache.get(key)
        except Exception:  # likewise
            return None
        return value if type(value) is bytes else None

    def put(self, key: str, value: bytes) -> None:
        """Keep a value."""
        if self._cache is None:
            return
        try:
            self._cache.set(key, value)
        except Exception:  # likewise, or the disk is full
            self._cache.close()
            self._cache = None


def _opened(folder: Path) -> Any:
    return diskcache.Cache(str(folder), timeout=_PATIENCE, disk=PlainDisk, **SETTINGS)
