"""Waiting for the database to change: one look at a number for all who wait."""

from __future__ import annotations

import asyncio

from shoe.service.folder import Folder

_LOOK_EVERY = 0.2


class Changes:
    """Wakes who waits when anything was written, by whatever process.

    Attributes:
        stopping: set when the server is about to end; nobody waits any more then.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder, self._waiting = folder, 0
        self._version, self._next = -1, asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self.stopping = False

    async def wait(self, seconds: float) -> bool:
        """Wait for a change, at most so long; True if there was one, or the server stops."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._look())
        self._waiting += 1
        try:
            await asyncio.wait_for(self._next.wait(), seconds)
        except TimeoutError:
            return False
        finally:
            self._waiting -= 1
        return True

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY)
            version = self._folder.database.version()
            if version != self._version or self.stopping:
                self._version = version
                self._next.set()
                self._next = asyncio.Event()
            if not self._waiting:
                return
