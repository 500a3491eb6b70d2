"""Clusters that tests start as an administrator would: a head on this machine's loopback address."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.service.processes import below, free_port, waited

TOKEN = "a" * 64
NO_RAY = "Ray is not installed: pip install 'shoe-eval[ray]'"
RAY = (pytest.mark.ray, pytest.mark.skipif(find_spec("ray") is None, reason=NO_RAY))


def settings(token: str, home: Path) -> dict[str, str]:
    others = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    ours = {"RAY_AUTH_MODE": "token", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0", "HOME": str(home)}
    return others | ours | ({"RAY_AUTH_TOKEN": token} if token else {})


@contextmanager
def head(folder: Path, *options: str, packages: str) -> Iterator[str]:
    """A head in a folder with one core and the token, whose workers have ``packages`` as PYTHONPATH; its address."""
    port, said = free_port(), folder / "said"
    words = [sys.executable, "-c", "from ray.scripts.scripts import main; main()", "start", "--head", "--block"]
    words += ["--port", str(port), "--num-cpus", "1", "--include-dashboard=false", "--disable-usage-stats", *options]
    environment = settings(TOKEN, folder) | {"PYTHONPATH": packages}
    with said.open("w") as out:
        process = subprocess.Popen(words, cwd=folder, env=environment, stdout=out, stderr=subprocess.STDOUT)
    try:
        waited(lambda: "Ray runtime started" in said.read_text() or process.poll() is not None)
        assert process.poll() is None, said.read_text()
        yield f"127.0.0.1:{port}"
    finally:
        for one in below(process.pid):
            with suppress(ProcessLookupError):
                os.kill(one, signal.SIGKILL)
        process.kill()
        process.wait()
