"""``--engine ray://HOST:PORT``: a cluster by way of the server of Ray Client, and what is said when that is gone."""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from shoe.demo import PREDICTIONS, TRUTH
from tests.cli import run as cli
from tests.engines.heads import RAY, TOKEN, head
from tests.llm.server import Server
from tests.llm.server_plan import Plan
from tests.maps.test_kills import ONE, Work, answers
from tests.service.processes import free_port, is_listening, waited

IN_FLIGHT = 6
MINE = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": TOKEN}

pytestmark = [pytest.mark.slow, *RAY]


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A cluster with this shoe; the address of its server for Ray Client."""
    folder.mkdir()
    port = free_port()
    with head(folder, "--ray-client-server-port", str(port), packages=os.pathsep.join(filter(None, sys.path))):
        waited(lambda: is_listening(port))  # it starts after its head says that it has started
        yield f"ray://127.0.0.1:{port}"


def test_scoring_and_rating_by_way_of_another_machine(tmp_path: Path) -> None:
    command: list[str | Path] = ["score", *PREDICTIONS.values(), "-g", TRUTH, "--results"]
    assert cli.run(*command, tmp_path / "here").returncode == 0
    with served(tmp_path / "cluster") as address, Server(Plan()) as server:
        done = cli.process(*command, tmp_path / "there", "--engine", address, env=os.environ | MINE)
        assert (done.returncode, done.stderr) == (0, "")
        raters = ONE.format(url=server.url, more="")
        clean = Work(tmp_path / "one", raters).built()
        work = Work(tmp_path / "spread", raters)
        process = work.start("--engine", address, env=MINE)
        out, errors = process.communicate(timeout=90)
        assert process.returncode == 0, out + errors
        assert work.map() == clean
    here, there = ({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in ("here", "there"))
    assert here == there


def test_a_map_goes_on_whose_cluster_is_gone(tmp_path: Path) -> None:
    with Server(Plan(seconds=0.3, honours_keys=False)) as server:
        work = Work(tmp_path, ONE.format(url=server.url, more=f"limits = {{concurrency = {IN_FLIGHT}}}"))
        with served(tmp_path / "cluster") as address:
            process = work.start("--engine", address, env=MINE)
            waited(lambda: answers(server) >= 30 or process.poll() is not None)
            assert process.poll() is None, process.communicate()
        out, errors = process.communicate(timeout=90)
        assert (process.returncode, out) == (2, "")
        *progress, said = errors.splitlines()
        assert re.search(rf"ray: .*lost \({address} ", said)
        assert all(line.startswith("shoe: one: ") for line in progress), errors
        before = answers(server)
        work.built()
        counted = server.stats()["answers"]["m1"]
        assert answers(server) > before >= 30
    assert sum(counted.values()) - len(counted) <= IN_FLIGHT
