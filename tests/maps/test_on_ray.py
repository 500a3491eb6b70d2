"""``shoe map build --engine ray``: whatever of a cluster is killed, nothing is lost, and little paid twice."""

import json
import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions, write_predictions
from tests.cli import run as cli
from tests.llm.server import Server
from tests.llm.server_plan import Plan
from tests.maps.storm import JOBS
from tests.maps.test_kills import FAULTS, ONE, RATERS, Work, answered_other_than_once, answers, one

pytestmark = [
    pytest.mark.slow,
    pytest.mark.ray,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: pip install 'shoe-eval[ray]'"),
]


def test_workers_build_the_map_of_one_process(tmp_path: Path) -> None:
    with Server(FAULTS) as server:
        clean = Work(tmp_path / "clean", RATERS.format(url=server.url)).built()
        server.endpoint.forget()
        work = Work(tmp_path / "spread", RATERS.format(url=server.url))
        process = work.start("--engine", "ray")
        out, errors = process.communicate()
        assert process.returncode == 0, errors
        assert work.map() == clean, out + errors
        assert not answered_other_than_once(server.stats())
        assert [path.name for path in (work.folder / "shoe-ledger").iterdir() if path.is_dir()] == []


def test_a_killed_run_and_its_budget(tmp_path: Path) -> None:
    with Server(Plan(seconds=0.05)) as server:
        raters = ONE.format(url=server.url, more="limits = {concurrency = 6}")
        clean = Work(tmp_path / "clean", raters).built()
        server.endpoint.forget()
        work = Work(tmp_path / "spread", raters)
        process = work.start("--engine", "ray", "--max-requests", "50")
        errors = process.communicate()[1]
        assert process.returncode == 3, errors
        assert "(50 requests)" in errors
        assert server.stats()["requests"] == 50
        process = work.start("--engine", "ray")
        while process.poll() is None and answers(server) < 90:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        time.sleep(2)  # workers end a moment after the run that they were of
        assert work.built() == clean
        assert not answered_other_than_once(server.stats())
        assert [path.name for path in (work.folder / "shoe-ledger").iterdir() if path.is_dir()] == []


@pytest.mark.parametrize("seconds", [0.2, 2.0])
def test_a_cluster_s_signal_to_end_is_an_interruption_also_while_ray_connects(seconds: float, tmp_path: Path) -> None:
    process = Work(tmp_path, ONE.format(url="http://127.0.0.1:9/v1", more="")).start("--engine", "ray")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and not children.read_text():  # Ray's first process
        time.sleep(0.05)
    time.sleep(seconds)
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, out) == (130, ""), errors
    assert "stack" not in errors.lower()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--engine", "slurm"), "'slurm', expected serial, ray or ray:ADDRESS"),
        (("--engine", "processes"), "'processes', expected serial, ray or ray:ADDRESS"),
        (("--engine", "ray", "--gpus", "1"), "with 0 GPUs"),
        (("--engine", "ray:127.0.0.1:9"), "found '127.0.0.1:9'"),
    ],
)
def test_what_cannot_be_is_one_line(options: Sequence[str], said: str, tmp_path: Path) -> None:
    process = Work(tmp_path, ONE.format(url="http://127.0.0.1:9/v1", more="")).start(*options)
    out, errors = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert said in errors
    assert errors.count("\n") == 1, errors


def test_a_small_storm_does_no_harm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With two predicted interactions instead of five, which one command builds within its budget."""
    from tests.maps import ray_storm

    monkeypatch.setattr(ray_storm, "_WORDS", ray_storm._WORDS[:2])
    storm = ray_storm.Storm()
    storm.run(tmp_path, 1, 1)
    assert storm.killed.total() == 1
    assert (storm.lost, storm.differ, storm.over, storm.not_in_flight) == (0, 0, 0, 0), storm
    assert storm.again <= storm.allowed


IN_FLIGHT = 6


def below(process: int) -> Iterator[tuple[int, str]]:
    """Processes that another one started, and theirs, with their programs."""
    for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
        with suppress(OSError):
            yield int(child), Path(f"/proc/{child}/exe").resolve().name
            yield from below(int(child))


def kill(process: subprocess.Popen[str], program: str) -> list[int]:
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


def test_a_killed_and_a_terminated_completion_go_on(tmp_path: Path) -> None:
    with Server(Plan(seconds=0.05)) as server:

        def work(name: str) -> Work:
            found = Work(
                tmp_path / name, ONE.format(url=server.url, more="limits = {timeout = 1}"), JOBS["complete"].arguments
            )
            table = read_predictions(PREDICTIONS["free text"])
            write_predictions(table.select(np.arange(0, len(table), 8)), found.folder / "said.jsonl", "vlm")
            return found

        clean = work("clean").built()
        total = answers(server)
        server.endpoint.forget()
        spread = work("spread")
        for ending, code in ((signal.SIGKILL, -9), (signal.SIGTERM, 130)):
            before = answers(server)
            process = spread.start("--engine", "ray")
            while process.poll() is None and answers(server) < before + total // 4:
                time.sleep(0.01)
            process.send_signal(ending)
            out, errors = process.communicate(timeout=90)
            assert (process.returncode, out) == (code, ""), errors
            assert not {"Traceback", "stack"} & {*errors.replace(":", " ").split()}, errors
            time.sleep(2)  # workers end a moment after the run that they were of
        assert spread.built("--engine", "ray") == clean
        assert not answered_other_than_once(server.stats())
