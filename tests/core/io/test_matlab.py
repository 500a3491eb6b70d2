"""The reader against SciPy's writer, and against damage."""

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra import numpy as hnp
from scipy.io import savemat

from shoe.core.errors import InputError
from shoe.core.io.matlab import load_matlab, matrix, number, records, text, whole_number
from tests.errors import input_error


def _saved(compressed: bool = False, **variables: Any) -> bytes:
    buffer = io.BytesIO()
    savemat(buffer, variables, do_compression=compressed, oned_as="row")
    return buffer.getvalue()


def _same(value: Any, written: Any) -> bool:
    """Tell whether a value is what was written, in the words of the module's docstring."""
    if isinstance(written, dict):
        (entry,) = records(value)
        return entry.keys() == written.keys() and all(_same(entry[name], written[name]) for name in written)
    if isinstance(written, np.ndarray) and written.dtype == object:
        return all(_same(v, w) for v, w in zip(value, written.ravel(order="F"), strict=True))
    if isinstance(written, str):
        return bool(value == written) if written else value == "" or np.size(value) == 0
    if np.size(written) == 1:
        return bool(np.array_equal(value, np.ravel(written)[0], equal_nan=True))
    return value.shape == written.shape and bool(np.array_equal(value, written, equal_nan=True))


_numbers = hnp.arrays(
    st.sampled_from(["u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f4", "f8"]),
    hnp.array_shapes(min_dims=2, max_dims=3, min_side=0, max_side=4),
)
_text = st.text(st.characters(min_codepoint=32, max_codepoint=0x2FFF, exclude_categories=["Cs"]), max_size=6)
_field = st.text("abcxyz_", min_size=1, max_size=6).filter(lambda name: not name.startswith("_"))


def _cells(values: list[Any]) -> Any:
    cells = np.empty((1, len(values)), object)
    cells[0, :] = values
    return cells


_values = st.recursive(
    _numbers | _text,
    lambda inner: (
        st.dictionaries(_field, inner, min_size=1, max_size=3)
        | st.lists(_text | st.integers(0, 200).map(float), min_size=1, max_size=3).map(_cells)
    ),
    max_leaves=6,
)


@given(_values, st.booleans())
def test_what_scipy_writes_is_read(written: Any, compressed: bool) -> None:
    data = _saved(compressed, before=np.ones(3), wanted=written, after="x")
    assert _same(load_matlab("a.mat", data, ["wanted"])["wanted"], written)


def test_only_the_variables_asked_for_are_read() -> None:
    data = _saved(a=1.0, b="b", c=np.zeros((2, 0)))
    assert load_matlab("a.mat", data, ["b", "d"]) == {"b": "b"}
    assert load_matlab("a.mat", data, []) == {}
    # Empty cells are one matrix.
    cells = load_matlab("a.mat", _saved(c=_cells([np.zeros((0, 0)), np.ones(2), np.zeros((0, 0))])), ["c"])["c"]
    assert cells[0].shape == (0, 0)
    assert cells[0] is cells[2]


@pytest.mark.parametrize("compressed", [False, True])
def test_what_cannot_be_read_is_said_only_of_what_is_asked_for(compressed: bool) -> None:
    from scipy.sparse import csc_array

    data = _saved(compressed, good=1.0, sparse=csc_array(np.eye(3)), imaginary=np.array([[1j, 2.0]]))
    assert load_matlab("a.mat", data, ["good"]) == {"good": 1.0}
    for variable, reason in (("sparse", "class 5"), ("imaginary", "(complex numbers)")):
        with input_error(reason, source="a.mat"):
            load_matlab("a.mat", data, [variable])


@given(st.data(), st.booleans())
def test_damaged_bytes_are_read_or_refused(data: st.DataObject, compressed: bool) -> None:
    structs = np.array([[("a", 1.0), ("b", 2.0)]], [("name", "O"), ("value", "O")])
    content = bytearray(_saved(compressed, s=structs, m=np.arange(12.0).reshape(3, 4), c=_cells(["x", "yy"]), t="text"))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(126, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(InputError):
        load_matlab("a.mat", bytes(content[: data.draw(st.integers(128, len(content)))]), ["s", "m", "c", "t"])


def test_no_more_is_unpacked_than_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = _saved(True, zeros=np.zeros(200_000))
    assert load_matlab("a.mat", data, ["zeros"])["zeros"].shape == (1, 200_000)
    monkeypatch.setattr("shoe.core.io.files.LARGEST_UNPACKED", 1_000_000)
    with input_error("0.001 GB"):
        load_matlab("a.mat", data, ["zeros"])


def test_values_are_returned_if_they_are_of_the_right_kind() -> None:
    assert records(np.zeros((0, 0))) == []
    assert records([{"a": 1}]) == [{"a": 1}]
    assert text("a") == text(["a"]) == "a"
    assert (number(2), whole_number(2.0)) == (2.0, 2)
    assert matrix(3).tolist() == [[3.0]]
    wrong: dict[Callable[[Any], Any], tuple[Any, ...]] = {
        records: ([1.0, {"a": 1}], "a", np.ones(2)), text: ("", 1.0, ["a", "b"]), number: ("1", np.ones(2)),
        whole_number: (1.5, float("nan")), matrix: ("a", [1.0]),
    }  # fmt: skip
    for take, value in ((take, value) for take, values in wrong.items() for value in values):
        with pytest.raises(ValueError):
            take(value)
