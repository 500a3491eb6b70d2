"""Damaged files are read or refused in one line; nothing else comes out of a reader."""

import gzip
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import orjson
import pytest
from hypothesis import example, given, strategies as st

from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import ShoeError
from tests.benchmarks.samples import INSTANCES, PPDM, PPDM_MIXED
from tests.benchmarks.test_hico_det import IMAGE, TRIPLET
from tests.damage import damaged_bytes, damaged_json
from tests.examples import examples

FILES = [sample.read_bytes() for sample in (INSTANCES, PPDM, PPDM_MIXED)]
HAKE = orjson.dumps({IMAGE: {"labels": [TRIPLET] * 2}})
CASES = [*((data, damaged_json) for data in (*FILES, HAKE)), *((data, damaged_bytes) for data in FILES[::2])]


@pytest.mark.parametrize(("data", "damaged"), CASES)
@examples(2)
@given(seed=st.integers(0, 2**32))
@example(seed=0)
def test_damaged_json_is_read_or_refused(
    tmp_path: Path, data: bytes, damaged: Callable[[bytes, int], bytes], seed: int
) -> None:
    (tmp_path / "damaged.json").write_bytes(damaged(data, seed))
    with suppress(ShoeError):
        read_truth_file(tmp_path / "damaged.json")


def test_a_seed_names_one_damage_whatever_came_before() -> None:
    data = b'[{"a": [1, {"b": [2]}], "c": [3, 4]}]'
    assert [damaged_json(data, seed) for seed in range(1000)] == [damaged_json(data, seed) for seed in range(1000)]


@examples(2)
@given(seed=st.integers(0, 2**32))
def test_damaged_gzip_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    (tmp_path / "damaged.json.gz").write_bytes(damaged_bytes(gzip.compress(PPDM.read_bytes()), seed))
    with suppress(ShoeError):
        read_truth_file(tmp_path / "damaged.json.gz")
