import errno
import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import orjson
import pytest
from hypothesis import given, strategies as st

from shoe.core.errors import InputError
from shoe.llm import ledger as ledger_module
from shoe.llm.ledger import Index, State, answers, as_keys, canonical, event_line, failure_line
from shoe.llm.ledger_writer import writing
from tests.examples import examples
from tests.llm.ledgers import IDENTITY, fresh, line, random_lines, read, request, states, write, written
from tests.mentions import mentions

REFUSED, ONCE, UNPARSABLE, UNRATED = State.REFUSED, State.UNPARSED_ONCE, State.UNPARSABLE, State.UNRATED
TOGETHER = State.REFUSED_TOGETHER


def test_what_is_kept_is_found_again_and_told_in_full(tmp_path: Path) -> None:
    path = write(tmp_path, [line([0], [3]), failure_line(request(1), "429", "slow down"), line([2, 1], [0, 4])])
    assert read(tmp_path, 4) == [3, 4, 0, UNRATED]
    first, *lines = path.read_bytes().splitlines()
    assert orjson.loads(first)["rater"] == IDENTITY
    kept = orjson.loads(lines[0])
    assert (kept["about"], kept["keys"]) == ("a test", [request(0).key.hex()])
    assert [orjson.loads(one) for one in (lines[0], lines[2])] == [*answers(path)]
    assert orjson.loads(lines[1]) == {"keys": [request(1).key.hex()], "failure": "429", "detail": "slow down"}


NUMBERS = st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False)
EDGES = st.sampled_from([0.0, 1.0, 0.7, 1e-06, 1e16, -1e16, 1e68, 9999999999999998.0, Path("a"), Path("/b/c")])
SETTINGS = st.recursive(
    st.none() | st.booleans() | NUMBERS | EDGES | st.text(),
    lambda below: st.lists(below) | st.lists(below).map(tuple) | st.dictionaries(st.text(), below),
)


@given(SETTINGS)
@examples(3)
def test_what_is_hashed_has_the_form_of_the_ledgers_that_are_there(value: Any) -> None:
    assert canonical(value) == orjson.dumps(value, option=orjson.OPT_SORT_KEYS, default=str)


@pytest.mark.parametrize(
    ("heard", "state"),
    [
        *(([], UNRATED), ([2], 2), ([REFUSED], REFUSED), ([ONCE], ONCE)),
        *(([ONCE, ONCE], UNPARSABLE), ([ONCE, 3], 3), ([ONCE, REFUSED], REFUSED)),
        *(([3, 1], 3), ([REFUSED, 1], REFUSED), ([3, ONCE], 3)),
        *(([ONCE, ONCE, 3], UNPARSABLE), ([ONCE, 2, 3], 2)),
        *(([TOGETHER], TOGETHER), ([TOGETHER, 3], 3), ([TOGETHER, REFUSED], REFUSED)),
        *(([TOGETHER, ONCE], UNPARSABLE), ([ONCE, TOGETHER], REFUSED)),
    ],
)
def test_the_state_follows_from_the_answers_in_their_order(tmp_path: Path, heard: list[int], state: int) -> None:
    write(tmp_path, [line([0], [answer]) for answer in heard])
    assert read(tmp_path, 1) == [state]
    one_by_one = fresh(tmp_path / "other")
    for answer in heard:
        write(tmp_path / "other", [line([0], [answer])])
        one_by_one.refresh()
        states(one_by_one, 1)
    assert states(one_by_one, 1) == [state]


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        (b'"a model"', b'"another"', ("another", "a model")),
        (b"\n", b"\r\n", ("CRLF",)),
        (b'"version":1', b'"version":0', ("version 0, not 1",)),
    ],
)
def test_what_differs_in_the_first_line_is_named(tmp_path: Path, old: bytes, new: bytes, found: list[str]) -> None:
    path = write(tmp_path, [line([0], [3])])
    path.write_bytes(before := path.read_bytes().replace(old, new, 1))
    for use in (fresh(tmp_path).refresh, lambda: write(tmp_path, [])):
        with pytest.raises(InputError, match=mentions("ledger.jsonl: line 1:", *found)):
            use()
    assert path.read_bytes() == before


