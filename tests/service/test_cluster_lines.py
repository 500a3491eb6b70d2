"""Connections between the server and the process beside it, if one of them dies within a message or is silent."""

from __future__ import annotations

import os
import struct
import threading
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import msgspec
import pytest

from shoe.service import cluster_jobs
from shoe.service.cluster_jobs import JobRunner, RayExecutor, _RayJob
from shoe.service.process import End, Limits, Task

TASK = Task("score", {}, "files", "maps", Limits())


def die_within_a_message(connection: Connection[Any, Any]) -> None:
    os.write(connection.fileno(), struct.pack("!i", 100) + b'["stage sco')
    connection.close()


LOST = True, End("the cluster was lost", "requeue")


@pytest.fixture
def executor() -> RayExecutor:
    made = object.__new__(RayExecutor)
    made._lock, made.is_ready = threading.Lock(), False
    return made


@pytest.fixture
def job(executor: RayExecutor) -> Any:
    """A job of the executor, the end of its connection in the process beside the server, and the job's state."""
    server, beside = Pipe()
    made = _RayJob(executor, server)
    return made, beside, lambda: (made.is_over, made.end)


def test_a_job_of_a_server_that_died_within_a_message_is_not_begun() -> None:
    runner, (server, beside) = object.__new__(JobRunner), Pipe()  # without a cluster: an attempt would fail
    die_within_a_message(server)
    runner.run(beside)
    assert beside.closed


def test_jobs_are_tried_again_if_the_process_beside_the_server_died_within_a_message(job: Any) -> None:
    made, beside, state = job
    beside.send_bytes(msgspec.json.encode(["stage scoring 0.5"]))
    die_within_a_message(beside)
    assert (made.listen(1), state()) == (["stage scoring 0.5"], (False, None))
    assert (made.listen(1), state()) == ([], LOST)


def test_jobs_are_tried_again_if_they_start_while_there_is_no_cluster(executor: RayExecutor, tmp_path: Path) -> None:
    made = executor.start(tmp_path, TASK)
    made.listen(1)
    assert (made.is_over, made.end) == LOST


def test_a_process_that_is_silent_is_restarted(job: Any, executor: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    (made, beside, state), restarted = job, threading.Event()
    monkeypatch.setattr(executor, "restart", restarted.set)
    assert (made.listen(0), state()) == ([], (False, None))
    monkeypatch.setattr(cluster_jobs, "_NO_MESSAGE", 0.0)
    beside.send_bytes(msgspec.json.encode([]))
    assert made.listen(1) == []
    assert not restarted.is_set()
    made.listen(0.01)
    assert restarted.is_set()
    assert state() == LOST


@pytest.mark.parametrize("end", [None, End("lost", "retry")])
def test_how_a_job_ended_is_what_the_process_beside_the_server_says(job: Any, end: End | None) -> None:
    made, beside, state = job
    beside.send_bytes(msgspec.json.encode(end))
    made.listen(1)
    assert state() == (True, end)
