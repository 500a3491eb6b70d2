"""A cache on disk beside the ledgers: what reading a stretch of a ledger gave, so that it need not be read again.

It is a copy: lost, damaged or foreign, it costs time and changes nothing. Both ``Disk`` classes of the library run the
pickle that somebody else puts into a row; ours keeps bytes under texts in the database itself, and refuses all else.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from shoe.core.errors import MissingExtraError

try:
    import diskcache
except ImportError:
    raise MissingExtraError("the cache of answers", "llm") from None
SETTINGS = {"eviction_policy": "none", "size_limit": 2**62, "cull_limit": 0, "disk_min_file_size": 2**62}


class _PlainDisk(diskcache.Disk):  # type: ignore[misc]  # the library has no types
    def put(self, key: Any) -> Any:
        return _plain(key, str), True

    def get(self, key: Any, raw: Any) -> Any:
        return _plain(key if raw == 1 else None, str)

    def store(self, value: Any, read: bool, key: Any = None) -> Any:
        return 0, 1, None, _plain(None if read else value, bytes)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> Any:
        return _plain(value if mode == 1 and filename is None and not read else None, bytes)

    def remove(self, file_path: str) -> None:
        pass


def _plain(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise TypeError(f"found {type(value).__name__}, expected {kind.__name__}")
    return value


class Cache:
    """A folder, open to this user alone, that maps texts to bytes, for one thread. Whatever fails in it is a miss."""

    def __init__(self, folder: Path) -> None:
        self._below: Any = None
        with suppress(Exception):  # what a foreign database can do to the library has no bounds
            # The library would put in a variable's value; and what a link points to may be anybody's.
            if "$" not in str(folder := folder.absolute()) and not folder.is_symlink():
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                folder.chmod(0o700)
                self._below = diskcache.Cache(str(folder), 10.0, _PlainDisk, **SETTINGS)

    def __getattr__(self, name: str) -> Any:
        def call(*arguments: Any) -> Any:
            with suppress(Exception):
                return getattr(self._below, name)(*arguments)

        return call