def test_an_edited_answer_is_not_believed(tmp_path: Path) -> None:
    path = write(tmp_path, [line([0], [3]), line([1], [3])])
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b'":3}', b'":4}', 1))
    with pytest.raises(InputError, match=mentions("line 2: … changed")):
        read(tmp_path, 2)
    path.write_bytes(b"".join(re.sub(rb',"checksum":\d+', b"", part) + b"\n" for part in whole.splitlines()))
    assert read(tmp_path, 2) == [3, 3]  # as earlier versions wrote it


@pytest.mark.slow
def test_a_line_torn_at_any_byte_is_passed_over_and_cut_off(tmp_path: Path) -> None:
    path = write(tmp_path, [line([0], [3]), line([1, 2], [0, 4])])
    whole = path.read_bytes()
    ends = [0, *(index + 1 for index, byte in enumerate(whole) if byte == ord("\n"))]
    for size in range(len(whole) + 1):
        path.write_bytes(whole[:size])
        kept = max(end for end in ends if end <= size)
        expected = [3 if kept >= ends[2] else UNRATED, *([0, 4] if kept == ends[3] else [UNRATED] * 2), UNRATED]
        assert read(tmp_path, 4) == expected
        assert path.read_bytes() == whole[:size], "reading changes nothing"
        write(tmp_path, [line([3], [1])])
        assert path.read_bytes() == (whole[:kept] or whole[: ends[1]]) + line([3], [1])
        assert read(tmp_path, 4) == [*expected[:3], 1]


@pytest.mark.parametrize(
    "damage",
    [
        *(b"\x00" * 20, b"[]", b"3", b"", b"\x80abc", b'{"answer":3}', b'{"some":"thing"}', b'{"event":5}'),
        b'{"keys":["00"],"answer":{"said":{"00":3}}}',
        b'{"keys":["%b"],"answer":{"said":{"2":3}}}' % (b"0" * 32),
        b'{"keys":["%b"],"answer":{"said":{"%b":-1}}}' % (b"0" * 32, b"0" * 32),
        b'{"keys":["%b"],"answer":{"said":{"%b":3}}' % (b"0" * 32, b"0" * 32),
        b'{"event":{"event":"prepared","digest":"d","requests":"abc"}}',
        b'{"event":{"event":"prepared","digest":"d","requests":5}}',
        b'{"event":{"event":"prepared","digest":"d","requests":[["a",1,"zz"]]}}',
        b'{"event":{"event":"prepared","digest":"d","requests":[["a",999,"%b"]]}}' % (b"0" * 32),
        b'{"event":{"event":"prepared","digest":[],"requests":[]}}',
        b'{"event":{"event":"started","digest":"d","batch":5}}',
    ],
)
@pytest.mark.parametrize("block", [1 << 20, 100])
def test_damage_is_one_line_and_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes, block: int
) -> None:
    monkeypatch.setattr(ledger_module, "BLOCK", block)
    path = write(tmp_path, [line([0], [3]), line([1], [3])])
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:2], damage + b"\n", *lines[2:]]))
    before = path.read_bytes()
    with pytest.raises(InputError, match=mentions("remove the line")) as caught:
        read(tmp_path, 2)
    assert (caught.value.source, caught.value.record) == (str(path), "line 3")
    assert "Error" not in str(caught.value)  # no names of Python's exceptions
    assert path.read_bytes() == before


def test_events_are_remembered_in_order_and_a_ledger_that_shrinks_is_refused(tmp_path: Path) -> None:
    events = [{"event": "started", "digest": "d", "batch": "b"}, {"event": "ended", "digest": "d"}]
    path = write(tmp_path, [event_line(events[0]), line([0], [1]), event_line(events[1])])
    ledger = fresh(tmp_path)
    ledger.refresh()
    assert ledger.events == events
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(InputError, match="only grows"):
        ledger.refresh()


