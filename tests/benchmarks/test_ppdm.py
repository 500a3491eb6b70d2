from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.samples import PPDM, PPDM_MIXED, parsed


def _read(tmp_path: Path, records: Any) -> GroundTruth:
    (tmp_path / "test_hico.json").write_bytes(orjson.dumps(records))
    return read_truth_file(tmp_path / "test_hico.json")


def _record(train: bool = False, **changes: Any) -> dict[str, Any]:
    name = "HICO_train2015_00000001.jpg" if train else "HICO_test2015_00000001.jpg"
    record: dict[str, Any] = {
        "file_name": name,
        "annotations": [{"bbox": [1, 2, 30, 40], "category_id": 1}, {"bbox": [5, 6, 70, 80], "category_id": 19}],
        "hoi_annotation": [{"subject_id": 0, "object_id": 1, "category_id": 77}],
    }
    return record | changes


def _box(**changes: Any) -> dict[str, Any]:
    return _record(
        annotations=[{"bbox": [1, 2, 30, 40], "category_id": 1}, {"bbox": [5, 6, 70, 80], "category_id": 19} | changes]
    )


def _hoi(train: bool = False, **changes: Any) -> dict[str, Any]:
    return _record(train, hoi_annotation=[{"subject_id": 0, "object_id": 1, "category_id": 77} | changes])


def _without(record: dict[str, Any], key: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name != key}


def test_ids_are_coco_categories_and_verbs_from_1(tmp_path: Path) -> None:
    truth = _read(tmp_path, [_record()])
    assert [truth.classes.labels[k] for k in truth.hoi] == ["ride horse"]
    assert truth.interactions.human_boxes.tolist() == [[1, 2, 30, 40]]
    assert truth.interactions.object_boxes.tolist() == [[5, 6, 70, 80]]


def test_numbers_may_be_text_that_ends_in_a_line_break(tmp_path: Path) -> None:
    box = {"bbox": ["5", "6\n", 70, "80"], "category_id": "19\n"}
    hoi = {"subject_id": "0", "object_id": " 1\n", "category_id": "77\n", "hoi_category_id": "140\n"}
    record = _record(annotations=[{"bbox": [1, 2, 30, 40], "category_id": 1}, box], hoi_annotation=[hoi])
    assert _read(tmp_path, [record]).interactions.equals(_read(tmp_path, [_record()]).interactions)


FIRST = "image 'HICO_test2015_00000001.jpg'"
BROKEN = [
    ([_record(), 7], "image 2: found 7, expected an object with 'file_name'"),
    (
        [_without(_record(), "file_name")],
        "image 1: file_name: found only keys 'annotations', 'hoi_annotation', expected this",
    ),
    ([_record(file_name=3)], "image 1: file_name: found 3, expected text"),
    ([_record(), _record()], "images: found 'HICO_test2015_00000001.jpg' twice, expected distinct names"),
    ([_without(_record(), "annotations")], f"{FIRST}: annotations: found only keys 'file_name', 'hoi_annotation'"),
    ([_record(annotations={})], f"{FIRST}: annotations: found an object of 0, expected a list"),
    ([_record(annotations=[[]])], f"{FIRST}: box 1: found [], expected an object with 'bbox'"),
    ([_record(hoi_annotation=[[1, 2]])], f"{FIRST}: triplet 1: found [1, 2], expected an object with 'subject_id'"),
    ([_record(hoi_annotation=None)], f"{FIRST}: hoi_annotation: found None, expected a list"),
    ([_record(hoi_annotation=[{}])], f"{FIRST}: triplet 1: subject_id: found no keys, expected this key"),
    ([_box(bbox=[1, 2, 3])], f"{FIRST}: box 2: bbox: found [1, 2, 3], expected [x1, y1, x2, y2]"),
    ([_box(bbox="1234")], f"{FIRST}: box 2: bbox: found '1234', expected [x1, y1, x2, y2]"),
    ([_box(bbox=[1, 2, 3, "four"])], f"{FIRST}: box 2: bbox: found [1, 2, 3, 'four'], expected [x1, y1, x2, y2]"),
    ([_box(bbox=["nan", 2, 3, 4])], "object box: found [nan, 2, 3, 4], expected finite x1, y1, x2, y2"),
    ([_box(bbox=[70, 6, 5, 80])], "object box: found [70, 6, 5, 80], expected finite x1, y1, x2, y2 with x1 < x2"),
    (
        [_box(category_id=12)],
        f"{FIRST}: box 2: category_id: found 12, expected one of COCO's 80 category ids, between 1",
    ),
    ([_box(category_id=0)], f"{FIRST}: box 2: category_id: found 0, expected one of COCO's 80"),
    ([_box(category_id=-5)], f"{FIRST}: box 2: category_id: found -5, expected one of COCO's 80"),
    ([_box(category_id=91)], f"{FIRST}: box 2: category_id: found 91, expected one of COCO's 80"),
    ([_box(category_id="nan")], f"{FIRST}: box 2: category_id: found 'nan', expected a whole number"),
    ([_box(category_id=[19])], f"{FIRST}: box 2: category_id: found [19], expected a whole number"),
    ([_box(category_id=80)], f"{FIRST}: triplet 1: found 'ride' with 'toaster', expected one of the 600 classes"),
    ([_hoi(category_id=0)], f"{FIRST}: triplet 1: category_id: found 0, expected 1 to 117"),
    ([_hoi(category_id=118)], f"{FIRST}: triplet 1: category_id: found 118, expected 1 to 117"),
    ([_hoi(object_id=2)], f"{FIRST}: triplet 1: object_id: found 2, expected the index of one of the image's 2 boxes"),
    (
        [_hoi(subject_id=2)],
        f"{FIRST}: triplet 1: subject_id: found 2, expected the index of one of the image's 2 boxes",
    ),
    (
        [_hoi(object_id=-1)],
        "object_id: found -1, expected the index of one of the image's 2 boxes, from 0 (only V-COCO",
    ),
    ([_hoi(train=True, object_id=-1)], "object_id: found -1, expected the index of one of the image's 2 boxes, from 0"),
    ([_hoi(object_id=0.5)], f"{FIRST}: triplet 1: object_id: found 0.5, expected a whole number"),
    (
        [_hoi(hoi_category_id=5)],
        f"{FIRST}: triplet 1: hoi_category_id: found 5, expected 140, which is 'ride' with 'horse'",
    ),
    ([_hoi(hoi_category_id="x")], f"{FIRST}: triplet 1: hoi_category_id: found 'x', expected a whole number"),
    ([_hoi(category_id=1, hoi_category_id=5)], "expected the ID of a class; 'adjust' with 'horse' is not a class"),
]


