"""Results of VLMEvalKit: a workbook or TSV with the columns index, image_path, question, answer and prediction."""

import csv
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import MissingExtraError
from shoe.core.io import spreadsheets
from shoe.predictions import read_predictions, read_predictions_with_notes
from tests.errors import error_with, input_error
from tests.predictions.reading import boxes, words, write_lines

openpyxl = pytest.importorskip("openpyxl")
REPLY = json.dumps([{"human_box": [1, 2, 30, 40], "object_box": [5, 6, 70, 80], "verb": "ride", "object": "horse"}])
HEADER = ("index", "image_path", "question", "answer", "prediction")


def write(path: Path, *sheets: list[tuple[Any, ...]]) -> Path:
    book = openpyxl.Workbook()
    for number, rows in enumerate(sheets):
        sheet = book.active if number == 0 else book.create_sheet()
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_replies_are_read_from_a_workbook(tmp_path: Path) -> None:
    rows = [HEADER, (0, "imgs/a.jpg", "q", "gold", REPLY), (1, "imgs/b.jpg", "q", None, f"```json\n{REPLY}\n```")]
    table = read_predictions(write(tmp_path / "r.xlsx", rows))
    assert (table.images, words(table)) == (("a.jpg", "b.jpg"), [("ride", "horse")] * 2)
    assert boxes(table) == ([[1, 2, 30, 40]] * 2, [[5, 6, 70, 80]] * 2)


@pytest.mark.parametrize("empty", [None, "", "Failed to obtain answer via API."])
@pytest.mark.parametrize("suffix", ["xlsx", "tsv", "json"])
def test_the_reference_answer_is_no_prediction(tmp_path: Path, suffix: str, empty: str | None) -> None:
    rows = [HEADER, (0, "a.jpg", "q", REPLY, empty), (1, "b.jpg", "q", REPLY, REPLY)]
    path = tmp_path / f"r.{suffix}"
    if suffix == "xlsx":
        write(path, rows)
    elif suffix == "json":
        write_lines(path, [dict(zip(HEADER, row, strict=True)) for row in rows[1:]])
    else:
        with path.open("w") as file:
            csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL).writerows(rows)
    table, notes = read_predictions_with_notes(path)
    assert [table.images[i] for i in table.image] == ["b.jpg"]
    assert (notes.replies, notes.count("unread")) == (2, 1)


def test_an_image_as_base64_is_no_file_name(tmp_path: Path) -> None:
    image = "/9j/" + "4AAQSkZJRgABAQ" * 40
    path, row = tmp_path / "r.json", {"index": 0, "image": image, "prediction": REPLY}
    assert read_predictions(write_lines(path, [row | {"image_path": "a.jpg"}])).images == ("a.jpg",)
    with input_error("column 'image'", "file name"):
        read_predictions(write_lines(path, [row]))
    table = tmp_path / "r.tsv"
    table.write_text("index\timage\tprediction\n" + f'0\t{image}\t"{REPLY.replace(chr(34), chr(34) * 2)}"\n')
    with input_error("column 'image'", "file name"):
        read_predictions(table)


def test_flat_columns_in_a_workbook(tmp_path: Path) -> None:
    header = ("image", "hx1", "hy1", "hx2", "hy2", "ox1", "oy1", "ox2", "oy2", "verb", "object", "score")
    rows = [header, ("a.jpg", 1, 2, 3, 4, 5, 6, 7, 8.5, "ride", "horse", 0.5)]
    table = read_predictions(write(tmp_path / "r.xlsx", rows))
    assert (table.score.tolist(), table.object_boxes.tolist()) == ([0.5], [[5, 6, 7, 8.5]])
    with input_error("'x'", "number", record="line 4", field="hx1"):
        read_predictions(write(tmp_path / "r.xlsx", [*rows, (), ("b.jpg", "x", *rows[1][2:])]))


@pytest.mark.parametrize(
    ("sheets", "value"),
    [
        ([[("index", "question", "prediction"), (0, "q", REPLY)]], "column 'image'"),
        *(([[HEADER]], "found 0 sheets"), ([[]], "found 0 sheets")),
        ([[HEADER, (0, "a.jpg", "q", "", REPLY)]] * 2, "found 2 sheets"),
    ],
)
def test_other_workbooks_get_one_line(tmp_path: Path, sheets: Any, value: str) -> None:
    with input_error(value):
        read_predictions(write(tmp_path / "r.xlsx", *sheets))


HUGE = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><dimension ref="A1:XFD9"/>'
    b'<sheetData><row r="2000000000"><c r="XFD2000000000"><v>1</v></c></row></sheetData></worksheet>'
)


def changed(path: Path, member: str, content: bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in (parts | {member: content}).items():
            archive.writestr(name, part)


@pytest.mark.parametrize(
    ("member", "content", "value"),
    [
        ("xl/worksheets/sheet1.xml", b"<worksheet", "a damaged workbook"),
        *(("xl/workbook.xml", b"", "a damaged workbook"), ("xl/media/large.bin", bytes(60_000_000), "0.06 GB")),
        ("xl/worksheets/sheet1.xml", HUGE, "found 0 sheets"),
    ],
)
def test_a_hostile_workbook_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, member: str, content: bytes, value: str
) -> None:
    monkeypatch.setattr(spreadsheets, "_MOST_ROWS", 1 << 12)  # openpyxl goes through them one by one
    path = write(tmp_path / "r.xlsx", [HEADER, (0, "a.jpg", "q", "", REPLY)])
    changed(path, member, content)
    with input_error(value):
        read_predictions(path)
    path.write_bytes(path.read_bytes()[:-100])
    with input_error("found"):
        read_predictions(path)


def test_without_openpyxl_the_command_to_install_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "r.xlsx", [HEADER, (0, "a.jpg", "q", "", REPLY)])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with error_with(MissingExtraError, "r.xlsx: ", "pip install 'shoe-eval[xlsx]'"):
        read_predictions(path)
