"""SQLite database with any number of readers and one writer at a time; readers see only complete transactions."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shoe.core.errors import InputError

_SCRIPTS = ("schema.sql", "studies.sql", "deleted_files.sql", "links.sql", "rounded_results.sql", "ends.sql")
"""SQL scripts; each script upgrades the tables by one version (PRAGMA user_version)."""
VERSION = len(_SCRIPTS)
_PATIENCE = 30.0  # seconds to wait for the write lock of another process
_JSON = frozenset({"facts", "figures", "outputs", "request"})  # columns that contain JSON
T = TypeVar("T", bound=msgspec.Struct)


class Database:
    """Database of a server, with one connection per reading thread and one connection for writing.

    ``BEGIN IMMEDIATE`` takes the write lock before any read. If a transaction read first and took the lock later,
    SQLite would refuse the lock at once, without waiting, if another transaction had written in between.
    """

    def __init__(self, path: Path) -> None:
        """Open or create the database file, and create or upgrade its tables; raise InputError if it cannot be used."""
        self.path = path
        self._lock = threading.Lock()
        self._local = threading.local()
        try:
            self._writer = self._connection()
            if is_foreign(self._writer):
                raise InputError(path, found="a database of another program", expected="a database of `shoe serve`")
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute("PRAGMA synchronous = FULL")  # committed data must survive a power failure
            with self.write() as db:
                version = db.execute("PRAGMA user_version").fetchone()[0]
                for name in _SCRIPTS[version:]:
                    for statement in _statements(Path(__file__).with_name(name).read_text("utf-8")):
                        db.execute(statement)
                    version += 1
                    db.execute(f"PRAGMA user_version = {version}")
        except sqlite3.DatabaseError as error:
            raise self._damaged(str(error)) from None
        if version > VERSION:
            expected, hint = f"at most {VERSION}", "install a later version of shoe"
            raise InputError(path, field="version", found=str(version), expected=expected, hint=hint)

    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        return connection

    def _reader(self) -> sqlite3.Connection:
        connection: sqlite3.Connection | None = getattr(self._local, "reader", None)
        if connection is None:
            connection = self._local.reader = self._connection()
            connection.execute("PRAGMA query_only = 1")
        return connection

    def check(self) -> None:
        """Check the integrity of the database file; raise InputError if it is damaged."""
        try:
            damage = self._reader().execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            damage = str(error)
        if damage != "ok":
            raise self._damaged(damage.splitlines()[-1])

    def _damaged(self, found: str) -> InputError:
        hint = f"`shoe serve doctor {self.path.parent}` lists all damage, and how to repair it"
        return InputError(self.path, found=found, expected="an intact database of `shoe serve`", hint=hint)

    def version(self) -> int:
        """Return a number that changes when any process writes to the database; comparable only within a thread."""
        return int(self._reader().execute("PRAGMA data_version").fetchone()[0])

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Yield this thread's read-only connection in a transaction: all reads, also in nested calls, see one state."""
        connection = self._reader()
        if connection.in_transaction:
            yield connection
            return
        connection.execute("BEGIN")
        try:
            yield connection
        finally:
            connection.execute("ROLLBACK")

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Yield the writing connection for one transaction: commit at the end, rollback on error. Do not nest calls."""
        with self._lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:  # SQLite itself rolls back if the disk is full
                    self._writer.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the writing connection, and the reading connection of this thread."""
        with self._lock:
            self._writer.close()
        reader: sqlite3.Connection | None = getattr(self._local, "reader", None)
        if reader is not None:
            reader.close()


def is_foreign(db: sqlite3.Connection) -> bool:
    """Return whether another program made a database: it has tables and version 0, or a version but no table `jobs`."""
    tables = {row["name"] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    return bool(tables) if db.execute("PRAGMA user_version").fetchone()[0] == 0 else "jobs" not in tables


def is_empty(db: sqlite3.Connection) -> bool:
    """Return whether a database has no rows in the main tables, so that no stored file can belong to it."""
    tables = ("truths", "maps", "tokens", "predictions", "jobs")
    queries = " UNION ALL ".join(f"SELECT 1 FROM {name}" for name in tables)  # noqa: S608 - names of this function
    return db.execute(f"{queries} LIMIT 1").fetchone() is None


def read_row(row: sqlite3.Row, kind: type[T], **values: Any) -> T:
    """Convert a database row to a struct; values of fields come from `values`, or else columns (JSON is decoded)."""
    columns = row.keys()
    for name, is_bool in _fields(kind):
        if name in columns and name not in values:
            value = row[name]
            if name in _JSON:
                value = msgspec.json.decode(value)
            values[name] = bool(value) if is_bool else value
    return msgspec.convert(values, kind)


@cache
def _fields(kind: type[msgspec.Struct]) -> list[tuple[str, bool]]:
    return [(field.name, field.type is bool) for field in msgspec.structs.fields(kind)]


def to_json(value: Any) -> str:
    """Return a value as JSON text, for a column that contains JSON."""
    return msgspec.json.encode(value).decode()


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of an SQL script; ``executescript`` would commit the current transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
