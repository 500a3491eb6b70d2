"""The cluster that a command started for itself is killed: that is one line, and nothing is left behind."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.cli import run as cli
from tests.llm.server import Server
from tests.llm.server_plan import Plan
from tests.maps.test_kills import answers, one

IN_FLIGHT = 6

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ray,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'shoe-eval[ray]'"),
]


def below(process: int) -> Iterator[tuple[int, str]]:
    """Processes that another one started, and theirs, with their programs."""
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        with suppress(OSError):
            yield int(child), Path(f"/proc/{child}/exe").resolve().name
            yield from below(int(child))


def kill(process: subprocess.Popen[str], program: str) -> list[int]:
    """Kill one program of a command's cluster; all of the cluster's processes."""
    found = dict(below(process.pid))
    (number,) = [number for number, name in found.items() if name == program]
    os.kill(number, signal.SIGKILL)
    return list(found)


def are_gone(processes: list[int]) -> bool:
    for _ in range(300):
        if not any(Path(f"/proc/{process}/exe").exists() for process in processes):
            return True
        time.sleep(0.1)
    return False


def test_a_map_whose_cluster_is_killed_goes_on(tmp_path: Path) -> None:
    with Server(Plan(seconds=0.3, honours_keys=False)) as server:
        work = one(tmp_path, server, f"limits = {{concurrency = {IN_FLIGHT}}}")
        process = work.start("--engine", "ray")
        while answers(server) < 30:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        processes = kill(process, "raylet")
        out, errors = process.communicate(timeout=90)
        assert (process.returncode, out) == (2, "")
        assert re.match(r"shoe: --engine ray: .*lost", errors.splitlines()[-1])
        *progress, _ = errors.splitlines()  # every 30 s
        assert all(line.startswith("shoe: one: ") for line in progress), errors
        assert are_gone(processes)
        before = answers(server)
        work.built()
        counted = server.stats()["answers"]["m1"]
        assert answers(server) > before >= 30
    assert set(counted.values()) <= {1, 2}
    assert sum(counted.values()) - len(counted) <= IN_FLIGHT


def test_scoring_whose_cluster_is_killed_is_one_line(tmp_path: Path) -> None:
    lines = PREDICTIONS["free text"].read_text().splitlines(keepends=True)
    files = [tmp_path / f"{number}.jsonl" for number in range(400)]
    for number, path in enumerate(files):
        path.write_text("".join(lines[number % 50 :]))
    results = tmp_path / "results"
    given = [*files, "-g", TRUTH, "--results", results, "--engine", "ray"]
    command = [*cli.COMMAND, "score", *map(str, given)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not results.exists() or not any(results.iterdir()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    processes = kill(process, "gcs_server")
    out, errors = process.communicate(timeout=90)
    assert (process.returncode, out) == (2, "")
    assert re.search(r"--engine ray: .*lost", errors)
    assert errors.count("\n") == 1, errors
    assert are_gone(processes)


def test_a_cluster_of_one_s_own_listens_on_loopback_alone(tmp_path: Path) -> None:
    with Server(Plan(seconds=0.1)) as server:
        work = one(tmp_path, server, f"limits = {{concurrency = {IN_FLIGHT}}}")
        process = work.start("--engine", "ray", "--json", "-")
        while answers(server) < 10:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        listening = {place for child, _ in below(process.pid) for place in listens(child)}
        out, errors = process.communicate()
    assert process.returncode == 0, errors
    assert json.loads(out)["complete"]
    assert listening
    assert {host for host, _ in listening} == {"127.0.0.1"}


def listens(process: int) -> Iterator[tuple[str, int]]:
    """Addresses at which a process takes connections over TCP."""
    sockets = set()
    for handle in Path(f"/proc/{process}/fd").iterdir():
        with suppress(OSError):
            sockets.add(os.readlink(handle))
    for table in ("tcp", "tcp6"):
        for row in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = row.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                host, _, port = fields[1].rpartition(":")
                v4 = bytes.fromhex(host[-8:])[::-1]
                is_v4 = len(host) == 8 or host[:24] == "0000000000000000FFFF0000"
                yield ".".join(map(str, v4)) if is_v4 else host, int(port, 16)
