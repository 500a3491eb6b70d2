"""SWIG-HOI's protocols against slow literal evaluators, on made annotations in its form."""

import json
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe import read_ground_truth, read_predictions, score
from shoe.benchmarks import benchmark
from shoe.core.errors import InputWarning
from shoe.diagnosis.protocol_differences import differences
from shoe.scoring.matching.task import Task
from tests.oracles.swig import evaluate

SWIG = benchmark("swig-hoi")
CLASSES = SWIG.classes
KINDS = np.select([~CLASSES.scored, CLASSES.unseen, CLASSES.rare], ["unscored", "unseen", "rare"], "").tolist()
ACTIONS = {verb: number for number, verb in enumerate(SWIG.verb_names or ())}
OBJECTS = {name: number for number, name in SWIG.object_ids.items()}
FEW = [int(np.flatnonzero(mask)[0]) for mask in (CLASSES.unseen, CLASSES.rare, CLASSES.non_rare, ~CLASSES.scored)]
UNSEEN, RARE, COMMON, TRAINING_ONLY = FEW
BOXES = [(10, 10, 60, 90), (12, 10, 60, 92), (10, 50, 60, 130), (200, 20, 260, 80), (202, 24, 266, 80)]
ON = (BOXES[0], BOXES[3])
"""Boxes of a person and of a thing."""

Triplet = tuple[int, Any, Any]


def annotations(truth: dict[str, list[Triplet]]) -> list[dict[str, Any]]:
    images = []
    for number, (name, triplets) in enumerate(truth.items()):
        boxes, hois = [], []
        for hoi, human, target in triplets:
            verb, name_of = CLASSES.verbs[CLASSES.verb[hoi]], CLASSES.objects[CLASSES.object[hoi]]
            boxes += [{"bbox": list(human), "category_id": 0, "aux_category_id": []}]
            boxes += [{"bbox": list(target), "category_id": OBJECTS[name_of], "aux_category_id": [7]}]
            hois.append({"subject_id": len(boxes) - 2, "object_id": len(boxes) - 1, "action_id": ACTIONS[verb]})
        about = {"file_name": name, "img_id": 100 + number, "height": 512, "width": 681}
        images.append({**about, "box_annotations": boxes, "hoi_annotations": hois})
    return images


def scored(folder: Path, truth: dict[str, list[Triplet]], predictions: dict[str, list[Any]]) -> dict[str, Any]:
    """Both protocols' means as the command would give them, predictions naming images by number."""
    (folder / "swig_test_1000.json").write_text(json.dumps(annotations(truth)))
    number = {name: 100 + place for place, name in enumerate(truth)}
    rows = {number[name]: [[c, s, *h, *o] for c, s, h, o in of] for name, of in predictions.items()}
    (folder / "preds.json").write_text(json.dumps(rows))
    read = read_ground_truth(folder / "swig_test_1000.json", "swig-hoi")
    table = read_predictions(folder / "preds.json", dataset="swig-hoi")
    found = score(table, read, protocols=["swig-hoi", "choir"])
    return {
        each.options.protocol: {"full": each.map, "rare": each.map_rare, "non-rare": each.map_non_rare}
        | {part: each.parts[part].map for part in ("unseen", "seen")}
        for each in found.strict_results
    }


def test_an_example_by_hand(tmp_path: Path) -> None:
    truth: dict[str, list[Triplet]] = {"a.jpg": [(UNSEEN, *ON), (COMMON, *ON)], "b.jpg": [(COMMON, *ON)]}
    elsewhere = (COMMON, 0.8, BOXES[0], (400, 20, 460, 80))
    predictions = {
        "a.jpg": [(UNSEEN, 0.9, *ON), elsewhere, (RARE, 0.9, *ON)],
        "b.jpg": [(COMMON, 0.7, *ON), (TRAINING_ONLY, 1.0, *ON)],
    }
    found = scored(tmp_path, truth, predictions)
    # Unseen class: found, 1. Common class: a false positive above the one hit of two, so that precision is 1/2 up to a
    # recall of 1/2: at 0, 0.1 .. 0.5 of 11 recalls. The rare class has no ground truth, as all others: 0.
    common_ap = 6 / 11 * 0.5
    assert found["swig-hoi"]["full"] == pytest.approx((1 + common_ap) / 5_539)
    assert found["choir"]["full"] == pytest.approx(common_ap / 4_148)
    for means in found.values():
        parts = means["unseen"], means["non-rare"], means["rare"]
        assert parts == pytest.approx((1 / 1_391, common_ap / 1_307, 0))


