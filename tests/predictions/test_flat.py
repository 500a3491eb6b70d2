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
    assert notes.lines() == ["no score, or NaN, given for 2 of 4 triplets: they rank below all that have one"]


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


@pytest.mark.parametrize(("form", "place"), [("csv", "line 4"), ("jsonl", "line 3"), ("parquet", "record 2")])
def test_two_sizes_of_one_image_are_refused(tmp_path: Path, form: str, place: str) -> None:
    rows = [ROW, ROW | {"width": 640, "height": 480}, ROW | {"width": 480, "height": 640}]
    with pytest.raises(InputError, match=f"{place}: width: found another size of 'a.jpg', expected one size"):
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
    assert list(notes.examples("columns_unread")) == ["prob", "id"]
    assert notes.lines() == ["2 columns not read: 'prob', 'id'"]


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
