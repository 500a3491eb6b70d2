"""``shoe demo``: a first result, that says what it is about."""

import re
import shlex
from pathlib import Path

import pytest

from shoe.demo import DATA, PREDICTIONS, TRUTH
from tests.cli import run


@pytest.mark.slow
def test_sentences_are_wrapped_on_a_narrow_terminal() -> None:
    shown = run.output("demo", environment={"FORCE_COLOR": "1", "COLUMNS": "60"})  # a terminal, to rich
    out = re.sub(r"\x1b\[[\d;]*m", "", shown)
    assert max(map(len, out[: out.index("<ref>")].splitlines()[:-1])) <= 60


@pytest.fixture(scope="module")
def output() -> str:
    return run.output("demo")


def figures(output: str, row: str) -> list[float]:
    (line,) = (line for line in output.splitlines() if line.lstrip().startswith(row))
    return [float(figure) for figure in re.findall(r"\d+\.\d\d", line)]


def test_it_says_that_the_predictions_are_synthetic_and_names_a_command_that_scores_them(output: str) -> None:
    first, *lines = output.splitlines()
    assert "SYNTHETIC" in first
    assert "not results of" in output
    line = next(line for line in lines if line.startswith("  shoe score "))
    predictions, option, truth = shlex.split(line)[2:]
    assert option == "--ground-truth"
    assert Path(predictions).samefile(PREDICTIONS["free text"])
    assert Path(truth).samefile(TRUTH)


def test_strict_stands_beside_semantic_and_free_text_gains_more_than_labels_do(output: str) -> None:
    gains = []
    for row in ("detector (synthetic)", "free text (synthetic)"):
        strict, _, _, semantic, f1, best, *missed = figures(output, row)
        assert 0 < strict < semantic < 100
        assert 0 < f1 <= best < 100
        assert all(0 < figure < 100 for figure in missed)
        gains.append(semantic / strict)
    assert gains[1] > gains[0]


def test_raw_replies_say_what_the_free_text_says(output: str) -> None:
    """Boxes in thousandths are not those in pixels to the last digit, and replies have no confidences."""
    free, raw = figures(output, "free text (synthetic)"), figures(output, "raw replies (synthetic)")
    assert raw == pytest.approx(free, abs=1)
    assert all(part in output for part in ("<ref>person</ref><box>", '"box_2d"'))


def test_the_sample_is_small_and_says_what_it_is() -> None:
    sizes = {path.name: path.stat().st_size for path in DATA.iterdir() if path.is_file()}
    assert sizes.keys() == {"README.md", "truth.json", "detector.json", "vlm.jsonl", "replies.jsonl"}
    assert sum(sizes.values()) < 700_000
    assert "synthetic" in Path(DATA / "README.md").read_text()
