"""The options that notes name exist in the command that prints the notes, and work there."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from shoe.cli.app import app
from shoe.demo import PREDICTIONS, TRUTH


@pytest.fixture
def halves(tmp_path: Path) -> list[str]:
    records = json.loads(PREDICTIONS["detector"].read_text())
    paths = [tmp_path / "first.json", tmp_path / "second.json"]
    for path, part in zip(paths, (records[:100], records[100:]), strict=True):
        path.write_text(json.dumps(part))
    return list(map(str, paths))


@pytest.mark.parametrize("command", ["calibration", "explain", "audit"])
def test_commands_have_the_options_that_their_notes_name(command: str, halves: list[str]) -> None:
    words = [command, halves[0], "-g", str(TRUTH)]
    result = CliRunner().invoke(app, words)
    assert "--images-in-predictions" in result.output
    result = CliRunner().invoke(app, [*words, "--images-in-predictions", "--format", "qpic"])
    assert result.exit_code == 0
    assert "counts as missed" not in re.sub(r"\s+", " ", result.output)


def test_compare_recommends_no_option_for_files_without_a_common_image(halves: list[str]) -> None:
    output = CliRunner().invoke(app, ["compare", *halves, "-g", str(TRUTH)]).output
    assert "the files have no image in common: their scores cannot be compared" in " ".join(output.split())
    assert "--images-in-predictions" not in output
