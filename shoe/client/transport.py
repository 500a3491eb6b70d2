"""The one place that knows the HTTP library: it sends the calls of a flow, and waits where the flow waits."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from shoe.client.flow import Answer, Call, Flow, Wait
from shoe.core.errors import MissingExtraError, OptionError, quote
from shoe.version import __version__

if TYPE_CHECKING:
    import httpx2

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
    """Whether a server is on this machine, so that compressing what is sent to it costs more than it saves."""
    return urlsplit(server).hostname in LOOPBACK


class Session:
    """Connections to one server, for one thread."""

    def __init__(self, server: str, token: str | None, timeout: float) -> None:
        self._http = _library().Client(**_settings(server, token, timeout))

    def run(self, flow: Flow[T]) -> T:
        """Do what a flow says, and return what it returns."""
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
    """Connections to one server, for one event loop; files are read and hashed beside it."""

    def __init__(self, server: str, token: str | None, timeout: float) -> None:
        self._http = _library().AsyncClient(**_settings(server, token, timeout))

    async def run(self, flow: Flow[T]) -> T:
        """Do what a flow says, and return what it returns."""
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
