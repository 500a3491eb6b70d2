"""What the annotation does to figures: what it has twice, and what nobody looked at; by hand."""

from dataclasses import replace

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.base import ImageLabel
from shoe.diagnosis.protocol_differences import false_positives, near_duplicates
from shoe.scoring.matching.task import Task
from shoe.scoring.strict import strict_score
from tests.oracles.model import ImageScene, to_tables
from tests.scoring.test_true_positives import triplet

HICO_DET = benchmark("hico-det")
UPT = HICO_DET.protocols["upt"]


def task_of(*scenes: ImageScene) -> Task:
    truth, predictions = to_tables(list(scenes), HICO_DET.classes)
    return Task(predictions, truth)


def test_near_duplicates_of_a_class_are_merged_on_the_mean_of_their_boxes() -> None:
    # IoU of the objects 98/102 and, of two labels, 1: three boxes of two annotations of ride and one of feed.
    scene = ImageScene("a.jpg", [triplet(0), triplet(2), triplet(2, verb="feed")], [triplet(1, 0.9)])
    found = {each.threshold: each for each in near_duplicates(task_of(scene), [UPT])}
    assert [(f.humans, f.objects, f.triplets, f.images, f.classes) for f in found.values()] == [(0, 1, 1, 1, 1)] * 3
    before = 0.5 * 6 / 11  # one of two rides is found; recall 1/2 reaches 6 of 11 points; feed is missed
    assert strict_score(task_of(scene), UPT).map == pytest.approx(before)
    assert found[0.9].protocols["upt"].map == pytest.approx(0.5)


def test_chains_count_as_one_group_from_a_threshold_on() -> None:
    # Neighbours overlap by 60/140, 70/130 and 80/120: only the last reaches 0.6, the last two 0.5.
    scene = ImageScene("a.jpg", [triplet(left) for left in (0, 40, 70, 90)], [triplet(0)])
    assert [each.triplets for each in near_duplicates(task_of(scene), [UPT])] == [0, 0, 2]


def test_false_positives_are_told_apart_by_what_annotators_said() -> None:
    ride = HICO_DET.classes.labels.index("ride horse")
    names = ("YES", "NO", "PERHAPS", "UNKNOWN")
    scenes = [ImageScene(f"{n}.jpg", [triplet(0)] if n == "YES" else [], [triplet(300, 0.9)]) for n in names]
    scenes[0].predictions.append(triplet(0, 0.1))
    task = task_of(*scenes)
    labels = np.full((600, 4), ImageLabel.UNKNOWN, np.int8)
    labels[ride] = [ImageLabel[n] for n in names]
    labelled = Task(task.predictions, replace(task.truth, image_labels=labels))
    upt = replace(UPT, empty_images="count")
    found = false_positives(labelled, [upt])["upt"]
    assert found.all.to_dict() == {"in_image": 1, "verified_wrong": 1, "ambiguous": 1, "never_verified": 1}
    assert sum(found.top.to_dict().values()) == 1  # as many as there are ground truths
    maps = [each.map for each in (strict_score(labelled, upt), found.without_unknown, found.verified_only)]
    assert maps == pytest.approx([1 / 5, 1 / 4, 1 / 3])
    assert false_positives(task, [UPT]) == {}
