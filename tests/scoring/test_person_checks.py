"""Checks of boxes, images, actions, scores and repeats in V-COCO's official files, which name no objects."""

import pickle
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoe
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.predictions import write_predictions
from shoe.scoring.evidence.facts import profile
from shoe.scoring.score import Report
from tests.errors import input_error
from tests.scoring.v_coco import ACTIONS

pytestmark = pytest.mark.real_data
PAIRS = [f"{ACTIONS.names[action]}_{role}" for action, role in ACTIONS.entries]
Record = dict[str, Any]
Scored = Callable[..., Report]


@pytest.fixture(scope="module")
def truth(shared_data: Path) -> GroundTruth:
    whole = read_truth_file(shared_data / "v_coco" / "vcoco_everything_test.txt.gz", "v-coco")
    return whole.within(whole.interactions.images[:160])


@pytest.fixture(scope="module")
def records(truth: GroundTruth) -> list[Record]:
    """Official records of a good model: annotated boxes with errors, and higher scores for annotated actions."""
    rng, found, roles = np.random.default_rng(0), list[Record](), truth.roles
    assert roles is not None
    for i, name in enumerate(truth.interactions.images):
        for p in range(roles.offsets[i], roles.offsets[i + 1]):
            score = np.clip(0.35 + 0.5 * (roles.labels[p] == 1) + rng.normal(0, 0.2, len(ACTIONS)), 0, 1).tolist()
            box = [float(v) for v in roles.person_boxes[p] + rng.normal(0, 5, 4)]
            record = {"image_id": int(name.partition(".")[0]), "person_box": box}
            record |= {f"{action}_agent": score[a] for a, action in enumerate(ACTIONS.names)}
            for entry, (key, (action, _)) in enumerate(zip(PAIRS, ACTIONS.entries, strict=True)):
                row = roles.role[p, entry]
                place = roles.boxes[row] + rng.normal(0, 5, 4) if row >= 0 else np.zeros(4)
                record[key] = [*(float(v) for v in place), score[action]]
            found.append(record)
    return found


def with_boxes(records: list[Record], change: Callable[[np.ndarray, int], np.ndarray]) -> list[Record]:
    """Return the records with each box, except boxes of zeros, changed by a function of the box and the image ID."""
    return [
        record
        | {
            key: [*map(float, change(np.array(record[key][:4]), record["image_id"])), *record[key][4:]]
            for key in ("person_box", *PAIRS)
            if any(record[key][:4])
        }
        for record in records
    ]


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory, truth: GroundTruth) -> Scored:
    path = tmp_path_factory.mktemp("scored") / "cache.pkl"

    def report_of(records: list[Record], **options: Any) -> Report:
        path.write_bytes(pickle.dumps(records))
        return shoe.score(shoe.read_predictions(path, dataset="v-coco", truth=truth, **options), truth)

    return report_of


@pytest.fixture(scope="module")
def right(scored: Scored, records: list[Record]) -> list[float | None]:
    return maps(scored(records))


def warned(report: Report, what: str) -> list[str]:
    return [line for line in report.warnings if line.startswith(what)]


def maps(report: Report) -> list[float | None]:
    return [each.map for each in report.role_results]


CONVENTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "xywh": lambda box, _: np.array([*box[:2], *(box[2:] - box[:2])]),
    "unit": lambda box, size: box / np.tile(size, 2),
    "resized:shorter=800": lambda box, size: box * 800 / size.min(),
}


@pytest.mark.parametrize("convention", CONVENTIONS)
def test_another_box_convention_is_reported_and_can_be_set(
    scored: Scored, truth: GroundTruth, records: list[Record], right: list[float | None], convention: str
) -> None:
    names = [int(name.partition(".")[0]) for name in truth.interactions.images]
    sizes = dict(zip(names, truth.interactions.sizes.astype(float), strict=True))
    other = with_boxes(records, lambda box, image: CONVENTIONS[convention](box, sizes[image]))
    lines = warned(scored(other), "boxes:")
    assert lines
    assert all(f"--boxes {convention} (" in line for line in lines)
    repaired = scored(other, boxes=convention)
    assert warned(repaired, "boxes:") == []
    assert maps(repaired) == pytest.approx(right)


def test_nothing_is_said_of_right_files(scored: Scored, records: list[Record]) -> None:
    for noise in (0, 20, 80):
        rng = np.random.default_rng(noise)
        noisy = with_boxes(records, lambda box, _: np.sort((box + rng.normal(0, noise, 4)).reshape(2, 2), 0).ravel())  # noqa: B023
        assert scored(noisy).warnings == []


