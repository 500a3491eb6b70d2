"""Clusters that tests start as an administrator would: a head on this machine's loopback address."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tests.maps.test_ray_gone import below

TOKEN = "a" * 64


def settings(token: str, home: Path) -> dict[str, str]:
    """The environment of one who has a token, or none."""
    others = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    ours = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "HOME": str(home)}
    return others | ours | ({"RAY_AUTH_TOKEN": token} if token else {})


def free_port() -> int:
    """A port of loopback on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


@contextmanager
def head(folder: Path, *options: str, packages: str) -> Iterator[str]:
    """A head with one core and the token; its address.

    Args:
        folder: that it works in.
        options: of ``ray start``, besides.
        packages: the ``PYTHONPATH`` of its workers.
    """
    port, said = free_port(), folder / "said"
    start = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--head", "--block"]
    more = ["--port", str(port), "--num-cpus", "1", "--include-dashboard=false", "--disable-usage-stats"]
    with said.open("w") as out:
        process = subprocess.Popen(
            [*start, *more, *options],
            cwd=folder,
            env=settings(TOKEN, folder) | {"PYTHONPATH": packages},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        while "Ray runtime started" not in said.read_text():
            assert process.poll() is None, said.read_text()
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        for one in [number for number, _ in below(process.pid)]:
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.kill()
        process.wait()


def listening(port: int) -> None:
    """Wait until something listens on a port of loopback: the server for Ray Client starts after its head says so."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        with suppress(ConnectionRefusedError), socket.create_connection(("127.0.0.1", port)):
            return
        time.sleep(0.1)
    raise TimeoutError(f"nothing listens on port {port}")
