"""Scores that are no confidences, brought to 0..1: the order stays, and what was not given stays 1."""

from pathlib import Path

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoe
from shoe.core.errors import OptionError
from shoe.core.io.native import write_native
from shoe.predictions import read_predictions_with_notes
from shoe.predictions.table import SCORES

RECORD = {"image": "a.jpg", "human_box": [0, 0, 9, 9], "object_box": [0, 0, 9, 9], "verb": "ride", "object": "horse"}
LOGITS = [3.0, None, -1.0, 0.0, 3.0]
EXPECTED = {
    "sigmoid": [1 / (1 + np.exp(-3)), 0.5 / (1 + np.exp(1)), 1 / (1 + np.exp(1)), 0.5, 1 / (1 + np.exp(-3))],
    "percent": [0.03, -0.015, -0.01, 0, 0.03],
    "minmax": [1, 0, 0, 0.25, 1],
    "rank": [1, 0.125, 0.25, 0.5, 1],
}


def write(path: Path) -> Path:
    path.write_bytes(b"\n".join(orjson.dumps(RECORD | ({"score": x} if x is not None else {})) for x in LOGITS))
    return path


@pytest.mark.parametrize("way", SCORES)
def test_given_scores_are_brought_to_0_1_and_signed(way: str, tmp_path: Path) -> None:
    table, notes = read_predictions_with_notes(write(tmp_path / "p.jsonl"), scores=way)
    assert table.score.tolist() == pytest.approx(EXPECTED[way])
    assert notes.scores == f"partly given, {way}"
    raw = shoe.read_predictions(tmp_path / "p.jsonl")
    assert raw.score.tolist() == [3, -1.5, -1, 0, 3]  # without a score: below all that have one
    write_native(raw.select(np.array([0, 2, 3, 4])), tmp_path / "p.npz")
    table, notes = read_predictions_with_notes(tmp_path / "p.npz", scores=way)
    assert table.score.tolist() == pytest.approx([EXPECTED[way][i] for i in (0, 2, 3, 4)])
    assert notes.scores == way


@given(st.lists(st.floats(-30, 30, width=32), min_size=1, max_size=9), st.sampled_from(sorted(SCORES)))
def test_the_order_is_kept_and_ties_are_ties(scores: list[float], way: str) -> None:
    before = np.array(scores)
    after = SCORES[way](before)
    assert way == "percent" or ((after >= 0) & (after <= 1)).all()
    ahead = before[:, None] > before
    assert (after[:, None] >= after)[ahead].all()
    assert (after[:, None] == after)[before[:, None] == before].all()
    if way == "rank":
        assert (after[:, None] > after)[ahead].all()


def test_no_score_and_one_score_are_no_trouble(tmp_path: Path) -> None:
    assert [way(np.array([7.0])).tolist() for way in (SCORES["minmax"], SCORES["rank"])] == [[1.0], [1.0]]
    (tmp_path / "none.jsonl").write_bytes(orjson.dumps(RECORD))
    assert shoe.read_predictions(tmp_path / "none.jsonl", scores="sigmoid").score.tolist() == [1.0]
    with pytest.raises(OptionError, match=r"unknown way to take scores 'softmax'.*minmax, percent, rank, sigmoid"):
        shoe.read_predictions(tmp_path / "none.jsonl", scores="softmax")
