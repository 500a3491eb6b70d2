"""Processes of this machine: they end with their command, however it ends, and where they end first, nothing hangs."""

import errno
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from time import sleep
from typing import Any

import numpy as np
import pytest

from shoe.core.errors import ShoeError
from shoe.demo import PREDICTIONS, TRUTH
from shoe.engines.base import Job, read_job, write_job
from shoe.engines.processes import Processes
from shoe.lexicon.store import wordnet
from tests.cli.run import refused
from tests.engines import work
from tests.service.processes import children_of, command_of, waited

# Background jobs of some shells ignore SIGINT, and children inherit that; a terminal's do not.
CODE = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from shoe.cli import main
main()
"""
COMMAND = [sys.executable, "-c", CODE]
pytestmark = pytest.mark.slow


def workers(parent: int) -> set[int]:
    return {child for child in children_of(parent) if "spawn_main" in command_of(child)}


def of_session(leader: int) -> set[int]:
    """Running processes of a session, without its leader."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, _, session, *_ = stat.read_text().rpartition(")")[2].split()
            if int(session) == leader and state != "Z":
                found.add(int(stat.parent.name))
    return found - {leader}


@pytest.fixture
def command() -> "subprocess.Popen[str]":
    """A comparison of minutes by two processes, which both are at work, in a session of its own, as a terminal's is."""
    words = ["compare", *map(str, PREDICTIONS.values()), "-g", str(TRUTH), "--resamples", "65535"]
    how: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen([*COMMAND, *words, "--engine", "processes:2"], start_new_session=True, **how)
    waited(lambda: len(of_session(process.pid)) == 3 or process.poll() is not None)  # the third tracks resources
    return process


@pytest.mark.parametrize("seconds", [0.0, 0.3, 3.0])
def test_ctrl_c_ends_a_command_and_its_workers_without_a_word(command: "subprocess.Popen[str]", seconds: float) -> None:
    sleep(seconds)  # workers start, load, work
    os.killpg(command.pid, signal.SIGINT)
    out, err = command.communicate(timeout=60)
    assert (command.returncode, out, err) == (130, "", "")
    waited(lambda: not of_session(command.pid))


@pytest.mark.parametrize("seconds", [0.0, 3.0])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_of_a_command_that_is_killed_end(
    command: "subprocess.Popen[str]", number: signal.Signals, seconds: float
) -> None:
    sleep(seconds)
    command.send_signal(number)
    command.communicate(timeout=60)
    assert command.returncode == -number
    waited(lambda: not of_session(command.pid))


def test_workers_that_are_killed_while_they_start_hang_nothing() -> None:
    ended, killed = Event(), set[int]()

    def kill() -> None:
        while not ended.is_set():
            for child in workers(os.getpid()) - killed:
                killed.add(child)
                os.kill(child, signal.SIGKILL)

    killer = Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(ShoeError, match="3 workers died"):
            dict(Processes(2).map(work.rows, range(9), np.ones((9, 1_000_000))))
    finally:
        ended.set()
        killer.join()
    assert len(killed) >= 3


def test_a_job_is_read_as_it_was_written_and_its_arrays_cannot_be_written_to() -> None:
    arrays = [np.arange(12.0).reshape(3, 4), np.zeros((0, 2)), np.arange(6).reshape(2, 3).T]
    with write_job(Job(work.rows, (arrays, "word"))) as file:
        found = read_job(file.fileno())
    assert (found.work, found.shared[1], found.lexicon) == (work.rows, "word", wordnet())
    assert [one.tolist() for one in found.shared[0]] == [one.tolist() for one in arrays]
    assert not any(one.flags.writeable for one in found.shared[0])


def test_what_workers_share_and_has_no_room_names_the_folder(tmp_path: Path) -> None:
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))\n{CODE}"
    words = ["score", *map(str, PREDICTIONS.values()), "-g", str(TRUTH), "--results", str(tmp_path / "out")]
    command, environment = [sys.executable, "-c", code, *words, "--engine", "processes:2"], {"TMPDIR": str(tmp_path)}
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    refused(done, f"shoe: {tmp_path}: found {os.strerror(errno.EFBIG)}, expected disk space", "TMPDIR")


def test_what_a_worker_raises_says_where() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        dict(Processes(1).map(work.divide, [1], 0))
    assert "in divide" in caught.value.__notes__[0]
