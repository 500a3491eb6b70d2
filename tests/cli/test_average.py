import re
from copy import deepcopy
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import orjson
import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import as_json, refused, run


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What the demo scores, and the same with other figures and by other ground truths, which makes three splits."""
    folder = tmp_path_factory.mktemp("reports")
    first = as_json("score", PREDICTIONS["detector"], "--ground-truth", TRUTH, "--split", "sg1")
    for i, factor in enumerate((1, 0.5, 0.25)):
        made = deepcopy(first) | {"signature": re.sub("truth-sha:[^|]*", f"truth-sha:{i:08d}", first["signature"])}
        made["strict"]["map"] *= factor
        made["semantic"]["map"] *= factor
        made["strict"]["parts"]["seen"]["map"] *= factor
        (folder / f"{i}.json").write_bytes(orjson.dumps(made))
    return [folder / f"{i}.json" for i in range(3)]


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
    refused(run("average", reports[0]), "0.json: found one report, expected two or more")
    refused(run("average", reports[0], reports[1], reports[0]), "0.json: found the ground truth of 0.json")
    refused(run("average", reports[0], PREDICTIONS["detector"]), "expected")
    other = report(reports[1]) | {
        "signature": report(reports[1])["signature"].replace("protocol:shoe", "protocol:other")
    }
    (tmp_path / "other.json").write_bytes(orjson.dumps(other))
    says = "other.json: signature: protocol: found 'other', expected 'shoe' (as in 0.json)"
    refused(run("average", reports[0], tmp_path / "other.json"), says)
    refused(run("average", *reports[:2], "--beside", tmp_path / "other.json"), says)
    refused(run("average", *reports[:2], "--json", reports[0]), "found an input")
