"""The server: one process that listens, with a worker beside it that does the jobs."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import logging
import resource
import signal
import socket
import sys
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from shoe.core.errors import OptionError
from shoe.service.app import make_app
from shoe.service.callers import AppState
from shoe.service.folder import Folder
from shoe.service.process import Executor, LocalExecutor
from shoe.service.settings import Settings
from shoe.service.tokens import new_token, tokens
from shoe.service.worker import Limits, Worker

ADMIN = "admin"
"""Team and scope of the token that the first start makes."""
_KEEP_ALIVE, _GRACE, _BACKLOG = 15, 5, 512
_FILES = 512
"""Open files beside connections: uploads, results, the database, pipes of jobs."""
_LINGER = 2.0
"""Seconds in which the rest of a body may still come that nobody wants, so that its sender reads the answer."""
_LONGEST_HEADERS = 32_768
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(
    folder: Folder,
    settings: Settings,
    *,
    children: int | None = None,
    limits: Limits | None = None,
    cluster: str | None = None,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a folder until a signal ends it; jobs under way are done again by the next server.

    Args:
        settings: where it listens and what it takes.
        children: jobs at once; one unless given, on a cluster one for each core.
        cluster: address of the one of Ray that does the jobs, as ``ray.init`` has it; None for this machine.
        tell: hears where the server is, and the first token.

    Raises:
        OptionError: where another server has the folder, the address is taken or not of this machine, or there is no
            such cluster.
        InputError: where the folder's database is damaged.
    """
    folder.lock()
    folder.database.check()
    _allow_files(settings.connections + _FILES)
    listening = _listen(settings)
    place: Executor = LocalExecutor()
    try:
        if cluster is not None:
            from shoe.service.ray_executor import RayExecutor

            place = RayExecutor(cluster)
        worker = Worker(folder, children or place.jobs, limits, place)
        has_admin = any(ADMIN in token.scopes for token in tokens(folder))
        first = None if has_admin else new_token(folder, "first", ADMIN, [ADMIN])
        app = make_app(folder, settings, place)
        server = _Server(_config(app, settings), app.state.shared)
        gc.freeze()  # what is there stays: looking through it again and again would stop all for 60 ms
        worker.start()
        try:
            for line in _greeting(listening, settings, first):
                tell(line)
            server.run(sockets=[listening])
        finally:
            worker.stop()
    finally:
        place.stop()
        listening.close()
        folder.close()


def _greeting(listening: socket.socket, settings: Settings, token: str | None) -> Iterator[str]:
    host, port = listening.getsockname()[:2]
    yield f"shoe serves at http://{f'[{host}]' if ':' in host else host}:{port}"
    if settings.open_to == "tokens":
        yield "every caller needs a token: shoe serve token makes one"
    if token is not None:
        yield f"admin token, shown this once: {token}"


def _allow_files(wanted: int) -> None:
    """Raise the limit of open files, so that connections leave enough for work; few systems allow more by default."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # With its protocol named, as asyncio turns Nagle's algorithm off only then: 40 ms an answer otherwise.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        why = error.strerror or str(error)
        raise OptionError(f"{settings.host}:{settings.port}: found {why}, expected a free address") from None
    return listening


def _config(app: Any, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=type("Protocol", (_Patient,), _limits(settings)),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.names),  # of a proxy on this machine alone
        forwarded_allow_ips="127.0.0.1,::1",
        limit_concurrency=settings.connections,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_LONGEST_HEADERS,
    )


def _limits(settings: Settings) -> dict[str, Any]:
    """Return the limits of a connection and of their number: half of them from one address, unless it is a proxy."""
    most = settings.connections
    own = {"patience": settings.patience, "slowest": settings.slowest}
    return {**own, "most": most, "of_one": most if settings.names else most // 2}


class _Server(uvicorn.Server):
    """Server that closes everything on a signal, and ends streams of events."""

    def __init__(self, config: uvicorn.Config, app: AppState) -> None:
        super().__init__(config)
        self._app = app

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Let signals end the server and nothing else: the surrounding code must end well, too."""
        before = {of: signal.signal(of, self.handle_exit) for of in _SIGNALS}
        try:
            yield
        finally:
            for of, handler in before.items():
                signal.signal(of, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """End, open streams of events first."""
        self._app.changes.stopping = True
        self.should_exit = True  # and not by force where it is asked again: it is a matter of seconds


class _Patient(H11Protocol):
    """HTTP/1.1 with time limits for the headers of a request and for reading an answer."""

    # uvicorn has a time limit only between requests (timeout_keep_alive): a client that never ends its headers, or
    # never reads its answer, would keep its connection for good. A proxy stops such clients, but none is required.

    patience, slowest, most, of_one = 20.0, 1024.0, 1000, 500
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept a connection, unless there are too many; a request must follow in time."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # what the kernel does not take at once has to be waited for
        hosts = [(getattr(each, "client", None) or ("",))[0] for each in self.connections]
        if len(hosts) > self.most or hosts.count((self.client or ("",))[0]) > self.of_one:
            transport.close()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request; its headers must be complete in time."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset()
        if self._unread is not None:
            self._unread.cancel()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the time limit of a client that does not read."""
        super().pause_writing()
        self._look_again()

    def resume_writing(self) -> None:
        """Stop that time limit: the client has read everything."""
        super().resume_writing()
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def on_response_complete(self) -> None:
        """After an answer, read the rest of its request for a moment only."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self.loop.call_later(_LINGER, self._end_with, self.cycle)

    def _end_with(self, cycle: object) -> None:
        if self.cycle is cycle and not self.transport.is_closing() and self.conn.their_state is h11.SEND_BODY:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Answer bytes that are not HTTP, in the form of all refusals."""
        body = msgspec.json.encode({"error": msg})
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _look_again(self) -> None:
        self._unread = self.loop.call_later(self.patience, self._see_progress, self._left())

    def _left(self) -> int:
        """Return the bytes that the client has not taken; the kernel may hold megabytes of them."""
        held = fcntl.ioctl(self.transport.get_extra_info("socket"), termios.TIOCOUTQ, bytes(4))
        return self.transport.get_write_buffer_size() + int.from_bytes(held, sys.byteorder)

    def _see_progress(self, before: int) -> None:
        if self._left() > before - self.patience * self.slowest:
            self.transport.abort()  # what is left would keep a mere close waiting for good
        else:
            self._look_again()

    def _wait(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._unset()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.patience, self._give_up)

    def _unset(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _give_up(self) -> None:
        if not self.transport.is_closing() and self.conn.their_state is h11.IDLE:
            self.transport.close()
