"""A storm over ``shoe map build --engine ray``: workers, raylets, machines and commands are killed while they are paid.

As a program: ``python -m tests.maps.ray_storm KILLS SEED`` prints what was killed, and what was lost or paid twice.
"""

import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from tests.llm.http import Heard, Says
from tests.llm.server import Endpoint, Server
from tests.llm.server_plan import Plan
from tests.maps import test_kills
from tests.maps.test_kills import ONE, Work, answers

NODES, IN_FLIGHT, BUDGET = 3, 4, 400
KINDS = {"worker": 10, "raylet": 4, "machine": 3, "command": 3}
"""How often each is killed among twenty."""
_WORDS = [("lasso", "unicycle"), ("juggle", "chainsaw"), ("yodel", "harp"), ("whittle", "canoe"), ("knead", "anvil")]
_PLAN = Plan(seconds=0.15, honours_keys=False)
_TO_KEEP = 0.5
"""Seconds after an answer was sent until it is kept, at most, and after a kill until what was killed has ended."""
_SUBREAPER = 36


class Watched(Endpoint):
    def forget(self) -> None:
        Endpoint.forget(self)
        self.times: dict[str, list[tuple[float, float]]] = defaultdict(list)

    async def chat(self, heard: Heard) -> Says | None:
        begun = time.monotonic()
        try:
            return await Endpoint.chat(self, heard)
        finally:
            for _, pair in self.generator.pairs(heard.json()):
                self.times[pair].append((begun, time.monotonic()))


@dataclass
class Storm:
    """What was killed how often, and what became of it: pairs lost, maps that differ, requests over a budget.

    Of the answers paid ``again``, ``allowed`` may have been in flight at the kills; others are ``not_in_flight``.
    """

    killed: Counter[str] = field(default_factory=Counter)
    pairs: int = 0
    lost: int = 0
    differ: int = 0
    over: int = 0
    again: int = 0
    allowed: int = 0
    not_in_flight: int = 0
    _moments: list[tuple[float, float]] = field(default_factory=list)

    def run(self, folder: Path, kills: int, seed: int) -> None:
        from ray.cluster_utils import Cluster

        ctypes.CDLL(None).prctl(_SUBREAPER, 1)  # what a killed raylet leaves stays below this process
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        try:
            for _ in range(NODES - 1):
                cluster.add_node(num_cpus=1)
            draw, rounds = random.Random(seed), 0
            while self.killed.total() < kills:
                rounds += 1
                self._round(folder / str(rounds), cluster, kills, draw)
        finally:
            cluster.shutdown()

    def _round(self, folder: Path, cluster: Any, kills: int, draw: random.Random) -> None:
        more = f"limits = {{concurrency = {NODES * IN_FLIGHT}, timeout = 30}}"
        endpoint = Watched(_PLAN)
        with Server(endpoint=endpoint) as server, mock.patch.object(test_kills, "PREDICTED", _WORDS):
            work = Work(folder, ONE.format(url=server.url, more=more))
            while not is_complete(work):
                cluster.wait_for_nodes()  # one worker each, and IN_FLIGHT requests of each
                self._command(work, cluster, server, kills, draw)
            counted, before, found = server.stats()["answers"]["m1"], answers(server), work.map()
            self.differ += work.built() != found
            self.lost += answers(server) - before
            self.pairs += len(counted)
            self.again += sum(counted.values()) - len(counted)
            for spans in endpoint.times.values():
                self.not_in_flight += sum(not self._was_killed(*span) for span in spans[:-1])
        sys.stderr.write(f"{self}\n")

    def _was_killed(self, begun: float, ended: float) -> bool:
        return any(begun <= last and first <= ended + _TO_KEEP for first, last in self._moments)

    def _command(self, work: Work, cluster: Any, server: Server, kills: int, draw: random.Random) -> None:
        """Run one command to its end, or to its death, and see that it kept to its budget."""
        before = server.stats().get("requests", 0)
        process = work.start("--engine", f"ray:{cluster.address}", "--max-requests", str(BUDGET))
        with ThreadPoolExecutor(1) as pool:  # which reads what Ray has to say of all that dies
            said = pool.submit(process.communicate)
            self._kill(process, cluster, server, kills, draw)
        if process.returncode not in (0, 3, -signal.SIGKILL):
            raise RuntimeError(said.result())
        while any(_workers()):
            time.sleep(0.1)
        if process.returncode < 0:
            self._moments[-1] = self._moments[-1][0], time.monotonic()
        self.over += max(0, server.stats()["requests"] - before - BUDGET)

    def _kill(
        self, process: subprocess.Popen[str], cluster: Any, server: Server, kills: int, draw: random.Random
    ) -> None:
        """Kill, each time after some more answers came, until the command ends."""
        while self.killed.total() < kills:
            wanted = answers(server) + draw.randrange(1, 60)
            while answers(server) < wanted:
                time.sleep(0.02)
                if process.poll() is not None:
                    return
            (kind,) = draw.choices(list(KINDS), list(KINDS.values()))
            begun = time.monotonic()
            if kind == "command":
                process.kill()
            elif kind == "worker":
                if not (workers := [process for process, _ in _workers()]):
                    continue
                _end(draw.choice(workers))
            else:
                node = draw.choice(sorted(cluster.worker_nodes, key=id))
                raylet = node.all_processes["raylet"][0].process.pid
                below = [worker for worker, parent in _workers() if parent == raylet]
                for one in [raylet, *(below if kind == "machine" else ())]:
                    _end(one)
                cluster.remove_node(node, allow_graceful=False)
                cluster.add_node(num_cpus=1)
            self._moments.append((begun, begun + _TO_KEEP))
            self.killed[kind] += 1
            self.allowed += IN_FLIGHT * (NODES if kind == "command" else 1)
            sys.stderr.write(f"killed {kind} after {answers(server)} answers\n")
            if kind == "command":
                return

    def __str__(self) -> str:
        return (
            f"killed {self.killed.total()}: {dict(self.killed)}; {self.pairs} pairs, {self.lost} lost, "
            f"{self.differ} maps that differ, {self.over} requests over budget, {self.again} answers paid twice "
            f"of at most {self.allowed} in flight, {self.not_in_flight} of them not in flight"
        )


def is_complete(work: Work) -> bool:
    try:
        return bool(json.loads((work.folder / "map" / "map.json").read_text())["built"]["complete"])
    except FileNotFoundError:
        return False


def _end(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _workers() -> Iterator[tuple[int, int]]:
    """Processes of this one's descent that are workers of Ray at work, and their parents."""
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
                yield process, parents[process]


def main() -> None:
    given = dict(enumerate(sys.argv[1:]))
    found = Storm()
    with tempfile.TemporaryDirectory() as folder:
        found.run(Path(folder), int(given.get(0, 50)), int(given.get(1, 1)))
    sys.stdout.write(f"{found}\n")
    wrong = found.lost + found.differ + found.over + found.not_in_flight
    sys.exit(bool(wrong or found.again > found.allowed))


if __name__ == "__main__":
    main()
