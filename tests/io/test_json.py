"""JSON: what is no JSON, and what does not fit its type, is named by its place."""

from typing import Any

import msgspec
import pytest

from shoe.core.errors import InputError
from shoe.io.json import Layout, convert, decode, encode, parse_json

BROKEN_JSON = [
    (b"", "line 1, column 1: found the end of the file, expected JSON"),
    (b'{"a": [1, 2', "line 1, column 12: found the end of the file, expected JSON"),
    (b"[1,\n 2,\n NaN]", "line 3, column 2: found 'NaN]', expected JSON (JSON has no NaN or Infinity)"),
    (b"[-Infinity]", "(JSON has no NaN or Infinity)"),
    (b'["\xff"]', "found bytes that are not UTF-8, expected JSON"),
    (b"[" * 5000, "found lists in lists without end, expected JSON"),
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


class _Box(msgspec.Struct):
    bbox: tuple[float, float, float, float]
    label: int = 0


class _Image(msgspec.Struct):
    name: str
    boxes: list[_Box]
    scores: list[float] = []
    words: list[str] = []


LAYOUT = Layout(
    "mine",
    items={"": "image", "*": "image", "boxes": "box", "scores": "triplet"},
    names={"": lambda _document, _index, item: item["name"]},
    expected={"bbox": "[x1, y1, x2, y2]"},
)
GOOD = {"bbox": [1, 2, 3, 4]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": 3}, "image 1: name: found 3, expected text"),
        ({"boxes": {}}, "image 'b': boxes: found an object of 0, expected a list"),
        ({"boxes": [GOOD, {}]}, "image 'b': box 1: bbox: found only no keys, expected this key"),
        ({"boxes": [GOOD, {"a": 1}]}, "image 'b': box 1: bbox: found only 'a', expected this key"),
        ({"boxes": [GOOD, 5]}, "image 'b': box 1: found 5, expected an object"),
        ({"boxes": [{"bbox": [1, 2, "3", 4]}]}, "box 0: bbox: found [1, 2, '3', 4], expected [x1, y1, x2, y2]"),
        ({"boxes": [{"bbox": [1, 2, 3]}]}, "box 0: bbox: found [1, 2, 3], expected [x1, y1, x2, y2]"),
        ({"boxes": [GOOD | {"label": 1.5}]}, "box 0: label: found 1.5, expected a whole number"),
        ({"scores": [0.5, None]}, "image 'b': triplet 1: scores: found None, expected a number"),
        ({"scores": "0.5"}, "image 'b': scores: found '0.5', expected a list"),
        ({"words": ["a", 3]}, "image 'b': words: found ['a', 3], expected text"),
    ],
)
def test_what_does_not_fit_a_type_is_named(changes: dict[str, Any], message: str) -> None:
    document = [{"name": "a", "boxes": [GOOD]}, {"name": "b", "boxes": []} | changes]
    with pytest.raises(InputError) as raised:
        convert("x", document, list[_Image], LAYOUT)
    assert str(raised.value).endswith(message)
    with pytest.raises(InputError) as again:
        decode("x", encode(document), msgspec.json.Decoder(list[_Image]), LAYOUT)
    assert str(again.value) == str(raised.value)


def test_an_object_of_free_keys_is_named_by_its_key() -> None:
    layout = Layout("mine", items={"": "image", "*": "box"}, expected={"bbox": "four numbers"})
    with pytest.raises(InputError, match=r"^x: image 'b': box 0: bbox: found \[\], expected four numbers$"):
        convert("x", {"a": [GOOD], "b": [{"bbox": []}]}, dict[str, list[_Box]], layout)


def test_readable_json_has_a_line_for_each_value() -> None:
    assert encode({"a": [1, 0.5]}) == b'{"a":[1,0.5]}'
    assert encode({"a": [1]}, readable=True) == b'{\n  "a": [\n    1\n  ]\n}\n'
