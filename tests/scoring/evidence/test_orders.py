"""Orders of equal scores, and attacks on scores."""

import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH
from shoe.scoring.evidence import order_spans
from shoe.scoring.evidence.audit import ATTACKS, AUDITED
from tests.cli.run import as_json, run
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import CLASSES, on_pair, one_image

AWAY = (210.0, 10.0, 260.0, 110.0)


def spans(scenes: list[ImageScene], *protocols: str) -> dict[str, tuple[float, float]]:
    truth, predictions = to_tables(scenes, CLASSES)
    return order_spans(shoe.score(predictions, truth, similarity="identity", protocols=protocols))


def test_who_chooses_first_moves_the_letter_alone() -> None:
    """Truths ride and hold, unscored predictions hold and feed: docs/protocols.md 10.6."""
    scenes = [one_image([on_pair(), on_pair("hold")], [on_pair("hold"), on_pair("feed")])]
    found = spans(scenes, "hico-det", "shoe-literal")
    assert found["shoe-literal"] == pytest.approx((0.25, 0.625), abs=1e-6)
    assert spans(scenes, "hico-det", "shoe") == {}


def test_the_order_of_images_moves_tied_scores_of_exact_labels() -> None:
    """One hit and one false positive of a class and a score, on two images: the first of them is ranked first."""
    wrong = Triplet(AWAY, AWAY, "ride", "horse")
    scenes = [one_image([on_pair()], [on_pair()]), one_image([], [wrong], "b.jpg")]
    assert spans(scenes, "hico-det", "shoe") == {"hico-det": (0.5, 1.0)}


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
