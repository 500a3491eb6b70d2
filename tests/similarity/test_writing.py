"""Maps are there whole or not at all, whenever their writer dies, and the next one goes on."""

import os
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.map_files import clear_leftovers
from tests.errors import input_error
from tests.present import present
from tests.tables import pairs_by_name

STEPS = ("chmod", "fsync", "mkdir", "open", "rename", "replace", "rmdir", "unlink", "write")


def write(folder: Path, rating: int) -> None:
    verbs, nothing = pairs_by_name({("ride.v.01", "straddle.v.01"): [rating]}, 1), RatedPairs.empty(1)
    write_map(folder, dataset="hico-det", raters=[Rater("r", "m")], pairs={"verb": verbs, "object": nothing})


def rating_of(folder: Path) -> int | None:
    found = present(SimilarityMap.load(folder).ratings("verb", "ride.v.01", "straddle.v.01"))
    return found["r"]


def dies_at(step: int, what: Callable[[], None]) -> bool:
    """Do something in a process that ends before its n-th step on files; whether it came so far."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    counted = count()

    def let(name: str) -> None:
        real = getattr(os, name)

        def taken(*arguments: Any, **options: Any) -> Any:
            if next(counted) == step:
                os._exit(9)
            return real(*arguments, **options)

        setattr(os, name, taken)

    for name in STEPS:
        let(name)
    try:
        what()
    finally:
        os._exit(0)


@pytest.mark.slow
@pytest.mark.parametrize("there", [False, True])
def test_a_writer_that_dies_anywhere_leaves_a_whole_map_and_the_next_tidies_up(tmp_path: Path, there: bool) -> None:
    out, seen = tmp_path / "a map", set()
    for step in count():
        shutil.rmtree(out, ignore_errors=True)
        if there:
            write(out, 1)
            (out / "notes.txt").write_text("mine")
        died = dies_at(step, lambda: write(out, 2))
        dies_at(step % 7, lambda: clear_leftovers(out))
        clear_leftovers(out)
        found = rating_of(out) if out.exists() else None
        seen.add(found)
        assert [path.name for path in tmp_path.iterdir()] == ["a map"] * (found is not None)
        assert not there or (out / "notes.txt").read_text() == "mine"
        write(out, 3)
        assert rating_of(out) == 3
        if not died:
            break
    assert seen == {1 if there else None, 2}
    assert step > 15


def test_what_another_process_is_writing_is_left_alone(tmp_path: Path) -> None:
    ready, done = os.pipe(), os.pipe()
    if not (child := os.fork()):
        real = os.rename

        def slowly(source: Any, target: Any) -> None:
            os.write(ready[1], b".")
            os.read(done[0], 1)
            real(source, target)

        setattr(os, "rename", slowly)  # noqa: B010 - of this child alone
        try:
            write(tmp_path / "map", 2)
        finally:
            os._exit(0)
    os.read(ready[0], 1)
    clear_leftovers(tmp_path / "map")
    os.write(done[1], b"..")
    os.waitpid(child, 0)
    assert rating_of(tmp_path / "map") == 2


def test_what_is_left_of_a_map_whose_name_begins_alike_is_left_alone(tmp_path: Path) -> None:
    one, other = (tmp_path / ("x" * 40 + end) for end in "ab")
    assert dies_at(12, lambda: write(one, 1))
    left = [*tmp_path.iterdir()]
    clear_leftovers(other)
    assert [*tmp_path.iterdir()] == left != []


def test_a_place_where_nothing_can_be_written_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(30, "read-only")

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with input_error("read-only", source=str(tmp_path / "map")):
        clear_leftovers(tmp_path / "map")
