"""``shoe demo``: a first result, that says what it is about."""

import re
import shlex
from pathlib import Path

import pytest

from shoe.cli.demo import demo
from shoe.demo import DATA, PREDICTIONS, TRUTH


@pytest.mark.slow
def test_sentences_are_wrapped_on_a_narrow_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")  # a terminal, to rich
    monkeypatch.setenv("COLUMNS", "60")
    demo()
    out = re.sub(r"\x1b\[[\d;]*m", "", capsys.readouterr().out)
    told = out[: out.index("<ref>")].splitlines()[:-1]
    assert max(map(len, told)) <= 60


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> str:
    demo()
    return capsys.readouterr().out


def figures(output: str, row: str) -> list[float]:
    (line,) = (line for line in output.splitlines() if line.lstrip().startswith(row))
    return [float(figure) for figure in re.findall(r"\d+\.\d\d", line)]


def test_it_says_that_the_predictions_are_synthetic(output: str) -> None:
    assert "SYNTHETIC" in output.splitlines()[0]
    assert "are not results of any real model" in output


def test_strict_stands_beside_semantic_for_both_files(output: str) -> None:
    for row in ("detector (synthetic)", "free text (synthetic)"):
        strict, _, _, semantic, f1, best, *missed = figures(output, row)
        assert 0 < strict < semantic < 100
        assert 0 < f1 <= best < 100
        assert all(0 < figure < 100 for figure in missed)


def test_raw_replies_say_what_the_free_text_says(output: str) -> None:
    """Boxes in thousandths are not those in pixels to the last digit, and replies have no confidences."""
    free, raw = figures(output, "free text (synthetic)"), figures(output, "raw replies (synthetic)")
    assert raw == pytest.approx(free, abs=1)
    assert "<ref>person</ref><box>" in output
    assert '"box_2d"' in output


def test_free_text_gains_more_from_meaning_than_labels_do(output: str) -> None:
    def gain(row: str) -> float:
        strict, _, _, semantic, *_ = figures(output, row)
        return semantic / strict

    assert gain("free text (synthetic)") > gain("detector (synthetic)")


def test_the_command_that_it_names_scores_the_sample(output: str) -> None:
    line = next(line for line in output.splitlines() if line.startswith("  shoe score "))
    predictions, option, truth = shlex.split(line)[2:]
    assert option == "--ground-truth"
    assert Path(predictions).samefile(PREDICTIONS["free text"])
    assert Path(truth).samefile(TRUTH)


def test_the_sample_is_small_and_says_what_it_is() -> None:
    files = [path for path in DATA.iterdir() if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 700_000
    assert {path.name for path in files} == {"README.md", "truth.json", "detector.json", "vlm.jsonl", "replies.jsonl"}
    assert "synthetic" in Path(DATA / "README.md").read_text()
