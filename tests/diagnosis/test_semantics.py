"""What each error costs SHOE-mAP, by hand; what must hold of any scene; the whole test set in other words."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.diagnose import diagnose
from shoe.diagnosis.error_types import NAMES
from shoe.diagnosis.vocabulary_gap import Tables
from shoe.scoring.entries import Means
from shoe.scoring.score import score
from tests.diagnosis import by_hand
from tests.diagnosis.by_hand import AWAY, O1, O2, P1, P2, RIDE, both_variants, comparable, image
from tests.diagnosis.meanings import read_for_meaning
from tests.examples import examples
from tests.oracles.model import ImageScene, Triplet

HOLD = replace(RIDE, verb="hold")


def costs(folder: Path, *scenes: ImageScene, **options: str) -> dict[str, Any]:
    """SHOE-mAP as "map", and the deltas that are not 0."""
    found = read_for_meaning(folder, *scenes, **options)
    deltas = {name: delta.map for name, delta in found.deltas.items()}
    assert list(deltas) == list(NAMES)
    kept = {name: near(d) for name, d in deltas.items() if d is None or abs(d) > 1e-6}
    return {"map": near(found.means.map), **kept}


def near(value: float | None) -> Any:
    return None if value is None else pytest.approx(value, abs=1e-6)


SURE_GRIP = replace(RIDE, verb="grip", score=0.9)
OTHER = Triplet(P2, O2, "ride", "horse", 0.5)
SAME = {"map": 1.0, "false_positive": -1.0, "false_negative": None}
DUPLICATE = 1 - (1 / 2 + 1 / 2 * 2 / 3)


@pytest.mark.parametrize(
    ("truth", "predictions", "expected"),
    [
        # Another word costs what it lacks: sigma is 3/4, so AP is 9/16. That the prediction is false to exact matches
        # costs meaning nothing: without it the only answer is gone; without missed truth no class is left.
        (
            [RIDE],
            [replace(RIDE, verb="gallop", score=0.9)],
            {"map": 9 / 16, "interaction": 7 / 16, "false_positive": -9 / 16, "false_negative": None},
        ),
        ([HOLD], [SURE_GRIP], SAME),  # a word of the same meaning costs nothing
        # It is matched with or without the fixed prediction, which says the same and is unmatched then.
        ([HOLD], [SURE_GRIP, replace(HOLD, human_box=AWAY, score=0.8)], SAME),
        # The second, in the same place, is matched with nothing: it stands before the second truth's match.
        (
            [RIDE, replace(OTHER, score=1.0)],
            [replace(RIDE, score=0.9), replace(RIDE, score=0.8), OTHER],
            {"map": 1 - DUPLICATE, "duplicate": DUPLICATE, "false_positive": DUPLICATE},
        ),
        ([RIDE], [], {"map": 0.0, "missed_gt": None, "false_negative": None}),
    ],
    ids=["another word", "same meaning", "said twice", "duplicate", "no predictions"],
)
def test_costs_by_hand(rated: Path, truth: list[Triplet], predictions: list[Triplet], expected: dict[str, Any]) -> None:
    assert costs(rated, image(truth, predictions)) == expected


@pytest.mark.parametrize(
    ("prediction", "fixed_by"),
    [
        (Triplet(AWAY, O1, "gallop", "horse", 0.9), "human_box"),
        (Triplet(P1, AWAY, "gallop", "pony", 0.9), "object_box"),
        (Triplet(AWAY, O1, "gallop", "pony", 0.9), None),  # both boxes: it has nothing right to go by
    ],
)
def test_a_misplaced_box_costs_all(rated: Path, prediction: Triplet, fixed_by: str | None) -> None:
    found = costs(rated, image([RIDE], [prediction]))
    assert found["map"] == 0
    assert {name for name, gain in found.items() if gain == near(1)} == ({fixed_by} if fixed_by else set())


def test_a_truth_that_only_meaning_finds_may_be_dropped_as_missed(rated: Path) -> None:
    """The object box oracle makes "ride bicycle" of the only answer, so "ride horse" is strictly missed."""
    truth = [Triplet(P1, O2, "ride", "bicycle"), RIDE]
    found = costs(rated, image(truth, [replace(RIDE, object="pony", score=0.9)]), choice="greedy")
    half = (7 / 8) ** 2 / 2
    deltas = {"object_box": 1 / 2 - half, "false_positive": -half, "missed_gt": -half, "false_negative": None}
    assert found == {"map": half, **deltas}


def test_means_of_rare_and_non_rare_classes(rated: Path) -> None:
    hop_on = replace(RIDE, verb="hop_on")
    found = read_for_meaning(rated, image([RIDE], [replace(RIDE, verb="gallop")]), image([hop_on], [hop_on], "b.jpg"))
    assert found.means == (near((9 / 16 + 1) / 2), near(1), near(9 / 16))
    assert found.deltas["interaction"] == (near(7 / 32), near(0), near(7 / 16))


@pytest.mark.slow
@both_variants
@pytest.mark.parametrize("no_interaction", ["exclude", "keep"])
@examples(0.5)
@given(found=comparable())
def test_before_any_fix_it_is_as_scored(variant: str, no_interaction: str, found: list[ImageScene]) -> None:
    result = read_for_meaning("hico-det", *found, variant=variant, no_interaction=no_interaction)
    task = Tables.from_analysis(result.analysis).task
    options = [f"no-interaction={no_interaction}"]
    scored = score(task.predictions, task.truth, protocols=["shoe"], options=options).semantic
    assert scored is not None
    assert result.means.map == (None if scored.map is None else pytest.approx(scored.map))
    assert ("map" in result.absent) == (result.vocabulary_gap is None) == (result.deltas == {}) == (scored.map is None)


@given(found=comparable())
def test_truth_predicts_itself(found: list[ImageScene]) -> None:
    result = read_for_meaning("hico-det", *by_hand.predicting_itself(found))
    assert result.means.map in (None, near(1))
    assert all(gain in (None, near(0)) for delta in result.deltas.values() for gain in delta)
    assert len(result.interaction.prediction) == len(result.object_class.prediction) == 0
    if result.vocabulary_gap is not None:
        assert (result.vocabulary_gap.exact_map, result.vocabulary_gap.confusions) == (near(1), ())


def test_absent_where_scores_are_no_confidences(rated: Path) -> None:
    found = read_for_meaning(rated, image([RIDE], [replace(RIDE, verb="gallop", score=-2.5)]))
    assert all(part in found.absent["map"] for part in ("-2.5", "0..1", "sigmoid"))
    assert (found.means, found.deltas, found.vocabulary_gap) == (Means(None, None, None), {}, None)
    assert len(found.interaction.prediction) == 1


@pytest.mark.parametrize("scenes", [[], [image([], [])], [image([], [RIDE])]], ids=len)
def test_absent_without_ground_truth(rated: Path, scenes: list[ImageScene]) -> None:
    assert read_for_meaning(rated, *scenes).absent == {"map": "no ground truth"}


def test_the_signature_names_the_map_the_protocol_and_the_diagnosis(rated: Path) -> None:
    hows: list[dict[str, Any]] = [{}, {"protocol": "shoe-literal"}, {"variant": "released"}, {"seed": 1}]
    found = [read_for_meaning(rated, image([RIDE], [RIDE]), **how) for how in (*hows, {"choice": "greedy"})]
    found += [read_for_meaning("hico-det", image([RIDE], [RIDE]), no_interaction=n) for n in ("keep", "exclude")]
    assert len({str(each.signature) for each in found}) == 7
    signed = {"map": "by-hand", "diagnosis": "paper", "seed": "0", "protocol": "shoe", "no-interaction": "exclude"}
    assert signed.items() <= dict(found[0].signature.items).items()


@pytest.mark.slow
@pytest.mark.real_data
def test_the_whole_test_set_in_other_words(hico_det: GroundTruth) -> None:
    """Every "hold" is gripped and every motorcycle is a motorbike; else the truth predicts itself."""
    table = hico_det.interactions
    hold, motorcycle = table.verbs.index("hold"), table.objects.index("motorcycle")
    verbs, objects = list(table.verbs), list(table.objects)
    verbs[hold], objects[motorcycle] = "gripping", "motorbike"
    reworded = replace(table, verbs=tuple(verbs), objects=tuple(objects))
    found = diagnose(reworded, hico_det, choice="greedy", similarity="hico-det").semantic
    assert found is not None

    held, driven = table.verb == hold, table.object == motorcycle
    idle = hico_det.classes.no_interaction[hico_det.hoi]
    assert len(found.interaction.prediction) == (held & ~driven).sum()
    assert len(found.object_class.prediction) == (driven & ~idle).sum()
    assert [*found.object_class.by_relation] == ["same"]
    explained = found.vocabulary_gap
    assert explained is not None
    assert explained.identity_map > explained.exact_map
    by_part = {confusion.part: confusion for confusion in explained.confusions}
    assert {word.word.label for word in explained.confusions} == {"hold", "motorcycle"}
    assert (by_part["object"].word.predicted, by_part["object"].word.relation) == ("motorbike", "same")
    assert (by_part["verb"].word.predicted, by_part["verb"].word.sense) == ("gripping", "grip.v.01")
    assert sum(confusion.share for confusion in explained.confusions) == pytest.approx(1)
    assert (found.means.map or 0) + (found.deltas["interaction"].map or 0) == pytest.approx(1, abs=0.01)
