"""Files of fredzzhang/hicodet and of PPDM, and counts of ground truth files."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.summary import Counted, Differs, compare_with_published, statistics, summary
from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.samples import INSTANCES, PPDM_MIXED, parsed, read
from tests.damage import DROP, changed
from tests.mentions import mentions
from tests.present import present

FIRST = "image 'HICO_test2015_00000001.jpg'"
XYXY = "[x1, y1, x2, y2]"
BROKEN = [
    ("verbs", DROP, "verbs: … 'annotation', 'filenames', 'size', 'empty', 'objects', 'correspondence', 'rare'"),
    ("objects", {}, "objects: … object of 0 … list"),
    ("objects.3", 7, "objects: item 4: … 7"),
    ("filenames", "x", "filenames: … 'x' … list"),
    ("filenames.0", 5, "filenames: item 1: … 5"),
    ("filenames.1", "HICO_test2015_00000001.jpg", "'HICO_test2015_00000001.jpg' twice"),
    ("filenames.0", DROP, "annotation: … 28 images … 27"),
    ("size.0", DROP, "sizes: … (27, 2) … (28, 2)"),
    ("size.0", [640], "size: item 1: … [640] … [width, height]"),
    ("size.0", [-640, 480], "record 1: sizes: … -640 x 480"),
    ("size", [side[::-1] for side in parsed(INSTANCES)["size"]], "images: … exchanged?"),
    ("correspondence", DROP, "correspondence: … only"),
    ("correspondence.4", [4, 0], "correspondence: item 5: … [4, 0] … [hoi, object, verb]"),
    ("correspondence.4.2", 1e30, "correspondence: item 5: … [4, 0, 1e+30] … [hoi, object, verb]"),
    ("size.3.1", 0.5, "size: item 4: … [640, 0.5] … [width, height]"),
    ("annotation.0", [], f"{FIRST}: … [] … 'boxes_h'"),
    ("annotation.0", None, f"{FIRST}: … None … 'boxes_h'"),
    ("annotation.0.hoi", DROP, f"{FIRST}: hoi: … 'boxes_h', 'boxes_o', 'object', 'verb'"),
    ("annotation.0.verb.0", DROP, f"{FIRST}: verb: … 1 … 2 … hoi"),
    ("annotation.0.hoi", "24", f"{FIRST}: hoi: … '24' … list"),
    ("annotation.0.hoi.1", "245", f"{FIRST}: triplet 2: hoi: … '245' … whole number"),
    ("annotation.0.verb.1", 0.5, f"{FIRST}: triplet 2: verb: … 0.5 … whole number"),
    ("annotation.0.verb.1", True, f"{FIRST}: triplet 2: verb: … True … whole number"),
    ("annotation.0.verb.1", 2**40, f"{FIRST}: triplet 2: verb: … 1099511627776 … whole number"),
    ("annotation.0.verb.1", 117, f"{FIRST}: triplet 2: verb: … 117 … 0 to 116"),
    ("annotation.0.object.1", -1, f"{FIRST}: triplet 2: object: … -1 … 0 to 79"),
    ("annotation.0.hoi.1", 600, f"{FIRST}: triplet 2: hoi: … 600 … 0 to 599"),
    ("annotation.0.hoi.1", 244, f"{FIRST}: triplet 2: hoi: … 244 … object 8 and verb 87"),
    # One that correspondence does not number any more.
    ("correspondence.245.0", 7, f"{FIRST}: triplet 1: hoi: … 245 … object 8 and verb 87"),
    ("annotation.0.boxes_h.1", [1, 2, 3], f"{FIRST}: triplet 2: boxes_h: … [1, 2, 3] … {XYXY}"),
    ("annotation.0.boxes_o.0", [1, 2, 3, "4"], f"{FIRST}: triplet 1: boxes_o: … [1, 2, 3, '4'] … {XYXY}"),
    ("annotation.0.boxes_o.0", [1, 2, 3, None], f"boxes_o: … [1, 2, 3, None] … {XYXY}"),
    ("annotation.0.boxes_o.0", [[1, 2, 3, 4]], f"boxes_o: … list of 1 … {XYXY}"),
    ("annotation.0.boxes_o.0", 7, f"triplet 1: boxes_o: … 7 … {XYXY}"),
    ("annotation.0.boxes_o.0", [9, 2, 3, 4], f"record 1 ({FIRST[6:]}): object box: … [9, 2, 3, 4] … x1, y1"),
    ("objects.8", "boat\x1b[2J", rf"{FIRST}: triplet 1: object: … 'boat\x1b[2J'"),
    ("verbs.87", "roe", "verb: … 'roe' … 117 verbs … row?"),
]


@pytest.mark.parametrize(("place", "value", "values"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, place: str, value: Any, values: str) -> None:
    keys = (int(key) if key.isdigit() else key for key in place.split("."))
    with pytest.raises(InputError, match=mentions(f"{tmp_path}/truth.json: … {values}")):
        read(tmp_path, changed(parsed(INSTANCES), *keys, value))


def test_sizes_are_not_needed(tmp_path: Path) -> None:
    document = parsed(INSTANCES)
    del document["size"]
    assert not read(tmp_path, document).interactions.sizes.any()


def test_the_files_own_word_lists_say_what_its_numbers_mean(tmp_path: Path) -> None:
    document = parsed(INSTANCES)
    for part, column in (("verbs", 2), ("objects", 1)):
        last = len(document[part]) - 1
        document[part].reverse()
        for row in document["correspondence"]:
            row[column] = last - row[column]
        for entry in document["annotation"]:
            entry[part[:-1]] = [last - i for i in entry[part[:-1]]]
    assert read(tmp_path, document).interactions.equals(read_truth_file(INSTANCES).interactions)


@pytest.mark.real_data
def test_the_real_test_set_has_the_published_numbers(shared_data: Path) -> None:
    truth = read_truth_file(shared_data / "hico_det" / "instances_test2015.json")
    table = truth.interactions
    assert (len(table.images), len(table)) == (9658, 33405)
    counts = truth.triplets_per_class
    assert (counts.min(), counts.max(), int((counts == 0).sum())) == (2, 898, 0)
    assert int(counts[truth.classes.no_interaction].sum()) == 4295
    actual = table.select(~truth.classes.no_interaction[truth.hoi])
    assert int((actual.offsets[1:] > actual.offsets[:-1]).sum()) == 8528
    assert min(table.human_boxes.min(), table.object_boxes.min()) == 1
    assert (np.maximum(table.human_boxes, table.object_boxes)[:, 2:] <= table.sizes[table.image]).all()


# Counts of ground truth files


def test_the_sample_is_summed_up() -> None:
    facts = summary("instances.json", read_truth_file(INSTANCES)).to_dict()
    published = facts.pop("published")
    about = {"file": "instances.json", "format": "hicodet instances JSON", "dataset": "hico-det"}
    counts = {"images": 28, "empty_images": 2, "triplets": 95, "classes": 44, "rare_classes": 1, "non_rare_classes": 43}
    kinds = {"no_interaction_triplets": 19, "repeated_triplets": 0, "overlapping_triplets": 1}
    pairs = {"drawn": 95, "merged": 75, "merged_at": 0.5}
    others = {"split": "test2015/part", "pairs": pairs, "coordinates": {"pixels_1": 28}}
    assert facts == about | counts | kinds | others
    assert (published["split"], published["matches"]) == ("test2015", False)
    numbers = {"images": (28, 9658), "empty_images": (2, 112), "triplets": (95, 33405), "classes": (44, 600)}
    assert {name: (n["found"], n["published"]) for name, n in published["differs"].items()} == numbers


def test_unknown_splits_are_compared_to_nothing_and_images_left_out_are_counted(tmp_path: Path) -> None:
    records = parsed(PPDM_MIXED)
    records[0]["hoi_annotation"][0]["object_id"] = 99
    info = summary("", read_truth_file(PPDM_MIXED))
    assert (info.published, info.coordinates) == (None, {"pixels_0": 14, "pixels_1": 6})
    assert (info.left_out_images, summary("", read(tmp_path, records)).left_out_images) == (None, 1)


def test_statistics_count_every_triplet_once() -> None:
    truth = read_truth_file(INSTANCES)
    counts = statistics("", truth)
    by_kind: tuple[Sequence[Counted], ...] = (counts.classes, counts.verbs, counts.objects)
    assert [len(rows) for rows in by_kind] == [600, 117, 80]
    for rows in by_kind:
        triplets = [row.triplets for row in rows]
        assert sum(triplets) == 95
        assert triplets == sorted(triplets, reverse=True)
        assert all(row.images <= row.triplets for row in rows)
    assert sum(row.rare for row in counts.classes) == 138
    horse = next(row for row in counts.objects if row.name == "horse")
    shown = np.unique(truth.interactions.image[truth.interactions.object == truth.classes.objects.index("horse")])
    assert horse.images == len(shown)


def test_a_split_is_known_by_its_size_when_its_name_says_nothing() -> None:
    counts = {"images": 7656, "empty_images": 0, "triplets": 14811, "classes": 60}
    hico_det = benchmark("hico-det")
    found, other = (compare_with_published(hico_det, name, counts) for name in ("my_copy", "test_hico_sg1"))
    assert found is not None
    assert (found.split, found.matches, found.differs) == ("test_hico_sg2", True, {})
    assert compare_with_published(hico_det, "my_copy", counts | {"triplets": 14810}) is None
    assert present(other).differs == {"images": Differs(7656, 8515), "triplets": Differs(14811, 14475)}


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("file", "split"),
    [
        ("hico_det/instances_test2015.json", "test2015"),
        *((f"hico_det_sg/test_hico_sg{i}.json.gz", f"test_hico_sg{i}") for i in (1, 2, 3)),
    ],
)
def test_the_real_files_match_what_was_published(shared_data: Path, file: str, split: str) -> None:
    published = summary(file, read_truth_file(shared_data / file)).published
    assert published is not None
    assert (published.split, published.matches, published.differs) == (split, True, {})


# Files of PPDM and QPIC


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


BOX_2, TRIPLET = f"{FIRST}: box 2", f"{FIRST}: triplet 1"
BOXES = "the image's 2 boxes"
BROKEN_RECORDS = [
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


@pytest.mark.parametrize(("records", "values"), BROKEN_RECORDS)
def test_a_broken_record_is_named(tmp_path: Path, records: Any, values: str) -> None:
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
