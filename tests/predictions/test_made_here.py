"""Files whose first line says how their predictions were made."""

import gzip
from pathlib import Path
from typing import Any

import pytest

import shoe
from tests.errors import input_error
from tests.predictions.reading import codes, write_lines as written

FIRST = {"format": "shoe predictions", "version": 1, "says": "boxes of A, words of B", "by": {"score": "product"}}
ITEM = {"human_box": [0, 0, 9, 9], "object_box": [1, 1, 8, 8], "verb": "ride", "object": "horse"}
LINES: list[dict[str, Any]] = [{"image": f"{name}.jpg", **ITEM, "score": s} for name, s in (("a", 0.5), ("b", 0.25))]


@pytest.mark.parametrize("count", [1, 2])
def test_the_first_line_moves_no_triplet_and_is_told(count: int, tmp_path: Path) -> None:
    plain = shoe.read_predictions(written(tmp_path / "plain.jsonl", *LINES[:count]))
    made = shoe.read_predictions(written(tmp_path / "made.jsonl", FIRST, *LINES[:count]))
    assert made.equals(plain)
    assert made.notes.lines()[:-1] == plain.notes.lines()
    assert codes(made.notes)[-1] == "predictor"
    assert made.notes.lines()[-1].endswith(f": {FIRST['says']} (sha {made.notes.predictor_digest})")
    # Models are compared: who made them is no part of how they are scored.
    assert made.notes.signature_fields == plain.notes.signature_fields
    (tmp_path / "packed").write_bytes(gzip.compress((tmp_path / "made.jsonl").read_bytes()))
    assert shoe.read_predictions(tmp_path / "packed").notes.lines() == made.notes.lines()


def test_another_choice_is_another_predictor(tmp_path: Path) -> None:
    other = FIRST | {"by": {"score": "mean"}}
    one, two = (shoe.read_predictions(written(tmp_path / "p", first, *LINES)).notes for first in (FIRST, other))
    assert one.predictor_digest != two.predictor_digest
    assert one.predictor == two.predictor


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", FIRST, LINES[0], LINES[1] | {"score": [1, 2]})
    with input_error("[1, 2]", record="line 3", field="score"):
        shoe.read_predictions(path)
    with input_error("only the first"):
        shoe.read_predictions(written(tmp_path / "empty.jsonl", FIRST))
