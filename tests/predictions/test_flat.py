"""Flat columns: what may be absent from a row, and what rows of one image have to agree on."""

import csv
import io
from pathlib import Path
from typing import Any

import orjson
import pyarrow
import pyarrow.parquet
import pytest

from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.predictions import ReadNotes, read_predictions_with_notes

CORNERS = ["hx1", "hy1", "hx2", "hy2", "ox1", "oy1", "ox2", "oy2"]
ROW = dict(zip(CORNERS, [0, 0, 9, 9, 5, 5, 20, 30], strict=True)) | {
    "image": "a.jpg",
    "verb": "ride",
    "object": "horse",
}
FORMS = ["csv", "jsonl", "parquet"]


def read(folder: Path, form: str, rows: list[dict[str, Any]]) -> tuple[Interactions, ReadNotes]:
    """Write rows, whose keys may differ, with the tools that people have, and read them."""
    path = folder / "flat"
    columns = list(dict.fromkeys(name for row in rows for name in row))
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, columns)
        writer.writeheader()
        writer.writerows(rows)
        path.write_text(text.getvalue())
    elif form == "jsonl":
        path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
    else:
        table = pyarrow.table({name: [row.get(name) for row in rows] for name in columns})
        pyarrow.parquet.write_table(table, path)
    table, notes = read_predictions_with_notes(path)
    assert notes.format == form
    return table, notes


@pytest.mark.parametrize("form", FORMS)
def test_a_score_counts_in_whichever_row_it_stands(tmp_path: Path, form: str) -> None:
    table, notes = read(tmp_path, form, [ROW, ROW | {"score": 0.25}, ROW, ROW | {"score": 0}])
    assert table.score.tolist() == [0, 0.25, 0, 0]
    assert notes.scores_defaulted == 2
    (line,) = notes.lines()
    assert "2 of 4 triplets" in line


def test_percent_signs_are_read_as_in_replies(tmp_path: Path) -> None:
    table, notes = read(tmp_path, "csv", [ROW | {"score": "93%"}, ROW | {"score": 0.5}])
    assert table.score.tolist() == [0.93, 0.5]
    assert notes.lines() == ["confidences were converted: % (1)"]


def test_a_null_is_no_score(tmp_path: Path) -> None:
    table, notes = read(tmp_path, "jsonl", [ROW | {"score": None}, ROW | {"score": 0.5}])
    assert table.score.tolist() == [0.25, 0.5]
    assert notes.scores_defaulted == 1


@pytest.mark.parametrize("form", FORMS)
def test_a_size_counts_in_whichever_row_it_stands(tmp_path: Path, form: str) -> None:
    rows = [ROW, ROW | {"width": 640, "height": 480}, ROW | {"width": 640, "height": 480}, ROW | {"image": "b.jpg"}]
    table, _ = read(tmp_path, form, rows)
    assert table.images == ("a.jpg", "b.jpg")
    assert table.sizes.tolist() == [[640, 480], [0, 0]]


@pytest.mark.parametrize(("form", "place"), [("csv", "line 4"), ("jsonl", "line 3"), ("parquet", "record 3")])
def test_two_sizes_of_one_image_are_refused(tmp_path: Path, form: str, place: str) -> None:
    rows = [ROW, ROW | {"width": 640, "height": 480}, ROW | {"width": 480, "height": 640}]
    with pytest.raises(InputError, match=f"{place}: width: found the size 480 x 640 of 'a.jpg', expected 640 x 480"):
        read(tmp_path, form, rows)


@pytest.mark.parametrize(("form", "place"), [("csv", "line 4: score"), ("jsonl", "line 3: score")])
def test_a_score_that_is_no_number_is_named_by_its_row(tmp_path: Path, form: str, place: str) -> None:
    with pytest.raises(InputError, match=f"{place}: found 'high', expected a number"):
        read(tmp_path, form, [ROW, ROW | {"score": 0.5}, ROW | {"score": "high"}])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["confidence", "conf", "probability", "prob"])
def test_a_score_has_many_names(tmp_path: Path, form: str, name: str) -> None:
    table, notes = read(tmp_path, form, [ROW | {name: 0.25}])
    assert table.score.tolist() == [0.25]
    assert notes.lines() == []


@pytest.mark.parametrize("form", FORMS)
def test_columns_that_are_not_read_are_named(tmp_path: Path, form: str) -> None:
    table, notes = read(
        tmp_path, form, [ROW | {"prob": 0.5, "score": 0.25}, ROW | {"prob": 0.5, "score": 0.5, "id": 1}]
    )
    assert table.score.tolist() == [0.25, 0.5]
    assert list(notes.unread) == ["prob", "id"]
    assert notes.lines() == ["2 columns not read: 'prob' (0.5: 2), 'id' (empty: 1, 1: 1)"]


@pytest.mark.parametrize("name", ["score", "hx1", "Verb"])
def test_a_column_given_twice_is_refused(tmp_path: Path, name: str) -> None:
    path = tmp_path / "flat"
    header, values = [*ROW, "score", name], [*ROW.values(), 1, 1]
    path.write_text(",".join(header) + "\n" + ",".join(map(str, values)) + "\n")
    with pytest.raises(InputError, match=f"{name.lower()}: found 2 columns of this name, expected one"):
        read_predictions_with_notes(path)
    columns = [pyarrow.array([value]) for value in values]
    pyarrow.parquet.write_table(pyarrow.Table.from_arrays(columns, [name.lower() for name in header]), path)
    with pytest.raises(InputError, match=f"{name.lower()}: found 2 columns of this name, expected one"):
        read_predictions_with_notes(path)


