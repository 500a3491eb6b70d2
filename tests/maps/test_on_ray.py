"""``shoe map build --engine ray``: whatever is killed at random, nothing is lost, and little paid twice."""

import signal
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.llm.server import Server
from tests.llm.server_plan import Plan
from tests.maps.test_kills import FAULTS, ONE, Work, answered_other_than_once, answers
from tests.maps.test_shards import RATERS

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
