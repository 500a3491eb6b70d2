"""Hand-worked examples that pin the oracle of the strict protocols."""

from dataclasses import replace

import pytest
from hypothesis import given

from shoe.core.boxes import Coordinates
from tests.oracles.boxes import Box
from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import CLASSES, THING, WORDS, hoi, on_pair, one_image, predict_the_truth, scenes
from tests.oracles.strict import PROTOCOLS, Protocol, StrictFigures, strict

RIDE, HOLD = hoi("ride"), hoi("hold")


def figures(found: ImageScene | list[ImageScene], protocol: Protocol, bugs: bool = True) -> StrictFigures:
    return strict(found if isinstance(found, list) else [found], CLASSES, protocol, bugs)


def ride_ap(*found: ImageScene) -> dict[str, float | None]:
    return {protocol: figures([*found], protocol)["ap"][RIDE] for protocol in PROTOCOLS}


@pytest.mark.parametrize(
    ("protocol", "truth", "half", "expected"),
    [
        ("hico-det", (1, 1, 10, 10), (0, 0, 4, 9), 1),  # 10 x 10 and 5 x 10 pixels
        ("ppdm", (1, 1, 10, 10), (0, 0, 4, 9), 1),
        ("qpic", (1, 1, 10, 10), (1, 1, 5, 10), 1),
        ("gen-vlkt", (1, 1, 10, 10), (1, 1, 5, 10), 1),
        ("diag", (1, 1, 10, 10), (1, 1, 5, 10), 1),
        ("thid", (1, 1, 11, 11), (1, 1, 6, 11), 1),
        ("upt", (1, 1, 10, 10), (0, 0, 5, 10), 0),  # edges of 10 x 10 and 5 x 10, and the only one that wants more
        ("upt", (1, 1, 10, 10), (0, 0, 5.25, 10), 1),
    ],
)
def test_pair_iou_of_exactly_one_half(protocol: Protocol, truth: Box, half: Box, expected: float) -> None:
    scene = ImageScene("a.jpg", [Triplet(truth, truth, "ride", "horse")], [Triplet(truth, half, "ride", "horse")])
    if protocol in ("hico-det", "ppdm", "upt"):
        scene.predictions = [Triplet(half, half, "ride", "horse")]
    assert figures(scene, protocol)["ap"][RIDE] == expected


def test_no_fallback_to_another_free_truth() -> None:
    near = replace(on_pair(), human_box=(10.0, 10.0, 19.0, 27.0))
    scene = one_image([on_pair(), near], [on_pair("ride", 0.9), on_pair("ride", 0.8)])
    assert all(figures(scene, protocol)["recall"][RIDE] == 0.5 for protocol in PROTOCOLS)


def test_a_class_without_predictions_is_zero_and_one_without_truth_is_absent() -> None:
    scene = one_image([on_pair(), on_pair("hold")], [on_pair(), on_pair("feed")])
    for protocol in PROTOCOLS:
        absent, mean = (0, 1 / 520) if protocol == "thid" else (None, 1 / 2)
        found = figures(scene, protocol)
        assert [found["ap"][k] for k in (RIDE, HOLD, hoi("feed"))] == [1, 0, absent]
        assert found["map"] == pytest.approx(mean)


def test_images_without_truth() -> None:
    full = one_image([on_pair()], [on_pair("ride", 0.5)])
    empty = one_image([], [on_pair("ride", 0.9)], "b.jpg")
    ap = ride_ap(full, empty)
    assert {p for p, value in ap.items() if value == 1} == {"hico-det-known-object", "qpic", "upt", "diag"}
    assert {value for value in ap.values() if value != 1} == {0.5}
    assert figures([full, empty], "qpic", bugs=False)["ap"][RIDE] == 0.5
    assert set(ride_ap(full, replace(empty, name="c.jpg", known=False)).values()) == {1}


def test_known_object_keeps_images_of_the_noun_whatever_is_done_with_it() -> None:
    full = one_image([on_pair()], [on_pair("ride", 0.5)])
    idle = one_image([on_pair("no_interaction")], [on_pair("ride", 0.9)], "b.jpg")
    kite = one_image([on_pair("fly", noun="kite")], [on_pair("ride", 0.9)], "c.jpg")
    told = [replace(full, labels=frozenset([RIDE])), replace(kite, labels=frozenset([hoi("feed")]))]
    for found, ap in (([full, kite], 1), ([full, idle, kite], 0.5), (told, 0.5)):
        assert figures(found, "hico-det-known-object")["ap"][RIDE] == ap


def test_top_hundred_is_taken_before_classes_are_looked_at() -> None:
    found = ride_ap(one_image([on_pair()], [*[on_pair("steer", 0.9)] * 100, on_pair("ride", 0.5)]))
    assert {p for p, value in found.items() if value == 0} == {"qpic", "gen-vlkt"}


def test_gen_vlkt_takes_the_first_row_of_a_value_for_all_rows_of_it() -> None:
    scene = one_image([on_pair(), on_pair("hold")], [on_pair("ride", 0.5), on_pair("hold", 0.5)])
    for bugs, hold in ((True, 0), (False, 1)):
        ap = figures(scene, "gen-vlkt", bugs)["ap"]
        assert (ap[RIDE], ap[HOLD]) == (1, hold)