OWN = {"file_name": "a.jpg", "person_xmin": 1, "person_ymin": 2, "person_xmax": 30, "person_ymax": 40,
       "obj_xmin": 5, "obj_ymin": 6, "obj_xmax": 70, "obj_ymax": 80, "action": "ride", "category": "bicycle",
       "conf": 0.5}  # fmt: skip


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_a_table_with_its_own_header_is_read_as_a_table(tmp_path: Path, form: str) -> None:
    table, notes = read(tmp_path, form, [OWN, OWN | {"file_name": "b.jpg"}])
    assert notes.format == form
    assert (table.images, table.verbs, table.objects) == (("a.jpg", "b.jpg"), ("ride",), ("bicycle",))
    assert table.human_boxes[0].tolist() == [1, 2, 30, 40]
    assert table.object_boxes[0].tolist() == [5, 6, 70, 80]
    assert table.score.tolist() == [0.5, 0.5]
    assert notes.lines() == []


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
    with pytest.raises(InputError, match=rf"no.* {column}.*did you mean {column} for '{typo}'\?"):
        read(tmp_path, form, [row, row])


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("column", "value"), [("verb", "49"), ("object", "1.0"), ("object", " 3 ")])
def test_numbers_are_no_words(tmp_path: Path, form: str, column: str, value: str) -> None:
    with pytest.raises(InputError, match=rf"{column}: found '{value}', expected a word.*numbers are not words"):
        read(tmp_path, form, [ROW | {column: value}, ROW | {column: value}])


def test_a_few_numbers_among_words_are_noted(tmp_path: Path) -> None:
    _, notes = read(tmp_path, "csv", [ROW, ROW | {"verb": "hold"}, ROW | {"verb": "49"}])
    assert "1 word is a number, which matches no label: '49'" in notes.lines()


@pytest.mark.parametrize("row", [ROW, OWN])
def test_tabs_may_separate_the_columns(tmp_path: Path, row: dict[str, Any]) -> None:
    path = tmp_path / "flat.tsv"
    path.write_text("\n".join("\t".join(map(str, line)) for line in (row, row.values())))
    table, notes = read_predictions_with_notes(path)
    assert (notes.format, len(table), table.verbs) == ("csv", 1, ("ride",))


@pytest.mark.parametrize("name", ["table.jsonl", "table.json"])
@pytest.mark.parametrize(
    ("corners", "words"),
    [
        (("h_x1", "h_y1", "h_x2", "h_y2", "o_x1", "o_y1", "o_x2", "o_y2"), ("img", "predicate", "category", "prob")),
        (
            tuple(f"{part}_{name}" for part in ("person", "object") for name in ("xmin", "ymin", "xmax", "ymax")),
            ("file_name", "action", "object_class", "confidence"),
        ),
        (("HX1", "HY1", "HX2", "HY2", "OX1", "OY1", "OX2", "OY2"), ("Image", "Verb", "Noun", "Score")),
    ],
)
def test_json_records_with_own_keys_are_tables(
    tmp_path: Path, name: str, corners: tuple[str, ...], words: tuple[str, ...]
) -> None:
    """They are not read as answers of a model, whose words are phrases."""
    values = ["a.jpg", 1, 2, 30, 40, 5, 6, 70, 80, "sit_on", "dining_table", 0.5]
    record = dict(zip((words[0], *corners, *words[1:]), values, strict=True))
    path = tmp_path / name
    path.write_bytes(orjson.dumps([record] if name.endswith("json") else record))
    table, notes = read_predictions_with_notes(path)
    assert notes.format == "jsonl"
    assert (table.images, table.verbs, table.objects) == (("a.jpg",), ("sit_on",), ("dining_table",))
    assert table.human_boxes.tolist() == [[1, 2, 30, 40]]
    assert table.object_boxes.tolist() == [[5, 6, 70, 80]]
    assert table.score.tolist() == [0.5]


@pytest.mark.parametrize("form", FORMS)
def test_a_row_with_only_an_image_is_an_image_without_triplets(tmp_path: Path, form: str) -> None:
    rows: list[dict[str, Any]] = [ROW | {"score": 0.5}, {"image": "b.jpg"}, ROW | {"image": "c.jpg", "score": 1}]
    table, notes = read(tmp_path, form, rows)
    assert table.images == ("a.jpg", "b.jpg", "c.jpg")
    assert table.offsets.tolist() == [0, 1, 1, 2]
    assert table.score.tolist() == [0.5, 1]
    assert notes.scores == "given"


@pytest.mark.parametrize(("form", "place"), [("csv", "line 4"), ("jsonl", "line 3"), ("parquet", "record 3")])
def test_a_row_with_some_of_a_triplet_is_refused(tmp_path: Path, form: str, place: str) -> None:
    with pytest.raises(InputError, match=rf"{place} \(image 'c.jpg'\): human box: found \[nan"):
        read(tmp_path, form, [ROW, {"image": "b.jpg"}, {"image": "c.jpg", "verb": "ride", "object": "horse"}])


@pytest.mark.parametrize("form", FORMS)
def test_a_number_that_no_test_image_has_is_refused(tmp_path: Path, form: str) -> None:
    assert read(tmp_path, form, [ROW | {"image": "12"}])[0].images == ("HICO_test2015_00000012.jpg",)
    with pytest.raises(InputError, match="image: found '9999999', expected a file name"):
        read(tmp_path, form, [ROW | {"image": "9999999"}])
