"""Exact labels by hand: to which ground truth of its class a prediction belongs, and which one is its true positive."""

from dataclasses import replace

import numpy as np
from hypothesis import given, strategies as st

from shoe.benchmarks.hico_det import PROTOCOLS
from shoe.benchmarks.scoring_options import Ties
from shoe.core.boxes import Coordinates
from shoe.scoring.strict import best_with_first_copies, true_positives
from tests.oracles.model import ImageScene, Triplet
from tests.scoring.compare import task_of

UPT = PROTOCOLS["upt"]  # edges, IoU of at least 0.5
HUMAN = (0.0, 0.0, 100.0, 100.0)


def triplet(left: float, score: float = 1.0, verb: str = "ride") -> Triplet:
    """A person and a horse 100 pixels wide, so many pixels to the right."""
    return Triplet(HUMAN, (left, 0.0, left + 100, 100.0), verb, "horse", score)


def found(truth: list[Triplet], predictions: list[Triplet], ties: Ties = UPT.ties) -> list[int]:
    task = task_of([ImageScene("a.jpg", truth, predictions, Coordinates.CONTINUOUS)])
    rows: list[int] = true_positives(task, np.arange(len(predictions)), replace(UPT, ties=ties)).tolist()
    return rows


def test_the_highest_score_is_the_true_positive_whatever_overlaps_more() -> None:
    assert found([triplet(0)], [triplet(0, 0.5), triplet(10, 0.6)]) == [1]


def test_a_prediction_belongs_to_the_ground_truth_that_it_overlaps_most_and_has_no_second_choice() -> None:
    """Both are nearer to the first; the second is in reach of both and stays without."""
    assert found([triplet(0), triplet(30)], [triplet(5, 0.9), triplet(10, 0.8)]) == [0]
    assert found([triplet(0), triplet(30)], [triplet(5, 0.9), triplet(20, 0.8)]) == [0, 1]


def test_of_equal_overlaps_the_first_ground_truth_counts() -> None:
    assert found([triplet(0), triplet(20)], [triplet(10, 0.9), triplet(-10, 0.8)]) == [0]


def test_a_ground_truth_of_another_class_is_none() -> None:
    assert found([triplet(0, verb="feed"), triplet(20)], [triplet(0, 0.9), triplet(0, 0.8, "feed")]) == [0, 1]


def test_of_equal_scores_the_first_or_the_last_counts() -> None:
    same = [triplet(0, 0.5), triplet(10, 0.5)]
    assert (found([triplet(0)], same), found([triplet(0)], same, ties=Ties.REVERSED)) == ([0], [1])


def test_both_boxes_must_overlap() -> None:
    away = Triplet((200.0, 0.0, 300.0, 100.0), (0.0, 0.0, 100.0, 100.0), "ride", "horse")
    assert found([triplet(0)], [away, triplet(60)]) == []


rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.5, 0.9])), max_size=30)


@given(rows, st.integers(1, 5))
def test_first_copies_take_the_first_row_of_each_value(entries: list[tuple[int, float]], most: int) -> None:
    entries = sorted(entries, key=lambda entry: entry[0])
    image, score = np.array([i for i, _ in entries], np.int64), np.array([s for _, s in entries])
    expected = []
    for i in range(4):
        of_image = [k for k in range(len(image)) if image[k] == i]
        values = sorted((score[k] for k in of_image), reverse=True)[:most]
        expected += [next(k for k in of_image if score[k] == value) for value in values]
    assert best_with_first_copies(image, score, most).tolist() == expected
