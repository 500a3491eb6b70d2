"""The box check finds each planted convention, says nothing about right boxes, and the flag that it names is right."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from shoe.benchmarks.truth import read_truth_file
from shoe.core.arrays import Floats
from shoe.core.errors import InputError, flag
from shoe.core.interactions import Interactions
from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions, read_predictions_with_notes
from shoe.predictions.boxes.check import check_box_convention
from shoe.predictions.boxes.conventions import LAYOUTS, Convention, Conventions, are_valid, parse_convention
from tests.errors import input_error
from tests.examples import every, examples
from tests.predictions.reading import missing, write_lines
from tests.present import present

TRUTH_TABLE = read_truth_file(TRUTH).interactions
SIZES = {name: (int(w), int(h)) for name, (w, h) in zip(TRUTH_TABLE.images, TRUTH_TABLE.sizes, strict=True)}
MODELS = {name: read_predictions(path, sizes=SIZES) for name, path in PREDICTIONS.items()}

# What a user may name: one of each kind, two of which no verdict ever advises.
NAMED = [
    parse_convention(name)
    for name in ("xyxy", "xywh", "thousand", "unit,yxyx", "resized:max=448", "pixels-0", "resized:multiple=28")
]
# One or more of each family that the check knows.
_TRUE = (
    *("xyxy", "xywh", "cxcywh", "yxyx", "xxyy", "unit", "hundred", "thousand", "swapped", "padded", "unit,padded"),
    *("thousand,yxyx", "unit,cxcywh", "hundred,xywh", "thousand,swapped", "yxyx,swapped", "xxyy,swapped"),
    *("resized:336x336", "resized:max=336", "resized:max=1024,xywh", "resized:448x448,padded"),
    *("thousand,yxyx,padded", "resized:smart=28:3136:200704", "resized:smart=28:1003520:12845056,xywh"),
)
TRUE = [*map(parse_convention, _TRUE)]


def misread(table: Interactions, true: Convention, named: Convention) -> Interactions:
    """The table that a file in one convention becomes when it is read under another, as far as that is possible."""
    sizes = table.sizes[table.image].astype(np.float64)
    written = Conventions((true,)).from_pixels(table.human_boxes, table.object_boxes, sizes)
    human, target = Conventions((named,)).to_pixels(*written, sizes)
    kept = are_valid(human, named.coordinates) & are_valid(target, named.coordinates)
    coordinates = np.full_like(table.coordinates, named.coordinates)
    return replace(table, human_boxes=human, object_boxes=target, coordinates=coordinates).select(kept)


@pytest.mark.parametrize("model", MODELS)
def test_nothing_is_said_about_boxes_that_are_right(model: str) -> None:
    for table, least in ((MODELS[model], 0.3), (TRUTH_TABLE, 1)):  # the ground truth has its own coordinates
        report = check_box_convention(table, TRUTH_TABLE)
        applied = report.groups[0].fits[0]
        assert (report.lines(), applied.convention, applied.hits > 0.5) == ([], "xyxy", True)
        assert applied.mean_iou >= least


@every(6, true=TRUE, named=NAMED, model=tuple(MODELS))
def test_the_true_convention_is_found_whichever_was_named(model: str, true: Convention, named: Convention) -> None:
    """Two that mean nearly the same boxes, as multiples of 28 and pixels do, are no wrong reading."""
    report = check_box_convention(misread(MODELS[model], true, named), TRUTH_TABLE, str(named))
    (group,) = report.groups
    applied, better = group.fits[0], group.better
    assert applied.convention == str(named)
    if better is None:
        assert applied.hits > 0.65
        assert report.verdicts == []
    else:
        assert better.convention == str(true) != str(named)
        assert better.hits > 0.65
        (line,) = report.verdicts
        values = [f"boxes: {applied.hits:.0%} ", f"as {named}, {better.hits:.0%} ", f"as {true}"]
        assert missing(line, *values) == []
        assert ("exchanged)" in line) == bool(true.order)
        assert line.endswith(f": {flag('boxes', str(true))}")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("true", "named", "hits"),
    [
        ("thousand,padded", "thousand", 0.5),
        ("unit", "unit,padded", 0.5),
        ("resized:max=800", "resized:max=768", 0.65),
        ("resized:scale=0.5", "resized:max=336", 0.65),
    ],
)
def test_a_near_convention_is_told_from_the_true_one(model: str, true: str, named: str, hits: float) -> None:
    report = check_box_convention(misread(MODELS[model], *map(parse_convention, (true, named))), TRUTH_TABLE, named)
    assert report.groups[0].fits[0].hits > hits
    assert f"--boxes {true} " in report.verdicts[0]


@every(
    4,
    true=(
        *("resized:scale=0.5", "resized:scale=0.3", "resized:scale=0.77,xywh", "resized:scale=3.3", "resized:max=800"),
        *("resized:shorter=800:1333", "resized:shorter=600:1000,yxyx", "resized:shorter=640:900"),
        *("resized:shorter=480", "resized:720x720", "resized:900x500,swapped"),
    ),
    named=("xyxy", "thousand", "resized:max=768", "resized:smart=28"),
    model=tuple(MODELS),
)
def test_sizes_that_no_list_has_are_fitted(model: str, named: str, true: str) -> None:
    """Any warning names sizes that are right within a thousandth or two; a warning comes unless nothing is lost."""
    right, read = parse_convention(true), parse_convention(named)
    report = check_box_convention(misread(MODELS[model], right, read), TRUTH_TABLE, named)
    (group,) = report.groups
    found, sizes = parse_convention(present(group.better).convention), TRUTH_TABLE.sizes.astype(np.float64)
    assert (found.layout, found.order) == (right.layout, right.order)
    both = [each.scale_and_offset(sizes)[0] for each in (found, right)]
    assert np.median(np.abs(np.log(both[0] / both[1]))) < 0.003
    assert np.quantile(np.abs(np.log(both[0] / both[1])), 0.98) < 0.02


def moved(table: Interactions, move: Callable[[Floats, Floats, Floats], Floats]) -> Interactions:
    width, height = table.sizes[table.image].T[:, :, None].astype(np.float64)
    human, target = (move(boxes, width, height) for boxes in (table.human_boxes, table.object_boxes))
    return replace(table, human_boxes=human, object_boxes=target)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("move", "values"),
    [
        (lambda b, w, h: np.hstack([w - b[:, 2:3], b[:, 1:2], w - b[:, :1], b[:, 3:]]), ("mirrored", "width - x2")),
        # As by DETR's post-processing if the target sizes are (width, height).
        (lambda b, w, h: b * np.hstack([w / h, h / w] * 2), ("by height / width", "exchanged?")),
        (lambda b, w, h: b / np.hstack([w / h, h / w] * 2), ("by width / height", "exchanged?")),
    ],
)
def test_mirrored_boxes_and_exchanged_sides_are_named(model: str, move: Any, values: tuple[str, str]) -> None:
    report = check_box_convention(moved(MODELS[model], move), TRUTH_TABLE)
    (line,) = report.lines()
    assert missing(line, *values) == missing(report.groups[0].moved, *values) == []


def test_images_are_matched_as_scoring_does() -> None:
    table = misread(MODELS["detector"], parse_convention("xywh"), parse_convention("xyxy"))
    renamed = replace(table, images=tuple(f"val/{name.removesuffix('.jpg')}.png" for name in table.images))
    report = check_box_convention(table, TRUTH_TABLE)
    assert len(report.verdicts) == 1
    assert check_box_convention(renamed, TRUTH_TABLE) == report


def test_boxes_without_size_are_reported() -> None:
    tiny = misread(MODELS["free text"], parse_convention("unit"), parse_convention("xyxy"))
    line = check_box_convention(tiny, TRUTH_TABLE).lines()[-1]
    assert missing(line, "boxes: 100% ", "pixel", flag("boxes", "unit")) == []


def _random_boxes(rng: np.random.Generator, sizes: Floats, low: float, high: float) -> Floats:
    extent = rng.uniform(low, high, (len(sizes), 2))
    corner = rng.random((len(sizes), 2)) * (1 - extent)
    return np.hstack([corner, corner + extent]) * np.tile(sizes, 2)


def bad_boxes(kind: str, rng: np.random.Generator, boxes: Floats, sizes: Floats) -> Floats:
    """Boxes of a detector that is bad in some way, but means what it says."""
    middle, half = (boxes[:, :2] + boxes[:, 2:]) / 2, (boxes[:, 2:] - boxes[:, :2]) / 2
    if kind in EXTENTS:
        return _random_boxes(rng, sizes, *EXTENTS[kind])
    if kind == "noisy":
        noisy = boxes + rng.normal(0, 1, boxes.shape) * np.tile(half, 2) * 2 * rng.uniform(0.1, 0.6)
        return np.hstack([np.minimum(noisy[:, :2], noisy[:, 2:] - 2), noisy[:, 2:]])
    corners = {
        "whole image": (np.zeros_like(sizes), sizes),
        "middle": (sizes / 4, sizes * 3 / 4),
        "halves": (middle - half / 2, middle + half / 2),
        "doubles": (np.maximum(middle - 2 * half, 0), np.minimum(middle + 2 * half, sizes)),
        "converted": (middle - half + 0.25 * half, middle + half + 0.25 * half),
    }
    return np.hstack(corners[kind])


EXTENTS = {"anywhere": (0.05, 0.9), "small": (0.05, 0.2)}
KINDS = [*EXTENTS, "whole image", "middle", "halves", "doubles", "noisy", "converted"]


def of_bad_detector(kind: str, table: Interactions, rng: np.random.Generator) -> Interactions:
    sizes = table.sizes[table.image].astype(np.float64)
    human, target = (bad_boxes(kind, rng, b, sizes) for b in (table.human_boxes, table.object_boxes))
    return replace(table, human_boxes=human, object_boxes=target)


@pytest.mark.slow
@examples(2)
@given(st.sampled_from(KINDS), st.sampled_from(sorted(MODELS)), st.sampled_from(NAMED), st.integers(0, 2**32))
def test_no_other_convention_is_named_for_a_bad_detector(kind: str, model: str, named: Convention, seed: int) -> None:
    rng = np.random.default_rng(seed)
    bad = of_bad_detector(kind, MODELS[model], rng)
    few = np.sort(rng.choice(len(TRUTH_TABLE.images), rng.integers(20, 200), replace=False))
    names = {TRUTH_TABLE.images[i] for i in few}
    bad = bad.select_images(np.array([name in names for name in bad.images]))
    assert check_box_convention(bad, TRUTH_TABLE, str(named)).verdicts == []


def perfect(images: int, seed: int) -> Interactions:
    chosen = np.sort(np.random.default_rng(seed).choice(len(TRUTH_TABLE.images), images, replace=False))
    table = TRUTH_TABLE.select_images(chosen)
    return replace(table, coordinates=np.zeros_like(table.coordinates))


@examples(1)
@given(st.sampled_from([c for c in TRUE if str(c) != "xyxy"]), st.integers(0, 2**32))
def test_the_convention_of_perfect_answers_for_thirty_images_is_found(true: Convention, seed: int) -> None:
    """Of two that mean nearly the same boxes in these images either may be named."""
    table = misread(perfect(30, seed), true, parse_convention("xyxy"))
    report = check_box_convention(table, TRUTH_TABLE)
    assume(len(table) > 20)  # what was misread to no area is no part of a table
    (group,) = report.groups
    if group.better is None:
        assert group.fits[0].hits > 0.65
    else:
        assert next(fit for fit in group.fits if fit.convention == str(true)).mean_iou > group.better.mean_iou - 0.02


@examples(1)
@given(st.sampled_from(KINDS), st.sampled_from(NAMED), st.integers(1, 4), st.integers(0, 2**32))
def test_nothing_is_said_about_few_boxes_that_are_bad(kind: str, named: Convention, images: int, seed: int) -> None:
    bad = of_bad_detector(kind, perfect(images, seed), np.random.default_rng(seed))
    assert check_box_convention(bad, TRUTH_TABLE, str(named)).lines() == []


def test_boxes_that_fit_no_convention_are_reported() -> None:
    report = check_box_convention(moved(MODELS["detector"], lambda boxes, *_: boxes + 3000), TRUTH_TABLE)
    assert (report.verdicts, report.groups[0].fits[0].hits, report.groups[0].better) == ([], 0, None)
    (line,) = report.lines()
    assert line.startswith("boxes: 0% ")
    assert "no other known" in line


def test_each_applied_convention_is_judged_by_its_own_boxes() -> None:
    half = np.arange(len(MODELS["detector"])) % 2
    mixed = moved(MODELS["detector"], lambda boxes, *_: np.where(half[:, None], boxes[:, [1, 0, 3, 2]], boxes))
    kinds = (parse_convention("pixels"), parse_convention("resized:multiple=1"))
    report = check_box_convention(mixed, TRUTH_TABLE, Conventions(kinds, half))
    assert [group.fits[0].convention for group in report.groups] == ["xyxy", "resized:multiple=1"]
    assert report.groups[0].better is None
    (line,) = report.verdicts
    assert "as resized:multiple=1 " in line
    assert line.endswith(f"only these boxes: {flag('boxes', 'yxyx')}")


def test_a_full_name_is_advised_where_the_file_tells_a_convention_by_itself() -> None:
    kinds, table = (parse_convention("thousand,yxyx"),), MODELS["detector"]
    wrong = misread(table, parse_convention("thousand"), kinds[0])
    (line,) = check_box_convention(wrong, TRUTH_TABLE, Conventions(kinds, stated=True)).verdicts
    assert missing(line, "as thousand; ", ": --boxes thousand,xyxy (") == []


def test_without_sizes_only_the_layouts_are_compared() -> None:
    unknown = replace(TRUTH_TABLE, sizes=np.zeros_like(TRUTH_TABLE.sizes))
    wrong = misread(MODELS["detector"], parse_convention("yxyx"), parse_convention("xyxy"))
    report = check_box_convention(replace(wrong, sizes=np.zeros_like(wrong.sizes)), unknown)
    assert {fit.convention.removesuffix(",swapped") for fit in report.groups[0].fits} <= {*LAYOUTS, "swapped"}
    better = report.groups[0].better
    assert present(better).convention == "yxyx"


def test_predictions_without_a_known_image_say_nothing() -> None:
    table = MODELS["detector"]
    strange = replace(table, images=tuple(f"x{name}" for name in table.images))
    for nothing in (strange, table.select(np.zeros(len(table), bool)), table.select_images(np.zeros(0, np.int64))):
        report = check_box_convention(nothing, TRUTH_TABLE)
        assert (report.images, report.groups, report.lines()) == (0, (), [])


@pytest.mark.parametrize("convention", ["thousand", "yxyx"])
def test_a_file_that_mixes_conventions_is_told_how_many_images_have_the_other(convention: str) -> None:
    table = MODELS["detector"]
    is_other = (table.image % (3 if convention == "thousand" else 8) == 0)[:, None]

    def other(boxes: Floats, w: Floats, h: Floats) -> Floats:
        return boxes * (1000 / np.hstack([w, h] * 2)) if convention == "thousand" else boxes[:, [1, 0, 3, 2]]

    mixed = moved(table, lambda boxes, w, h: np.where(is_other, other(boxes, w, h), boxes))
    (verdict,) = check_box_convention(mixed, TRUTH_TABLE).verdicts
    assert missing(verdict, "mix conventions", flag("boxes", convention)) == []


@pytest.mark.parametrize("model", MODELS)
def test_a_third_of_the_images_under_names_of_other_images_is_reported(model: str) -> None:
    names = np.array(MODELS[model].images, object)
    chosen = np.random.default_rng(0).permutation(len(names))[: len(names) // 3]
    names[chosen] = np.roll(names[chosen], 1)
    (line,) = check_box_convention(replace(MODELS[model], images=tuple(names)), TRUTH_TABLE).lines()
    assert missing(line, " sampled images, ", "other images") == []


FEW = TRUTH_TABLE.select_images(np.arange(60))
MORE = (
    *("hundred,yxyx", "unit,xxyy,swapped", "resized:512x512", "resized:max=1333", "thousand,cxcywh,padded"),
    "resized:smart=28:200704:200704",
)


def write(path: Path, table: Interactions, true: Convention) -> Path:
    """Perfect answers in a convention, rounded as a model rounds: whole numbers, or three digits of a fraction."""
    sizes = table.sizes[table.image].astype(np.float64)
    digits = 3 if true.scale == "unit" else 0
    written = Conventions((true,)).from_pixels(table.human_boxes, table.object_boxes, sizes)
    human, target = (np.round(boxes, digits).tolist() for boxes in written)
    rows = zip((table.images[i] for i in table.image), human, target, strict=True)
    keys, words = ("image", "human_box", "object_box"), {"verb": "ride", "object": "horse"}
    return write_lines(path, *(dict(zip(keys, row, strict=True)) | words for row in rows))


def advice(path: Path, boxes: str | None = None) -> str | None:
    try:
        table, notes = read_predictions_with_notes(path, boxes=boxes, truth=FEW)
    except InputError as error:
        said = str(error)
    else:
        said = "\n".join(check_box_convention(table, FEW, notes.conventions_of(len(table))).verdicts)
    found = re.search(r'--boxes (\S+) \(Python: boxes="\1"\)\)?$', said)
    return found[1] if found else None


@pytest.mark.parametrize("true", [*(c for c in TRUE if str(c) != "xyxy"), *map(parse_convention, MORE)], ids=str)
def test_the_flag_that_is_named_makes_a_file_right(tmp_path: Path, true: Convention) -> None:
    path = write(tmp_path / "p.jsonl", FEW, true)
    named = advice(path)
    assert named is not None
    found = parse_convention(named)
    assert (found.layout, found.order) == (true.layout, true.order)
    table, notes = read_predictions_with_notes(path, boxes=named, truth=FEW)
    (group,) = check_box_convention(table, FEW, notes.conventions_of(len(table))).groups
    assert group.fits[0].mean_iou > 0.95
    assert advice(path, named) is None
    if str(true) in map(str, TRUE):
        assert named == str(true)


def test_a_refused_file_names_what_fits_only_where_the_ground_truth_tells(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", FEW, parse_convention("xywh"))
    for truth in (None, TRUTH_TABLE.select_images(np.arange(100, 160))):
        with input_error("area as xywh", "--boxes (Python: boxes=...))") as refused:
            read_predictions_with_notes(path, truth=truth)
        assert "--boxes xywh" not in str(refused.value)
    with input_error("100%", "as xywh", "--boxes xywh "):
        read_predictions_with_notes(path, truth=FEW)


def test_where_some_boxes_fit_as_either_none_is_named_for_all(tmp_path: Path) -> None:
    kinds = (write(tmp_path / f"{name}.jsonl", FEW, parse_convention(name)) for name in ("xywh", "xyxy"))
    lines = zip(*(path.read_bytes().splitlines() for path in kinds), strict=True)
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"\n".join(pair[i % 3 == 0] for i, pair in enumerate(lines)))
    with input_error("mix conventions", "% ", "as xyxy, ", "% ", "as xywh)") as refused:
        read_predictions_with_notes(path, truth=FEW)
    assert str(refused.value).endswith("as xywh)")
