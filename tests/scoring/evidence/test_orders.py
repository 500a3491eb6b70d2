"""What other orders of a file do: nothing to SHOE, and as much as there is to protocols that depend on them."""

import pytest

import shoe
from shoe.scoring.evidence import order_spans
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
