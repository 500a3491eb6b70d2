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


GREY = grey_photo()


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


def test_default_output_says_what_costs_most_and_is_signed(usual: dict[str, Any]) -> None:
    done = run(VLM, "--verbose")
    assert (done.returncode, done.stderr) == (0, "")
    assert "costs most: object box" in done.stdout
    assert done.stdout.splitlines()[1].startswith("155 of 200 images have predictions")
    assert f"mAP {100 * usual['map']:.2f}" in done.stdout
    assert Signature.parse(usual["signature"], PROTOCOLS).short() in done.stdout
    assert Signature.parse(usual["semantic"]["signature"], PROTOCOLS).short() in done.stdout


def test_json_to_a_file_is_whole(tmp_path: Path, usual: dict[str, Any]) -> None:
    done = run(VLM, "--json", tmp_path / "errors.json")
    assert done.returncode == 0
    assert "costs most" in done.stdout
    assert orjson.loads((tmp_path / "errors.json").read_bytes()) == usual
    assert [path.name for path in tmp_path.iterdir()] == ["errors.json"]


def test_every_key_that_is_declared_is_written(tmp_path: Path) -> None:
    declared = declared_keys("diagnose")
    pairs = write_pairs(tmp_path / "pairs.json", h_score=0.5, o_score=0.5, verb_scores={"ride": 0.5})
    outside = write_ride(tmp_path / "outside.jsonl", score=1.5)
    odd = write_ride(tmp_path / "odd.jsonl", verb="xqzt")
    reports = [as_json(VLM, DETECTOR, "--sweep"), as_json(pairs), as_json(outside, "--pairs", pairs)]
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
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "out.jsonl").write_bytes(VLM.read_bytes())
    found = as_json(tmp_path / "a/out.jsonl", tmp_path / "b/out.jsonl", "--similarity", "none")
    assert [model["name"] for model in found["models"]] == ["a/out.jsonl", "b/out.jsonl"]
    (tmp_path / "out.json").write_bytes(VLM.read_bytes())
    endings = as_json(tmp_path / "a/out.jsonl", tmp_path / "out.json", "--similarity", "none")
    assert [model["name"] for model in endings["models"]] == ["out.jsonl", "out.json"]
    same = as_json(tmp_path / "a/out.jsonl", tmp_path / "a/out.jsonl", "--similarity", "none")
    assert [model["name"] for model in same["models"]] == ["out.jsonl (1)", "out.jsonl (2)"]


def test_a_file_whose_name_is_no_text_is_diagnosed(tmp_path: Path) -> None:
    path = write_ride(tmp_path / os.fsdecode(b"\xff.jsonl"))
    assert as_json(path, "--similarity", "none")["name"] == "\ufffd"


def test_options_change_their_figures_and_the_signature(usual: dict[str, Any], tmp_path: Path) -> None:
    def signed(report: dict[str, Any]) -> dict[str, str]:
        return dict(Signature.parse(report["signature"]).items)

    released = as_json(VLM, "--variant", "released", "--similarity", "none")
    assert released["map"] != usual["map"]
    assert signed(released)["diagnosis"] == "released"
    assert "semantic" not in released
    assert signed(as_json(VLM, "--choice", "greedy", "--similarity", "none"))["choice"] == "greedy"
    assert signed(as_json(VLM, "--seed", "7", "--similarity", "none"))["seed"] == "7"
    kept = as_json(VLM, "--no-interaction", "keep", "--similarity", "none")
    assert kept["images"] > usual["images"]
    by_hand = as_json(VLM, "--similarity", write_hand_map(tmp_path))
    assert by_hand["semantic"]["map"] < usual["semantic"]["map"]
    assert by_hand["map"] == usual["map"]


def test_files_of_pairs_alone(tmp_path: Path) -> None:
    alone = as_json(write_pairs(tmp_path / "p.json"))
    assert alone["predictions"] == 2
    assert alone["pairs"]["precision"] == 0.5
    assert "errors" not in alone
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
    assert found["map"] > 0
    assert found["interaction_map"] > 0
    assert "absent" not in found
    assert found["predictions"] == 1
    done = run(ride, VLM, "--pairs", pairs)
    refused(done, "--pairs: found 1 files, expected 2")


