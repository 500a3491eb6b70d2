"""Files whole: read at once, gzip or not; written so that nobody ever sees half of one."""

import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shoe.core.errors import InputError, near

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP, _ZLIB = 16 + zlib.MAX_WBITS, zlib.MAX_WBITS
LARGEST_UNPACKED = 4_000_000_000
"""Bytes that packed data may unpack to; the largest files of the field have a tenth of it."""


def read_bytes(path: str | Path) -> bytes:
    """Read a file; one that is gzip-compressed, whatever its name, comes back unpacked.

    Raises:
        InputError: if it cannot be read, or its compressed content is damaged.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(path, found="no such file", expected="a file", hint=_nearest_sibling(Path(path))) from None
    except IsADirectoryError:
        raise InputError(path, found="a folder", expected="a file that can be read") from None
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise InputError(path, found=found, expected="a file that can be read") from None
    if not data.startswith(_GZIP_MAGIC):
        return data
    parts: list[bytes] = []
    try:
        while data:
            part, data = _unpacked(data, _GZIP, LARGEST_UNPACKED - sum(map(len, parts)))
            parts.append(part)
            data = data.lstrip(b"\0")  # some tools pad
    except OverflowError as error:
        raise InputError(path, found=str(error), expected=f"at most {LARGEST_UNPACKED / 1e9:g} GB") from None
    except (ValueError, zlib.error) as error:
        raise InputError(path, found=f"damaged gzip data ({error})", expected="a whole .gz file") from None
    return parts[0] if len(parts) == 1 else b"".join(parts)


def inflated(data: bytes) -> bytes:
    """Unpack zlib data.

    Raises:
        ValueError: if it ends too early.
        OverflowError: if it unpacks to more than ``LARGEST_UNPACKED`` bytes.
        zlib.error: if it is damaged.
    """
    return _unpacked(data, _ZLIB, LARGEST_UNPACKED)[0]


def _unpacked(data: bytes, window: int, most: int) -> tuple[bytes, bytes]:
    """One packed stream's content, of which no more than ``most`` bytes are ever made, and the data after it."""
    unpacker = zlib.decompressobj(window)
    content = unpacker.decompress(data, most + 1)
    if len(content) > most:
        raise OverflowError(f"packed data of more than {LARGEST_UNPACKED / 1e9:g} GB")
    if not unpacker.eof:
        raise ValueError("it ends too early")
    return content, unpacker.unused_data


def _nearest_sibling(path: Path) -> str | None:
    try:
        similar = near(path.name, (entry.name for entry in path.parent.iterdir()))
    except OSError:
        return None
    return f"did you mean {similar[0]}?" if similar else None


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary file in the same folder; it takes the place of ``path`` when the block ends well.

    A link keeps pointing to its file, which is what is replaced. What is no regular file (a pipe, anything under /dev,
    where a link may stand for one) is written to as it is.

    Raises:
        InputError: if the folder or file cannot be written to, or the disk is full.
    """
    import tempfile

    target = Path(path)
    try:
        if target.absolute().parts[1:2] in (("dev",), ("proc",)) or (target.exists() and not target.is_file()):
            with target.open("wb") as stream:
                yield stream
            return
        target = Path(os.path.realpath(target))
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:32]}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "wb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary, 0o666 & ~_umask())
            os.replace(temporary, target)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(path, found=found, expected="a place that can be written to") from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
