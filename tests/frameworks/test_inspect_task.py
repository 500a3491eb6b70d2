"""The task shoe/hico_det in the real inspect_ai: found by its entry point, run by ``inspect eval``, read by shoe.

A stand-in for a model answers with recorded replies; it is registered by an entry point, too.
"""

import base64
import json
import subprocess
import sys
from pathlib import Path

import pytest

import shoe
from shoe.demo import TRUTH
from shoe.frameworks import score_replies
from tests.frameworks.task import EMPTY, GROUND_TRUTH, REPLIES, TABLE, succeeded

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]
pytest.importorskip("inspect_ai", reason="inspect_ai is not installed: pip install 'shoe-eval[inspect]'")
Image = pytest.importorskip("PIL.Image")
MODEL = """
import json
from pathlib import Path
from inspect_ai.model import ModelAPI, ModelOutput, ModelUsage, modelapi

@modelapi(name="standin")
def standin():
    class Standin(ModelAPI):
        async def generate(self, input, tools, tool_choice, config):
            image, question = input[0].content
            assert question.text.startswith("Look for every person")
            reply = json.loads(Path("replies.json").read_text())[image.image.partition(",")[2]]
            output = ModelOutput.from_content("standin", reply)
            output.usage = ModelUsage()  # else tokens are counted, which needs a download
            return output
    return Standin
"""


def test_the_command_runs_the_task_and_shoe_reads_its_log(tmp_path: Path, wheel: Path) -> None:
    site, images = tmp_path / "site-packages", tmp_path / "images"
    replies = dict(zip(TABLE.images, REPLIES, strict=False)) | {EMPTY: REPLIES[0]}
    images.mkdir()
    by_image = {}  # models get images as base64
    for number, (name, reply) in enumerate(replies.items()):
        Image.new("RGB", (64, 48 + number)).save(images / name)
        by_image[base64.b64encode((images / name).read_bytes()).decode()] = reply
    (tmp_path / "replies.json").write_text(json.dumps(by_image))
    subprocess.run([sys.executable, "-m", "pip", "install", "-qq", "--no-deps", "--target", site, wheel], check=True)
    (site / "standin.py").write_text(MODEL)
    about = site / "standin-1.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: standin\nVersion: 1\n")
    (about / "entry_points.txt").write_text("[inspect_ai]\nstandin = standin\n")
    options = ["-T", "images=images", "-T", f"ground_truth={TRUTH}", "--epochs", "2", "--display", "none"]
    for kind in ("eval", "json"):
        command = [sys.executable, "-m", "inspect_ai", "eval", "shoe/hico_det", "--model", "standin/replies", *options]
        succeeded([*command, "--log-format", kind], tmp_path, PYTHONPATH=site, INSPECT_LOG_DIR=tmp_path / kind)
    (written,) = (tmp_path / "json").glob("*.json")
    log = json.loads(written.read_text("utf-8"))
    (scores,) = log["results"]["scores"]
    values = {name: metric["value"] for name, metric in scores["metrics"].items()}
    samples = {sample["id"]: sample["scores"]["interactions"] for sample in log["samples"]}
    assert [len(log["samples"]), len(samples)] == [14, 7]
    assert samples[TABLE.images[5]]["value"] == pytest.approx({"shoe_map": 1, "shoe_mf1": 1, "strict_map": 1})
    assert "expected an answer" in samples[TABLE.images[3]]["explanation"]
    assert samples[EMPTY]["value"] == {}
    assert values == pytest.approx(score_replies(replies, GROUND_TRUTH, "thousand")[0])
    (log_file,) = (tmp_path / "eval").glob("*.eval")
    read = [shoe.read_predictions(path, boxes="thousand", truth=GROUND_TRUTH) for path in (log_file, written)]
    assert len(read[0]) == 14  # of both epochs
    assert read[0].human_boxes.tolist() == read[1].human_boxes.tolist()
