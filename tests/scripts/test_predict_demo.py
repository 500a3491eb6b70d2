"""``scripts/predict-demo``: predict, score, diagnose and compare, end to end, on made pictures and random models."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import shoe
from tests.present import present

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


def test_all_steps_fit_together(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="torch is not installed: pip install 'shoe-eval[predict]'")
    pytest.importorskip("transformers", reason="transformers is not installed: pip install 'shoe-eval[predict]'")
    command: list[str | Path] = [sys.executable, "-P", ROOT / "scripts" / "predict-demo", tmp_path.name]
    environment = os.environ | {"COLUMNS": "120"}
    done = subprocess.run(command, cwd=tmp_path.parent, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "100.0% of 20 ground-truth pairs" in done.stderr
    assert re.search(r"(\d+) questions, \1 already", done.stderr)  # another score asks nothing
    assert done.stdout.count("$ shoe ") == 8
    assert (tmp_path / "report.html").stat().st_size > 10_000
    yes, alone = (shoe.read_predictions(tmp_path / name) for name in ("yes.jsonl", "alone.jsonl"))
    assert len(yes) == len(alone) > 200
    assert yes.notes.predictor_digest != alone.notes.predictor_digest
    strict = present(shoe.score(yes, shoe.read_ground_truth(tmp_path / "truth.npz")).strict)
    assert strict.map
    first = json.loads((tmp_path / "yes.jsonl").read_text().splitlines()[0])
    assert first["by"]["confidence"] == {"policy": "yes", "power": 1.0}


def test_outside_its_environment_it_says_what_it_needs() -> None:
    command: list[str | Path] = [sys.executable, "-I", "-S", ROOT / "scripts" / "predict-demo"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "needs numpy: run `pip install" in done.stderr
