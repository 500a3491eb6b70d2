"""Differences between protocols, by rule; annotations that repeat another, and false positives; by hand and slowly."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import benchmark
from shoe.benchmarks.base import ImageLabel
from shoe.benchmarks.hico_det import PROTOCOLS
from shoe.benchmarks.scoring_options import StrictOptions
from shoe.diagnosis.protocol_differences import count_mixtures, differences, false_positives, near_duplicates, shapley
from shoe.scoring.matching.task import Task
from shoe.scoring.strict import strict_score
from tests.oracles.model import ImageScene, Triplet, to_tables
from tests.oracles.scenes import random_scenes, small_classes
from tests.scoring import compare


@pytest.fixture(scope="module")
def task() -> Task:
    return compare.task_of(random_scenes(np.random.default_rng(3), 25, n_predictions=120, decimals=1), small_classes())


def slow_shares(task: Task, before: StrictOptions, after: StrictOptions, rules: list[str]) -> dict[str, float]:
    """The mean gain of each rule over all orders in which they can be switched."""
    total = dict.fromkeys(rules, 0.0)
    orders = list(permutations(rules))
    for order in orders:
        options = before
        for rule in order:
            switched = replace(options, **{rule: getattr(after, rule)})
            total[rule] += (strict_score(task, switched).map or 0) - (strict_score(task, options).map or 0)
            options = switched
    return {rule: gain / len(orders) for rule, gain in total.items()}


@pytest.mark.parametrize(
    ("first", "second", "rules"),
    [
        ("ppdm", "qpic", "coordinates cap empty_images"),
        pytest.param("gen-vlkt", "hico-det", "coordinates overlap ap cap cap_ties", marks=pytest.mark.slow),
    ],
)
def test_shares_are_means_over_all_orders(task: Task, first: str, second: str, rules: str) -> None:
    before, after = PROTOCOLS[first], PROTOCOLS[second]
    (found,) = differences(task, [before, after])
    slow = slow_shares(task, before, after, rules.split())
    expected = {f"strict.{rule.replace('_', '-')}": share for rule, share in slow.items()}
    assert {s.name: s.map for s in found.rules} == pytest.approx(expected, abs=1e-12)
    assert any(slow.values())


@pytest.mark.parametrize("name", ["qpic", "thid", "diag"])
def test_shares_sum_to_the_difference_of_the_protocols(task: Task, name: str) -> None:
    before, after = PROTOCOLS["hico-det"], PROTOCOLS[name]
    (found,) = differences(task, [before, after])
    scored = [strict_score(task, options) for options in (before, after)]
    for figure in ("map", "map_rare", "map_non_rare"):
        by = getattr(scored[1], figure) - getattr(scored[0], figure)
        assert getattr(found, figure) == pytest.approx(by, abs=1e-12)
        assert sum(getattr(s, figure) for s in found.rules) == pytest.approx(by, abs=1e-12)
    gains = dict(zip(task.truth.classes.labels, np.nan_to_num(scored[1].ap - scored[0].ap).tolist(), strict=True))
    moved = {label: gain for label, gain in gains.items() if abs(gain) > 1e-12}
    assert moved
    assert {each.name: sum(each.rules.values()) for each in found.classes} == pytest.approx(moved, abs=1e-10)


def test_what_is_scored_is_what_was_said(task: Task) -> None:
    protocols = [PROTOCOLS[name] for name in ("hico-det", "qpic", "ppdm")]
    seen: list[StrictOptions] = []

    def watch(wanted: Sequence[StrictOptions]) -> Sequence[StrictOptions]:
        seen.extend(wanted)
        return wanted

    differences(task, protocols, watch)
    assert len(seen) == count_mixtures(protocols) == 32  # those of ppdm are among qpic's


@given(st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_shapley_values_sum_and_ignore_what_never_matters(number: int, seed: int) -> None:
    values = np.random.default_rng(seed).normal(size=(2**number, 3))
    assert shapley(values).sum(axis=0) == pytest.approx(values[-1] - values[0])
    with_idle = np.concatenate([values, values])  # the last switch changes nothing
    assert shapley(with_idle) == pytest.approx(np.vstack([shapley(values), np.zeros((1, 3))]))


HICO_DET = benchmark("hico-det")
UPT = HICO_DET.protocols["upt"]


def triplet(left: float, score: float = 1.0, verb: str = "ride") -> Triplet:
    """A person and a horse 100 pixels wide, so many pixels to the right."""
    return Triplet((0.0, 0.0, 100.0, 100.0), (left, 0.0, left + 100, 100.0), verb, "horse", score)


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
