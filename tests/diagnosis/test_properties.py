"""What holds for any predictions, and inputs at the edge."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, OptionError
from shoe.diagnosis.diagnose import Diagnosis, diagnose
from shoe.diagnosis.error_types import ErrorType, TruthStatus
from tests.diagnosis.by_hand import AWAY, CLASSES, O1, O2, P1, P2, comparable, diagnosed, image, types
from tests.oracles.model import ImageScene, Triplet, to_tables

both_variants = pytest.mark.parametrize("variant", ["paper", "released"])
options = st.fixed_dictionaries(
    {
        "choice": st.sampled_from(["seeded", "greedy"]),
        "seed": st.integers(0, 2**32 - 1),
        "no_interaction": st.sampled_from(["exclude", "keep"]),
    }
)


@both_variants
@given(found=comparable(), how=options)
def test_types_partition_the_predictions_and_states_the_truths(
    variant: str, found: list[ImageScene], how: dict[str, str]
) -> None:
    result = diagnosed(*found, variant=variant, **how)
    counts, part = result.counts, int((result.types >= 0).sum())
    assert sum(counts[type_.label] for type_ in ErrorType) == part == len(result.scope.prediction)
    assert counts["false_positive"] == part - counts["true_positive"]
    status = result.truth_status
    assert (status == TruthStatus.FOUND).sum() == counts["true_positive"] == (result.found_by >= 0).sum()
    if not result.drawn:  # else it is a mean over seeds
        assert (status == TruthStatus.MISSED).sum() == counts["missed_gt"]
    assert counts["false_negative"] == (status > TruthStatus.FOUND).sum()
    assert (result.types[result.found_by[result.found_by >= 0]] == ErrorType.TRUE_POSITIVE).all()
    assert ((result.fixed_by >= 0) >= (result.found_by >= 0)).all()


@both_variants
@given(found=comparable(), how=options)
def test_all_fixed_is_perfect(variant: str, found: list[ImageScene], how: dict[str, str]) -> None:
    """Absent where nothing is found even then: there is no class left to average."""
    result = diagnosed(*found, variant=variant, **how)
    last = result.progression[-1].means
    assert last.map == (pytest.approx(1) if (result.fixed_by >= 0).any() else None)
    assert all(mean is None or mean == pytest.approx(1) for mean in last)
    if last.map is not None and all(step.delta.map is not None for step in result.progression):
        gains = sum(step.delta.map or 0 for step in result.progression)
        assert (result.means.map or 0) + gains == pytest.approx(1)


@given(found=comparable(), how=options)
def test_no_fix_of_the_paper_lowers_map(found: list[ImageScene], how: dict[str, str]) -> None:
    result = diagnosed(*found, **how)
    for delta in (*result.deltas.values(), *(step.delta for step in result.progression)):
        assert all(gain is None or gain >= -1e-12 for gain in delta)


def test_where_the_averaging_of_the_toolbox_lowers_map() -> None:
    """The class without a hit was left out: its first hit, behind many misses, or its last miss brings it in."""
    truth = [Triplet(P1, O1, "ride", "horse"), Triplet(P2, O2, "hold", "horse")]
    hit = Triplet(P1, O1, "ride", "horse", 0.9)
    behind = [Triplet(AWAY, AWAY, "hold", "horse", 0.8), Triplet(AWAY, O2, "hold", "horse", 0.7)]
    late = diagnosed(image(truth, [hit, *behind]), variant="released")
    assert late.means.map == 1
    assert late.deltas["human_box"].map == pytest.approx((1 + 1 / 2) / 2 - 1)
    gone = diagnosed(image(truth, [hit, behind[0]]), variant="released")
    assert gone.means.map == 1
    assert gone.deltas["both_boxes"].map == pytest.approx(1 / 2 - 1)
    paper = diagnosed(image(truth, [hit, *behind]))
    assert (paper.means.map, paper.deltas["human_box"].map) == (1 / 2, 1 / 4)


@both_variants
@given(found=comparable(), how=options)
def test_states_hold_each_true_positive_once_and_no_error_that_was_fixed(
    variant: str, found: list[ImageScene], how: dict[str, str]
) -> None:
    result = diagnosed(*found, variant=variant, **how)
    own = result.types[result.scope.prediction]
    for name, state in result.states.items():
        assert state.kept[state.true_positives].all()
        assert len(set(state.true_positives.tolist())) == len(state.true_positives)
        errors = np.setdiff1d(np.flatnonzero(state.kept), state.true_positives)
        assert name not in {ErrorType(code).label for code in own[errors].tolist()}
        assert ((state.found_by >= 0) >= (result.found_by[result.scope.truth] >= 0)).all()


@both_variants
def test_no_predictions(variant: str) -> None:
    result = diagnosed(image([Triplet(P1, O1, "ride", "horse")], []), variant=variant)
    assert result.means.map == 0
    assert (result.counts["missed_gt"], result.counts["false_negative"]) == (1, 1)
    assert result.progression[-1].means.map is None
    assert result.deltas["human_box"].map == 0
    assert result.deltas["false_negative"].map is None
    assert result.deltas["missed_gt"].map == (None if variant == "paper" else 0)


@both_variants
def test_no_truth(variant: str) -> None:
    result = diagnosed(image([], [Triplet(P1, O1, "ride", "horse")]), variant=variant)
    assert types(result) == [""]
    assert set(result.counts.values()) == {0}
    assert result.means == (None, None, None)
    assert set(result.deltas.values()) == {(None, None, None)}


@both_variants
def test_neither(variant: str) -> None:
    for found in ([], [image([], [])]):
        result = diagnosed(*found, variant=variant)
        assert (len(result.types), len(result.truth_status), result.means.map) == (0, 0, None)


@both_variants
@given(found=comparable())
def test_truth_predicts_itself(variant: str, found: list[ImageScene]) -> None:
    """Where no truth of a class repeats another's place; a box without extent overlaps nothing, itself included."""
    found = [scene for scene in found if scene.known]
    for scene in found:
        wide = [t for t in scene.truth if all(b[0] < b[2] and b[1] < b[3] for b in (t.human_box, t.object_box))]
        scene.truth = list(dict.fromkeys(wide))
        scene.predictions, scene.prediction_coordinates = scene.truth, scene.truth_coordinates
    result = diagnosed(*found, variant=variant)
    assert result.counts["false_positive"] == result.counts["missed_gt"] == 0
    assert result.means.map in (pytest.approx(1), None)
    assert all(gain in (pytest.approx(0), None) for delta in result.deltas.values() for gain in delta)


