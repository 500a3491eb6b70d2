"""Uploads in parts: after a broken connection, the received part stays and the upload continues there."""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

import msgspec

from shoe.core.errors import ShoeError, many
from shoe.service.contract import BusyError, ConflictError, FullError, NotFoundError
from shoe.service.folder import Encoding, Folder, Receiver, Stored
from shoe.service.settings import Settings

_READ_AT_ONCE = 1 << 20


class Upload(msgspec.Struct, frozen=True):
    """A file that comes in parts.

    Attributes:
        id: by which parts are sent.
        size: of the whole, in bytes.
        sha256: that the whole has to have; None where nobody said.
    """

    id: str
    team: str
    name: str
    size: int
    sha256: str | None


class Uploads:
    """The unfinished uploads of a folder: for each a file of the received bytes, and one of its description."""

    def __init__(self, folder: Folder, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._busy: set[str] = set()
        self._lock = Lock()

    def begin(self, team: str, name: str, size: int, sha256: str | None, room: int) -> Upload:
        """Return the upload of a file that a team announces; the team has `room` bytes left.

        Raises:
            BusyError: where the team has too many unfinished.
            FullError: where the file does not fit.
        """
        with self._lock:
            mine = self._of(team)
            same = next((u for u in mine if (u.name, u.size, u.sha256) == (name, size, sha256) and sha256), None)
            if same is not None:
                return same
            if len(mine) >= self._settings.uploads_per_team:
                raise BusyError(f"found {len(mine)} unfinished uploads, expected at most that many: finish or end some")
            room -= sum(upload.size for upload in mine)
            if size > room:
                raise FullError(f"the team has room for {many(max(room, 0), 'byte')} more, found {size:,}")
            made = Upload(secrets.token_hex(16), team, name, size, sha256)
            self._part(made.id).touch(mode=0o600)
            about = self._about(made.id)
            about.touch(mode=0o600)
            about.write_bytes(msgspec.json.encode(made))
        return made

    def announced(self, team: str) -> int:
        """Return the bytes of all unfinished uploads of a team."""
        return sum(upload.size for upload in self._of(team))

    def find(self, team: str, id_: str) -> Upload:
        """An upload of a team.

        Raises:
            NotFoundError: where it has none of this id.
        """
        found = next((upload for upload in self._of(team) if upload.id == id_), None)
        if found is None:
            raise NotFoundError("no unfinished upload of this id")
        return found

    def offset(self, upload: Upload) -> int:
        """Return the number of received bytes."""
        return self._part(upload.id).stat().st_size

    @contextmanager
    def receiving(self, upload: Upload, offset: int, encoding: Encoding | None) -> Iterator[Receiver]:
        """Take the next part in: ``write`` its pieces; what came is kept however it ends, unless it is damaged.

        Raises:
            ConflictError: if it does not begin where the last one ended, or another part is coming.
        """
        with self._lock:
            if upload.id in self._busy:
                raise ConflictError("another part of this upload is coming in")
            if offset != self.offset(upload):
                raise ConflictError(f"Upload-Offset: found {offset:,}, expected {self.offset(upload):,}")
            self._busy.add(upload.id)
        path = self._part(upload.id)
        try:
            with path.open("r+b") as stream:
                stream.seek(offset)
                rest, free = upload.size - offset, self._settings.free_below
                receiver = Receiver(self._folder.files, stream, path, encoding, rest, free)
                try:
                    yield receiver
                    receiver.check_whole()
                except ShoeError:
                    stream.flush()
                    stream.truncate(offset)
                    raise
        finally:
            self._busy.discard(upload.id)

    def finish(self, upload: Upload) -> Stored:
        """Put a whole file in its place.

        Raises:
            DamagedError: if it has another hash than was announced; it has to be sent again.
        """
        with self._part(upload.id).open("rb") as stream, self._folder.files.receiving(limit=upload.size) as receiver:
            for piece in iter(lambda: stream.read(_READ_AT_ONCE), b""):
                receiver.write(piece)
            try:
                return receiver.finish(upload.sha256)
            finally:
                self.end(upload)

    def end(self, upload: Upload) -> None:
        """Remove an upload."""
        self._about(upload.id).unlink(missing_ok=True)
        self._part(upload.id).unlink(missing_ok=True)

    def end_old(self, now: float | None = None) -> int:
        """Remove uploads that have received nothing for long, and return their number."""
        before = (time.time() if now is None else now) - self._settings.upload_kept
        old = [upload for upload in self._all() if self._part(upload.id).stat().st_mtime < before]
        for upload in old:
            self.end(upload)
        return len(old)

    def _of(self, team: str) -> list[Upload]:
        return [upload for upload in self._all() if upload.team == team]

    def _all(self) -> list[Upload]:
        found = []
        for path in self._folder.uploads.glob("upload-*.json"):
            try:
                found.append(msgspec.json.decode(path.read_bytes(), type=Upload))
                os.stat(self._part(found[-1].id))
            except (OSError, msgspec.MsgspecError):  # it is just being made or ended
                continue
        return found

    def _part(self, id_: str) -> Path:
        return self._folder.uploads / f"upload-{id_}.part"

    def _about(self, id_: str) -> Path:
        return self._folder.uploads / f"upload-{id_}.json"
