"""JSON: what is none is shown where it breaks."""

import pytest

from shoe.core.io.json import encode, parse_json, repeated_key
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
