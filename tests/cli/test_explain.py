"""``shoe explain`` as a user runs it."""

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.cli.run import as_json, output

DETECTOR = PREDICTIONS["detector"]


def test_the_figures_are_those_of_score_and_the_parts_sum() -> None:
    protocols = ["hico-det", "ppdm", "upt"]
    found = as_json("explain", DETECTOR, "-g", TRUTH, "--protocols", ",".join(protocols))
    scored = as_json("score", DETECTOR, "-g", TRUTH, *(w for p in protocols for w in ("-p", p)))["protocols"]
    for name, of_score in zip(protocols, scored, strict=True):
        assert found["protocols"][name] == {k: of_score[k] for k in ("signature", "map", "map_rare", "map_non_rare")}
    assert [(d["before"], d["after"]) for d in found["differences"]] == [("hico-det", "ppdm"), ("hico-det", "upt")]
    for difference in found["differences"]:
        by = found["protocols"][difference["after"]]["map"] - found["protocols"]["hico-det"]["map"]
        assert sum(rule["map"] for rule in difference["rules"]) == pytest.approx(by, abs=1e-12)
        for moved in difference["classes"]:
            assert sum(moved["rules"].values()) == pytest.approx(moved["after"] - moved["before"], abs=1e-9)
    assert "false_positives" not in found


@pytest.mark.slow
def test_the_table_says_what_the_json_does() -> None:
    shown, brief = (output("explain", DETECTOR, "-g", TRUTH, *more) for more in (("-v",), ()))
    assert all(part in shown for part in ("hico-det → diag", "annotated twice", "--image-labels"))
    assert "--verbose" in brief
    assert "hico-det → diag" not in brief
    assert {"hico-det", "diag", "unpredicted"} <= set(brief.split())
