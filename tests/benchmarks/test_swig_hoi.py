"""SWIG-HOI: its class tables, its annotations, and predictions in the forms of its evaluators."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe import read_ground_truth, read_predictions, score
from shoe.benchmarks import benchmark
from shoe.comparison.run import Run
from shoe.comparison.run_file import read_run, write_run
from shoe.core.errors import InputError
from shoe.lexicon.store import lexicon
from shoe.predictions import write_predictions
from tests.benchmarks.samples import INSTANCES
from tests.mentions import mentions
from tests.present import present

SWIG = benchmark("swig-hoi")
CLASSES = SWIG.classes
PERSON, WRAP = [0, 0, 438, 509], [282, 217, 441, 317]


def _hoi(**changes: int) -> dict[str, Any]:
    return {"hoi_annotations": [{"subject_id": 0, "object_id": 1, "action_id": 402} | changes]}


def document(**changes: Any) -> list[dict[str, Any]]:
    """One image with one triplet (wrapping tape), and one without any."""
    boxes: list[tuple[Any, ...]] = [(PERSON, 0, []), (WRAP, 123, [167])]
    keys = ("bbox", "category_id", "aux_category_id")
    image = {"file_name": "wrapping_1.jpg", "img_id": 7, "height": 512, "width": 681, **_hoi()}
    image |= {"box_annotations": [dict(zip(keys, box, strict=True)) for box in boxes]}
    empty = {"file_name": "aiming_3.jpg", "img_id": 8, "box_annotations": [], "hoi_annotations": []}
    return [image | changes, empty]


def written(folder: Path, content: Any, name: str = "swig_test_1000.json") -> Path:
    (folder / name).write_text(json.dumps(content))
    return folder / name


def test_the_classes_are_as_published() -> None:
    assert (len(CLASSES), len(SWIG.verb_names or ()), len(SWIG.object_ids)) == (14_130, 407, 1_000)
    assert int(CLASSES.scored.sum()) == 5_539
    parts = SWIG.class_splits["frequency"]().parts
    counts = {part: int(mask.sum()) for part, mask in parts.items()}
    assert counts == {"unseen": 1_391, "seen": 4_148, "rare": 2_841, "non-rare": 1_307}
    scored = np.flatnonzero(CLASSES.scored)
    assert (len(set(CLASSES.verb[scored])), len(set(CLASSES.object[scored]))) == (399, 950)
    first = [f"{CLASSES.gerunds[CLASSES.verb[k]]} {CLASSES.objects[CLASSES.object[k]]}" for k in range(3)]
    assert first == ["injecting syringe", "surfing surfboard", "pedaling bicycle"]


def test_every_class_has_senses_of_its_own_part_of_speech() -> None:
    assert (CLASSES.verb_sense >= lexicon().nouns).all()
    assert ((CLASSES.object_sense >= 0) & (CLASSES.object_sense < lexicon().nouns)).all()
    assert len(set(CLASSES.object_synsets)) == 1_000
    assert CLASSES.object_synsets[0] == "syringe.n.01"


def test_annotations_are_read(tmp_path: Path) -> None:
    truth = read_ground_truth(written(tmp_path, document()), "swig-hoi")
    table = truth.interactions
    assert table.images == ("wrapping_1.jpg", "aiming_3.jpg")
    assert table.sizes.tolist() == [[681, 512], [0, 0]]
    assert (table.human_boxes.tolist(), table.object_boxes.tolist()) == ([PERSON], [WRAP])
    assert CLASSES.labels[truth.hoi[0]] == "wrap strip_tape"
    assert present(truth.class_split).name == truth.signature_fields()["class-split"] == "frequency"


@pytest.mark.parametrize(
    ("changes", "values"),
    [
        (_hoi(object_id=2), "image 'wrapping_1.jpg': triplet 1: object_id: … 2 … the image's 2 boxes"),
        (_hoi(action_id=407), "triplet 1: action_id: … 407 … 0 to 406"),
        (_hoi(action_id=404), "'wrinkle' … 406 verbs"),
        (_hoi(action_id=0), "'adjust' … 'strip_tape' … 14130 classes of swig-hoi"),
        ({"box_annotations": [{"bbox": PERSON, "category_id": 1000}, {"bbox": WRAP, "category_id": 123}]},
         "box 1: category_id: … 1000 … 0 to 999 … SWIG-HOI"),
        ({"hoi_annotations": [{"subject_id": 0, "object_id": 1}]}, "action_id: … 'subject_id', 'object_id'"),
        ({"img_id": 8}, "img_id: … 8 … 'wrapping_1.jpg' … 'aiming_3.jpg'"),
    ],
)  # fmt: skip
def test_wrong_numbers_are_one_line(tmp_path: Path, changes: dict[str, Any], values: str) -> None:
    with pytest.raises(InputError, match=mentions(values)):
        read_ground_truth(written(tmp_path, document(**changes)), "swig-hoi")


def test_files_of_other_benchmarks_are_named_as_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=mentions("of hico-det", "of swig-hoi")):
        read_ground_truth(INSTANCES, "swig-hoi")
    with pytest.raises(InputError, match=mentions("SWIG-HOI JSON", "of swig-hoi", "of hico-det")):
        read_ground_truth(written(tmp_path, document()), "hico-det")


def test_predictions_by_number_name_and_class_are_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, document())
    truth = read_ground_truth(path, "swig-hoi")
    hoi = int(truth.hoi[0])
    row = [hoi, 0.9, *PERSON, *WRAP]
    by_class = {"keys": {hoi: [7]}, "scores": {hoi: [0.9]}, "boxes": {hoi: [[*PERSON, *WRAP]]}}
    pickled = tmp_path / "preds.pkl"
    pickled.write_bytes(pickle.dumps(by_class))
    files = [written(tmp_path, {name: [row]}, f"{name}.json") for name in ("7", "wrapping_1.jpg")]
    tables = [read_predictions(file, dataset="swig-hoi") for file in (*files, pickled)]
    figures = {str(score(table, truth, protocols=["swig-hoi"]).to_dict()["strict"]) for table in tables}
    assert len(figures) == 1
    assert score(tables[0], truth, protocols=["swig-hoi"]).strict.map == pytest.approx(1 / 5_539)  # type: ignore[union-attr]
    again = tmp_path / "again.json"
    write_predictions(tables[0], again, "thid-images", "swig-hoi")
    assert read_predictions(again, dataset="swig-hoi").equals(tables[0])
    assert truth.within(tables[0].images).interactions.images == ("wrapping_1.jpg",)


@pytest.mark.slow
def test_a_run_keeps_both_figures_that_are_called_full(tmp_path: Path) -> None:
    truth = read_ground_truth(written(tmp_path, document()), "swig-hoi")
    hoi = int(truth.hoi[0])
    table = read_predictions(written(tmp_path, {"7": [[hoi, 0.9, *PERSON, *WRAP]]}, "p.json"), dataset="swig-hoi")
    run = Run.from_report(score(table, truth, protocols=["swig-hoi", "choir"]), "model")
    write_run(run, tmp_path / "a.shoe")
    figures = read_run(tmp_path / "a.shoe").figures()
    assert figures == run.figures()
    assert figures["strict:swig-hoi:full"] == pytest.approx(1 / 5_539)
    assert figures["strict:choir:full"] == pytest.approx(0 if CLASSES.unseen[hoi] else 1 / 4_148)
    kind = "rare" if CLASSES.rare[hoi] else "non_rare"
    assert figures[f"strict:choir:{kind}"] == pytest.approx(1 / (2_841 if kind == "rare" else 1_307))


def test_wrong_rows_are_one_line(tmp_path: Path) -> None:
    cases: list[tuple[list[list[Any]], str]] = [
        ([[14_130, 0.9]], "triplet 1: class: … 14130 … 0 to 14129"),
        ([[3, 0.9], [3, "x"]], "image '7': row 2:"),
    ]
    for rows, values in cases:
        document = {"7": [[*row, *PERSON, *WRAP] for row in rows]}
        with pytest.raises(InputError, match=mentions(values)):
            read_predictions(written(tmp_path, document, "preds.json"), dataset="swig-hoi")
