"""``shoe.score`` and ``shoe.Metric`` issue the warnings of their report once, as the command line prints them."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import shoe
import shoe.demo
from shoe.core.errors import InputWarning
from shoe.core.interactions import Interactions

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
