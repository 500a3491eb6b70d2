"""``shoe map``."""

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
