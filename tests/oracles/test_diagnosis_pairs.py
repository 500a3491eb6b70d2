"""Hand-worked examples: the oracle of pair localisation (8.6.10, 8.7), negative AP (8.8) and interaction mAP (8.9)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.oracles.diagnosis import VARIANTS, Variant
from tests.oracles.diagnosis_pairs import Pair, action_scores, interaction_map, negative_ap, pair_localisation
from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import CLASSES
from tests.oracles.test_diagnosis import FEED, H1, H2, NOWHERE, NOWHERE_ELSE, O1, O2, RIDE as RIDE, image

BESIDE = (0.0, 0.0, 19.0, 17.0)
"""Overlaps H1 by nine tenths."""
HOLD_BESIDE = Triplet(BESIDE, O1, "hold", "horse")
RECALLS = ("recall", "human_recall", "object_recall")
PER_IMAGE = ("recall", "precision", "per_image")


def located(scenes: list[ImageScene], names: Sequence[str], *predicted: Any, **options: Any) -> tuple[Any, ...]:
    figures: dict[str, Any] = {**pair_localisation(scenes, *predicted, **options)}
    return tuple(figures[name] for name in names)


def found(scene: ImageScene, **options: Any) -> tuple[Any, ...]:
    return located([scene], ("recall", "precision"), **options)


def test_several_truths_on_one_prediction() -> None:
    """One visible pair that rides and holds, its boxes drawn twice; one prediction; and a pair elsewhere."""
    scene = image([RIDE, HOLD_BESIDE, FEED], [RIDE])
    assert found(scene) == (2 / 3, 1)
    assert found(scene, recall="one-to-one") == (1 / 3, 1)
    assert found(scene, pairs="merged") == (1 / 2, 1)
    assert found(scene, precision="gt-count") == (2 / 3, 2)
    assert found(scene, precision="one-to-one") == (2 / 3, 1)


def test_several_predictions_on_one_truth() -> None:
    scene = image([RIDE], [Triplet(BESIDE, O1, "ride", "horse", 0.1), RIDE, Triplet(NOWHERE, O1, "ride", "horse")])
    for precision in ("first-match", "one-to-one", "gt-count"):
        assert found(scene, precision=precision) == (1, 1 / 3)


def test_first_match_by_index_and_largest_one_to_one_differ() -> None:
    """Both predictions are on both truths; the first is the first match of both, yet each truth can have its own."""
    scene = image([RIDE, HOLD_BESIDE], [Triplet(BESIDE, O1, "ride", "horse", 0.1), RIDE])
    assert found(scene) == (1, 1 / 2)
    assert found(scene, recall="one-to-one", precision="one-to-one") == (1, 1)


def rows_at(*tops: float) -> list[Triplet]:
    """Triplets whose humans are 12 pixels high, from these rows of pixels on; one overlaps the next, 4 below, alone."""
    return [replace(RIDE, human_box=(0.0, y, 19.0, y + 11)) for y in tops]


def test_one_to_one_sends_the_first_elsewhere() -> None:
    """The first truth is on both predictions, the second on the first alone."""
    above, high, middle, low = rows_at(-4, 0, 4, 8)
    assert found(image([middle, above], [high, low]), recall="one-to-one") == (1, 1 / 2)


def test_pairs_are_told_apart_by_boxes_and_object_and_not_by_verb() -> None:
    truth = [RIDE, replace(RIDE, verb="hold"), replace(RIDE, object="bicycle")]
    for pairs in ("index", "merged"):
        assert located([image(truth, truth)], ("truths", "predictions", "per_image"), pairs=pairs) == (2, 2, 2)
        assert found(image(truth, [RIDE]), pairs=pairs) == (1 / 2, 1)


def test_merging_is_greedy_in_file_order() -> None:
    """Of three boxes in a row each is on the next alone: the middle one joins the first, the last stands apart."""
    for tops, merged in (((0, 4, 8), 2), ((4, 0, 8), 1)):
        assert pair_localisation([image(rows_at(*tops), [])], pairs="merged")["truths"] == merged


def test_humans_and_objects_alone() -> None:
    truth = [RIDE, Triplet(BESIDE, O2, "ride", "horse"), Triplet(H2, NOWHERE, "ride", "horse")]
    predictions = [Triplet(H1, NOWHERE_ELSE, "ride", "horse"), Triplet(NOWHERE, O1, "ride", "horse")]
    predictions.append(Triplet(NOWHERE, O2, "ride", "bicycle"))
    scenes = [image(truth, predictions)]
    assert located(scenes, RECALLS) == (0, 2 / 3, 1 / 3)
    assert located(scenes, RECALLS, pairs="merged") == (0, 1 / 2, 1 / 3)


def test_images_count_by_their_truth() -> None:
    idle = image([replace(RIDE, verb="no_interaction")], [RIDE], "b.jpg")
    scenes = [image([RIDE], [RIDE]), idle, image([], [RIDE], "c.jpg"), image([RIDE], [], "d.jpg")]
    assert located(scenes, PER_IMAGE) == (1 / 2, 1, 1 / 2)
    assert located(scenes, PER_IMAGE, no_interaction=True) == (2 / 3, 1, 2 / 3)
    assert located(scenes, PER_IMAGE, {"a.jpg": [Pair(H1, O1, "horse")] * 2}) == (1 / 2, 1 / 2, 1)


def negatives(*pairs: tuple[bool, float]) -> tuple[float | None, float | None]:
    """AP, and capped AP, of pairs that are on the truth or not, with their best verb's score."""
    predicted = [Pair(H1 if on else NOWHERE, O1, "horse", {"ride": p, "hold": p / 2}) for on, p in pairs]
    figures = negative_ap([image([RIDE], [])], {"a.jpg": predicted})
    return figures["all_points"], figures["diag"]


