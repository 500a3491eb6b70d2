"""Processes and ports of this machine, how to wait for them, and ``shoe serve`` as a process."""

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

T = TypeVar("T")


def waited(for_: Callable[[], T | None], seconds: float = 120.0) -> T:
    """What a call returns as soon as that is true."""
    end = time.monotonic() + seconds
    while not (found := for_()):
        assert time.monotonic() < end, for_
        time.sleep(0.01)
    return found


def free_port() -> int:
    """A port of loopback on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        port: int = found.getsockname()[1]
        return port


def is_listening(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def serve(folder: Path, port: int = 0, *options: str, **how: Any) -> "subprocess.Popen[Any]":
    """Start ``shoe serve``; at port 0, the server chooses one."""
    words = ["-P", "-m", "shoe", "serve", str(folder), "--port", str(port), *options]
    return subprocess.Popen([sys.executable, *words], **how)


def serve_with_log(folder: Path, port: int, *options: str) -> "subprocess.Popen[Any]":
    """Start ``shoe serve``, whose output goes to a file beside its folder."""
    with (folder.parent / "server.log").open("ab") as out:
        return serve(folder, port, *options, stdout=out, stderr=out)


def children_of(pid: int) -> list[int]:
    """Processes that a process started and that still live."""
    found: list[int] = []
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(OSError):
                found += map(int, (task / "children").read_text().split())
    return found


def below(pid: int) -> set[int]:
    """All that a process started, and what that did."""
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
