"""Scores of replies, and the files of the lmms-eval task."""

import csv
import json
import runpy
import shutil
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError
from shoe.demo import TRUTH
from shoe.frameworks import METRICS, score_replies, task_images, write_lmms_eval_task
from tests.cli.run import refused, run
from tests.frameworks.task import EMPTY, GROUND_TRUTH, REPLIES, TABLE, program


def score(replies: dict[str, str]) -> tuple[dict[str, float], str]:
    return score_replies(replies, GROUND_TRUTH, "thousand")


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A folder with the first six images of the ground truth and another one; nothing here opens them."""
    folder = tmp_path / "images"
    folder.mkdir()
    for name in [*TABLE.images[:6], "other.jpg"]:
        (folder / name).write_bytes(b"")
    return folder


def test_images_are_those_of_the_ground_truth_in_its_order(images: Path) -> None:
    assert [path.name for path in task_images(images, GROUND_TRUTH)] == list(TABLE.images[:6])
    with pytest.raises(InputError, match=r"found none.*HICO_") as refused:
        task_images(images.parent, GROUND_TRUTH)
    assert refused.value.source == str(images.parent)


def test_replies_that_cannot_be_parsed_count_as_empty() -> None:
    names, nothing = TABLE.images, dict.fromkeys(METRICS, 0.0)
    alone, problem = score({names[0]: REPLIES[0], names[1]: "[]"})
    assert (list(alone), problem) == (list(METRICS), "")
    noise = {names[1]: "?", names[0]: REPLIES[0], names[2]: "??"}
    assert score(noise)[0]["shoe_map"] < alone["shoe_map"]
    assert score(dict.fromkeys(names[:2], "?"))[0] == nothing
    refused, problem = score({names[0]: "I cannot help with that."})
    assert refused == nothing
    assert "expected an answer" in problem
    assert "/" not in problem.partition("(")[0]


def test_an_image_without_ground_truth_has_no_metrics() -> None:
    assert score({EMPTY: REPLIES[0]})[0] == {}


def test_the_lmms_eval_task_scores_its_documents(tmp_path: Path, images: Path) -> None:
    pytest.importorskip("PIL")
    assert write_lmms_eval_task(tmp_path, images, TRUTH, "hico-det") == "shoe_hico_det"
    text = (tmp_path / "shoe_hico_det.yaml").read_text("utf-8")
    assert f'test: "{(tmp_path / "shoe_hico_det.jsonl").as_posix()}"' in text
    functions: dict[str, Any] = runpy.run_path(str(tmp_path / "shoe_utils.py"))
    called = {word.removeprefix("shoe_utils.").rstrip(",") for word in text.split() if word.startswith("shoe_utils.")}
    assert called == {"doc_to_visual", "doc_to_text", "process_results", *METRICS}
    documents = [json.loads(line) for line in (tmp_path / "shoe_hico_det.jsonl").read_text().splitlines()]
    results = [functions["process_results"](*pair) for pair in zip(documents, zip(REPLIES), strict=True)]
    values = {name: functions[name]([result[name] for result in results]) for name in METRICS}
    assert values == pytest.approx({"shoe_map": 0.18229844, "shoe_mf1": 0.23510743, "strict_map": 0.0625})
    assert functions["doc_to_text"](documents[0]) == run("prompt").stdout.strip()


def test_the_program_of_the_page_writes_the_questions_of_vlmevalkit(
    tmp_path: Path, images: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    images.rename(tmp_path / "test2015")
    shutil.copy(TRUTH, tmp_path / "instances_test2015.json")
    (tmp_path / "prompt.txt").write_text(run("prompt").stdout)
    (tmp_path / "LMUData").mkdir()
    monkeypatch.chdir(tmp_path)
    exec(program("csv"), {})
    with open("LMUData/shoe_hico_det.tsv", newline="", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream, delimiter="\t"))
    assert [int(row["index"]) for row in rows] == list(range(6))
    assert all(Path(row["image_path"]).is_file() and row["question"].startswith("Look for") for row in rows)


def test_the_command_names_the_task(tmp_path: Path, images: Path) -> None:
    done, wrong = (
        run("export", "lmms-eval", to, "--images", images, "-g", TRUTH) for to in (tmp_path, tmp_path / "none")
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert f"--include_path {tmp_path} --tasks shoe_hico_det" in done.stderr
    refused(wrong, "none")
