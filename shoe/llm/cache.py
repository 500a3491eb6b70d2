"""Cache of one user's answers, so that another map, folder or command does not request and pay for an answer again.

The cache is a copy: an answer is in a ledger before it is in the cache, and an answer from the cache is written into
the ledger of the run. The entries of the database are, by name::

    RATER                 identity of a model; RATER is the hash of this identity
    RATER/KEY             ledger line with the answer to the question KEY, or "RATER+HASH" if that entry has the line
    RATER/KEY-2           the same for the second attempt
    RATER+HASH            ledger line with the answers to several questions
    RATER:INODE:PATH      number of bytes at the start of a ledger whose answers are in the cache

All values are JSON, stored in the database itself. Nothing is ever unpickled, whatever the database contains.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec

from shoe.core.errors import InputError, MissingExtraError, ShoeError
from shoe.core.io.files import os_errors
from shoe.llm.ledger import Ledger, answer_line, canonical, header, name_of

_T = TypeVar("_T")
_RAW = 1  # mode of diskcache for values that are in the database as they are
_LINES = 1000  # lines of a ledger that are added in one transaction
_ALWAYS = {"eviction_policy": "none", "cull_limit": 0, "statistics": 0, "tag_index": 0}


def cache_folder(given: str | None) -> Path | None:
    """Return the folder shoe-answers in ``given``, or else $SHOE_CACHE, $XDG_CACHE_HOME or ~/.cache; None for "off"."""
    given = given or os.environ.get("SHOE_CACHE")
    if given == "off":
        return None
    return Path(given or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache").absolute() / "shoe-answers"


def open_cache(given: str | None, say: Callable[[str], None], *, create: bool = True) -> "AnswerStore | None":
    """Open the user's cache of answers; return None if it is off, missing, or unusable (with a message to ``say``)."""
    folder = cache_folder(given)
    if folder and (create or folder.is_dir()):
        try:
            return AnswerStore(folder, say)
        except ShoeError as error:
            say(f"the run goes on without the cache of answers: {error}")
    return None


class AnswerStore:
    """Cache of all models' answers, shared by threads and processes, in a folder that only the user can read."""

    def __init__(self, folder: Path, say: Callable[[str], None]) -> None:
        """Open the database, or raise InputError or MissingExtraError; ``say`` is called at a first later error."""
        try:
            from diskcache import Cache, Disk
        except ImportError:
            raise MissingExtraError("the cache of answers", "llm") from None

        class JsonDisk(Disk):  # type: ignore[misc]
            """Stores text as keys and JSON as values, in the database itself; refuses everything else."""

            def put(self, key: Any) -> tuple[str, bool]:
                return _checked(key, str), True

            def get(self, key: Any, raw: Any) -> str:
                return _checked(key if raw else None, str)

            def store(self, value: Any, read: bool, key: Any = None) -> tuple[int, int, None, bytes]:
                return 0, _RAW, None, _checked(value, bytes)

            def fetch(self, mode: Any, filename: Any, value: Any, read: bool) -> bytes:
                return _checked(value if mode == _RAW else None, bytes)

            def remove(self, file_path: Any) -> None:
                """Delete no file: there are none, and a manipulated database could name any."""

        self.folder, self._say, self._is_broken = folder, say, False
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.chmod(0o700)
            self.cache = Cache(str(folder), disk=JsonDisk, **_ALWAYS)
        except Exception as error:  # of the system, SQLite or diskcache
            found = str(getattr(error, "strerror", None) or error)
            raise InputError(folder, found=found, expected="a folder for the cache of answers") from None

    def guarded(self, use: Callable[[], _T]) -> _T | None:
        """Return the result of the callback ``use``; None if it or an earlier call fails (with a message)."""
        try:
            return None if self._is_broken else use()
        except Exception as error:  # whatever is wrong with the cache must not end a run
            self._is_broken = True
            self._say(f"{self.folder}: {error}; the run goes on without this cache of answers")
            return None

    def get(self, name: str) -> Any:
        """Return the parsed value of the entry with this name; None if it is missing."""
        value = self.cache.get(name)
        return None if value is None else msgspec.json.decode(value)

    def summary(self) -> dict[str, tuple[dict[str, Any], int]]:
        """Return {hash of the identity: (identity, number of answers)}; an answer to n questions counts n times."""
        counts: Counter[str] = Counter(name.partition("/")[0] for name in self.cache if "/" in name)
        return {rater: (self.get(rater), count) for rater, count in counts.items() if ":" not in rater}  # no ledgers

    def export(self, folder: Path) -> Iterator[tuple[Path, int]]:
        """Write a new ledger per model with all its answers, or raise InputError; yield (path, number of lines)."""
        for rater, (identity, _) in self.summary().items():
            path, count = folder / name_of(identity), 0
            with os_errors(path, "a new file that can be written"):
                folder.mkdir(parents=True, exist_ok=True)
                with path.open("xb") as stream:
                    stream.write(header(identity))
                    for name in self.cache:
                        if name.startswith((f"{rater}/", f"{rater}+")) and isinstance(entry := self.get(name), dict):
                            stream.write(answer_line(entry))
                            count += 1
            yield path, count


