"""Processes and ports of this machine, ``shoe serve`` as a process, and several machines of a cluster on this one."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar
from unittest import mock

T = TypeVar("T")


def waited(for_: Callable[[], T | None], seconds: float = 120.0) -> T:
    """What a call returns as soon as that is true."""
    end = time.monotonic() + seconds
    while not (found := for_()):
        assert time.monotonic() < end, for_
        time.sleep(0.01)
    return found


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def serve(folder: Path, port: int = 0, *options: str, **how: Any) -> "subprocess.Popen[Any]":
    words = ["-P", "-m", "shoe", "serve", str(folder), "--port", str(port), *options]
    return subprocess.Popen([sys.executable, *words], **how)


_PROGRAM = """
import resource, sys
from shoe.core.errors import ShoeError
from shoe.service.folder import Folder
from shoe.service.server import serve
from shoe.service.settings import Settings
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    serve(Folder.open(sys.argv[1]), Settings(SETTINGS), progress=lambda line: print(line, flush=True))
except ShoeError as error:
    sys.exit(str(error))
print("ended", flush=True)
"""


def server_command(folder: Path, settings: str) -> list[str]:
    """The command of a server with few files and some settings, which says in the end that it ended."""
    return [sys.executable, "-P", "-c", _PROGRAM.replace("SETTINGS", settings), str(folder)]


def serve_with_log(folder: Path, port: int, *options: str) -> "subprocess.Popen[Any]":
    with (folder.parent / "server.log").open("ab") as out:
        return serve(folder, port, *options, stdout=out, stderr=out)


def children_of(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def below(pid: int) -> set[int]:
    found = set(children_of(pid))
    return found.union(*map(below, found))


def is_alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def command_of(pid: int) -> str:
    """What a process says that it is; empty once it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


STORE = 100_000_000


class Machines:
    """A cluster: a head without cores, where no job runs, and machines with one core each, to kill one by one."""

    def __init__(self, number: int) -> None:
        from ray.cluster_utils import Cluster

        self._cluster: Any = Cluster()
        self._cluster.add_node(num_cpus=0, object_store_memory=STORE)
        self.address = str(self._cluster.address)
        self.nodes: list[Any] = []
        for _ in range(number):
            self.add()

    def add(self) -> Any:
        self.nodes.append(self._cluster.add_node(num_cpus=1, object_store_memory=STORE))
        return self.nodes[-1]

    def kill(self, node: Any) -> None:
        self.nodes.remove(node)
        self._cluster.remove_node(node, allow_graceful=False)

    def hosts(self) -> dict[int, Any]:
        return {
            worker: node
            for node in self.nodes
            for raylet in node.all_processes["raylet"]
            for worker in children_of(raylet.process.pid)
            if command_of(worker).startswith("ray::Host")
        }

    def stop(self) -> None:
        self._cluster.shutdown()


@contextmanager
def machines(number: int) -> Iterator[Machines]:
    """Machines that see the modules of this process, and end with the context."""
    path = os.pathsep.join(filter(None, sys.path))
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
