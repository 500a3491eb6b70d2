import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import InputError, MissingExtraError, OptionError, ShoeError, printable, quote, unknown_name
from tests.errors import says


def test_an_input_error_says_where_what_and_what_else() -> None:
    for record, field, hint, place in (
        (3, "bbox", "xyxy", "a.json: record 4: bbox: "),
        ("image 'b'", None, None, "a.json: image 'b': "),
        (None, None, None, "a.json: "),
    ):
        error = InputError("a.json", record=record, field=field, found="3", expected="4", hint=hint)
        assert str(error) == f"{place}found 3, expected 4{f' ({hint})' if hint else ''}"
    assert all(issubclass(kind, ShoeError) for kind in (InputError, OptionError, MissingExtraError))
    assert str(MissingExtraError("Parquet", "parquet")).endswith("pip install 'shoe-eval[parquet]'")


def test_names_are_suggested_and_long_texts_cut() -> None:
    error = unknown_name("dataset", "hico_det", ["v-coco", "hico-det"])
    assert says(str(error), "dataset 'hico_det'", "hico-det?", ": hico-det, v-coco")
    assert "did you mean" not in str(unknown_name("dataset", "zzz", ["hico-det"]))
    assert printable("x" * 1_000_000) == "x" * 79 + "…"
    assert len(str(InputError("a", found="x" * 1_000_000, expected="y"))) == 2000


@pytest.mark.parametrize("hostile", ["a\x1b[2Jb", "a\u202eb", "a\rb", "a\x00b", "a\u2028b", "a\u200bb"])
def test_no_escape_reaches_a_terminal(hostile: str) -> None:
    for shown in (printable(hostile), quote(hostile), str(InputError(hostile, found=hostile, expected="x"))):
        assert shown.isprintable()
        assert shown.startswith(("a", "'a"))


@given(st.text() | st.text(st.characters(categories=["L", "N"]), max_size=80))
def test_what_is_shown_is_one_short_printable_line(text: str) -> None:
    assert printable(text).isprintable()
    assert max(len(printable(text)), len(quote(text))) <= 80
    if len(text) <= 80 and text.isalnum():
        assert printable(text) == text
