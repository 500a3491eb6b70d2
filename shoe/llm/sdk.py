"""Clients of the openai SDK for an endpoint, which try nothing twice, and the one layer of retries, tenacity's."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from shoe.core.errors import MissingExtraError, OptionError, ShoeError
from shoe.llm.endpoint import OFFICIAL, Endpoint
from shoe.llm.errors import Transient

if TYPE_CHECKING:
    import openai
    from tenacity import RetryCallState

LONGEST_BODY = 16_000_000
"""Bytes of an answer; what goes on beyond that is broken off."""
LONGEST_FILE, _LONGEST_DOWNLOAD = 4_000_000_000, 3600.0
"""Bytes of a file, which go to the disk; seconds that it may take."""
_OWN = (b"accept", b"connection", b"content-", b"host", b"idempotency-", b"transfer-", b"user-agent", b"x-stainless-")

_LAST_PORT = 65535
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


def client(place: Endpoint, timeout: float) -> openai.OpenAI:
    """Open a client for one thread; ``timeout`` is in seconds, for each step of a response.

    Raises:
        MissingExtraError: if the SDK is not installed.
    """
    sdk = _sdk()
    hooks = {"request": [partial(_leave_only_ours, place)], "response": [_bounds(timeout)]}
    with _variables(place):
        http = sdk.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks)
    made: openai.OpenAI = sdk.OpenAI(http_client=http, **_options(place, timeout))
    return made


def async_client(place: Endpoint, timeout: float) -> openai.AsyncOpenAI:
    """Open a client for one event loop; otherwise as :func:`client`."""
    sdk = _sdk()
    import httpx2

    bounds = _bounds(timeout)

    async def leave_only_ours(request: Any) -> None:
        _leave_only_ours(place, request)

    async def bound(response: Any) -> None:
        bounds(response)

    with _variables(place):
        http = sdk.DefaultAsyncHttpxClient(
            follow_redirects=False,
            event_hooks={"request": [leave_only_ours], "response": [bound]},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        )
    made: openai.AsyncOpenAI = sdk.AsyncOpenAI(http_client=http, **_options(place, timeout))
    return made


@contextmanager
def _variables(place: Endpoint) -> Iterator[None]:
    """Have what variables say of proxies and certificates be one line where it is broken: the client reads it at once.

    It takes any number for a port, and stumbles over one when it connects.
    """
    import httpx2

    try:
        found = getproxies()
        for address in (found[name] for name in ("http", "https", "all") if name in found):
            port = httpx2.URL(address if "://" in address else f"http://{address}").port
            if port is not None and not 0 < port <= _LAST_PORT:
                raise ValueError
        yield
    except OSError as error:
        raise OptionError(
            f"{place}: found {error.strerror or 'nothing'} as certificates were read, expected SSL_CERT_FILE and "
            "SSLKEYLOGFILE, where they are set, to name files that can be used"
        ) from None
    except Exception:  # of several libraries, in words that may hold parts of a password
        raise OptionError(
            f"{place}: found a proxy that cannot be used in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, expected one like "
            "http://host:3128 (a password in it has to be percent-encoded, its port to be 1 to 65535)"
        ) from None


def connection_error(place: Endpoint, error: Exception, timeout: float) -> Transient | ShoeError:
    """Judge a request to which no whole response came.

    Args:
        place: where it went.
        error: what the SDK raised, or let through from a library below it.
        timeout: seconds that it had.
    """
    import httpx2
    import openai

    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Transient("timeout", f"nothing within {timeout:g} s", overload=True, reached=False)
    cause = error.__cause__ or error if isinstance(error, openai.APIConnectionError) else error
    if isinstance(cause, Transient):
        return cause
    words = place.shown(str(cause) or type(cause).__name__)
    below: BaseException | None = cause
    while below is not None:
        if isinstance(below, ssl.SSLCertVerificationError):
            return ShoeError(f"{place}: {words}")
        below = below.__cause__ or below.__context__
    if isinstance(cause, httpx2.ConnectError):
        return Transient("unreachable", words, overload=True, reached=False)
    return Transient("dropped", words, reached=False)


def policy(
    tries: int, stopped: Callable[[], bool], may_come_back: Callable[[], bool] = lambda: False
) -> dict[str, Any]:
    """Say how attempts that fail with :class:`Transient` are made again: the arguments of tenacity's ``Retrying``.

    The n-th wait is drawn from 0 to 2^(n-1) times half a second ("full jitter": requests that failed together do not
    come back together), but no shorter than the endpoint asks for. After so many ``tries``, unless it
    ``may_come_back``, or where the run is ``stopped``, the last one's error is raised.
    """
    try:
        from tenacity import retry_if_exception_type, wait_random_exponential
    except ImportError:
        raise MissingExtraError("asking an endpoint", "llm") from None

    jitter = wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)

    def wait(state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        return max(jitter(state), getattr(error, "retry_after", None) or 0.0)

    def stop(state: RetryCallState) -> bool:
        return stopped() or (state.attempt_number >= tries and not may_come_back())

    return {"stop": stop, "wait": wait, "retry": retry_if_exception_type(Transient), "reraise": True}


def _sdk() -> Any:
    try:
        import openai
    except ImportError:
        raise MissingExtraError("asking an endpoint", "llm") from None
    return openai


def _options(place: Endpoint, timeout: float) -> dict[str, Any]:
    plain = {"Accept-Encoding": "identity"}
    address = {"api_key": place.key or "none", "base_url": place.base_url}
    return {**address, "max_retries": 0, "timeout": timeout, "default_headers": plain}


def _bounds(timeout: float) -> Callable[[Any], None]:
    """What bounds a response: in bytes, which must not be packed as they would unpack to any number, and in seconds."""
    import httpx2

    class Bounded(httpx2.SyncByteStream, httpx2.AsyncByteStream):
        def __init__(self, response: Any) -> None:
            is_file = response.is_success and response.request.url.path.endswith("/content")
            self._stream = response.stream
            self._left = self._most = LONGEST_FILE if is_file else LONGEST_BODY
            self._end = monotonic() + (_LONGEST_DOWNLOAD if is_file else timeout)

        def _taken(self, part: bytes) -> bytes:
            self._left -= len(part)
            if self._left < 0:
                raise Transient("too long", f"an answer of more than {self._most / 1e6:g} MB")
            if monotonic() > self._end:
                raise Transient("timeout", "an answer that does not end", overload=True)
            return part

        def __iter__(self) -> Iterator[bytes]:
            return map(self._taken, self._stream)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._stream:
                yield self._taken(part)

        def close(self) -> None:
            self._stream.close()

        async def aclose(self) -> None:
            await self._stream.aclose()

    def bound(response: Any) -> None:
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Transient("packed", "a packed answer, which was not asked for")
        response.stream = Bounded(response)

    return bound


def _leave_only_ours(place: Endpoint, request: Any) -> None:
    """Take out what the SDK finds in OPENAI_... variables: it is for the official endpoint, and for no other."""
    if place.base_url == OFFICIAL:
        return
    ours = [(name, value) for name, value in request.headers.raw if name.lower().startswith(_OWN)]
    if place.key:
        ours.append((b"Authorization", f"Bearer {place.key}".encode()))
    request.headers = type(request.headers)(ours)
