"""The default output of the commands with long reports."""

import re
from pathlib import Path

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import run

VLM, DETECTOR = PREDICTIONS["free text"], PREDICTIONS["detector"]


def on_terminal(*arguments: str | Path) -> list[str]:
    """Return the lines that a command prints on a terminal with 80 columns and 40 rows."""
    done = run(*arguments, environment={"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "80", "LINES": "40"})
    assert done.returncode == 0
    assert "\x1b[" in done.stdout
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", done.stdout).splitlines()


@pytest.mark.parametrize(
    "arguments",
    [
        *(("score", VLM), ("diagnose", VLM, "--seeds", "2"), ("explain", VLM)),
        pytest.param(("compare", VLM, DETECTOR, "--resamples", "200"), marks=pytest.mark.slow),
    ],
)
def test_default_output_fits_on_one_screen_and_verbose_output_has_more(arguments: tuple[str | Path, ...]) -> None:
    brief = on_terminal(*arguments, "-g", TRUTH)
    assert len(brief) <= 40, "\n".join(brief)
    assert max(len(line) for line in brief if "shoe:" not in line) <= 80  # a signature is one word
    assert any("--verbose" in line for line in brief)
    assert len(on_terminal(*arguments, "-g", TRUTH, "--verbose")) > len(brief)
