"""What other orders of a file do: nothing to SHOE, and as much as there is to protocols that depend on them."""

import pytest

import shoe
from shoe.scoring.evidence import order_spans
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import small_classes

HUMAN, THING = (10.0, 10.0, 60.0, 110.0), (30.0, 50.0, 130.0, 120.0)
AWAY = (210.0, 10.0, 260.0, 110.0)


def on_pair(verb: str) -> Triplet:
    return Triplet(HUMAN, THING, verb, "horse")


def spans(scenes: list[ImageScene], *protocols: str) -> dict[str, tuple[float, float]]:
    truth, predictions = to_tables(scenes, small_classes())
    return order_spans(shoe.score(predictions, truth, similarity="identity", protocols=protocols))


def test_who_chooses_first_moves_the_letter_alone() -> None:
    """Truths ride and hold, unscored predictions hold and feed: docs/protocols.md 10.6."""
    scenes = [ImageScene("a.jpg", [on_pair("ride"), on_pair("hold")], [on_pair("hold"), on_pair("feed")])]
    low, high = spans(scenes, "hico-det", "shoe-literal")["shoe-literal"]
    assert (low, high) == pytest.approx((0.25, 0.625), abs=1e-6)
    assert spans(scenes, "hico-det", "shoe") == {}


def test_the_order_of_images_moves_tied_scores_of_exact_labels() -> None:
    """One hit and one false positive of a class and a score, on two images: the first of them is ranked first."""
    wrong = Triplet(AWAY, AWAY, "ride", "horse")
    scenes = [ImageScene("a.jpg", [on_pair("ride")], [on_pair("ride")]), ImageScene("b.jpg", [], [wrong])]
    assert spans(scenes, "hico-det", "shoe") == {"hico-det": (0.5, 1.0)}
