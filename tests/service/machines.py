"""Several machines of a cluster on this one, to kill one by one: each has its raylet, its cores, its store."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from tests.service.processes import children_of, command_of

STORE = 100_000_000


class Machines:
    """A head without cores, where no job runs, and machines with one core each.

    Attributes:
        address: of the cluster.
        nodes: machines that live.
    """

    def __init__(self, number: int) -> None:
        """Start the head, and so many machines."""
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster()
        self._cluster.add_node(num_cpus=0, object_store_memory=STORE)
        self.address = str(self._cluster.address)
        self.nodes: list[Any] = []
        for _ in range(number):
            self.add()

    def add(self) -> Any:
        """Start one more."""
        self.nodes.append(self._cluster.add_node(num_cpus=1, object_store_memory=STORE))
        return self.nodes[-1]

    def kill(self, node: Any) -> None:
        """Kill a machine: its raylet by SIGKILL, on which all that it started ends."""
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def hosts(self) -> dict[int, Any]:
        """Processes of hosts, and the machine of each."""
        return {
            worker: node
            for node in self.nodes
            for raylet in node.all_processes["raylet"]
            for worker in children_of(raylet.process.pid)
            if command_of(worker).startswith("ray::Host")
        }

    def stop(self) -> None:
        """End all of it."""
        self._cluster.shutdown()


@contextmanager
def machines(number: int, first: Path | None = None) -> Iterator[Machines]:
    """Machines that see the modules of this process, those of a folder first, and end with the context."""
    path = os.pathsep.join(map(str, filter(None, [first, *sys.path])))
    with mock.patch.dict(os.environ, {"PYTHONPATH": path, "RAY_USAGE_STATS_ENABLED": "0"}):
        made = Machines(number)
        try:
            yield made
        finally:
            made.stop()


def child_of(hosts: dict[int, Any]) -> dict[int, int]:
    """Children of jobs that run their own program, and the host of each."""
    return {
        child: host for host in hosts for child in children_of(host) if "shoe.service.job_process" in command_of(child)
    }
