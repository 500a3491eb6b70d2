"""A file given for another kind of file is told as what it is, in one line that says what to do."""

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


@pytest.mark.parametrize(
    ("predictions", "truth", "more", "says"),
    [
        (
            VLM,
            VLM,
            [],
            "found predictions (format vlm), expected ground truth of hico-det (are PREDICTIONS and",
        ),
        (TRUTH, DETECTOR, [], "detector.json: found predictions (format qpic), expected ground truth"),
        (
            TRUTH,
            TRUTH,
            [],
            "found ground truth, not predictions, expected predictions (are PREDICTIONS and",
        ),
        (
            "roles.json",
            TRUTH,
            [],
            "found V-COCO's official annotation, ground truth of v-coco, expected predictions (give --dataset v-coco",
        ),
        (
            VLM,
            "roles.json",
            [],
            "roles.json: found V-COCO's official annotation, ground truth of v-coco, expected ground truth of hico-det",
        ),
        ("instances.json", TRUTH, [], "instances.json: found V-COCO pairs JSON, ground truth of v-coco"),
        (VLM, "instances.json", [], "instances.json: found V-COCO pairs JSON, ground truth of v-coco"),
        ("ratings.csv", TRUTH, [], "ratings.csv: found a similarity map, expected predictions (use --similarity"),
        ("export.npz", TRUTH, [], "export.npz: found a similarity map, expected predictions"),
        (VLM, "export.npz", [], "export.npz: found a similarity map, expected ground truth"),
        ("map", TRUTH, [], "map: found a similarity map, expected predictions"),
        ("photo.jpg", TRUTH, [], "photo.jpg: found a JPEG image, expected predictions, one of"),
        (VLM, "photo.jpg", [], "photo.jpg: found a JPEG image, expected ground truth: instances"),
        ("weights.bin", TRUTH, [], "weights.bin: found binary data, expected predictions"),
        (
            VLM,
            TRUTH,
            ["--similarity", "bare"],
            "found a folder without map.json, expected the name or folder of a similarity map",
        ),
        (
            VLM,
            TRUTH,
            ["--similarity", "ratings.csv"],
            "ratings.csv: found a file, expected the name or folder of a similarity map",
        ),
        (
            VLM,
            TRUTH,
            ["--similarity", "broken"],
            "map.json: line 2, column 9: found the end of the file",
        ),
        (
            VLM,
            TRUTH,
            ["--boxes", "normalized"],
            "'normalized': the range of the coordinates is missing: use unit (0 to 1), hundred",
        ),
        ("misspelt.json", TRUTH, [], "(did you mean object for 'objct'?)"),
        (
            "listed.json",
            TRUTH,
            [],
            "record 2: object: found ['horse', 'dog'], expected text (write one record for each)",
        ),
    ],
)
def test_what_it_is_and_what_to_do(
    folder: Path, predictions: str | Path, truth: str | Path, more: list[str], says: str
) -> None:
    refused(run("score", predictions, "-g", truth, *more, folder=folder), says)


def test_other_commands_and_python_tell_it_too(folder: Path) -> None:
    for command in (("diagnose", VLM, "-g"), ("audit", VLM, "-g"), ("dataset", "info"), ("dataset", "stats")):
        refused(run(*command, VLM), "found predictions (format vlm)")
    with pytest.raises(shoe.InputError, match=r"found predictions \(format vlm\), expected ground truth .* swapped\?"):
        shoe.read_ground_truth(VLM)
    refused(run("diagnose", VLM, "-g", TRUTH, "--pairs", folder / "photo.jpg"), "found a JPEG image, expected pairs")
    assert run("convert", DETECTOR, folder / "native.npz").returncode == 0
    refused(
        run("score", VLM, "-g", folder / "native.npz"), "found a native table of predictions, expected ground truth"
    )
    refused(run("convert", VLM, folder / "out.csv", "-g", VLM), "found predictions (format vlm)")
    refused(run("map", "info", folder / "bare"), "found a folder without map.json")


def test_a_misspelt_score_is_told_beside_the_assumed_one(folder: Path) -> None:
    done = run("score", "scored.json", "-g", TRUTH, "-p", "qpic", folder=folder)
    assert "no score given for 1 triplet: score 1 assumed (did you mean confidence for 'confidnce'?)" in done.stdout


def test_a_link_that_leads_to_itself_is_one_line(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    says = f"{loop}: found Too many levels of symbolic links, expected a file that can be read"
    refused(run("score", loop, "-g", TRUTH), says)
    refused(run("diagnose", DETECTOR, "-g", loop), says)
    refused(run("map", "import", loop, loop), f"{loop}: found ")
