"""Writing files whole: a reader never sees half a file, and a failed run leaves the old one."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from shoe.errors import InputError


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """Open a temporary file in the same folder; it takes the place of ``path`` when the block ends well.

    Raises:
        InputError: if the folder cannot be written to.
    """
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    except OSError as error:
        raise InputError(path, found=error.strerror or "an error", expected="a folder that can be written to") from None
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


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
