"""The options that notes name exist in the command that prints the notes, and work there."""

import json
from pathlib import Path

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import run


@pytest.fixture
def halves(tmp_path: Path) -> list[str]:
    records = json.loads(PREDICTIONS["detector"].read_text())
    paths = [tmp_path / "first.json", tmp_path / "second.json"]
    for path, part in zip(paths, (records[:20], records[100:120]), strict=True):
        path.write_text(json.dumps(part))
    return list(map(str, paths))


@pytest.mark.parametrize("command", ["calibration", "explain", "audit"])
def test_commands_have_the_options_that_their_notes_name(command: str, halves: list[str]) -> None:
    words = [command, halves[0], "-g", TRUTH]
    noted, left_out = run(*words), run(*words, "--images-in-predictions", "--format", "qpic")
    assert "--images-in-predictions" in noted.stdout + noted.stderr
    assert left_out.returncode == 0
    assert "counts as missed" not in " ".join((left_out.stdout + left_out.stderr).split())


def test_compare_recommends_no_option_for_files_without_a_common_image(halves: list[str]) -> None:
    done = run("compare", *halves, "-g", TRUTH, "--resamples", "0")
    assert "image in common" in " ".join((done.stdout + done.stderr).split())
    assert "--images-in-predictions" not in done.stdout + done.stderr
