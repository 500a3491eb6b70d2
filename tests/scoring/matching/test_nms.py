"""Pair-wise suppression against a plain loop."""

from math import sqrt

import numpy as np
from hypothesis import given, strategies as st

from shoe.core.interactions import Interactions
from shoe.scoring.matching.repeats import pair_nms
from tests.oracles.boxes import Box, iou_pixels

corner = st.integers(0, 3)
rows = st.lists(
    st.tuples(st.integers(0, 1), corner, corner, st.integers(0, 1), st.sampled_from([0.2, 0.5, 0.9])), max_size=14
)


def plain(entries: list[tuple[int, int, int, int, float]], threshold: float) -> list[int]:
    kept: list[int] = []
    for i in sorted(range(len(entries)), key=lambda i: (-entries[i][4], i)):
        image, x, y, verb, _ = entries[i]
        others = [entries[k] for k in kept if (entries[k][0], entries[k][3]) == (image, verb)]
        human = [iou_pixels(human_box(x), human_box(other[1])) for other in others]
        thing = [iou_pixels(object_box(y), object_box(other[2])) for other in others]
        if all(h * sqrt(o) <= threshold for h, o in zip(human, thing, strict=True)):
            kept.append(i)
    return sorted(kept)


def human_box(x: int) -> Box:
    return (float(x), 0.0, x + 7.0, 9.0)


def object_box(y: int) -> Box:
    return (2.0, float(y), 12.0, y + 5.0)


@given(rows, st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]))
def test_agrees_with_a_plain_loop(entries: list[tuple[int, int, int, int, float]], threshold: float) -> None:
    entries = sorted(entries, key=lambda entry: entry[0])
    table = Interactions.from_columns(
        images=["a", "b"],
        image=[e[0] for e in entries],
        human_boxes=[human_box(e[1]) for e in entries],
        object_boxes=[object_box(e[2]) for e in entries],
        verb=[e[3] for e in entries],
        object=[0] * len(entries),
        score=[e[4] for e in entries],
        verbs=["hold", "ride"],
        objects=["horse"],
    )
    assert pair_nms(table, np.arange(len(entries)), threshold).tolist() == plain(entries, threshold)
