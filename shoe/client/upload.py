"""Prediction files on their way to a service: not at all where it has them, else in parts that can be sent again."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import msgspec

from shoe.client.flow import Call, Flow, asked, post
from shoe.core.errors import InputError, ServiceError

PART = 8 << 20
"""Bytes of a file that are sent at once: what a lost connection costs at most."""
_READ = 1 << 20
Packer = Callable[[bytes], bytes]
Told = Callable[[str, float], None]
"""Called with what is being done, and how much of it is done, 0 to 1."""


class _Stored(msgspec.Struct):
    sha256: str | None = None


class _Upload(msgspec.Struct):
    id: str
    offset: int
    sha256: str | None = None


def upload(path: str | Path, tell: Told, *, packed: bool) -> Flow[str]:
    """Bring a file to the server.

    Args:
        path: of the file.
        tell: is told how far it has come.
        packed: whether parts are compressed on their way.

    Returns:
        SHA-256 of the file, by which the server knows it.

    Raises:
        InputError: for a file that cannot be read.
        ServiceError: for a server that cannot be reached, or refuses it.
    """
    path = Path(path)
    try:
        stream = path.open("rb")
    except OSError as error:
        raise InputError(path, found=str(error.strerror), expected="a file that can be read") from None
    with stream:
        digest, size = hashed(stream)
        answer = yield from asked(Call("GET", f"/v1/predictions/{digest}"), 404)
        if answer.status == 404:
            yield from _sent(stream, path.name, digest, size, tell, _packer() if packed else None)
    return digest


def hashed(stream: BinaryIO) -> tuple[str, int]:
    """SHA-256 and size of a file."""
    digest, size = hashlib.sha256(), 0
    while data := stream.read(_READ):
        digest.update(data)
        size += len(data)
    return digest.hexdigest(), size


def _sent(
    stream: BinaryIO, name: str, digest: str, size: int, tell: Told, packer: tuple[str, Packer] | None
) -> Flow[None]:
    began = yield from post("/v1/uploads", {"size": size, "sha256": digest, "name": name})
    state = began.read(_Upload)
    place, offset = f"/v1/uploads/{state.id}", state.offset
    while offset < size:
        tell("uploading", offset / size)
        stream.seek(offset)
        part = stream.read(PART)
        headers = {"upload-offset": str(offset), "content-type": "application/offset+octet-stream"}
        if packer is not None:
            headers["content-encoding"], part = packer[0], packer[1](part)
        # 409: a part whose answer was lost has arrived; the server says up to where.
        answer = yield from asked(Call("PATCH", place, content=part, headers=headers), 409)
        before, offset = offset, int(answer.headers.get("upload-offset", -1))
        if offset < 0 or (answer.status == 409 and offset == before):
            raise ServiceError("the server does not say how much of the file it has", answer.status)
    tell("uploading", 1.0)
    found = (yield from asked(Call("GET", f"/v1/predictions/{digest}"), 404)).status
    if found == 404:
        raise ServiceError("the file changed while it was sent, or was damaged on its way: send it again")


def _packer() -> tuple[str, Packer]:
    """The better compression of those that are there."""
    try:
        from zstandard import ZstdCompressor
    except ImportError:
        return "gzip", lambda part: gzip.compress(part, 1)
    return "zstd", ZstdCompressor(3).compress
