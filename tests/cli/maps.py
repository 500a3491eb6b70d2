"""``shoe map``."""

from pathlib import Path
from subprocess import CompletedProcess

from tests.cli import run as cli


def run(*arguments: str | Path) -> CompletedProcess[str]:
    return cli.run("map", *arguments)