@both_variants
@given(found=comparable(), how=options)
def test_predictions_on_images_out_of_the_data_change_nothing(
    variant: str, found: list[ImageScene], how: dict[str, str]
) -> None:
    found = [scene for scene in found if scene.known]
    assume(any(scene.predictions for scene in found))
    more = image([], [Triplet(P1, O1, "ride", "horse", 0.9)], "HICO_test2015_88888888.jpg")
    one = diagnosed(*found, variant=variant, **how)
    for known in (True, False):
        other = diagnosed(*found, replace(more, known=known), variant=variant, **how)
        assert (one.means, one.deltas, one.counts) == (other.means, other.deltas, other.counts)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"variant": "papers"}, r"unknown variant 'papers' \(did you mean paper\?\); known: paper, released"),
        ({"choice": "worst"}, r"unknown choice 'worst'.*; known: greedy, seeded"),
        ({"seed": -1}, "seed: found -1, expected 0 to 4294967295"),
        ({"seed": 2**32}, "seed: found 4294967296, expected 0 to 4294967295"),
        ({"no_interaction": "drop"}, "unknown choice for no_interaction 'drop'; known: exclude, keep"),
    ],
)
def test_wrong_options_are_named(wrong: dict[str, str], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        diagnosed(image([], []), **wrong)


def test_predictions_of_another_data_set_are_refused() -> None:
    truth, _ = to_tables([image([Triplet(P1, O1, "ride", "horse")], [])], CLASSES)
    _, predictions = to_tables([image([], [Triplet(P1, O1, "ride", "horse")], "other.jpg")], CLASSES)
    with pytest.raises(InputError, match=r"found 'other\.jpg', expected .* images, such as 'a\.jpg'"):
        diagnose(predictions, truth)


def signatures() -> dict[str, Diagnosis]:
    scene = image([Triplet(P1, O1, "ride", "horse")], [Triplet(P1, O1, "ride", "horse")])
    return {
        "default": diagnosed(scene),
        "released": diagnosed(scene, variant="released"),
        "seed": diagnosed(scene, seed=1),
        "greedy": diagnosed(scene, choice="greedy"),
        "keep": diagnosed(scene, no_interaction="keep"),
        "coordinates": diagnosed(replace(scene, prediction_coordinates=Coordinates.PIXELS_1)),
    }


def test_whatever_can_move_a_figure_is_signed() -> None:
    found = {name: str(result.signature) for name, result in signatures().items()}
    assert len(set(found.values())) == len(found)
    scene = image([Triplet(P1, O1, "ride", "horse")], [])
    released = [diagnosed(scene, variant="released", choice=c, seed=s) for c, s in (("seeded", 1), ("greedy", 2))]
    assert str(released[0].signature) == str(released[1].signature)
    best = [diagnosed(scene, choice="greedy", seed=seed) for seed in (1, 2)]
    assert str(best[0].signature) == str(best[1].signature)