class AnswerCache:
    """Cached answers of one model, given by its ledger (file of answers)."""

    def __init__(self, store: AnswerStore, ledger: Ledger) -> None:
        self._store, self._ledger, self._has_identity = store, ledger, False
        self._rater = blake2b(canonical(ledger.identity), digest_size=8).hexdigest()

    def exists(self) -> bool:
        """Return whether there are cached answers of the model."""
        return bool(self._store.guarded(lambda: self._rater in self._store.cache))

    def answer(self, key: bytes, attempt: int = 1) -> tuple[dict[str, Any], dict[str, int]] | None:
        """Return the cached answer to a question, (parsed line, {key in hex: state} of its questions); None without."""

        def read() -> Any:
            found = self._store.get(self._name(key.hex(), attempt))
            entry = self._store.get(found) if isinstance(found, str) else found
            states = entry and dict(zip(entry["keys"], self._ledger.parsed(entry)[1], strict=True))
            return (entry | {"origin": "cache"}, states) if states and key.hex() in states else None

        return self._store.guarded(read)

    def add(self, entry: Mapping[str, Any], *, replace: bool = True) -> None:
        """Add a parsed ledger line with an answer; if not ``replace``, do nothing if all its questions are cached."""
        names = [self._name(key, entry.get("attempt", 1)) for key in entry["keys"]]
        content = {name: value for name, value in entry.items() if name not in ("origin", "checksum")}

        def write() -> None:
            cache = self._store.cache
            if not replace and all(name in cache for name in names):
                return
            value = msgspec.json.encode(content)
            if not self._has_identity:
                cache[self._rater] = canonical(self._ledger.identity)
                self._has_identity = True
            if len(names) > 1:
                shared = f"{self._rater}+{blake2b(value, digest_size=16).hexdigest()}"
                cache[shared] = value
                value = msgspec.json.encode(shared)
            for name in names:
                cache[name] = value

        self._store.guarded(write)

    def add_ledger(self) -> None:
        """Add the answers in the model's ledger that are not cached, for example because a run used no cache."""

        def write() -> None:
            with self._ledger.path.open("rb") as stream:
                name = f"{self._rater}:{os.fstat(stream.fileno()).st_ino}:{self._ledger.path.absolute()}"
                end = self._store.get(name) or 0
                stream.seek(end)
                while lines := [line for line in islice(stream, _LINES) if line.endswith(b"\n")]:
                    with self._store.cache.transact():
                        for line in lines:
                            if "answer" in (entry := msgspec.json.decode(line)):
                                self.add(entry, replace=False)
                        end += sum(map(len, lines))
                        self._store.cache[name] = msgspec.json.encode(end)

        if self._ledger.path.exists():
            self._store.guarded(write)

    def _name(self, key: str, attempt: int) -> str:
        return f"{self._rater}/{key}" if attempt == 1 else f"{self._rater}/{key}-{attempt}"


def _checked(value: Any, kind: type[_T]) -> _T:
    """Return a text or bytes of JSON; raise ShoeError for anything else, such as a pickle or the name of a file."""
    with suppress(msgspec.DecodeError):
        if type(value) is kind and (kind is str or msgspec.json.decode(cast("bytes", value), type=msgspec.Raw)):
            return value
    raise ShoeError("found an entry that is not JSON, and did not read it (run `shoe map cache --clear` to remove it)")


def clear(folder: Path) -> None:
    """Delete the database in the folder of a cache, even a damaged one, and the folder if it is then empty."""
    for path in folder.glob("cache.db*"):
        path.unlink()
    with suppress(OSError):  # it does not exist, or has other files
        folder.rmdir()
