"""``shoe diagnose`` as a user runs it: its output, its exit code and its files."""

import os
import re
import sys
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import orjson
import pytest
from matplotlib.figure import Figure
from PIL import Image

import shoe
from shoe.benchmarks.hico_det import PROTOCOLS
from shoe.benchmarks.signature import Signature
from shoe.demo import PREDICTIONS, TRUTH
from tests.cli import run as cli
from tests.cli.run import declared_keys, keys_of, refused
from tests.diagnosis.meanings import write_hand_map

VLM, DETECTOR = PREDICTIONS["free text"], PREDICTIONS["detector"]
IMAGE = "HICO_test2015_00000675.jpg"
PAIR = {"h_box": [298, 108, 449, 265], "o_box": [229, 179, 563, 399], "o_label": "sheep"}
"""As it is annotated; someone rides a sheep."""


def run(*arguments: str | Path, **more: Any) -> CompletedProcess[str]:
    return cli.run("diagnose", *arguments, "--ground-truth", TRUTH, **more)


def as_json(*arguments: str | Path) -> dict[str, Any]:
    return cli.as_json("diagnose", *arguments, "--ground-truth", TRUTH)


def grey_photo() -> bytes:
    file = BytesIO()
    Image.new("RGB", (640, 480), "gray").save(file, "JPEG")
    return file.getvalue()


@pytest.fixture(scope="module")
def usual() -> dict[str, Any]:
    return as_json(VLM)


def write_pairs(path: Path, **more: Any) -> Path:
    away = PAIR | {"h_box": [0, 0, 9, 9]}
    path.write_bytes(orjson.dumps([{"filename": IMAGE, "box_pairs": [PAIR | more, away | more]}]))
    return path


def write_ride(path: Path, score: float = 0.5, verb: str = "ride") -> Path:
    boxes = {"human_box": PAIR["h_box"], "object_box": PAIR["o_box"]}
    path.write_bytes(orjson.dumps({"image": IMAGE, **boxes, "verb": verb, "object": "sheep", "score": score}))
    return path


def test_output_is_signed_and_says_what_costs_most(tmp_path: Path, usual: dict[str, Any]) -> None:
    shown = cli.output("diagnose", VLM, "-g", TRUTH, "--verbose")
    assert "costs most" in cli.output("diagnose", VLM, "-g", TRUTH, "--json", tmp_path / "errors.json")
    assert "costs most: object" in shown
    assert shown.splitlines()[1].startswith("155 of 200 images")
    assert f"mAP {100 * usual['map']:.2f}" in shown
    for signature in (usual["signature"], usual["semantic"]["signature"]):
        assert Signature.parse(signature, PROTOCOLS).short() in shown
    assert orjson.loads((tmp_path / "errors.json").read_bytes()) == usual
    assert [path.name for path in tmp_path.iterdir()] == ["errors.json"]


def test_every_key_that_is_declared_is_written(tmp_path: Path) -> None:
    declared = declared_keys("diagnose")
    pairs = write_pairs(tmp_path / "pairs.json", h_score=0.5, o_score=0.5, verb_scores={"ride": 0.5})
    outside = write_ride(tmp_path / "outside.jsonl", score=1.5)
    odd = write_ride(tmp_path / "odd.jsonl", verb="xqzt")
    (tmp_path / "few.jsonl").write_bytes(b"".join(VLM.read_bytes().splitlines(keepends=True)[:60]))
    (tmp_path / "few.json").write_bytes(orjson.dumps(orjson.loads(DETECTOR.read_bytes())[:40]))
    few = as_json(tmp_path / "few.jsonl", tmp_path / "few.json", "--sweep")
    reports = [few, as_json(pairs), as_json(outside, "--pairs", pairs)]
    reports.append(as_json(odd, "--split", "rf-uc"))
    found = {key.removeprefix("models.") for report in reports for key in keys_of(report, declared)}
    assert {key.removeprefix("models.") for key in declared} - found == set()


@pytest.mark.slow
def test_several_models_are_one_table_and_a_list(usual: dict[str, Any]) -> None:
    found = as_json(VLM, DETECTOR)
    assert [model["name"] for model in found["models"]] == ["vlm", "detector"]
    assert found["models"][0] == {key: value for key, value in usual.items() if key not in ("dataset", "split")}
    done = run(VLM, DETECTOR, "--similarity", "none")
    assert len(re.findall(r"^ (?:vlm|detector) .*\*", done.stdout, re.MULTILINE)) == 2
    assert "SHOE" not in done.stdout


def test_models_are_compared_on_the_images_that_all_of_them_name(usual: dict[str, Any]) -> None:
    found = as_json(VLM, DETECTOR, "--images-in-predictions", "--similarity", "none")
    assert found["split"] == "test2015/part/images-in-predictions"
    one, other = found["models"]
    assert one["images"] == other["images"] < usual["images"]
    assert as_json(VLM, "--images-in-predictions", "--similarity", "none")["map"] == one["map"]


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for name in ("a/out.jsonl", "b/out.jsonl", "out.json"):
        write_ride(tmp_path / name)
    for other, names in (
        ("b/out.jsonl", ["a/out.jsonl", "b/out.jsonl"]),
        ("out.json", ["out.jsonl", "out.json"]),
        ("a/out.jsonl", ["out.jsonl (1)", "out.jsonl (2)"]),
    ):
        found = as_json(tmp_path / "a/out.jsonl", tmp_path / other, "--similarity", "none")
        assert [model["name"] for model in found["models"]] == names


