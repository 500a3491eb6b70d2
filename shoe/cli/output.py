"""Where commands put their data: standard output, or a file that appears whole."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from shoe.core.errors import InputError
from shoe.io.files import replacing

Json = Annotated[str | None, typer.Option("--json", help="Write JSON to this file; '-': standard output.")]


def spare(inputs: Iterable[Path | None], *targets: str | Path | None) -> None:
    """See that nothing is written over what was read, nor over another output, nor where nothing can be written.

    Raises:
        InputError: naming a target that is an input, by whatever name, that is given twice, "-" as a path, a folder, or
            a file in a folder that is not there or cannot be written to.
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
        found = _obstacle(path)
        if found is not None:
            raise InputError(target, found=found, expected="a place that can be written to")


def _obstacle(path: Path) -> str | None:
    if path.is_dir():
        return "a folder"
    if path.exists() and not path.is_file():
        return None  # a pipe or a device
    if not path.parent.is_dir():
        return f"no folder {path.parent}"
    return None if os.access(path.parent, os.W_OK | os.X_OK) else f"a folder that is closed to you: {path.parent}"


def write_json(data: bytes, target: str) -> None:
    """Write JSON to a file, or to standard output for "-"."""
    if target == "-":
        sys.stdout.buffer.write(data)
        return
    with replacing(target) as stream:
        stream.write(data)


def put_json(content: Any, target: str | None) -> bool:
    """Write figures as JSON where it is wanted; True if that takes up the output."""
    from shoe.io.json import encode

    if target is not None:
        write_json(encode(content, readable=True), target)
    return target == "-"


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Shows what is being done, where somebody looks."""
    from rich.console import Console
    from rich.text import Text

    from shoe.core.errors import printable

    talk = Console(stderr=True)
    if not talk.is_terminal:
        yield lambda _: None
        return
    with talk.status("") as status:
        yield lambda line: status.update(Text(printable(line)))
