"""The box check finds each planted convention, and says nothing about boxes that are what they seem."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from shoe.benchmarks.truth import read_truth_file
from shoe.core.arrays import Floats
from shoe.core.interactions import Interactions
from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions
from shoe.predictions.boxes.check import check_box_convention
from shoe.predictions.boxes.conventions import LAYOUTS, Convention, Conventions, are_valid, parse_convention
from tests.examples import every, examples

TRUTH_TABLE = read_truth_file(TRUTH).interactions
SIZES = {name: (int(w), int(h)) for name, (w, h) in zip(TRUTH_TABLE.images, TRUTH_TABLE.sizes, strict=True)}
MODELS = {name: read_predictions(path, sizes=SIZES) for name, path in PREDICTIONS.items()}

# What a user may name: one of each kind, two of which no verdict ever advises.
NAMED = [
    parse_convention(name)
    for name in ("xyxy", "xywh", "thousand", "unit,yxyx", "resized:max=448", "pixels-0", "resized:multiple=28")
]
# One or more of each family that the check knows.
TRUE = [
    parse_convention(name)
    for name in (
        *("xyxy", "xywh", "cxcywh", "yxyx", "xxyy", "unit", "hundred", "thousand", "swapped", "padded"),
        *("thousand,yxyx", "unit,cxcywh", "hundred,xywh", "unit,padded", "thousand,swapped", "yxyx,swapped"),
        *("resized:336x336", "resized:max=336", "resized:max=1024,xywh", "resized:448x448,padded", "xxyy,swapped"),
        *("thousand,yxyx,padded", "resized:smart=28:3136:200704", "resized:smart=28:1003520:12845056,xywh"),
    )
]


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
    report = check_box_convention(MODELS[model], TRUTH_TABLE)
    assert report.lines() == []
    assert report.groups[0].fits[0].convention == "xyxy"
    assert report.groups[0].fits[0].hits > 0.5


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
        exchanged = " (human and object boxes exchanged)" if true.order else ""
        assert report.verdicts == [
            f"boxes: {applied.hits:.0%} overlap an annotated box of their image with IoU >= 0.5 if read as {named}, "
            f"{better.hits:.0%} if read as {true}{exchanged}; if the latter is right, set it: --boxes {true} "
            f'(Python: boxes="{true}")'
        ]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("true", "named"), [("thousand,padded", "thousand"), ("unit", "unit,padded")])
def test_a_near_convention_is_told_from_the_true_one(model: str, true: str, named: str) -> None:
    """Most boxes still hit under the wrong name, and cost mAP all the same."""
    report = check_box_convention(misread(MODELS[model], *map(parse_convention, (true, named))), TRUTH_TABLE, named)
    assert report.groups[0].fits[0].hits > 0.5
    assert report.groups[0].better is not None
    assert report.groups[0].better.convention == true


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
    assert group.better is not None
    found, sizes = parse_convention(group.better.convention), TRUTH_TABLE.sizes.astype(np.float64)
    assert (found.layout, found.order) == (right.layout, right.order)
    both = [each.scale_and_offset(sizes)[0] for each in (found, right)]
    assert np.median(np.abs(np.log(both[0] / both[1]))) < 0.003
    assert np.quantile(np.abs(np.log(both[0] / both[1])), 0.98) < 0.02


@pytest.mark.parametrize("model", MODELS)
def test_a_wrong_size_is_reported_though_most_boxes_hit(model: str) -> None:
    for true, named in (("resized:max=800", "resized:max=768"), ("resized:scale=0.5", "resized:max=336")):
        report = check_box_convention(misread(MODELS[model], *map(parse_convention, (true, named))), TRUTH_TABLE, named)
        assert report.groups[0].fits[0].hits > 0.65
        assert f"--boxes {true} " in report.verdicts[0]


@pytest.mark.parametrize("model", MODELS)
def test_mirrored_boxes_are_named(model: str) -> None:
    table = MODELS[model]
    width = table.sizes[table.image][:, :1].astype(np.float64)
    human, target = (
        np.column_stack([width - b[:, 2:3], b[:, 1], width - b[:, :1], b[:, 3]])
        for b in (table.human_boxes, table.object_boxes)
    )
    (line,) = check_box_convention(replace(table, human_boxes=human, object_boxes=target), TRUTH_TABLE).lines()
    assert "% if mirrored: replace x1" in line
    assert "width - x2" in line


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("power", "shown"), [(1, "height / width"), (-1, "width / height")])
def test_width_and_height_that_were_exchanged_are_named(model: str, power: int, shown: str) -> None:
    """As by DETR's post-processing if the target sizes are (width, height)."""
    table = MODELS[model]
    width, height = table.sizes[table.image].T.astype(np.float64)
    factor = np.stack([width / height, height / width] * 2, axis=1) ** power
    human, target = table.human_boxes * factor, table.object_boxes * factor
    (line,) = check_box_convention(replace(table, human_boxes=human, object_boxes=target), TRUTH_TABLE).lines()
    assert line.partition(f"% if x is multiplied by {shown} and y by ")[2].endswith(
        ": were width and height exchanged?"
    )


def test_images_are_matched_as_scoring_does() -> None:
    """Folder and ending do not count."""
    table = misread(MODELS["detector"], parse_convention("xywh"), parse_convention("xyxy"))
    renamed = replace(table, images=tuple(f"val/{name.removesuffix('.jpg')}.png" for name in table.images))
    report = check_box_convention(table, TRUTH_TABLE)
    assert len(report.verdicts) == 1
    assert check_box_convention(renamed, TRUTH_TABLE) == report


