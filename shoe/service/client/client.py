"""Clients of a metric service: a blocking one, and one for an event loop."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar, cast
from urllib.parse import urlsplit

from shoe.core.errors import MissingExtraError, OptionError, quote
from shoe.core.io.files import replacing
from shoe.service.client import calls
from shoe.service.client.calls import Answer, Call, Flow, Seen, Told, Wait
from shoe.service.types import Change, NewComparison, NewRun, Run, Version
from shoe.version import __version__

if TYPE_CHECKING:
    import httpx2

# The one place that knows the HTTP library: it sends the calls of a flow, and waits where the flow waits.

T = TypeVar("T")
LOOPBACK = ("127.0.0.1", "::1", "localhost")
_CONNECT = 10.0
_NUMBER = re.compile(r"^\[Errno -?\d+\] ")
"""What the system puts before its words."""


def address(server: str) -> str:
    """The address of a server, without what calls add to it.

    Raises:
        OptionError: for what is no http or https address, or holds a password or a query.
    """
    parts = urlsplit(server)
    if "@" in parts.netloc:
        raise OptionError(
            "server: found an address with a password in it, expected one without (tokens are given apart)"
        )
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise OptionError(f"server: found {quote(server)}, expected an address like https://shoe.example.org")
    return server.rstrip("/")


def is_local(server: str) -> bool:
    """Return whether a server is on this machine, so that compression costs more than it saves."""
    return urlsplit(server).hostname in LOOPBACK


class Session:
    """Connections to one server, for one thread."""

    def __init__(self, server: str, token: str | None, timeout: float) -> None:
        self._http = _library().Client(**_settings(server, token, timeout))

    def run(self, flow: Flow[T]) -> T:
        """Run a call, and return its result."""
        try:
            step = next(flow)
            while True:
                if isinstance(step, Wait):
                    time.sleep(step.seconds)
                    step = next(flow)
                else:
                    step = flow.send(self._send(step))
        except StopIteration as end:
            found: T = end.value
            return found
        finally:
            flow.close()

    def _send(self, call: Call) -> Answer:
        library = _library()
        try:
            return _answer(self._http.request(**_request(call)))
        except (library.TransportError, library.DecodingError) as error:
            return _lost(error, self._http.base_url)

    def close(self) -> None:
        """Close all connections."""
        self._http.close()


class AsyncSession:
    """Connections to one server, for one event loop; files are read and hashed in threads."""

    def __init__(self, server: str, token: str | None, timeout: float) -> None:
        self._http = _library().AsyncClient(**_settings(server, token, timeout))

    async def run(self, flow: Flow[T]) -> T:
        """Run a call, and return its result."""
        answer: Answer | None = None
        try:
            while True:
                # A thread cannot be left by StopIteration.
                step, found = await asyncio.to_thread(_next, flow, answer)
                if step is None:
                    return found  # type: ignore[return-value]  # a flow that has ended has its value
                answer = None
                if isinstance(step, Wait):
                    await asyncio.sleep(step.seconds)
                else:
                    answer = await self._send(step)
        finally:
            flow.close()

    async def _send(self, call: Call) -> Answer:
        library = _library()
        try:
            return _answer(await self._http.request(**_request(call)))
        except (library.TransportError, library.DecodingError) as error:
            return _lost(error, self._http.base_url)

    async def close(self) -> None:
        """Close all connections."""
        await self._http.aclose()


def _next(flow: Flow[T], answer: Answer | None) -> tuple[Call | Wait | None, T | None]:
    try:
        return next(flow) if answer is None else flow.send(answer), None
    except StopIteration as end:
        return None, end.value


def _library() -> Any:
    try:
        import httpx2
    except ImportError:
        raise MissingExtraError("the client of a metric service", "client") from None
    return httpx2


def _settings(server: str, token: str | None, timeout: float) -> dict[str, object]:
    headers = {"user-agent": f"shoe/{__version__}", "accept": "application/json, */*"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    # Not through a proxy that variables name where the server is on this machine, and never to where it redirects.
    return {
        "base_url": address(server),
        "headers": headers,
        "timeout": _library().Timeout(timeout, connect=min(timeout, _CONNECT)),
        "follow_redirects": False,
        "trust_env": not is_local(server),
    }


def _request(call: Call) -> dict[str, object]:
    return {
        "method": call.method,
        "url": call.path,
        "params": dict(call.query) or None,
        "content": call.content,
        "headers": dict(call.headers),
    }


def _answer(response: httpx2.Response) -> Answer:
    return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, response.content)


def _lost(error: Exception, server: object) -> Answer:
    why = _NUMBER.sub("", str(error)) or type(error).__name__
    return Answer(None, {}, f"{str(server).rstrip('/')}: {why}".encode())


P = ParamSpec("P")

_TIMEOUT = 60.0


def _silent(*_: object) -> None:
    pass


def _id(run: Run | str) -> str:
    return run if isinstance(run, str) else run.id


class Client:
    """A connection to a metric service.

    Everything may be interrupted and done again: a file that the server has is not sent a second time, an upload goes
    on where it was, and equal work is one run. What is asked of a busy or unreachable server is asked again for up to
    two minutes.

    >>> with Client("http://127.0.0.1:8017") as client:                          # doctest: +SKIP
    ...     run = client.wait(client.submit("predictions.json", "hico-det"))
    ...     client.result(run)["semantic"]["map"]
    """

    def __init__(self, server: str, *, token: str | None = None, timeout: float = _TIMEOUT) -> None:
        """Open one; nothing is sent yet.

        Args:
            server: its address, as "https://shoe.example.org".
            token: that it gave, where it asks for one.
            timeout: seconds for each step of a request.

        Raises:
            OptionError: for what is no address.
            MissingExtraError: where the extra is not installed.
        """
        self._packed = not is_local(server)
        self._session = Session(server, token, timeout)
        self._version: Version | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._session.close()

    @property
    def version(self) -> Version:
        """What the server runs.

        Raises:
            ServiceError: for one that speaks another API, or is no shoe service.
        """
        if self._version is None:
            self._version = self._session.run(calls.version())
        return self._version

    def _do(self, flow: Flow[T]) -> T:
        _ = self.version
        return self._session.run(flow)

    def submit(
        self,
        path: str | Path,
        truth: str | None = None,
        *,
        name: str | None = None,
        protocols: Sequence[str] = (),
        options: Sequence[str] = (),
        similarity: str | None = None,
        boxes: str | None = None,
        scores: str | None = None,
        format: str | None = None,  # noqa: A002 - as read_predictions has it
        subset: str | None = None,
        visibility: str = "team",
        board: str | None = None,
        tell: Told = _silent,
    ) -> Run:
        """Have a prediction file scored.

        Args:
            path: of the file, in any format that shoe reads.
            truth: name of the ground truth at the server; None where it has one, or a board says which.
            name: what the predictions are called; the file's name, without its ending.
            protocols: names, as ``shoe score`` has them; none for the usual ones.
            options: as "tau=0.4".
            similarity: name of a similarity map at the server.
            boxes: box convention, where it is not the format's own.
            scores: how to bring scores to 0..1.
            format: of the predictions, if content is not to decide.
            subset: a named part of the images.
            visibility: "team", or "public" for a run that all may see.
            board: a leaderboard to stand in; it then says truth, protocols and options.
            tell: is told what is being done, and how far it has come.

        Returns:
            The run, which may be an earlier one: the same file and request are the same run.

        Raises:
            InputError: for a file that cannot be read.
            ServiceError: for a refusal, or a server that cannot be reached.
        """
        wanted = NewRun(
            prediction="",
            truth=truth,
            board=board,
            name=name,
            visibility=visibility,  # type: ignore[arg-type]  # the server checks it
            protocols=list(protocols),
            similarity=similarity or "dataset",
            options=list(options),
            boxes=boxes,
            scores=scores,
            format=format,
            subset=subset,
        )
        return self._do(calls.submit(path, wanted, tell=tell, packed=self._packed))

    def wait(self, run: Run | str, *, seen: Seen = _silent, timeout: float | None = None) -> Run:
        """Wait until a run has ended.

        Args:
            run: or its id.
            seen: is given each state on the way.
            timeout: seconds, after which it is an error; None for no end.
        """
        return self._do(calls.wait(_id(run), seen, timeout))

    def run(self, run: Run | str) -> Run:
        """Ask for a run's present state."""
        return self._do(calls.run(_id(run)))

    def runs(self, *, state: str | None = None, after: str | None = None, limit: int = 50) -> list[Run]:
        """List runs, the latest first: those of a state, and those that come after the one of an id."""
        return self._do(calls.runs(state, after, limit))

    def result(self, run: Run | str) -> dict[str, Any]:
        """The results of a finished run: the JSON of ``shoe score``, ``compare`` or ``diagnose``."""
        return self._do(calls.result(_id(run)))

    def file(self, run: Run | str, name: str) -> bytes:
        """A file that a finished run has made, as ``run.shoe``; their names are in its ``outputs``."""
        return self._do(calls.file(_id(run), name))

    def save(self, run: Run | str, name: str, path: str | Path) -> None:
        """Write such a file to a path, where it appears whole."""
        content = self.file(run, name)
        with replacing(path) as stream:
            stream.write(content)

    def compare(self, runs: Sequence[Run | str], *, resamples: int | None = None, seed: int = 0) -> Run:
        """Have 2 to 20 finished runs compared, as ``shoe compare`` does."""
        return self._do(calls.compare(NewComparison(runs=[_id(run) for run in runs], resamples=resamples, seed=seed)))

    def diagnose(self, run: Run | str) -> Run:
        """Have a finished run diagnosed, as ``shoe diagnose`` does."""
        return self._do(calls.act(_id(run), "diagnose"))

    def cancel(self, run: Run | str) -> Run:
        """Stop a run; one that has ended stays as it is."""
        return self._do(calls.act(_id(run), "cancel"))

    def retry(self, run: Run | str) -> Run:
        """Begin a failed or cancelled run anew; others stay as they are."""
        return self._do(calls.act(_id(run), "retry"))

    def change(self, run: Run | str, *, name: str | None = None, visibility: str | None = None) -> Run:
        """Give a run another name, or have it seen by its team or by all ("team", "public")."""
        return self._do(calls.change(_id(run), Change(name=name, visibility=visibility)))  # type: ignore[arg-type]

    def delete(self, run: Run | str) -> None:
        """Take a run away."""
        return self._do(calls.delete(_id(run)))

    def truths(self) -> list[dict[str, Any]]:
        """Ground truths that the server has."""
        return self._do(calls.truths())

    def boards(self) -> list[dict[str, Any]]:
        """Its leaderboards."""
        return self._do(calls.boards())

    def board(self, name: str) -> dict[str, Any]:
        """The standing of a leaderboard."""
        return self._do(calls.board(name))


