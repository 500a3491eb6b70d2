"""A worker ends by itself when nobody counts on it any more, before it begins another request."""

import fcntl
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any

from shoe.engines.ray_cluster import Lease, is_locked

Process = multiprocessing.get_context("fork").Process


def work(path: Path, silence: float) -> None:
    """Write down each request before it is begun."""
    with path.open("ab", buffering=0) as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        lease = Lease(silence)
        word = lease.renew(0.0)
        while True:
            if path.with_name("counts").exists():
                word = lease.renew(word)
            lease.check()
            ledger.write(b"request\n")
            time.sleep(0.01)


def wait_for(what: Callable[[], Any]) -> None:
    for _ in range(3000):
        if what():
            return
        time.sleep(0.01)
    raise AssertionError("it does not come")


def requests(ledger: Path) -> int:
    return len(ledger.read_bytes().splitlines()) if ledger.exists() else 0


def started(ledger: Path, silence: float) -> Any:
    """A worker that has begun a request."""
    ledger.with_name("counts").touch()
    process = Process(target=work, args=(ledger, silence))
    process.start()
    wait_for(lambda: requests(ledger))
    return process


def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    parent = Process(target=lambda: started(ledger, inf).join())
    parent.start()
    wait_for(lambda: is_locked(ledger))
    parent.kill()
    parent.join()
    wait_for(lambda: not is_locked(ledger))


def test_a_worker_that_stood_still_begins_nothing_when_it_wakes(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    worker = started(ledger, 0.5)
    os.kill(worker.pid, signal.SIGSTOP)
    (tmp_path / "counts").unlink()
    time.sleep(1)
    assert is_locked(ledger)
    before = requests(ledger)
    os.kill(worker.pid, signal.SIGCONT)
    worker.join()
    assert worker.exitcode == 1
    assert requests(ledger) <= before + 1  # that one was past its check


def test_a_worker_lives_for_as_long_as_its_run_counts_on_it(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    worker = started(ledger, 1.0)
    try:
        time.sleep(2)
        assert worker.is_alive()
        (tmp_path / "counts").unlink()
        worker.join(30)
        assert worker.exitcode == 1
        assert not is_locked(ledger)
    finally:
        worker.kill()


def test_who_writes_is_seen_only_where_there_is_a_file(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    assert not is_locked(tmp_path / "pipe")
