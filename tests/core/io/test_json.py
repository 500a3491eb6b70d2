"""Reading JSON and spreadsheets."""

import re
from pathlib import Path

import pytest

import shoe
from shoe.core.errors import InputError
from shoe.core.io.json import encode, parse_json, repeated_key
from shoe.core.io.spreadsheets import delimited_rows, delimited_text
from tests.errors import input_error


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", ["line 1, column 1", "end of the file"]),
        (b'{"a": [1, 2', ["line 1, column 12", "end of the file"]),
        (b"[1,\n 2,\n NaN]", ["line 3, column 2", "'NaN]'", "(JSON has no NaN"]),
        *((b"[-Infinity]", ["(JSON has no NaN"]), (b'["\xff"]', ["not UTF-8"]), (b"[" * 5000, ["nested"])),
        (b"[1] [2]", ["line 1, column 5", "'[2]'"]),
    ],
)
def test_broken_json_is_shown_where_it_breaks(data: bytes, said: list[str]) -> None:
    with input_error(*said, source="a.json"):
        parse_json("a.json", data)
    with input_error("end of the line", source="a.jsonl", record="line 7, column 5"):
        parse_json("a.jsonl", b"[1, ", line=7)


@pytest.mark.parametrize("space", ["", " ", "\n ", "\t"])
def test_a_repeated_key_is_found_whatever_is_around_it(space: str) -> None:
    for inner, key in (
        ('"a"@:1,"a"@:2', "a"),
        (r'"b"@:"\u0022:","c"@:{"a"@:"\": x","a"@:1}', "a"),
        ('"a"@:{"a"@:1}', None),
    ):
        data = f"{{{inner}}}".replace("@", space).encode()
        for text in (data, b"[" + data + b"]"):
            assert repeated_key(text, parse_json("a.json", text)) == key


def test_json_is_parsed_and_written() -> None:
    assert parse_json("a.json", '{"a": [1, "é"]}'.encode()) == {"a": [1, "é"]}
    assert encode({"a": [1, 0.5]}) == b'{"a":[1,0.5]}'
    assert encode({"a": [1]}, readable=True) == b'{\n  "a": [\n    1\n  ]\n}\n'


@pytest.mark.parametrize(
    ("cell", "written"),
    [
        *(("=1+1", "'=1+1"), ("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0"), ("@SUM(A1)", "'@SUM(A1)")),
        *(("-2+3", "'-2+3"), ("\t=1", "'\ufffd=1"), ("\r=1", "'\ufffd=1")),
        *(("a\u202eb\x1bc\nd", "a\ufffdb\ufffdc d"), ("-0.25", "-0.25"), (-0.25, "-0.25")),
        *(("riding a horse", "riding a horse"), (None, "")),
    ],
)
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_text_is_no_formula_and_numbers_stay(cell: object, written: str, delimiter: str) -> None:
    assert delimited_text([["a", cell], (1, 2)], delimiter) == f"a{delimiter}{written}\n1{delimiter}2\n"


def test_all_tables_for_spreadsheets_are_written_in_one_place() -> None:
    files = Path(shoe.__file__).parent.rglob("*.py")
    writers = {path.name for path in files if re.search("csv[.]writer|DictW", path.read_text())}
    assert writers == {"spreadsheets.py", "flat_columns.py"}  # the latter writes predictions, to be read again


@pytest.mark.parametrize(
    "text",
    [
        "item,rater\na,b\n\u2028\x0c\x85,1\n\n\n",
        "item;rater\r\na;b\r\n\u2028\x0c\x85;1\r\n",
        "item\trater\ra\tb\r\u2028\x0c\x85\t1",
        "\ufeff'item,rater'\na,b\n\u2028\x0c\x85,1".replace("'", ""),
    ],
)
def test_tables_of_spreadsheets_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "table.csv").write_bytes(text.encode())
    assert delimited_rows(tmp_path / "table.csv") == [["item", "rater"], ["a", "b"], ["\u2028\x0c\x85", "1"]]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "found 0 lines"),
        ("a\0,\0b\0", "not UTF-8"),
        ("a,b\n1,2\n\n3,4", "line 3: found 0 fields, expected 2"),
        ("a;b\n1;'2\n", "line 2: .* separated by semicolons, with quotes in pairs"),
        ("a,b\n1," + "2" * 200_000, "line 2: .* of at most 131,072 characters"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "table.csv").write_text(text.replace("'", '"'))
    with pytest.raises(InputError, match=said):
        delimited_rows(tmp_path / "table.csv")
