"""What does not fit its type is named by record and field, with what was found and what was expected."""

from typing import Annotated, Any, Literal

import msgspec
import pytest
from msgspec import Meta, Struct

from shoe.core.io.json import Box, Finite, ImageName, Number, Whole, WholeOrText, describe_value, explain_error


class Item(Struct):
    box: Box
    id: Whole
    text_id: WholeOrText = 0
    score: Number | None = None
    parts: dict[str, Finite] | list[Finite] = []
    seen_by: Literal["team", "public"] = "team"


class Record(Struct):
    name: ImageName
    items: Annotated[list[Item], Meta(extra={"item": "triplet"})]


GOOD: dict[str, Any] = {"box": [1, 2, 3, 4.5], "id": 7}


def record(**changes: Any) -> list[Any]:
    return [{"name": "a", "items": []}, {"name": "b", "items": [GOOD, GOOD | changes]}]


BROKEN: list[tuple[Any, str]] = [
    ([3], "record 1: found 3, expected an object with 'name', 'items'"),
    ({"name": "a"}, "found an object of 1, expected a list"),
    ([{"name": "a"}], "record 1: items: found only keys 'name', expected this key"),
    ([{}], "record 1: name: found no keys, expected this key"),
    ([{"name": 1.5, "items": []}], "record 1: name: found 1.5, expected a file name"),
    ([{"name": "a", "items": {}}], "record 1: items: found an object of 0, expected a list"),
    ([{"name": "a", "items": [[]]}], "record 1: triplet 1: found [], expected an object with 'box', 'id'"),
    (record(box=[1, 2, 3]), "record 2: triplet 2: box: found [1, 2, 3], expected [x1, y1, x2, y2]"),
    (record(box=[1, 2, 3, "4"]), "record 2: triplet 2: box: found [1, 2, 3, '4'], expected [x1, y1, x2, y2]"),
    (record(box=None), "record 2: triplet 2: box: found None, expected [x1, y1, x2, y2]"),
    (record(id=1.5), "record 2: triplet 2: id: found 1.5, expected a whole number"),
    (record(id="1"), "record 2: triplet 2: id: found '1', expected a whole number"),
    (record(id=True), "record 2: triplet 2: id: found True, expected a whole number"),
    (record(id=1e300), "record 2: triplet 2: id: found 1e+300, expected a whole number"),
    (record(text_id="1.5"), "record 2: triplet 2: text_id: found '1.5', expected a whole number"),
    (record(seen_by="all"), "record 2: triplet 2: seen_by: found 'all', expected one of 'public', 'team'"),
    (record(score="high"), "record 2: triplet 2: score: found 'high', expected a number"),
    (record(parts={"a": 1, "b": None}), "record 2: triplet 2: parts: b: found None, expected a finite number"),
    (record(parts={"b": float("inf")}), "record 2: triplet 2: parts: b: found inf, expected a finite number"),
    (record(parts=[1, float("nan")]), "record 2: triplet 2: parts: item 2: found nan, expected a finite number"),
]


@pytest.mark.parametrize(("document", "message"), BROKEN)
def test_what_does_not_fit_is_named(document: Any, message: str) -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(document, list[Record])
    assert str(explain_error("f", caught.value, document, list[Record])) == f"f: {message}"


def test_a_part_of_a_file_has_its_place_and_its_field() -> None:
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert([1, "x"], list[Number])
    error = explain_error("f", caught.value, [1, "x"], list[Number], lambda row, _: f"line {row + 2}", field="hx1")
    assert (error.source, error.record, error.field, "'x'" in str(error)) == ("f", "line 3", "hx1", True)
    document = {"name": "a", "items": 5}
    with pytest.raises(msgspec.ValidationError) as caught:
        msgspec.convert(document, Record)
    error = explain_error("f", caught.value, document, Record, record="class 3")
    assert (error.source, error.record, error.field, "found 5" in str(error)) == ("f", "class 3", "items", True)


@pytest.mark.parametrize("value", [7, 7.0, "7", "7\n", " 7.0"])
def test_a_whole_number_has_many_spellings(value: Any) -> None:
    assert float(msgspec.convert(GOOD | {"text_id": value}, Item).text_id) == 7


def test_values_with_lists_inside_are_shown_by_their_size() -> None:
    shown = [describe_value(v) for v in ([1, 2], [[1], 2], {"a": 1}, "a" * 100)]
    assert shown == ["[1, 2]", "a list of 2", "an object of 1", "'" + "a" * 78 + "…"]
