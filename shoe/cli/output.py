"""Output of commands: JSON to standard output or atomically to files, and progress."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError, printable
from shoe.core.io.files import atomic_write


def refuse_overwrite(inputs: Iterable[Path | None], *targets: str | Path | None) -> None:
    """Raise an InputError for a target that is also an input, occurs twice, or cannot be written.

    None and "-" (standard output) are ignored; symbolic links are resolved.
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
        if (found := _obstacle(path)) is not None:
            raise InputError(target, found=found, expected="a path that can be written")


def _obstacle(path: Path) -> str | None:
    if path.is_dir():
        return "a folder"
    if path.exists() and not path.is_file():
        return None  # a pipe or a device
    if not path.parent.is_dir():
        return f"no folder {path.parent}"
    return None if os.access(path.parent, os.W_OK | os.X_OK) else f"no permission to write to the folder {path.parent}"


def check_folder(folder: Path | None, expected: str) -> None:
    """Raise an InputError, which names what is ``expected``, if ``folder`` is given but does not exist."""
    if folder is not None and not folder.is_dir():
        raise InputError(folder, found="no such folder", expected=expected)


def write_json(data: bytes, target: str) -> None:
    """Write JSON to a file, or to standard output for "-"."""
    if target == "-":
        sys.stdout.buffer.write(data)
        return
    with atomic_write(target) as stream:
        stream.write(data)


def put_json(content: Any, target: str | None) -> bool:
    """Write a report as JSON to ``target``, if not None; return whether the target is standard output ("-")."""
    from shoe.core.io.json import encode

    if target is not None:
        write_json(encode(content, readable=True), target)
    return target == "-"


def put_report(content: Any, target: str | None, print_content: Callable[[Any], object]) -> None:
    """Write a report with :func:`put_json` and, unless the target is "-", call ``print_content`` with a console."""
    from shoe.report.text import console

    if not put_json(content, target):
        print_content(console())


@contextmanager
def show_progress() -> Iterator[Callable[[str], None]]:
    """Yield a progress callback that shows a text as the status line; without a terminal, it does nothing."""
    from rich.console import Console
    from rich.text import Text

    talk = Console(stderr=True)
    if not talk.is_terminal:
        yield lambda _: None
        return
    with talk.status("") as status:
        yield lambda line: status.update(Text(printable(line)))


def progress_bar(description: str) -> Callable[..., Any]:
    """Return a function that iterates over its argument, with a progress bar if standard error is a terminal."""
    from rich.console import Console
    from rich.progress import track

    talk = Console(stderr=True)
    return partial(track, description=description, console=talk, transient=True, disable=not talk.is_terminal)


def say(line: str) -> None:
    """Print a line, cut to 1,000 characters, to standard error, with the prefix "shoe: "."""
    print(f"shoe: {printable(line, longest=1000)}", file=sys.stderr)