def test_choir_sees_2_000_predictions_of_an_image_and_classes_that_are_not_scored_take_their_place(
    tmp_path: Path,
) -> None:
    crowd = [(TRAINING_ONLY, 0.9, *ON)] * 2_000
    found = scored(tmp_path, {"a.jpg": [(COMMON, *ON)]}, {"a.jpg": [*crowd, (COMMON, 0.5, *ON)]})
    assert (found["choir"]["non-rare"], found["swig-hoi"]["non-rare"]) == (0, pytest.approx(1 / 1_307))


def test_what_sets_the_two_apart_is_who_is_in_the_mean(tmp_path: Path) -> None:
    scored(tmp_path, {"a.jpg": [(COMMON, *ON)]}, {"a.jpg": [(COMMON, 0.5, *ON)]})
    read = read_ground_truth(tmp_path / "swig_test_1000.json", "swig-hoi")
    task = Task(read_predictions(tmp_path / "preds.json", dataset="swig-hoi"), read)
    (found,) = differences(task, [SWIG.protocols["swig-hoi"], SWIG.protocols["choir"]])
    rules = [(switch.name, switch.before, switch.after) for switch in found.rules]
    assert rules == [("strict.unseen", "count", "apart"), ("strict.cap", "none", "2000")]
    assert [switch.map for switch in found.rules] == pytest.approx([1 / 4_148 - 1 / 5_539, 0])


def drawn(seed: int) -> tuple[dict[str, list[Triplet]], dict[str, list[Any]]]:
    """A few images with few classes and boxes, so that much overlaps and ties."""
    rng = np.random.default_rng(seed)

    def box() -> tuple[float, ...]:
        return tuple((np.array(BOXES[rng.integers(len(BOXES))]) + rng.integers(0, 9, 4) * rng.integers(0, 2)).tolist())

    def rows(most: int, *score: Any) -> list[Any]:
        return [(int(rng.choice(FEW)), *(s() for s in score), box(), box()) for _ in range(rng.integers(0, most))]

    names = [f"wrapping_{number}.jpg" for number in range(rng.integers(1, 4))]
    truth = {name: rows(5) for name in names}
    return truth, {name: rows(12, lambda: float(rng.integers(1, 5) / 4)) for name in names}


def test_few_images_take_little_memory(tmp_path: Path) -> None:
    """A table of all pairs of the 14,130 interactions would take 1.6 GB, and ten seconds, for each file."""
    names = [f"wrapping_{number}.jpg" for number in range(30)]
    truth: dict[str, list[Triplet]] = {name: [(FEW[n % 3], *ON)] for n, name in enumerate(names)}
    predictions = {name: [((RARE, UNSEEN, COMMON)[n % 3], 0.5, *ON)] for n, name in enumerate(names)}
    scored(tmp_path, truth, predictions)  # what is loaded once is loaded
    tracemalloc.start()
    with pytest.warns(InputWarning, match="exchanged"):
        scored(tmp_path, truth, predictions)
    assert tracemalloc.get_traced_memory()[1] < 1e8
    tracemalloc.stop()


def check(folder: Path, seed: int) -> None:
    truth, predictions = drawn(seed)
    for protocol, figures in scored(folder, truth, predictions).items():
        expected = evaluate(predictions, truth, KINDS, protocol)
        assert {part: figures[part] for part in expected} == pytest.approx(expected, abs=1e-12), protocol


def test_protocols_are_the_evaluators(tmp_path: Path) -> None:
    check(tmp_path, 1)


@pytest.mark.slow
@given(st.integers(0, 1 << 32))
def test_protocols_are_the_evaluators_for_any_scene(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    check(tmp_path_factory.mktemp("swig"), seed)
