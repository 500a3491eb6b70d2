"""Rules of matching: best pairs first, and repeats."""

from math import sqrt

import numpy as np
from hypothesis import given, strategies as st

from shoe.core.interactions import Interactions
from shoe.scoring.matching.assignment import best_first
from shoe.scoring.matching.repeats import pair_nms, repeated
from tests.examples import examples
from tests.oracles.boxes import Box, iou_pixels


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


Row = tuple[int, tuple[Box, Box], int, int, float]
"""Image, boxes, verb, object, score."""


def rows(images: int, boxes: st.SearchStrategy[tuple[Box, Box]], *scores: float) -> st.SearchStrategy[list[Row]]:
    word = st.integers(0, 1)
    row = st.tuples(st.integers(0, images - 1), boxes, word, word, st.sampled_from(scores))
    return st.lists(row, max_size=25).map(lambda found: sorted(found, key=lambda each: each[0]))


def table_of(found: list[Row]) -> Interactions:
    return Interactions.from_columns(
        images=["a", "b", "c"],
        image=[row[0] for row in found],
        human_boxes=[row[1][0] for row in found],
        object_boxes=[row[1][1] for row in found],
        verb=[row[2] for row in found],
        object=[row[3] for row in found],
        score=[row[4] for row in found],
        verbs=["hold", "ride"],
        objects=["horse", "pony"],
    )


def equal_or_not(x: float, y: float) -> tuple[Box, Box]:
    return (x, 0.0, 5.0, y), (0.0, 0.0, 5.0, y)


def beside(x: int, y: int) -> tuple[Box, Box]:
    return (float(x), 0.0, x + 7.0, 9.0), (2.0, float(y), 12.0, y + 5.0)


copies = st.builds(equal_or_not, st.sampled_from([0.0, -0.0, 1.0]), st.sampled_from([5.0, 6.0]))
neighbours = st.builds(beside, st.integers(0, 3), st.integers(0, 3))


@given(rows(3, copies, 0.25, 0.5), st.data())
def test_repeats_agree_with_comparing_all_pairs(found: list[Row], data: st.DataObject) -> None:
    chosen = sorted(data.draw(st.sets(st.integers(0, len(found) - 1)))) if found else []
    best: dict[object, int] = {}
    for i in sorted(chosen, key=lambda i: (-found[i][4], i)):
        best.setdefault(found[i][:4], i)
    expected = [i for i in chosen if i not in best.values()]
    assert repeated(table_of(found), np.array(chosen, np.int64)).tolist() == expected


@given(rows(2, neighbours, 0.2, 0.5, 0.9), st.sampled_from([0.0, 0.3, 0.5, 0.7, 1.0]))
def test_suppression_agrees_with_a_plain_loop(found: list[Row], threshold: float) -> None:
    kept: list[int] = []
    for i in sorted(range(len(found)), key=lambda i: (-found[i][4], i)):
        human, thing = found[i][1]
        others = [found[k][1] for k in kept if (found[k][0], *found[k][2:4]) == (found[i][0], *found[i][2:4])]
        if all(iou_pixels(human, h) * sqrt(iou_pixels(thing, o)) <= threshold for h, o in others):
            kept.append(i)
    assert pair_nms(table_of(found), np.arange(len(found)), threshold).tolist() == sorted(kept)