@pytest.fixture
def few(tmp_path: Path) -> list[Path]:
    """Files of a few predictions; pictures of all would take seconds."""
    lines = VLM.read_bytes().splitlines(keepends=True)
    paths = [tmp_path / "one.jsonl", tmp_path / "two.jsonl"]
    for start, path in enumerate(paths):
        path.write_bytes(b"".join(lines[start:36:2]))
    return paths


@pytest.mark.slow
def test_figures_and_pictures(tmp_path: Path, few: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, but no pixels of them: ``tests/report/figures`` has those."""
    monkeypatch.setattr(Figure, "savefig", lambda figure, stream, **_: stream.write(b"a figure"))
    photos = tmp_path / "photos"
    photos.mkdir()
    for path in orjson.loads(TRUTH.read_bytes())["filenames"]:
        (photos / path).write_bytes(GREY)
    folders: list[str | Path] = ["--figures", tmp_path / "f", "--out", tmp_path / "i", "--images", photos]
    done = run(few[0], *folders, "--json", tmp_path / "errors.json", "--sweep")
    assert done.returncode == 0
    assert {"errors.pdf", "pairs.png", "sweeps.pdf", "verbs.png"} <= set(os.listdir(tmp_path / "f"))
    assert {"interaction.png", "missed_gt.png"} <= set(os.listdir(tmp_path / "i"))
    told = done.stderr.splitlines()
    assert [line.split(": ")[0] for line in told] == [str(tmp_path / "i"), str(tmp_path / "f")]
    assert "interaction.png" in told[0]


def test_pictures_of_several_models_have_folders_of_their_own(tmp_path: Path) -> None:
    models = [write_ride(tmp_path / name) for name in ("one.jsonl", "two.jsonl")]
    done = run(*models, "--out", tmp_path / "i", "--similarity", "none")
    assert done.returncode == 0
    assert sorted(os.listdir(tmp_path / "i")) == ["one", "two"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["no.json"], "no.json: found no such file"),
        ([TRUTH], "found ground truth, not predictions"),
        ([VLM, "--variant", "papers"], "unknown variant 'papers' (did you mean paper?)"),
        ([VLM, "--by", "roles"], "unknown kind of classes 'roles' (did you mean role?)"),
        ([VLM, "--by", "role"], "by=role: found ground truth of hico-det (hicodet instances JSON), expected v-coco"),
        ([VLM, "--choice", "good"], "unknown choice 'good'"),
        ([VLM, "--seed", "-1"], "seed: found -1"),
        ([VLM, "--no-interaction", "drop"], "unknown choice for no_interaction 'drop'"),
        ([VLM, "--similarity", "hico-dt"], "hico-dt"),
        ([VLM, "--images", "."], "--images requires --out"),
        ([VLM, "--out", "i", "--images", "nowhere"], "nowhere: found no such folder"),
        ([VLM, "--figures", "file"], "file: found File exists, expected a folder that can be created"),
        ([VLM, "--json", "nowhere/errors.json"], "nowhere/errors.json: found no folder"),
    ],
)
def test_mistakes_are_told_in_one_line_and_leave_nothing(
    tmp_path: Path, arguments: list[str | Path], says: str
) -> None:
    (tmp_path / "file").write_text("")
    refused(run(*arguments, folder=tmp_path), says)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_without_the_extra_the_install_command_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    asked = run(VLM, "--figures", tmp_path / "f")
    refused(asked, "drawing needs an optional dependency: pip install 'shoe-eval[plots]'")
    assert run(VLM, "--similarity", "none").returncode == 0


def test_scores_of_which_the_lowest_is_the_best_are_reported() -> None:
    truth, table = shoe.read_ground_truth(TRUTH), shoe.read_predictions(PREDICTIONS["detector"])
    assert not any(line.startswith("scores:") for line in shoe.diagnose(table, truth, similarity=None).warnings)
    found = shoe.diagnose(replace(table, score=1 - table.score), truth, similarity=None, seeds=1)
    (line,) = (line for line in found.warnings if line.startswith("scores:"))
    assert line.endswith(f"(strict mAP 70.10 instead of {100 * (found.means.map or 0):.2f})")
