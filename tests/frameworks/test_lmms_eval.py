"""The task of ``shoe export lmms-eval`` in the real lmms-eval, whose model ``from_log`` gives recorded replies."""

import json
import sys
from pathlib import Path

import pytest

import shoe
from shoe.demo import TRUTH
from shoe.frameworks import score_replies, write_lmms_eval_task
from tests.frameworks.task import GROUND_TRUTH, REPLIES, ROOT, TABLE, succeeded

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
pytest.importorskip("lmms_eval", reason="lmms-eval is not installed: pip install lmms-eval 'filelock<4'")
from PIL import Image  # noqa: E402 - lmms-eval needs it


def test_the_command_runs_the_task_and_shoe_reads_its_samples(tmp_path: Path) -> None:
    images, tasks, logs = tmp_path / "images", tmp_path / "tasks", tmp_path / "logs"
    for folder in (images, tasks, logs):
        folder.mkdir()
    replies = dict(zip(TABLE.images, REPLIES, strict=False))
    for name in replies:
        Image.new("RGB", (64, 48)).save(images / name)
    task = write_lmms_eval_task(tasks, images, TRUTH, "hico-det")
    given = [{"doc_id": number, "resps": [[reply]]} for number, reply in enumerate(REPLIES)]
    about = {"args": {"model": "any", "model_args": "", "limit": None}, "model_configs": {"task": task}}
    (logs / "log.json").write_text(json.dumps({**about, "logs": given}))
    command = [sys.executable, "-m", "lmms_eval", "eval", "--model", "from_log", "--model_args", "logs=logs"]
    options = ["--include_path", "tasks", "--tasks", task, "--output_path", "out", "--batch_size", "1", "--log_samples"]
    succeeded([*command, *options], tmp_path, PYTHONPATH=ROOT, HOME=tmp_path, HF_HUB_OFFLINE=1)
    (results,) = (tmp_path / "out").rglob("*_results.json")
    found = json.loads(results.read_text())["results"][task]
    expected = score_replies(replies, GROUND_TRUTH, "thousand")[0]
    assert {name: found.get(f"{name},none", found.get(name)) for name in expected} == pytest.approx(expected)
    (samples,) = (tmp_path / "out").rglob(f"*_samples_{task}.jsonl")
    read = shoe.read_predictions(samples, boxes="thousand", truth=GROUND_TRUTH)
    assert (read.images, len(read)) == (TABLE.images[:6], 6)
