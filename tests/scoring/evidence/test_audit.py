"""What tricks earn on the packaged sample, by protocol."""

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.scoring.evidence.audit import ATTACKS, AUDITED
from tests.cli.run import as_json, run

STAY = {"common guess", "scores by words"}
"""A further guess about each image, which is often right; and a ranking that is better across classes."""


@pytest.mark.parametrize("name", ["free text", pytest.param("detector", marks=pytest.mark.slow)])
def test_attacks_earn_next_to_nothing_under_shoe_robust(name: str) -> None:
    found = as_json("audit", PREDICTIONS[name], "-g", TRUTH)
    assert list(found["protocols"]) == ["hico-det", *AUDITED]
    assert [attack["name"] for attack in found["attacks"]] == [attack.name for attack in ATTACKS]
    gains = {attack["name"]: {p: of["gains"] for p, of in attack["protocols"].items()} for attack in found["attacks"]}
    for attack in gains.keys() - STAY:
        robust = gains[attack]["shoe-robust"]
        assert max(robust["map"], robust["mf1"]) <= 0.002, attack
    assert gains["moved copy"]["shoe"]["map"] <= 0.002  # near copies are repeats there, too
    # Words without sense move no threshold, in whatever amount and with whatever score.
    assert max(gains["nonsense"][protocol]["mf1"] for protocol in AUDITED) <= 0.002
    nonsense = next(attack for attack in found["attacks"] if attack["name"] == "nonsense")
    assert all("lines per prediction" in of["variant"] for of in nonsense["protocols"].values())
    # Or there would be nothing to close.
    assert max(gains["vague verb"]["shoe"].values()) > 0.03


@pytest.mark.slow
def test_the_table_says_what_the_json_does() -> None:
    done = run("audit", PREDICTIONS["free text"], "-g", TRUTH)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert any(line.split()[:2] == ["shoe-robust", "mAP"] for line in lines)
    assert sum(line.startswith(" as it is") for line in lines) == 1 + len(AUDITED)
