from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.samples import read
from tests.mentions import mentions

HUMAN, HORSE = {"bbox": [1, 2, 30, 40], "category_id": 1}, {"bbox": [5, 6, 70, 80], "category_id": 19}
RIDE = {"subject_id": 0, "object_id": 1, "category_id": 77}


def _record(train: bool = False, **changes: Any) -> dict[str, Any]:
    name = f"HICO_{'train' if train else 'test'}2015_00000001.jpg"
    return {"file_name": name, "annotations": [HUMAN, HORSE], "hoi_annotation": [RIDE]} | changes


def _box(**changes: Any) -> dict[str, Any]:
    return _record(annotations=[HUMAN, HORSE | changes])


def _hoi(train: bool = False, **changes: Any) -> dict[str, Any]:
    return _record(train, hoi_annotation=[RIDE | changes])


def _without(record: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != key}


def test_ids_are_coco_categories_and_verbs_from_1(tmp_path: Path) -> None:
    truth = read(tmp_path, [_record()])
    table = truth.interactions
    assert [truth.classes.labels[k] for k in truth.hoi] == ["ride horse"]
    assert (table.human_boxes.tolist(), table.object_boxes.tolist()) == ([HUMAN["bbox"]], [HORSE["bbox"]])


def test_numbers_may_be_text_that_ends_in_a_line_break(tmp_path: Path) -> None:
    box = {"bbox": ["5", "6\n", 70, "80"], "category_id": "19\n"}
    hoi = {"subject_id": "0", "object_id": " 1\n", "category_id": "77\n", "hoi_category_id": "140\n"}
    record = _record(annotations=[HUMAN, box], hoi_annotation=[hoi])
    assert read(tmp_path, [record]).interactions.equals(read(tmp_path, [_record()]).interactions)


FIRST = "image 'HICO_test2015_00000001.jpg'"
BOX_2, TRIPLET = f"{FIRST}: box 2", f"{FIRST}: triplet 1"
BOXES = "the image's 2 boxes"
BROKEN = [
    ([_record(), 7], "image 2: … 7 … 'file_name'"),
    ([_without(_record(), "file_name")], "image 1: file_name: … 'annotations', 'hoi_annotation'"),
    ([_record(file_name=3)], "image 1: file_name: … 3"),
    ([_record(), _record()], "images: … 'HICO_test2015_00000001.jpg' twice"),
    ([_without(_record(), "annotations")], f"{FIRST}: annotations: … 'file_name', 'hoi_annotation'"),
    ([_record(annotations={})], f"{FIRST}: annotations: … object of 0 … list"),
    ([_record(annotations=[[]])], f"{FIRST}: box 1: … [] … 'bbox'"),
    ([_record(hoi_annotation=[[1, 2]])], f"{TRIPLET}: … [1, 2] … 'subject_id'"),
    ([_record(hoi_annotation=None)], f"{FIRST}: hoi_annotation: … None … list"),
    ([_record(hoi_annotation=[{}])], f"{TRIPLET}: subject_id: … no keys"),
    ([_box(bbox=[1, 2, 3])], f"{BOX_2}: bbox: … [1, 2, 3] … [x1, y1, x2, y2]"),
    ([_box(bbox="1234")], f"{BOX_2}: bbox: … '1234' … [x1, y1, x2, y2]"),
    ([_box(bbox=[1, 2, 3, "four"])], f"{BOX_2}: bbox: … [1, 2, 3, 'four'] … [x1, y1, x2, y2]"),
    ([_box(bbox=["nan", 2, 3, 4])], "object box: … [nan, 2, 3, 4] … x1, y1, x2, y2"),
    ([_box(bbox=[70, 6, 5, 80])], "object box: … [70, 6, 5, 80] … x1 < x2"),
    ([_box(category_id=12)], f"{BOX_2}: category_id: … 12 … COCO's 80 … 1"),
    ([_box(category_id=0)], f"{BOX_2}: category_id: … 0 … COCO's 80"),
    ([_box(category_id=-5)], f"{BOX_2}: category_id: … -5 … COCO's 80"),
    ([_box(category_id=91)], f"{BOX_2}: category_id: … 91 … COCO's 80"),
    ([_box(category_id="nan")], f"{BOX_2}: category_id: … 'nan' … whole number"),
    ([_box(category_id=[19])], f"{BOX_2}: category_id: … [19] … whole number"),
    ([_box(category_id=80)], f"{TRIPLET}: … 'ride' … 'toaster' … 600 classes"),
    ([_hoi(category_id=0)], f"{TRIPLET}: category_id: … 0 … 1 to 117"),
    ([_hoi(category_id=118)], f"{TRIPLET}: category_id: … 118 … 1 to 117"),
    ([_hoi(object_id=2)], f"{TRIPLET}: object_id: … 2 … {BOXES}"),
    ([_hoi(subject_id=2)], f"{TRIPLET}: subject_id: … 2 … {BOXES}"),
    ([_hoi(object_id=-1)], f"object_id: … -1 … {BOXES}, from 0 … V-COCO"),
    ([_hoi(train=True, object_id=-1)], f"object_id: … -1 … {BOXES}, from 0"),
    ([_hoi(object_id=0.5)], f"{TRIPLET}: object_id: … 0.5 … whole number"),
    ([_hoi(hoi_category_id=5)], f"{TRIPLET}: hoi_category_id: … 5 … 140 … 'ride' with 'horse'"),
    ([_hoi(hoi_category_id="x")], f"{TRIPLET}: hoi_category_id: … 'x' … whole number"),
    ([_hoi(category_id=1, hoi_category_id=5)], "'adjust' with 'horse'"),
]


