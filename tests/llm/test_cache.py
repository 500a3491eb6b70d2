import os
import pickle
import sqlite3
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

import diskcache
import pytest

from shoe.llm.cache import SETTINGS, Cache, PlainDisk, RefusedError


class Planted:
    """Runs when it is unpickled."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.witness),)


def library(folder: Path) -> Any:
    return diskcache.Cache(str(folder), disk=PlainDisk, **SETTINGS)


def rows(folder: Path, statement: str, *values: Any) -> list[Any]:
    with sqlite3.connect(folder / "cache.db") as database:
        found = database.execute(statement, values).fetchall()
    database.close()
    return found


def test_what_is_put_is_found_by_the_next_process(tmp_path: Path) -> None:
    with Cache(tmp_path / "c") as cache:
        assert cache.get("a") is None
        cache.put("a", b"\x00one")
        cache.put("a", b"\x00two")
    with Cache(tmp_path / "c") as cache:
        assert cache.get("a") == b"\x00two"
        assert cache.get("b") is None


@pytest.mark.parametrize("mode", [4, 2, 3, 0])
def test_a_planted_pickle_does_not_run_as_a_value(tmp_path: Path, mode: int) -> None:
    folder, witness = tmp_path / "c", tmp_path / "witness"
    with Cache(folder) as cache:
        cache.put("a", b"value")
    data = pickle.dumps(Planted(witness))
    rows(folder, "UPDATE Cache SET mode = ?, value = ? WHERE key = 'a'", mode, data)
    with Cache(folder) as cache:
        assert cache.get("a") is None
    (tmp_path / "planted.val").write_bytes(data)
    rows(folder, "UPDATE Cache SET mode = ?, value = NULL, filename = '../planted.val' WHERE key = 'a'", mode)
    with Cache(folder) as cache:
        assert cache.get("a") is None
        cache.put("a", b"value again")
        assert cache.get("a") == b"value again"
    assert not witness.exists()
    assert (tmp_path / "planted.val").exists()


def test_a_planted_pickle_does_not_run_as_a_key(tmp_path: Path) -> None:
    folder, witness = tmp_path / "c", tmp_path / "witness"
    with Cache(folder) as cache:
        cache.put("a", b"value")
    rows(folder, "UPDATE Cache SET raw = 0, key = ?", pickle.dumps(Planted(witness)))
    with Cache(folder) as cache:
        assert cache.get("a") is None
    with library(folder) as below, pytest.raises(RefusedError):
        list(below)
    assert not witness.exists()


@pytest.mark.parametrize("disk", [diskcache.Disk, diskcache.JSONDisk])
def test_the_librarys_own_disks_do_run_what_is_planted(tmp_path: Path, disk: Any) -> None:
    witness = tmp_path / "witness"
    with diskcache.Cache(str(tmp_path / "c"), disk=disk) as below:
        below["a"] = 1
    rows(tmp_path / "c", "UPDATE Cache SET mode = 4, value = ?", pickle.dumps(Planted(witness)))
    with diskcache.Cache(str(tmp_path / "c"), disk=disk) as below, suppress(Exception):
        below["a"]
    assert witness.exists()


@pytest.mark.parametrize("value", [1.5, None, True, [1], {"a": 1}, ("a",), 2**63, object(), bytearray(b"a")])
def test_nothing_that_needs_a_pickle_is_stored(tmp_path: Path, value: Any) -> None:
    with library(tmp_path / "c") as below:
        with pytest.raises(RefusedError):
            below["a"] = value
        with pytest.raises(RefusedError):
            below[value] = "a"
        with pytest.raises(RefusedError):
            below.set("a", BytesIO(b"a"), read=True)
        for plain in ("a", 2**63 - 1, b"\x00"):
            below[plain] = plain
            assert below[plain] == plain


def test_nothing_is_ever_evicted(tmp_path: Path) -> None:
    with library(tmp_path / "c") as below:
        assert below.eviction_policy == "none"
        assert below.cull_limit == 0
        assert below.size_limit == 2**62
        for number in range(50):
            below[str(number)] = bytes(10_000)
        below.reset("size_limit", 1)
        below.cull()
        below["one more"] = bytes(10_000)
        assert len(below) == 51
    assert list((tmp_path / "c").iterdir()) == [tmp_path / "c" / "cache.db"]


@pytest.mark.parametrize("before", [None, 0o755, 0o777])
def test_the_folder_is_the_users_alone(tmp_path: Path, before: int | None) -> None:
    folder = tmp_path / "c"
    if before is not None:
        folder.mkdir()
        folder.chmod(before)
    with Cache(folder) as cache:
        cache.put("a", b"value")
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_database_that_is_none_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "c"
    folder.mkdir()
    (folder / "cache.db").write_bytes(b"no database" * 1000)
    with Cache(folder) as cache:
        cache.put("a", b"value")
        assert cache.get("a") == b"value"


@pytest.mark.parametrize(
    "damage",
    [
        "DROP TABLE Cache",
        "DELETE FROM Settings",
        "INSERT OR REPLACE INTO Settings VALUES ('get', 3)",
        "INSERT OR REPLACE INTO Settings VALUES ('disk_other', 3)",
        "INSERT OR REPLACE INTO Settings VALUES ('sqlite_nonsense', 'a; b')",
        "UPDATE Cache SET value = 7",
        "UPDATE Cache SET value = 'text'",
        "UPDATE Cache SET value = NULL",
        "ALTER TABLE Cache RENAME COLUMN value TO other",
    ],
)
def test_a_foreign_database_is_a_miss(tmp_path: Path, damage: str) -> None:
    with Cache(tmp_path / "c") as cache:
        cache.put("a", b"value")
    rows(tmp_path / "c", damage)
    with Cache(tmp_path / "c") as cache:
        assert cache.get("a") in (None, b"value")
        cache.put("b", b"value")


def test_a_folder_that_cannot_be_made_is_a_miss(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with Cache(tmp_path / "file" / "c") as cache:
        cache.put("a", b"value")
        assert cache.get("a") is None


def test_a_name_is_no_variable(tmp_path: Path) -> None:
    with Cache(tmp_path / "$HOME") as cache:
        cache.put("a", b"value")
        assert cache.get("a") is None
