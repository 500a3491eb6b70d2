"""Files whose first line says how their predictions were made."""

import gzip
from pathlib import Path

import pytest

import shoe
from shoe.core.errors import InputError
from shoe.core.io.json import encode

FIRST = {"format": "shoe predictions", "version": 1, "says": "boxes of A, words of B", "by": {"score": "product"}}
LINES = [
    {
        "image": name,
        "human_box": [0, 0, 9, 9],
        "object_box": [1, 1, 8, 8],
        "verb": "ride",
        "object": "horse",
        "score": s,
    }
    for name, s in (("a.jpg", 0.5), ("b.jpg", 0.25))
]


def written(path: Path, *lines: object) -> Path:
    path.write_bytes(b"".join(encode(line) + b"\n" for line in lines))
    return path


@pytest.mark.parametrize("count", [1, 2])
def test_the_first_line_moves_no_triplet_and_is_told(count: int, tmp_path: Path) -> None:
    plain = shoe.read_predictions(written(tmp_path / "plain.jsonl", *LINES[:count]))
    made = shoe.read_predictions(written(tmp_path / "made.jsonl", FIRST, *LINES[:count]))
    assert made.equals(plain)
    told = f"made by shoe predict: boxes of A, words of B (sha {made.notes.predictor_digest})"
    assert made.notes.lines() == [*plain.notes.lines(), told]
    assert (
        made.notes.signature_fields == plain.notes.signature_fields
    )  # models are compared: who made them is no part of how they are scored
    (tmp_path / "packed").write_bytes(gzip.compress((tmp_path / "made.jsonl").read_bytes()))
    assert shoe.read_predictions(tmp_path / "packed").notes.lines() == made.notes.lines()


def test_another_choice_is_another_predictor(tmp_path: Path) -> None:
    other = FIRST | {"by": {"score": "mean"}}
    one, two = (shoe.read_predictions(written(tmp_path / "p", first, *LINES)).notes for first in (FIRST, other))
    assert one.predictor_digest != two.predictor_digest
    assert one.predictor == two.predictor


def test_lines_keep_their_numbers(tmp_path: Path) -> None:
    path = written(tmp_path / "p.jsonl", FIRST, LINES[0], LINES[1] | {"score": [1, 2]})
    with pytest.raises(InputError, match=r"line 3: score: found \[1, 2\]"):
        shoe.read_predictions(path)
    with pytest.raises(InputError, match="found only the first line"):
        shoe.read_predictions(written(tmp_path / "empty.jsonl", FIRST))
