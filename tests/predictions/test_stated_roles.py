"""Verbs that state a role, as V-COCO's annotation files write them, are read as the action with this role."""

from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.core.interactions import Interactions
from shoe.predictions import ReadNotes, read_predictions_with_notes, write_predictions
from shoe.predictions.roles import count_lost
from tests.cli import run as cli
from tests.predictions.reading import codes, read_lines, write_lines
from tests.present import present

ACTIONS = benchmark("v-coco").actions
BOXES = {"human_box": [1, 2, 30, 40], "object_box": [5, 6, 70, 80], "image": "000000000328.jpg", "score": 0.5}


def read(
    folder: Path, pairs: list[tuple[str, str]], dataset: str = "v-coco", step: int = 0
) -> tuple[Interactions, ReadNotes]:
    """Read answers of these verbs and objects, whose object boxes are so many pixels apart."""
    items = [
        BOXES | {"verb": verb, "object": name, "object_box": [5 + step * i, 6, 70, 80]}
        for i, (verb, name) in enumerate(pairs)
    ]
    return read_lines(folder, *items, dataset=dataset)


@pytest.mark.parametrize("written", ["{action} {role}", "{action}_{role}", "{action}-{role}"])
def test_each_entry_is_read_with_its_role(tmp_path: Path, written: str) -> None:
    names = [(ACTIONS.names[action], role) for action, role in ACTIONS.entries]
    table, notes = read(tmp_path, [(written.format(action=action, role=role), "book") for action, role in names])
    assert [table.verbs[i] for i in table.verb] == [action for action, _ in names]
    assert present(table.roles).score.tolist() == [[0.5] * len(names)]
    assert set(np.flatnonzero(~np.isnan(present(table.roles).agent[0]))) == {action for action, _ in ACTIONS.entries}
    assert ("roles" in codes(notes), notes.count("roles")) == (True, len(names))


def test_a_verb_without_role_takes_that_of_its_object(tmp_path: Path) -> None:
    table, _ = read(tmp_path, [(verb, "knife") for verb in ("hold obj", "cut", "sleep")])
    entries = [ACTIONS.entry_names[i] for i in np.flatnonzero(~np.isnan(present(table.roles).score[0]))]
    assert entries == ["hold-obj", "cut-instr"]
    assert table.verbs == ("hold", "cut", "sleep")


def test_other_datasets_have_no_roles(tmp_path: Path) -> None:
    table, _ = read(tmp_path, [("hold_obj", "knife")], "hico-det")
    assert table.roles is None
    assert "hold" not in table.verbs


@pytest.mark.parametrize("format_", ["csv", "jsonl", "parquet", "vlm", "native", "qpic"])
def test_written_files_state_the_same_roles(tmp_path: Path, format_: str) -> None:
    """The object alone would give a racket the role instr of hit, and a cake the role obj of cut."""
    pairs = [("hit obj", "tennis racket"), ("hit instr", "sports ball"), ("cut instr", "cake"), ("hold obj", "cup"),
             ("sit", "chair"), ("eat obj", "fork")]  # fmt: skip
    table, notes = read(tmp_path, pairs, step=1)
    write_predictions(table, tmp_path / "written", format_, "v-coco", notes)
    again, _ = read_predictions_with_notes(tmp_path / "written", dataset="v-coco", format=format_)
    assert np.array_equal(present(again.roles).score, present(table.roles).score, equal_nan=True)
    assert np.array_equal(present(again.roles).person_boxes, present(table.roles).person_boxes)
    assert count_lost(table, benchmark("v-coco"), notes) == 0
    if format_ != "qpic":  # which has only triplets with the usual role of their object
        assert again.verbs == table.verbs


def test_predictions_that_are_no_triplets_are_counted(tmp_path: Path) -> None:
    boxes = [{"bbox": [0, 0, 9, 9], "category_id": 0}, {"bbox": [0, 0, 9, 9], "category_id": 40}]
    triplets = [{"subject_id": 0, "object_id": at, "category_id": verb, "score": 0.5} for at, verb in ((1, 0), (-1, 1))]
    record = {"filename": "000000000328.jpg", "predictions": boxes, "hoi_prediction": triplets}
    path = write_lines(tmp_path / "qpic.json", [record])
    table, notes = read_predictions_with_notes(path, dataset="v-coco")
    assert count_lost(table, benchmark("v-coco"), notes) == 1
    done = cli.run("convert", path, tmp_path / "triplets.csv", "--dataset", "v-coco")
    (line,) = (line for line in done.stderr.splitlines() if "left out" in line)
    assert "1 prediction by" in line
