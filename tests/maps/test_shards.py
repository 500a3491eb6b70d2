"""``shoe map build --shard``: parts of one job, killed or not, make the map of an undivided run, byte for byte."""

import random
import signal
import time
from pathlib import Path

import pytest

from tests.llm.server import Server
from tests.maps.test_kills import FAULTS, ONE, THREE, Work, answered_other_than_once, answers

PARTS = 4
RATERS = THREE.partition('[[rater]]\nname = "batch"')[0]

pytestmark = pytest.mark.slow


def test_parts_make_the_map_of_an_undivided_run(tmp_path: Path) -> None:
    with Server(FAULTS) as server:
        clean = Work(tmp_path / "clean", RATERS.format(url=server.url)).built()
        server.endpoint.forget()
        work = Work(tmp_path / "divided", RATERS.format(url=server.url))
        order = [f"{number}/{PARTS}" for number in range(1, PARTS + 1)]
        for _ in range(2):  # the first rater's answers say what goes on to the other
            random.Random(3).shuffle(order)
            for shard in order:
                code, _, errors = work.run("--shard", shard)
                assert (code, errors.count("\n")) == (0, 1), errors
            assert not (work.folder / "map").exists() or clean != work.map()
            before = answers(server)
            assert work.run("--max-requests", "0")[0] in (0, 3)
            assert answers(server) == before
        assert work.map() == clean
        assert not answered_other_than_once(server.stats())


def test_killed_parts_at_the_same_time_lose_nothing_and_pay_nothing_twice(tmp_path: Path) -> None:
    with Server(FAULTS) as server:
        raters = ONE.format(url=server.url, more="limits = {timeout = 1}")
        clean = Work(tmp_path / "clean", raters).built()
        server.endpoint.forget()
        work = Work(tmp_path / "divided", raters)
        for killed in (True, False):
            processes = [work.start("--shard", f"{number}/{PARTS}") for number in range(1, PARTS + 1)]
            while killed and answers(server) < 100:
                time.sleep(0.01)
            for process in processes if killed else ():
                process.send_signal(signal.SIGKILL)
            for process in processes:
                process.communicate()
        assert work.built() == clean
        assert not answered_other_than_once(server.stats())


@pytest.mark.parametrize("shard", ["0/4", "5/4", "1", "1/0", "a/b", "1/4/2"])
def test_what_is_no_part_is_one_line(shard: str, tmp_path: Path) -> None:
    code, out, errors = Work(tmp_path, ONE.format(url="http://127.0.0.1:9/v1", more="")).run("--shard", shard)
    assert (code, out, errors.count("\n")) == (2, "", 1)
    assert "such as 3/16" in errors
