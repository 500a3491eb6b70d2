"""Files in every convention: whether one is refused or read, the user is told the flag that makes it right."""

import re
from pathlib import Path

import numpy as np
import pytest

from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.predictions import read_predictions_with_notes
from shoe.predictions.boxes.check import check_box_convention
from shoe.predictions.boxes.conventions import Convention, Conventions, parse_convention
from tests.errors import input_error
from tests.predictions.reading import write_lines
from tests.predictions.test_box_check import TRUE, TRUTH_TABLE

TRUTH = TRUTH_TABLE.select_images(np.arange(60))
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
    """The flag that is named when a file is read and checked."""
    try:
        table, notes = read_predictions_with_notes(path, boxes=boxes, truth=TRUTH)
    except InputError as error:
        said = str(error)
    else:
        said = "\n".join(check_box_convention(table, TRUTH, notes.conventions_of(len(table))).verdicts)
    found = re.search(r'--boxes (\S+) \(Python: boxes="\1"\)\)?$', said)
    return found[1] if found else None


@pytest.mark.parametrize("true", [*(c for c in TRUE if str(c) != "xyxy"), *map(parse_convention, MORE)], ids=str)
def test_the_flag_that_is_named_makes_a_file_right(tmp_path: Path, true: Convention) -> None:
    path = write(tmp_path / "p.jsonl", TRUTH, true)
    named = advice(path)
    assert named is not None
    found = parse_convention(named)
    assert (found.layout, found.order) == (true.layout, true.order)
    table, notes = read_predictions_with_notes(path, boxes=named, truth=TRUTH)
    (group,) = check_box_convention(table, TRUTH, notes.conventions_of(len(table))).groups
    assert group.fits[0].mean_iou > 0.95
    assert advice(path, named) is None
    if str(true) in map(str, TRUE):
        assert named == str(true)


def test_a_refused_file_names_what_fits_only_where_the_ground_truth_tells(tmp_path: Path) -> None:
    path = write(tmp_path / "p.jsonl", TRUTH, parse_convention("xywh"))
    for truth in (None, TRUTH_TABLE.select_images(np.arange(100, 160))):
        with input_error("area as xywh", "--boxes (Python: boxes=...))") as refused:
            read_predictions_with_notes(path, truth=truth)
        assert "--boxes xywh" not in str(refused.value)
    with input_error("100%", "as xywh", "--boxes xywh "):
        read_predictions_with_notes(path, truth=TRUTH)


def test_where_some_boxes_fit_as_either_none_is_named_for_all(tmp_path: Path) -> None:
    kinds = (write(tmp_path / f"{name}.jsonl", TRUTH, parse_convention(name)) for name in ("xywh", "xyxy"))
    lines = zip(*(path.read_bytes().splitlines() for path in kinds), strict=True)
    path = tmp_path / "p.jsonl"
    path.write_bytes(b"\n".join(pair[i % 3 == 0] for i, pair in enumerate(lines)))
    with input_error("mix conventions", "% ", "as xyxy, ", "% ", "as xywh)") as refused:
        read_predictions_with_notes(path, truth=TRUTH)
    assert str(refused.value).endswith("as xywh)")