def _awaited(method: Callable[Concatenate[Client, P], T]) -> Callable[Concatenate[AsyncClient, P], Awaitable[T]]:
    """Return the awaitable version of a method of :class:`Client` that ends in ``_do``."""
    return cast(Any, method)  # type: ignore[no-any-return]


class AsyncClient:
    """Client for an event loop: each method is :class:`Client`'s, awaited."""

    def __init__(self, server: str, *, token: str | None = None, timeout: float = _TIMEOUT) -> None:
        """Open one; arguments and errors are those of :class:`Client`."""
        self._packed = not is_local(server)
        self._session = AsyncSession(server, token, timeout)
        self._version: Version | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def version(self) -> Version:
        """As :attr:`Client.version`."""
        if self._version is None:
            self._version = await self._session.run(calls.version())
        return self._version

    async def _do(self, flow: Flow[T]) -> T:
        await self.version()
        return await self._session.run(flow)

    async def save(self, run: Run | str, name: str, path: str | Path) -> None:
        """Write a file that a run has made to a path, where it appears whole."""
        content = await self.file(run, name)
        with replacing(path) as stream:
            stream.write(content)

    submit = _awaited(Client.submit)
    wait = _awaited(Client.wait)
    run = _awaited(Client.run)
    runs = _awaited(Client.runs)
    result = _awaited(Client.result)
    file = _awaited(Client.file)
    compare = _awaited(Client.compare)
    diagnose = _awaited(Client.diagnose)
    cancel = _awaited(Client.cancel)
    retry = _awaited(Client.retry)
    change = _awaited(Client.change)
    delete = _awaited(Client.delete)
    truths = _awaited(Client.truths)
    boards = _awaited(Client.boards)
    board = _awaited(Client.board)
