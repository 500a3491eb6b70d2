"""What a broken file gets: one line that names the file, the record, the field, what was found, what was expected."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

import shoe
import shoe.demo
from shoe.core.errors import InputError, OptionError
from shoe.predictions import read_predictions, write_predictions
from tests.predictions import samples
from tests.tables import one_triplet

QPIC = {
    "filename": "HICO_test2015_00000001.jpg",
    "predictions": [
        {"bbox": [9.5, 19.0, 109.2, 219.8], "category_id": 0},
        {"bbox": [58.1, 91.0, 299.0, 238.5], "category_id": 17},
    ],
    "hoi_prediction": [{"subject_id": 0, "object_id": 1, "category_id": 76, "score": 0.81}],
}
IMAGE = "image 'HICO_test2015_00000001.jpg'"
VLM = {"image": "1.png", "human_box": [0, 0, 5, 5], "object_box": [0, 0, 5, 5], "verb": "ride", "object": "horse"}
FLAT: dict[str, Any] = {
    name: 9 * (name[-1] == "2") for name in ("hx1", "hy1", "hx2", "hy2", "ox1", "oy1", "ox2", "oy2")
}
FLAT |= {"image": "1.png", "verb": "ride", "object": "horse"}
MLLMS = {"hoi_id": 1, "sub_bbox": [0, 0, 5, 5], "obj_bbox": [0, 0, 5, 5], "score": 1}
HOIDET = {"image_id": 1, "boxes": [[0, 0, 5, 5]], "h_idx": [0], "o_idx": [0], "hoi_score": [1], "hoi_class": [3]}
THID = {"scores": {"1": [0.5]}, "boxes": {"1": [[0, 0, 1, 1, 0, 0, 1, 1]]}, "keys": {"1": [7]}}
DROP = object()


def changed(document: Any, *path: Any) -> Any:
    """A copy of a document with the value at a path replaced by the last argument, or dropped."""
    copy = orjson.loads(orjson.dumps(document))
    *keys, last, value = path
    holder = copy
    for key in keys:
        holder = holder[key]
    if value is DROP:
        del holder[last]
    else:
        holder[last] = value
    return copy


BROKEN: list[tuple[Any, str]] = [
    (b"", "found an empty file"),
    (b"  \n ", "found an empty file"),
    (b"\xff\xd8\xff\xe0JFIF", "found a JPEG image, expected predictions"),
    (b'[{"filename": "a", "predictions": [', "line 1, column 36: found the end of the file, expected JSON"),
    (b'[{"filename": "a", "predictions": [NaN]}]', "found nan"),
    (b'{"image": "a"}\n{"image": \n', "line 2, column 11: found the end of the line, expected JSON"),
    (b"[" * 3000, "expected fewer levels"),
    (b"%s\n%s %s" % tuple(orjson.dumps(QPIC | {"filename": name}) for name in "abc"), "line 2, column "),
    (b"%s\n%s %s" % ((orjson.dumps(FLAT),) * 3), "line 2, column "),
    ({}, "found an empty object: {}, expected predictions (a file without predictions is [])"),
    (b"\x89HDF\r\n\x1a\n" + bytes(99), "found an HDF5 file, expected predictions (write one row per triplet with"),
    ({"a.jpg": {"labels": [0], "boxes": [], "verb_scores": []}}, "found RLIP's results by image, expected predictions"),
    ([{"file_name": "a.jpg", "rel_annotations": []}], "found relations with class IDs: rel_annotations, expected"),
    ("image,verb\na,café\n".encode("latin-1"), "line 2: found the byte 0xe9, which is not UTF-8, expected text in"),
    ('[{"image": "café"}]'.encode("latin-1"), "line 1: found the byte 0xe9, which is not UTF-8"),
    ("[{'image': 'café'}]".encode("latin-1"), "line 1: found the byte 0xe9, which is not UTF-8"),
    (b"index\tquestion\tprediction\n0\tq\tr\n", "line 1: found the columns 'index', 'question', 'prediction'"),
    (b"index\tquestion\tprediction\n0\tq\tr\n", "(each answer needs the key or column 'image' with the file name of"),
    ([1, 2], "found a document that is list"),
    ([{"a": 1, "b": 2}], "found objects with the keys 'a', 'b', expected predictions, one of: qpic"),
    ({"boxes": [], "labels": [], "scores": []}, "found object detections (boxes, labels, scores) without interactions"),
    (
        {"images": [], "annotations": [{"image_id": 1, "category_id": 1, "score": 0.5}], "categories": [{"id": 1}]},
        "found COCO's layout with scores, expected predictions (labels are needed, not class IDs: write one row",
    ),
    ([{"file_name": "a", "annotations": [], "hoi_annotation": []}], "found ground truth, not predictions"),
    ([QPIC, 5], "record 2: found 5, expected an object with 'predictions', 'hoi_prediction', 'filename'"),
    ([changed(QPIC, "filename", DROP)], "record 1: filename: found only"),
    ([changed(QPIC, "filename", None)], "record 1: filename: found None, expected a file name"),
    ([changed(QPIC, "predictions", {})], f"{IMAGE}: predictions: found an object of 0, expected a list"),
    ([changed(QPIC, "predictions", 1, "bbox", [1, 2, 3])], f"{IMAGE}: box 2: bbox: found [1, 2, 3], expected [x1"),
    ([changed(QPIC, "predictions", 1, "bbox", [1, 2, 3, None])], f"{IMAGE}: box 2: bbox"),
    ([changed(QPIC, "predictions", 1, "category_id", 80)], "box 2: category_id: found 80, expected 0 to 79"),
    ([changed(QPIC, "predictions", 1, "category_id", 1.5)], "box 2: category_id: found 1.5, expected a whole"),
    ([changed(QPIC, "hoi_prediction", 0, "category_id", 117)], "triplet 1: category_id: found 117, expected 0 to 116"),
    (
        [changed(QPIC, "hoi_prediction", 0, "object_id", 2)],
        "object_id: found 2, expected the index of one of",
    ),
    ([changed(QPIC, "hoi_prediction", 0, "object_id", -1)], "boxes, from 0 (only V-COCO has triplets without object)"),
    ([changed(QPIC, "hoi_prediction", 0, "subject_id", -1)], "triplet 1: subject_id: found -1"),
    ([changed(QPIC, "hoi_prediction", 0, "score", None)], "triplet 1: score: found None, expected a number"),
    ([changed(QPIC, "hoi_prediction", 0, "score", True)], "triplet 1: score: found True, expected a number"),
    ([QPIC, changed(QPIC, "predictions", 1, "bbox", 2, 10)], "images: found 'HICO_test2015_00000001.jpg' twice"),
    ([QPIC, QPIC], "images: found 'HICO_test2015_00000001.jpg' twice, expected distinct names"),
    ([changed(QPIC, "predictions", 1, "bbox", [1, 2, 1e300, 5])], "object box: found [1, 2, 1e+300, 5]"),
    ([VLM | {"human_box": [1, 2, 3]}], "record 1: human_box: found [1, 2, 3], expected four numbers"),
    ([VLM | {"human_box": [1, 2, 3, "x"]}], "record 1: human_box: found [1, 2, 3, 'x'], expected four numbers"),
    ([VLM | {"human_box": "left"}], "record 1: human_box: found 'left', expected four numbers"),
    ([VLM | {"human_box": None}], "record 1: human_box: found None, expected four numbers"),
    ([changed(VLM, "verb", DROP) | {"phrase": None}], "record 1: phrase: found None, expected a phrase, or a verb"),
    ([VLM | {"verb": None}], "record 1: verb: found None, expected a phrase, or a verb and an object"),
    ([changed(VLM, "object_box", DROP)], "record 1: object_box: found no such key"),
    ([VLM, changed(VLM, "image", DROP)], "record 2: image: found no such key"),
    ([VLM | {"image": 1.5}], "record 1: image: found 1.5, expected a file name"),
    ([VLM | {"verb": 7}], "record 1: verb: found 7, expected text, such as 'riding'; only the formats"),
    ([changed(VLM, "verb", DROP) | {"hoi_id": 7}], "record 1: hoi_id: found 7, expected text, such as 'riding'"),
    ([VLM | {"image": 0}], "record 1: image: found 0, expected a file name, or the number in the name of a test image"),
    ([VLM | {"image": "504"}], "record 1: image: found '504', expected a file name, or the number in"),
    ([VLM | {"score": "sure"}], "record 1: score: found 'sure', expected a number"),
    ([VLM | {"width": 0.5, "height": 3}], "record 1: width: found 0.5, expected a whole number of pixels"),
    ([changed(VLM, "verb", DROP)], "record 1: phrase: found no such key"),
    ([{"image": "a", "response": [1]}], "record 1, item 1: incomplete: found 1, expected an object with two boxes"),
    ([FLAT | {"hx1": "a"}], "record 1: hx1: found 'a', expected a number"),
    ([FLAT, changed(FLAT, "verb", DROP)], "record 2: verb: found only"),
    ([FLAT | {"verb": None}], "record 1: verb: found None, expected text"),
    (
        {"HICO_test2015_00000001": [MLLMS | {"hoi_id": 0}]},
        "hoi_id: found 0, expected 1 to 600, interactions in hico-det's order (mllms IDs)",
    ),
    ({"HICO_test2015_00000001": [MLLMS | {"score": []}]}, "triplet 1: score: found [], expected a number"),
    ([HOIDET | {"hoi_class": [600]}], "triplet 1: hoi_class: found 600, expected 0 to 599"),
    ([HOIDET | {"o_idx": [1]}], "triplet 1: o_idx: found 1"),
    ([HOIDET | {"hoi_score": []}], "hoi_score: found 0 values, expected 1, one per triplet"),
    (changed(THID, "keys", "1", [7, 8]), "class '1': found 2 keys, 1 scores, 1 boxes"),
    (
        changed(THID, "keys", {"600": []}),
        "keys: found 600, expected 0 to 599, interactions in hico-det's order (thid IDs)",
    ),
    (changed(THID, "boxes", "1", [[1, 2]]), "class '1': row 1: boxes: found [1, 2]"),
    (b"image,hx1,hy1,hx2,hy2,ox1,oy1,ox2,oy2,verb,object\na,1,2,3\n", "line 2: found 4 fields, expected 11"),
    (
        b"image,hx1,hy1,hx2,hy2,ox1,oy1,ox2,oy2,verb,object\na,1,2,3,4,1,2,3,nan,v,o\n",
        "object box: found [1, 2, 3, nan]",
    ),
    (b'image,hx1,hy1,hx2,hy2,ox1,oy1,ox2,oy2,verb,object\n"a,1,2', "expected CSV"),
    (b"image,a,b,verb\n1,2,3,4\n", "line 1: found the columns 'image', 'a', 'b', 'verb', expected CSV with image, hx1"),
    (b"image,a,b,verb\n1,2,3,4\n", "not found: hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2, object"),
    (",".join([*FLAT, "x"]).replace("hx1", "hx_l").encode(), "no column hx1, expected"),
    (";".join(FLAT).encode(), "line 1: found fields separated by ';', expected CSV with commas"),
    (b"\0" * 1000, "found only zero bytes at the start"),
    ("image,hx1".encode("utf-16"), "found text in UTF-16, expected text in UTF-8 (save the file as UTF-8)"),
    ('[{"image": 1}]'.encode("utf-16-le"), "found text in UTF-16"),
    ('[{"image": 1}]'.encode("utf-16-be"), "found text in UTF-16"),
    (
        [changed(VLM, "human_box", DROP) | {"humn_bx": "left"}],
        "'image', 'object_box', 'verb', 'object', 'humn_bx', expected predictions, one of: qpic",
    ),
    ([changed(VLM, "human_box", DROP) | {"humn_bx": "left"}], "(did you mean human_box for 'humn_bx'?)"),
    ([changed(VLM, "human_box", DROP)], "(vlm needs image, human_box, object_box and words; not found: human_box)"),
    ([changed(FLAT, "hx1", DROP)], "(jsonl needs image, hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2, verb, object; not"),
    (b"PAR1" + b"x" * 40, "found damaged Parquet data"),
    (b"PK\x03\x04" + b"x" * 40, "found a damaged file"),
    (b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM", "all_boxes: found no cells"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_a_broken_file_gets_one_line_that_says_where(tmp_path: Path, content: Any, message: str) -> None:
    path = tmp_path / "predictions"
    path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    with pytest.raises(InputError, match=re.escape(message)) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("file,h_x1,action", "found the columns 'file', 'h_x1', 'action', expected CSV with image, hx1"),
        ("file,h_x1,action", "ox2, oy2, object (did you mean hx1 for 'h_x1'?)"),
        ("file;h_x1", "line 1: found fields separated by ';'"),
        ("prose", "found text that begins with 'prose"),
    ],
)
def test_a_file_named_csv_hears_what_csv_needs(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text(f"{line}\n1\n")
    with pytest.raises(InputError, match=re.escape(message)):
        read_predictions(path)


def test_ids_of_the_other_base_are_named(tmp_path: Path) -> None:
    record = changed(QPIC, "predictions", 1, "category_id", 90)
    path = tmp_path / "q.json"
    path.write_bytes(orjson.dumps([record]))
    with pytest.raises(InputError, match=re.escape("0 to 79, objects in COCO's order (qpic IDs)")):
        read_predictions(path)
    ppdm = {"file_name": "a.jpg", "predictions": QPIC["predictions"], "hoi_prediction": QPIC["hoi_prediction"]}
    path.write_bytes(orjson.dumps([changed(ppdm, "hoi_prediction", 0, "category_id", 0)]))
    with pytest.raises(InputError, match="one of COCO's 80 category IDs"):
        read_predictions(path)


def test_a_missing_file_is_named_with_its_nearest_sibling(tmp_path: Path) -> None:
    (tmp_path / "predictions.json").write_bytes(b"[]")
    with pytest.raises(InputError, match=re.escape("did you mean predictions.json?")):
        read_predictions(tmp_path / "prediction.json")


def test_an_empty_list_is_a_file_without_predictions(tmp_path: Path) -> None:
    (tmp_path / "none.json").write_bytes(b"[]")
    assert len(read_predictions(tmp_path / "none.json")) == 0


def test_a_format_that_does_not_fit_the_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found text, expected a file in the format qpic"):
        read_predictions(samples.FOLDER / "flat.csv", format="qpic")
    with pytest.raises(InputError, match="expected a native table"):
        read_predictions(samples.FOLDER / "flat.csv", format="native")
    with pytest.raises(OptionError, match=re.escape("unknown format 'qpik' (did you mean qpic?)")):
        read_predictions(samples.FOLDER / "flat.csv", format="qpik")


@pytest.mark.parametrize("form", ["qpic", "ppdm", "gen-vlkt", "hoidet", "thid", "mllms", "jsonl", "vlm"])
@pytest.mark.parametrize("name", [name for name in samples.SAMPLES if name.endswith((".json", ".jsonl", ".pkl"))])
def test_a_wrongly_named_document_format_is_read_or_refused(name: str, form: str) -> None:
    try:
        read_predictions(samples.FOLDER / name, format=form)
    except InputError:
        return
    same = {samples.SAMPLES[name], form}
    assert len(same) == 1 or same in ({"qpic", "gen-vlkt"}, {"jsonl", "vlm"})


def test_a_method_that_is_no_format_leads_to_its_formats(tmp_path: Path) -> None:
    with pytest.raises(
        OptionError, match=r"unknown format 'UPT'; did you mean v-coco \(.*UPT.*\) or mat \(.*UPT.*\)\?"
    ):
        read_predictions(samples.FOLDER / "flat.csv", format="UPT")
    with pytest.raises(OptionError, match=r"unknown format 'json' \(did you mean jsonl\?\)"):
        read_predictions(samples.FOLDER / "flat.csv", format="json")


def test_arrays_of_another_program_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", boxes=np.zeros((1, 4)), scores=np.zeros(1))
    with pytest.raises(
        InputError, match="found the arrays 'boxes', 'scores', not a native table, expected predictions"
    ):
        read_predictions(tmp_path / "own.npz")


def test_without_predictions_there_are_no_images_to_score(tmp_path: Path) -> None:
    truth = shoe.read_ground_truth(shoe.demo.TRUTH)
    with pytest.raises(InputError, match=r"found no predictions, .* \(leave out --images-in-predictions\)"):
        truth.within([])
    with pytest.raises(OptionError, match=r"no split 'rf_uc' \(did you mean rf-uc\?\); it contains"):
        shoe.read_ground_truth(shoe.demo.TRUTH, split="rf_uc")


def test_a_format_for_reading_only_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(
        OptionError, match="ppdm can only be read; formats that can be written: csv, jsonl, mat, mllms, native"
    ):
        write_predictions(one_triplet(), tmp_path / "out", "ppdm")
    assert list(tmp_path.iterdir()) == []


def test_a_word_that_a_format_cannot_hold_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    table = one_triplet(verbs=["befriend"], objects=["horse"])
    with pytest.raises(InputError, match="triplet 1: verb: found 'befriend', expected one of the dataset's 117 verbs"):
        write_predictions(table, tmp_path / "out.json", "qpic")
    table = one_triplet(verbs=["fly"], objects=["horse"])
    with pytest.raises(InputError, match="'fly' with 'horse', expected one of the 600 classes"):
        write_predictions(table, tmp_path / "out.json", "mllms")
    assert list(tmp_path.iterdir()) == []
