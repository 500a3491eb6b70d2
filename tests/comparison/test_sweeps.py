"""The metric's choices varied one at a time: each point is a scoring of its own, and rankings are compared by hand."""

import numpy as np
import pytest

import shoe
from shoe.comparison.compare import GroupDifference, mean_differences
from shoe.comparison.sweeps import Point, Setting, rank_stability, settings_of, sweep
from shoe.demo import PREDICTIONS, TRUTH
from shoe.report.comparison import stability_sentence
from shoe.scoring.score import Report
from tests.errors import says
from tests.present import present


@pytest.fixture(scope="module")
def reports() -> list[Report]:
    truth = shoe.read_ground_truth(TRUTH)
    return [shoe.score(shoe.read_predictions(PREDICTIONS[name]), truth) for name in ("free text", "detector")]


@pytest.mark.slow
def test_each_point_is_what_scoring_with_the_option_says(reports: list[Report]) -> None:
    for setting, figures in (point for point in sweep(reports) if point.setting.option != "rater"):
        names = [f"{setting.option}={setting.value}"]
        names += [f"strict.threshold={setting.value}"] if setting.option == "threshold" else []
        for number, report in enumerate(reports):
            again = shoe.score(report.predictions, report.truth, options=names)
            semantic = present(again.semantic)
            expected = {"map": semantic.map, "mf1": semantic.mf1, "strict": present(again.strict).map}
            wanted = pytest.approx({name: expected[name] for name in figures}, abs=1e-12)
            assert {name: values[number] for name, values in figures.items()} == wanted, setting


def test_what_was_asked_for_is_among_the_settings_once_each(reports: list[Report]) -> None:
    settings = settings_of(reports[0])
    assert [s.option for s in settings if s.asked] == ["weight", "delta", "threshold", "tau", "ensemble"]
    assert len(set(settings)) == len(settings)


def test_a_ranking_survives_unless_two_models_change_places(reports: list[Report]) -> None:
    first, second = (report.to_dict()["semantic"]["map"] for report in reports)
    assert first < second
    points = [
        Point(Setting("weight", 0.5, asked=True), {"map": (first, second)}),
        Point(Setting("weight", 0.0), {"map": (0.1, 0.2)}),
        Point(Setting("weight", 1.0), {"map": (0.2, 0.2)}),  # equal: nobody passed anybody
        Point(Setting("delta", 0.9), {"map": (0.3, 0.2)}),
        Point(Setting("tau", 0.9), {"mf1": (0.3, 0.2)}),
    ]
    found = present(rank_stability(reports, points, "map"))
    assert (found.settings, found.changed, found.lowest_tau) == (3, (Setting("delta", 0.9),), -1.0)
    assert says(stability_sentence(found), "1 of 3 ", ": delta 0.9", "-1.00")
    assert rank_stability(reports[:1], points, "map") is None


def test_classes_verbs_and_objects_by_what_the_second_model_gains() -> None:
    classes = shoe.benchmark("hico-det").classes
    before, after = np.full((2, len(classes)), np.nan)
    ride, feed, sit = (classes.labels.index(label) for label in ("ride horse", "feed horse", "sit_on bench"))
    before[[ride, feed, sit]], after[[ride, feed]] = (0.5, 0.25, 1.0), (0.25, 0.75)
    columns = np.arange(len(classes)), before, after
    by_class = mean_differences(classes.labels, np.arange(len(classes)), *columns)
    assert [(m.name, m.by) for m in by_class] == [("feed horse", 0.5), ("ride horse", -0.25)]
    (horse,) = mean_differences(classes.objects, classes.object, *columns)
    assert horse == GroupDifference("horse", 2, ride + feed, 0.375, 0.5)
    assert [m.name for m in mean_differences(classes.verbs, classes.verb, *columns)] == ["feed", "ride"]
