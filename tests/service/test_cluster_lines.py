"""What the server and the process beside it hear of each other where one of them dies within a line."""

import io
import socket
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

from shoe.service.cluster import News
from shoe.service.crew import Crew
from shoe.service.host import _is_locked

_PROGRAM = """
import os, socket, sys, threading
from queue import SimpleQueue
from shoe.service.cluster import _hear
heard = SimpleQueue()
threading.Thread(target=_hear, args=(socket.socket(fileno=int(sys.argv[1])), heard), daemon=True).start()
print(heard.get(timeout=30), heard.get(timeout=30), flush=True)
os._exit(0)
"""


def test_the_process_beside_a_server_that_died_within_a_line_hears_that_it_is_gone() -> None:
    own, other = socket.socketpair()
    with other:
        beside = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM, str(other.fileno())],
            stdout=subprocess.PIPE,
            pass_fds=[other.fileno()],
        )
    own.sendall(b'{"type":"halt","id":3}\n{"type":"begin","id":4,"scra')
    own.close()
    assert beside.communicate()[0] == b"Halt(id=3) None\n"


class _Heard:
    """A job that keeps what is said of it."""

    def __init__(self) -> None:
        self.said: list[Any] = []

    def hear(self, said: Any) -> None:
        self.said.append(said)


def test_jobs_are_lost_and_tried_again_where_the_process_beside_the_server_died_within_a_line() -> None:
    crew, job = object.__new__(Crew), _Heard()
    crew._lock, crew._stopped, crew.is_ready = threading.Lock(), threading.Event(), True
    crew._doing = {7: job}  # type: ignore[dict-item]  # all of a job that it has to do with
    crew._hear(io.BytesIO(b'{"type":"news","id":7,"lines":["stage scoring 0.5"]}\n{"type":"news","id":7,"li'))
    news, over = job.said
    assert news == News(7, ["stage scoring 0.5"])
    assert over.end.then == "requeue"
    assert not crew.is_ready


def test_a_folder_whose_host_leaves_while_others_are_looked_through_is_nobodys(tmp_path: Path) -> None:
    assert not _is_locked(tmp_path / "host-gone")
