"""One SQLite database: any number of readers, which see whole transactions, and one writer at a time."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from shoe.core.errors import InputError

_SCRIPTS = ("schema.sql", "studies.sql")
"""Each makes the tables of one version (PRAGMA user_version) from those of the one before."""
VERSION = len(_SCRIPTS)
_PATIENCE = 30.0
"""Seconds to wait for a writer of another process."""
_JSON = frozenset({"facts", "figures", "outputs", "request"})
"""Columns that hold JSON."""
T = TypeVar("T", bound=msgspec.Struct)


class Database:
    """The database; connections are made when a thread first needs one.

    ``BEGIN IMMEDIATE`` takes the write lock before any read. A transaction that read first and asked for the lock later
    would be refused at once, whatever the timeout, if another one wrote in between.
    """

    def __init__(self, path: Path) -> None:
        """Open the file, and make missing tables.

        Raises:
            InputError: for a file that is no such database, or one of a later version.
        """
        self.path = path
        self._lock = threading.Lock()
        self._local = threading.local()
        try:
            self._writer = self._connection()
            self._writer.execute("PRAGMA journal_mode = WAL")
            self._writer.execute("PRAGMA synchronous = FULL")  # what was accepted outlasts a power cut
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
            expected = f"at most {VERSION}"
            raise InputError(path, field="version", found=str(version), expected=expected, hint="a later shoe made it")

    def _connection(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
        connection.row_factory = sqlite3.Row
        return connection

    def _reader(self) -> sqlite3.Connection:
        """Return this thread's own read-only connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "reader", None)
        if connection is None:
            connection = self._local.reader = self._connection()
            connection.execute("PRAGMA query_only = 1")
        return connection

    def check(self) -> None:
        """Check the integrity of the file.

        Raises:
            InputError: if it is damaged, naming what helps.
        """
        try:
            damage = self._reader().execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.DatabaseError as error:
            damage = str(error)
        if damage != "ok":
            raise self._damaged(damage.splitlines()[-1])

    def _damaged(self, found: str) -> InputError:
        hint = f"shoe serve doctor {self.path.parent} says what is lost, and what helps"
        return InputError(self.path, found=found, expected="a whole database of shoe serve", hint=hint)

    def version(self) -> int:
        """Return a number that changes with any write, by any process; compare it within one thread only."""
        version: int = self._reader().execute("PRAGMA data_version").fetchone()[0]
        return version

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Return this thread's own read-only connection; the block sees one state of the database."""
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
        """Return the writing connection for one transaction: committed at the end of the block, undone on error."""
        with self._lock:
            self._writer.execute("BEGIN IMMEDIATE")
            try:
                yield self._writer
                self._writer.execute("COMMIT")
            except BaseException:
                if self._writer.in_transaction:  # a full disk may have undone it
                    self._writer.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the connections of this thread and the writer."""
        with self._lock:
            self._writer.close()
        reader: sqlite3.Connection | None = getattr(self._local, "reader", None)
        if reader is not None:
            reader.close()


def read_row(row: sqlite3.Row, kind: type[T], **values: Any) -> T:
    """Return a row as a struct: each field is the column of its name, unless `values` has one for it."""
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
    """Encode a value for a column that holds JSON."""
    return msgspec.json.encode(value).decode()


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script one by one, so that they form one transaction."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
