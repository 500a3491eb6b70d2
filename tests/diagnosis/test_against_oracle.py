"""The fast diagnosis against its slow, literal twin: every type, match, count and mean."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.arrays import random_numbers
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.error_types import VARIANTS, ErrorType, TruthStatus
from shoe.scoring.entries import Means
from shoe.scoring.matching.task import Task
from tests.oracles.crowds import crowds
from tests.oracles.diagnosis import Variant, diagnosed, error_types, matches
from tests.oracles.diagnosis_fixes import ORACLES, Candidate, Choose, greedy, missed_truths
from tests.oracles.diagnosis_map import MapFigures, counts, oracle_map, progressive_maps
from tests.oracles.model import ImageScene
from tests.oracles.scenes import random_scenes, small_classes
from tests.scoring.compare import close, task_of

CLASSES = small_classes()
Place = tuple[str, int]
"""An image and a row of it, as the oracle names triplets."""

each_variant = pytest.mark.parametrize("name", ["paper", "released"])
seeds = st.none() | st.integers(0, 5)
"""None is the best case."""


@each_variant
@given(found=crowds(), seed=seeds, keep=st.booleans())
def test_agrees_on_small_scenes(name: Variant, found: list[ImageScene], seed: int | None, keep: bool) -> None:
    agree(found, name, seed, keep)


@each_variant
@pytest.mark.parametrize("seed", [None, 0, 1])
@pytest.mark.parametrize("decimals", [None, 1])
def test_agrees_on_many_images(name: Variant, seed: int | None, decimals: int | None) -> None:
    rng = np.random.default_rng(3)
    agree(random_scenes(rng, 12, n_predictions=60, decimals=decimals, open_words=True), name, seed, keep=False)


def agree(found: list[ImageScene], name: Variant, seed: int | None, keep: bool) -> None:
    # Raw numbers are compared, whatever they mean; as pixels, boxes without extent are valid too.
    task = task_of([replace(scene, prediction_coordinates=Coordinates.PIXELS_1) for scene in found], CLASSES)
    fast = diagnosis_of(task, name, seed, keep)
    images = diagnosed(found, CLASSES, name, keep)
    choose = greedy if seed is None else by_numbers(task.predictions, seed)

    assert types_by_place(fast) == error_types(images)
    assert matches_by_place(fast) == matches(images)
    assert missed_places(fast) == missed_truths(images, choose)
    assert fast.counts == counts(images, choose)
    before = oracle_map(images, CLASSES)
    assert_same(fast.means, before)
    for oracle in ORACLES:
        assert_same(fast.deltas[oracle], difference(oracle_map(images, CLASSES, oracle, choose), before))
    for step, expected in zip(fast.progression, progressive_maps(images, CLASSES, choose), strict=True):
        assert_same(step.means, expected)


def diagnosis_of(task: Task, name: Variant, seed: int | None = None, keep: bool = False) -> Diagnosis:
    """Diagnose a task as it is: ``diagnose`` would take words for labels that the oracle does not."""
    chosen = VARIANTS[name]
    strict = replace(chosen.strict, no_interaction="keep" if keep else "exclude")
    chosen, choice = replace(chosen, strict=strict), "greedy" if seed is None else "seeded"
    return Diagnosis(task=task, variant=chosen, choice=choice, seed=seed or 0, seeds=1)


def by_numbers(table: Interactions, seed: int) -> Choose:
    """The choice that shoe makes for a prediction: the seed's number of its row, modulo the candidates."""
    start: dict[str, int] = dict(zip(table.images, table.offsets.tolist(), strict=False))
    numbers: list[int] = random_numbers(seed, (len(table), 1))[:, 0].tolist()

    def choose(candidates: list[Candidate]) -> Candidate:
        row = start[candidates[0].image] + candidates[0].prediction
        return candidates[numbers[row] % len(candidates)]

    return choose


def place(table: Interactions, row: int) -> Place:
    image = int(table.image[row])
    return table.images[image], row - int(table.offsets[image])


def types_by_place(fast: Diagnosis) -> dict[Place, str]:
    rows = np.flatnonzero(fast.types >= 0).tolist()
    return {place(fast.task.predictions, row): ErrorType(fast.types[row]).label for row in rows}


def matches_by_place(fast: Diagnosis) -> dict[Place, int | None]:
    truth, predictions = fast.task.truth.interactions, fast.task.predictions
    rows = np.flatnonzero(fast.truth_status >= 0).tolist()
    found = fast.found_by.tolist()
    return {place(truth, row): None if found[row] < 0 else place(predictions, found[row])[1] for row in rows}


def missed_places(fast: Diagnosis) -> set[Place]:
    rows = np.flatnonzero(fast.truth_status == TruthStatus.MISSED).tolist()
    return {place(fast.task.truth.interactions, row) for row in rows}


def difference(after: MapFigures, before: MapFigures) -> MapFigures:
    def minus(a: float | None, b: float | None) -> float | None:
        return None if a is None or b is None else a - b

    return {
        "map": minus(after["map"], before["map"]),
        "map_rare": minus(after["map_rare"], before["map_rare"]),
        "map_non_rare": minus(after["map_non_rare"], before["map_non_rare"]),
        "ap": [],
    }


def assert_same(fast: Means, slow: MapFigures) -> None:
    assert all(map(close, fast, (slow["map"], slow["map_rare"], slow["map_non_rare"])))
