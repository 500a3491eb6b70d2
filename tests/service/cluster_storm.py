"""The storm of kills over ``shoe serve --engine ray``: servers, their connections to Ray, hosts, children, machines.

As a program: ``scripts/storm-service --ray KILLS SEED``; several machines of a cluster are raylets of this one.
"""

import os
import random
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from tests.service.processes import Machines, child_of, children_of, command_of, machines
from tests.service.storm import Storm, asked, main

MACHINES = 2
# What is killed, and how often beside the others.
_VICTIMS = {"servers": 2, "connections to Ray": 1, "hosts": 3, "children": 3, "machines": 2}
_PATIENCE = 30.0  # seconds in which all that was started by what was killed has to end


@dataclass
class ClusterStorm(Storm):
    cluster: Machines | None = None

    def children(self) -> list[int]:
        return list(child_of(self._hosts()))

    def kill(self) -> None:
        """Kill one of all that takes part, and start again what nobody else does."""
        assert self.cluster is not None
        assert self.server is not None
        hosts, beside = self._hosts(), children_of(self.server.pid)
        children = child_of(hosts)
        of = {"connections to Ray": beside, "hosts": list(hosts), "children": list(children)}
        (what,) = self.random.choices(list(_VICTIMS), list(_VICTIMS.values()))
        if what == "servers" or not of.get(what, True):  # where there is nothing of a kind, there is a server
            self.kill_server(bool(children), [*beside, *hosts, *children], _PATIENCE)
        elif what == "machines":
            node = self.random.choice(self.cluster.nodes)
            there = [host for host, machine in hosts.items() if machine is node]
            self.cluster.kill(node)
            self.counts["machines killed"] += 1
            self.see_end([*there, *(child for child, host in children.items() if host in there)], _PATIENCE)
            self.cluster.add()
        else:
            victim = self.random.choice(of[what])
            under = [child for child, host in children.items() if what == "connections to Ray" or host == victim]
            with suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)
                self.counts[f"{what} killed"] += 1
            self.see_end([victim, *under, *(hosts if what == "connections to Ray" else ())], _PATIENCE)

    def _hosts(self) -> dict[int, object]:
        assert self.cluster is not None
        return self.cluster.hosts()


def _made(cluster: Machines, folder: Path, port: int, draw: random.Random) -> ClusterStorm:
    return ClusterStorm(folder, port, draw, options=("--engine", f"ray:{cluster.address}"), cluster=cluster)


if __name__ == "__main__":
    with machines(MACHINES) as started:
        kills, seed = asked()
        code = main(kills, seed, partial(_made, started))
        left = [pid for pid in started.hosts() if command_of(pid)]
    sys.exit(code or bool(left))
