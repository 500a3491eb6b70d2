"""Programs of docs/guides/trackers.md run with the real packages, offline."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shoe.demo import TRUTH

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]  # of the packages' own dependencies
PAGE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "trackers.md"
START, *PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
PROGRAM = {program.split()[1].split(".")[0]: program for program in PROGRAMS}


@pytest.fixture
def scope(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The names that the first program of the page defines, in an empty folder with its files."""
    (tmp_path / "instances_test2015.json").write_bytes(TRUTH.read_bytes())
    (tmp_path / "predictions.json").write_bytes(TRUTH.with_name("detector.json").read_bytes())
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    exec(START, scope)
    return scope


def test_the_page_has_a_program_for_each_package() -> None:
    assert set(PROGRAM) == {"pandas", "polars", "wandb", "mlflow", "torch"}


def test_pandas(scope: dict[str, Any]) -> None:
    pytest.importorskip("pandas")
    exec(PROGRAM["pandas"], scope)
    report, errors = scope["report"], scope["errors"]
    assert scope["classes"]["hico-det/ap"].mean() == pytest.approx(report.strict.map)
    assert scope["classes"]["shoe/f1"].mean() == pytest.approx(report.semantic.mf1)
    assert scope["classes"]["ground_truths"].sum() == len(scope["truth"].interactions)
    assert len(scope["wrong"]) == errors.counts["interaction"]


def test_polars_and_parquet(scope: dict[str, Any]) -> None:
    polars = pytest.importorskip("polars")
    exec(PROGRAM["polars"], scope)
    table = polars.read_parquet("errors.parquet")
    assert table["error"].value_counts(sort=True)["count"].sum() == len(scope["predictions"])
    boxes = table.select("hx1", "hy1", "hx2", "hy2").to_numpy()
    assert boxes.tolist() == scope["predictions"].human_boxes.tolist()
    assert table["verb"].to_list() == [scope["predictions"].verbs[verb] for verb in scope["predictions"].verb]


def test_wandb(scope: dict[str, Any]) -> None:
    """In a process of its own, because the package writes the last records when the process ends."""
    pytest.importorskip("wandb")
    environment = {**os.environ, "WANDB_MODE": "offline"}
    subprocess.run([sys.executable, "-c", START + PROGRAM["wandb"]], env=environment, check=True, capture_output=True)
    (written,) = Path("wandb").glob("offline-run-*/run-*.wandb")
    content = written.read_bytes()
    for name, value in scope["report"].to_dict(flat=True).items():
        assert name.encode() in content
        assert str(value).encode() in content


def test_mlflow(scope: dict[str, Any]) -> None:
    mlflow = pytest.importorskip("mlflow")
    mlflow.set_tracking_uri("sqlite:///runs.db")
    exec(PROGRAM["mlflow"], scope)
    assert mlflow.last_active_run().data.metrics == pytest.approx(scope["report"].to_dict(flat=True))


def test_tensorboard(scope: dict[str, Any]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("tensorboard")
    exec(PROGRAM["torch"], scope)
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator("runs")
    found.Reload()
    assert set(found.Tags()["scalars"]) == set(scope["report"].to_dict(flat=True))
    (event,) = found.Scalars("semantic/map")
    assert event.value == pytest.approx(scope["report"].semantic.map)
