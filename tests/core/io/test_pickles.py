"""Pickles are read, never run."""

import os
import pickle
import re
import struct
import tracemalloc
from collections import OrderedDict, defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import InputError
from shoe.core.io.pickles import load_plain
from shoe.predictions import read_predictions
from tests.errors import input_error

PROTOCOLS = range(2, 6)


class Planted:
    """Runs a command when a careless reader loads it."""

    def __init__(self, call: Any, *arguments: Any) -> None:
        self._parts = (call, arguments)

    def __reduce__(self) -> Any:
        return self._parts


def refused(data: bytes, *said: str) -> None:
    with input_error(*said, source="x.pkl"):
        load_plain("x.pkl", data)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("call", [os.system, eval, exec, getattr, open, __import__, Path, np.load, np.fromfile])
def test_a_planted_call_does_not_run(tmp_path: Path, call: Any, protocol: int) -> None:
    target, path = tmp_path / "ran", tmp_path / "planted.pkl"
    command = f"touch {target}" if call is os.system else f"open({str(target)!r}, 'w')"
    path.write_bytes(pickle.dumps([Planted(call, command)], protocol))
    with input_error(*(["execute code"] if protocol in PROTOCOLS else ())):  # older pickles are no format
        read_predictions(path)
    assert not target.exists()


def test_known_names_cannot_be_misused_and_torch_tensors_are_refused_with_what_to_do() -> None:
    name = b"cnumpy\ndtype\n"
    for state in (b"}X\x01\x00\x00\x00aK\x01sb.", b"}}X\x0b\x00\x00\x00__globals__K\x01s\x86b."):
        refused(b"\x80\x02" + name + state, "function's attributes")
    refused(b"\x80\x02cbuiltins\nlist\n(tR.", "a call", "list")
    refused(b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n.", "torch tensor", "JSON: import json, torch; json.dump(")


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(plain, st.sampled_from(PROTOCOLS))
def test_plain_values_come_back(value: Any, protocol: int) -> None:
    assert load_plain("x.pkl", pickle.dumps(value, protocol)) == value


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "value",
    [
        *(np.array([1.5, 2.5], np.float32), np.asfortranarray(np.arange(6).reshape(2, 3))),
        *(np.arange(24, dtype=">i2").reshape(2, 3, 4), np.array(["a", "bc"]), np.array([True, False])),
        *(np.array([{"a": 1}, {"b": 2}]), np.zeros((0, 4)), np.float32(0.25), np.int64(7), np.array(3.0)),
    ],
)
def test_numpy_values_become_plain(value: Any, protocol: int) -> None:
    assert load_plain("x.pkl", pickle.dumps([value, value], protocol)) == [value.tolist(), value.tolist()]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_numpy_of_any_version_and_other_plain_containers_become_lists_and_dicts(protocol: int) -> None:
    counts: defaultdict[str, list[int]] = defaultdict(list, {"a": [1]})
    value = [OrderedDict([("k", 1)]), counts, (1, 2), b"abc"]
    assert load_plain("x.pkl", pickle.dumps(value, protocol)) == [{"k": 1}, {"a": [1]}, [1, 2], "abc"]
    data = pickle.dumps(np.array([1.0, 2.0]), 2)
    assert b"numpy._core.multiarray" in data
    assert load_plain("x.pkl", data.replace(b"numpy._core.multiarray", b"numpy.core.multiarray")) == [1.0, 2.0]


@pytest.mark.parametrize("dtype", ["V8", "M8[s]", "f8,f8", "c16", "nonsense"])
def test_arrays_of_other_elements_are_refused(dtype: str) -> None:
    data = b"\x80\x02cnumpy\ndtype\nX" + struct.pack("<I", len(dtype)) + dtype.encode() + b"\x85R" + b"0"
    data += b"cnumpy.core.multiarray\nscalar\ncnumpy\ndtype\nX" + struct.pack("<I", len(dtype)) + dtype.encode()
    refused(data + b"\x85R" + b"X\x08\x00\x00\x0012345678\x86R.")


def test_values_that_are_larger_than_their_file_are_refused() -> None:
    data = pickle.dumps(np.zeros(4), 2)
    grown = data.replace(b"K\x04\x85", b"J\xff\xff\xff\x7f\x85")
    assert grown != data
    refused(grown, "size", "content")
    # A small file that unfolds to a huge value.
    value: list[Any] = [0]
    for _ in range(30):
        value = [value, value]
    rows = [{"filename": "a", "hoi_prediction": [0] * 10_000}] * 10_000
    for small in (value, rows):
        refused(pickle.dumps(small, 4), "small file")
    # A memo of four billion entries costs nothing.
    tracemalloc.start()
    assert load_plain("x.pkl", b"\x80\x02]r\xff\xff\xff\xff.") == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    own: list[Any] = []
    own.append(own)
    refused(pickle.dumps(own, 4), "contains itself")
    refused(b"\x80\x02" + b"]" * 50_000 + b"a" * 49_999 + b".", "32 deep")


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x02cutils\nCacheTemplate\n)R}X\x01\x00\x00\x00aK\x01sb.",  # a state
        b"\x80\x02cutils\nCacheTemplate\n)RN}X\x09\x00\x00\x00__class__K\x01s\x86b.",  # a state of slots
        b"\x80\x02cutils\nCacheTemplate\n)\x81.",
        b"\x80\x02cutils\nCacheTemplate\n}X\x05\x00\x00\x00_callK\x01sb.",  # a change of the class
        b"\x80\x02cutils\nCacheTemplate\n.",
        b"\x80\x02cos\nsystem\nX\x04\x00\x00\x00true\x85R.",
        b"\x80\x02cutils\nCacheTemplate.get\n)R.",
    ],
)
def test_a_cache_record_is_only_a_dict(data: bytes) -> None:
    refused(data)
    calls = b"\x80\x02cos\nCacheTemplate\nX\x04\x00\x00\x00true\x85RX\x01\x00\x00\x00aK\x01s."
    assert load_plain("x", calls) == {"a": 1}


@pytest.mark.parametrize(
    "data",
    [
        b"\x80\x04\x8e\xff\xff\xff\xff\xff\xff\xff\x7f",  # bytes beyond the end
        b"\x80\x02\x8a\xff" + b"\x7f" * 255 + b".",  # a number of 255 bytes
        b"\x80\x02}(]K\x01u.",  # a list as key
        b"\x80\x02Pabc\n.",  # a persistent name
        b"\x80\x02\x82\x01.",  # an extension
        *(b"\x80\x02.", b"\x80\x02]", b"\x80\x02\xff."),
    ],
)
def test_hostile_programs_are_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.pkl"
    path.write_bytes(data)
    with pytest.raises(InputError, match=re.escape(str(path))):
        read_predictions(path)


@pytest.mark.parametrize("wrapped", [b"}%sNs.", b"(%sNd.", b"}(%sNu.", b"\x8f(%s\x90.", b"(%s\x91."])
def test_keys_that_are_nested_are_refused_before_they_are_hashed(wrapped: bytes) -> None:
    deep = b")" + b"\x85" * 3  # hashing a million of them takes more stack than there is
    refused(b"\x80\x04" + wrapped.replace(b"%s", deep), "key of type tuple")
    assert load_plain("x", b"\x80\x04}(K\x01K\x02\x86K\x03u.") == {(1, 2): 3}


def test_several_pickled_objects_in_a_file_are_refused() -> None:
    with input_error() as error:
        load_plain("p.pkl", pickle.dumps([1]) + pickle.dumps([2]))
    assert "several pickled objects" in str(error.value)
