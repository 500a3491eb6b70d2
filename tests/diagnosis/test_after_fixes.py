"""What oracles leave, written into tables: scored strictly, they give what the diagnosis says."""

import numpy as np
import pytest
from hypothesis import given

from shoe.core.boxes import Coordinates
from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.error_types import NAMES
from shoe.diagnosis.vocabulary_gap import Tables
from shoe.scoring.entries import Means
from shoe.scoring.matching.task import Task
from shoe.scoring.strict import strict_score
from tests.diagnosis.by_hand import AWAY, O1, P1, RIDE, both_variants, comparable, diagnosed, image
from tests.diagnosis.test_worked_example import SCENES
from tests.examples import examples
from tests.oracles.model import ImageScene, Triplet


def strictly(task: Task, diagnosis: Diagnosis) -> Means:
    found = strict_score(task, diagnosis.variant.strict)
    return Means(found.map, found.map_rare, found.map_non_rare)


@both_variants
@pytest.mark.parametrize("name", NAMES)
def test_the_worked_example_scored_anew_gives_each_delta(variant: str, name: str) -> None:
    found = diagnosed(*SCENES, variant=variant)
    tables = Tables.from_analysis(found)
    before = strictly(tables.task, found)
    assert before == pytest.approx(found.means)
    after = strictly(tables.after(found.states[name]), found)
    assert after.minus(before) == pytest.approx(found.deltas[name], abs=1e-12)


@pytest.mark.parametrize("frame", Coordinates)
def test_a_fixed_prediction_stands_exactly_where_its_truth_stands(frame: Coordinates) -> None:
    scene = image([RIDE], [Triplet(AWAY, O1, "gallop", "horse", 0.25)])
    scene.prediction_coordinates = frame
    found = diagnosed(scene)
    task = Tables.from_analysis(found).after(found.states["human_box"])
    fixed, truth = task.predictions, task.truth.interactions
    assert fixed.human_boxes.tolist() == truth.human_boxes.tolist() == [[P1[0] - 1, P1[1] - 1, P1[2], P1[3]]]
    assert fixed.object_boxes.tolist() == truth.object_boxes.tolist()
    assert (fixed.verbs[fixed.verb[0]], fixed.objects[fixed.object[0]]) == ("ride", "horse")
    assert fixed.score.tolist() == [0.25]


def test_labels_that_predictions_use_are_not_listed_twice() -> None:
    tables = Tables.from_analysis(diagnosed(image([RIDE], [Triplet(P1, O1, "gallop", "horse")])))
    words, labels = tables.task.predictions, tables.task.truth.classes
    assert (words.objects[0], len(words.objects)) == ("horse", len(labels.objects))
    assert [words.verbs[v] for v in tables.verb] == list(labels.verbs)
    assert [words.objects[o] for o in tables.object] == list(labels.objects)


@both_variants
@examples(2)
@given(found=comparable())
def test_tables_have_what_a_state_keeps_and_every_fix_makes_a_true_positive(
    variant: str, found: list[ImageScene]
) -> None:
    """Each truth that a state says is found has a prediction of its class in its place."""
    result = diagnosed(*found, variant=variant)
    tables, scope = Tables.from_analysis(result), result.scope
    assert tables.prediction.tolist() == sorted(scope.prediction.tolist())
    assert (tables.prediction[tables.row] == scope.prediction).all()
    for state in result.states.values():
        task = tables.after(state)
        assert len(task.truth.interactions) == state.counted.sum()
        assert sorted(task.predictions.score) == sorted(result.task.predictions.score[scope.prediction[state.kept]])
        rows = np.flatnonzero(state.kept[np.argsort(tables.row)])
        place = np.full(len(tables.row), -1)
        place[rows] = np.arange(len(rows))
        for truth in np.flatnonzero((state.found_by >= 0) & state.counted).tolist():
            row = place[tables.row[state.found_by[truth]]]
            assert task.hoi[row] == scope.truth_hoi[truth]
            if state.found_by[truth] != tables.found_by[truth]:
                human = tables.task.truth.interactions.human_boxes[truth]
                assert task.predictions.human_boxes[row].tolist() == human.tolist()
    untouched = Tables.from_analysis(result).after(result.states["both_boxes"])
    assert untouched.truth.interactions.equals(tables.task.truth.interactions)
