"""Who stays when an image, or a class, has too many predictions."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoe.core.ragged import best_of_each
from shoe.matching.caps import best_with_first_copies

rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.5, 0.9])), max_size=30)


def columns(entries: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    entries = sorted(entries, key=lambda entry: entry[0])
    return np.array([g for g, _ in entries], np.int64), np.array([s for _, s in entries])


@given(rows, st.integers(1, 5), st.booleans())
def test_best_of_each_is_a_sort_and_a_cut(entries: list[tuple[int, float]], most: int, reverse: bool) -> None:
    group, score = columns(entries)
    expected = []
    for g in range(4):
        of_group = [i for i in range(len(group)) if group[i] == g]
        of_group.sort(key=lambda i: (-score[i], -i if reverse else i))
        expected += of_group[:most]
    assert best_of_each(group, score, most, reverse_ties=reverse).tolist() == sorted(expected)


@given(rows, st.integers(1, 5))
def test_first_copies_take_the_first_row_of_each_value(entries: list[tuple[int, float]], most: int) -> None:
    image, score = columns(entries)
    expected = []
    for i in range(4):
        of_image = [k for k in range(len(image)) if image[k] == i]
        values = sorted((score[k] for k in of_image), reverse=True)[:most]
        expected += [next(k for k in of_image if score[k] == value) for value in values]
    assert best_with_first_copies(image, score, most).tolist() == expected
