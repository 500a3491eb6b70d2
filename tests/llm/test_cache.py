"""The cache of answers: what it gives back, for several processes; and that nothing in it is unpickled."""

import pickle
import sqlite3
import stat
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError, ShoeError
from shoe.llm.cache import AnswerCache, AnswerStore, cache_folder, clear, open_cache
from shoe.llm.ledger import answer_entry
from shoe.llm.request import Request
from tests.llm.ledgers import IDENTITY, fresh, line, request, states, written

RAN = Path("ran")


class Bomb:
    """Whoever unpickles it leaves a file behind."""

    def __reduce__(self) -> tuple[Any, ...]:
        return RAN.touch, ()


def opened(folder: Path, said: list[str] | None = None) -> AnswerCache:
    store = open_cache(str(folder / "cache"), (said if said is not None else []).append)
    assert store is not None
    return AnswerCache(store, fresh(folder))


def entry(*numbers: int, state: int = 3, attempt: int = 1) -> dict[str, Any]:
    asked = Request(request(*numbers).key, {}, {"about": "a test"}, attempt)
    return answer_entry(asked, {"said": {key.hex(): state for key in asked.keys}}, "http://there/v1")


def test_an_answer_comes_back_with_its_origin_and_only_for_its_rater_and_attempt(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    assert not cache.exists()
    assert cache.answer(request(1).key) is None
    cache.add(entry(1))
    cache.add(entry(1, state=4, attempt=2))
    again = opened(tmp_path)
    assert again.exists()
    found = [again.answer(request(1).key, attempt) for attempt in (1, 2)]
    entries = (entry(1), 3), (entry(1, state=4, attempt=2), 4)
    assert found == [(one | {"origin": "cache"}, {request(1).key.hex(): state}) for one, state in entries]
    other = AnswerCache(again._store, fresh(tmp_path, IDENTITY | {"revision": "2"}))
    assert not other.exists()
    assert other.answer(request(1).key) is None


def test_an_answer_to_several_questions_is_found_by_each_also_after_one_is_answered_anew(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.add(entry(1, 2, 3))
    cache.add(entry(1, 4))
    found = [cache.answer(request(number).key) or ({}, {}) for number in (1, 2, 3, 4)]
    assert [len(keys) for _, keys in found] == [2, 3, 3, 2]


def test_the_user_says_where_it_is_and_only_the_user_can_read_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder(None) is None  # as the tests have SHOE_CACHE=off
    monkeypatch.setenv("SHOE_CACHE", "/elsewhere")
    assert cache_folder(None) == Path("/elsewhere/shoe-answers")
    monkeypatch.delenv("SHOE_CACHE")
    assert (cache_folder(None), cache_folder("off")) == (tmp_path / "shoe-answers", None)
    assert cache_folder("/there") == Path("/there/shoe-answers")
    assert open_cache("off", print) is open_cache(None, print, create=False) is None
    assert not list(tmp_path.iterdir())
    (tmp_path / "cache" / "shoe-answers").mkdir(parents=True)
    modes = [stat.S_IMODE(path.stat().st_mode) for path in (opened(tmp_path)._store.folder, tmp_path / "cache")]
    assert modes[0] == 0o700 != modes[1]  # a folder of the user's own is left as it is


def add_many(folder: Path, first: int) -> None:
    cache = opened(folder)
    for number in range(first, first + 40):
        cache.add(entry(number))


def test_two_processes_write_at_the_same_time(tmp_path: Path) -> None:
    runs = [get_context("fork").Process(target=add_many, args=(tmp_path, first)) for first in (0, 20)]
    for act in ("start", "join"):
        for run in runs:
            getattr(run, act)()
    assert [run.exitcode for run in runs] == [0, 0]
    cache = opened(tmp_path)
    assert all(cache.answer(request(number).key) for number in range(60))


@pytest.mark.parametrize("where", ["value", "file", "key", "text"])
def test_a_planted_pickle_is_not_run(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    opened(tmp_path).add(entry(1))
    folder = tmp_path / "cache" / "shoe-answers"
    bomb = pickle.dumps(Bomb())
    (folder / "bomb").write_bytes(bomb)
    with sqlite3.connect(folder / "cache.db") as database:
        changed = {
            "value": ("UPDATE Cache SET mode = 4, value = ?", (bomb,)),
            "file": ("UPDATE Cache SET mode = 4, value = NULL, filename = ?", ("bomb",)),
            "key": ("INSERT INTO Cache (key, raw, mode, value) VALUES (?, 0, 4, ?)", (bomb, bomb)),
            "text": ("UPDATE Cache SET mode = 3, value = NULL, filename = ?", ("bomb",)),
        }
        database.execute(*changed[where])
    cache = opened(tmp_path, said)
    found = cache.answer(request(1).key)
    if where == "key":
        assert found
        with pytest.raises(ShoeError, match="not JSON"):
            cache._store.summary()
    else:
        assert found is cache.answer(request(1).key) is None
        assert ["not JSON" in line_ for line_ in said] == [True]  # said once
        cache.add(entry(2))  # no error
    clear(folder)
    assert not RAN.exists()
    assert [path.name for path in folder.iterdir()] == ["bomb"]  # only the database is deleted
    pickle.loads(bomb)
    assert RAN.exists()


@pytest.mark.parametrize(
    ("name", "value"), [("a", {"a": 1}), ("a", "text"), (1, b"{}"), (b"a", b"{}"), ("a", b"no JSON")]
)
def test_nothing_but_json_by_text_is_stored(name: Any, value: Any, tmp_path: Path) -> None:
    store = opened(tmp_path)._store
    with pytest.raises(ShoeError):
        store.cache[name] = value
    assert list(store.cache) == []


def test_a_cache_that_cannot_be_used_is_one_line_and_no_error(tmp_path: Path) -> None:
    said: list[str] = []
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "shoe-answers").write_text("a file")
    torn = tmp_path / "torn" / "shoe-answers"
    torn.mkdir(parents=True)
    (torn / "cache.db").write_bytes(b"no database" * 1000)
    assert [open_cache(str(tmp_path / name), said.append) for name in ("cache", "torn")] == [None, None]
    assert len(said) == 2
    with pytest.raises(InputError):
        AnswerStore(torn, said.append)


def test_the_answers_of_a_ledger_are_added_once_and_what_came_later_too(tmp_path: Path) -> None:
    cache = opened(tmp_path)
    cache.add_ledger()  # there is none
    with written(cache._ledger) as writer:
        writer.append(line([1, 2], [4, 0]))
    cache.add_ledger()
    assert cache.answer(request(2).key)
    with cache._ledger.path.open("ab") as stream:
        stream.write(line([3], [1]) + line([4], [1])[:-5])
    opened(tmp_path).add_ledger()
    assert cache.answer(request(3).key)
    assert cache.answer(request(4).key) is None
    ((_, count),) = cache._store.summary().values()  # the entry about the ledger is no answer
    assert count == 3


def test_an_export_is_a_ledger_with_every_answer(tmp_path: Path) -> None:
    store = opened(tmp_path)._store
    identity = {"kind": "openai", **IDENTITY}
    cache = AnswerCache(store, fresh(tmp_path, identity))
    for one in (entry(0), entry(1, 2, state=1), entry(3, state=-4), entry(3, attempt=2)):
        cache.add(one)
    ((path, count),) = cache._store.export(tmp_path / "out")
    assert count == 4
    found = fresh(tmp_path / "out", identity, path.name)
    found.refresh()
    assert states(found, 5) == [3, 1, 1, 3, -1]
    with pytest.raises(InputError):
        list(cache._store.export(tmp_path / "out"))
