"""Where commands put their data: standard output, or a file that appears whole."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError, OptionError, printable
from shoe.core.io.files import replacing


def refuse_overwrite(inputs: Iterable[Path | None], *targets: str | Path | None) -> None:
    """Raise an InputError for a target that is an input, by whatever name, is given twice, or cannot be written."""
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


def check_folder(folder: Path | None, expected: str) -> None:
    """Raise an InputError if a folder is given and there is none."""
    if folder is not None and not folder.is_dir():
        raise InputError(folder, found="no such folder", expected=expected)


def write_json(data: bytes, target: str) -> None:
    """Write JSON to a file, or to standard output for "-"."""
    if target == "-":
        sys.stdout.buffer.write(data)
        return
    with replacing(target) as stream:
        stream.write(data)


def put_json(content: Any, target: str | None) -> bool:
    """Write a report as JSON if a target is given; return whether that is standard output."""
    from shoe.core.io.json import encode

    if target is not None:
        write_json(encode(content, readable=True), target)
    return target == "-"


@contextmanager
def telling() -> Iterator[Callable[[str], None]]:
    """Yield a progress callback, which shows its line on a terminal."""
    from rich.console import Console
    from rich.text import Text

    talk = Console(stderr=True)
    if not talk.is_terminal:
        yield lambda _: None
        return
    with talk.status("") as status:
        yield lambda line: status.update(Text(printable(line)))


def progress_bar(description: str) -> Callable[..., Any]:
    """Return a function that goes through a sequence with a progress bar on the terminal, if there is one."""
    from rich.console import Console
    from rich.progress import track

    talk = Console(stderr=True)
    return partial(track, description=description, console=talk, transient=True, disable=not talk.is_terminal)


def say(line: str) -> None:
    """Write a line for the user to standard error."""
    print(f"shoe: {printable(line, longest=1000)}", file=sys.stderr)


def confirm(question: str, refusal: str, detail: Callable[[], object] = lambda: None) -> None:
    """Ask on the terminal before money is spent; "no" ends the command with exit code 0.

    Args:
        question: without its question mark.
        refusal: message of the error if nobody can be asked.
        detail: prints what the question is about, before it is asked.

    Raises:
        OptionError: if there is no terminal.
    """
    import typer

    if sys.stdin is None or not sys.stdin.isatty():
        raise OptionError(refusal)
    detail()
    try:
        agreed = typer.confirm(f"{question}?", err=True)
    except typer.Abort:
        raise KeyboardInterrupt from None
    if not agreed:
        raise typer.Exit(0)