@given(st.integers(0, 10**6), st.lists(st.integers(0, 40), max_size=5), st.sampled_from([1, 300, 2000, 1 << 20]))
def test_reading_in_pieces_is_reading_at_once(
    tmp_path_factory: pytest.TempPathFactory, seed: int, pauses: list[int], block: int
) -> None:
    folder, lines = tmp_path_factory.mktemp("ledger"), random_lines(seed, 40, 30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_module, "BLOCK", block)
        ledger = fresh(folder)
        for start, end in pairwise([0, *sorted(pauses), len(lines)]):
            write(folder, lines[start:end])
            ledger.refresh()
        assert states(ledger, 30) == read(folder, 30) == read(folder, 30) == slow_states(lines, 30)


def slow_states(lines: list[bytes], count: int) -> list[int]:
    """The rule in its plainest form."""
    heard: dict[str, list[int]] = {request(number).key.hex(): [] for number in range(count)}
    for one in lines:
        for key, state in orjson.loads(one)["answer"]["said"].items():
            heard[key].append(state)
    found = []
    for first, second in ([*states_, UNRATED, UNRATED][:2] for states_ in heard.values()):
        if first != ONCE or second == UNRATED:
            found.append(int(first))
        else:
            found.append(int(UNPARSABLE if second == ONCE else second))
    return found


def test_what_is_asked_again_is_as_new_and_all_else_stays(tmp_path: Path) -> None:
    again = event_line({"event": "ask again", "states": ["unparsable"]})
    first = [line([0], [ONCE]), line([0], [ONCE]), line([1], [REFUSED]), line([2], [3]), line([3], [ONCE])]
    write(tmp_path, [*first, again])
    assert read(tmp_path, 4) == [UNRATED, REFUSED, 3, ONCE]
    write(tmp_path, [line([0], [4]), line([3], [1])])
    assert read(tmp_path, 4) == [4, REFUSED, 3, 1]
    ledger = fresh(tmp_path)
    ledger.refresh()
    assert ledger.asking_again == ["unparsable"]
    write(tmp_path, [event_line({"event": "asked again"}), line([0], [ONCE])])
    ledger.refresh()
    assert ledger.asking_again == []
    assert states(ledger, 1) == [4]


def test_any_number_of_questions_is_looked_up(tmp_path: Path) -> None:
    index = Index()
    draw = np.random.default_rng(0)
    keys = draw.integers(0, 2**63, (500, 2)).astype(np.uint64)
    keys[::3, 0] = keys[0, 0]  # halves that are equal, as they never are
    states_ = draw.integers(0, 5, 500).astype(np.int8)
    index.add(keys, states_)
    order = draw.permutation(500)
    assert (index.states(keys[order]) == states_[order]).all()
    assert (index.states(keys + np.uint64(1)) == UNRATED).all()
    assert len(index.states(as_keys(b""))) == 0
    assert Index().states(keys[:2]).tolist() == [UNRATED, UNRATED]


def test_a_full_disk_is_one_line_and_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path, [line([0], [3])])
    before = path.read_bytes()
    real = os.write

    def full(handle: int, data: bytes) -> int:
        if len(data) < 20:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data[: len(data) - 10])

    ledger = fresh(tmp_path)
    with written(ledger) as writer:
        monkeypatch.setattr(os, "write", full)
        for _ in range(2):
            with pytest.raises(InputError, match=mentions(f"{path}: … No space")):
                writer.append(line([1], [3]))
        with pytest.raises(InputError, match="No space"):
            writer.flush()
    assert path.read_bytes() == before


@pytest.mark.parametrize("room", [0, 50])
def test_no_room_or_folder_for_the_first_line_is_one_line_and_the_next_run_begins_anew(
    tmp_path: Path, room: int
) -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, before[1]))
    try:
        with pytest.raises(InputError, match=mentions("ledger.jsonl:", "File too large")):
            write(tmp_path, [])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    path = write(tmp_path, [line([0], [3])])
    assert read(tmp_path, 1) == [3]
    with pytest.raises(InputError, match=mentions(f"{path}", "writ")):
        write(path, [])


