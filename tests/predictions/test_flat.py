"""Flat columns: what may be absent from a row, and what rows of one image have to agree on."""

import csv
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from shoe.core.interactions import Interactions
from shoe.predictions import ReadNotes, read_predictions_with_notes
from tests.errors import input_error
from tests.predictions.reading import boxes, codes, missing, words, write_lines

CORNERS = ["hx1", "hy1", "hx2", "hy2", "ox1", "oy1", "ox2", "oy2"]
ROW: dict[str, Any] = dict(zip(CORNERS, [0, 0, 9, 9, 5, 5, 20, 30], strict=True))
ROW |= {"image": "a.jpg", "verb": "ride", "object": "horse"}
FORMS = ["csv", "jsonl", "parquet"]
THIRD = {"csv": "line 4", "jsonl": "line 3", "parquet": "record 3"}


def read(folder: Path, form: str, rows: list[dict[str, Any]]) -> tuple[Interactions, ReadNotes]:
    """Write rows, whose keys may differ, with the tools that people have, and read them."""
    path = folder / "flat"
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if form == "csv":
        with path.open("w") as file:
            writer = csv.DictWriter(file, columns)
            writer.writeheader()
            writer.writerows(rows)
    elif form == "jsonl":
        write_lines(path, *rows)
    else:
        table = pyarrow.table({name: [row.get(name) for row in rows] for name in columns})
        pyarrow.parquet.write_table(table, path)
    table, notes = read_predictions_with_notes(path)
    assert notes.format == form
    return table, notes


@pytest.mark.parametrize(
    ("form", "scores", "read_as", "code"),
    [
        *((form, ["", 0.25, "", 0], [0, 0.25, 0, 0], "some_scores") for form in FORMS),
        ("jsonl", [None, 0.5], [0.25, 0.5], "some_scores"),
        ("csv", ["93%", 0.5], [0.93, 0.5], "scores_converted"),
    ],
)
def test_a_score_counts_in_whichever_row_it_stands(
    tmp_path: Path, form: str, scores: list[Any], read_as: list[float], code: str
) -> None:
    """An empty text stands for a row without the key."""
    table, notes = read(tmp_path, form, [ROW | ({} if score == "" else {"score": score}) for score in scores])
    assert (table.score.tolist(), codes(notes)) == (read_as, [code])
    assert notes.scores_defaulted == scores.count("") + scores.count(None)
    shown = f"{notes.scores_defaulted} of {len(scores)} triplets" if notes.scores_defaulted else "% (1)"
    assert missing(notes.lines()[0], shown) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_size_counts_in_whichever_row_it_stands(tmp_path: Path, form: str) -> None:
    sized = ROW | {"width": 640, "height": 480}
    table, _ = read(tmp_path, form, [ROW, sized, sized, ROW | {"image": "b.jpg"}])
    assert (table.images, table.sizes.tolist()) == (("a.jpg", "b.jpg"), [[640, 480], [0, 0]])
    with input_error("480 x 640", "'a.jpg'", "640 x 480", record=THIRD[form], field="width"):
        read(tmp_path, form, [ROW, sized, ROW | {"width": 480, "height": 640}])


@pytest.mark.parametrize("form", FORMS)
def test_a_score_has_many_names_and_other_columns_are_named(tmp_path: Path, form: str) -> None:
    if form != "parquet":  # which has no column of numbers and texts
        with input_error("'high'", "number", record=THIRD[form], field="score"):
            read(tmp_path, form, [ROW, ROW | {"score": 0.5}, ROW | {"score": "high"}])
    for name in ("confidence", "conf", "probability", "prob"):
        table, notes = read(tmp_path, form, [ROW | {name: 0.25}])
        assert (table.score.tolist(), notes.lines()) == ([0.25], [])
    rows = [ROW | {"prob": 0.5, "score": 0.25}, ROW | {"prob": 0.5, "score": 0.5, "id": 1}]
    table, notes = read(tmp_path, form, rows)
    assert (table.score.tolist(), list(notes.unread), codes(notes)) == ([0.25, 0.5], ["prob", "id"], ["columns_unread"])
    assert notes.lines()[0].endswith(": 'prob' (0.5: 2), 'id' (empty: 1, 1: 1)")


@pytest.mark.parametrize("name", ["score", "hx1", "Verb"])
def test_a_column_given_twice_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "flat"
    header, values = [*ROW, "score", name], [*ROW.values(), 1, 1]
    path.write_text(",".join(header) + "\n" + ",".join(map(str, values)) + "\n")
    with input_error("2 columns", field=name.lower()):
        read_predictions_with_notes(path)
    columns = [pyarrow.array([value]) for value in values]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, [name.lower() for name in header]), path)
    with input_error("2 columns", field=name.lower()):
        read_predictions_with_notes(path)


