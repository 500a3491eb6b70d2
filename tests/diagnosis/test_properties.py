"""What holds for any predictions, inputs at the edge, and the whole test set of HICO-DET with errors put into it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from shoe.benchmarks.truth import GroundTruth
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, OptionError
from shoe.diagnosis.diagnose import diagnose
from shoe.diagnosis.error_types import ErrorType, TruthStatus
from shoe.scoring.score import score
from tests.diagnosis import by_hand
from tests.diagnosis.by_hand import AWAY, O1, O2, P1, P2, RIDE, both_variants, comparable, diagnosed, image, types
from tests.oracles.model import ImageScene, Triplet, to_tables

options = st.fixed_dictionaries(
    {
        "choice": st.sampled_from(["seeded", "greedy"]),
        "seed": st.integers(0, 2**32 - 1),
        "no_interaction": st.sampled_from(["exclude", "keep"]),
    }
)
any_diagnosis = given(found=comparable(), how=options)


@both_variants
@any_diagnosis
def test_types_and_states_are_parts(variant: str, found: list[ImageScene], how: dict[str, str]) -> None:
    """States hold each true positive once, and no error that was fixed."""
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
    own = result.types[result.scope.prediction]
    for name, state in result.states.items():
        assert state.kept[state.true_positives].all()
        assert len(set(state.true_positives.tolist())) == len(state.true_positives)
        errors = np.setdiff1d(np.flatnonzero(state.kept), state.true_positives)
        assert name not in {ErrorType(code).label for code in own[errors].tolist()}
        assert ((state.found_by >= 0) >= (result.found_by[result.scope.truth] >= 0)).all()


@both_variants
@any_diagnosis
def test_gains_of_fixes(variant: str, found: list[ImageScene], how: dict[str, str]) -> None:
    """All fixed is perfect, but absent if nothing is found even then: there is no class left to average."""
    # No fix of the paper lowers mAP.
    result = diagnosed(*found, variant=variant, **how)
    last = result.progression[-1].means
    assert last.map == (pytest.approx(1) if (result.fixed_by >= 0).any() else None)
    assert all(mean is None or mean == pytest.approx(1) for mean in last)
    steps = [step.delta for step in result.progression]
    if last.map is not None and all(step.map is not None for step in steps):
        assert (result.means.map or 0) + sum(step.map or 0 for step in steps) == pytest.approx(1)
    if variant == "paper":
        gains = [gain for delta in (*result.deltas.values(), *steps) for gain in delta]
        assert all(gain is None or gain >= -1e-12 for gain in gains)


def test_where_the_averaging_of_the_toolbox_lowers_map() -> None:
    """The class without a hit was left out: its first hit, behind many misses, or its last miss brings it in."""
    truth = [RIDE, Triplet(P2, O2, "hold", "horse")]
    hit = Triplet(P1, O1, "ride", "horse", 0.9)
    behind = [Triplet(AWAY, AWAY, "hold", "horse", 0.8), Triplet(AWAY, O2, "hold", "horse", 0.7)]
    late = diagnosed(image(truth, [hit, *behind]), variant="released")
    assert (late.means.map, late.deltas["human_box"].map) == pytest.approx((1, (1 + 1 / 2) / 2 - 1))
    gone = diagnosed(image(truth, [hit, behind[0]]), variant="released")
    assert (gone.means.map, gone.deltas["both_boxes"].map) == pytest.approx((1, 1 / 2 - 1))
    paper = diagnosed(image(truth, [hit, *behind]))
    assert (paper.means.map, paper.deltas["human_box"].map) == (1 / 2, 1 / 4)


@both_variants
def test_at_the_edge(variant: str) -> None:
    result = diagnosed(image([RIDE], []), variant=variant)  # no predictions
    assert (result.means.map, result.progression[-1].means.map) == (0, None)
    assert (result.counts["missed_gt"], result.counts["false_negative"]) == (1, 1)
    deltas = [result.deltas[name].map for name in ("human_box", "false_negative", "missed_gt")]
    assert deltas == [0, None, None if variant == "paper" else 0]
    result = diagnosed(image([], [RIDE]), variant=variant)  # no truth
    assert (types(result), set(result.counts.values())) == ([""], {0})
    assert {result.means, *result.deltas.values()} == {(None, None, None)}
    for found in ([], [image([], [])]):  # neither
        result = diagnosed(*found, variant=variant)
        assert (len(result.types), len(result.truth_status), result.means.map) == (0, 0, None)


@both_variants
@given(found=comparable())
def test_truth_predicts_itself(variant: str, found: list[ImageScene]) -> None:
    result = diagnosed(*by_hand.predicting_itself(found), variant=variant)
    assert result.counts["false_positive"] == result.counts["missed_gt"] == 0
    assert result.means.map in (pytest.approx(1), None)
    assert all(gain in (pytest.approx(0), None) for delta in result.deltas.values() for gain in delta)


@both_variants
@given(found=comparable(), how=options)
def test_predictions_on_other_images_change_nothing(variant: str, found: list[ImageScene], how: dict[str, str]) -> None:
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
        ({"variant": "papers"}, r"'papers' .*mean paper\?.*: paper, released"),
        ({"choice": "worst"}, "'worst'.*: greedy, seeded"),
        ({"seed": -1}, "seed: found -1, .*0 to 4294967295"),
        ({"seed": 2**32}, "seed: found 4294967296, .*0 to 4294967295"),
        ({"no_interaction": "drop"}, "no_interaction 'drop'.*: exclude, keep"),
        *(({"seeds": seeds}, f"seeds: found {seeds}, .*1000") for seeds in (0, 1001)),
        ({"protocol": "sho"}, r"'sho' \(did you mean shoe\?\)"),
        ({"similarity": "hico"}, "similarity 'hico'"),
    ],
)
def test_wrong_options_are_named(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        diagnosed(image([], []), **wrong)


def test_predictions_of_another_data_set_are_refused() -> None:
    truth, _ = to_tables([image([RIDE], [])], by_hand.CLASSES)
    _, predictions = to_tables([image([], [RIDE], "other.jpg")], by_hand.CLASSES)
    with pytest.raises(InputError, match=r"'other\.jpg', .*'a\.jpg'"):
        diagnose(predictions, truth)


def test_whatever_can_move_a_figure_is_signed_and_nothing_else_is() -> None:
    scene = image([RIDE], [RIDE])
    scenes = [scene] * 5 + [replace(scene, prediction_coordinates=Coordinates.PIXELS_1)]
    hows: list[dict[str, Any]] = [{}, {"variant": "released"}, {"seed": 1}, {"choice": "greedy"}]
    hows += [{"no_interaction": "keep"}, {}]
    assert len({str(diagnosed(scene, **how).signature) for scene, how in zip(scenes, hows, strict=True)}) == 6
    released = [diagnosed(scene, variant="released", choice=c, seed=s) for c, s in (("seeded", 1), ("greedy", 2))]
    best = [diagnosed(scene, choice="greedy", seed=seed) for seed in (1, 2)]
    assert [len({str(result.signature) for result in alike}) for alike in (released, best)] == [1, 1]


@pytest.mark.real_data
@both_variants
@pytest.mark.parametrize(
    ("no_interaction", "triplets", "images"), [("exclude", 29_110, 8_528), ("keep", 33_405, 9_546)]
)
def test_the_whole_test_set_predicts_itself(
    hico_det: GroundTruth, variant: str, no_interaction: str, triplets: int, images: int
) -> None:
    """Counts of protocols.md 8 and 15."""
    found = diagnose(hico_det.interactions, hico_det, variant=variant, no_interaction=no_interaction)
    assert found.counts["true_positive"] == len(found.scope.truth) == sum(found.counts.values()) == triplets
    assert len(np.unique(found.scope.truth_image)) == images
    assert found.means == pytest.approx((1, 1, 1))


@pytest.mark.real_data
@both_variants
def test_each_error_that_was_put_in_is_found_and_fixed(hico_det: GroundTruth, variant: str) -> None:
    """Every fourth human and every fifth object stands aside; every seventh verb is another."""
    table = hico_det.interactions
    row = np.arange(len(table))
    wrong_human, wrong_object = row % 4 == 0, row % 5 == 0
    humans = table.human_boxes + 1e5 * wrong_human[:, None]
    objects = table.object_boxes + 1e5 * wrong_object[:, None]
    verb = np.where(row % 7 == 0, (table.verb + 1) % len(table.verbs), table.verb).astype(np.int32)
    predictions = replace(table, human_boxes=humans, object_boxes=objects, verb=verb, score=1 / (row + 2))
    found = diagnose(predictions, hico_det, variant=variant, no_interaction="keep")
    assert found.counts["human_box"] == (wrong_human & ~wrong_object).sum()
    assert found.counts["object_box"] == (wrong_object & ~wrong_human).sum()
    assert found.counts["both_boxes"] == (wrong_human & wrong_object).sum()
    assert found.progression[-1].means.map == pytest.approx(1)
    if variant == "released":
        strict = score(predictions, hico_det, protocols=["diag"], options=["strict.no-interaction=keep"]).strict
        assert strict is not None
        assert found.means == (strict.map, strict.map_rare, strict.map_non_rare)