@pytest.mark.parametrize(("records", "message"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, records: Any, message: str) -> None:
    with pytest.raises(InputError) as raised:
        _read(tmp_path, records)
    assert str(raised.value).startswith(f"{tmp_path}/test_hico.json: ")
    assert message in str(raised.value)


def test_the_place_of_an_error_is_counted_within_its_image(tmp_path: Path) -> None:
    second = _record(file_name="b.jpg")
    second["annotations"] = [*second["annotations"], {"bbox": [1, 1, 2, 2], "category_id": 26}]
    with pytest.raises(InputError, match=r"image 'b.jpg': box 3: category_id: found 26"):
        _read(tmp_path, [_record(), _record(file_name="empty.jpg", annotations=[], hoi_annotation=[]), second])
    second = _record(file_name="b.jpg")
    second["hoi_annotation"] = [second["hoi_annotation"][0], second["hoi_annotation"][0] | {"category_id": 999}]
    with pytest.raises(InputError, match=r"image 'b.jpg': triplet 2: category_id: found 999"):
        _read(tmp_path, [_record(), second])


def test_a_training_image_that_points_beyond_its_boxes_is_left_out_and_named(tmp_path: Path) -> None:
    """QPIC trains without such images; in test images they are an error (above)."""
    good = _record(True, file_name="HICO_train2015_00000002.jpg")
    bad = _hoi(True, object_id=2)
    bad["hoi_annotation"].insert(0, _record()["hoi_annotation"][0])
    truth = _read(tmp_path, [good, bad, _record()])
    assert truth.interactions.images == ("HICO_train2015_00000002.jpg", "HICO_test2015_00000001.jpg")
    assert truth.left_out == ("HICO_train2015_00000001.jpg",)
    assert np.diff(truth.interactions.offsets).tolist() == [1, 1]


def test_an_image_without_boxes_or_triplets_is_fine(tmp_path: Path) -> None:
    truth = _read(tmp_path, [_record(annotations=[], hoi_annotation=[])])
    assert (len(truth.interactions.images), len(truth.interactions)) == (1, 0)


def test_a_training_sample_names_its_classes_twice_in_the_same_way() -> None:
    records = parsed(PPDM_MIXED)
    truth = read_truth_file(PPDM_MIXED)
    stated = [hoi.get("hoi_category_id") for record in records for hoi in record["hoi_annotation"]]
    assert [k + 1 if s else None for k, s in zip(truth.hoi.tolist(), stated, strict=True)] == stated
    assert sum(s is not None for s in stated) > 10


def test_triplets_keep_the_order_of_the_file() -> None:
    truth = read_truth_file(PPDM)
    records = parsed(PPDM)
    verbs = [hoi["category_id"] - 1 for record in records for hoi in record["hoi_annotation"]]
    assert truth.interactions.verb.tolist() == verbs
    assert truth.interactions.images == tuple(record["file_name"] for record in records)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("split", "images", "triplets", "no_interaction", "rare"),
    [
        (1, 8515, 14475, 9, 10),
        (2, 7656, 14811, 11, 11),
        (3, 6229, 8994, 8, 16),
    ],
)
def test_the_sg_test_files_have_the_published_numbers(
    shared_data: Path, split: int, images: int, triplets: int, no_interaction: int, rare: int
) -> None:
    truth = read_truth_file(shared_data / "hico_det_sg" / f"test_hico_sg{split}.json.gz")
    present = truth.triplets_per_class > 0
    assert (len(truth.interactions.images), len(truth.interactions), present.sum()) == (images, triplets, 60)
    assert (present & truth.classes.no_interaction).sum() == no_interaction
    assert (present & truth.classes.rare).sum() == rare
    assert truth.split == f"test_hico_sg{split}"
    assert truth.left_out == ()
