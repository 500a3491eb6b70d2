"""Best pairs first, in rounds and pair by pair: taking the best pair of all again and again."""

import numpy as np
from hypothesis import given, strategies as st

from shoe.scoring.matching.assignment import best_first
from tests.examples import examples


@examples(2)
@given(st.integers(0, 1 << 32))
def test_crowds_of_equal_triplets_are_matched_as_if_the_best_pair_were_taken_again_and_again(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs, merits = [], []
    for image in range(3):
        truths, predictions = rng.integers(8, 28, 2)
        truth, prediction = np.nonzero(rng.random((truths, predictions)) < rng.choice([0.7, 1.0]))
        kinds = rng.integers(0, rng.integers(1, 4), 28), rng.integers(0, rng.integers(1, 4), 28)
        pairs.append(np.stack([truth, prediction]) + 28 * image)
        merits.append(rng.integers(0, 2, (2, 4, 4))[:, kinds[0][truth], kinds[1][prediction]].astype(float))
    (truth, prediction), (first, then) = np.concatenate(pairs, axis=1), np.concatenate(merits, axis=1)
    rank = rng.permutation(84), rng.permutation(84)

    left = sorted(range(len(truth)), key=lambda c: (-first[c], -then[c], rank[0][truth[c]], rank[1][prediction[c]]))
    expected = []
    while left:
        best = left[0]
        expected.append(best)
        left = [c for c in left if truth[c] != truth[best] and prediction[c] != prediction[best]]
    found = best_first(truth, prediction, [first, then], rank[0].__getitem__, rank[1].__getitem__)
    assert found.tolist() == sorted(expected)
