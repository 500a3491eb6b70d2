"""Where commands put their data: standard output, or a file that appears whole."""

import os
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from shoe.core.errors import InputError
from shoe.io.files import replacing

Json = Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-': standard output.")]


def spare(inputs: Iterable[Path | None], *targets: str | Path | None) -> None:
    """See that nothing is written over what was read, nor over another output.

    Raises:
        InputError: naming a target that is an input, by whatever name, that is given twice, or "-" as a path.
    """
    taken = {Path(os.path.realpath(path)) for path in inputs if path is not None}
    for target in targets:
        if target is None or target == "-":
            continue
        if str(target) == "-":
            raise InputError(target, found="standard output", expected="a file to write to")
        path = Path(os.path.realpath(target))
        if path in taken and (path.is_file() or not path.exists()):
            raise InputError(target, found="an input or another output of this command", expected="a file to write to")
        taken.add(path)


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
