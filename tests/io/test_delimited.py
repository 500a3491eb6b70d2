"""Tables for spreadsheets: text stays text."""

from pathlib import Path

import pytest

import shoe
from shoe.io.delimited import delimited_text


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        ("=1+1", "'=1+1"),
        ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("-2+3", "'-2+3"),
        ("\t=1", "'\ufffd=1"),
        ("\r=1", "'\ufffd=1"),
        ("a\u202eb\x1bc\nd", "a\ufffdb\ufffdc d"),
        ("-0.25", "-0.25"),
        (-0.25, "-0.25"),
        ("riding a horse", "riding a horse"),
        (None, ""),
    ],
)
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_text_is_no_formula_and_numbers_stay(cell: object, written: str, delimiter: str) -> None:
    assert delimited_text([["a", cell], (1, 2)], delimiter) == f"a{delimiter}{written}\n1{delimiter}2\n"


def test_all_tables_for_spreadsheets_are_written_in_one_place() -> None:
    folder = Path(shoe.__file__).parent
    writers = {
        path.name for path in folder.rglob("*.py") if "csv.writer" in path.read_text() or "DictW" in path.read_text()
    }
    assert writers == {"delimited.py", "flat.py"}  # the latter writes predictions, to be read again
