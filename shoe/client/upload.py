"""Prediction files on their way to a service: not at all where it has them, else in parts that can be sent again."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from shoe.client.flow import Call, Flow, Wait, asked, post
from shoe.core.errors import ServiceError
from shoe.io.files import unreadable
from shoe.service.types import NewUpload, Upload

PART = 8 << 20
"""Bytes of a file that are sent at once: what a lost connection costs at most."""
_LONGEST_NAME = 200
_TRIES, _PAUSE = 6, 1.0
Told = Callable[[str, float], None]
"""Called with what is being done, and how much of it is done, 0 to 1."""


@contextmanager
def opened(path: str | Path) -> Iterator[File]:
    """Open a file that the server may have.

    Raises:
        InputError: for a file that cannot be read.
    """
    path = Path(path)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise unreadable(path, error) from None
    with stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        yield File(stream, path.name, digest, stream.tell())


def upload(file: File, tell: Told, *, packed: bool) -> Flow[None]:
    """Send a file to the server, compressed if `packed`.

    Raises:
        ServiceError: for a server that cannot be reached, or refuses it.
    """
    if file.size > PART:
        yield from _in_parts(file, tell, packed)
        return
    part, headers = file.part(0, packed)
    headers |= {"x-content-sha256": file.digest, "content-type": "application/octet-stream"}
    yield from asked(Call("PUT", "/v1/predictions", {"name": file.name[:_LONGEST_NAME]}, part, headers))


@dataclass(frozen=True, slots=True)
class File:
    """A file: its name, size in bytes, and SHA-256, by which the server knows it."""

    stream: BinaryIO
    name: str
    digest: str
    size: int

    def part(self, offset: int, packed: bool) -> tuple[bytes, dict[str, str]]:
        """The part that begins at an offset, and the header that tells how it is packed, if it is."""
        self.stream.seek(offset)
        part = self.stream.read(PART)
        if not packed:
            return part, {}
        try:
            from zstandard import ZstdCompressor
        except ImportError:
            return gzip.compress(part, 1), {"content-encoding": "gzip"}
        return ZstdCompressor(3).compress(part), {"content-encoding": "zstd"}


def _in_parts(file: File, tell: Told, packed: bool) -> Flow[None]:
    """Send what the server does not have yet; where it is of another mind about that, ask it anew."""
    announced = NewUpload(size=file.size, sha256=file.digest, name=file.name[:_LONGEST_NAME])
    best, left = -1, _TRIES
    while left:
        state = (yield from post("/v1/uploads", announced)).read(Upload)
        offset = state.offset
        while offset < file.size:
            tell("uploading", offset / file.size)
            part, headers = file.part(offset, packed)
            headers |= {"upload-offset": str(offset), "content-type": "application/offset+octet-stream"}
            # 404, 409: it has arrived though its answer was lost, wholly or in part, or is still arriving.
            answer = yield from asked(Call("PATCH", f"/v1/uploads/{state.id}", content=part, headers=headers), 404, 409)
            if answer.status in (404, 409):
                break
            offset = answer.read(Upload).offset
        if (yield from asked(Call("GET", f"/v1/predictions/{file.digest}"), 404)).status != 404:
            tell("uploading", 1.0)
            return
        left = _TRIES if offset > best else left - 1
        best = max(best, offset)
        yield Wait(_PAUSE)
    raise ServiceError(f"{file.name}: the server does not take more than {best:,} of its {file.size:,} bytes")
