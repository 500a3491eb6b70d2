"""Files of which only a part is wrong: one kind of box, some images, boxes left out, labels, the ground truth's."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.arrays import Floats, Mask
from shoe.core.errors import flag
from shoe.core.interactions import Interactions
from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions, read_predictions_with_notes, write_predictions
from shoe.predictions.boxes.check import check_box_convention
from shoe.predictions.boxes.conventions import are_valid, parse_convention
from shoe.predictions.numbering import check_numbering
from tests.errors import input_error
from tests.predictions import weak
from tests.predictions.reading import missing

ANNOTATED = read_truth_file(TRUTH).interactions
MODEL = read_predictions(PREDICTIONS["detector"], truth=ANNOTATED)


@pytest.fixture(scope="module")
def annotated(shared_data: Path) -> GroundTruth:
    return read_truth_file(shared_data / "hico_det" / "instances_test2015.json")


def written(table: Interactions, boxes: Floats, true: str, named: str = "xyxy") -> Floats:
    sizes = table.sizes[table.image].astype(np.float64)
    return parse_convention(named).to_pixels(parse_convention(true).from_pixels(boxes, sizes), sizes)


def valid(table: Interactions) -> Interactions:
    return table.select(are_valid(table.human_boxes, 0) & are_valid(table.object_boxes, 0))  # type: ignore[arg-type]


def shifted(table: Interactions, images: Mask, step: int) -> Interactions:
    """The predictions of some images, under the name of the image ``step`` places further."""
    image = np.where(images[table.image], (table.image + step) % len(table.images), table.image)
    order = np.argsort(image, kind="stable")
    rows: dict[str, Any] = {
        name: getattr(table, name)[order] for name in ("human_boxes", "object_boxes", "verb", "object", "score")
    }
    return replace(table, **rows, offsets=np.searchsorted(image[order], np.arange(len(table.images) + 1)))


@pytest.mark.parametrize("true", ["xywh", "cxcywh", "thousand"])
@pytest.mark.parametrize("part", ["human", "object"])
@pytest.mark.parametrize("named", ["xyxy", "true"])
def test_the_convention_of_each_kind_is_named(true: str, part: str, named: str) -> None:
    applied = true if named == "true" else "xyxy"
    kinds = {"human": "xyxy", "object": "xyxy"} | {part: true}
    boxes: dict[str, Any] = {f"{kind}_boxes": written(MODEL, getattr(MODEL, f"{kind}_boxes"), each, applied)
             for kind, each in kinds.items()}  # fmt: skip
    report = check_box_convention(valid(replace(MODEL, **boxes)), ANNOTATED, applied)
    (line,) = report.verdicts
    assert [fit.convention for fit in report.groups[0].by_kind] == [*kinds.values()]
    assert line.index("human boxes") < line.index(f"as {kinds['human']}, ") < line.index("object boxes")
    assert f"as {kinds['object']}: convert" in line


@pytest.mark.real_data
def test_images_that_are_mirrored_or_shifted_are_counted(annotated: GroundTruth) -> None:
    rng = np.random.default_rng(0)
    for quality in ({}, {"jitter": 0.1, "extra": 0.5}, {"jitter": 0.2, "missed": 0.3}):
        truth = weak.part(annotated.interactions, rng, 200)
        table = weak.detector(truth, rng, **quality)
        mirrored = in_frame(table, table.image % 2 == 0, "mirrored", relative=False)
        (line,) = check_box_convention(mirrored, truth).lines()
        assert "% if mirrored" in line
        for step, name in ((1, "previous"), (-1, "next")):
            for images in (np.arange(200) < 50, np.ones(200, bool)):
                (line,) = check_box_convention(shifted(table, images, step), truth).lines()
                assert f" {name} image of " in line


def in_frame(table: Interactions, rows: Mask, name: str, *, relative: bool) -> Interactions:
    """Boxes of some rows mirrored, predicted on rotated images, or divided by the exchanged width and height."""
    width, height = table.sizes[table.image].astype(np.float64).T
    made: dict[str, Any] = {}
    for each in ("human_boxes", "object_boxes"):
        x1, y1, x2, y2 = getattr(table, each).T
        boxes = {
            "clockwise": np.column_stack([y1, width - x2, y2, width - x1]),
            "counterclockwise": np.column_stack([height - y2, x1, height - y1, x2]),
            "mirrored": np.column_stack([width - x2, y1, width - x1, y2]),
            "180": np.column_stack([width - x2, height - y2, width - x1, height - y1]),
            "exchanged": np.column_stack([x1, y1, x2, y2]),
        }[name]
        if name == "exchanged" or (relative and name != "180"):
            boxes *= np.tile(np.column_stack([width / height, height / width]), 2)
        made[each] = np.where(rows[:, None], boxes, getattr(table, each))
    return replace(table, **made)


@pytest.mark.real_data
@pytest.mark.parametrize("relative", [False, True])
def test_rotated_boxes_and_exchanged_sides_are_named_with_their_fits(annotated: GroundTruth, relative: bool) -> None:
    """Of all images, or of portraits only, as EXIF orientations rotate; boxes in pixels, or relative to the sides."""
    rng = np.random.default_rng(0)
    named = "unit" if relative else "xyxy"
    for quality in ({}, {"jitter": 0.2, "missed": 0.3}):
        truth = weak.part(annotated.interactions, rng, 150)
        table = weak.detector(truth, rng, **quality)
        portrait = (truth.sizes[:, 0] < truth.sizes[:, 1])[table.image]
        assert check_box_convention(table, truth, named).lines() == []
        for rows in (portrait, np.ones(len(table), bool)):
            for name in ("clockwise", "counterclockwise", "180", "exchanged"):
                changed = in_frame(table, rows, name, relative=relative)
                (group,) = check_box_convention(changed, truth, named).groups
                start = {"exchanged": "if x is multiplied by height / width", "180": "if rotated by 180 degrees:"}
                before, after = (int(number) for number in re.findall(r"(\d+)%", group.moved))
                assert f"% {start.get(name, f'if rotated {name}:')}" in group.moved
                assert before + 30 < after


@pytest.mark.parametrize("rule", ["drop", "count"])
@pytest.mark.parametrize(
    ("mixed", "share"), [("images", 0.1), ("rows", 0.1), ("images", 0.5), ("rows", 0.5), ("rows", 1)]
)
def test_predictions_that_are_left_out_are_evidence(tmp_path: Path, rule: str, mixed: str, share: float) -> None:
    """The option is advised only if it reads the whole file, not if the boxes that were kept fit as they were read."""
    table = MODEL.select_images(np.arange(100))
    chosen = np.random.default_rng(0).random(len(table.images) if mixed == "images" else len(table)) < share
    other = chosen[table.image] if mixed == "images" else chosen
    boxes: dict[str, Any] = {
        name: np.where(other[:, None], written(table, getattr(table, name), "xywh"), getattr(table, name))
        for name in ("human_boxes", "object_boxes")
    }
    write_predictions(replace(table, **boxes), tmp_path / "p.csv", "csv")
    read, notes = read_predictions_with_notes(tmp_path / "p.csv", truth=ANNOTATED, bad_boxes=rule)
    (line,) = notes.urgent()
    assert (line, notes.count("bad_fit")) == (notes.sentence("bad_fit"), read.bad[rule])
    assert missing(line, f" {read.bad[rule]:,} predictions", " as xywh") == []
    assert line.endswith(f": {flag('boxes', 'xywh')}") == (share == 1)
    assert line.endswith("in one convention") == (share < 1)
    with input_error("no area; ", "% "):
        read_predictions(tmp_path / "p.csv", truth=ANNOTATED)


def test_few_mistakes_say_nothing_about_the_convention(tmp_path: Path) -> None:
    boxes = MODEL.human_boxes.copy()
    boxes[::20, [0, 2]] = boxes[::20, [2, 0]]
    write_predictions(replace(MODEL, human_boxes=boxes), tmp_path / "p.csv", "csv")
    _, notes = read_predictions_with_notes(tmp_path / "p.csv", truth=ANNOTATED, bad_boxes="drop")
    assert notes.urgent() == []


def test_boxes_without_area_of_one_kind_are_said_to_be_of_one_kind(tmp_path: Path) -> None:
    boxes = written(MODEL, MODEL.object_boxes, "xywh")
    write_predictions(replace(MODEL, object_boxes=boxes), tmp_path / "p.csv", "csv")
    with input_error("object boxes", "as xywh: convert"):
        read_predictions(tmp_path / "p.csv", truth=ANNOTATED)
    with input_error("only human boxes", "only object boxes"):
        read_predictions(tmp_path / "p.csv")


@pytest.mark.real_data
def test_boxes_of_the_ground_truth_that_have_a_width_are_named(
    shared_data: Path, annotated: GroundTruth, tmp_path: Path
) -> None:
    """All boxes of these images have an area also if their width and height are read as a corner."""
    document = json.loads((shared_data / "hico_det" / "instances_test2015.json").read_text())
    kept = []
    for i, image in enumerate(document["annotation"]):
        both = [[x1, y1, x2 - x1, y2 - y1] for x1, y1, x2, y2 in image["boxes_h"] + image["boxes_o"]]
        if both and all(w > x and h > y for x, y, w, h in both):
            image["boxes_h"], image["boxes_o"] = both[: len(both) // 2], both[len(both) // 2 :]
            kept.append(i)
    for name in ("annotation", "filenames", "size"):
        document[name] = [document[name][i] for i in kept]
    (tmp_path / "truth.json").write_text(json.dumps(document))
    truth = read_truth_file(tmp_path / "truth.json").interactions
    (line,) = check_box_convention(annotated.interactions.select_images(np.array(kept)), truth).lines()
    values = ("ground truth", "x1, y1, width, height: convert", "x1, y1, x2, y2")
    assert missing(line, *values) == []
    assert "--boxes" not in line


# Changed parts of right files: exchanged labels, stretched boxes, boxes in another convention


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


@pytest.mark.real_data
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


@pytest.mark.real_data
@pytest.mark.parametrize("kind", ["human", "object"])
@pytest.mark.parametrize("area", ["both boxes", "the whole image"])
def test_stretched_boxes_are_reported(table: Interactions, truth: GroundTruth, kind: str, area: str) -> None:
    size = truth.interactions.sizes[table.image].astype(float)
    areas = {"both boxes": union(table.human_boxes, table.object_boxes)}
    areas["the whole image"] = np.hstack([np.zeros_like(size), size])
    (line,) = lines(replace(table, **{f"{kind}_boxes": areas[area]}), truth)  # type: ignore[arg-type]
    assert line.startswith(f"boxes: 100% of the {kind} boxes ")
    assert f" cover {area}" in line


@pytest.mark.real_data
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


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("seed", "count"), [(0, 8), *(pytest.param(seed, 40, marks=pytest.mark.slow) for seed in range(1, 5))]
)
def test_nothing_is_said_of_right_files_of_any_quality(annotated: GroundTruth, seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(count):
        images = int(rng.choice([15, 40, 120, 300, 800, 2000]))
        truth = replace(annotated, interactions=weak.part(annotated.interactions, rng, images))
        table = weak.detector(truth.interactions, rng, **weak.random_quality(rng))
        assert [line for line in lines(table, truth) if "no other known" not in line] == []
