"""A storm of kills over ``shoe map build --engine ray``: workers and whole nodes end at random while they are paid.

As a program: ``python -m tests.rating.ray_storm KILLS SEED`` prints what was killed, and what was lost or paid twice.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.llm.server import Server
from tests.llm.server_plan import Plan
from tests.rating import test_kills
from tests.rating.test_kills import ONE, Work, answers

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
        from ray.cluster_utils import Cluster

        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            for _ in range(NODES - 1):
                cluster.add_node(num_cpus=1)
            draw, rounds = random.Random(seed), 0
            while self.killed.total() < kills:
                rounds += 1
                cluster.wait_for_nodes()  # one worker each, and IN_FLIGHT requests of each
                self._round(folder / str(rounds), cluster, kills, draw)
        finally:
            cluster.shutdown()

    def _round(self, folder: Path, cluster: Any, kills: int, draw: random.Random) -> None:
        more = f"limits = {{concurrency = {NODES * IN_FLIGHT}, timeout = 30}}"
        with Server(_PLAN) as server, mock.patch.object(test_kills, "PREDICTED", _WORDS):
            work = Work(folder, ONE.format(url=server.url, more=more))
            process = work.start("--engine", f"ray:{cluster.address}")
            with ThreadPoolExecutor(1) as pool:  # which reads what Ray has to say of all that dies
                said = pool.submit(process.communicate)
                self._kill(process, cluster, server, kills, draw)
            if process.returncode:
                raise RuntimeError(said.result())
            counted, before, found = server.stats()["answers"]["m1"], answers(server), work.map()
            self.differ += work.built() != found
            self.lost += answers(server) - before
            self.pairs += len(counted)
            self.again += sum(counted.values()) - len(counted)

    def _kill(
        self, process: subprocess.Popen[str], cluster: Any, server: Server, kills: int, draw: random.Random
    ) -> None:
        """Kill, each time after some more answers came."""
        while self.killed.total() < kills:
            wanted = answers(server) + draw.randrange(1, 60)
            while answers(server) < wanted:
                time.sleep(0.02)
                if process.poll() is not None:
                    return
            if draw.random() < 0.2:
                cluster.remove_node(draw.choice(sorted(cluster.worker_nodes, key=id)), allow_graceful=False)
                cluster.add_node(num_cpus=1)
                self.killed["nodes"] += 1
            elif workers := list(_workers()):
                with suppress(ProcessLookupError):
                    os.kill(draw.choice(workers), signal.SIGKILL)
                    self.killed["workers"] += 1
            self.allowed = self.killed.total() * IN_FLIGHT
            sys.stderr.write(f"{self}; {answers(server)} answers\n")

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
