"""Files of predictions that teams gave, and the room that they take."""

from __future__ import annotations

import sqlite3
import time

from shoe.core.errors import many, printable
from shoe.service.errors import FullError
from shoe.service.files import Stored
from shoe.service.folder import Folder


def give(folder: Folder, team: str, name: str, stored: Stored, most: int | None = None) -> None:
    """Note that a team gave a file of predictions, under a name.

    Raises:
        FullError: where the team's files are more than ``most`` bytes with it.
    """
    now = time.time()
    with folder.database.write() as db:
        db.execute("INSERT OR IGNORE INTO predictions VALUES (?, ?, ?)", (stored.sha256, stored.size, now))
        db.execute(
            "INSERT INTO given VALUES (?, ?, ?, ?) ON CONFLICT (sha256, team) DO UPDATE SET name = excluded.name",
            (stored.sha256, team, printable(name, longest=200), now),
        )
        if most is not None and (used := disk_used(db, team)) > most:
            raise no_room(most - used + stored.size)


def disk_used(db: sqlite3.Connection, team: str) -> int:
    """Bytes of all files that a team gave."""
    query = "SELECT coalesce(sum(size), 0) FROM given JOIN predictions USING (sha256) WHERE team = ?"
    return int(db.execute(query, (team,)).fetchone()[0])


def no_room(left: int) -> FullError:
    """Refuse a file for which a team has too few bytes left."""
    return FullError(f"the team has room for {many(max(left, 0), 'byte')} more: delete runs and predictions")
