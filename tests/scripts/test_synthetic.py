"""Synthetic predictions: fixed by their seed, valid, and as good and as bad as they are meant to be."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import synthetic

from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.benchmarks.truth import GroundTruth
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from shoe.scoring.matching.task import Task
from shoe.scoring.strict import strict_score

PER_IMAGE = 50


@pytest.fixture(scope="module")
def detected(sample: GroundTruth) -> Interactions:
    return synthetic.detector(sample, np.random.default_rng(7), PER_IMAGE)


@pytest.fixture(scope="module")
def records(sample: GroundTruth) -> list[synthetic.Record]:
    return synthetic.vlm(sample, np.random.default_rng(7))


def test_equal_seeds_give_equal_predictions_and_others_do_not(
    sample: GroundTruth, detected: Interactions, records: list[synthetic.Record]
) -> None:
    assert detected.equals(synthetic.detector(sample, np.random.default_rng(7), PER_IMAGE))
    assert records == synthetic.vlm(sample, np.random.default_rng(7))
    assert not detected.equals(synthetic.detector(sample, np.random.default_rng(8), PER_IMAGE))
    assert records != synthetic.vlm(sample, np.random.default_rng(8))


def test_every_image_gets_triplets_of_classes_with_boxes_inside(sample: GroundTruth, detected: Interactions) -> None:
    assert detected.images == sample.interactions.images
    assert (np.diff(detected.offsets) == PER_IMAGE).all()
    scores = detected.score.reshape(-1, PER_IMAGE)
    assert (np.diff(scores, axis=1) <= 0).all()
    assert scores.min() > 0
    assert scores.max() < 1
    assert (sample.classes.of[detected.verb, detected.object] >= 0).all()
    assert (detected.coordinates == Coordinates.CONTINUOUS).all()
    sizes = detected.sizes[detected.image]
    for boxes in (detected.human_boxes, detected.object_boxes):
        assert (boxes >= 0).all()
        assert (boxes[:, 2:] <= sizes).all()
        assert (boxes[:, 2:] - boxes[:, :2] > 1.9).all()
    # Triplets of an image share a pool of boxes.
    for boxes in (detected.human_boxes, detected.object_boxes):
        for of_image in np.split(boxes, detected.offsets[1:-1]):
            assert len(np.unique(of_image, axis=0)) <= synthetic.POOL


def test_the_detector_is_about_as_good_as_one_and_needs_no_truth(sample: GroundTruth, detected: Interactions) -> None:
    result = strict_score(Task(detected, sample), STRICT["upt"])
    assert result.map is not None
    assert 0.5 < result.map < 0.9  # few images a class flatter; the whole test set gives about a third
    shuffled = replace(detected, score=np.random.default_rng(0).permutation(detected.score))
    by_chance = strict_score(Task(shuffled, sample), STRICT["upt"])
    assert by_chance.map is not None
    assert by_chance.map < 0.7 * result.map
    # Ground truth without a triplet still gets predictions.
    empty = replace(sample, interactions=sample.interactions.select(np.zeros(len(sample.interactions), bool)))
    assert len(synthetic.detector(empty, np.random.default_rng(0), 10)) == 10 * len(empty.interactions.images)
    assert len(synthetic.vlm(empty, np.random.default_rng(0))) > 0


def test_free_text_has_both_forms_and_seldom_a_score(sample: GroundTruth, records: list[synthetic.Record]) -> None:
    forms = Counter("phrase" if "phrase" in record else "words" for record in records)
    assert min(forms.values()) > len(records) // 4
    assert 1 <= max(Counter(record["image"] for record in records).values()) <= 10
    assert {record["image"] for record in records} < set(sample.interactions.images)
    scored = [record["score"] for record in records if "score" in record]
    assert 0 < len(scored) < len(records) // 2
    assert set(scored) <= {0.7, 0.8, 0.9, 0.95, 1.0}
    words = {record["verb"] for record in records if "verb" in record}
    labels = {*sample.classes.verbs, *sample.classes.gerunds}
    assert words & labels
    assert len(words - labels) > 20
    # Boxes are whole numbers in their image.
    sizes = dict(zip(sample.interactions.images, sample.interactions.sizes.tolist(), strict=True))
    for record in records:
        width, height = sizes[record["image"]]
        for x1, y1, x2, y2 in (record["human_box"], record["object_box"]):
            assert all(isinstance(x, int) for x in (x1, y1, x2, y2))
            assert 0 <= x1 < x2 <= width
            assert 0 <= y1 < y2 <= height


def test_every_label_has_paraphrases_of_every_kind(sample: GroundTruth) -> None:
    expected = {("verb", verb) for verb in sample.classes.verbs} | {("object", o) for o in sample.classes.objects}
    assert set(synthetic.paraphrases()) == expected
    for kinds in synthetic.paraphrases().values():
        for phrases in kinds.values():
            assert phrases
            assert all(re.fullmatch(r"[A-Za-z][A-Za-z' -]*", phrase) for phrase in phrases)
