"""What a broken file gets: one line that names the file, the record, the field, what was found, what was expected."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

import shoe
import shoe.demo
from shoe.core.errors import InputError, OptionError
from shoe.predictions import read_predictions, write_predictions
from tests.damage import DROP, changed
from tests.errors import error_with, input_error, option_error
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
FLAT_CSV = b"image,hx1,hy1,hx2,hy2,ox1,oy1,ox2,oy2,verb,object\n"
MLLMS_IMAGE = "HICO_test2015_00000001"
DETECTIONS: dict[str, Any] = {"boxes": [], "labels": [], "scores": []}
PPDM = {"file_name": "a.jpg", **{key: value for key, value in QPIC.items() if key != "filename"}}
PPDM = changed(PPDM, "hoi_prediction", 0, "category_id", 0)
COCO = {"images": [], "annotations": [{"image_id": 1, "category_id": 1, "score": 0.5}], "categories": [{"id": 1}]}
RLIP = {"a.jpg": {"labels": [0], "boxes": [], "verb_scores": []}}
TYPO = [changed(VLM, "human_box", DROP) | {"humn_bx": "left"}]
# A content, and values that its message shows, in this order, between bars.
BROKEN: list[tuple[Any, str]] = [
    (b"", "an empty file"),
    (b"  \n ", "an empty file"),
    (b"\xff\xd8\xff\xe0JFIF", "a JPEG image"),
    (b'[{"filename": "a", "predictions": [', "line 1, column 36: |end of the|JSON"),
    (b'[{"filename": "a", "predictions": [NaN]}]', "found nan"),
    (b'{"image": "a"}\n{"image": \n', "line 2, column 11: |end of the|JSON"),
    (b"[" * 3000, "fewer levels"),
    (b"%s\n%s %s" % tuple(orjson.dumps(QPIC | {"filename": name}) for name in "abc"), "line 2, column "),
    (b"%s\n%s %s" % ((orjson.dumps(FLAT),) * 3), "line 2, column "),
    ({}, "empty object: {}|[]"),
    (b"\x89HDF\r\n\x1a\n" + bytes(99), "an HDF5 file|one row per"),
    (RLIP, "RLIP"),
    ([{"file_name": "a.jpg", "rel_annotations": []}], "class IDs: rel_annotations"),
    ("image,verb\na,café\n".encode("latin-1"), "line 2: |0xe9|UTF-8"),
    ('[{"image": "café"}]'.encode("latin-1"), "line 1: |0xe9|UTF-8"),
    ("[{'image': 'café'}]".encode("latin-1"), "line 1: |0xe9|UTF-8"),
    (b"index\tquestion\tprediction\n0\tq\tr\n", "line 1: |'index', 'question', 'prediction'|column 'image'"),
    ([1, 2], "is list"),
    ([{"a": 1, "b": 2}], "keys 'a', 'b'|qpic"),
    (DETECTIONS, "(boxes, labels, scores)|interactions"),
    (COCO, "COCO|class IDs|one row"),
    ([{"file_name": "a", "annotations": [], "hoi_annotation": []}], "ground truth, not"),
    ([QPIC, 5], "record 2: found 5|'predictions', 'hoi_prediction', 'filename'"),
    ([changed(QPIC, "filename", DROP)], "record 1: filename: "),
    ([changed(QPIC, "filename", None)], "record 1: filename: found None|file name"),
    ([changed(QPIC, "predictions", {})], f"{IMAGE}: predictions: |object of 0"),
    ([changed(QPIC, "predictions", 1, "bbox", [1, 2, 3])], f"{IMAGE}: box 2: bbox: found [1, 2, 3]|[x1"),
    ([changed(QPIC, "predictions", 1, "bbox", [1, 2, 3, None])], f"{IMAGE}: box 2: bbox"),
    ([changed(QPIC, "predictions", 1, "category_id", 80)], "box 2: category_id: found 80|0 to 79"),
    ([changed(QPIC, "predictions", 1, "category_id", 1.5)], "box 2: category_id: found 1.5|whole"),
    ([changed(QPIC, "predictions", 1, "category_id", 90)], "category_id: found 90|0 to 79|COCO's|(qpic IDs)"),
    ([changed(QPIC, "hoi_prediction", 0, "category_id", 117)], "triplet 1: category_id: found 117|0 to 116"),
    ([PPDM], "category_id: found 0|80 category IDs"),
    ([changed(QPIC, "hoi_prediction", 0, "object_id", 2)], "object_id: found 2|index"),
    ([changed(QPIC, "hoi_prediction", 0, "object_id", -1)], "object_id: found -1|from 0|V-COCO"),
    ([changed(QPIC, "hoi_prediction", 0, "subject_id", -1)], "triplet 1: subject_id: found -1"),
    ([changed(QPIC, "hoi_prediction", 0, "score", None)], "triplet 1: score: found None|number"),
    ([changed(QPIC, "hoi_prediction", 0, "score", True)], "triplet 1: score: found True|number"),
    ([QPIC, changed(QPIC, "predictions", 1, "bbox", 2, 10)], f"images: |{QPIC['filename']!r} twice"),
    ([QPIC, QPIC], f"images: |{QPIC['filename']!r} twice|distinct"),
    ([changed(QPIC, "predictions", 1, "bbox", [1, 2, 1e300, 5])], "object box: |[1, 2, 1e+300, 5]"),
    ([VLM | {"human_box": [1, 2, 3]}], "record 1: human_box: found [1, 2, 3]|four"),
    ([VLM | {"human_box": [1, 2, 3, "x"]}], "record 1: human_box: found [1, 2, 3, 'x']|four"),
    ([VLM | {"human_box": "left"}], "record 1: human_box: found 'left'|four"),
    ([VLM | {"human_box": None}], "record 1: human_box: found None|four"),
    ([changed(VLM, "verb", DROP) | {"phrase": None}], "record 1: phrase: found None|phrase|verb"),
    ([VLM | {"verb": None}], "record 1: verb: found None|phrase|verb|object"),
    ([changed(VLM, "object_box", DROP)], "record 1: object_box: |no such key"),
    ([VLM, changed(VLM, "image", DROP)], "record 2: image: |no such key"),
    ([VLM | {"image": 1.5}], "record 1: image: found 1.5|file name"),
    ([VLM | {"verb": 7}], "record 1: verb: found 7|text|'riding'|formats"),
    ([changed(VLM, "verb", DROP) | {"hoi_id": 7}], "record 1: hoi_id: found 7|text|'riding'"),
    ([VLM | {"image": 0}], "record 1: image: found 0|file name|test image"),
    ([VLM | {"image": "504"}], "record 1: image: found '504'|file name|number"),
    ([VLM | {"score": "sure"}], "record 1: score: found 'sure'|number"),
    ([VLM | {"width": 0.5, "height": 3}], "record 1: width: found 0.5|pixels"),
    ([changed(VLM, "verb", DROP)], "record 1: phrase: |no such key"),
    ([{"image": "a", "response": [1]}], "record 1, item 1: incomplete: |found 1|two boxes"),
    ([FLAT | {"hx1": "a"}], "record 1: hx1: found 'a'|number"),
    ([FLAT, changed(FLAT, "verb", DROP)], "record 2: verb: |found only"),
    ([FLAT | {"verb": None}], "record 1: verb: found None|text"),
    ({MLLMS_IMAGE: [MLLMS | {"hoi_id": 0}]}, "hoi_id: found 0|1 to 600|hico-det|(mllms IDs)"),
    ({MLLMS_IMAGE: [MLLMS | {"score": []}]}, "triplet 1: score: found []|number"),
    ([HOIDET | {"hoi_class": [600]}], "triplet 1: hoi_class: found 600|0 to 599"),
    ([HOIDET | {"o_idx": [1]}], "triplet 1: o_idx: found 1"),
    ([HOIDET | {"hoi_score": []}], "hoi_score: found 0|expected 1"),
    (changed(THID, "keys", "1", [7, 8]), "class '1': |2 keys, 1 scores, 1 boxes"),
    (changed(THID, "keys", {"600": []}), "keys: found 600|0 to 599|hico-det|(thid IDs)"),
    (changed(THID, "boxes", "1", [[1, 2]]), "class '1': row 1: boxes: |found [1, 2]"),
    (FLAT_CSV + b"a,1,2,3\n", "line 2: found 4|11"),
    (FLAT_CSV + b"a,1,2,3,4,1,2,3,nan,v,o\n", "object box: |[1, 2, 3, nan]"),
    (FLAT_CSV + b'"a,1,2', "expected CSV"),
    (b"image,a,b,verb\n1,2,3,4\n", "line 1: |'image', 'a', 'b', 'verb'|CSV|image, hx1"),
    (b"image,a,b,verb\n1,2,3,4\n", "not found: hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2, object"),
    (",".join([*FLAT, "x"]).replace("hx1", "hx_l").encode(), "no column hx1"),
    (";".join(FLAT).encode(), "line 1: |separated by ';'|commas"),
    (b"\0" * 1000, "zero bytes"),
    ("image,hx1".encode("utf-16"), "UTF-16|UTF-8"),
    ('[{"image": 1}]'.encode("utf-16-le"), "UTF-16"),
    ('[{"image": 1}]'.encode("utf-16-be"), "UTF-16"),
    (TYPO, "'image', 'object_box', 'verb', 'object', 'humn_bx'|qpic|human_box for 'humn_bx'?"),
    ([changed(VLM, "human_box", DROP)], "(vlm needs|image, human_box, object_box|not found: human_box)"),
    ([changed(FLAT, "hx1", DROP)], "(jsonl needs|image, hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2, verb, object"),
    (b"PAR1" + b"x" * 40, "damaged Parquet"),
    (b"PK\x03\x04" + b"x" * 40, "a damaged file"),
    (b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM", "all_boxes: |no cells"),
]


@pytest.mark.parametrize(("content", "values"), BROKEN)
def test_a_broken_file_gets_one_line_that_says_where(tmp_path: Path, content: Any, values: str) -> None:
    path = tmp_path / "predictions"
    path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    with input_error(*values.split("|"), source=str(path)) as caught:
        read_predictions(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


def test_a_file_named_csv_hears_what_csv_needs(tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    for line, values in (
        ("file,h_x1,action", "line 1: |'file', 'h_x1', 'action'|CSV|image, hx1|ox2, oy2, object|hx1 for 'h_x1'?"),
        ("file;h_x1", "line 1: |separated by ';'"),
        ("prose", "'prose"),
    ):
        path.write_text(f"{line}\n1\n")
        with input_error(*values.split("|")):
            read_predictions(path)


def test_a_missing_file_is_named_with_its_nearest_sibling_and_arrays_by_their_names(tmp_path: Path) -> None:
    np.savez(tmp_path / "own.npz", boxes=np.zeros((1, 4)), scores=np.zeros(1))
    with input_error("'boxes', 'scores'", "native"):
        read_predictions(tmp_path / "own.npz")
    (tmp_path / "predictions.json").write_bytes(b"[]")
    assert len(read_predictions(tmp_path / "predictions.json")) == 0
    with input_error("predictions.json?"):
        read_predictions(tmp_path / "prediction.json")


@pytest.mark.parametrize(
    ("form", "kind", "values"),
    [
        ("qpic", InputError, ("text", "qpic")),
        ("native", InputError, ("native",)),
        ("qpik", OptionError, ("'qpik'", "qpic?")),
        # A method that is no format leads to its formats.
        ("UPT", OptionError, ("'UPT'", "v-coco (", "UPT", "mat (", "UPT", "?")),
        ("json", OptionError, ("'json'", "jsonl?")),
    ],
)
def test_a_format_that_does_not_fit_the_file_is_refused(
    form: str, kind: type[Exception], values: tuple[str, ...]
) -> None:
    with error_with(kind, *values):
        read_predictions(samples.FOLDER / "flat.csv", format=form)


@pytest.mark.parametrize("form", ["qpic", "ppdm", "gen-vlkt", "hoidet", "thid", "mllms", "jsonl", "vlm"])
@pytest.mark.parametrize("name", [name for name in samples.SAMPLES if name.endswith((".json", ".jsonl", ".pkl"))])
def test_a_wrongly_named_document_format_is_read_or_refused(name: str, form: str) -> None:
    try:
        read_predictions(samples.FOLDER / name, format=form)
    except InputError:
        return
    same = {samples.SAMPLES[name], form}
    assert len(same) == 1 or same in ({"qpic", "gen-vlkt"}, {"jsonl", "vlm"})


def test_without_predictions_there_are_no_images_to_score() -> None:
    truth = shoe.read_ground_truth(shoe.demo.TRUTH)
    with input_error("no predictions", "--images-in-predictions"):
        truth.within([])
    with option_error("'rf_uc'", "rf-uc?"):
        shoe.read_ground_truth(shoe.demo.TRUTH, split="rf_uc")


@pytest.mark.parametrize(
    ("verb", "form", "kind", "values"),
    [
        ("ride", "ppdm", OptionError, ("ppdm", "csv, jsonl, mat, mllms, native")),
        ("befriend", "qpic", InputError, ("triplet 1", "verb", "'befriend'", "117 verbs")),
        ("fly", "mllms", InputError, ("'fly'", "'horse'", "600 classes")),
    ],
)
def test_what_a_format_cannot_hold_is_named_and_nothing_is_written(
    tmp_path: Path, verb: str, form: str, kind: type[Exception], values: tuple[str, ...]
) -> None:
    with error_with(kind, *values):
        write_predictions(one_triplet(verbs=[verb], objects=["horse"]), tmp_path / "out", form)
    assert list(tmp_path.iterdir()) == []
