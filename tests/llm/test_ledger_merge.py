"""Ledgers of several processes as one: the same bytes whatever the order, whatever was merged before, nothing lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing import get_context
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import InputError
from shoe.llm import ledger_writer
from shoe.llm.ledger import ASK_AGAIN, event_line
from tests.examples import examples
from tests.llm.ledgers import IDENTITY, fresh, line, parse, random_lines, read, states, write
from tests.mentions import mentions

QUESTIONS = 12
VOID = event_line({"event": ASK_AGAIN, "states": ["unparsable"]})


def merge(folder: Path) -> int:
    return ledger_writer.merge(folder / "ledger.jsonl", IDENTITY, parse, lambda _: None)


def merged(folder: Path, *parts: Sequence[bytes]) -> bytes:
    """The ledger of a folder after it took over parts, one merge for all of them."""
    for number, lines in enumerate(parts):
        write(folder / f"{number}-of-9", lines)
    merge(folder)
    assert not list(folder.glob("*/*"))
    return (folder / "ledger.jsonl").read_bytes()


@pytest.mark.slow
@given(st.integers(0, 999), st.permutations(range(4)), st.integers(0, 3), st.booleans())
@examples(2)
def test_order_and_number_of_merges_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, seed: int, order: list[int], first: int, small: bool
) -> None:
    parts = [random_lines(seed + number % 3, 9, QUESTIONS) for number in range(4)]  # two of them are equal
    once, often = tmp_path_factory.mktemp("once"), tmp_path_factory.mktemp("often")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_writer, "_IN_MEMORY", 500 if small else 1 << 26)
        whole = merged(once, *parts)
        merged(often, parts[first])
        for number in order:
            found = merged(often, parts[number])
    assert found == whole
    assert set(whole.splitlines(keepends=True)[1:]) == {one for part in parts for one in part}


def test_what_was_void_stays_void_and_an_answer_in_two_ledgers_is_one(tmp_path: Path) -> None:
    unread, rated = line([1], [-4]), line([2], [3])
    write(tmp_path, [line([3], [-4], 1), line([3], [-4], 2), VOID, unread])
    write(tmp_path / "1-of-2", [unread, rated])
    own = fresh(tmp_path / "1-of-2")
    own.base = fresh(tmp_path)
    own.refresh()
    assert states(own, 4) == [-1, -4, 3, -1]
    write(tmp_path / "1-of-2" / "worker", [line([0], [1])])
    assert merged(tmp_path)
    assert not list(tmp_path.glob("*-of-*"))
    assert read(tmp_path, 4) == [1, -4, 3, -1]


@pytest.mark.parametrize(
    ("name", "make", "kind"),
    [
        ("ledger.jsonl", os.mkfifo, "seekable"),
        ("1-of-2/ledger.jsonl", os.mkfifo, "pipe"),
        ("1-of-2/ledger.jsonl", lambda path: path.symlink_to("nothing"), "symbolic link"),
        ("other/ledger.jsonl", lambda path: write(path.parent, [VOID]), "--ask-again"),
    ],
)
def test_a_pipe_a_link_to_nothing_or_a_ledger_with_events_is_one_line(
    name: str, make: Callable[[Path], object], kind: str, tmp_path: Path
) -> None:
    write(tmp_path, [line([1], [1])])
    write(tmp_path / "2-of-2", [line([2], [1])])
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).unlink(missing_ok=True)
    make(tmp_path / name)
    with pytest.raises(InputError, match=mentions(f"{tmp_path / name}: … {kind}")):
        merge(tmp_path)
    assert (tmp_path / "2-of-2" / "ledger.jsonl").exists()


def test_a_folder_of_a_part_may_be_a_link_and_links_in_a_circle_are_walked_once(tmp_path: Path) -> None:
    ledgers = tmp_path / "ledgers"
    write(ledgers / "1-of-2", [line([1], [1])])
    write(tmp_path / "elsewhere", [line([2], [3])])
    (ledgers / "2-of-2").symlink_to(tmp_path / "elsewhere")
    (ledgers / "again").symlink_to(tmp_path / "elsewhere")
    (ledgers / "circle").symlink_to("..")
    assert merge(ledgers) == 2
    assert read(ledgers, 3) == [-1, 1, 3]
    assert merge(ledgers) == 0


def test_a_folder_that_cannot_be_read_is_not_passed_over(tmp_path: Path) -> None:
    write(tmp_path / "1-of-2", [line([1], [1])])
    inner = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):  # until the path is too long to open, for the superuser too
        os.mkdir("x" * 250, dir_fd=inner)
        outer, inner = inner, os.open("x" * 250, os.O_RDONLY, dir_fd=inner)
        os.close(outer)
    os.close(inner)
    with pytest.raises(InputError) as caught:
        merge(tmp_path)
    assert len(caught.value.source) > 4000
    assert (tmp_path / "1-of-2" / "ledger.jsonl").exists()


def merge_and_die_in(step: str, folder: Path) -> None:
    setattr(os if step == "fchmod" else ledger_writer, step, lambda *_: os.kill(os.getpid(), signal.SIGKILL))
    merge(folder)


def test_a_merge_that_is_killed_while_it_writes_leaves_nothing_after_the_next(tmp_path: Path) -> None:
    lines = [line([key], [1]) for key in range(9)]
    write(tmp_path, lines[:3])
    write(tmp_path / "1-of-2", lines[3:])
    for step in ("fchmod", "sync_folder"):  # before and after the merged file is in place
        child = get_context("fork").Process(target=merge_and_die_in, args=(step, tmp_path))
        child.start()
        child.join()
        assert child.exitcode == -signal.SIGKILL
        assert (tmp_path / "ledger.jsonl.merge").exists() == (step == "fchmod")
    assert set(merged(tmp_path).splitlines(keepends=True)[1:]) == set(lines)
    assert [path.name for path in tmp_path.iterdir()] == ["ledger.jsonl"]


def test_workers_that_are_about_to_end_are_waited_for(tmp_path: Path) -> None:
    write(tmp_path, [line([1], [1])])
    part = tmp_path / "worker-1" / "ledger.jsonl"
    write(part.parent, [line([2], [1])])
    program = (
        "import fcntl, sys; file = open(sys.argv[1], 'ab'); fcntl.flock(file, fcntl.LOCK_EX);"
        "print('locked', flush=True); file.write(sys.stdin.buffer.readline()); file.flush()"
    )
    given = [sys.executable, "-c", program, str(part)]
    with subprocess.Popen(given, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as worker:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"locked\n"
        told: list[str] = []

        def say(text: str) -> None:
            told.append(text)
            worker.communicate(line([3], [1]))

        ledger_writer.merge(tmp_path / "ledger.jsonl", IDENTITY, parse, say)
    assert [text.startswith("ledger.jsonl: waiting") for text in told] == [True]
    assert read(tmp_path, 4) == [-1, 1, 1, 1]
    assert not part.exists()
