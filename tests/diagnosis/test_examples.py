"""Which cases stand for an error: the best-scored ones, of as many images and kinds as there are."""

from collections import Counter
from dataclasses import replace

import pytest

from shoe.diagnosis.error_gains import ErrorExample, Shown
from shoe.diagnosis.error_types import ERRORS, ErrorType
from tests.diagnosis.by_hand import AWAY, O2, P2, RIDE, diagnosed, image
from tests.oracles.model import ImageScene, Triplet
from tests.report.figures.models import diagnosed as demo

HOLD = Triplet(P2, O2, "hold", "horse")


def scene(number: int, *words: tuple[str, float]) -> ImageScene:
    """An image in which someone rides a horse; what is predicted for the pair, and how surely."""
    return image([RIDE], [replace(RIDE, verb=verb, score=score) for verb, score in words], f"{number}.jpg")


def shown(found: list[ErrorExample]) -> list[tuple[str, str, float]]:
    return [(case.image, case.predicted.verb, case.score) for case in found if case.predicted and case.score]


def test_one_an_image_the_best_scored_first_and_every_kind_before_a_second_of_one() -> None:
    result = diagnosed(
        scene(1, ("hold", 0.9), ("feed", 0.8)),
        scene(2, ("hold", 0.95)),
        scene(3, ("feed", 0.3)),
        scene(4, ("hold", 0.5), ("ride", 0.1)),
    )
    everything = [("2.jpg", "hold", 0.95), ("3.jpg", "feed", 0.3), ("1.jpg", "hold", 0.9), ("4.jpg", "hold", 0.5)]
    assert shown(result.examples("interaction")) == everything
    assert shown(result.examples("interaction", most=2)) == everything[:2]
    assert result.examples("duplicate") == []


def test_equal_scores_take_turns_by_the_seed_and_the_same_seed_chooses_the_same() -> None:
    scenes = [scene(number, ("hold", 0.5)) for number in range(30)]

    def images(seed: int) -> tuple[str, ...]:
        return tuple(case.image for case in diagnosed(*scenes, seed=seed).examples("interaction"))

    assert len({images(seed) for seed in range(5)}) > 1
    assert images(3) == images(3)


def test_a_case_says_what_was_predicted_what_is_true_and_how_they_overlap() -> None:
    (case,) = diagnosed(scene(1, ("hold", 0.5), ("ride", 0.25))).examples("interaction")
    # Boxes by hand name their first and last pixels; pictures have edges.
    edges = (99.0, -1.0, 119.0, 19.0), (99.0, 99.0, 119.0, 119.0)
    assert case == ErrorExample(
        image="1.jpg",
        size=case.size,
        predicted=Shown(*(case.predicted.human, case.predicted.object) if case.predicted else edges, "hold", "horse"),
        score=0.5,
        truth=Shown(*edges, "ride", "horse"),
        about=True,
        found=0.25,
        overlap=(1.0, 1.0),
    )


def test_a_case_about_nothing_shows_the_nearest_truth_and_missed_truth_has_no_prediction() -> None:
    near = Triplet((105.0, 0.0, 124.0, 19.0), AWAY, "ride", "horse", 0.5)
    (case,) = diagnosed(image([HOLD, RIDE], [replace(near, object_box=O2)])).examples("association")
    assert case.about
    (case,) = diagnosed(image([HOLD, RIDE], [replace(near, human_box=(110.0, 0, 139, 19))])).examples("both_boxes")
    assert case.truth is not None
    assert (case.about, case.truth.verb) == (False, "ride")
    (case,) = diagnosed(image([RIDE], [])).examples("missed_gt")
    assert case.truth is not None
    assert (case.predicted, case.score, case.overlap, case.found, case.truth.verb) == (None, None, None, None, "ride")


@pytest.mark.parametrize("error", [error.name for error in ERRORS])
@pytest.mark.parametrize("model", ["detector", "free text"])
def test_of_real_scenes_each_case_is_of_its_error(model: str, error: str) -> None:
    diagnosis = demo(model)
    found = diagnosis.examples(error)
    assert len(found) == min(6, len(found))
    assert max(Counter(case.image for case in found).values(), default=1) == 1
    if error == "missed_gt":
        assert found
        return
    table = diagnosis.task.predictions
    wrong = diagnosis.types == ErrorType[error.upper()]
    assert bool(found) == wrong.any()
    for case in found:
        assert case.predicted is not None
        here = wrong & (table.image == table.images.index(case.image)) & (table.score == case.score)
        assert case.predicted.verb in {table.verbs[v] for v in table.verb[here].tolist()}
