"""What holds of the diagnosis of any scene."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.oracles.average_precision import mean
from tests.oracles.crowds import crowds
from tests.oracles.diagnosis import ERROR_TYPES, VARIANTS, Variant, diagnosed, matches
from tests.oracles.diagnosis_fixes import ORACLES, greedy
from tests.oracles.diagnosis_map import MapFigures, counts, oracle_map, progressive_maps
from tests.oracles.model import ImageScene
from tests.oracles.scenes import CLASSES
from tests.oracles.strict import StrictFigures, strict


def means(figures: MapFigures | StrictFigures) -> tuple[float | None, float | None, float | None]:
    return figures["map"], figures["map_rare"], figures["map_non_rare"]


@given(crowds(), st.sampled_from(VARIANTS), st.booleans())
def test_types_partition_predictions_and_true_positives_are_one_to_one(
    found: list[ImageScene], variant: Variant, no_interaction: bool
) -> None:
    images = diagnosed(found, CLASSES, variant, no_interaction)
    number = counts(images)
    assert sum(number[kind] for kind in ERROR_TYPES) == sum(len(image.predictions) for image in images)
    assert number["true_positive"] == sum(row is not None for row in matches(images).values())


@given(crowds())
def test_before_any_fix_the_release_is_the_strict_protocol(found: list[ImageScene]) -> None:
    expected, before = strict(found, CLASSES, "diag"), oracle_map(diagnosed(found, CLASSES, "released"), CLASSES)
    assert (before["ap"], means(before)) == (expected["ap"], means(expected))


@given(crowds())
def test_before_any_fix_the_paper_integrates_over_every_class_with_truth(found: list[ImageScene]) -> None:
    """With the threshold of the release it has the classes and the recalls of the strict protocol without bugs."""
    images = diagnosed(found, CLASSES, "released")
    before = oracle_map([replace(image, variant="paper") for image in images], CLASSES)
    recalls = strict(found, CLASSES, "diag", bugs=False)["recall"]
    parts: tuple[list[float], list[float]] = [], []
    for area, recall, rare in zip(before["ap"], recalls, CLASSES.rare, strict=True):
        assert (area is None) == (recall is None)
        if area is not None and recall is not None:
            assert (area > 0) == (recall > 0)
            assert area <= recall + 1e-12
            parts[not rare].append(area)
    assert list(means(before)) == pytest.approx([mean(part) for part in (parts[0] + parts[1], *parts)])


@given(crowds(), st.sampled_from(VARIANTS), st.integers(0, 3))
def test_no_oracle_lowers_the_ap_of_a_class(found: list[ImageScene], variant: Variant, seed: int) -> None:
    """Nor a mean of the paper; the release's fall where a class is no longer, or not yet, skipped."""
    choose = Random(seed).choice if seed else greedy
    images = diagnosed(found, CLASSES, variant)

    def fixed(*oracle: Any) -> list[float | None]:
        figures = oracle_map(images, CLASSES, *oracle)
        return [*figures["ap"], *(means(figures) if variant == "paper" else ())]

    unfixed = fixed()
    for oracle in ORACLES:
        for before, after in zip(unfixed, fixed(oracle, choose), strict=True):
            assert before is None or after is None or before <= after + 1e-12


@given(crowds(), st.sampled_from(VARIANTS), st.booleans(), st.integers(0, 3))
def test_all_errors_fixed_one_after_the_other_leave_a_perfect_detector(
    found: list[ImageScene], variant: Variant, no_interaction: bool, seed: int
) -> None:
    choose = Random(seed).choice if seed else greedy
    ap = progressive_maps(diagnosed(found, CLASSES, variant, no_interaction), CLASSES, choose)[-1]["ap"]
    assert all(value is None or value == pytest.approx(1) for value in ap)
