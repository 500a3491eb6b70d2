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


def state(job: _RayJob) -> tuple[bool, End | None]:
    return job.is_over, job.end


LOST = True, End("the cluster was lost", "requeue")


@pytest.fixture
def executor() -> RayExecutor:
    """An executor without a process."""
    made = object.__new__(RayExecutor)
    made._lock, made.is_ready = threading.Lock(), False
    return made


def test_a_job_of_a_server_that_died_within_a_message_is_not_begun() -> None:
    runner, (server, beside) = object.__new__(JobRunner), Pipe()  # without a cluster: an attempt would fail
    die_within_a_message(server)
    runner.run(beside)
    assert beside.closed


def test_jobs_are_tried_again_if_the_process_beside_the_server_died_within_a_message(executor: RayExecutor) -> None:
    server, beside = Pipe()
    job = _RayJob(executor, server)
    beside.send_bytes(msgspec.json.encode(["stage scoring 0.5"]))
    die_within_a_message(beside)
    assert job.listen(1) == ["stage scoring 0.5"]
    assert state(job) == (False, None)
    assert job.listen(1) == []
    assert state(job) == LOST


def test_jobs_are_tried_again_if_they_start_while_there_is_no_cluster(executor: RayExecutor, tmp_path: Path) -> None:
    job = executor.start(tmp_path, TASK)
    job.listen(1)
    assert state(job) == LOST


def test_a_process_that_is_silent_is_restarted(executor: RayExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    (server, beside), restarted = Pipe(), threading.Event()
    monkeypatch.setattr(executor, "restart", restarted.set)
    job = _RayJob(executor, server)
    assert job.listen(0) == []
    assert state(job) == (False, None)
    monkeypatch.setattr(cluster_jobs, "_NO_MESSAGE", 0.0)
    beside.send_bytes(msgspec.json.encode([]))
    assert job.listen(1) == []
    assert not restarted.is_set()
    job.listen(0.01)
    assert restarted.is_set()
    assert state(job) == LOST


def test_how_a_job_ended_is_what_the_process_beside_the_server_says(executor: RayExecutor) -> None:
    for end in (None, End("lost", "retry")):
        server, beside = Pipe()
        job = _RayJob(executor, server)
        beside.send_bytes(msgspec.json.encode(end))
        job.listen(1)
        assert state(job) == (True, end)
