"""Arguments of the wrong kind are one clear line before anything is computed, not an error from deep inside."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import shoe
from shoe.demo import PREDICTIONS, TRUTH

FILE: Any = Path("detector.json")
NAME: Any = "truth.json"
NOTHING: Any = None
NUMBERS: Any = [3]
TABLE: Any = shoe.read_predictions(PREDICTIONS["detector"])
GROUND_TRUTH: Any = shoe.read_ground_truth(TRUTH)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: shoe.score(FILE, GROUND_TRUTH),
            r"predictions: found \w*Path, expected Interactions, as shoe.read_pred",
        ),
        (lambda: shoe.score(TABLE, NAME), "truth: found str, expected GroundTruth, as shoe.read_ground_truth"),
        (lambda: shoe.score(GROUND_TRUTH, TABLE), "predictions: found GroundTruth, expected Interactions"),
        (lambda: shoe.diagnose(GROUND_TRUTH, TABLE), "predictions: found GroundTruth, expected Interactions"),
        (lambda: shoe.Metric(NAME), "truth: found str, expected GroundTruth"),
        (lambda: shoe.Metric(GROUND_TRUTH).update(NOTHING), "predictions: found NoneType, expected Interactions"),
        (lambda: shoe.Metric(GROUND_TRUTH, protocols=["upx"]), "unknown protocol 'upx' \\(did you mean upt"),
        (
            lambda: shoe.score(TABLE, GROUND_TRUTH, protocols="qpic"),
            "protocols: found 'qpic', expected a list of names",
        ),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, options="tau=0.3"), "options: found 'tau=0.3', expected a list"),
        (lambda: shoe.score(TABLE, GROUND_TRUTH, options=NUMBERS), r"options: found \[3\], expected a list of names"),
    ],
)
def test_arguments_of_another_kind_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(shoe.OptionError, match=message):
        call()
