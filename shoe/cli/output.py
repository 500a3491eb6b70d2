"""Where commands put their data: standard output, or a file that appears whole."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from shoe.io.files import replacing

Json = Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-': standard output.")]


def write_json(data: bytes, target: str) -> None:
    """Write JSON to a file, or to standard output for "-"."""
    if target == "-":
        sys.stdout.buffer.write(data)
        return
    with replacing(target) as stream:
        stream.write(data)


def put_json(content: Mapping[str, Any], target: str | None) -> bool:
    """Write figures as JSON where it is wanted; True if that takes up the output."""
    from shoe.io.json import encode

    if target is not None:
        write_json(encode(content, readable=True), target)
    return target == "-"
