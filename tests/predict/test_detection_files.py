"""Detections and pairs of other tools: in any form the same boxes of objects, or one line that says what is wrong."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shoe.benchmarks import benchmark
from shoe.predict.detection_files import DETECTIONS, Names, read_detections, read_names, usual_names
from shoe.predict.images import Picture
from shoe.predict.pairs import read_paired
from shoe.predict.records import Detected, Detection, Pair, Paired, appender, read_lines, write_lines
from tests.errors import input_error
from tests.predict.made import made_pictures

HICO = benchmark("hico-det")
NAMES = ["COCO_val_000000000007.png", "COCO_val_000000000012.png"]
WANTED = {
    NAMES[0]: (Detection((8.0, 12.0, 24.0, 36.0), "person", 0.9), Detection((0.0, 0.0, 64.0, 48.0), "bicycle", 0.5)),
    NAMES[1]: (Detection((16.0, 12.0, 48.0, 24.0), "motorcycle", 0.25),),
}
RESULTS: list[dict[str, Any]] = [
    {"image_id": 7, "category_id": 1, "bbox": [8, 12, 16, 24], "score": 0.9},
    {"image_id": 7, "category_id": 2, "bbox": [-1, 0, 66, 48], "score": 0.5},
    {"image_id": 12, "category_id": 4, "bbox": [16, 12, 32, 12], "score": 0.25},
]
CATEGORIES = [{"id": 30, "name": "Person"}, {"id": 7, "name": "bicycle"}, {"id": 9, "name": "motorbike"}]


@pytest.fixture
def pictures(tmp_path: Path) -> list[Picture]:
    return made_pictures(tmp_path / "pictures", NAMES)


def coco(folder: Path) -> tuple[Path, Names]:
    path = folder / "results.json"
    path.write_text(json.dumps(RESULTS))
    return path, usual_names(HICO)


def whole_coco(folder: Path) -> tuple[Path, Names]:
    path = folder / "instances.json"
    ids = {1: 30, 2: 7, 4: 9}
    images = [{"id": 70, "file_name": f"some/{NAMES[0]}"}, {"id": 120, "file_name": NAMES[1]}]
    annotations = [
        {**result, "category_id": ids[result["category_id"]], "image_id": 10 * result["image_id"]} for result in RESULTS
    ]
    path.write_text(json.dumps({"images": images, "categories": CATEGORIES, "annotations": annotations}))
    (folder / "names.tsv").write_text("motorbike\tMotorcycle\r\n")
    return path, read_names(folder / "names.tsv", HICO)


def yolo(folder: Path) -> tuple[Path, Names]:
    (folder / "labels").mkdir()
    (folder / "labels" / "classes.txt").write_text("person\n")
    (folder / "labels" / f"{NAMES[0][:-4]}.txt").write_text("0 .25 .5 .25 .5 0.9\n1 0.5 0.5 1 1 .5\n\n")
    (folder / "labels" / f"{NAMES[1][:-4]}.txt").write_text("3 0.5 0.375 0.5 0.25 0.25\n")
    return folder / "labels", usual_names(HICO)


def yolo_named(folder: Path) -> tuple[Path, Names]:
    (folder / "data.yaml").write_text("nc: 4\nnames:\n  0: person\n  1: 'bicycle'\n  2: car\n  3: motor cycle # big\n")
    return yolo(folder)[0], read_names(folder / "data.yaml", HICO)


def own(folder: Path) -> tuple[Path, Names]:
    path = folder / "ours.jsonl"
    with appender(path, DETECTIONS, {"detector": "made"}) as add:
        for name, detections in WANTED.items():
            add(Detected(image=name, digest="", width=64, height=48, detections=detections))
    return path, usual_names(HICO)


@pytest.mark.parametrize("write", [coco, whole_coco, yolo, yolo_named, own])
def test_all_forms_give_the_same_boxes(
    write: Callable[[Path], tuple[Path, Names]], pictures: list[Picture], tmp_path: Path
) -> None:
    path, names = write(tmp_path)
    read = read_detections(path, pictures, names, HICO)
    assert {name: of.detections for name, of in read.pictures.items()} == WANTED
    assert not read.unknown
    assert read.pictures[NAMES[0]].digest == pictures[0].digest


@pytest.mark.parametrize(
    "text",
    [
        "names: [person, 'hot dog', \"tv\"]\nnc: 3",
        "path: x\nnames:\n- person\n- hot dog\n- tv\nnc: 3\n",
        "names: {0: person, 1: hot dog,\n  2: tv}\n",
        "names:\n  2: tv\n  0: person\n  1: hot dog\n",
    ],
)
def test_names_of_a_yaml_file_in_all_styles(text: str, tmp_path: Path) -> None:
    (tmp_path / "data.yaml").write_text(text)
    assert read_names(tmp_path / "data.yaml", HICO).indices == ["person", "hot dog", "tv"]


def changed(**fields: Any) -> str:
    return json.dumps([RESULTS[0] | fields, *RESULTS[1:]])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        (changed(category_id=12), ("result 1: category_id: ", "found 12", "COCO")),
        (changed(category_id=0), ("result 1: category_id: ", "found 0", "COCO", "from 0", "--labels")),
        (changed(bbox=[8, 12, 16]), ("result 1: bbox: ", "[8, 12, 16]", "[x, y, width, height]")),
        (changed(bbox=[8, 12, 90, 20]), ("result 1: box: ", "8, 12, 98, 32", "x1 < x2 and y1 < y2", "inside COCO")),
        (changed(bbox=[8, 12, 0, 20]), ("result 1: box: ", "64 x 48 pixels")),
        (changed(score=3), ("result 1: score: ", "found 3", "0 to 1")),
        (json.dumps([{**RESULTS[0], "image_id": 9}]), ("only other images", "''")),
        ('[{"image_id": 7}]', ("category_id: ", "'image_id'")),
        ("class,x\n", ("COCO results",)),
        ('{"image": "a.png"}\n{"image": "a.png"}\n', ("line 1: detections: ", "'image'")),
        ('{"format": "shoe answers", "version": 1}\n', ("'shoe answers', version 1", "shoe detections")),
    ],
)
def test_what_is_wrong_is_one_line(text: str, values: tuple[str, ...], pictures: list[Picture], tmp_path: Path) -> None:
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with input_error(*values, source=str(path)) as error:
        read_detections(path, pictures, usual_names(HICO), HICO)
    assert "\n" not in str(error.value)


def test_unknown_labels_are_named_and_left_out(pictures: list[Picture], tmp_path: Path) -> None:
    path, _ = whole_coco(tmp_path)
    read = read_detections(path, pictures, usual_names(HICO), HICO)
    assert (read.unknown, read.pictures[NAMES[1]].detections) == ({"motorbike": 1}, ())
    (tmp_path / "one.txt").write_text("thing\n")
    (tmp_path / "labels").mkdir()
    (tmp_path / "labels" / f"{NAMES[0][:-4]}.txt").write_text("0 .25 .5 .25 .5\n")
    with input_error("only 'thing'"):
        read_detections(tmp_path / "labels", pictures, read_names(tmp_path / "one.txt", HICO), HICO)


def test_a_file_that_was_cut_off_goes_on(tmp_path: Path) -> None:
    path, _ = own(tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert [record.image for record in read_lines(path, Detected, DETECTIONS)[1]] == NAMES[:1]
    with appender(path, DETECTIONS, {"detector": "made"}) as add:
        add(Detected(image=NAMES[1], digest="", width=64, height=48, detections=WANTED[NAMES[1]]))
        with input_error("another process"), appender(path, DETECTIONS, {}):
            pass
    assert path.read_bytes() == whole
    with input_error("detector made", "other"), appender(path, DETECTIONS, {"detector": "other"}):
        pass
    for content in (b'[{"image_id": 1}]', b'[{"image_id":\n1}]'):  # of another form, and without a last line break
        path.write_bytes(content)
        with input_error("same settings"), appender(path, DETECTIONS, {"detector": "made"}):
            pass
        assert path.read_bytes() == content


@pytest.fixture
def two_pictures(tmp_path: Path) -> list[Picture]:
    return made_pictures(tmp_path, ["a.png", "b.png"])


def test_pairs_are_read_as_written_and_by_name(two_pictures: list[Picture], tmp_path: Path) -> None:
    pair = Pair((0.0, 1.5, 20.0, 40.0), (10.0, 1.0, 64.0, 48.0), "potted_plant", 0.9, 0.5)
    written = [
        Paired(image=one.name, digest=one.digest, width=64, height=48, pairs=(pair,) * number)
        for number, one in enumerate(two_pictures)
    ]
    write_lines(tmp_path / "pairs.jsonl", written)
    assert read_paired(tmp_path / "pairs.jsonl", two_pictures, usual_names(HICO), HICO).records == written
    assert read_paired(tmp_path / "pairs.jsonl", two_pictures[1:], usual_names(HICO), HICO).records == written[1:]
    theirs = {"h_box": [0, 0, 9, 9], "o_box": [1, 1, 9, 9], "o_label": 17}
    (tmp_path / "theirs.json").write_text(json.dumps([{"filename": "images/b.jpg", "box_pairs": [theirs]}]))
    first, second = read_paired(tmp_path / "theirs.json", two_pictures, usual_names(HICO), HICO).records
    assert (first.pairs, second.pairs) == ((), (Pair((0.0, 0.0, 9.0, 9.0), (1.0, 1.0, 9.0, 9.0), "horse"),))


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        ({"o_label": 80}, ("pair 1: o_label: ", "found 80", "0 to 79", "COCO")),
        ({"o_label": "bycicle"}, ("'bycicle'", "hico-det", "bicycle?")),
        ({"h_box": [0, 0, 99, 9]}, ("pair 1: box: ", "0, 0, 99, 9", "x1 < x2 and y1 < y2", "inside a.png", "64 x 48")),
        ({"h_score": 2}, ("h_score: ", "found 2", "0 to 1")),
    ],
)
def test_what_is_wrong_with_a_pair_is_one_line(
    changes: dict[str, Any], values: tuple[str, ...], two_pictures: list[Picture], tmp_path: Path
) -> None:
    pair = {"h_box": [0, 0, 9, 9], "o_box": [1, 1, 9, 9], "o_label": "dog"} | changes
    (tmp_path / "pairs.json").write_text(json.dumps([{"filename": "a.png", "box_pairs": [pair]}]))
    with input_error(*values):
        read_paired(tmp_path / "pairs.json", two_pictures, usual_names(HICO), HICO)


def test_files_are_of_the_pictures_that_are_there_now(two_pictures: list[Picture], tmp_path: Path) -> None:
    write_lines(tmp_path / "pairs.jsonl", [Paired(image="a.png", digest="12", pairs=())])
    with input_error("found 12", record="image 'a.png'", field="digest"):
        read_paired(tmp_path / "pairs.jsonl", two_pictures, usual_names(HICO), HICO)
    with appender(tmp_path / "boxes.jsonl", DETECTIONS, {"detector": "made"}) as add:
        add(Detected(image="a.png", width=48, height=64, detections=()))
    with input_error("48 x 64", "64 x 48", field="width, height"):
        read_detections(tmp_path / "boxes.jsonl", two_pictures, usual_names(HICO), HICO)