def test_a_file_whose_name_is_no_text_is_diagnosed(tmp_path: Path) -> None:
    path = write_ride(tmp_path / os.fsdecode(b"\xff.jsonl"))
    assert as_json(path, "--similarity", "none")["name"] == "\ufffd"


def test_options_change_their_figures_and_the_signature(usual: dict[str, Any], tmp_path: Path) -> None:
    def signed(report: dict[str, Any]) -> dict[str, str]:
        return dict(Signature.parse(report["signature"]).items)

    released = as_json(VLM, "--variant", "released", "--similarity", "none")
    assert released["map"] != usual["map"]
    assert (signed(released)["diagnosis"], "semantic" in released) == ("released", False)
    for option, value in (("choice", "greedy"), ("seed", "7")):
        found = as_json(write_ride(tmp_path / "r.json"), f"--{option}", value, "--similarity", "none")
        assert signed(found)[option] == value
    assert as_json(VLM, "--no-interaction", "keep", "--similarity", "none")["images"] > usual["images"]
    by_hand = as_json(VLM, "--similarity", write_hand_map(tmp_path / "map"))
    assert by_hand["semantic"]["map"] < usual["semantic"]["map"]
    assert by_hand["map"] == usual["map"]


def test_files_of_pairs_alone(tmp_path: Path) -> None:
    alone = as_json(write_pairs(tmp_path / "p.json"))
    assert (alone["predictions"], alone["pairs"]["precision"], "errors" in alone) == (2, 0.5, False)
    assert "negative_ap" in alone["absent"]
    done = run(tmp_path / "p.json", "--out", tmp_path / "i")
    assert done.stderr.startswith(f"{tmp_path / 'p.json'}: no example images")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "i").exists()
    scored = as_json(write_pairs(tmp_path / "q.json", hoi_score_inter=0.5), VLM)
    assert ["errors" in model for model in scored["models"]] == [False, True]


def test_pairs_beside_triplets_tell_how_verbs_are_named(tmp_path: Path) -> None:
    ride = write_ride(tmp_path / "t.jsonl")
    pairs = write_pairs(tmp_path / "p.json", verb_scores={"ride": 0.9, "hold": 0.2})
    found = as_json(ride, "--pairs", pairs)
    assert min(found["map"], found["interaction_map"]) > 0
    assert (found["predictions"], "absent" in found) == (1, False)
    refused(run(ride, VLM, "--pairs", pairs), "--pairs: found 1", "expected 2")


@pytest.mark.slow
def test_figures_and_pictures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but no pixels of them: ``tests/report/figures`` has those; of all they would take seconds."""
    monkeypatch.setattr(Figure, "savefig", lambda figure, stream, **_: stream.write(b"a figure"))
    (tmp_path / "few.jsonl").write_bytes(b"".join(VLM.read_bytes().splitlines(keepends=True)[:36:2]))
    photos, grey = tmp_path / "photos", grey_photo()
    photos.mkdir()
    for path in orjson.loads(TRUTH.read_bytes())["filenames"]:
        (photos / path).write_bytes(grey)
    folders: list[str | Path] = ["--figures", tmp_path / "f", "--out", tmp_path / "i", "--images", photos]
    done = run(tmp_path / "few.jsonl", *folders, "--json", tmp_path / "errors.json", "--sweep")
    assert done.returncode == 0
    assert {"errors.pdf", "pairs.png", "sweeps.pdf", "verbs.png"} <= set(os.listdir(tmp_path / "f"))
    assert {"interaction.png", "missed_gt.png"} <= set(os.listdir(tmp_path / "i"))
    told = done.stderr.splitlines()
    assert [line.split(": ")[0] for line in told] == [str(tmp_path / "i"), str(tmp_path / "f")]
    assert "interaction.png" in told[0]


def test_pictures_of_several_models_have_folders_of_their_own(tmp_path: Path) -> None:
    models = [write_ride(tmp_path / name) for name in ("one.jsonl", "two.jsonl")]
    assert run(*models, "--out", tmp_path / "i", "--similarity", "none").returncode == 0
    assert sorted(os.listdir(tmp_path / "i")) == ["one", "two"]


def test_without_the_extra_the_install_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    refused(run(VLM, "--figures", tmp_path / "f"), "pip install 'shoe-eval[plots]'")
    assert run(VLM, "--similarity", "none").returncode == 0


def test_scores_of_which_the_lowest_is_the_best_are_reported() -> None:
    truth, table = shoe.read_ground_truth(TRUTH), shoe.read_predictions(DETECTOR)
    tables = table, replace(table, score=1 - table.score)
    right, turned = (shoe.diagnose(each, truth, similarity=None, seeds=1) for each in tables)
    none, (line,) = ([line for line in each.warnings if line.startswith("scores:")] for each in (right, turned))
    assert none == []
    assert re.search(rf" 70\.10 .* {100 * (turned.means.map or 0):.2f}\)$", line)
