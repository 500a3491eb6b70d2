from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import pairs
from shoe.benchmarks.pairs import (
    distinct_pairs,
    exact_duplicates,
    merge_pairs,
    overlapping_triplets,
    single_pair_images,
)
from shoe.benchmarks.truth import read_truth_file
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions, concatenate
from tests.benchmarks.samples import INSTANCES
from tests.tables import one_triplet, tables


def _iou(a: list[float], b: list[float], one: int) -> float:
    """Overlap by the book; ``one`` is 1 where numbers are indices of pixels."""
    width = min(a[2], b[2]) - max(a[0], b[0]) + one
    height = min(a[3], b[3]) - max(a[1], b[1]) + one
    shared = max(width, 0) * max(height, 0)
    areas = [(box[2] - box[0] + one) * (box[3] - box[1] + one) for box in (a, b)]
    return shared / (sum(areas) - shared)


def _overlapping(table: Interactions, label: list[int], iou: float) -> list[tuple[int, int]]:
    found = []
    for i in range(len(table)):
        for j in range(i):
            one = int(table.coordinates[table.image[i]] != Coordinates.CONTINUOUS)
            boxes = [(b[i].tolist(), b[j].tolist()) for b in (table.human_boxes, table.object_boxes)]
            same = table.image[i] == table.image[j] and label[i] == label[j]
            if same and all(_iou(a, b, one) >= iou for a, b in boxes):
                found.append((i, j))
    return found


@st.composite
def _crowded(draw: st.DrawFn) -> Interactions:
    """Tables whose boxes overlap: few coordinates, all frames."""
    parts = []
    edge = st.integers(0, 3)
    for number in range(draw(st.integers(1, 3))):
        frame = draw(st.sampled_from(Coordinates))
        n = draw(st.integers(0, 7))
        corner = [[draw(edge) for _ in range(4)] for _ in range(n)]
        side = 1 if frame == Coordinates.CONTINUOUS else 0
        extent = [[draw(st.integers(side, 3)) for _ in range(4)] for _ in range(n)]
        boxes = [[x, y, x + w, y + h] for (x, y, *_), (w, h, *_) in zip(corner, extent, strict=True)]
        others = [[x, y, x + w, y + h] for (*_, x, y), (*_, w, h) in zip(corner, extent, strict=True)]
        verb, noun = ([draw(st.integers(0, 1)) for _ in range(n)] for _ in range(2))
        words: dict[str, Any] = {"verb": verb, "object": noun, "verbs": ["v", "w"], "objects": ["o", "p"]}
        table = {"images": [str(number)], "image": [0] * n, "human_boxes": boxes, "object_boxes": others}
        parts.append(Interactions.from_columns(**words | table, coordinates=frame))
    return concatenate(parts)


@given(_crowded(), st.sampled_from([0.0, 0.25, 0.5, 0.8, 1.0]), st.sampled_from([1, 3, 1 << 19]))
def test_overlaps_are_those_of_a_plain_loop(table: Interactions, iou: float, at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairs, "CANDIDATES_AT_ONCE", at_once)
        later, earlier = overlapping_triplets(table, table.object, iou)
    assert list(zip(later.tolist(), earlier.tolist(), strict=True)) == _overlapping(table, table.object.tolist(), iou)


@given(_crowded(), st.sampled_from([0.25, 0.5, 0.8, 1.0]))
def test_merging_is_that_of_a_plain_loop(table: Interactions, iou: float) -> None:
    near = set(_overlapping(table, table.object.tolist(), iou))
    leaders: list[int] = []
    expected = []
    for i in range(len(table)):
        expected.append(next((j for j in leaders if (i, j) in near), i))
        if expected[-1] == i:
            leaders.append(i)
    assert merge_pairs(table, iou).tolist() == expected


@given(tables())
def test_a_triplet_overlaps_its_own_copy(table: Interactions) -> None:
    twice = concatenate([table, table])
    assert distinct_pairs(twice) == distinct_pairs(table)
    assert exact_duplicates(twice).sum() == len(table) + exact_duplicates(table).sum()
    assert len(np.unique(merge_pairs(twice, 0.5))) == len(np.unique(merge_pairs(table, 0.5)))


def test_a_repeat_has_the_same_words_and_boxes_in_the_same_image() -> None:
    changes: list[dict[str, Any]] = [
        *({"verbs": ["ride", "hug"]}, {"verbs": ["hug"]}, {"images": ["b.jpg"]}, {"objects": ["dog"]}),
        *({"human_boxes": [[0, 0, 10, 21]]}, {"score": [0.5]}),
    ]
    table = concatenate([one_triplet(**change) for change in changes])
    assert exact_duplicates(table).tolist() == [False, False, False, False, True, False]
    assert distinct_pairs(table) == 4


def test_pixels_count_as_wide_as_they_are() -> None:
    """Two boxes of 2 x 1 pixels that share one: 1/3. As continuous boxes of the same numbers they share nothing."""
    left, right = ({"human_boxes": [box], "object_boxes": [box]} for box in ([1, 1, 2, 1], [2, 1, 3, 1]))
    table = concatenate([one_triplet(coordinates=Coordinates.PIXELS_1, **boxes) for boxes in (left, right)])
    assert len(overlapping_triplets(table, table.object, 1 / 3)[0]) == 1
    assert len(overlapping_triplets(table, table.object, 0.34)[0]) == 0


def test_images_of_one_pair_in_the_sample() -> None:
    truth = read_truth_file(INSTANCES)
    table = truth.interactions
    chosen, counts = single_pair_images(table), np.diff(table.offsets)
    assert chosen.sum() == 10
    listed, found = (truth.subset(name).interactions.images for name in ("single-hoi", "single-pair"))
    assert listed == found == tuple(np.array(table.images)[chosen])  # the shipped list is what the rule finds
    assert not chosen[counts == 0].any()
    assert chosen[counts == 1].all()
    assert single_pair_images(table, iou=0.5).sum() >= chosen.sum()


@pytest.mark.real_data
def test_the_real_test_set_has_the_known_pairs_and_the_single_pair_subset_575_classes(shared_data: Path) -> None:
    """Pixels counted (+1), overlap >= 0.5, greedy in file order, per object: protocols of this project, section 15."""
    truth = read_truth_file(shared_data / "hico_det" / "instances_test2015.json")
    table = truth.interactions
    assert len(np.unique(merge_pairs(table, 0.5))) == 22012
    assert len(np.unique(overlapping_triplets(table, truth.hoi, 0.5)[0])) == 144
    assert not exact_duplicates(table).any()
    assert distinct_pairs(table) == 33405
    chosen = single_pair_images(table)
    assert (chosen.sum(), len(np.unique(truth.hoi[chosen[table.image]]))) == (3920, 575)
    # The list that is shipped, by the images' names.
    part = truth.subset("single-hoi")
    assert part.interactions.images == truth.subset("single-pair").interactions.images
    assert part.split == "test2015/single-hoi"
    assert sha256("\n".join(part.interactions.images).encode()).hexdigest()[:8] == "0e947958"
