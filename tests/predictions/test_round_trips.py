"""Every format holds the same triplets, and what is written and read again is the same, as far as it can hold it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st

from shoe.benchmarks import benchmark
from shoe.benchmarks.hico_det import official_images
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from shoe.lexicon import text
from shoe.predictions import read_predictions, read_predictions_with_notes, write_predictions
from shoe.predictions.formats.registry import FORMATS, NATIVE
from shoe.predictions.vlm.collector import are_percent
from shoe.predictions.vlm.markup import split_label, split_verdict
from shoe.predictions.vlm.words import split_verbs, without_brackets
from tests.errors import input_error
from tests.predictions import samples
from tests.predictions.reading import boxes, read_lines, words, write_lines
from tests.predictions.samples import rows
from tests.tables import tables

HICO = benchmark("hico-det")
FEW = replace(HICO, test_images=lambda: official_images()[:400])  # those of the samples; cells for all take seconds
CLASSES = HICO.classes
WORDS = ["csv", "jsonl", "parquet", "vlm"]
NUMBERS = ["qpic", "mllms"]


def again(table: Interactions, folder: Path, form: str, **options: Any) -> Interactions:
    path = folder / "table"
    write_predictions(table, path, form)
    recognised, notes = read_predictions_with_notes(path, **options)
    assert notes.format == form
    return recognised


def with_names(table: Interactions, names: list[str]) -> Interactions:
    """Other image names and continuous boxes: what every format can hold."""
    wide = np.array([0, 0, 1, 1])
    return replace(
        table,
        images=tuple(names[: len(table.images)]),
        coordinates=np.zeros(len(table.images), np.uint8),
        human_boxes=table.human_boxes + wide,
        object_boxes=table.object_boxes + wide,
    )


def in_classes(table: Interactions, seed: int) -> Interactions:
    hoi = np.random.default_rng(seed).integers(len(CLASSES), size=len(table))
    return replace(
        table, verbs=CLASSES.verbs, objects=CLASSES.objects, verb=CLASSES.verb[hoi], object=CLASSES.object[hoi]
    )


@pytest.mark.parametrize("form", WORDS)
@given(table=tables())
def test_words_come_back_exactly(tmp_path: Path, form: str, table: Interactions) -> None:
    """Words for no action, yes or no, numbers in place of words, markup and scores in percent are read as such."""
    spoken = [text.tokens(text.plain(verb)) for verb in table.verbs]
    assume(not any(text.denies(words) or text.names_no_action(words) for words in spoken))
    assume(not any(split_verbs(verb, "") or without_brackets(verb) != verb for verb in table.verbs))
    for word in (*table.verbs, *table.objects):
        assume(not word.strip().lstrip("+-").replace(".", "").isdecimal() and split_verdict(word)[1] is None)
        assume(split_label(word)[0] == word and (not word or any(map(str.isalnum, word))))
    assume(not are_percent(table.score))
    table = with_names(table, ["a b.png", 'c"d.jpg', "HICO_test2015_00000002.jpg", "é,\n.jpg", "e"])
    if not len(table) and form in ("jsonl", "vlm") and not (form == "vlm" and table.images):
        return  # an empty file of lines is refused
    read = again(table, tmp_path, form)
    assert (rows(read), read.images, read.sizes.tolist()) == (rows(table), table.images, table.sizes.tolist())


@pytest.mark.parametrize("form", [*WORDS, "qpic", "mllms", "thid-images", "mat"])
@pytest.mark.parametrize("missing", ["no", "some", "all"])
def test_missing_scores_and_empty_images_survive_or_are_refused(tmp_path: Path, form: str, missing: str) -> None:
    table = in_classes(samples.base(), 1)
    records: list[dict[str, Any]] = [{"image": name, "interactions": []} for name in table.images]
    keys = ("image", "human_box", "object_box", "verb", "object", "score")
    for i, row in enumerate(rows(table)):
        has_score = missing == "no" or (missing == "some" and i % 3 > 0)
        records += [dict(zip(keys[: 5 + has_score], row, strict=False))] * (row[0] != table.images[0])
    table, notes = read_lines(tmp_path, *records)
    path = tmp_path / ("table.mat" if form == "mat" else "table")
    if (form in ("mat", "mllms", "thid-images") and missing != "no") or (form == "qpic" and missing == "some"):
        with input_error("no score for", "each triplet", field="score"):
            write_predictions(table, path, form, FEW, notes=notes)
        assert not path.exists()
        return
    write_predictions(table, path, form, FEW, notes=notes)
    read, again_ = read_predictions_with_notes(path, dataset=FEW)
    assert again_.scores == notes.scores == {"no": "given", "some": "partly given", "all": "assumed"}[missing]
    assert again_.scores_defaulted == notes.scores_defaulted
    assert sorted(rows(read)) == sorted(rows(table))
    assert set(table.images) <= set(read.images)
    assert form == "mat" or read.images == table.images


@pytest.mark.parametrize("form", NUMBERS)
@given(table=tables(), seed=st.integers(0, 2**32))
def test_classes_come_back_exactly(tmp_path: Path, form: str, table: Interactions, seed: int) -> None:
    names = [f"HICO_test2015_{i:08d}.jpg" for i in (3, 1, 7, 2, 9)]
    table = in_classes(with_names(table, names), seed)
    if not table.images:
        return
    read = again(table, tmp_path, form)
    assert read.equals(replace(table, sizes=read.sizes))


@given(table=tables())
def test_the_native_format_holds_everything(tmp_path: Path, table: Interactions) -> None:
    assert again(table, tmp_path, NATIVE).equals(table)


@pytest.mark.slow
def test_official_cells_are_read_by_others(tmp_path: Path) -> None:
    from scipy.io import loadmat

    table = samples.base()
    write_predictions(table, tmp_path / "table.mat", "mat", FEW)
    cells = loadmat(tmp_path / "table.mat")["all_boxes"]
    assert cells.shape == (600, 400)
    column = {name: i for i, name in enumerate(official_images())}
    found = []
    for image in table.images:
        for hoi in range(600):
            cell = cells[hoi, column[image]]
            assert cell.shape in ((0, 0), (len(cell), 9))
            words = CLASSES.verbs[CLASSES.verb[hoi]], CLASSES.objects[CLASSES.object[hoi]]
            found += [(image, tuple(row[:4]), tuple(row[4:8]), *words, row[8]) for row in cell.tolist()]
    assert sorted(found) == sorted(rows(table))
    assert sum(cell.size for cell in cells.ravel()) == 9 * len(table)


@pytest.mark.parametrize("form", [name for name, form in FORMATS.items() if form.write and name != "mat"])
def test_pixels_are_counted_from_0_in_formats_without_coordinates(tmp_path: Path, form: str) -> None:
    table = samples.base()
    table = replace(table, coordinates=np.full(len(table.images), Coordinates.PIXELS_1, np.uint8))
    read = again(table, tmp_path, form, boxes="pixels-0")
    np.testing.assert_array_equal(boxes(read), np.subtract(boxes(table), 1))
    assert set(read.coordinates) == {Coordinates.PIXELS_0}


def test_inflected_labels_are_written_as_the_labels_they_are(tmp_path: Path) -> None:
    table = samples.base()
    spoken = replace(table, verbs=CLASSES.gerunds, objects=tuple(o.replace("_", " ").upper() for o in table.objects))
    write_predictions(spoken, tmp_path / "q.json", "qpic")
    assert rows(read_predictions(tmp_path / "q.json")) == rows(table)


def test_qpic_boxes_are_written_once(tmp_path: Path) -> None:
    write_predictions(samples.base(), tmp_path / "q.json", "qpic")
    for record in json.loads((tmp_path / "q.json").read_text()):
        boxes = [(tuple(box["bbox"]), box["category_id"]) for box in record["predictions"]]
        assert len(set(boxes)) == len(boxes)


def test_a_native_table_keeps_what_was_to_be_said_of_its_file(tmp_path: Path) -> None:
    item = {"image": "a.jpg", "human_box": [1, 2, 30, 40], "object_box": [5, 6, 70, 80], "phrase": "riding a horse"}
    path = write_lines(tmp_path / "answers.jsonl", item)
    table, notes = read_predictions_with_notes(path, boxes="thousand", sizes={"a.jpg": (640, 480)})
    write_predictions(table, tmp_path / "t.npz", NATIVE, notes=notes)
    again, kept = read_predictions_with_notes(tmp_path / "t.npz")
    assert again.equals(table)
    assert (kept.boxes, kept.scores, kept.lines()) == ("thousand", "assumed", notes.lines())


BY_CLASS = ("thid.pkl", "detections.mat")  # these keep triplets in the order of their classes


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_all_formats_are_recognised_by_their_content_and_hold_the_same_triplets(tmp_path: Path, name: str) -> None:
    table, sizes, nameless = samples.base(), samples.sizes(samples.base()), tmp_path / "predictions"
    nameless.write_bytes((samples.FOLDER / name).read_bytes())
    read, notes = read_predictions_with_notes(nameless, sizes=sizes)
    assert (notes.format, notes.triplets, notes.images) == (samples.SAMPLES[name], len(read), len(read.images))
    assert read_predictions(samples.FOLDER / name, format=samples.SAMPLES[name], sizes=sizes).equals(read)
    order = sorted if name in BY_CLASS else list
    assert name == "phrases.jsonl" or order(samples.rows(read)) == order(samples.rows(table))
    assert read.images == table.images
    assert (read.coordinates == (Coordinates.PIXELS_0 if name == "detections.mat" else Coordinates.CONTINUOUS)).all()


def test_phrases_are_split_into_verb_and_object() -> None:
    table, notes = read_predictions_with_notes(samples.FOLDER / "phrases.jsonl")
    expected = samples.base()
    gerund = dict(zip(samples.CLASSES.verbs, samples.CLASSES.gerunds, strict=True))
    spoken = ((gerund[verb].replace("_", " "), thing.replace("_", " ")) for verb, thing in words(expected))
    parsed = sum(said == right for said, right in zip(words(table), spoken, strict=True))
    assert parsed >= 0.9 * len(expected)
    assert (notes.scores_defaulted, table.score.tolist()) == (len(table), [1] * len(table))
