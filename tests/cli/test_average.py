from pathlib import Path
from statistics import mean, stdev
from typing import Any

import orjson
import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.benchmarks.samples import INSTANCES
from tests.cli.run import as_json, refused, run


@pytest.fixture
def reports(tmp_path: Path) -> list[Path]:
    """What ``shoe score`` writes of three splits, in short."""
    for i, factor in enumerate((1, 0.5, 0.25)):
        figures = {"classes": 60, "map": 0.4 * factor, "parts": {"seen": {"classes": 20, "map": 0.3 * factor}}}
        made = {
            "signature": f"shoe:0.1.0|data:hico-det|split:sg{i}|truth-sha:{i:08d}|protocol:shoe",
            "dataset": "hico-det",
            "split": f"sg{i}",
            "images": 9,
            "ground_truths": 9,
            "predictions": 9,
            "profile": {
                "images_with_predictions": 9,
                "covered_images": 9,
                "named_images": 9,
                "unknown_images": 0,
                "constant_scores": False,
                "repeats": 0,
            },
            "strict": {"protocol": "hico-det", "ranked_predictions": 9, **figures},
            "semantic": {"protocol": "shoe", "mf1": 0.2, **figures},
        }
        (tmp_path / f"{i}.json").write_bytes(orjson.dumps(made))
    return [tmp_path / f"{i}.json" for i in range(3)]


def report(path: Path) -> Any:
    return orjson.loads(path.read_bytes())


def test_mean_and_deviation_stand_beside_another_split(reports: list[Path]) -> None:
    made = as_json("average", *reports[:2], "--beside", reports[2])
    maps = [report(path)["semantic"]["map"] for path in reports]
    assert made["mean"]["semantic:map"] == mean(maps[:2])
    assert made["standard_deviation"]["semantic:map"] == stdev(maps[:2])
    assert made["difference"]["semantic:map"] == mean(maps[:2]) - maps[2]
    assert made["mean"]["strict:hico-det:full"] == mean(report(path)["strict"]["map"] for path in reports[:2])
    seen = [report(path)["strict"]["parts"]["seen"]["map"] for path in reports[:2]]
    assert made["mean"]["strict:hico-det:seen"] == mean(seen)
    printed = run("average", *reports[:2], "--beside", reports[2]).stdout
    assert f"{100 * mean(maps[:2]):.2f}" in printed
    assert "over 2 splits" in printed


def test_what_has_no_mean_is_refused(reports: list[Path], tmp_path: Path) -> None:
    refused(run("average", reports[0]), "0.json: found one report, expected at least two")
    refused(run("average", reports[0], reports[1], reports[0]), "0.json: found the ground truth of 0.json")
    refused(run("average", reports[0], INSTANCES), "instances_test2015.json")
    other = report(reports[1]) | {
        "signature": report(reports[1])["signature"].replace("protocol:shoe", "protocol:other")
    }
    (tmp_path / "other.json").write_bytes(orjson.dumps(other))
    says = "other.json: signature: protocol: found 'other', expected 'shoe' (as in 0.json)"
    refused(run("average", reports[0], tmp_path / "other.json"), says)
    refused(run("average", *reports[:2], "--beside", tmp_path / "other.json"), says)
    refused(run("average", *reports[:2], "--beside", reports[0]), "0.json: found the ground truth of 0.json")
    refused(run("average", *reports[:2], "--json", reports[0]), "found an input")


@pytest.mark.slow
def test_what_score_writes_is_read(reports: list[Path], tmp_path: Path) -> None:
    of = ("score", PREDICTIONS["detector"], "--ground-truth", TRUTH, "--split", "sg1", "--protocol", "all")
    assert run(*of, "--json", tmp_path / "demo.json").returncode == 0
    again = report(tmp_path / "demo.json")
    for key in ("protocols", "roles"):
        for each in (again, *again.get(key, [])):
            each["signature"] = each["signature"].replace("truth-sha:", "truth-sha:0")
    (tmp_path / "again.json").write_bytes(orjson.dumps(again))
    made = as_json("average", tmp_path / "demo.json", tmp_path / "again.json")
    assert set(made["standard_deviation"].values()) == {0.0}
    assert made["mean"]["strict:upt:full"] == next(
        each["map"] for each in again["protocols"] if each["protocol"] == "upt"
    )
    assert {"strict:diag:rare", "strict:thid:unseen", "semantic:seen", "semantic:mf1"} <= made["mean"].keys()
