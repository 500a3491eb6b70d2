"""Each extra, alone in an empty environment with the wheel, is enough for the command that it is there for.

Needs a package index, like scripts/test itself. Environments are removed after use, because torch takes a gigabyte.
"""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
DEVELOPMENT = {"dev", "docs", "browser", "trackers"}
EXTRAS = set(tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"])
SCORED = "detector.json --ground-truth truth.json"
RATERS = """
[[rater]]
name = "local"
kind = "{}"
model = "models/none"
"""
WORKBOOK = """
import json, openpyxl
reply = {"human_bbox": [1, 2, 30, 40], "object_bbox": [5, 6, 70, 80], "interaction": "ride horse"}
book = openpyxl.Workbook()
book.active.append(["index", "image", "question", "prediction"])
book.active.append([0, "HICO_test2015_00000025.jpg", "?", json.dumps(reply)])
book.save("replies.xlsx")
"""
HOI_METRIC = """
import shoe, shoe.torchmetrics
truth = shoe.read_ground_truth("truth.json", dataset="hico-det")
print(shoe.torchmetrics.HoiMetric(truth, verbs=["ride"], objects=["horse"]))
"""
IMAGES = """
import json, pathlib, PIL.Image
pathlib.Path("images").mkdir()
truth = json.loads(pathlib.Path("truth.json").read_text())
for name, size in zip(truth["filenames"], truth["size"]):
    PIL.Image.new("RGB", size).save(pathlib.Path("images", name))
"""
ONTOLOGY = "format-version: 1.2\nontology: tools\n\n[Term]\nid: T:1\nname: grasper\n"
INSPECT_TASK = """
from importlib.metadata import entry_points
from inspect_ai import Task
(entry_point,) = entry_points(group="inspect_ai", name="shoe")
open("HICO_test2015_00000025.jpg", "w").close()
task = entry_point.load().hico_det(images=".", ground_truth="truth.json")
assert isinstance(task, Task) and len(task.dataset) == 1
"""
COMMANDS = {
    "parquet": [
        "shoe convert detector.json out.parquet --ground-truth truth.json",
        "shoe score out.parquet --ground-truth truth.json",
    ],
    "xlsx": ["python workbook.py", "shoe score replies.xlsx --ground-truth truth.json"],
    "inspect": ["python inspect_task.py", "shoe score inspect.eval --ground-truth truth.json --boxes thousand"],
    "llm": ["shoe map build map --raters openai.toml --dry-run"],
    "local": ["shoe map build map --raters transformers.toml --yes"],
    "torch": ["python hoi_metric.py"],
    "serve": ["shoe serve add-truth lab hico-det truth.json", "shoe serve doctor lab"],
    "client": ["shoe submit detector.json --server http://127.0.0.1:9"],
    "lexicon": ["shoe lexicon build tools.lexicon --from tools.obo"],
    "study": ["python images.py", "shoe study new study --items 20 --raters 2 -g truth.json --images images"],
    "plots": [f"shoe diagnose {SCORED} --figures figures"],
    "predict": [
        "shoe predict images --detections boxes.json --vlm models/llava -g made.npz --way yes-no --out yes.jsonl"
    ],
    "ray": ["shoe compare detector.json vlm.jsonl --ground-truth truth.json --resamples 50 --engine ray"],
}
"""What each extra is for; a program that fails must fail for another reason than a missing package."""
STOPS = {"local": "models/none", "client": "127.0.0.1:9"}
"""Commands that end with this in their message, because no model and no server are there."""


@pytest.fixture
def files(tmp_path: Path) -> Iterator[Path]:
    """A folder with what commands read, removed with the environment in it."""
    for name in ("detector.json", "truth.json", "vlm.jsonl"):
        shutil.copy(ROOT / "shoe" / "demo" / "data" / name, tmp_path)
    for kind in ("openai", "transformers"):
        (tmp_path / f"{kind}.toml").write_text(RATERS.format(kind))
    (tmp_path / "workbook.py").write_text(WORKBOOK)
    (tmp_path / "images.py").write_text(IMAGES)
    (tmp_path / "hoi_metric.py").write_text(HOI_METRIC)
    (tmp_path / "inspect_task.py").write_text(INSPECT_TASK)
    shutil.copy(ROOT / "tests" / "data" / "frameworks" / "inspect.eval", tmp_path)
    (tmp_path / "tools.obo").write_text(ONTOLOGY)
    yield tmp_path
    shutil.rmtree(tmp_path)


def test_every_extra_has_a_command_and_a_line_in_the_docs() -> None:
    assert set(COMMANDS) == EXTRAS - DEVELOPMENT
    page = (ROOT / "docs" / "start" / "install.md").read_text("utf-8")
    rows = re.findall(r"^\| (`.+?) \|", page, re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`(\w+)`", row)} == EXTRAS


@pytest.mark.parametrize("extra", COMMANDS)
def test_an_extra_alone_is_enough(extra: str, wheel: Path, files: Path) -> None:
    if extra in ("inspect", "predict") and os.environ.get("CI"):
        pytest.skip("takes minutes to install: not in CI")
    if extra == "predict":
        made = subprocess.run([sys.executable, ROOT / "scripts" / "predict-demo", files / "demo"], capture_output=True)
        if made.returncode:
            pytest.skip("scripts/predict-demo needs torch and transformers in this environment")
        for name in ("images", "boxes.json", "models"):
            shutil.move(files / "demo" / name, files / name)
        shutil.move(files / "demo" / "truth.npz", files / "made.npz")
    home = files / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    # The version of torch that this project tests with; another one may bring gigabytes for GPUs.
    pin = re.search(r"^torch=(\S+)", (ROOT / "scripts" / "_environment").read_text("utf-8"), re.MULTILINE)
    assert pin
    (files / "constraints.txt").write_text(pin[1])
    python = home / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", str(python)]
    # Compiling all files of a package takes longer than its installation; a command needs few of them.
    options = ["-qq", "--no-compile", "-c", str(files / "constraints.txt")]
    subprocess.run([*pip, "install", *options, f"{wheel}[{extra}]"], check=True)
    if extra == "predict" and subprocess.run([python, ROOT / "scripts" / "torchvision_on_cpu.py"]).returncode:
        # As scripts/_environment does where torchvision and torch were built for different machines.
        subprocess.run([*pip, "uninstall", "-qq", "-y", "torchvision"], check=True)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    environment |= {"OPENAI_API_KEY": "none", "HF_HUB_OFFLINE": "1"}
    environment["PATH"] = f"{home / 'bin'}{os.pathsep}{os.environ['PATH']}"
    for command in COMMANDS[extra]:
        done = subprocess.run(command.split(), cwd=files, env=environment, capture_output=True, text=True, timeout=300)
        assert "optional dependency" not in done.stderr
        assert done.returncode == (2 if extra in STOPS else 0), done.stderr
        assert STOPS.get(extra, "") in done.stderr
