"""What nobody has any more: rows that no run refers to, and files that no row does."""

from __future__ import annotations

import sqlite3
import time

import msgspec

from shoe.service.folder import Folder
from shoe.service.jobs import Output
from shoe.service.truths import Reading

_DAY = 86400.0
_WANTED = """
  SELECT runs.key FROM runs WHERE deleted = 0 OR (board IS NOT NULL AND created > ?1)
  UNION SELECT further.key FROM further JOIN runs ON runs.id = further.run
  WHERE deleted = 0 OR (board IS NOT NULL AND created > ?1)
"""
"""Keys of the jobs of runs that are there, or that count to a quota."""


def tidy(folder: Folder) -> int:
    """Forget deleted runs, and remove the files that were theirs alone.

    Returns:
        How many files were removed.
    """
    with folder.database.write() as db:
        db.execute(
            f"DELETE FROM jobs WHERE state IN ('done', 'failed', 'cancelled') AND key NOT IN ({_WANTED})",  # noqa: S608
            (time.time() - _DAY,),
        )
        db.execute("DELETE FROM runs WHERE deleted = 1 AND key NOT IN (SELECT key FROM jobs)")
        db.execute("DELETE FROM further WHERE run NOT IN (SELECT id FROM runs)")
        db.execute("DELETE FROM log WHERE key NOT IN (SELECT key FROM jobs)")
        db.execute(
            "DELETE FROM predictions WHERE sha256 NOT IN (SELECT sha256 FROM given) AND sha256 NOT IN "
            "(SELECT prediction_sha256 FROM runs WHERE prediction_sha256 IS NOT NULL)"
        )
    with folder.database.read() as db:
        kept = referenced(db)
    return folder.files.remove_unreferenced(kept)


def referenced(db: sqlite3.Connection) -> set[str]:
    """Hashes of the files that something refers to."""
    found = {row["sha256"] for row in db.execute("SELECT sha256 FROM predictions")}
    for row in db.execute("SELECT options FROM truths"):
        found |= {of.sha256 for of in msgspec.json.decode(row["options"], type=Reading).files}
    for row in db.execute("SELECT outputs FROM jobs WHERE outputs IS NOT NULL"):
        found |= {of.sha256 for of in msgspec.json.decode(row["outputs"], type=dict[str, Output]).values()}
    return found
