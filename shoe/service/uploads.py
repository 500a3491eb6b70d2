"""Uploads in parts: after an interruption, an upload continues at the last received byte."""

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

import msgspec

from shoe.core.errors import ShoeError, pluralize
from shoe.service.errors import BusyError, ConflictError, FullError, NotFoundError
from shoe.service.folder import Encoding, Folder, Receiver, StoreEntry
from shoe.service.settings import Settings

_READ_AT_ONCE = 1 << 20


class Upload(msgspec.Struct, frozen=True):
    """A file uploaded in parts.

    Attributes:
        id: upload ID, given with each part.
        size: total size in bytes.
        sha256: expected SHA-256 of the complete file; None if not given.
    """

    id: str
    team: str
    name: str
    size: int
    sha256: str | None


class Uploads:
    """Unfinished uploads of a data folder; each upload has a file with the received bytes, and a JSON file about it."""

    def __init__(self, folder: Folder, settings: Settings) -> None:
        self._folder, self._settings = folder, settings
        self._busy: set[str] = set()
        self._lock = Lock()

    def begin(self, team: str, name: str, size: int, sha256: str | None, room: int) -> Upload:
        """Start an upload, and return it.

        If the team has an unfinished upload with the same name, size and SHA-256 (not None), this upload is returned.

        Args:
            room: rest of the team's disk quota in bytes, from which unfinished uploads are not yet subtracted.

        Raises:
            BusyError: if the team has too many unfinished uploads.
            FullError: if the file exceeds the team's disk quota.
        """
        with self._lock:
            mine = self._uploads_of(team)
            same = next((u for u in mine if (u.name, u.size, u.sha256) == (name, size, sha256) and sha256), None)
            if same is not None:
                return same
            if len(mine) >= self._settings.uploads_per_team:
                raise BusyError(f"limit of {len(mine)} unfinished uploads reached: finish or cancel an upload")
            room -= sum(upload.size for upload in mine)
            if size > room:
                left = pluralize(max(room, 0), "byte")
                raise FullError(f"the team has {left} of disk space left, but the file needs {size:,}")
            made = Upload(secrets.token_hex(16), team, name, size, sha256)
            self._part(made.id).touch(mode=0o600)
            about = self._about(made.id)
            about.touch(mode=0o600)
            about.write_bytes(msgspec.json.encode(made))
        return made

    def announced(self, team: str) -> int:
        """Return the total size of the files in a team's unfinished uploads, including bytes not yet received."""
        return sum(upload.size for upload in self._uploads_of(team))

    def find(self, team: str, id_: str) -> Upload:
        """Return the unfinished upload with an ID, or raise NotFoundError if the team has no such upload."""
        found = next((upload for upload in self._uploads_of(team) if upload.id == id_), None)
        if found is None:
            raise NotFoundError("no unfinished upload with this ID")
        return found

    def offset(self, upload: Upload) -> int:
        """Return the number of bytes received so far; the next part of the upload starts at this offset."""
        return self._part(upload.id).stat().st_size

    @contextmanager
    def receiving(self, upload: Upload, offset: int, encoding: Encoding | None) -> Iterator[Receiver]:
        """Yield a receiver, to which the caller writes the pieces of the next part, which begins at `offset`.

        If the connection breaks, the received bytes are kept. If the part is refused, its bytes are removed.

        Raises:
            ConflictError: if `offset` is not the number of received bytes, or another part is just being received.
        """
        with self._lock:
            if upload.id in self._busy:
                raise ConflictError("another part of this upload is being received: try again later")
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

    def finish(self, upload: Upload) -> StoreEntry:
        """Copy a complete file into the store, remove the upload, and return the entry of the stored file.

        Raises:
            DamagedError: if the file does not have the expected SHA-256; the upload is removed and must be repeated.
        """
        with self._part(upload.id).open("rb") as stream, self._folder.files.receiving(limit=upload.size) as receiver:
            shutil.copyfileobj(stream, receiver, _READ_AT_ONCE)
            try:
                return receiver.finish(upload.sha256)
            finally:
                self.end(upload)

    def end(self, upload: Upload) -> None:
        """Remove an upload and its received bytes."""
        self._about(upload.id).unlink(missing_ok=True)
        self._part(upload.id).unlink(missing_ok=True)

    def end_old(self) -> None:
        """Remove uploads without a new part for more than ``Settings.upload_kept`` seconds (24 hours by default)."""
        before = time.time() - self._settings.upload_kept
        for upload in self._all():
            if self._part(upload.id).stat().st_mtime < before:
                self.end(upload)

    def _uploads_of(self, team: str) -> list[Upload]:
        return [upload for upload in self._all() if upload.team == team]

    def _all(self) -> list[Upload]:
        found = []
        for path in self._folder.uploads.glob("upload-*.json"):
            with suppress(OSError, msgspec.MsgspecError):  # another thread is creating or removing the upload
                upload = msgspec.json.decode(path.read_bytes(), type=Upload)
                self._part(upload.id).stat()
                found.append(upload)
        return found

    def _part(self, id_: str) -> Path:
        return self._folder.uploads / f"upload-{id_}.part"

    def _about(self, id_: str) -> Path:
        return self._folder.uploads / f"upload-{id_}.json"
