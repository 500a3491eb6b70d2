"""The box doctor finds each planted convention, and says nothing about boxes that are what they seem."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoe.arrays import Floats
from shoe.datasets.hico_det import read_ground_truth
from shoe.demo import PREDICTIONS, TRUTH
from shoe.frames import Frame
from shoe.interactions import Interactions
from shoe.predictions import read_predictions
from shoe.predictions.boxes import Convention, ordered, parse_convention
from shoe.predictions.doctor import AS_READ, CANDIDATES, examine_boxes

TRUTH_TABLE = read_ground_truth(TRUTH).interactions
SIZES = {name: (int(w), int(h)) for name, (w, h) in zip(TRUTH_TABLE.images, TRUTH_TABLE.sizes, strict=True)}
MODELS = {name: read_predictions(path, sizes=SIZES) for name, path in PREDICTIONS.items()}


def numbers_of(boxes: Floats, sizes: Floats, convention: Convention) -> Floats:
    """What a file in a convention would hold, by undoing the convention on the four unit changes of a box."""
    zero = np.zeros((len(boxes), 4))
    change = np.stack([convention.converted(zero + unit, sizes) for unit in np.eye(4)], axis=1)
    numbers: Floats = np.linalg.solve(change.transpose(0, 2, 1), boxes[..., None])[..., 0].astype(np.float64)
    return numbers


def planted(table: Interactions, convention: Convention) -> Interactions:
    """The table that a file in a convention becomes when it is read as corners, as far as that is possible."""
    sizes = table.sizes[table.image].astype(np.float64)
    human, target = (numbers_of(boxes, sizes, convention) for boxes in (table.human_boxes, table.object_boxes))
    kept = ordered(human, Frame.CONTINUOUS) & ordered(target, Frame.CONTINUOUS)
    return replace(table, human_boxes=human, object_boxes=target).select(kept)


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_said_about_boxes_that_are_right(model: str) -> None:
    report = examine_boxes(MODELS[model], TRUTH_TABLE)
    assert report.lines() == []
    assert report.fits[0].convention == AS_READ
    assert report.fits[0].hits > 0.5


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("convention", CANDIDATES, ids=str)
def test_each_planted_convention_is_found(model: str, convention: Convention) -> None:
    report = examine_boxes(planted(MODELS[model], convention), TRUTH_TABLE)
    assert report.better is not None
    assert report.better.convention == str(convention)
    assert report.verdict is not None
    assert f"--boxes {convention}" in report.verdict
    assert f"{report.fits[0].hits:.0%} overlap" in report.verdict
    assert f"{report.better.hits:.0%} would" in report.verdict


def test_boxes_without_size_are_reported() -> None:
    tiny = planted(MODELS["free text"], parse_convention("unit"))
    lines = examine_boxes(tiny, TRUTH_TABLE).lines()
    assert lines[-1] == "boxes: 100% of the triplets have boxes that are less than a pixel wide or high"


def _random_boxes(rng: np.random.Generator, sizes: Floats, low: float, high: float) -> Floats:
    extent = rng.uniform(low, high, (len(sizes), 2))
    corner = rng.random((len(sizes), 2)) * (1 - extent)
    return np.concatenate([corner, corner + extent], axis=1) * np.tile(sizes, 2)


def bad_boxes(kind: str, rng: np.random.Generator, boxes: Floats, sizes: Floats) -> Floats:
    """Boxes of a detector that is bad in some way, but means what it says."""
    middle, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
    corner = np.zeros_like(sizes)
    match kind:
        case "anywhere":
            return _random_boxes(rng, sizes, 0.05, 0.9)
        case "small":
            return _random_boxes(rng, sizes, 0.05, 0.2)
        case "whole image":
            return np.concatenate([corner, sizes], axis=1)
        case "middle":
            return np.concatenate([sizes / 4, sizes * 3 / 4], axis=1)
        case "halves":
            return np.concatenate([middle - half / 2, middle + half / 2], axis=1)
        case "doubles":
            return np.concatenate([np.maximum(middle - 2 * half, 0), np.minimum(middle + 2 * half, sizes)], axis=1)
        case "noisy":
            spread = np.tile(half, 2) * 2 * rng.uniform(0.1, 0.6)
            moved = boxes + rng.normal(0, 1, boxes.shape) * spread
            return np.concatenate([np.minimum(moved[:, :2], moved[:, 2:] - 2), moved[:, 2:]], axis=1)
        case _:
            return np.concatenate([middle - half + 0.25 * half, middle + half + 0.25 * half], axis=1)


KINDS = ["anywhere", "small", "whole image", "middle", "halves", "doubles", "noisy", "shifted"]


@settings(max_examples=120, deadline=None)
@given(st.sampled_from(KINDS), st.sampled_from(sorted(MODELS)), st.integers(0, 2**32))
def test_no_other_convention_is_named_for_a_bad_detector(kind: str, model: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = MODELS[model]
    sizes = table.sizes[table.image].astype(np.float64)
    human, target = (bad_boxes(kind, rng, b, sizes) for b in (table.human_boxes, table.object_boxes))
    few = np.sort(rng.choice(len(TRUTH_TABLE.images), rng.integers(20, 200), replace=False))
    bad = replace(table, human_boxes=human, object_boxes=target)
    names = {TRUTH_TABLE.images[i] for i in few}
    bad = bad.select_images(np.array([name in names for name in bad.images]))
    assert examine_boxes(bad, TRUTH_TABLE).verdict is None


def test_truth_as_predictions_is_right_in_its_own_frame() -> None:
    report = examine_boxes(TRUTH_TABLE, TRUTH_TABLE)
    assert report.lines() == []
    assert report.fits[0].mean_iou == 1


def test_without_sizes_only_the_layouts_are_compared() -> None:
    unknown = replace(TRUTH_TABLE, sizes=np.zeros_like(TRUTH_TABLE.sizes))
    predictions = replace(MODELS["detector"], sizes=np.zeros_like(MODELS["detector"].sizes))
    report = examine_boxes(predictions, unknown)
    assert [fit.convention for fit in report.fits] == [AS_READ, "xywh", "cxcywh", "yxyx"]


def test_predictions_without_a_known_image_say_nothing() -> None:
    table = MODELS["detector"]
    strange = replace(table, images=tuple(f"x{name}" for name in table.images))
    for nothing in (strange, table.select(np.zeros(len(table), bool)), table.select_images(np.zeros(0, np.int64))):
        report = examine_boxes(nothing, TRUTH_TABLE)
        assert (report.images, report.fits, report.lines()) == (0, (), [])


def test_the_same_predictions_get_the_same_report() -> None:
    assert examine_boxes(MODELS["detector"], TRUTH_TABLE) == examine_boxes(MODELS["detector"], TRUTH_TABLE)
