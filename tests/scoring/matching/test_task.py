"""A task's images, matched by name, and its overlaps, compared once and the same however they are asked for."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.arrays import Indices
from shoe.core.boxes import CommonCoordinates, Overlap, OverlapRule, iou
from shoe.core.interactions import Interactions
from shoe.scoring.matching.task import Boxes, Origin, Overlaps, Task
from tests.errors import input_error
from tests.oracles.model import to_tables
from tests.oracles.scenes import CLASSES, on_pair, predictions_of, random_scenes
from tests.scoring.compare import task_of

RULES = [OverlapRule(Overlap.CONTINUOUS, t, inclusive) for t in (0.0, 0.25, 0.5, 0.6) for inclusive in (True, False)]


def table(names: str) -> Interactions:
    return predictions_of({name: [on_pair()] for name in names.split()})


def task(predicted: str, truth: str) -> Task:
    whole = to_tables([], CLASSES)[0]
    return Task(table(predicted), replace(whole, interactions=table(truth)))


def test_names_without_folder_and_ending() -> None:
    found = task(r"b images/test/a.png c:\x\c.jpeg d.jpg", "a.jpg b.jpg c.jpg")
    assert (found.truth_image.tolist(), found.unknown_images) == ([1, 0, 2, -1], ("d.jpg",))
    assert task(".hidden", ".hidden.jpg").truth_image.tolist() == [0]  # a dotted name is no ending


def test_rows_of_each_image_of_the_truth() -> None:
    first, count = task("b x a", "a b c").image_rows
    assert (first.tolist(), count.tolist()) == ([2, 0, 0], [1, 1, 0])


@pytest.mark.slow
def test_classes_of_many_wordings_take_no_table_of_all_their_pairs() -> None:
    n = 100_000  # whose pairs would take 40 GB
    many = replace(table("a"), verbs=tuple(f"v{i}" for i in range(n)), objects=tuple(f"o{i}" for i in range(n)))
    assert replace(task("a", "a"), predictions=many).hoi.tolist() == [-1]


def test_two_names_of_one_image_are_refused() -> None:
    with input_error(source="predictions", field="image") as error:
        _ = task("a.jpg x/a.png", "a.jpg").truth_image
    assert "'a.jpg' and 'x/a.png'" in str(error.value)


def scene(seed: int) -> Task:
    return task_of(random_scenes(np.random.default_rng(seed), 4, 6))


def slowly(task: Task, rule: OverlapRule, *, either: bool) -> list[tuple[int, int, float, float]]:
    truth, ours = (Boxes(t, CommonCoordinates.EDGES) for t in (task.truth.interactions, task.predictions))
    t, p = np.nonzero(task.truth.interactions.image[:, None] == task.image)
    human = iou(truth.human(t), ours.human(p), rule.overlap)
    object_ = iou(truth.object(t), ours.object(p), rule.overlap)
    same = task.truth.interactions.object[t] == task.object_label[task.predictions.object[p]]
    both = rule.is_reached(np.minimum(human, object_))
    on = rule.is_reached(human) | (rule.is_reached(object_) & same) if either else both
    return list(zip(t[on].tolist(), p[on].tolist(), human[on].tolist(), object_[on].tolist(), strict=True))


def overlapping(task: Task, rule: OverlapRule, *, either: bool) -> Overlaps:
    if not either:
        return task.overlaps(CommonCoordinates.EDGES, rule)
    pairs, human, object_ = task.either_overlaps(CommonCoordinates.EDGES, rule)
    return pairs.select(human | object_)


def listed(pairs: Overlaps) -> list[tuple[int, int, float, float]]:
    columns = (pairs.truth, pairs.prediction, pairs.human, pairs.object)
    return list(zip(*(column.tolist() for column in columns), strict=True))


@given(st.integers(0, 1 << 32))
def test_overlaps_are_those_of_all_pairs_in_whatever_order_they_are_asked_for(seed: int) -> None:
    rng, asked = np.random.default_rng(seed), scene(seed)
    for number in rng.permutation(2 * len(RULES)).tolist():
        rule, either = RULES[number % len(RULES)], number >= len(RULES)
        found = overlapping(asked, rule, either=either)
        assert listed(found) == slowly(asked, rule, either=either)
        same = asked.hoi[found.prediction] == asked.truth.hoi[found.truth]
        exact = asked.exact_overlaps(CommonCoordinates.EDGES, rule)
        if not either:
            assert sorted(listed(exact)) == listed(found.select(same))


@given(st.integers(0, 1 << 32), st.booleans())
def test_a_changed_task_has_the_overlaps_of_one_of_its_own(seed: int, either: bool) -> None:
    rng, whole = np.random.default_rng(seed), scene(seed)
    kept, counted = (rng.random(n) < 0.7 for n in (len(whole.predictions), len(whole.truth.interactions)))
    predictions, truths = whole.predictions.select(kept), whole.truth.interactions.select(counted)
    origin: Indices = np.flatnonzero(kept)
    moved = np.flatnonzero(rng.random(len(origin)) < 0.3)
    origin[moved] = -1
    boxes = predictions.human_boxes.copy()
    boxes[moved] += 1.5
    predictions = replace(predictions, human_boxes=boxes)
    truth = replace(whole.truth, interactions=truths)
    derived = Task(predictions, truth, Origin(whole, origin, np.flatnonzero(counted), CommonCoordinates.EDGES))
    own = Task(predictions, truth)
    for rule in RULES:
        assert listed(overlapping(derived, rule, either=either)) == listed(overlapping(own, rule, either=either))
