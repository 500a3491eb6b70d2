"""``shoe predict`` as a user calls it: models of random weights, files in place of steps, kills, and mistakes."""

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path

import pytest
from PIL import Image

import shoe
from tests.cli.run import run
from tests.predict.made import made_pictures
from tests.predict.tiny_detectors import detr
from tests.predict.tiny_models import llava
from tests.predict.vlm_server import VlmServer, refusing_logprobs

pytestmark = pytest.mark.slow
NAMES = [f"HICO_test2015_{number:08d}.png" for number in range(1, 5)]
LABELS = ["person", "bicycle", "person", "N/A", "dog", "person", "horse"]
BOXES = [
    {"image_id": number, "category_id": category, "bbox": [4 * number, 2, 20, 30], "score": 0.5 + 0.1 * number}
    for number in range(1, 5)
    for category in (1, 19)
]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    detr(folder / "detr", LABELS)
    llava(folder / "llava")
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made_pictures(tmp_path / "images", NAMES)
    (tmp_path / "boxes.json").write_text(json.dumps(BOXES))
    return tmp_path


def asked(path: Path) -> list[str]:
    """Keys of all answers of a file, in order."""
    lines = [json.loads(line) for line in path.read_text().splitlines()[1:]]
    return [key for line in lines if "answer" in line for key in line["keys"]]


def test_pictures_become_predictions_that_score_takes(models: Path, folder: Path) -> None:
    named = ("--detector", models / "detr", "--vlm", models / "llava", "--out", "p.jsonl", "--pair-rule", "all")
    words = ("predict", "images", *named, "--set", "pairs.pairs=2", "--set", "vlm.most_tokens=3", "--json", "-")
    done = run(*words, folder=folder)
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    table = shoe.read_predictions(folder / "p.jsonl")
    assert len(table) == told["predictions"] == told["pairs"] > 0
    assert set(table.images) == set(NAMES)
    assert told["by"]["pairs"]["pairs"] == 2
    first = json.loads((folder / "p.jsonl").read_text().splitlines()[0])
    assert {name: first["by"][name] for name in told["by"]} == told["by"]
    before = [(path, path.read_bytes()) for path in sorted(folder.glob("p*.jsonl"))]
    assert run(*words, folder=folder).returncode == 0  # all is there: nothing changes, nothing is asked
    assert [(path, path.read_bytes()) for path in sorted(folder.glob("p*.jsonl"))] == before


def test_another_score_of_the_same_answers_asks_nothing(models: Path, folder: Path) -> None:
    words = ("predict", "images", "--detections", "boxes.json", "--way", "letters", "--answers", "kept.jsonl")
    model = ("--vlm", models / "llava", "--out")
    assert run(*words, *model, "a.jsonl", folder=folder).returncode == 0
    (models / "llava" / "model.safetensors").rename(models / "llava" / "away")
    kept = (folder / "kept.jsonl").read_bytes()
    try:
        refused = run(*words, *model, "b.jsonl", folder=folder)
        assert "kept.jsonl: line 1" in refused.stderr  # another model, as its files say
    finally:
        (models / "llava" / "away").rename(models / "llava" / "model.safetensors")
    start = time.process_time()
    assert run(*words, *model, "b.jsonl", "--detector-power", "0", folder=folder).returncode == 0
    assert time.process_time() - start < 5
    assert (folder / "kept.jsonl").read_bytes() == kept
    one, other = (shoe.read_predictions(folder / name) for name in ("a.jsonl", "b.jsonl"))
    assert one.human_boxes.tolist() == other.human_boxes.tolist()
    assert (one.score < other.score).all()


