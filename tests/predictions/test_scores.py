"""Scores that are no confidences, brought to 0..1: the order stays, and what was not given stays 1."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

import shoe
from shoe.benchmarks.truth import read_truth_file
from shoe.core.io.native import write_native
from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions_with_notes
from shoe.predictions.table import SCORES, count_scales
from tests.errors import option_error
from tests.predictions import weak
from tests.predictions.reading import write_lines

TRUTH_TABLE = read_truth_file(TRUTH).interactions

RECORD = {"image": "a.jpg", "human_box": [0, 0, 9, 9], "object_box": [0, 0, 9, 9], "verb": "ride", "object": "horse"}
LOGITS = [3.0, None, -1.0, 0.0, 3.0]
EXPECTED = {
    "sigmoid": [1 / (1 + np.exp(-3)), 0.5 / (1 + np.exp(1)), 1 / (1 + np.exp(1)), 0.5, 1 / (1 + np.exp(-3))],
    "percent": [0.03, -0.015, -0.01, 0, 0.03],
    "minmax": [1, 0, 0, 0.25, 1],
    "rank": [1, 0.125, 0.25, 0.5, 1],
}


@pytest.mark.parametrize("way", SCORES)
def test_given_scores_are_brought_to_0_1_and_signed(way: str, tmp_path: Path) -> None:
    write_lines(tmp_path / "p.jsonl", *(RECORD | ({"score": x} if x is not None else {}) for x in LOGITS))
    table, notes = read_predictions_with_notes(tmp_path / "p.jsonl", scores=way)
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
    write_lines(tmp_path / "none.jsonl", RECORD)
    assert shoe.read_predictions(tmp_path / "none.jsonl", scores="sigmoid").score.tolist() == [1.0]
    with option_error("'softmax'", "minmax, percent, rank, sigmoid"):
        shoe.read_predictions(tmp_path / "none.jsonl", scores="softmax")


@pytest.mark.parametrize("model", PREDICTIONS)
@pytest.mark.parametrize("mixed", ["rows", "images", "few rows"])
def test_two_scales_are_told_from_one(model: str, mixed: str) -> None:
    """No gap is needed: percentages below 10 lie between the groups."""
    table = shoe.read_predictions(PREDICTIONS[model])
    score, image = table.score, table.image.astype(np.int64)
    chance = np.random.default_rng(0).random(len(table))
    chosen = image % 2 == 0 if mixed == "images" else chance < (0.5 if mixed == "rows" else 0.1)
    both = np.where(chosen, 93.7 * score, score)
    assert count_scales(both, image) == ((both <= 1).sum(), (both > 1).sum())
    for scale in (1, 93.7, 100, 5, 30):
        assert count_scales(scale * score, image) is None
    assert count_scales(100 * score**4, image) is None
    assert count_scales(np.random.default_rng(0).exponential(3, 5000), np.arange(5000) % 100) is None


@pytest.mark.parametrize("model", PREDICTIONS)
def test_fractions_are_told_from_scores_of_0_to_10(model: str) -> None:
    """If fractions end at 1, where few scores of the other scale are, or if they are those of other images."""
    table = shoe.read_predictions(PREDICTIONS[model])
    image, rng = table.image.astype(np.int64), np.random.default_rng(0)
    by_image, by_row = (rng.random(200) < 0.5)[image], rng.random(len(table)) < 0.5
    half_steps = np.round(table.score * 20) / 20
    for chosen, score in ((by_image, table.score), (by_row, np.maximum(half_steps, 0.5))):
        both = np.where(chosen, 10 * score, score)
        assert count_scales(both, image) == ((both <= 1).sum(), (both > 1).sum())
    for scale in (2, 5, 10):
        assert count_scales(scale * table.score, image) is None


def test_logits_or_other_units_in_some_images_are_told() -> None:
    table = shoe.read_predictions(PREDICTIONS["detector"])
    image = table.image.astype(np.int64)
    logit = np.log(table.score / (1 - table.score))
    for other in (logit, 1000 * table.score, logit - 3):
        for chosen in (image % 2 == 0, image < 30, image >= 30):
            both = np.where(chosen, other, table.score)
            assert count_scales(both, image) == (((both >= 0) & (both <= 1)).sum(), ((both < 0) | (both > 1)).sum())
        for change in (0, 1, 5):
            assert count_scales(other + change, image) is None


def test_scores_up_to_10_of_right_detectors_are_one_scale() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        table = weak.detector(weak.part(TRUTH_TABLE, rng, int(rng.choice([40, 200]))), rng, **weak.random_quality(rng))
        image = table.image.astype(np.int64)
        assert [scale for scale in (3, 7, 10, 100) if count_scales(scale * table.score, image)] == []
        assert [scale for scale in (3, 7, 10) if count_scales(scale * table.score**4, image)] == []
