"""JSON: what is none is shown where it breaks."""

import pytest

from shoe.core.errors import InputError
from shoe.core.io.json import encode, parse_json

BROKEN_JSON = [
    (b"", "line 1, column 1: found the end of the file, expected JSON"),
    (b'{"a": [1, 2', "line 1, column 12: found the end of the file, expected JSON"),
    (b"[1,\n 2,\n NaN]", "line 3, column 2: found 'NaN]', expected JSON (JSON has no NaN or Infinity)"),
    (b"[-Infinity]", "(JSON has no NaN or Infinity)"),
    (b'["\xff"]', "found bytes that are not UTF-8, expected JSON"),
    (b"[" * 5000, "nested lists or objects, expected fewer levels"),
    (b"[1] [2]", "line 1, column 5: found '[2]', expected JSON"),
]


@pytest.mark.parametrize(("data", "message"), BROKEN_JSON)
def test_broken_json_is_shown_where_it_breaks(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as raised:
        parse_json("a.json", data)
    assert message in str(raised.value)


def test_a_line_of_json_is_named_by_its_number() -> None:
    with pytest.raises(InputError, match=r"a.jsonl: line 7, column 5: found the end of the line, expected JSON"):
        parse_json("a.jsonl", b"[1, ", line=7)


def test_json_is_parsed() -> None:
    assert parse_json("a.json", '{"a": [1, "é"]}'.encode()) == {"a": [1, "é"]}


def test_readable_json_has_a_line_for_each_value() -> None:
    assert encode({"a": [1, 0.5]}) == b'{"a":[1,0.5]}'
    assert encode({"a": [1]}, readable=True) == b'{\n  "a": [\n    1\n  ]\n}\n'
