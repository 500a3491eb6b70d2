"""``shoe predict`` as a user calls it: models of random weights, files in place of steps, kills, and mistakes."""

import json
import multiprocessing
import os
import signal
import time
from pathlib import Path
from subprocess import CompletedProcess

import pytest
from PIL import Image

import shoe
from shoe.core.interactions import Interactions
from tests.cli.run import run
from tests.predict.made import made_pictures
from tests.predict.tiny_detectors import detr
from tests.predict.tiny_models import llava
from tests.predict.vlm_server import VlmServer, made_up, refusing_logprobs

pytestmark = pytest.mark.slow
DETECTED = ("--detections", "boxes.json")
BOXED = ("images", *DETECTED)
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
    lines = map(json.loads, path.read_text().splitlines()[1:])
    return [key for line in lines if "answer" in line for key in line["keys"]]


def succeed(folder: Path, *words: object) -> CompletedProcess[str]:
    done = run("predict", *words, folder=folder)
    assert done.returncode == 0, done.stderr
    return done


def tables(folder: Path, *names: str) -> list[Interactions]:
    return [shoe.read_predictions(folder / name) for name in names]


def test_pictures_become_predictions_that_score_takes(models: Path, folder: Path) -> None:
    named = ("--detector", models / "detr", "--vlm", models / "llava", "--out", "p.jsonl", "--pair-rule", "all")
    words = ("images", *named, "--set", "pairs.pairs=2", "--set", "vlm.most_tokens=3", "--json", "-")
    told = json.loads(succeed(folder, *words).stdout)
    (table,) = tables(folder, "p.jsonl")
    assert len(table) == told["predictions"] == told["pairs"] > 0
    assert (set(table.images), told["by"]["pairs"]["pairs"]) == (set(NAMES), 2)
    first = json.loads((folder / "p.jsonl").read_text().splitlines()[0])
    assert {name: first["by"][name] for name in told["by"]} == told["by"]
    before = [(path, path.read_bytes()) for path in sorted(folder.glob("p*.jsonl"))]
    succeed(folder, *words)  # all is there: nothing changes, nothing is asked
    assert [(path, path.read_bytes()) for path in sorted(folder.glob("p*.jsonl"))] == before


def test_another_score_of_the_same_answers_asks_nothing(models: Path, folder: Path) -> None:
    words = (*BOXED, "--way", "letters", "--answers", "kept.jsonl", "--vlm", models / "llava", "--out")
    succeed(folder, *words, "a.jsonl")
    weights = models / "llava" / "model.safetensors"
    weights.rename(models / "llava" / "away")
    kept = (folder / "kept.jsonl").read_bytes()
    try:  # another model, as its files say
        assert "kept.jsonl: line 1" in run("predict", *words, "b.jsonl", folder=folder).stderr
    finally:
        (models / "llava" / "away").rename(weights)
    start = time.process_time()
    succeed(folder, *words, "b.jsonl", "--detector-power", "0")
    assert time.process_time() - start < 5
    assert (folder / "kept.jsonl").read_bytes() == kept
    one, other = tables(folder, "a.jsonl", "b.jsonl")
    assert one.human_boxes.tolist() == other.human_boxes.tolist()
    assert (one.score < other.score).all()


def test_a_killed_run_goes_on_and_asks_nothing_twice(models: Path, folder: Path) -> None:
    words = [*BOXED, "--way", "yes-no", "--vlm", models / "llava", "--set", "vlm.batch_size=1", "--out"]
    succeed(folder, *words, "whole.jsonl")
    arguments = (folder, ["predict", *words, "cut.jsonl"])
    child = multiprocessing.get_context("spawn").Process(target=_run, args=arguments)
    child.start()
    kept = folder / "cut.answers.jsonl"
    while child.is_alive() and (not kept.exists() or kept.read_bytes().count(b'"answer"') < 8):
        time.sleep(0.005)
    os.kill(child.pid or 0, signal.SIGKILL)
    child.join()
    assert not (folder / "cut.jsonl").exists()
    succeed(folder, *words, "cut.jsonl")
    keys = asked(kept)
    assert (len(keys), sorted(keys)) == (len(set(keys)), sorted(asked(folder / "whole.answers.jsonl")))
    assert (folder / "cut.jsonl").read_bytes() == (folder / "whole.jsonl").read_bytes()


