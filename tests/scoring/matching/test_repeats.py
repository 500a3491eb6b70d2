"""Exact repeats, found by hash and proven in full."""

import numpy as np
from hypothesis import given, strategies as st

from shoe.core.interactions import Interactions
from shoe.scoring.matching.repeats import repeated

rows = st.lists(
    st.tuples(
        st.integers(0, 2),
        st.sampled_from([0.0, -0.0, 1.0]),
        st.sampled_from([5.0, 6.0]),
        st.integers(0, 1),
        st.integers(0, 1),
        st.sampled_from([0.25, 0.5]),
    ),
    max_size=25,
)


@given(rows, st.data())
def test_agrees_with_comparing_all_pairs(
    entries: list[tuple[int, float, float, int, int, float]], data: st.DataObject
) -> None:
    entries = sorted(entries, key=lambda entry: entry[0])
    table = Interactions.from_columns(
        images=["a", "b", "c"],
        image=[e[0] for e in entries],
        human_boxes=[[e[1], 0, 5, e[2]] for e in entries],
        object_boxes=[[0, 0, 5, e[2]] for e in entries],
        verb=[e[3] for e in entries],
        object=[e[4] for e in entries],
        score=[e[5] for e in entries],
        verbs=["hold", "ride"],
        objects=["horse", "pony"],
    )
    chosen = sorted(data.draw(st.sets(st.integers(0, len(entries) - 1)))) if entries else []
    best: dict[tuple[int, float, float, int, int], int] = {}
    for i in sorted(chosen, key=lambda i: (-entries[i][5], i)):
        best.setdefault(entries[i][:5], i)
    expected = [i for i in chosen if i not in best.values()]
    assert repeated(table, np.array(chosen, np.int64)).tolist() == expected
