"""HTTP server of ``shoe serve``: one process that handles requests, with worker threads that run jobs."""

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
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

import h11
import msgspec
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from shoe.core.errors import OptionError
from shoe.service.app import make_app
from shoe.service.folder import Folder
from shoe.service.process import Executor, Limits
from shoe.service.settings import Settings
from shoe.service.tokens import ADMIN, new_token, tokens
from shoe.service.worker import Worker

_KEEP_ALIVE, _GRACE, _BACKLOG = 15, 5, 512
_FILES = 512  # number of open files besides connections: uploads, results, the database, pipes of jobs
_LINGER = 2.0  # seconds for which the rest of a refused request is received, so that the client can read the response
_LONGEST_HEADERS = 32_768
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def serve(
    folder: Folder,
    settings: Settings,
    *,
    children: int | None = None,
    limits: Limits | None = None,
    cluster: str | None = None,
    progress: Callable[[str], None] = print,
) -> None:
    """Serve a data folder until the signal SIGINT or SIGTERM, then close it; the next start repeats interrupted jobs.

    Raise OptionError if another server uses the folder, the address is not available, or the cluster does not respond,
    and InputError if the database of the folder is damaged.

    Args:
        children: number of jobs at a time (default: 1, or the number of cores of the cluster).
        cluster: address of the Ray cluster that runs the jobs, as for ``ray.init``; None to run jobs on this machine.
        progress: callback for lines of text: the address of the server, and at the first start an admin token.
    """
    folder.lock()
    folder.database.check()
    _allow_files(settings.connections + _FILES)
    with ExitStack() as ended:  # in reverse order: the worker first, the folder last
        ended.callback(folder.close)
        listening = _listen(settings)
        ended.callback(listening.close)
        executor = Executor()
        if cluster is not None:
            from shoe.service.cluster_jobs import RayExecutor

            executor = RayExecutor(cluster)
        ended.callback(executor.stop)
        worker = Worker(folder, children or executor.jobs, limits, executor)
        has_admin = any(ADMIN in token.scopes for token in tokens(folder))
        first = None if has_admin else new_token(folder, "first", ADMIN, [ADMIN])
        server = _Server(_config(make_app(folder, settings, executor), settings))
        gc.freeze()  # otherwise each full garbage collection would visit all modules and stop the server for 60 ms
        worker.start()
        ended.callback(worker.stop)
        host, port = listening.getsockname()[:2]
        progress(f"shoe serves at http://{f'[{host}]' if ':' in host else host}:{port}")
        if settings.open_to == "tokens":
            progress("every client needs a token: create one with `shoe serve token`")
        if first is not None:
            progress(f"admin token, shown only once: {first}")
        server.run(sockets=[listening])


def _allow_files(wanted: int) -> None:
    """Raise this process's limit on open files to `wanted` or the hard limit; the usual default is too low."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def _listen(settings: Settings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    # asyncio turns Nagle's algorithm off only for an explicit IPPROTO_TCP; otherwise each response takes 40 ms longer.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((settings.host, settings.port))
        listening.listen(_BACKLOG)
    except OSError as error:
        listening.close()
        where, why = f"{settings.host}:{settings.port}", error.strerror or str(error)
        raise OptionError(f"{where}: cannot listen here ({why}): use another --host or --port") from None
    return listening


def _config(app: Any, settings: Settings) -> uvicorn.Config:
    limits = {"patience": settings.patience, "slowest": settings.slowest, "most": settings.connections}
    # One address gets at most half of all connections, except a proxy, through which all clients come.
    limits["most_per_address"] = settings.connections if settings.names else settings.connections // 2
    return uvicorn.Config(
        app,
        http=type("Protocol", (_LimitedProtocol,), limits),
        ws="none",
        loop="asyncio",
        lifespan="on",
        log_config=None,
        log_level=logging.WARNING,
        access_log=False,
        server_header=False,
        proxy_headers=bool(settings.names),  # only from a proxy on this machine
        forwarded_allow_ips="127.0.0.1,::1",
        limit_concurrency=settings.connections,
        timeout_keep_alive=_KEEP_ALIVE,
        timeout_graceful_shutdown=_GRACE,
        h11_max_incomplete_event_size=_LONGEST_HEADERS,
    )


class _Server(uvicorn.Server):
    """Server that shuts down on a signal, and ends open event streams."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle signals while the server runs; unlike uvicorn, do not raise the signals again after the shutdown."""
        before = {number: signal.signal(number, self.handle_exit) for number in _SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down, and end open event streams."""
        app: Any = self.config.app
        app.state.shared.changes.stopping = True
        self.should_exit = True  # unlike uvicorn, a second signal does not force the exit, which takes only seconds


class _OnePacket:
    """Transport that joins head and body of a response: a head alone would wake the client before the body follows."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport, self._head = transport, b""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        is_head = data.startswith(b"HTTP/1.1 ") and not data.startswith(b"HTTP/1.1 1")  # 100 Continue has no body
        self._transport.write(self._head + (b"" if is_head else data))
        self._head = data if is_head else b""


class _LimitedProtocol(H11Protocol):
    """HTTP/1.1 protocol with time limits for clients that send headers, or read responses, too slowly."""

    # uvicorn has a time limit only between requests (timeout_keep_alive). A client that never completes its headers, or
    # never reads its response, would keep its connection forever. A proxy would stop such clients, but is not required.

    patience, slowest, most, most_per_address = 20.0, 1024.0, 1000, 500
    _deadline: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit for request headers; close the connection if there are too many."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # call pause_writing as soon as the kernel does not take all data
        self.transport: Any = _OnePacket(transport)
        hosts = [(getattr(each, "client", None) or ("",))[0] for each in self.connections]
        if len(hosts) > self.most or hosts.count((self.client or ("",))[0]) > self.most_per_address:
            transport.close()
        else:
            self._wait()

    def data_received(self, data: bytes) -> None:
        """Process received data, and start or stop the time limit for request headers."""
        super().data_received(data)
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        self._unset()
        self._stop_reading_limit()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Start the time limit for a client that does not read the response."""
        super().pause_writing()
        self._limit_reading()

    def resume_writing(self) -> None:
        """Stop the time limit for reading the response."""
        super().resume_writing()
        self._stop_reading_limit()

    def on_response_complete(self) -> None:
        """Close the connection soon after a response if the client has not finished its request."""
        super().on_response_complete()
        if self.conn.their_state is h11.SEND_BODY:
            self.loop.call_later(_LINGER, self._close_unfinished, self.cycle)

    def _close_unfinished(self, cycle: object) -> None:
        if self.cycle is cycle and not self.transport.is_closing() and self.conn.their_state is h11.SEND_BODY:
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """Respond to data that is not HTTP: status 400, with `msg` as the JSON key "error"."""
        body = msgspec.json.encode({"error": msg})
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        for event in (h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def _limit_reading(self, before: float = float("inf")) -> None:
        """Close the connection if the client has read too little since `before` bytes were left; check again later."""
        unsent = fcntl.ioctl(self.transport.get_extra_info("socket"), termios.TIOCOUTQ, bytes(4))  # of the kernel
        left = self.transport.get_write_buffer_size() + int.from_bytes(unsent, sys.byteorder)
        if left > before - self.patience * self.slowest:
            self.transport.abort()  # close() would wait forever for the client to read the rest
        else:
            self._unread = self.loop.call_later(self.patience, self._limit_reading, left)

    def _stop_reading_limit(self) -> None:
        if self._unread is not None:
            self._unread.cancel()

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
