"""The default output of the commands with long reports."""

import os
import pty
import re
import subprocess
import termios
from pathlib import Path

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import COMMAND

VLM, DETECTOR = PREDICTIONS["free text"], PREDICTIONS["detector"]


def on_terminal(*arguments: str | Path) -> list[str]:
    """Return the lines that a command prints on a terminal with 80 columns and 40 rows."""
    leader, follower = pty.openpty()
    termios.tcsetwinsize(follower, (40, 80))
    environment = {k: v for k, v in os.environ.items() if k not in ("COLUMNS", "LINES")} | {"TERM": "xterm"}
    with subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stdout=follower, stderr=subprocess.DEVNULL, env=environment
    ) as process:
        os.close(follower)
        parts = []
        try:
            while part := os.read(leader, 65536):
                parts.append(part)
        except OSError:  # the other end is closed
            pass
    os.close(leader)
    assert process.returncode == 0
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", b"".join(parts).decode()).replace("\r", "").splitlines()


@pytest.mark.parametrize(
    "arguments", [("score", VLM), ("compare", VLM, DETECTOR, "--resamples", "200"), ("diagnose", VLM), ("explain", VLM)]
)
def test_default_output_fits_on_one_screen_and_verbose_output_has_more(arguments: tuple[str | Path, ...]) -> None:
    brief = on_terminal(*arguments, "-g", TRUTH)
    assert len(brief) <= 40, "\n".join(brief)
    assert max(len(line) for line in brief if "shoe:" not in line) <= 80  # a signature is one word
    assert any("--verbose" in line for line in brief)
    assert len(on_terminal(*arguments, "-g", TRUTH, "--verbose")) > len(brief)
