"""A real server on a free port of this machine, whose jobs are done by hand, and a network between that has faults.

What takes long to import is imported where it is used: collecting the tests must not cost it.
"""

from __future__ import annotations

import re
import socket
import socketserver
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal

TRUTH = Path(__file__).parents[2] / "data" / "hico_det" / "instances_test2015.json"
FILES = {"result.json": b'{"semantic": {"map": 0.5}}', "report.txt": b"the table\n", "run.shoe": b"run"}
FIGURES = {"semantic:map": 0.5}
Fault = Literal["refused", "cut", "lost", "busy", "slow"] | None


@contextmanager
def served(folder: Any, **settings: Any) -> Iterator[str]:
    import uvicorn

    from shoe.service.app import make_app
    from shoe.service.settings import Settings

    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(make_app(folder, Settings(**settings)), log_config=None, loop="asyncio", ws="none")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def worked_on(folder: Any, reason: str | None = None) -> Iterator[None]:
    """Within it, every job is done at once, and finds what FILES says; or fails for a reason."""
    from shoe.service import jobs
    from tests.service.calling import stored_files

    ended = threading.Event()

    def work() -> None:
        while not ended.wait(0.01):
            while (job := jobs.claim(folder)) is not None:
                if reason is not None:
                    jobs.fail(folder, job, reason)
                    continue
                jobs.finish(folder, job, stored_files(folder, FILES), FIGURES, "shoe:1|data:x")

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class Network(socketserver.ThreadingTCPServer):
    """Passes requests on, one a connection; each has the next of the faults, and none once they are used up.

    refused: the connection is closed before anything is read. cut: half of the body goes on, then both ends are closed.
    lost: the request arrives, its answer does not. busy: the answer is 503. slow: it takes its time.
    """

    allow_reuse_address, daemon_threads = True, True

    def __init__(self, server: str, faults: Sequence[Fault] = ()) -> None:
        super().__init__(("127.0.0.1", 0), _Connection)
        self.server, self.faults = server, list(faults)
        self.seen: list[str] = []

    def __enter__(self) -> Network:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A connection that the client gave up is no news."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"


class _Connection(socketserver.StreamRequestHandler):
    server: Network

    def handle(self) -> None:
        fault = self.server.faults.pop(0) if self.server.faults else None
        if fault == "refused":
            return
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            line = self.rfile.readline()
            if not line:
                return
            head += line
        size = re.search(rb"\r\ncontent-length: (\d+)", head, re.IGNORECASE)
        body = self.rfile.read(int(size[1])) if size else b""
        self.server.seen.append(" ".join(head.decode().split(" ")[:2]))
        if fault == "busy":
            self.wfile.write(b"HTTP/1.1 503 Busy\r\nRetry-After: 0\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        if fault == "slow":
            threading.Event().wait(0.05)
        host, port = self.server.server.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as up:
            alone = re.sub(rb"\r\nconnection: [^\r]*", b"", head, flags=re.IGNORECASE)
            up.sendall(alone[:-2] + b"Connection: close\r\n\r\n" + (body[: len(body) // 2] if fault == "cut" else body))
            if fault == "cut":
                return
            answer = b""
            while piece := up.recv(1 << 16):
                answer += piece
        if fault != "lost":
            with suppress(OSError):
                self.wfile.write(answer)


def rows(folder: Any, table: str) -> list[Mapping[str, Any]]:
    with folder.database.read() as db:
        return [dict(row) for row in db.execute(f"SELECT * FROM {table}")]
