"""The task of ``shoe export lmms-eval`` in the real lmms-eval, whose model ``from_log`` gives recorded replies."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import shoe
from shoe.demo import TRUTH
from shoe.frameworks import cached_truth, score_replies, write_lmms_eval_task

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
pytest.importorskip("lmms_eval", reason="lmms-eval is not installed: pip install lmms-eval 'filelock<4'")
from PIL import Image  # noqa: E402 - lmms-eval needs it

ROOT = Path(__file__).resolve().parent.parent.parent
REPLIES = json.loads((ROOT / "tests" / "data" / "frameworks" / "replies.json").read_text())


def test_the_command_runs_the_task_and_shoe_reads_its_samples(tmp_path: Path) -> None:
    truth = cached_truth(TRUTH, "hico-det")
    images, tasks, logs = tmp_path / "images", tmp_path / "tasks", tmp_path / "logs"
    for folder in (images, tasks, logs):
        folder.mkdir()
    replies = dict(zip(truth.interactions.images, REPLIES, strict=False))
    for name in replies:
        Image.new("RGB", (64, 48)).save(images / name)
    task = write_lmms_eval_task(tasks, images, TRUTH, "hico-det")
    given = [{"doc_id": number, "resps": [[reply]]} for number, reply in enumerate(REPLIES)]
    about = {"args": {"model": "any", "model_args": "", "limit": None}, "model_configs": {"task": task}}
    (logs / "log.json").write_text(json.dumps({**about, "logs": given}))
    command = [sys.executable, "-m", "lmms_eval", "eval", "--model", "from_log", "--model_args", "logs=logs"]
    command += [
        "--include_path",
        "tasks",
        "--tasks",
        task,
        "--log_samples",
        "--output_path",
        "out",
        "--batch_size",
        "1",
    ]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (results,) = (tmp_path / "out").rglob("*_results.json")
    found = {
        key.removesuffix(",none"): value for key, value in json.loads(results.read_text())["results"][task].items()
    }
    expected = score_replies(replies, truth, "thousand")[0]
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    (samples,) = (tmp_path / "out").rglob(f"*_samples_{task}.jsonl")
    read = shoe.read_predictions(samples, boxes="thousand", truth=truth)
    assert (read.images, len(read)) == (truth.interactions.images[:6], 6)