def test_a_ranking_of_negative_pairs() -> None:
    # 1 - p ranks negative, positive pair, negative: precision 1, 1/2, 2/3 at recalls 1/2, 1/2, 1.
    # Thresholds 0 to 0.50 are 51, 0.51 to 1 are 50.
    expected = (1 + 2 / 3) / 2, (51 + 50 * 2 / 3) / 110
    assert negatives((False, 0.1), (True, 0.2), (False, 0.3)) == pytest.approx(expected)
    assert negatives((True, 0.9), (False, 0.2), (False, 0.1)) == pytest.approx((1, 101 / 110))  # perfect, but capped
    assert negatives((True, 0.9)) == (None, None)


def test_no_interaction_is_no_actual_interaction() -> None:
    idle = Pair(NOWHERE, O1, "horse", {"no_interaction": 0.9, "ride": 0.1})
    figures = negative_ap([image([RIDE], [])], {"a.jpg": [Pair(H1, O1, "horse", {"ride": 0.5}), idle]})
    assert figures["all_points"] == 1


@given(st.lists(st.tuples(st.booleans(), st.sampled_from((0.0, 0.25, 0.5, 0.75))), max_size=12))
def test_all_points_is_the_mean_over_negatives_of_the_best_precision_from_there_on(
    pairs: Sequence[tuple[bool, float]],
) -> None:
    labels = [int(not on) for on, _ in sorted(pairs, key=lambda pair: pair[1])]
    precision = [sum(labels[:rank]) / rank for rank in range(1, len(labels) + 1)]
    best = [max(precision[i:]) for i, label in enumerate(labels) if label]
    value, _ = negatives(*pairs)
    assert value == (pytest.approx(sum(best) / len(best)) if best else None)


@pytest.mark.parametrize("variant", VARIANTS)
def test_interaction_map_leaves_localisation_out(variant: Variant) -> None:
    truth = [RIDE, replace(RIDE, verb="feed"), replace(FEED, verb="ride"), replace(FEED, verb="walk")]
    boxes = ((NOWHERE, "ride"), (H1, "ride"), (H1, "walk"), (BESIDE, "ride"))
    predictions = [Triplet(human, O1, verb, "horse", 0.9 - k / 10) for k, (human, verb) in enumerate(boxes)]
    figures = interaction_map([image(truth, predictions)], CLASSES, {"a.jpg": [1.0, 0.2, 0.9, 0.5]}, variant)
    # ride: 0.9 leaves by its boxes, as does the truth on H2. The true positive is 0.8, by the full score, and comes
    # after its duplicate by the interaction score. feed: nothing to rank. walk: its truth is localised nowhere.
    assert figures == {"map": 0.25, "ap": {"ride": 0.5, "feed": 0, "walk": None}}


@pytest.mark.parametrize(("variant", "ride", "hold"), [("paper", 1, 0), ("released", 6 / 11, None)])
def test_interaction_map_where_the_release_differs(variant: Variant, ride: float, hold: float | None) -> None:
    """It takes 11 points, keeps truths of images without predictions, and skips verbs that were tried in vain."""
    first = image([RIDE, replace(FEED, verb="hold")], [RIDE, replace(RIDE, verb="hold"), FEED])
    figures = interaction_map([first, image([RIDE], [], "b.jpg")], CLASSES, {"a.jpg": [1, 1, 1]}, variant)
    assert figures["ap"] == {"ride": pytest.approx(ride), "hold": hold}


def test_interaction_scores_come_from_pairs() -> None:
    pairs = [Pair(H1, O1, "horse", {"ride": 0.25, "hold": 0.5}), Pair(H1, O1, "bicycle", {"ride": 0.75})]
    scene = image([], [RIDE, replace(RIDE, object="bicycle"), replace(RIDE, verb="hold")])
    assert action_scores(scene, pairs) == [0.25, 0.75, 0.5]
    with pytest.raises(KeyError):
        action_scores(scene, pairs[:1])
