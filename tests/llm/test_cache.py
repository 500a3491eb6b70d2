import os
import pickle
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import diskcache
import pytest

from shoe.llm.cache import Cache


class Planted:
    """Runs when it is unpickled."""

    def __init__(self, witness: Path) -> None:
        self.witness = witness

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.witness),)


def rows(folder: Path, statement: str, *values: Any) -> list[Any]:
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        return database.execute(statement, values).fetchall()


def put(folder: Path, **values: bytes) -> None:
    with closing(Cache(folder)) as cache:
        for key, value in values.items():
            cache.set(key, value)


def got(folder: Path, key: str) -> Any:
    with closing(Cache(folder)) as cache:
        return cache.get(key)


def test_what_is_put_is_found_by_the_next_process(tmp_path: Path) -> None:
    assert got(tmp_path / "c", "a") is None
    put(tmp_path / "c", a=b"\x00one")
    put(tmp_path / "c", a=b"\x00two")
    assert got(tmp_path / "c", "a") == b"\x00two"
    assert got(tmp_path / "c", "b") is None


@pytest.mark.parametrize("mode", [4, 2, 3, 0])
def test_a_planted_pickle_does_not_run_as_a_value(tmp_path: Path, mode: int) -> None:
    folder, witness = tmp_path / "c", tmp_path / "witness"
    put(folder, a=b"value")
    data = pickle.dumps(Planted(witness))
    rows(folder, "UPDATE Cache SET mode = ?, value = ? WHERE key = 'a'", mode, data)
    assert got(folder, "a") is None
    (tmp_path / "planted.val").write_bytes(data)
    rows(folder, "UPDATE Cache SET mode = ?, value = NULL, filename = '../planted.val' WHERE key = 'a'", mode)
    assert got(folder, "a") is None
    put(folder, a=b"value again")
    assert got(folder, "a") == b"value again"
    assert not witness.exists()
    assert (tmp_path / "planted.val").exists()


def test_a_planted_pickle_does_not_run_as_a_key(tmp_path: Path) -> None:
    folder, witness = tmp_path / "c", tmp_path / "witness"
    put(folder, a=b"value")
    rows(folder, "UPDATE Cache SET raw = 0, key = ?", pickle.dumps(Planted(witness)))
    assert got(folder, "a") is None
    with closing(Cache(folder)) as cache:
        assert cache.peekitem() is None, "this would turn the key into what it stands for"
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


@pytest.mark.parametrize("value", [1, "text", None, [1], {"a": 1}, object(), bytearray(b"a")])
def test_nothing_but_bytes_under_texts_is_stored(tmp_path: Path, value: Any) -> None:
    with closing(Cache(tmp_path / "c")) as cache:
        cache.set("a", value)
        cache.set([value], b"a")
        assert cache.get("a") is None
    assert rows(tmp_path / "c", "SELECT * FROM Cache") == []


def test_nothing_is_ever_evicted(tmp_path: Path) -> None:
    with closing(Cache(tmp_path / "c")) as cache:
        for number in range(50):
            cache.set(str(number), bytes(10_000))
        cache.reset("size_limit", 1)
        cache.cull()
        cache.set("one more", bytes(10_000))
    assert rows(tmp_path / "c", "SELECT COUNT(*) FROM Cache") == [(51,)]
    assert list((tmp_path / "c").iterdir()) == [tmp_path / "c" / "cache.db"]


@pytest.mark.parametrize("before", [None, 0o755, 0o777])
def test_the_folder_is_the_users_alone(tmp_path: Path, before: int | None) -> None:
    folder = tmp_path / "c"
    if before is not None:
        folder.mkdir()
        folder.chmod(before)
    put(folder, a=b"value")
    assert folder.stat().st_mode & 0o777 == 0o700


def test_a_link_is_a_miss_and_what_it_points_to_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir(mode=0o755)
    (tmp_path / "c").symlink_to("other")
    put(tmp_path / "c", a=b"value")
    assert got(tmp_path / "c", "a") is None
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o755
    assert [*(tmp_path / "other").iterdir()] == []


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
    put(tmp_path / "c", a=b"value")
    rows(tmp_path / "c", damage)
    assert got(tmp_path / "c", "a") in (None, b"value")
    put(tmp_path / "c", b=b"value")


@pytest.mark.parametrize("name", ["file/c", "none/c", "$HOME"])
def test_a_folder_that_cannot_be_used_is_a_miss(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "none").mkdir()
    (tmp_path / "none" / "c").mkdir()
    (tmp_path / "none" / "c" / "cache.db").write_bytes(b"no database" * 1000)
    put(tmp_path / name, a=b"value")
    assert got(tmp_path / name, "a") is None