OWN = {"file_name": "a.jpg", "person_xmin": 1, "person_ymin": 2, "person_xmax": 30, "person_ymax": 40,
       "obj_xmin": 5, "obj_ymin": 6, "obj_xmax": 70, "obj_ymax": 80, "action": "ride", "category": "bicycle",
       "conf": 0.5}  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_with_its_own_header_is_read_as_a_table(tmp_path: Path, form: str) -> None:
    table, notes = read(tmp_path, form, [OWN, OWN | {"file_name": "b.jpg"}])
    assert (table.images, words(table)) == (("a.jpg", "b.jpg"), [("ride", "bicycle")] * 2)
    assert boxes(table) == ([[1, 2, 30, 40]] * 2, [[5, 6, 70, 80]] * 2)
    assert (table.score.tolist(), notes.lines()) == ([0.5, 0.5], [])


def test_widths_in_a_header_are_widths(tmp_path: Path) -> None:
    row = {"image": "a.jpg", "h_x": 1, "h_y": 2, "h_w": 30, "h_h": 40, "o_x": 5, "o_y": 6, "o_w": 70, "o_h": 80,
           "verb": "ride", "object": "bicycle"}  # fmt: skip
    table, notes = read(tmp_path, "csv", [row])
    assert (notes.format, notes.boxes) == ("csv", "xywh")
    assert table.object_boxes[0].tolist() == [5, 6, 75, 86]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    ("column", "typo"), [("object", "objct"), ("verb", "vreb"), ("image", "imgae"), ("hx1", "hxx1")]
)
def test_a_table_without_a_column_is_refused_with_the_nearest_name(
    tmp_path: Path, form: str, column: str, typo: str
) -> None:
    row = {typo if name == column else name: value for name, value in ROW.items()}
    with input_error(f" {column}", f"{column} for '{typo}'?"):
        read(tmp_path, form, [row, row])


@pytest.mark.parametrize("form", FORMS)
def test_numbers_are_no_words(tmp_path: Path, form: str) -> None:
    for column, value in (("verb", "49"), ("object", "1.0"), ("object", " 3 ")):
        with input_error(f"'{value}'", "a word", field=column):
            read(tmp_path, form, [ROW | {column: value}, ROW | {column: value}])
    _, notes = read(tmp_path, form, [ROW, ROW | {"verb": "hold"}, ROW | {"verb": "49"}])
    assert (notes.examples("numeric_words"), "numeric_words" in codes(notes)) == ({"49": 1}, True)


@pytest.mark.parametrize("row", [ROW, OWN])
def test_tabs_may_separate_the_columns(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "flat.tsv"
    path.write_text("\n".join("\t".join(map(str, line)) for line in (row, row.values())))
    table, notes = read_predictions_with_notes(path)
    assert (notes.format, len(table), table.verbs) == ("csv", 1, ("ride",))


OWN_CORNERS = tuple(f"{part}_{name}" for part in ("person", "object") for name in ("xmin", "ymin", "xmax", "ymax"))


@pytest.mark.parametrize("name", ["table.jsonl", "table.json"])
@pytest.mark.parametrize(
    ("corners", "names"),
    [
        (("h_x1", "h_y1", "h_x2", "h_y2", "o_x1", "o_y1", "o_x2", "o_y2"), ("img", "predicate", "category", "prob")),
        (OWN_CORNERS, ("file_name", "action", "object_class", "confidence")),
        (("HX1", "HY1", "HX2", "HY2", "OX1", "OY1", "OX2", "OY2"), ("Image", "Verb", "Noun", "Score")),
    ],
)
def test_json_records_with_own_keys_are_tables(
    tmp_path: Path, name: str, corners: tuple[str, ...], names: tuple[str, ...]
) -> None:
    values = ["a.jpg", 1, 2, 30, 40, 5, 6, 70, 80, "sit_on", "dining_table", 0.5]
    record = dict(zip((names[0], *corners, *names[1:]), values, strict=True))
    path = write_lines(tmp_path / name, [record] if name.endswith("json") else record)
    table, notes = read_predictions_with_notes(path)
    assert (notes.format, table.images, words(table)) == ("jsonl", ("a.jpg",), [("sit_on", "dining_table")])
    assert (*boxes(table), table.score.tolist()) == ([[1, 2, 30, 40]], [[5, 6, 70, 80]], [0.5])


@pytest.mark.parametrize("form", FORMS)
def test_a_row_with_only_an_image_is_an_image_without_triplets(tmp_path: Path, form: str) -> None:
    rows: list[dict[str, Any]] = [ROW | {"score": 0.5}, {"image": "b.jpg"}, ROW | {"image": "c.jpg", "score": 1}]
    table, notes = read(tmp_path, form, rows)
    assert (table.images, table.offsets.tolist()) == (("a.jpg", "b.jpg", "c.jpg"), [0, 1, 1, 2])
    assert (table.score.tolist(), notes.scores) == ([0.5, 1], "given")
    with input_error("[nan", record=f"{THIRD[form]} (image 'c.jpg')", field="human box"):
        read(tmp_path, form, [ROW, {"image": "b.jpg"}, {"image": "c.jpg", "verb": "ride", "object": "horse"}])


@pytest.mark.parametrize("form", FORMS)
def test_a_number_that_no_test_image_has_is_refused(tmp_path: Path, form: str) -> None:
    assert read(tmp_path, form, [ROW | {"image": "12"}])[0].images == ("HICO_test2015_00000012.jpg",)
    with input_error("'9999999'", field="image"):
        read(tmp_path, form, [ROW | {"image": "9999999"}])