def test_ties_keep_the_order_of_rows_and_of_the_images_of_the_truth_and_thid_reverses_it() -> None:
    right, wrong = one_image([on_pair()], [on_pair()]), one_image([on_pair("hold")], [on_pair()], "b.jpg")
    in_one = one_image([on_pair()], [on_pair(), replace(on_pair(), human_box=THING)])
    reversed_ = dict.fromkeys(PROTOCOLS, 1) | {"thid": 0.5}
    assert ride_ap(in_one) == ride_ap(right, wrong) == reversed_
    assert ride_ap(wrong, right) == dict.fromkeys(PROTOCOLS, 0.5) | {"thid": 1}


def test_thid_sees_19_999_detections_of_a_class() -> None:
    full = one_image([on_pair()], [on_pair("ride", 0.5)])
    for count, recall in ((20_000, 0), (19_998, 1)):
        crowd = one_image([on_pair("hold")], [on_pair("ride", 0.9)] * count, "b.jpg")
        assert figures([full, crowd], "thid")["recall"][RIDE] == recall


def test_the_first_of_equal_truths_is_taken() -> None:
    """The first prediction lies between two truths, the second on the first of them, which is then gone."""
    left, right, between = (replace(on_pair(), human_box=(x, 10.0, x + 19, 29.0)) for x in (10.0, 14.0, 12.0))
    for truth, recall in (([left, right], 1 / 2), ([right, left], 1)):
        scene = one_image(truth, [replace(between, score=0.9), replace(left, score=0.8)])
        assert all(figures(scene, protocol)["recall"][RIDE] == recall for protocol in PROTOCOLS)


def test_of_equal_detections_the_first_is_true() -> None:
    assert set(ride_ap(one_image([on_pair()], [on_pair()] * 2)).values()) == {1}


def test_each_protocol_has_its_grid_of_recalls() -> None:
    found = [replace(on_pair(), human_box=(x, 90.0, x + 9.0, 99.0)) for x in (0.0, 20.0, 40.0)]
    scene = one_image([*[on_pair()] * 7, *found], found)
    for protocol in PROTOCOLS:
        # GEN-VLKT finds the first of the three equal scores three times: its bug is switched off here.
        ap = figures(scene, protocol, bugs=False)["ap"][RIDE]
        assert ap == pytest.approx((4 if protocol == "thid" else 3) / 11)


def test_pocket_credits_the_best_scored_owner_though_another_overlaps_better() -> None:
    converted = replace(on_pair("ride", 0.9), human_box=(10.0, 10.0, 19.0, 25.0))
    assert figures(one_image([on_pair()], [on_pair("ride", 0.8), converted]), "upt")["ap"][RIDE] == 1


def test_diag_skips_classes_that_were_tried_in_vain() -> None:
    """feed: tried, never right. hold: never tried. no_interaction: not there at all. hop_on (rare): right."""
    assert CLASSES.rare[hoi("hop_on")]
    truth = [on_pair(verb) for verb in ("ride", "feed", "hold", "hop_on", "no_interaction")]
    tried = [on_pair(), on_pair("hop_on"), replace(on_pair("feed"), human_box=THING), on_pair("no_interaction")]
    found = figures(one_image(truth, tried), "diag")
    assert (found["ap"][hoi("feed")], found["ap"][hoi("no_interaction")]) == (None, None)
    assert (found["map"], found["map_rare"], found["map_non_rare"]) == pytest.approx((2 / 3, 1, 1))
    found = figures(one_image(truth, tried), "diag", bugs=False)
    assert (found["map"], found["map_rare"], found["map_non_rare"]) == pytest.approx((2 / 4, 1, 1 / 2))


def test_coordinates_differ_by_one_pixel() -> None:
    """Predictions of the same pixels, written 0-based, are perfect only where they are converted."""
    truth, said = (Triplet((x, x, x + 1, x + 1), (x, x, x + 1, x + 1), "ride", "horse") for x in (3.0, 2.0))
    scene = ImageScene("a.jpg", [truth], [said], prediction_coordinates=Coordinates.PIXELS_0)
    perfect = {protocol for protocol, ap in ride_ap(scene).items() if ap == 1}
    assert perfect == {"hico-det", "hico-det-known-object", "ppdm", "upt"}


@given(scenes(labels=False))
def test_truth_without_duplicates_scores_itself_perfectly(found: list[ImageScene]) -> None:
    predict_the_truth(found)
    for protocol in PROTOCOLS:
        # Equal scores make GEN-VLKT take the first row only: its bug, not its rule.
        result = figures(found, protocol, bugs=protocol != "gen-vlkt")
        present = {hoi(t.verb, t.object) for scene in found for t in scene.truth}
        if protocol in ("diag", "thid"):
            present = {k for k in present if WORDS[k][0] != "no_interaction"}
        assert all(result["ap"][k] == 1 for k in present)
        assert (result["map"] is None) == (not present and protocol != "thid")
