"""Each point of a curve is what the slow twin says of a file that holds only what is left."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Mask
from shoe.core.documents import as_base_class
from shoe.core.interactions import Interactions
from shoe.diagnosis import localisation
from shoe.diagnosis.diagnose import diagnose
from shoe.diagnosis.localisation import PairFigures, PairRules, Sweep, SweepPoint, localise, nms_sweep, score_sweep
from shoe.predictions.pair_predictions import Pairs, pairs_of
from shoe.scoring.entries import Means
from shoe.scoring.matching.repeats import pair_nms
from shoe.scoring.strict import strict_score
from tests.diagnosis.test_against_oracle import assert_same, diagnosis_of, each_variant
from tests.diagnosis.test_localisation import CLASSES, RULES, known, moved_copies, tables
from tests.errors import input_error
from tests.oracles.crowds import crowds
from tests.oracles.diagnosis import Variant, diagnosed
from tests.oracles.diagnosis_map import oracle_map
from tests.oracles.diagnosis_pairs import pair_localisation
from tests.oracles.model import ImageScene, Triplet
from tests.oracles.scenes import random_scenes
from tests.oracles.test_diagnosis import H2, NOWHERE, O1, O2, image
from tests.oracles.test_diagnosis_pairs import BESIDE, RIDE
from tests.scoring.compare import close, task_of

OVERLAPS = (1.0, 0.75, 0.5, 0.3, 0.0)
SCORES = (0.0, 0.25, 0.5, 0.9, 2.0)


def means_of(point: SweepPoint) -> Means:
    return Means(point.map, point.map_rare, point.map_non_rare)


def left_of(scenes: list[ImageScene], table: Interactions, kept: Mask) -> list[ImageScene]:
    left = {name: kept[slice(*table.offsets[i : i + 2])] for i, name in enumerate(table.images)}
    rows = [zip(s.predictions, left.get(s.name, []), strict=True) for s in scenes]
    return [replace(s, predictions=[p for p, k in row if k]) for s, row in zip(scenes, rows, strict=True)]


def agree(scenes: list[ImageScene], sweep: Sweep, kept: Sequence[Mask], rules: PairRules, name: Variant) -> None:
    _, table = tables(scenes)
    for point, mask in zip(sweep.points, kept, strict=True):
        left = left_of(scenes, table, mask)
        slow = pair_localisation(left, None, **asdict(rules))
        fast = structs.asdict(as_base_class(point, PairFigures))
        assert {field: fast[field] for field in slow} == slow
        assert_same(means_of(point), oracle_map(diagnosed(left, CLASSES, name), CLASSES))


def check(scenes: list[ImageScene], rules: PairRules, name: Variant) -> None:
    scenes = known(scenes)
    task = task_of(scenes, CLASSES)
    table = task.predictions
    diagnosis = diagnosis_of(task, name)
    localised = localise(pairs_of(table), task.truth, rules)
    rows = np.arange(len(table))
    by_overlap = [np.isin(rows, pair_nms(table, rows, t)) for t in OVERLAPS]
    agree(scenes, nms_sweep(localised, OVERLAPS, diagnosis), by_overlap, rules, name)
    by_score = score_sweep(localised, SCORES, diagnosis)
    assert by_score.by == "score"
    agree(scenes, by_score, [table.score >= t for t in SCORES], rules, name)


@each_variant
@given(crowds(), RULES)
def test_small(name: Variant, scenes: list[ImageScene], rules: PairRules) -> None:
    check(scenes, rules, name)


@each_variant
def test_many(name: Variant) -> None:
    check(random_scenes(np.random.default_rng(8), 15, n_predictions=60, decimals=1, open_words=True), PairRules(), name)


@given(crowds(), RULES, st.integers(0, 2**16))
def test_pairs_of_a_file_take_triplets_along(scenes: list[ImageScene], rules: PairRules, seed: int) -> None:
    scenes = known(scenes)
    task = task_of(scenes, CLASSES)
    own = pairs_of(task.predictions)
    assert own.of_triplet is not None
    score = np.random.default_rng(seed).choice([0.25, 0.5, 0.75], len(own.table))
    pairs = Pairs(replace(own.table, score=score), detected=True)
    localised = localise(pairs, task.truth, rules)
    diagnosis = diagnosis_of(task, "paper")

    sweep = score_sweep(localised, (0.0, 0.5, 0.75, 1.0), diagnosis)
    assert sweep.by == "detection"
    kept = [(score >= point.threshold)[own.of_triplet] for point in sweep.points]
    agree(scenes, sweep, kept, rules, "paper")

    by_overlap = nms_sweep(localised, OVERLAPS, diagnosis)
    for point in by_overlap.points:
        rows = np.arange(len(task.predictions))
        stay = np.isin(rows, pair_nms(task.predictions, rows, point.threshold))
        assert_same(means_of(point), oracle_map(diagnosed(left_of(scenes, task.predictions, stay), CLASSES), CLASSES))
        pair_rows = pair_nms(pairs.table, np.arange(len(score)), point.threshold)
        alone = Pairs(pairs.table.select(pair_rows))
        assert as_base_class(point, PairFigures) == localisation.pair_figures(localise(alone, task.truth, rules))


def test_a_worked_curve() -> None:
    """A pair, a nearly equal one that is less sure, and one elsewhere that is hardly sure."""
    truth_of = [RIDE, Triplet(H2, O2, "hold", "horse")]
    near, far = Triplet(BESIDE, O1, "ride", "horse", 0.6), Triplet(H2, NOWHERE, "ride", "horse", 0.1)
    truth, predictions = tables([image(truth_of, [replace(RIDE, score=0.8), near, far])])
    localised = localise(pairs_of(predictions), truth)
    found = [(p.per_image, p.recall, p.precision, p.map) for p in nms_sweep(localised, (1, 0.5)).points]
    assert found == [(3, 1 / 2, 1 / 3, None), (2, 1 / 2, 1 / 2, None)]
    points = score_sweep(localised, (0, 0.5, 0.7, 0.9), diagnose(predictions, truth)).points
    by_score = [(3, 1 / 3, 1 / 2), (2, 1 / 2, 1 / 2), (1, 1, 1 / 2), (0, None, 0)]
    assert [(p.per_image, p.precision, p.map) for p in points] == by_score


def test_what_cannot_be_swept_is_refused() -> None:
    truth, predictions = tables([image([RIDE], [RIDE, Triplet(BESIDE, O1, "hold", "horse")])])
    localised = localise(pairs_of(predictions), truth)
    bare = Pairs(localised.pairs.table)
    assert [each.by for each in localisation.sweeps(localise(bare, truth), None)] == ["nms"]
    first = Pairs(bare.table.select(np.array([0])), detected=True)
    with input_error(record="image 'a.jpg': triplet 2"):
        score_sweep(localise(first, truth), (0.5,), diagnose(predictions, truth))


@pytest.mark.real_data
def test_on_real_truth(hico_det: GroundTruth) -> None:
    """mAP of a curve is that of a protocol with the same NMS; without thinning it is the diagnosis's own."""
    truth = replace(hico_det, interactions=hico_det.interactions.select_images(np.arange(400)))
    predictions = moved_copies(truth.interactions, 4)
    diagnosis = diagnose(predictions, truth, variant="released")
    localised = localise(pairs_of(predictions), truth)
    by_overlap = nms_sweep(localised, localisation.NMS_THRESHOLDS, diagnosis)
    by_score = score_sweep(localised, localisation.SCORE_THRESHOLDS, diagnosis)
    firsts = [as_base_class(sweep.points[0], PairFigures) for sweep in (by_overlap, by_score)]
    assert firsts == [localisation.pair_figures(localised)] * 2
    assert means_of(by_overlap.points[0]) == means_of(by_score.points[0]) == diagnosis.means
    for point in by_overlap.points:
        strict = strict_score(diagnosis.task, replace(STRICT["diag"], nms=point.threshold))
        assert close(point.map, strict.map)
    for points in (by_overlap.points, by_score.points):
        numbers = [point.predictions for point in points]
        assert numbers == sorted(numbers, reverse=True)
        assert numbers[-1] < 0.8 * numbers[0]
