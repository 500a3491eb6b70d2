"""The folder of a service: its database, files by their hashes, and places for what is under way."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from shoe.core.errors import InputError, OptionError
from shoe.service.database import Database
from shoe.service.files import Store

_PRIVATE = 0o700


class Folder:
    """Everything that one service keeps.

    Attributes:
        path: the folder, resolved.
        database: ``shoe.sqlite``.
        files: content by its hash.
        uploads: parts of uploads that are not whole yet.
        jobs: scratch folders of jobs under way.
        maps: copies of registered similarity maps.
        work: set when there is something to claim.
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
            path: of the folder.
            create: whether to make it, and what belongs into it, where there is none.

        Raises:
            InputError: where there is none, or no place for it, or it holds something else.
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
        """Take the folder for this process, until it ends: one server a folder.

        Raises:
            OptionError: if another one has it.
        """
        from filelock import lock_descriptor

        handle = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        if not lock_descriptor(handle, blocking=False):
            os.close(handle)
            raise OptionError(f"{self.path}: another shoe serve has this folder")
        self._lock = handle

    def close(self) -> None:
        """Give back the lock and close the database."""
        self.database.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
