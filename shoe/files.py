"""Files whole: read at once, gzip or not; written so that nobody ever sees half of one."""

import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import IO, Any

import orjson

from shoe.errors import InputError, quote

_GZIP_MAGIC = b"\x1f\x8b"


def read_bytes(path: str | Path) -> bytes:
    """Read a file; one that is gzip-compressed, whatever its name, comes back unpacked.

    Raises:
        InputError: if it cannot be read, or its compressed content is damaged.
    """
    try:
        data = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError(path, found="no such file", expected="a file", hint=_nearest_sibling(Path(path))) from None
    except (OSError, ValueError) as error:
        found = getattr(error, "strerror", None) or str(error)
        raise InputError(path, found=found, expected="a file that can be read") from None
    if not data.startswith(_GZIP_MAGIC):
        return data
    try:
        return gzip.decompress(data)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(path, found=f"damaged gzip data ({error})", expected="a whole .gz file") from None


def parse_json(path: str | Path, data: bytes) -> Any:
    """Parse JSON; what breaks it is shown with its line, column and the text found there.

    Raises:
        InputError: if ``data`` is no JSON.
    """
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError as error:
        if data and not error.doc:
            raise InputError(path, found="bytes that are not UTF-8", expected="JSON") from None
        rest = error.doc[error.pos : error.pos + 20]
        found = quote(rest) if rest else "the end of the file"
        hint = "JSON has no NaN or Infinity" if rest.lstrip("-").startswith(("NaN", "Infinity")) else error.msg
        place = f"line {error.lineno}, column {error.colno}"
        raise InputError(path, record=place, found=found, expected="JSON", hint=hint) from None


def _nearest_sibling(path: Path) -> str | None:
    try:
        near = get_close_matches(path.name, [entry.name for entry in path.parent.iterdir()], n=1)
    except OSError:
        return None
    return f"did you mean {near[0]}?" if near else None


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary file in the same folder; it takes the place of ``path`` when the block ends well.

    What is no regular file (a pipe, ``/dev/null``) is written to as it is.

    Raises:
        InputError: if the folder or file cannot be written to, or the disk is full.
    """
    target = Path(path)
    try:
        if target.exists() and not target.is_file():
            with target.open("wb") as stream:
                yield stream
            return
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
