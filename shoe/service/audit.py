"""Who did what, and when."""

from __future__ import annotations

import time
from dataclasses import dataclass

from shoe.core.errors import printable
from shoe.service.folder import Folder

COMMAND_LINE = "command line"
"""The actor of what is done on the service's own machine."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that was done; ``at`` is seconds since 1970."""

    id: int
    at: float
    actor: str
    address: str | None
    action: str
    object: str | None
    detail: str | None


def record(
    folder: Folder,
    actor: str,
    action: str,
    object: str | None = None,  # noqa: A002 - what it was done to
    detail: str | None = None,
    address: str | None = None,
) -> None:
    """Write one entry; texts of clients are made fit for one line."""
    said = [None if text is None else printable(text, 300) for text in (actor, address, action, object, detail)]
    with folder.database.write() as db:
        db.execute(
            "INSERT INTO audit (at, actor, address, action, object, detail) VALUES (?, ?, ?, ?, ?, ?)",
            (time.time(), *said),
        )


def entries(folder: Folder, before: int | None = None, limit: int = 100) -> list[Entry]:
    """The last entries, the newest first; those before an id."""
    with folder.database.read() as db:
        rows = db.execute(
            "SELECT * FROM audit WHERE id < coalesce(?, 1 << 62) ORDER BY id DESC LIMIT ?", (before, limit)
        ).fetchall()
    return [Entry(**dict(row)) for row in rows]
