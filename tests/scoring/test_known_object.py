"""The known-object setting by HICO's real image labels, against the slow oracle and a reading of its own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from shoe.benchmarks.base import ImageLabel
from shoe.benchmarks.truth import read_truth_file
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