def test_inverted_scores_are_reported(scored: Scored, records: list[Record], right: list[float | None]) -> None:
    def inverted(record: Record) -> Record:
        agents = {key: 1 - value for key, value in record.items() if key.endswith("_agent")}
        return record | agents | {key: [*record[key][:4], 1 - record[key][4]] for key in PAIRS}

    report = scored([inverted(record) for record in records])
    (line,) = warned(report, "scores:")
    name = report.role_results[0].options.protocol
    before, after = (f"{100 * (mean or 0):.2f}" for mean in (right[0], maps(report)[0]))
    assert "(AUC 0.0" in line
    assert line.endswith(f"({name} mAP {before} instead of {after})")


def test_shifted_actions_repeats_and_unread_keys(scored: Scored, records: list[Record]) -> None:
    shifted = [record | {key: record[PAIRS[i - 1]] for i, key in enumerate(PAIRS)} for record in records]
    (line,) = warned(scored(shifted), "class IDs:")
    assert "verbs" in line
    assert profile(scored([*records, *records[:50]])).repeats == 50
    moved = next(record for record in records if any(record["hold_obj"][:4]))
    moved = moved | {"hold_obj": [0.0, 0.0, 9.0, 9.0, moved["hold_obj"][4]]}  # not the first record's box
    assert scored([*records, moved, moved]).repeats == 1
    extra = scored([record | {"hold_object": record["hold_obj"]} for record in records])
    assert extra.notes is not None
    assert list(extra.notes.unread) == ["hold_object"]


def test_exchanged_roles_and_equal_scores_are_reported(scored: Scored, records: list[Record]) -> None:
    other = {
        f"{name}_{role}": f"{name}_{end}"
        for name, *roles in (("hit", "obj", "instr"), ("eat", "obj", "instr"), ("cut", "obj", "instr"))
        for role, end in (roles, roles[::-1])
    }
    assert warned(scored(records), "roles:") == []
    (line,) = warned(scored([record | {key: record[other[key]] for key in other} for record in records]), "roles:")
    assert "mean AP of hit, eat, cut would be" in line
    equal = scored([record | {f"{name}_agent": 0.5 for name in ACTIONS.names} for record in records])
    assert [line for line in equal.doubts if "all agent scores are equal" in line]
    level = scored([record | {key: [*record[key][:4], 0.5] for key in PAIRS} for record in records])
    assert [line for line in level.doubts if "all role scores are equal" in line]


def test_exchanged_boxes_can_be_read_with_one_role_box_per_person(scored: Scored, records: list[Record]) -> None:
    def pairs_of(record: Record) -> list[Record]:
        placed = [key for key in PAIRS if any(record[key][:4])]
        empty = {key: [0.0] * 5 for key in PAIRS}
        return [record | empty | {key: record[key]} for key in placed]

    pairs = [pair for record in records for pair in pairs_of(record)]
    keys = [next(key for key in PAIRS if any(pair[key][:4])) for pair in pairs]
    exchanged = [
        pair | {"person_box": pair[key][:4], key: [*pair["person_box"], pair[key][4]]}
        for pair, key in zip(pairs, keys, strict=True)
    ]
    (line,) = warned(scored(exchanged), "boxes:")
    assert "--boxes swapped" in line
    assert maps(scored(exchanged, boxes="swapped")) == maps(scored(pairs))
    with input_error() as error:
        scored(records, boxes="swapped")
    assert "one object box" in str(error.value)
    assert str(error.value.record).startswith("image ")


def test_predictions_on_unknown_images_are_counted(scored: Scored, records: list[Record]) -> None:
    moved = [record | {"image_id": 1} if i < 7 else record for i, record in enumerate(records)]
    (line,) = warned(scored(moved), "images ")
    assert re.findall(r"(\d+) (?:not in|predictions)", line) == ["1", "7"]


def test_boxes_of_numbered_triplets_are_converted_for_both_metrics(truth: GroundTruth, tmp_path: Path) -> None:
    """Class IDs of a file in QPIC's layout give triplets, and predictions by person."""
    table = replace(truth.interactions, roles=None)
    human, thing = (np.column_stack([b[:, :2], b[:, 2:] - b[:, :2]]) for b in (table.human_boxes, table.object_boxes))
    found = []
    for name, written in (("xyxy", table), ("xywh", replace(table, human_boxes=human, object_boxes=thing))):
        path = tmp_path / f"{name}.json"
        write_predictions(written, path, "qpic", "v-coco")
        found.append(maps(shoe.score(shoe.read_predictions(path, dataset="v-coco", boxes=name), truth)))
    assert (found[0][0] or 0) > 0.5
    assert found[0] == found[1]
