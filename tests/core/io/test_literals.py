"""Written-out Python values, as CDN and GEN-VLKT store them."""

import ast
import os
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import example, given, strategies as st

from shoe.core.errors import InputError
from shoe.core.io.tolerant import parse_literal
from shoe.predictions import read_predictions

values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4).filter(str.isprintable), inner),
    max_leaves=12,
)


@given(values.filter(lambda value: not isinstance(value, str)))
@example(["it's", "both ' and \"", "np.float32(0.5)", "array([1.])", "12.", "True", "\\", "\n", "\x00", "(1, 2)"])
def test_what_python_writes_is_read_as_python_does(value: Any) -> None:
    assert parse_literal("x", repr(value)) == ast.literal_eval(repr(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[np.float32(0.5), np.int64(-3), numpy.float64(1e-07)]", [0.5, -3, 1e-07]),
        ("[array([1., 2.5], dtype=float32)]", [[1.0, 2.5]]),
        ("[array([[1., 2.],\n       [3., 4.e+02]])]", [[[1.0, 2.0], [3.0, 400.0]]]),
        ("[np.array([1, 2])]", [[1, 2]]),
        ("{'a': (1, 2), 'b': (3,)}", {"a": [1, 2], "b": [3]}),
        ("[True, False, None]", [True, False, None]),
        ('["it\'s", \'say "so"\']', ["it's", 'say "so"']),
    ],
)
def test_numpy_and_tuples_are_read(text: str, value: Any) -> None:
    assert parse_literal("x", text) == value


def test_what_numpy_prints_is_read() -> None:
    array = np.random.default_rng(0).random((3, 4), np.float32) * 1000
    parsed = parse_literal("x", str({"bbox": array, "score": array[0, 0], "id": np.int64(5)}))
    assert np.allclose(parsed["bbox"], array)
    assert np.float32(parsed["score"]) == array[0, 0]


@pytest.mark.parametrize(
    "text",
    [
        *("[__import__('os').system('touch PLACE')]", "[open('PLACE', 'w')]", "{'a': lambda: 0}", "[nan]", "[inf]"),
        *("[1 + 1]", "['a' 'b']", "['a", "[1, 2", "'text'", "", "[f'{1}']", "[b'1']", "(" * 5000 + ")" * 5000),
    ],
)
def test_anything_else_is_refused_and_nothing_runs(tmp_path: Path, text: str) -> None:
    place = tmp_path / "ran"
    with pytest.raises(InputError):
        parse_literal("x", text.replace("PLACE", str(place)))
    assert not os.path.exists(place)


def test_results_of_cdn_are_read_with_or_without_json_around_them(tmp_path: Path) -> None:
    box = {"bbox": [np.float32(1.5), np.float32(2), np.float32(30), np.float32(40)], "category_id": np.int64(0)}
    hoi = {"subject_id": np.int64(0), "object_id": np.int64(0), "category_id": np.int64(4), "score": np.float32(0.25)}
    results = str({"preds": [{"filename": "a.jpg", "predictions": [box], "hoi_prediction": [hoi]}], "gts": []})
    for name, content in (("json", orjson.dumps(results)), ("text", results.encode())):
        (tmp_path / name).write_bytes(content)
        table = read_predictions(tmp_path / name)
        assert (table.human_boxes.tolist(), table.score.tolist()) == ([[1.5, 2, 30, 40]], [0.25])
        assert table.verbs[table.verb[0]] == "board"
