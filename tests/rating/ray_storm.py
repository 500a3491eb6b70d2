"""A storm of kills over ``shoe map build --engine ray``: workers and whole nodes end at random while they are paid.

As a program: ``python -m tests.rating.ray_storm KILLS SEED`` prints what was killed, and what was lost or paid twice.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli import run as cli
from tests.llm.server import Server
from tests.llm.server_plan import Plan
from tests.rating import test_kills
from tests.rating.test_kills import ONE, Work, answered_other_than_once, answers

NODES, IN_FLIGHT = 3, 4
_WORDS = [("lasso", "unicycle"), ("juggle", "chainsaw"), ("yodel", "harp"), ("whittle", "canoe"), ("knead", "anvil")]
_PLAN = Plan(seconds=0.15, honours_keys=False)


@dataclass
class Storm:
    """What was killed, and what became of it.

    Attributes:
        killed: workers and nodes.
        lost: pairs without an answer at the end of a run.
        again: answers beyond one for each pair, all of them paid for.
        allowed: requests that may have been in flight at the kills.
        pairs: in all runs.
        differ: maps that are not that of an undisturbed run.
    """

    killed: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    lost: int = 0
    again: int = 0
    allowed: int = 0
    differ: int = 0

    def run(self, folder: Path, kills: int, seed: int) -> None:
        """Build maps while so many workers and nodes are killed."""
        import ray
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            for _ in range(NODES - 1):
                cluster.add_node(num_cpus=1)
            path = os.pathsep.join(filter(None, sys.path))
            variables = {"env_vars": {"PYTHONPATH": path}}
            cluster.wait_for_nodes()
            ray.init(cluster.address, runtime_env=variables, log_to_driver=False, logging_level="critical")
            draw, rounds = random.Random(seed), 0
            while self.killed.total() < kills:
                rounds += 1
                while ray.cluster_resources().get("CPU") != NODES:  # one worker each, IN_FLIGHT requests of each
                    time.sleep(0.1)
                self._round(folder / str(rounds), cluster, kills, draw)
        finally:
            ray.shutdown()
            cluster.shutdown()

    def _round(self, folder: Path, cluster: Any, kills: int, draw: random.Random) -> None:
        more = f"limits = {{concurrency = {NODES * IN_FLIGHT}, timeout = 30}}"
        with Server(_PLAN) as server:
            test_kills.PREDICTED = _WORDS
            work, over = Work(folder, ONE.format(url=server.url, more=more)), threading.Event()
            killer = threading.Thread(target=self._kill, args=(cluster, server, kills, draw, over))
            killer.start()
            done = cli.run(*work.arguments, "map", "--engine", "ray", folder=work.folder)
            over.set()
            killer.join()
            if done.returncode:
                raise RuntimeError(done.stderr)
            counted = server.stats()
            before = answers(server)
            found = work.map()
            self.differ += work.built() != found
            self.lost += answers(server) - before
            self.pairs += len(counted["answers"]["m1"])
            self.again += sum(counted["answers"]["m1"].values()) - len(counted["answers"]["m1"])
            assert answered_other_than_once(counted).total() <= self.again

    def _kill(self, cluster: Any, server: Server, kills: int, draw: random.Random, over: threading.Event) -> None:
        """Kill, each time after some more answers came."""
        while self.killed.total() < kills:
            wanted = answers(server) + draw.randrange(1, 60)
            while answers(server) < wanted:
                if over.wait(0.02):
                    return
            if draw.random() < 0.2:
                cluster.remove_node(draw.choice(sorted(cluster.worker_nodes, key=id)), allow_graceful=False)
                cluster.add_node(num_cpus=1)
                self.killed["nodes"] += 1
            elif workers := list(_workers()):
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    self.killed["workers"] += 1
            sys.stderr.write(f"{dict(self.killed)} after {answers(server)} answers\n")
            self.allowed += IN_FLIGHT

    def __str__(self) -> str:
        return (
            f"killed {dict(self.killed)}; {self.pairs} pairs, {self.lost} lost, {self.differ} maps that differ, "
            f"{self.again} answers paid twice of at most {self.allowed} in flight"
        )


def _workers() -> Iterator[int]:
    """Processes of this one's descent that are workers of Ray at work."""
    parents = {}
    for folder in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
    for process in parents:
        above = process
        while above in parents and above != os.getpid():
            above = parents[above]
        with suppress(OSError):
            title = Path(f"/proc/{process}/cmdline").read_bytes()
            if above == os.getpid() and title.startswith((b"ray::Worker", b"ray::one:")):
                yield process


def main() -> None:
    """Print what a storm does."""
    given = dict(enumerate(sys.argv[1:]))
    found = Storm()
    with tempfile.TemporaryDirectory() as folder:
        found.run(Path(folder), int(given.get(0, 50)), int(given.get(1, 1)))
    sys.stdout.write(f"{found}\n")
    sys.exit(bool(found.lost or found.differ or found.again > found.allowed))


if __name__ == "__main__":
    main()