def test_boxes_without_size_are_reported() -> None:
    tiny = misread(MODELS["free text"], parse_convention("unit"), parse_convention("xyxy"))
    lines = check_box_convention(tiny, TRUTH_TABLE).lines()
    assert lines[-1] == (
        "boxes: 100% of the triplets have boxes that are less than a pixel wide or high "
        '(if coordinates are fractions from 0 to 1, set --boxes unit (Python: boxes="unit"))'
    )


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


KINDS = ["anywhere", "small", "whole image", "middle", "halves", "doubles", "noisy", "converted"]


@pytest.mark.slow
@examples(2)
@given(st.sampled_from(KINDS), st.sampled_from(sorted(MODELS)), st.sampled_from(NAMED), st.integers(0, 2**32))
def test_no_other_convention_is_named_for_a_bad_detector(kind: str, model: str, named: Convention, seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = MODELS[model]
    sizes = table.sizes[table.image].astype(np.float64)
    human, target = (bad_boxes(kind, rng, b, sizes) for b in (table.human_boxes, table.object_boxes))
    few = np.sort(rng.choice(len(TRUTH_TABLE.images), rng.integers(20, 200), replace=False))
    bad = replace(table, human_boxes=human, object_boxes=target)
    names = {TRUTH_TABLE.images[i] for i in few}
    bad = bad.select_images(np.array([name in names for name in bad.images]))
    assert check_box_convention(bad, TRUTH_TABLE, str(named)).verdicts == []


def perfect(images: int, seed: int) -> Interactions:
    """Predictions that are the ground truth of a few images."""
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
    table = perfect(images, seed)
    sizes, rng = table.sizes[table.image].astype(np.float64), np.random.default_rng(seed)
    human, target = (bad_boxes(kind, rng, b, sizes) for b in (table.human_boxes, table.object_boxes))
    assert (
        check_box_convention(replace(table, human_boxes=human, object_boxes=target), TRUTH_TABLE, str(named)).lines()
        == []
    )


def test_boxes_that_fit_no_convention_are_reported() -> None:
    table = next(iter(MODELS.values()))
    far = replace(table, human_boxes=table.human_boxes + 3000, object_boxes=table.object_boxes + 3000)
    report = check_box_convention(far, TRUTH_TABLE)
    assert report.verdicts == []
    (line,) = report.lines()
    assert line.startswith("boxes: 0% overlap an annotated box of their image")
    assert "no other known convention" in line


def test_each_applied_convention_is_judged_by_its_own_boxes() -> None:
    """Half of the triplets were read rightly; the other half has y first."""
    table = MODELS["detector"]
    half = np.arange(len(table)) % 2
    boxes = [np.where(half[:, None], b[:, [1, 0, 3, 2]], b) for b in (table.human_boxes, table.object_boxes)]
    mixed = replace(table, human_boxes=boxes[0], object_boxes=boxes[1])
    kinds = (parse_convention("pixels"), parse_convention("resized:multiple=1"))
    report = check_box_convention(mixed, TRUTH_TABLE, Conventions(kinds, half))
    assert [group.fits[0].convention for group in report.groups] == ["xyxy", "resized:multiple=1"]
    assert report.groups[0].better is None
    (line,) = report.verdicts
    assert "of the boxes read as resized:multiple=1 overlap" in line
    assert line.endswith('set it for a separate file with only these boxes: --boxes yxyx (Python: boxes="yxyx")')


def test_a_full_name_is_advised_where_the_file_tells_a_convention_by_itself() -> None:
    """A name of one word would leave the other part as the file has it."""
    kinds, table = (parse_convention("thousand,yxyx"),), MODELS["detector"]
    wrong = misread(table, parse_convention("thousand"), kinds[0])
    (line,) = check_box_convention(wrong, TRUTH_TABLE, Conventions(kinds, stated=True)).verdicts
    assert "if read as thousand; if the latter is right, set it: --boxes thousand,xyxy (" in line


def test_truth_as_predictions_is_right_in_its_own_coordinates() -> None:
    report = check_box_convention(TRUTH_TABLE, TRUTH_TABLE)
    assert report.lines() == []
    assert report.groups[0].fits[0].mean_iou == 1


def test_without_sizes_only_the_layouts_are_compared() -> None:
    unknown = replace(TRUTH_TABLE, sizes=np.zeros_like(TRUTH_TABLE.sizes))
    wrong = misread(MODELS["detector"], parse_convention("yxyx"), parse_convention("xyxy"))
    report = check_box_convention(replace(wrong, sizes=np.zeros_like(wrong.sizes)), unknown)
    assert {fit.convention.removesuffix(",swapped") for fit in report.groups[0].fits} <= {*LAYOUTS, "swapped"}
    assert report.groups[0].better is not None
    assert report.groups[0].better.convention == "yxyx"


def test_predictions_without_a_known_image_say_nothing() -> None:
    table = MODELS["detector"]
    strange = replace(table, images=tuple(f"x{name}" for name in table.images))
    for nothing in (strange, table.select(np.zeros(len(table), bool)), table.select_images(np.zeros(0, np.int64))):
        report = check_box_convention(nothing, TRUTH_TABLE)
        assert (report.images, report.groups, report.lines()) == (0, (), [])


def test_a_file_that_mixes_conventions_is_told_how_many_images_have_the_other() -> None:
    table = MODELS["detector"]
    other = misread(table, parse_convention("thousand"), parse_convention("xyxy"))
    is_other = other.image % 3 == 0
    human, target = other.human_boxes, other.object_boxes
    mixed = replace(
        table,
        human_boxes=np.where(is_other[:, None], human, table.human_boxes),
        object_boxes=np.where(is_other[:, None], target, table.object_boxes),
    )
    (verdict,) = check_box_convention(mixed, TRUTH_TABLE).verdicts
    assert "mix conventions" in verdict
    assert "with --boxes thousand (Python: " in verdict
