"""Changed parts of right files are reported: exchanged labels, stretched boxes, boxes in another convention."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.interactions import Interactions
from shoe.predictions.boxes.check import check_box_convention
from shoe.predictions.numbering import check_numbering
from tests.predictions import weak
from tests.predictions.reading import missing

pytestmark = pytest.mark.real_data


@pytest.fixture(scope="module")
def annotated(shared_data: Path) -> GroundTruth:
    return read_truth_file(shared_data / "hico_det" / "instances_test2015.json")


@pytest.fixture(scope="module")
def truth(annotated: GroundTruth) -> GroundTruth:
    return replace(annotated, interactions=weak.part(annotated.interactions, np.random.default_rng(5), 400))


@pytest.fixture(scope="module")
def table(truth: GroundTruth) -> Interactions:
    return weak.detector(
        truth.interactions, np.random.default_rng(7), jitter=0.03, wrong_verb=0.1, wrong_object=0.02, extra=0.3, knows=3
    )


def lines(table: Interactions, truth: GroundTruth) -> list[str]:
    return [*check_box_convention(table, truth.interactions).lines(), *check_numbering(table, truth, None)]


@pytest.mark.parametrize("part", ["verb", "object"])
@pytest.mark.parametrize("ranks", [(0, 1), (2, 5), (4, 8)])
def test_two_exchanged_labels_are_named(
    table: Interactions, truth: GroundTruth, part: str, ranks: tuple[int, int]
) -> None:
    """Ranks by frequency; verbs that most annotations share, as ride and straddle, are not told apart."""
    column, words = (table.verb, table.verbs) if part == "verb" else (table.object, table.objects)
    first, second = np.argsort(-np.bincount(column))[[*ranks]].tolist()
    order = np.arange(len(words))
    order[[first, second]] = second, first
    changed = {part: order[column].astype(np.int32)}
    (line,) = lines(replace(table, **changed), truth)  # type: ignore[arg-type]
    assert all(repr(words[label]) in line for label in (first, second))


def union(human: np.ndarray, target: np.ndarray) -> np.ndarray:
    return np.hstack([np.minimum(human[:, :2], target[:, :2]), np.maximum(human[:, 2:], target[:, 2:])])


@pytest.mark.parametrize("kind", ["human", "object"])
@pytest.mark.parametrize("area", ["both boxes", "the whole image"])
def test_stretched_boxes_are_reported(table: Interactions, truth: GroundTruth, kind: str, area: str) -> None:
    size = truth.interactions.sizes[table.image].astype(float)
    areas = {"both boxes": union(table.human_boxes, table.object_boxes)}
    areas["the whole image"] = np.hstack([np.zeros_like(size), size])
    (line,) = lines(replace(table, **{f"{kind}_boxes": areas[area]}), truth)  # type: ignore[arg-type]
    assert line.startswith(f"boxes: 100% of the {kind} boxes ")
    assert f" cover {area}" in line


@pytest.mark.parametrize("convention", ["unit", "thousand", "resized:shorter=800"])
def test_a_tenth_of_the_triplets_in_another_convention_is_reported(
    table: Interactions, truth: GroundTruth, convention: str
) -> None:
    size = truth.interactions.sizes[table.image].astype(float)
    factors: dict[str, Callable[[], np.ndarray]] = {
        "unit": lambda: 1 / np.tile(size, 2),
        "thousand": lambda: 1000 / np.tile(size, 2),
        "resized:shorter=800": lambda: 800 / size.min(axis=1, keepdims=True),
    }
    other = np.random.default_rng(0).random((len(table), 1)) < 0.1
    human, target = (
        np.where(other, boxes * factors[convention](), boxes) for boxes in (table.human_boxes, table.object_boxes)
    )
    found = lines(replace(table, human_boxes=human, object_boxes=target), truth)
    assert missing(found[0], "mix conventions", f"read as {convention}") == []


@pytest.mark.parametrize(
    ("seed", "count"), [(0, 12), *(pytest.param(seed, 40, marks=pytest.mark.slow) for seed in range(1, 5))]
)
def test_nothing_is_said_of_right_files_of_any_quality(annotated: GroundTruth, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        images = int(rng.choice([15, 40, 120, 300, 800, 2000]))
        truth = replace(annotated, interactions=weak.part(annotated.interactions, rng, images))
        table = weak.detector(truth.interactions, rng, **weak.random_quality(rng))
        assert [line for line in lines(table, truth) if "no other known" not in line] == []