def _run(folder: Path, words: list[object]) -> None:
    os.chdir(folder)
    run(*words)


ENDPOINT = ("predict", *BOXED, "--backend", "endpoint", "--vlm", "m", "--way", "yes-no")
PRICE = ("--set", 'vlm.price={"input": 2.0, "output": 8.0}')


def test_a_budget_that_is_spent_is_said_and_no_hours_are(folder: Path) -> None:
    server = ("--set", "vlm.base_url=http://127.0.0.1:9/v1", "--set", 'vlm.limits={"concurrency": 1}')
    done = run(*ENDPOINT, *server, *PRICE, "--max-cost", "1e-6", "--yes", "--out", "p.jsonl", folder=folder)
    assert done.returncode == 3
    assert "(limit of --max-cost" in done.stderr
    assert "hours" not in done.stderr


def test_a_dry_run_times_questions_by_the_answers_that_exist(folder: Path) -> None:
    with VlmServer(made_up, seconds=0.2) as server:
        own = ("--set", f"vlm.base_url={server.url}", "--set", 'vlm.limits={"concurrency": 2}', "--out", "p.jsonl")
        for asked_before in (False, True):
            done = run(*ENDPOINT, *own, "--dry-run", "--json", "-", folder=folder)
            seconds = json.loads(done.stdout).get("seconds_per_question")
            assert ("as for the latest answers" in done.stderr, seconds is not None) == (asked_before, asked_before)
            assert run(*ENDPOINT, *own, *PRICE, "--yes", "--max-requests", "2", folder=folder).returncode == 3
    assert 0.1 <= seconds < 0.5


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
    words = ("predict", *BOXED, "--backend", "endpoint", "--vlm", "gpt-4.1", "--out", "p.jsonl")
    told = json.loads(run(*words, *PRICE, "--dry-run", "--json", "-", folder=folder).stdout)
    questions = told["questions"]
    assert (told["pairs"], questions["total"], questions["known"]) == (4, 4, 0)
    tokens = questions["text_tokens"] * 2 + questions["answer_tokens"] * 8
    assert questions["cost"] == pytest.approx(tokens / 1e6)
    assert "predictions" not in told
    assert not (folder / "p.jsonl").exists()
    assert "--yes" in run(*words, *PRICE, folder=folder).stderr
    unpriced = run(*words, "--max-cost", "5", folder=folder)
    assert (unpriced.returncode, "vlm.price" in unpriced.stderr) == (2, True)
    done = run(*words, "--dry-run", "--json", "-", folder=folder)
    assert "cost" not in json.loads(done.stdout)["questions"]
    assert all(part in done.stderr for part in ("cost of gpt-4.1,", "(--set vlm.price="))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], ["--detector NAME, --detections FILE or --pairs FILE"]),
        ([*DETECTED, "--pairs", "x"], ["--pairs cannot be", "--detector or --detections"]),
        ([*DETECTED, "--way", "image"], ["--way image cannot", "boxes"]),
        (["--detections", "nothing.json"], ["nothing.json: found no such file"]),
        ([*DETECTED, "--pair-rule", "utp"], ["pair rule 'utp'", "mean upt?"]),
        ([*DETECTED, "--confidence", "yes"], ["confidence for phrase 'yes'"]),
        ([*DETECTED, "--set", "pairs.nms=2"], ["--set pairs.nms: found '2', expected float <= 1.0"]),
        ([*DETECTED, "--set", "pairs.nsm=1"], ["setting of pairs 'nsm'", "mean nms?"]),
        ([*DETECTED, "--set", "nms=1"], ["form GROUP.NAME=VALUE"]),
        ([*DETECTED, "--set", "pair.nms=1"], ["group of settings 'pair'", "mean pairs?"]),
        ([*DETECTED, "--pair-rule", "best", "--set", "pairs.min_score=0.99"], ["object in 4 images"]),
        (["--detector", "boxes.json"], ["detector 'boxes.json'", "loaded"]),
        (["--pairs", "images"], ["images: found a folder", "file"]),
        (["--pairs", "x", "--detector-power", "inf"], ["--detector-power: found inf", "number"]),
        (["--pairs", "x", "--detector-power", "nan"], ["--detector-power: found 'nan'", "at least 0.0"]),
        (["--pairs", "x", "--max-cost", "nan"], ["--max-cost: found 'nan'", "at least 0.0"]),
        (["--pairs", "x", "--engine", "ray", "--gpus", "nan"], ["--gpus: found 'nan'", "from 0.0 to 64.0"]),
        (["--pairs", "x", "--max-requests", "1.5"], ["--max-requests: found '1.5'", "at least 0"]),
        (["--pairs", "x", "--backend", "endpoint", "--set", 'vlm.parameters={"n": 2}'], ["parameters: found n,"]),
        (
            [*DETECTED, "--set", 'vlm.processor={"max_pixel": 9}'],
            ["--set vlm.processor: found 'max_pixel'", "settings of CLIPImageProcessor: chat_template"],
        ),
        (["--detector", "MODELS/llava"], ["type llava", "object detection"]),
        ([*DETECTED, "--out", "boxes.json"], ["boxes.json: found an input"]),
    ],
)
def test_mistakes_are_one_line(words: list[str], said: list[str], models: Path, folder: Path) -> None:
    given = [word.replace("MODELS", str(models)) for word in words]
    done = run("predict", "images", "--vlm", models / "llava", "--out", "p.jsonl", *given, folder=folder)
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, [part for part in said if part not in last]) == (2, []), last
    assert not (folder / "p.jsonl").exists()


