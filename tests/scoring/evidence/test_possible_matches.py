"""What may come of a matching, against all that does come of it when similarities are drawn within their bounds."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.scoring_options import Assign
from shoe.core.arrays import Floats, Indices, Mask
from shoe.scoring.evidence.bounds import Outcomes, any_maximal, best_pairs_first
from shoe.scoring.matching.assignment import assign, best_first, in_order
from shoe.scoring.matching.task import Overlaps

QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)


def by_row(rows: Indices) -> Indices:
    return rows


class Case:
    """Candidates of a few images, with bounds of the similarity of each word to each ground truth."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 4, size=(rng.integers(1, 4), 2))
        self.image = np.repeat(np.arange(len(sizes)), sizes[:, 0])
        self.turn = np.concatenate([np.arange(n) for n in sizes[:, 0]])
        prediction_image = np.repeat(np.arange(len(sizes)), sizes[:, 1])
        self.score = rng.choice([0.5, 0.5, 0.9], len(prediction_image))
        self.word = rng.integers(0, 3, len(prediction_image))
        near = (self.image[:, None] == prediction_image) & (rng.random((len(self.image), len(prediction_image))) < 0.8)
        truth, prediction = np.nonzero(near)
        self.pairs = Overlaps(truth, prediction, *np.ones((2, len(truth))))
        bounds = np.sort(rng.choice(QUARTERS, (len(self.image), 3, 2)), axis=2)
        bounds[rng.random(bounds.shape[:2]) < 0.3, 1] = 1
        self.low, self.high = bounds[truth, self.word[prediction]].T
        self.floor = rng.choice([-1.0, 0.0, 0.5])
        self.rng = rng

    def drawn(self) -> Floats:
        """Similarities within the bounds; equal for equal words of one ground truth."""
        draw = self.rng.choice(QUARTERS, (len(self.image), 3))[self.pairs.truth, self.word[self.pairs.prediction]]
        return np.asarray(np.clip(draw, self.low, self.high), np.float64)

    def may(self, sigma: Floats) -> Mask:
        return np.asarray(sigma > self.floor, bool)

    def outcomes(self, method: Assign) -> Outcomes:
        kept = self.may(self.high)
        pairs, low, high = self.pairs.select(kept), self.low[kept], self.high[kept]
        sizes = len(self.image), len(self.score)
        if method != "best-first":
            found = any_maximal(pairs, low, self.may(low), *sizes)
        else:
            rank = np.empty(len(low), np.int64)
            order = in_order([self.score[pairs.prediction]], pairs.truth, pairs.prediction, by_row, by_row)
            rank[order] = np.arange(len(low))[::-1]
            kind = 3 * pairs.truth + self.word[pairs.prediction]
            found = best_pairs_first(pairs, low, high, self.may(low), rank, kind, *sizes)
        possible = np.zeros(len(self.low), bool)
        possible[kept] = found.possible
        return replace(found, possible=possible)

    def matched(self, sigma: Floats, method: Assign) -> Indices:
        """Indices of the pairs that these similarities match; equal similarities are decided by the score."""
        kept = np.flatnonzero(self.may(sigma))
        pairs = self.pairs.select(kept)
        score = self.score[pairs.prediction]
        if method == "best-first":
            return kept[best_first(pairs.truth, pairs.prediction, [sigma[kept], score], by_row, by_row)]
        return kept[assign(pairs.truth, pairs.prediction, sigma[kept], score, self.image, self.turn, score, method)]


@given(st.integers(0, 1 << 32), st.sampled_from(["greedy-gt", "best-first", "hungarian", "confidence"]))
def test_nothing_happens_that_was_not_expected(seed: int, method: Assign) -> None:
    case = Case(seed)
    expected = case.outcomes(method)
    for _ in range(8):
        sigma = case.drawn()
        chosen = case.matched(sigma, method)
        truths, taken = case.pairs.truth[chosen], case.pairs.prediction[chosen]
        assert expected.possible[chosen].all()
        assert np.isin(np.flatnonzero(expected.sure), truths).all()
        assert np.isin(np.flatnonzero(~expected.maybe_unmatched), taken).all()
        assert not expected.surely_unmatched[taken].any()
        assert (sigma[chosen] >= expected.least[truths]).all()


@given(st.integers(0, 1 << 32))
def test_what_is_known_is_expected_and_nothing_else(seed: int) -> None:
    case = Case(seed)
    case.high = case.low
    expected = case.outcomes("best-first")
    chosen = case.matched(case.low, "best-first")
    assert np.flatnonzero(expected.possible).tolist() == chosen.tolist()
    np.testing.assert_array_equal(expected.maybe_unmatched, expected.surely_unmatched)
    assert np.flatnonzero(expected.sure).tolist() == case.pairs.truth[chosen].tolist()
    np.testing.assert_array_equal(expected.least[case.pairs.truth[chosen]], case.low[chosen])


@pytest.mark.parametrize(
    ("low", "high", "words", "scores", "possible"),
    [
        ([0.5, 0.0], [0.5, 0.25], [0, 1], [0.5, 0.9], [True, False]),  # worse in any case
        ([0.5, 0.0], [0.5, 0.5], [0, 1], [0.5, 0.5], [True, False]),  # at best as good, and later in the file
        ([0.5, 0.0], [0.5, 0.5], [0, 1], [0.5, 0.9], [True, True]),  # at best as good, but more confident
        ([0.0, 0.0], [1.0, 1.0], [0, 1], [0.5, 0.5], [True, True]),
        ([0.0, 0.0], [1.0, 1.0], [0, 0], [0.5, 0.9], [False, True]),  # the same words: equal whatever they are
    ],
)
def test_who_may_win_one_ground_truth(
    low: list[float], high: list[float], words: list[int], scores: list[float], possible: list[bool]
) -> None:
    pairs, rank = Overlaps(np.zeros(2, np.int64), np.arange(2), *np.ones((2, 2))), np.empty(2, np.int64)
    rank[np.lexsort((-np.arange(2), np.array(scores)))] = np.arange(2)
    bounds = np.array(low), np.array(high), np.ones(2, bool)
    found = best_pairs_first(pairs, *bounds, rank, np.array(words), 1, 2)
    out = [not may for may in possible]
    assert (found.possible.tolist(), found.sure.tolist(), found.least.tolist()) == (possible, [True], [max(low)])
    assert found.surely_unmatched.tolist() == out
    assert found.maybe_unmatched.tolist() == (out if sum(possible) == 1 else [True, True])
