"""VLMEvalKit's own dataset and inference code, with a stand-in model, writes results that shoe scores.

The package needs gigabytes, but this code only the packages below: they are installed in an environment of its own.
"""

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import shoe
from shoe.demo import TRUTH
from shoe.frameworks import score_replies
from tests.cli.run import run
from tests.frameworks.task import DATA, GROUND_TRUTH, REPLIES, TABLE, program, succeeded

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
VLMEVALKIT = "ms-vlmeval==0.0.20"  # VLMEvalKit as its authors publish it on the package index
NEEDED = """
accelerate datasets decord imageio jieba json_repair Levenshtein math-verify num2words opencv-python-headless
portalocker pylatexenc qwen_vl_utils rouge sty tabulate termcolor timeout_decorator validators xlsxwriter
"""
PROGRAM = """
import json, sys
from pathlib import Path
from vlmeval.dataset import build_dataset
from vlmeval.inference import infer_data_job

replies = iter(json.loads(Path(sys.argv[1]).read_text()))

class Standin:
    def set_dump_image(self, function): pass
    def use_custom_prompt(self, dataset): return False
    def generate(self, message, dataset):
        image, question = message
        assert Path(image["value"]).is_file() and question["value"].startswith("Look for every person")
        return next(replies)

infer_data_job(Standin(), "outputs", "standin", build_dataset("shoe_hico_det"))
"""


def test_the_dataset_of_the_page_is_run_and_its_results_are_scored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("torch", "transformers", "pandas", "PIL"):
        pytest.importorskip(name)
    from PIL import Image

    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", str(home / "bin" / "python"), "install", "-qq", "--no-compile"]
    subprocess.run([*pip, "--no-deps", VLMEVALKIT], check=True)
    subprocess.run([*pip, *NEEDED.split()], check=True, stderr=subprocess.DEVNULL)  # its other needs are absent
    monkeypatch.chdir(tmp_path)
    for folder in ("test2015", "outputs"):
        Path(folder).mkdir()
    replies = dict(zip(TABLE.images, REPLIES, strict=False))
    for name in replies:
        Image.new("RGB", (64, 48)).save(Path("test2015", name))
    Path("instances_test2015.json").write_bytes(TRUTH.read_bytes())
    Path("prompt.txt").write_text(run("prompt").stdout)
    exec(program("csv"), {})
    command = [str(home / "bin" / "python"), "-c", PROGRAM, str(DATA / "replies.json")]
    expected = score_replies(replies, GROUND_TRUTH, "thousand")[0]
    for kind in ("tsv", "xlsx"):
        succeeded(command, tmp_path, LMUData=tmp_path / "LMUData", PRED_FORMAT=kind, PYTHONPATH="")
        table = shoe.read_predictions(f"outputs/standin_shoe_hico_det.{kind}", boxes="thousand", truth=GROUND_TRUTH)
        values = shoe.score(table, GROUND_TRUTH.within(table.images)).to_dict(flat=True)
        assert values["semantic/map"] == pytest.approx(expected["shoe_map"])
        assert values["strict/map"] == pytest.approx(expected["strict_map"])