def test_a_killed_run_goes_on_and_asks_nothing_twice(models: Path, folder: Path) -> None:
    words = ["predict", "images", "--detections", "boxes.json", "--way", "yes-no", "--vlm", models / "llava", "--out"]
    small = ["--set", "vlm.batch_size=1"]
    assert run(*words, "whole.jsonl", *small, folder=folder).returncode == 0
    child = multiprocessing.get_context("spawn").Process(target=_run, args=(folder, [*words, "cut.jsonl", *small]))
    child.start()
    kept = folder / "cut.answers.jsonl"
    while child.is_alive() and (not kept.exists() or kept.read_bytes().count(b'"answer"') < 8):
        time.sleep(0.005)
    os.kill(child.pid or 0, signal.SIGKILL)
    child.join()
    assert not (folder / "cut.jsonl").exists()
    assert run(*words, "cut.jsonl", *small, folder=folder).returncode == 0
    keys = asked(kept)
    assert len(keys) == len(set(keys))
    assert sorted(keys) == sorted(asked(folder / "whole.answers.jsonl"))
    assert (folder / "cut.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def _run(folder: Path, words: list[object]) -> None:
    os.chdir(folder)
    run(*words)


ENDPOINT = (
    *("predict", "images", "--detections", "boxes.json"),
    *("--backend", "endpoint", "--vlm", "m", "--way", "yes-no"),
)


def test_a_budget_that_is_spent_is_said_and_no_hours_are(folder: Path) -> None:
    server = ("--set", "vlm.base_url=http://127.0.0.1:9/v1", "--set", 'vlm.limits={"concurrency": 1}')
    price = ("--set", 'vlm.price={"input": 2.0, "output": 8.0}', "--max-cost", "1e-6", "--yes")
    done = run(*ENDPOINT, *server, *price, "--out", "p.jsonl", folder=folder)
    assert done.returncode == 3
    assert "questions are answered (limit of --max-cost reached)" in done.stderr
    assert "hours" not in done.stderr


def test_without_confidence_no_probabilities_are_requested(folder: Path) -> None:
    with VlmServer(refusing_logprobs) as server:
        url = ("--set", f"vlm.base_url={server.url}")
        done = run(*ENDPOINT, *url, "--out", "p.jsonl", folder=folder)
        assert done.returncode == 2
        assert "--confidence none" in done.stderr
        done = run(*ENDPOINT, *url, "--out", "p.jsonl", "--confidence", "none", folder=folder)
        assert done.returncode == 0, done.stderr
        assert set(server.generated.values()) == {1}
        told = json.loads((folder / "p.jsonl").read_text().splitlines()[0])
        assert told["by"]["confidence"]["policy"] == "none"


def test_a_dry_run_says_what_it_would_take(models: Path, folder: Path) -> None:
    words = ("predict", "images", "--detections", "boxes.json", "--backend", "endpoint", "--vlm", "gpt-4.1")
    price = ("--set", 'vlm.price={"input": 2.0, "output": 8.0}', "--out", "p.jsonl")
    done = run(*words, *price, "--dry-run", "--json", "-", folder=folder)
    told = json.loads(done.stdout)
    assert (told["pairs"], told["questions"]["total"], told["questions"]["known"]) == (4, 4, 0)
    tokens = told["questions"]["text_tokens"] * 2 + told["questions"]["answer_tokens"] * 8
    assert told["questions"]["cost"] == pytest.approx(tokens / 1e6)
    assert "predictions" not in told
    assert not (folder / "p.jsonl").exists()
    assert "--yes" in run(*words, *price, folder=folder).stderr
    unpriced = run(*words, "--out", "p.jsonl", "--max-cost", "5", folder=folder)
    assert unpriced.returncode == 2
    assert "vlm.price" in unpriced.stderr
    done = run(*words, "--out", "p.jsonl", "--dry-run", "--json", "-", folder=folder)
    assert "cost" not in json.loads(done.stdout)["questions"]
    assert "the unknown cost of gpt-4.1, which has no price (--set vlm.price=" in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "boxes are missing: add --detector NAME, --detections FILE or --pairs FILE"),
        (["--detections", "boxes.json", "--pairs", "x"], "--pairs cannot be used with --detector or --detections"),
        (["--detections", "boxes.json", "--way", "image"], "--way image cannot be used with boxes"),
        (["--detections", "nothing.json"], "nothing.json: found no such file"),
        (["--detections", "boxes.json", "--pair-rule", "utp"], "unknown pair rule 'utp' (did you mean upt?)"),
        (["--detections", "boxes.json", "--confidence", "yes"], "unknown confidence for phrase 'yes'"),
        (["--detections", "boxes.json", "--set", "pairs.nms=2"], "--set pairs.nms: found '2', expected float <= 1.0"),
        (["--detections", "boxes.json", "--set", "pairs.nsm=1"], "unknown setting of pairs 'nsm' (did you mean nms?)"),
        (["--detections", "boxes.json", "--set", "nms=1"], "must have the form GROUP.NAME=VALUE"),
        (
            ["--detections", "boxes.json", "--set", "pair.nms=1"],
            "unknown group of settings 'pair' (did you mean pairs?)",
        ),
        (
            ["--detections", "boxes.json", "--pair-rule", "best", "--set", "pairs.min_score=0.99"],
            "object in 4 images",
        ),
        (["--detector", "boxes.json"], "detector 'boxes.json' cannot be loaded"),
        (["--pairs", "images"], "images: found a folder, expected a file that can be read"),
        (["--pairs", "x", "--detector-power", "inf"], "--detector-power: found inf, expected a number"),
        (
            ["--pairs", "x", "--detector-power", "nan"],
            "--detector-power: found 'nan', expected a number of at least 0.0",
        ),
        (["--pairs", "x", "--max-cost", "nan"], "--max-cost: found 'nan', expected a number of at least 0.0"),
        (
            ["--pairs", "x", "--engine", "ray", "--gpus", "nan"],
            "--gpus: found 'nan', expected a number from 0.0 to 64.0",
        ),
        (
            ["--pairs", "x", "--max-requests", "1.5"],
            "--max-requests: found '1.5', expected a whole number of at least 0",
        ),
        (
            ["--pairs", "x", "--backend", "endpoint", "--set", 'vlm.parameters={"n": 2}'],
            "parameters: found n, which shoe sets itself",
        ),
        (
            ["--detections", "boxes.json", "--set", 'vlm.processor={"max_pixel": 9}'],
            "--set vlm.processor: found 'max_pixel', expected settings of CLIPImageProcessor: chat_template",
        ),
        (["--detector", "MODELS/llava"], "a model of type llava is not an object detection model"),
        (["--detections", "boxes.json", "--out", "boxes.json"], "boxes.json: found an input or another output"),
    ],
)
def test_mistakes_are_one_line(words: list[str], said: str, models: Path, folder: Path) -> None:
    given = [word.replace("MODELS", str(models)) for word in words]
    done = run("predict", "images", "--vlm", models / "llava", "--out", "p.jsonl", *given, folder=folder)
    assert done.returncode == 2
    assert said in done.stderr.splitlines()[-1]
    assert not (folder / "p.jsonl").exists()


