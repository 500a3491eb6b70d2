"""The command that made a page, without the folders of the machine that it ran on."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path


def shown(words: Sequence[str], folder: Path) -> str:
    """Write a command as it would be typed, its files by their paths below a folder, or by their names alone.

    >>> shown(["shoe", "compare", "/data/a.json", "--html=/data/out/page.html", "../b c.json"], Path("/data"))
    "shoe compare a.json --html=out/page.html 'b c.json'"

    Args:
        words: of the command line.
        folder: in which it was typed.
    """
    return shlex.join(_shown(word, folder) for word in words)


def _shown(word: str, folder: Path) -> str:
    option, equals, value = word.partition("=") if word.startswith("-") else ("", "", word)
    path = Path(value)
    if not path.is_absolute() and ".." not in path.parts:
        return word
    return option + equals + (str(path.relative_to(folder)) if path.is_relative_to(folder) else path.name)
