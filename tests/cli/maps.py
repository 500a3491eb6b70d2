"""``shoe map`` as a process, and what its help promises."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

COMMAND = [sys.executable, "-c", "from shoe.cli import main; main()", "map"]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, timeout=120)


def as_json(*arguments: str | Path) -> dict[str, Any]:
    done = run(*arguments, "--json", "-")
    assert done.returncode == 0, done
    found: dict[str, Any] = orjson.loads(done.stdout)
    return found


def refused(done: subprocess.CompletedProcess[str], says: str) -> None:
    """Assert one line on stderr, exit code 2, and nothing else."""
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, "", 1), done
    assert done.stderr.startswith("shoe: ")
    assert says in done.stderr


def words_of_help(command: str) -> set[str]:
    """The words of a command's help from "JSON keys" on."""
    text = run(command, "--help").stdout
    assert "JSON keys: " in text
    return set(re.findall(r"\w+", text[text.index("JSON keys: ") :]))


def keys_of(value: Any, free: set[str]) -> Iterator[str]:
    """All keys of a JSON document; below the free ones anything may stand."""
    for each in value if isinstance(value, list) else [value]:
        if isinstance(each, dict):
            for key, below in each.items():
                yield key
                if key not in free:
                    yield from keys_of(below, free)
