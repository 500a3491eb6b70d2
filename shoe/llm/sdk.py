"""Clients of the openai SDK for an endpoint, without the SDK's own retries, and the waiting times between attempts."""

from __future__ import annotations

import random
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl
from urllib.request import getproxies

from shoe.core.errors import MissingExtraError, OptionError, ShoeError
from shoe.llm.endpoint import OFFICIAL, OWN_HEADERS, Endpoint
from shoe.llm.errors import Transient

if TYPE_CHECKING:
    import openai

LONGEST_BODY = 16_000_000
"""Largest size of a response, in bytes."""
LONGEST_FILE, _LONGEST_DOWNLOAD = 4_000_000_000, 3600.0
"""Largest size in bytes of a downloaded file, and longest time in seconds for its download."""

_LAST_PORT = 65535
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


def client(place: Endpoint, timeout: float) -> openai.OpenAI:
    """Return a client of the openai SDK for one thread; it does not repeat failed requests.

    ``timeout`` is in seconds, for each read from the network and for a whole response; a downloaded file may take one
    hour. Raise MissingExtraError if the SDK is not installed, and OptionError if an environment variable (HTTPS_PROXY,
    SSL_CERT_FILE, ...) names an invalid proxy or certificate file.
    """
    library = sdk()
    hooks = {"request": [partial(_set_headers, place)], "response": [_bounds(timeout)]}
    with _checked_environment(place):
        http = library.DefaultHttpxClient(follow_redirects=False, event_hooks=hooks)
    sdk_client: openai.OpenAI = library.OpenAI(http_client=http, **_options(place, timeout))
    return sdk_client


def async_client(place: Endpoint, timeout: float) -> openai.AsyncOpenAI:
    """Return an asynchronous openai client for one event loop; arguments and errors are as for :func:`client`."""
    library = sdk()
    import httpx2

    bounds = _bounds(timeout)

    async def set_headers(request: Any) -> None:
        _set_headers(place, request)

    async def bound(response: Any) -> None:
        bounds(response)

    with _checked_environment(place):
        http = library.DefaultAsyncHttpxClient(
            follow_redirects=False,
            event_hooks={"request": [set_headers], "response": [bound]},
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
        )
    sdk_client: openai.AsyncOpenAI = library.AsyncOpenAI(http_client=http, **_options(place, timeout))
    return sdk_client


@contextmanager
def _checked_environment(place: Endpoint) -> Iterator[None]:
    """Context in which a client is created; raise OptionError if environment variables name invalid proxies or files.

    A client reads these variables when it is created, but would report an invalid port only when it connects.
    """
    import httpx2

    try:
        proxies = getproxies()
        for address in (proxies[name] for name in ("http", "https", "all") if name in proxies):
            port = httpx2.URL(address if "://" in address else f"http://{address}").port
            if port is not None and not 0 < port <= _LAST_PORT:
                raise ValueError
        yield
    except OSError as error:
        raise OptionError(
            f"{place}: cannot read certificates ({error.strerror or 'unknown reason'}): if SSL_CERT_FILE or "
            "SSLKEYLOGFILE is set, it must name a valid file"
        ) from None
    except Exception:  # errors of several libraries, whose text may contain parts of a password
        raise OptionError(
            f"{place}: invalid proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, expected a URL such as "
            "http://host:3128 (percent-encode passwords; the port must be 1 to 65535)"
        ) from None


def connection_error(place: Endpoint, error: Exception, timeout: float) -> Transient | ShoeError:
    """Return (not raise) the exception for a request without a complete response.

    It is ShoeError for an invalid certificate of the endpoint, otherwise Transient. ``error`` is the exception raised
    by the SDK or its libraries; ``timeout``, in seconds, is only shown in the message.
    """
    import httpx2
    import openai

    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Transient("timeout", f"nothing within {timeout:g} s", overload=True, reached=False)
    cause = error.__cause__ or error if isinstance(error, openai.APIConnectionError) else error
    if isinstance(cause, Transient):
        return cause
    message = place.shown(str(cause) or type(cause).__name__)
    nested: BaseException | None = cause
    while nested is not None:
        if isinstance(nested, ssl.SSLCertVerificationError):
            return ShoeError(f"{place}: {message}")
        nested = nested.__cause__ or nested.__context__
    if isinstance(cause, httpx2.ConnectError):
        return Transient("unreachable", message, overload=True, reached=False)
    return Transient("dropped", message, reached=False)


def backoff(attempt: int, failed: Transient) -> float:
    """Return the seconds to wait after a failed attempt: random from 0 to min(0.5 * 2^(attempt-1), 60).

    Because of the random time ("full jitter"), requests that failed together are not repeated together. If the endpoint
    requested a longer pause (``failed.retry_after``), return that pause. ``attempt`` starts at 1.
    """
    longest = min(_FIRST_WAIT * 2 ** min(attempt - 1, 10), _LONGEST_WAIT)
    return max(random.uniform(0, longest), failed.retry_after or 0.0)  # noqa: S311 - no secret


def sdk() -> Any:
    """Return the module ``openai``; raise MissingExtraError if it is not installed."""
    try:
        import openai
    except ImportError:
        raise MissingExtraError("sending requests to an endpoint", "llm") from None
    return openai


def _options(place: Endpoint, timeout: float) -> dict[str, Any]:
    url, _, query = place.base_url.partition("?")
    address = {"api_key": place.key or "none", "base_url": url, "default_query": dict(parse_qsl(query))}
    return {**address, "max_retries": 0, "timeout": timeout, "default_headers": {"Accept-Encoding": "identity"}}


def _bounds(timeout: float) -> Callable[[Any], None]:
    """Return a response hook that limits size and duration of a response, and rejects compressed responses."""
    import httpx2

    class Bounded(httpx2.SyncByteStream, httpx2.AsyncByteStream):
        def __init__(self, response: Any) -> None:
            is_file = response.is_success and response.request.url.path.endswith(("/content", ":download"))
            self._stream = response.stream
            self._left = self._most = LONGEST_FILE if is_file else LONGEST_BODY
            self._end = monotonic() + (_LONGEST_DOWNLOAD if is_file else timeout)

        def _checked(self, part: bytes) -> bytes:
            self._left -= len(part)
            if self._left < 0:
                raise Transient("too long", f"an answer of more than {self._most / 1e6:g} MB")
            if monotonic() > self._end:
                raise Transient("timeout", "an answer that does not end", overload=True)
            return part

        def __iter__(self) -> Iterator[bytes]:
            return map(self._checked, self._stream)

        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for part in self._stream:
                yield self._checked(part)

        def close(self) -> None:
            self._stream.close()

        async def aclose(self) -> None:
            await self._stream.aclose()

    def bound(response: Any) -> None:
        # A compressed response could expand to any size.
        if response.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise Transient("packed", "a compressed response, which was not requested")
        response.stream = Bounded(response)

    return bound


def _set_headers(place: Endpoint, request: Any) -> None:
    """Remove headers that the SDK sets from OPENAI_... variables, except for OpenAI's endpoint; add the endpoint's."""
    if place.base_url != OFFICIAL:
        headers = [(name, value) for name, value in request.headers.raw if name.lower().startswith(OWN_HEADERS)]
        if place.key and place.google_files and "/openai/" not in request.url.path:
            headers.append((b"X-Goog-Api-Key", place.key.encode()))
        elif place.key:
            headers.append((b"Authorization", f"Bearer {place.key}".encode()))
        request.headers = type(request.headers)(headers)
    request.headers.update(place.headers)
