"""The sampler: what Algorithm 1 says, and how it ends."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.scoring.bongard.build import Pool, Sampling, sample
from tests.examples import examples
from tests.oracles import bongard as literal

sizes = st.lists(st.integers(1, 3), min_size=6, max_size=30)


def pools(*counts: list[int]) -> tuple[list[Pool], list[list[list[int]]]]:
    """Two pools with so many regions in each image, and the same as lists."""
    made, lists, first = [], [], 0
    for of in counts:
        image = np.repeat(np.arange(len(of)), of)
        regions = first + np.arange(len(image))
        shuffled = np.random.default_rng(len(of)).permutation(len(image))
        made.append(Pool.from_regions(np.sort(regions[shuffled]), image))
        lists.append([regions[image == k].tolist() for k in range(len(of))])
        first += len(image)
    return made, lists


@given(sizes, sizes, st.integers(0, 9), st.integers(1, 6), st.integers(1, 8), st.integers(1, 40))
@examples(1)
def test_it_draws_what_the_algorithm_says(
    positives: list[int], negatives: list[int], seed: int, overlap: int, most: int, rejections: int
) -> None:
    (shown, others), lists = pools(positives, negatives)
    how = Sampling(seed=seed, overlap=overlap, most=most, rejections=rejections)
    found = sample("ride horse", shown, others, how)
    expected = literal.sampled("ride horse", lists[0], lists[1], seed, overlap, most, rejections)
    assert found.tolist() == [list(each) for each in expected]


@pytest.mark.slow
@pytest.mark.parametrize(("most", "rejections"), [(400, 9), (60, 400)])
def test_it_does_so_however_long_it_draws(most: int, rejections: int) -> None:
    """Until nine rejections in a row, with more of them in all; and past many candidates, most of them rejected."""
    (positives, negatives), lists = pools([2] * 14, [1] * 16)
    found = sample("x", positives, negatives, Sampling(overlap=9, most=most, rejections=rejections))
    expected = literal.sampled("x", lists[0], lists[1], 0, 9, most, rejections)
    assert found.tolist() == [list(each) for each in expected]
    assert len(found) > 7


def test_seed_and_concept_decide() -> None:
    (positives, negatives), _ = pools([1] * 20, [1] * 20)
    drawn = [
        sample(name, positives, negatives, Sampling(seed=seed, most=1)).tolist()
        for name, seed in (("a", 0), ("b", 0), ("a", 1), ("a", 0))
    ]
    assert drawn[0] == drawn[3]
    assert drawn[0] not in drawn[1:3]
