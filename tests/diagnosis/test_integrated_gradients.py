"""Shares of a gain: held to numerical derivatives, to figures by hand, and to what rules of sharing promise."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from shoe.benchmarks.protocols import SEMANTIC
from shoe.benchmarks.scoring_options import Interpolation
from shoe.diagnosis.vocabulary_gap import exact_matches, gradients, shares_of
from shoe.scoring.average_precision import EPSILON, average_precision
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.scorer import Matches, Scorer
from shoe.similarity import load_similarity
from tests.diagnosis.by_hand import CLASSES, comparable
from tests.examples import examples
from tests.oracles.model import ImageScene, to_tables

Floats = NDArray[np.float64]
RULES = [Interpolation.ALL_POINTS, Interpolation.TRAPEZOID]


def area(rank: Floats, credit: Floats, truths: int, rule: Interpolation) -> float:
    order = np.argsort(rank)
    lists = rank[None, order], credit[None, order]
    return float(average_precision(*lists, np.array([truths]), rule, EPSILON)[0])


credits_ = st.lists(st.integers(0, 8), min_size=1, max_size=7)


def lists(size: int, low: int, high: int) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(low, high), min_size=size, max_size=size)


@pytest.mark.parametrize("rule", RULES)
@given(low=credits_, data=st.data())
def test_gradients_are_the_derivatives_along_the_way(rule: Interpolation, low: list[int], data: st.DataObject) -> None:
    size = len(low)
    start = np.array(low) / 16
    end = start + np.array(data.draw(lists(size, 0, 8))) / 16
    ranks = np.cumsum(data.draw(lists(size, 1, 4))).astype(float)
    rank = ranks[np.array(data.draw(st.permutations(range(size))))]
    truths = size + data.draw(st.integers(0, 3))
    found = gradients(rank[None], start, end, truths, rule)
    # The same by small steps on either side, at the same four points; where the envelope has a corner, both are right.
    step, points = 1e-6, [start + t * (end - start) for t in (0.125, 0.375, 0.625, 0.875)]
    low_side, high_side = np.zeros((2, size))
    for point in points:
        for i, shift in enumerate(np.eye(size) * step):
            here = area(rank, point, truths, rule)
            sides = (here - area(rank, point - shift, truths, rule), area(rank, point + shift, truths, rule) - here)
            slopes = sorted(side / step for side in sides)
            low_side[i] += slopes[0] / 4
            high_side[i] += slopes[1] / 4
    assert (found >= low_side - 1e-4).all()
    assert (found <= high_side + 1e-4).all()


@pytest.mark.parametrize("rule", RULES)
def test_orders_are_averaged(rule: Interpolation) -> None:
    start, end = np.array([0.25, 0.5]), np.array([0.5, 1.0])
    one, other = np.array([[1.0, 2.0]]), np.array([[3.0, 1.0]])
    both = gradients(np.concatenate([one, other]), start, end, 2, rule)
    assert both == pytest.approx((gradients(one, start, end, 2, rule) + gradients(other, start, end, 2, rule)) / 2)


@pytest.mark.parametrize(
    ("rule", "slopes"),
    [
        # The second is always the peak: AP = (a + b)^2 / 4 for two truths, so both slopes are (a + b) / 2 = 1.3125 / 2.
        (RULES[0], [0.65625, 0.65625]),
        # AP = (a * a + b * (a + (a + b) / 2) / 2) / 2; half way a is 0.625 and b is 0.6875.
        (RULES[1], [0.625 + 0.375 * 0.6875, 0.375 * 0.625 + 0.25 * 0.6875]),
    ],
)
def test_the_way_of_two_matches_by_hand(rule: Interpolation, slopes: list[float]) -> None:
    found = gradients(np.array([[1.0, 2.0]]), np.array([0.5, 0.5]), np.array([0.75, 0.875]), 2, rule)
    assert found == pytest.approx(slopes, abs=1e-6)


def ranked(found: list[ImageScene], protocol: str) -> tuple[Scorer, Matches, Floats]:
    """A scorer under the shipped map, its matches, and their similarities if only exact matches of words counted."""
    truth, predictions = to_tables(found, CLASSES)
    task, options = Task(predictions, truth), SEMANTIC[protocol]
    scorer = Scorer(task, HoiSimilarity.from_task(task, load_similarity("hico-det"), options), options)
    matches = scorer.match(scorer.map_rows)
    equal, start = exact_matches(task, scorer.similarities), np.zeros(len(matches.sigma))
    hit = np.flatnonzero(matches.prediction >= 0)
    rows = matches.prediction[hit]
    start[hit] = equal.sigma(scorer.hoi[hit], predictions.verb[rows], predictions.object[rows])
    return scorer, matches, start


@pytest.mark.parametrize("protocol", ["shoe", "shoe-literal"])
@examples(2)
@given(found=comparable())
def test_gains_add_up_to_the_difference(protocol: str, found: list[ImageScene]) -> None:
    scorer, matches, start = ranked(found, protocol)
    assert (start <= matches.sigma).all()
    gains = shares_of(scorer, matches, start)
    assert (gains >= 0).all()
    assert (gains[matches.sigma == start] == 0).all()
    hits = matches.prediction[matches.prediction >= 0]
    if scorer.in_mean.any() and (scorer.task.predictions.score[hits] > 0).all():
        ends = (scorer.entries(m).scores().ap for m in (matches, replace(matches, sigma=start)))
        high, low = (float(ap[scorer.in_mean].mean()) for ap in ends)
        # Corners of the envelope between two points of the way, and drawn orders of ties, leave some of it open.
        assert gains.sum() == pytest.approx(high - low, rel=0.05, abs=1e-6)


def test_only_a_label_and_its_inflections_are_exact_matches() -> None:
    truth, predictions = to_tables([], CLASSES)
    words = replace(predictions, verbs=("riding", "gallop"), objects=("horses", "pony", "person"))
    task = Task(words, truth)
    meaning = HoiSimilarity.from_task(task, load_similarity("hico-det"), SEMANTIC["shoe"])
    equal = exact_matches(task, meaning)
    ride, horse = CLASSES.verbs.index("ride"), CLASSES.objects.index("horse")
    assert (equal.verbs.values[meaning.verb_row] == np.stack([CLASSES.verb == ride, CLASSES.verb < 0], axis=1)).all()
    nouns = [CLASSES.object == horse, CLASSES.object < 0, CLASSES.object == CLASSES.objects.index("person")]
    assert (equal.objects.values[meaning.object_row] == np.stack(nouns, axis=1)).all()
