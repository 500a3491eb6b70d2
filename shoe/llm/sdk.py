"""Clients of the openai SDK for an endpoint, whose own retries are off, and the waits between attempts."""

from __future__ import annotations

import random
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

LONGEST_BODY = 16_000_000
"""Largest size of an answer, in bytes."""
LONGEST_FILE, _LONGEST_DOWNLOAD = 4_000_000_000, 3600.0
"""Largest size of a file, which is written to the disk, in bytes; and longest time for it, in seconds."""
_OWN = (b"accept", b"connection", b"content-", b"host", b"idempotency-", b"transfer-", b"user-agent", b"x-stainless-")

_LAST_PORT = 65535
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


def client(place: Endpoint, timeout: float) -> openai.OpenAI:
    """Return a client for one thread; ``timeout`` is in seconds, for each step of a response.

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
    """Return a client for one event loop; otherwise as :func:`client`."""
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
    """Raise OptionError if variables name invalid proxies or certificates, which a client reads when it is created.

    The client itself would accept any port, and fail when it connects.
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
    except Exception:  # several libraries raise errors, whose text may hold parts of a password
        raise OptionError(
            f"{place}: found a proxy that cannot be used in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, expected one like "
            "http://host:3128 (a password in it has to be percent-encoded, its port to be 1 to 65535)"
        ) from None


def connection_error(place: Endpoint, error: Exception, timeout: float) -> Transient | ShoeError:
    """Return the exception for a request without a complete response.

    Args:
        place: the endpoint.
        error: exception of the SDK, or of a library below it.
        timeout: timeout of the request, in seconds.
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


def backoff(attempt: int, failed: Transient) -> float:
    """Return the seconds to wait after the n-th attempt: drawn from 0 to 2^(n-1) times half a second, at most a minute.

    With full jitter, requests that failed together do not come back together. If the endpoint asks for longer, it is
    obeyed.
    """
    longest = min(_FIRST_WAIT * 2 ** min(attempt - 1, 10), _LONGEST_WAIT)
    return max(random.uniform(0, longest), failed.retry_after or 0.0)  # noqa: S311 - no secret


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
    """Return a hook that limits the size and duration of a response; compressed ones could expand to any size."""
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
    """Remove headers from OPENAI_... variables, which the SDK sets: they are for the official endpoint only."""
    if place.base_url == OFFICIAL:
        return
    ours = [(name, value) for name, value in request.headers.raw if name.lower().startswith(_OWN)]
    if place.key:
        ours.append((b"Authorization", f"Bearer {place.key}".encode()))
    request.headers = type(request.headers)(ours)
