"""The wheel, as a user gets it: built, installed into an empty environment, and run from an empty folder."""

import os
import subprocess
import zipfile
from pathlib import Path

import pytest

from shoe import __version__

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent


def run(command: list[str | Path], folder: Path) -> str:
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_wheel_holds_code_and_data_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"shoe", f"shoe_eval-{__version__}.dist-info"}
    for kind in ("similarity_maps", "prompts"):
        there = {str(path.relative_to(ROOT)) for path in (ROOT / kind).rglob("*") if path.is_file()}
        assert there
        assert {name.removeprefix("shoe/_shipped/") for name in names if f"_shipped/{kind}/" in name} == there
    assert "shoe/py.typed" in names
    pages = ROOT / "shoe" / "service" / "pages"
    assert {str(path.relative_to(ROOT)) for path in pages.rglob("*.*") if "__pycache__" not in path.parts} <= set(names)
    assert any(name.endswith("WORDNET-LICENSE.txt") for name in names)


def test_the_demo_runs_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    output = run([installed / "shoe", "demo"], tmp_path)
    assert all(said in output for said in ("SYNTHETIC", "SHOE-mAP", "detector", "free text"))
    assert list(tmp_path.iterdir()) == []


def test_the_wheel_and_not_the_checkout_was_run(installed: Path, tmp_path: Path) -> None:
    code = "import shoe; from shoe.core.io.files import data_folder as of; print(shoe.__file__, of('similarity_maps'))"
    for path in run([installed / "python", "-c", code], tmp_path).split():
        assert path.startswith(str(installed.parent))
