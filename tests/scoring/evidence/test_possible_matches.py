"""What may come of a matching, against all that does come of it when similarities are drawn within their bounds."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.arrays import Floats, Indices
from shoe.scoring.evidence.bounds import Outcomes, best_pairs_first
from shoe.scoring.matching.assignment import best_first, in_order
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
        prediction_image = np.repeat(np.arange(len(sizes)), sizes[:, 1])
        self.score = rng.choice([0.5, 0.5, 0.9], len(prediction_image))
        self.word = rng.integers(0, 3, len(prediction_image))
        near = (self.image[:, None] == prediction_image) & (rng.random((len(self.image), len(prediction_image))) < 0.8)
        truth, prediction = np.nonzero(near)
        self.pairs = Overlaps(truth, prediction, *np.ones((2, len(truth))))
        bounds = np.sort(rng.choice(QUARTERS, (len(self.image), 3, 2)), axis=2)
        bounds[rng.random(bounds.shape[:2]) < 0.3, 1] = 1
        self.low, self.high = bounds[truth, self.word[prediction]].T
        self.rng = rng

    def drawn(self) -> Floats:
        """Similarities within the bounds; equal for equal words of one ground truth."""
        draw = self.rng.choice(QUARTERS, (len(self.image), 3))[self.pairs.truth, self.word[self.pairs.prediction]]
        return np.asarray(np.clip(draw, self.low, self.high), np.float64)

    def outcomes(self) -> Outcomes:
        rank = np.empty(len(self.low), np.int64)
        score = self.score[self.pairs.prediction]
        rank[in_order([score], self.pairs.truth, self.pairs.prediction, by_row, by_row)] = np.arange(len(rank))[::-1]
        kind = 3 * self.pairs.truth + self.word[self.pairs.prediction]
        return best_pairs_first(self.pairs, self.low, self.high, rank, kind, len(self.image), len(self.score))

    def matched(self, sigma: Floats) -> Indices:
        """Indices of the pairs that these similarities match; equal similarities are decided by the score."""
        score = self.score[self.pairs.prediction]
        return best_first(self.pairs.truth, self.pairs.prediction, [sigma, score], by_row, by_row)


@given(st.integers(0, 1 << 32))
def test_nothing_happens_that_was_not_expected(seed: int) -> None:
    case = Case(seed)
    expected = case.outcomes()
    for _ in range(8):
        sigma = case.drawn()
        chosen = case.matched(sigma)
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
    expected = case.outcomes()
    chosen = case.matched(case.low)
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
    found = best_pairs_first(pairs, np.array(low), np.array(high), rank, np.array(words), 1, 2)
    out = [not may for may in possible]
    assert (found.possible.tolist(), found.sure.tolist(), found.least.tolist()) == (possible, [True], [max(low)])
    assert found.surely_unmatched.tolist() == out
    assert found.maybe_unmatched.tolist() == (out if sum(possible) == 1 else [True, True])