def test_pairs_of_a_file_are_asked_about_as_they_are(models: Path, folder: Path) -> None:
    words = ("--vlm", models / "llava", "--way", "letters", "--visual", "text+crop", "--out")
    succeed(folder, *BOXED, *words, "a.jsonl")
    succeed(folder, "images", "--pairs", "a.pairs.jsonl", *words, "b.jsonl")
    one, other = tables(folder, "a.jsonl", "b.jsonl")
    assert one.equals(other)
    notes = " ".join(other.notes.lines())
    assert all(part in notes for part in ("pairs by file", "crop+text", "llava", "letters"))


def test_answers_about_whole_pictures_that_nobody_can_read_are_one_line(models: Path, folder: Path) -> None:
    words = ("--vlm", models / "llava", "--way", "image", "--set", "vlm.most_tokens=2", "--out", "p.jsonl")
    done = run("predict", "images", *words, folder=folder)
    assert (done.returncode, (folder / "p.jsonl").exists()) == (2, False)
    assert "p.jsonl: found unreadable" in done.stderr.splitlines()[-1]


def test_each_picture_that_cannot_be_read_is_a_line(models: Path, folder: Path) -> None:
    (folder / "images" / "broken.jpg").write_bytes(b"\xff\xd8\xff nothing")
    (folder / "images" / "empty.png").write_bytes(b"")
    done = run("predict", *BOXED, "--vlm", "none", "--out", "p.jsonl", folder=folder)
    assert all(name in done.stderr for name in ("broken.jpg", "empty.png"))
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 2)


def test_boxes_of_a_turned_picture_land_on_it(models: Path, folder: Path) -> None:
    """What a detector says is of the picture as it is looked at, and so is what is written."""
    upright = Image.open(folder / "images" / NAMES[0]).convert("RGB")
    (folder / "turned").mkdir()
    exif = Image.Exif()
    exif[0x0112] = 6
    upright.transpose(Image.Transpose.ROTATE_90).save(folder / "turned" / NAMES[0], exif=exif)
    words = ("--detector", models / "detr", "--vlm", models / "llava", "--pair-rule", "all", "--set", "pairs.pairs=1")
    for place, out in (("images", "p.jsonl"), ("turned", "q.jsonl")):
        succeed(folder, f"{place}/{NAMES[0]}", *words, "--out", out)
    straight, turned = tables(folder, "p.jsonl", "q.jsonl")
    assert (straight.human_boxes.tolist(), turned.sizes.tolist()) == (turned.human_boxes.tolist(), [[64, 48]])
