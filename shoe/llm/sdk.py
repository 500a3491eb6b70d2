"""Clients of the openai SDK for an endpoint, which try nothing twice, and the one layer of retries, tenacity's."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from shoe.core.errors import MissingExtraError, ShoeError
from shoe.llm.endpoint import OFFICIAL, Endpoint
from shoe.llm.errors import Transient

if TYPE_CHECKING:
    import openai
    from tenacity import RetryCallState

LONGEST_BODY = 16_000_000
"""Bytes of an answer; what goes on beyond that is broken off."""
_OWN = (b"accept", b"connection", b"content-", b"host", b"idempotency-", b"transfer-", b"user-agent", b"x-stainless-")

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0


def client(place: Endpoint, timeout: float) -> openai.OpenAI:
    """Open a client for one thread; ``timeout`` is in seconds, for each step of a response.

    Raises:
        MissingExtraError: if the SDK is not installed.
    """
    sdk = _sdk()
    http = sdk.DefaultHttpxClient(follow_redirects=False, event_hooks={"request": [partial(_leave_only_ours, place)]})
    made: openai.OpenAI = sdk.OpenAI(http_client=http, **_options(place, timeout))
    return made


def async_client(place: Endpoint, timeout: float) -> openai.AsyncOpenAI:
    """Open a client for one event loop; otherwise as :func:`client`."""
    sdk = _sdk()
    import httpx2

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, stream: Any) -> None:
            self._stream = stream

        async def __aiter__(self) -> AsyncIterator[bytes]:
            left = LONGEST_BODY
            async for part in self._stream:
                left -= len(part)
                if left < 0:
                    raise Transient("too long", f"an answer of more than {LONGEST_BODY / 1e6:g} MB")
                yield part

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def leave_only_ours(request: Any) -> None:
        _leave_only_ours(place, request)

    async def bound(response: Any) -> None:
        response.stream = Bounded(response.stream)

    http = sdk.DefaultAsyncHttpxClient(
        follow_redirects=False,
        event_hooks={"request": [leave_only_ours], "response": [bound]},
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
    )
    made: openai.AsyncOpenAI = sdk.AsyncOpenAI(http_client=http, **_options(place, timeout))
    return made


def connection_error(
    place: Endpoint, error: openai.APIConnectionError | TimeoutError, timeout: float
) -> Transient | ShoeError:
    """Judge a request to which no whole response came.

    Args:
        place: where it went.
        error: what the SDK raised.
        timeout: seconds that it had.
    """
    import httpx2
    import openai

    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Transient("timeout", f"nothing within {timeout:g} s", overload=True, reached=False)
    cause = error.__cause__ or error
    words = place.shown(str(cause) or type(cause).__name__)
    below: BaseException | None = cause
    while below is not None:
        if isinstance(below, ssl.SSLCertVerificationError):
            return ShoeError(f"{place}: {words}")
        below = below.__cause__ or below.__context__
    if isinstance(cause, httpx2.ConnectError):
        return Transient("unreachable", words, overload=True, reached=False)
    return Transient("dropped", words, reached=False)


def policy(tries: int, stopped: Callable[[], bool]) -> dict[str, Any]:
    """Say how attempts that fail with :class:`Transient` are made again; the last one's error is raised.

    The n-th wait is drawn from 0 to 2^(n-1) times half a second ("full jitter": requests that failed together do not
    come back together), but no shorter than the endpoint asks for.

    Args:
        tries: attempts in all.
        stopped: whether the run stops: then no further attempt is made.

    Returns:
        Arguments of tenacity's ``Retrying`` or ``AsyncRetrying``, beside how to sleep.
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
        return state.attempt_number >= tries or stopped()

    return {"stop": stop, "wait": wait, "retry": retry_if_exception_type(Transient), "reraise": True}


def _sdk() -> Any:
    try:
        import openai
    except ImportError:
        raise MissingExtraError("asking an endpoint", "llm") from None
    return openai


def _options(place: Endpoint, timeout: float) -> dict[str, Any]:
    return {"api_key": place.key or "none", "base_url": place.base_url, "max_retries": 0, "timeout": timeout}


def _leave_only_ours(place: Endpoint, request: Any) -> None:
    """Take out what the SDK finds in OPENAI_... variables: it is for the official endpoint, and for no other."""
    if place.base_url == OFFICIAL:
        return
    ours = [(name, value) for name, value in request.headers.raw if name.lower().startswith(_OWN)]
    if place.key:
        ours.append((b"Authorization", f"Bearer {place.key}".encode()))
    request.headers = type(request.headers)(ours)
