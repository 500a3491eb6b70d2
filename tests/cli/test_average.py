from pathlib import Path
from statistics import mean, stdev
from typing import Any

import orjson
import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.benchmarks.samples import INSTANCES
from tests.cli.run import as_json, output, refused, run


@pytest.fixture
def reports(tmp_path: Path) -> list[Path]:
    """What ``shoe score`` writes of three splits, in short."""
    counts = dict.fromkeys(("images", "ground_truths", "predictions"), 9)
    profile = dict.fromkeys(("images_with_predictions", "covered_images", "named_images"), 9)
    for i, factor in enumerate((1, 0.5, 0.25)):
        figures = {"classes": 60, "map": 0.4 * factor, "parts": {"seen": {"classes": 20, "map": 0.3 * factor}}}
        made = {
            "signature": f"shoe:0.1.0|data:hico-det|split:sg{i}|truth-sha:{i:08d}|protocol:shoe",
            "dataset": "hico-det",
            "split": f"sg{i}",
            **counts,
            "profile": {**profile, "unknown_images": 0, "constant_scores": False, "repeats": 0},
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
    figures = [made[of]["semantic:map"] for of in ("mean", "standard_deviation", "difference")]
    assert figures == [mean(maps[:2]), stdev(maps[:2]), mean(maps[:2]) - maps[2]]
    strict = [report(path)["strict"] for path in reports[:2]]
    assert made["mean"]["strict:hico-det:full"] == mean(each["map"] for each in strict)
    assert made["mean"]["strict:hico-det:seen"] == mean(each["parts"]["seen"]["map"] for each in strict)
    printed = output("average", *reports[:2], "--beside", reports[2])
    assert all(part in printed for part in (f"{100 * mean(maps[:2]):.2f}", "2 splits"))


def test_what_has_no_mean_is_refused(reports: list[Path], tmp_path: Path) -> None:
    other, before = tmp_path / "other.json", report(reports[1])
    signature = before["signature"].replace("protocol:shoe", "protocol:other")
    other.write_bytes(orjson.dumps(before | {"signature": signature}))
    unlike = "other.json: signature: protocol: found 'other', expected 'shoe'"
    for words, *says in (
        (reports[:1], "0.json", "one report", "two"),
        ([*reports[:2], reports[0]], "0.json: found", "of 0.json"),
        ([reports[0], INSTANCES], "instances_test2015.json"),
        ([reports[0], other], unlike, "0.json"),
        ([*reports[:2], "--beside", other], unlike, "0.json"),
        ([*reports[:2], "--beside", reports[0]], "0.json: found", "of 0.json"),
        ([*reports[:2], "--json", reports[0]], "an input"),
    ):
        refused(run("average", *words), *says)


@pytest.mark.slow
def test_what_score_writes_is_read(tmp_path: Path) -> None:
    of = ("score", PREDICTIONS["detector"], "--ground-truth", TRUTH, "--split", "sg1", "--protocol", "all")
    assert run(*of, "--json", tmp_path / "demo.json").returncode == 0
    again = report(tmp_path / "demo.json")
    for key in ("protocols", "roles"):
        for each in (again, *again.get(key, [])):
            each["signature"] = each["signature"].replace("truth-sha:", "truth-sha:0")
    (tmp_path / "again.json").write_bytes(orjson.dumps(again))
    made = as_json("average", tmp_path / "demo.json", tmp_path / "again.json")
    assert set(made["standard_deviation"].values()) == {0.0}
    (upt,) = (each["map"] for each in again["protocols"] if each["protocol"] == "upt")
    assert made["mean"]["strict:upt:full"] == upt
    assert {"strict:diag:rare", "strict:thid:unseen", "semantic:seen", "semantic:mf1"} <= made["mean"].keys()