def test_a_flush_waits_for_the_disk(tmp_path: Path) -> None:
    with written(fresh(tmp_path)) as writer:
        for number in range(300):
            writer.append(line([number], [3]))
        writer.flush()
        assert writer.synced == fresh(tmp_path).path.stat().st_size


BEGIN = """
import sys
from pathlib import Path
from tests.llm.ledgers import fresh, line, written
with written(fresh(Path(sys.argv[1]))) as writer:
"""
HOLD = """
    writer.append(line([0], [3]))
    writer.flush()
    print("held", flush=True)
    sys.stdin.read()
    writer.append(line([1], [2]))
"""


@contextmanager
def child(code: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], IO[str], IO[str]]]:
    command, folder = [sys.executable, "-c", BEGIN + code, *arguments], Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=folder) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        yield process, process.stdin, process.stdout


def test_a_second_writer_waits_says_so_and_finds_the_answers_and_another_ledger_does_not_wait(tmp_path: Path) -> None:
    said: list[str] = []
    ledger, other = fresh(tmp_path), fresh(tmp_path, {"model": "another"}, "other.jsonl")
    with child(HOLD, str(tmp_path)) as (_, stdin, stdout):
        assert stdout.readline() == "held\n"
        assert read(tmp_path, 2) == [3, UNRATED], "readers need not wait"
        with writing(ledger.path, ledger.identity, lambda: True, said.append) as writer:
            assert writer is None, "who is to stop does not wait"
        with writing(other.path, other.identity, lambda: True, said.append) as writer:
            assert writer is not None

        def wait(line_: str) -> None:
            said.append(line_)
            stdin.close()

        with writing(ledger.path, ledger.identity, lambda: False, wait) as writer:
            assert writer is not None
            ledger.refresh()
            assert states(ledger, 2) == [3, 2]
    (waiting,) = said
    assert re.match(rf"{ledger.path.name}: .*\bwaiting\b", waiting)


APPEND = """
    for number in range(int(sys.argv[2]), 10**6):
        writer.append(line([number], [number % 5], padding=3000))
        print(number, flush=True)
"""


@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_what_was_appended_outlives_a_kill_at_any_moment(tmp_path: Path, kills: int) -> None:
    draw = np.random.default_rng(5)
    done = 0
    for _ in range(kills):
        with child(APPEND, str(tmp_path), str(done)) as (process, _, stdout):
            first = stdout.readline()
            time.sleep(float(draw.uniform(0, 0.05)))
            process.kill()
            kept = [int(number) for number in [first, *stdout.read().splitlines(keepends=True)] if "\n" in number]
        found = read(tmp_path, kept[-1] + 2)
        assert found[: kept[-1] + 1] == [number % 5 for number in range(kept[-1] + 1)]
        done = kept[-1] + 1
    assert done > kills


def test_a_full_disk_leaves_room_for_what_is_in_flight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, full = os.write, [True]

    def write_(handle: int, data: bytes) -> int:
        if full[0]:
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    def close(handle: int) -> None:
        full[0] = False
        os.closerange(handle, handle + 1)

    ledger = fresh(tmp_path)
    with written(ledger) as writer:
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", write_)
            patch.setattr(os, "close", close)
            with pytest.raises(InputError, match="No space"):
                writer.append(line([0], [3]))
        writer.append(line([1], [2]))
    assert read(tmp_path, 3) == [3, 2, UNRATED]


@pytest.mark.parametrize("replaced", [False, True])
@pytest.mark.parametrize(
    "away", [Path.unlink, lambda path: path.rename(path.with_suffix(".old")), lambda path: os.truncate(path, 5)]
)
def test_a_ledger_gone_or_cut_off_is_noticed(tmp_path: Path, away: Callable[[Path], object], replaced: bool) -> None:
    ledger = fresh(tmp_path)
    with written(ledger) as writer:
        if not replaced:
            writer.append(line([0], [3]))
            writer.flush()
        away(ledger.path)
        if replaced:
            ledger.path.write_text("another")
        writer.append(line([1], [3]))
        with pytest.raises(InputError, match=mentions(f"{ledger.path}:", "deleted", "truncated")):
            writer.flush()
