"""The wheel, as a user gets it: built, installed into an empty environment, and run from an empty folder."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from shoe import __version__

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The ``bin`` folder of an environment that has the wheel and, read in place, the dependencies of this one."""
    home = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "-qq", "--no-deps", str(wheel)], check=True)
    site = run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], home).strip()
    # A folder named in a .pth file is searched, but its own .pth files are not read: the checkout stays out of sight.
    (Path(site) / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python.parent


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


def commands_of_the_first_pages() -> list[str]:
    """The ``shoe`` commands that the README and the pages of docs/start show."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs" / "start").glob("*.md"))]
    fences = (body for page in pages for body in re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), re.DOTALL))
    return [line for body in fences for line in body.splitlines() if line.startswith("shoe ")]


@pytest.mark.parametrize("command", dict.fromkeys(commands_of_the_first_pages()))
def test_commands_of_the_first_pages_run_as_they_are_shown(command: str, installed: Path, tmp_path: Path) -> None:
    data = ROOT / "shoe" / "demo" / "data"
    shutil.copy(data / "truth.json", tmp_path / "instances_test2015.json")
    for name in ("predictions.json", "a.json"):
        shutil.copy(data / "detector.json", tmp_path / name)
    shutil.copy(data / "vlm.jsonl", tmp_path / "b.json")
    reply = [{"human_bbox": [12, 346, 258, 983], "object_bbox": [209, 0, 634, 999], "interaction": "watching a camel"}]
    line = {"image": "HICO_test2015_00000025.jpg", "response": json.dumps(reply)}
    (tmp_path / "answers.jsonl").write_text(json.dumps(line) + "\n")
    assert run([installed / "shoe", *shlex.split(command, comments=True)[1:]], tmp_path)


def test_the_wheel_and_not_the_checkout_was_run(installed: Path, tmp_path: Path) -> None:
    code = "import shoe; from shoe.core.io.files import data_folder as of; print(shoe.__file__, of('similarity_maps'))"
    for path in run([installed / "python", "-c", code], tmp_path).split():
        assert path.startswith(str(installed.parent))
