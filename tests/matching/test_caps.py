"""Who stays when an image has too many predictions, as GEN-VLKT's evaluator has it."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoe.matching.caps import best_with_first_copies

rows = st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.1, 0.5, 0.9])), max_size=30)


def columns(entries: list[tuple[int, float]]) -> tuple[np.ndarray, np.ndarray]:
    entries = sorted(entries, key=lambda entry: entry[0])
    return np.array([g for g, _ in entries], np.int64), np.array([s for _, s in entries])


@given(rows, st.integers(1, 5))
def test_first_copies_take_the_first_row_of_each_value(entries: list[tuple[int, float]], most: int) -> None:
    image, score = columns(entries)
    expected = []
    for i in range(4):
        of_image = [k for k in range(len(image)) if image[k] == i]
        values = sorted((score[k] for k in of_image), reverse=True)[:most]
        expected += [next(k for k in of_image if score[k] == value) for value in values]
    assert best_with_first_copies(image, score, most).tolist() == expected
