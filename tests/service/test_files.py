"""The store: whatever the pieces, the same file; nothing half there, nothing that unpacks to a flood."""

import gzip
import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from shoe.service.errors import DamagedError, FullError, NotFoundError, TooLargeError
from shoe.service.folder import Store
from tests.examples import examples
from tests.service.calling import received

zstandard = pytest.importorskip("zstandard")
PACK: dict[str | None, Any] = {None: bytes, "gzip": gzip.compress, "zstd": zstandard.compress}


def made_store(path: Path) -> Store:
    (path / "parts").mkdir()
    return Store(path / "files", path / "parts")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return made_store(tmp_path)


def cut(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@given(st.binary(max_size=3000), st.integers(1, 4000), st.sampled_from([None, "gzip", "zstd"]))
@pytest.mark.slow
@examples(5)
def test_a_file_is_the_same_however_it_comes(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, size: int, encoding: str | None
) -> None:
    folder = tmp_path_factory.mktemp("store")
    store, packed = made_store(folder), PACK[encoding](data)
    found = received(store, cut(packed, size), encoding, free_below=0)
    assert (found.sha256, found.size) == (hashlib.sha256(data).hexdigest(), len(data))
    assert store.path(found.sha256).read_bytes() == data
    assert received(store, [data], free_below=0) == found
    assert not list((folder / "parts").iterdir())
    if encoding and len(packed) > 1:
        with pytest.raises(DamagedError):
            received(store, [packed[:-1]], encoding, free_below=0)


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_what_unpacks_to_a_flood_is_refused_before_it_is_there(store: Store, encoding: str) -> None:
    packed = PACK[encoding](bytes(20_000_000))
    for more, found in (({}, "300 times"), ({"limit": 1000}, "1,000 bytes")):
        with pytest.raises(TooLargeError, match=found):
            received(store, [packed], encoding, free_below=0, **more)
    assert not list(store.folder.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
def test_nothing_small_costs_much(store: Store, encoding: str) -> None:
    empty = PACK[encoding](b"")
    ends, took = empty * (3_000_000 // len(empty)), []
    for size in (len(ends), 500):
        began = time.process_time()
        received(store, cut(ends, size), encoding, free_below=0)
        took.append(time.process_time() - began)
    assert took[0] < 5 * took[1]


def test_a_decoder_keeps_little(store: Store) -> None:
    wide = zstandard.ZstdCompressionParameters(window_log=27, write_content_size=False)
    packer = zstandard.ZstdCompressor(compression_params=wide).compressobj()
    with pytest.raises(DamagedError, match="memory"):
        received(store, [packer.compress(b"1") + packer.flush()], "zstd", free_below=0)


def test_refusals_keep_nothing(store: Store) -> None:
    with pytest.raises(TooLargeError):
        received(store, [b"12345"], limit=4, free_below=0)
    with pytest.raises(FullError):
        received(store, [b"1"], free_below=1 << 62)
    for name in ("../../etc/passwd", "A" * 64, "", "0" * 63):
        with pytest.raises(NotFoundError):
            store.path(name)
    kept = received(store, [b"kept"], free_below=0).sha256
    other = received(store, [b"not kept"], free_below=0).sha256
    assert store.remove([other]) == 0  # too young: what will refer to it may be being written
    stored = store.path(other).stat().st_mtime
    assert store.remove([other], before=stored - 1) == 0
    assert store.remove([other, "0" * 64], before=stored) == 1
    assert list(store.hashes()) == [kept]
