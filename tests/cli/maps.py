"""``shoe map``, and what its help promises."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import orjson

from tests.cli import run as cli


def run(*arguments: str | Path) -> CompletedProcess[str]:
    return cli.run("map", *arguments)


def as_json(*arguments: str | Path) -> dict[str, Any]:
    done = run(*arguments, "--json", "-")
    assert done.returncode == 0, done
    found: dict[str, Any] = orjson.loads(done.stdout)
    return found


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