@pytest.mark.parametrize(("records", "values"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, records: Any, values: str) -> None:
    with pytest.raises(InputError, match=mentions(f"{tmp_path}/truth.json: … {values}")):
        read(tmp_path, records)


def test_the_place_of_an_error_is_counted_within_its_image(tmp_path: Path) -> None:
    before = [_record(), _record(file_name="empty.jpg", annotations=[], hoi_annotation=[])]
    bad, beyond = HORSE | {"category_id": 26}, RIDE | {"category_id": 999}
    for box, boxes in ((1, [bad, HUMAN, HORSE]), (3, [HUMAN, HORSE, bad])):
        with pytest.raises(InputError, match=mentions(f"image 'b.jpg': box {box}: category_id: … 26")):
            read(tmp_path, [*before, _record(file_name="b.jpg", annotations=boxes)])
    for number, triplets in ((1, [beyond, RIDE]), (2, [RIDE, beyond])):
        with pytest.raises(InputError, match=mentions(f"image 'b.jpg': triplet {number}: category_id: … 999")):
            read(tmp_path, [*before, _record(file_name="b.jpg", hoi_annotation=triplets)])


def test_a_training_image_that_points_beyond_its_boxes_is_left_out_and_named(tmp_path: Path) -> None:
    """QPIC trains without such images; in test images they are an error (above)."""
    good = _record(True, file_name="HICO_train2015_00000002.jpg")
    bad = _record(True, hoi_annotation=[RIDE, RIDE | {"object_id": 2}])
    truth = read(tmp_path, [good, bad, _record()])
    assert truth.interactions.images == ("HICO_train2015_00000002.jpg", "HICO_test2015_00000001.jpg")
    assert truth.left_out == ("HICO_train2015_00000001.jpg",)
    assert np.diff(truth.interactions.offsets).tolist() == [1, 1]


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("split", "images", "triplets", "no_interaction", "rare"),
    [(1, 8515, 14475, 9, 10), (2, 7656, 14811, 11, 11), (3, 6229, 8994, 8, 16)],
)
def test_the_sg_test_files_have_the_published_numbers(
    shared_data: Path, split: int, images: int, triplets: int, no_interaction: int, rare: int
) -> None:
    truth = read_truth_file(shared_data / "hico_det_sg" / f"test_hico_sg{split}.json.gz")
    present = truth.triplets_per_class > 0
    assert (len(truth.interactions.images), len(truth.interactions), present.sum()) == (images, triplets, 60)
    kinds = (truth.classes.no_interaction, truth.classes.rare)
    assert [(present & kind).sum() for kind in kinds] == [no_interaction, rare]
    assert (truth.split, truth.left_out) == (f"test_hico_sg{split}", ())