def test_pairs_of_a_file_are_asked_about_as_they_are(models: Path, folder: Path) -> None:
    words = ("--vlm", models / "llava", "--way", "letters", "--visual", "text+crop", "--out")
    assert run("predict", "images", "--detections", "boxes.json", *words, "a.jsonl", folder=folder).returncode == 0
    done = run("predict", "images", "--pairs", "a.pairs.jsonl", *words, "b.jsonl", folder=folder)
    assert done.returncode == 0, done.stderr
    one, other = (shoe.read_predictions(folder / name) for name in ("a.jsonl", "b.jsonl"))
    assert one.equals(other)
    assert "pairs by file, shown by crop+text, llava asked by letters" in " ".join(other.notes.lines())


def test_answers_about_whole_pictures_that_nobody_can_read_are_one_line(models: Path, folder: Path) -> None:
    words = ("--vlm", models / "llava", "--way", "image", "--set", "vlm.most_tokens=2", "--out", "p.jsonl")
    done = run("predict", "images", *words, folder=folder)
    assert (done.returncode, (folder / "p.jsonl").exists()) == (2, False)
    assert "p.jsonl: found unreadable answers" in done.stderr.splitlines()[-1]


def test_each_picture_that_cannot_be_read_is_a_line(models: Path, folder: Path) -> None:
    (folder / "images" / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    (folder / "images" / "empty.png").write_bytes(b"")
    done = run("predict", "images", "--detections", "boxes.json", "--vlm", "none", "--out", "p.jsonl", folder=folder)
    assert done.returncode == 2
    assert all(name in done.stderr for name in ("broken.jpg", "empty.png"))
    assert len(done.stderr.splitlines()) == 2


def test_boxes_of_a_turned_picture_land_on_it(models: Path, folder: Path) -> None:
    """What a detector says is of the picture as it is looked at, and so is what is written."""
    upright = Image.open(folder / "images" / NAMES[0]).convert("RGB")
    (folder / "turned").mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    upright.transpose(Image.Transpose.ROTATE_90).save(folder / "turned" / NAMES[0], exif=exif)
    words = ("--detector", models / "detr", "--vlm", models / "llava", "--pair-rule", "all", "--set", "pairs.pairs=1")
    for place, out in (("images", "p.jsonl"), ("turned", "q.jsonl")):
        done = run("predict", f"{place}/{NAMES[0]}", *words, "--out", out, folder=folder)
        assert done.returncode == 0, done.stderr
    straight, turned = (shoe.read_predictions(folder / name) for name in ("p.jsonl", "q.jsonl"))
    assert straight.human_boxes.tolist() == turned.human_boxes.tolist()
    assert turned.sizes.tolist() == [[64, 48]]
