"""Where commands put their data: standard output, or a file that appears whole."""

import sys

from shoe.io.files import replacing


def write_json(data: bytes, target: str) -> None:
    """Write JSON to a file, or to standard output for "-"."""
    if target == "-":
        sys.stdout.buffer.write(data)
        return
    with replacing(target) as stream:
        stream.write(data)
