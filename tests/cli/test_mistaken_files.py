"""A file given for another kind of file is told as what it is, in one line that says what to do."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import refused, run

VLM, DETECTOR = PREDICTIONS["free text"], PREDICTIONS["detector"]
RECORD = {"image": "HICO_test2015_00000025.jpg", "human_box": [0, 0, 9, 9], "object_box": [0, 0, 9, 9], "verb": "ride"}
FLAT = {"hx1": 0, "hy1": 0, "hx2": 9, "hy2": 9, "ox1": 0, "oy1": 0, "ox2": 9, "oy2": 9, "image": RECORD["image"]}
ROLES = {"image_id": [1], "ann_id": [2], "role_object_id": [3, 4], "label": [1], "action_name": "ride", "role_name": []}
INSTANCES = {"annotations": [{"file_name": "a.jpg", "hoi": []}], "classes": [], "action_to_object": {}, "images": []}
RATINGS = b"part,class_synset,synset,value,a\nverb,ride.v.01,sit.v.01,0.5,2\n"
MADE: dict[str, Any] = {
    "roles.json": [ROLES],
    "instances.json": INSTANCES,
    "ratings.csv": RATINGS,
    "misspelt.json": [RECORD | {"objct": "horse"}] * 2,
    "listed.json": [FLAT | {"verb": "ride", "object": "horse"}, FLAT | {"verb": "ride", "object": ["horse", "dog"]}],
    "scored.json": [RECORD | {"object": "horse", "confidnce": 0.5, "frame": 3}],
    "broken/map.json": b'{\n"name": ',
    "bare/verbs.tsv": b"",
    "map/map.json": b"{}",
    "photo.jpg": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "weights.bin": b"\1\2\3",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    for name, content in MADE.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    np.savez(folder / "export.npz", verb_classes=np.zeros(1), name="hico-det")
    return folder


V_COCO = ["V-COCO's official annotation", "truth of v-coco"]
PAIRS = ["instances.json: found V-COCO pairs", "truth of v-coco"]


@pytest.mark.parametrize(
    ("predictions", "truth", "says"),
    [
        (VLM, VLM, ["(format vlm)", "truth of hico-det", "PREDICTIONS and"]),
        (TRUTH, DETECTOR, ["detector.json: found predictions (format qpic)", "ground truth"]),
        (TRUTH, TRUTH, ["found ground truth", "not predictions", "PREDICTIONS and"]),
        ("roles.json", TRUTH, [*V_COCO, "expected predictions", "--dataset v-coco"]),
        (VLM, "roles.json", ["roles.json: found", *V_COCO, "truth of hico-det"]),
        *(("instances.json", TRUTH, PAIRS), (VLM, "instances.json", PAIRS)),
        ("ratings.csv", TRUTH, ["ratings.csv: found a similarity map", "predictions", "--similarity"]),
        ("export.npz", TRUTH, ["export.npz: found a similarity map", "predictions"]),
        (VLM, "export.npz", ["export.npz: found a similarity map", "ground truth"]),
        ("map", TRUTH, ["map: found a similarity map", "predictions"]),
        ("photo.jpg", TRUTH, ["photo.jpg: found a JPEG image", "predictions, one of"]),
        (VLM, "photo.jpg", ["photo.jpg: found a JPEG image", "ground truth: instances"]),
        ("weights.bin", TRUTH, ["weights.bin: found binary data", "predictions"]),
        ("misspelt.json", TRUTH, ["(did you mean object for 'objct'?)"]),
        ("listed.json", TRUTH, ["record 2: object: found ['horse', 'dog'], expected text"]),
    ],
)
def test_what_it_is_and_what_to_do(folder: Path, predictions: str | Path, truth: str | Path, says: list[str]) -> None:
    refused(run("score", predictions, "-g", truth, folder=folder), *says)


@pytest.mark.parametrize(
    ("option", "value", "says"),
    [
        ("similarity", "bare", ["a folder without map.json", "a similarity map"]),
        ("similarity", "ratings.csv", ["ratings.csv: found a file", "a similarity map"]),
        ("similarity", "broken", ["map.json: line 2, column 9: "]),
        ("boxes", "normalized", ["'normalized'", "unit (0 to 1), hundred"]),
    ],
)
def test_what_an_option_needs(folder: Path, option: str, value: str, says: list[str]) -> None:
    refused(run("score", VLM, "-g", TRUTH, f"--{option}", value, folder=folder), *says)


def test_other_commands_and_python_tell_it_too(folder: Path) -> None:
    assert run("convert", DETECTOR, folder / "native.npz").returncode == 0
    vlm, truth = "found predictions (format vlm)", "ground truth"
    for words, *says in (
        (("diagnose", VLM, "-g", VLM), vlm),
        (("audit", VLM, "-g", VLM), vlm),
        (("dataset", "info", VLM), vlm),
        (("dataset", "stats", VLM), vlm),
        (("diagnose", VLM, "-g", TRUTH, "--pairs", folder / "photo.jpg"), "found a JPEG image", "expected pairs"),
        (("score", VLM, "-g", folder / "native.npz"), "native table of predictions", truth),
        (("convert", VLM, folder / "out.csv", "-g", VLM), vlm),
        (("map", "info", folder / "bare"), "folder without map.json"),
    ):
        refused(run(*words), *says)
    with pytest.raises(shoe.InputError, match=r"vlm.*ground truth.*swapped\?"):
        shoe.read_ground_truth(VLM)


def test_a_misspelt_score_is_told_beside_the_assumed_one(folder: Path) -> None:
    printed = run("score", "scored.json", "-g", TRUTH, "-p", "qpic", folder=folder).stdout
    assert re.search(r" 1 triplet: score 1 .*confidence.*'confidnce'", printed)


def test_a_link_that_leads_to_itself_and_a_name_that_no_file_can_have_are_one_line(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    refused(run("score", loop, "-g", TRUTH), f"{loop}: found Too many")
    refused(run("diagnose", DETECTOR, "-g", loop), f"{loop}: found Too many")
    refused(run("map", "import", loop, loop), f"{loop}: found ")
    refused(run("score", "p" * 300, "-g", TRUTH), ": found File name too long")
