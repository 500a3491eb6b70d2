"""A worker ends by itself when nobody counts on it any more, before it begins another request."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from shoe.engines.ray_cluster import is_locked

# It writes down each request before it begins it: "python PROGRAM LEDGER SILENCE".
WORKER = """
import fcntl, sys, time
from pathlib import Path
from shoe.engines.ray_cluster import Lease

path, silence = Path(sys.argv[1]), float(sys.argv[2])
with path.open("ab", buffering=0) as ledger:
    fcntl.flock(ledger, fcntl.LOCK_EX)
    lease = Lease(silence)
    word = lease.renew(0.0)
    while True:
        if path.with_name("counts").exists():
            word = lease.renew(word)
        lease.check()
        ledger.write(b"request\\n")
        time.sleep(0.01)
"""
PARENT = "import subprocess, sys; sys.exit(subprocess.run([sys.executable, *sys.argv[1:]]).returncode)"


def wait_for(what: Callable[[], Any]) -> Any:
    for _ in range(3000):
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError("it does not come")


def requests(ledger: Path) -> int:
    return len(ledger.read_bytes().splitlines()) if ledger.exists() else 0


def started(ledger: Path, silence: str, parent: Sequence[str] = ()) -> subprocess.Popen[bytes]:
    """A worker that has begun a request, maybe the child of another process."""
    ledger.with_name("counts").touch()
    ledger.with_name("worker.py").write_text(WORKER)
    command = [sys.executable, *parent, str(ledger.with_name("worker.py")), str(ledger), silence]
    process = subprocess.Popen(command)
    wait_for(lambda: requests(ledger))
    return process


def test_a_worker_ends_with_its_parent(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    parent = started(ledger, "inf", ("-c", PARENT))
    assert is_locked(ledger)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_for(lambda: not is_locked(ledger))


def test_a_worker_that_stood_still_begins_nothing_when_it_wakes(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    worker = started(ledger, "0.5")
    worker.send_signal(signal.SIGSTOP)
    (tmp_path / "counts").unlink()
    time.sleep(1)
    assert is_locked(ledger)
    before = requests(ledger)
    worker.send_signal(signal.SIGCONT)
    assert worker.wait() == 1
    assert requests(ledger) <= before + 1  # that one was past its check


def test_a_worker_lives_for_as_long_as_its_run_counts_on_it(tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.jsonl"
    worker = started(ledger, "1")
    try:
        time.sleep(2)
        assert worker.poll() is None
        (tmp_path / "counts").unlink()
        assert worker.wait(30) == 1
        assert not is_locked(ledger)
    finally:
        worker.kill()


def test_who_writes_is_seen_only_where_there_is_a_file(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "none")
    os.mkfifo(tmp_path / "pipe")
    assert not is_locked(tmp_path / "pipe")
