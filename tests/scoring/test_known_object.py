"""Known objects, and warnings in Python."""

import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

import shoe
import shoe.demo
from shoe.benchmarks.base import ImageLabel
from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputWarning
from shoe.core.interactions import Interactions
from shoe.predictions import read_predictions
from shoe.scoring.matching.task import Task
from tests.oracles.model import from_tables
from tests.oracles.strict import strict
from tests.scoring.compare import fast_strict, same_figures


@pytest.mark.slow
@pytest.mark.real_data
def test_real_labels_keep_the_images_that_the_official_script_keeps(shared_data: Path) -> None:
    path = shared_data / "hico_det" / "anno.mat"
    truth = read_truth_file(shared_data / "hico_det" / "instances_test2015.json", image_labels=path)
    assert truth.image_labels is not None
    counts = {label.name: int((truth.image_labels == label).sum()) for label in (*ImageLabel,)}
    assert counts == {"YES": 20268, "PERHAPS": 7872, "NO": 61912, "UNKNOWN": 600 * 9658 - 20268 - 7872 - 61912}

    # Read once more, without shoe: the object of a class is known in an image where any of its classes is labelled 1.
    official = loadmat(path, variable_names=["anno_test", "list_test"])
    names = [str(cell[0][0]) for cell in official["list_test"]]
    columns = zip(names, official["anno_test"].T, strict=True)
    labelled = {name: frozenset(np.flatnonzero(column == 1).tolist()) for name, column in columns}
    shown = {name: set(truth.classes.object[list(labelled[name])].tolist()) for name in names}
    table = truth.interactions
    # As the script asserts.
    assert all(int(k) in shown[table.images[i]] for i, k in zip(table.image, table.object, strict=True))

    predictions = read_predictions(shared_data / "reference" / "predictions_300_action_score.json.gz")
    part = truth.within(predictions.images)
    scenes = from_tables(replace(part, image_labels=None), predictions)
    for scene in scenes:
        scene.labels = labelled[scene.name]
    fast = fast_strict(Task(predictions, part), "hico-det-known-object")
    same_figures(fast, strict(scenes, truth.classes, "hico-det-known-object"), ("ap", "map"))
    by_boxes = fast_strict(Task(predictions, replace(part, image_labels=None)), "hico-det-known-object")
    default = fast_strict(Task(predictions, part), "hico-det")
    assert 0 < (default.map or 0) < (fast.map or 0) <= (by_boxes.map or 0)


TRUTH, TABLE = shoe.read_ground_truth(shoe.demo.TRUTH), shoe.read_predictions(shoe.demo.PREDICTIONS["detector"])


@pytest.mark.filterwarnings("always")
def test_python_warnings_are_those_of_the_report() -> None:
    def issued(table: Interactions) -> list[str]:
        with warnings.catch_warnings(record=True) as found:
            report = shoe.score(table, TRUTH)
        lines = [str(each.message) for each in found]
        assert all(each.category is InputWarning and each.filename == __file__ for each in found)
        assert lines == [*report.absent.values(), *report.warnings, *report.doubts]
        metric = shoe.Metric(TRUTH)
        metric.update(table)
        with warnings.catch_warnings(record=True) as found:
            metric.compute()
        assert [(str(each.message), each.filename) for each in found] == [(line, __file__) for line in lines]
        return lines

    right = issued(TABLE)
    assert [line for line in right if not line.startswith("truth:")] == []
    exchanged = replace(TABLE, human_boxes=TABLE.object_boxes, object_boxes=TABLE.human_boxes)
    (line,) = (line for line in issued(exchanged) if line not in right)
    assert line.startswith("boxes:")
    assert "--boxes swapped" in line
    logits = issued(replace(TABLE, score=TABLE.score * 9 - 4))
    assert sum("sigmoid" in line for line in logits) == 1


def test_repeats_and_equal_scores_are_warned_of_as_by_the_command() -> None:
    metric = shoe.Metric(TRUTH)
    for _ in range(2):  # as with a sampler that pads
        metric.update(TABLE)
    with pytest.warns(InputWarning, match="4,000 predictions repeat"):
        metric.compute()
    with pytest.warns(InputWarning, match="same score"):
        shoe.score(replace(TABLE, score=np.ones(len(TABLE))), TRUTH)
