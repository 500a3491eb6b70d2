"""Who did what, and when."""

from __future__ import annotations

import time

from shoe.core.errors import printable
from shoe.service.database import read_row
from shoe.service.folder import Folder
from shoe.service.types import Entry

COMMAND_LINE = "command line"
"""The actor of what is done on the service's own machine."""


def record(
    folder: Folder,
    actor: str,
    action: str,
    object: str | None = None,  # noqa: A002 - what it was done to
    detail: str | None = None,
    address: str | None = None,
) -> None:
    """Add an entry to the audit log; texts of clients are made fit for one line."""
    texts = [None if text is None else printable(text, 300) for text in (actor, address, action, object, detail)]
    with folder.database.write() as db:
        db.execute(
            "INSERT INTO audit (at, actor, address, action, object, detail) VALUES (?, ?, ?, ?, ?, ?)",
            (time.time(), *texts),
        )


def entries(folder: Folder, before: int | None = None, limit: int = 100) -> list[Entry]:
    """Return the last entries, or the last ones before an ID, the newest first."""
    with folder.database.read() as db:
        rows = db.execute(
            "SELECT * FROM audit WHERE id < coalesce(?, 1 << 62) ORDER BY id DESC LIMIT ?", (before, limit)
        )
        return [read_row(row, Entry) for row in rows]
