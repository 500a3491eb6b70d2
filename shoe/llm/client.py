"""Clients of the openai SDK for an endpoint, and concurrent requests to its chat completions.

The SDK's own retries are off. To save memory, a request is created only when it can be sent.
"""

from __future__ import annotations

import asyncio
import random
import re
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl
from urllib.request import getproxies

from shoe.core.errors import MissingExtraError, OptionError, ShoeError
from shoe.llm import errors
from shoe.llm.endpoint import OFFICIAL, OWN_HEADERS, Endpoint
from shoe.llm.errors import Transient
from shoe.llm.limits import Gate, Limits
from shoe.llm.request import Chat, Recorder, Request

if TYPE_CHECKING:
    import openai

LONGEST_BODY = 16_000_000  # largest size of a response, in bytes
LONGEST_FILE, _LONGEST_DOWNLOAD = 4_000_000_000, 3600.0  # bytes and seconds of a download
_LAST_PORT = 65535
_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0
GIVEN_UP_IN_A_ROW = 20  # number of failed requests in a row after which the run ends
_LOOK_FOR_A_STOP, _LOOK_FOR_ROOM = 0.1, 0.02


@dataclass(eq=False, slots=True)
class _Pending:
    request: Request
    inside: bool = True  # whether the gate has admitted the request
    hollow: int = 0  # number of responses without content
    tries: int = 0  # number of failed attempts, except attempts during an outage


class Pass:
    """Sends all requests of a run to one model at an endpoint, several of them concurrently."""

    def __init__(self, place: Endpoint, chat: Chat, limits: Limits, recorder: Recorder) -> None:
        self._place, self._chat, self._limits, self._recorder = place, chat, limits, recorder
        self._structured = chat.response_format is not None
        self._gate = Gate(limits)
        self._failure: BaseException | None = None
        self._given_up = self._denied = 0
        self._reached = False

    def run(self, requests: Iterator[Request]) -> None:
        """Send all requests, repeat failed requests, and record answers and failures.

        Raise ShoeError if the endpoint does not answer or rejects the requests. If the recorder or an error ends the
        run early, requests in flight are awaited and their answers recorded.
        """
        asyncio.run(self._run(requests))
        if self._failure is not None:
            raise self._failure

    async def _run(self, requests: Iterator[Request]) -> None:
        watch = asyncio.create_task(self._watch())
        async with async_client(self._place, self._limits.timeout) as self._client:
            # Each task sends one request at a time; most tasks wait while the gate admits few requests.
            await asyncio.gather(*(self._work(requests) for _ in range(self._limits.concurrency)))
        watch.cancel()

    async def _watch(self) -> None:
        while not self._recorder.stopping:
            await asyncio.sleep(_LOOK_FOR_A_STOP)
        self._gate.stop()

    async def _work(self, requests: Iterator[Request]) -> None:
        while await self._gate.enter():
            try:
                request = next(requests, None)
                if request is None:
                    self._gate.leave()
                    return
                await self._ask(request)
            except errors.StoppedError:
                self._gate.stop()
            except Exception as error:  # ends the pass; answers to other requests in flight are still recorded
                self._failure = self._failure or error
                self._gate.stop()

    async def _ask(self, request: Request) -> None:
        pending = _Pending(request)
        try:
            raw = await self._until_answered(pending)
        except (Transient, errors.RejectedError) as last:
            if not self._gate.stopped:
                self._give_up(last)
            return
        finally:
            if pending.inside:
                self._gate.leave()
        self._given_up = 0
        self._recorder.answer(request, raw)

    def _give_up(self, last: Transient | errors.RejectedError) -> None:
        self._given_up += 1
        if isinstance(last, errors.RejectedError):
            # One rejected request does not end the run: others may be accepted, and rejected ones are not charged.
            if self._given_up >= GIVEN_UP_IN_A_ROW:
                raise last
            return
        tries = f"{self._limits.tries} {'try' if self._limits.tries == 1 else 'tries'}"
        if not self._reached:
            raise ShoeError(f"{self._place}: no answer after {tries}: {last}")
        if self._given_up >= GIVEN_UP_IN_A_ROW:
            failed = f"{self._given_up} requests in a row failed after {tries} each, the last with {last}"
            raise ShoeError(f"{self._place}: {failed}")

    async def _until_answered(self, pending: _Pending) -> dict[str, Any]:
        for attempt in count(1):
            try:
                return await self._attempt(pending)
            except Transient as failed:
                if self._gate.stopped or pending.tries >= self._limits.tries:
                    raise
                wait = 0.0 if self._gate.is_out else backoff(attempt, failed)  # in an outage the gate waits
            await self._gate.sleep(wait)
        raise AssertionError

    async def _attempt(self, pending: _Pending) -> dict[str, Any]:
        pending.inside = pending.inside or await self._gate.enter()
        if not pending.inside:
            raise errors.StoppedError
        try:
            return await self._answer(pending)
        except errors.RejectedError as error:
            self._reached = True
            self._recorder.failure(pending.request, error.kind, str(error))
            raise
        except Transient as failed:
            pending.hollow += failed.kind == "hollow"
            self._recorder.failure(pending.request, failed.kind, failed.detail, failed.usage)
            if failed.kind not in errors.HOLLOW:  # a hollow answer is no outage; the recorder counts hollow answers
                self._gate.failed()
            if self._gate.is_out_for_long:
                pending.tries = self._limits.tries
            elif not self._gate.is_out:
                pending.tries += 1
            # Until the endpoint is reached for the first time, only this request is tried.
            if self._reached:
                pending.inside = False
                self._gate.leave()
            raise

    async def _answer(self, pending: _Pending) -> dict[str, Any]:
        while True:
            structured, chat = self._structured, self._chat
            try:
                return await self._exchange(pending, structured)
            except errors.HopelessError as error:
                self._denied += 1
                if not self._gate.answered or self._denied >= errors.DENIED_IN_A_ROW:
                    raise
                raise Transient(error.kind, str(error)) from None
            except errors.RejectedError as error:
                if chat is self._chat and not self._lower_top(error):
                    raise
                self._recorder.failure(pending.request, "top_logprobs", "sent again with a lower value")
            except errors.NoResponseFormatError as error:
                self._recorder.failure(pending.request, "no response_format", str(error))
                if not structured:
                    raise ShoeError(f"{self._place}: HTTP 400: {error}") from None
                self._structured = False

    def _lower_top(self, error: errors.RejectedError) -> bool:
        """Lower ``top_logprobs`` to the limit in an error message; return whether the message has a lower limit."""
        reason = str(error).partition(f"HTTP {error.kind}")[2]
        top = self._chat.sampling.get("top_logprobs") or 0
        limits = [number for number in map(int, re.findall(r"\d{1,4}", reason)) if 0 < number < top]
        if "logprobs" in reason and limits:
            self._chat = replace(self._chat, sampling={**self._chat.sampling, "top_logprobs": max(limits)})
            return True
        return False

    async def _exchange(self, pending: _Pending, structured: bool) -> dict[str, Any]:
        request = pending.request
        body = self._chat.body(request, structured)
        expected = self._chat.most_tokens(request, body)
        if not await self._gate.start(expected) or self._recorder.stopping:
            raise errors.StoppedError
        while (may := self._recorder.may_ask(request)) is None and not self._gate.stopped:
            await self._gate.sleep(_LOOK_FOR_ROOM)
        if not may:
            raise errors.StoppedError
        sent_at = monotonic()
        try:
            key = self._chat.idempotency_key(request, structured, pending.hollow)
            status, headers, content = await self._post(body, key)
            self._gate.apply_headers(headers)
            raw = errors.answer(self._place, self._chat.model, status, headers, content)
        except Transient as failed:
            self._reached = self._reached or failed.reached
            if failed.overload:
                self._gate.halve_window(sent_at)
            if failed.retry_after:
                self._gate.pause(failed.retry_after)
            elif failed.kind == "429":
                self._gate.back_off()
            raise
        self._reached = True
        self._denied = 0
        self._gate.record_answer()
        raw["seconds"] = round(monotonic() - sent_at, 2)
        usage = raw.get("usage")
        if isinstance(usage, dict) and isinstance(usage.get("total_tokens"), int):
            self._gate.tokens.correct(usage["total_tokens"] - expected)
        return raw

    async def _post(self, body: bytes, idempotency_key: str) -> tuple[int, Mapping[str, str], bytes]:
        import httpx2
        import openai

        headers = {"Content-Type": "application/json", "Idempotency-Key": idempotency_key}
        try:
            async with asyncio.timeout(self._limits.timeout):  # the timeout of the SDK is per step of a response
                reply = await self._client.post(
                    "/chat/completions", cast_to=httpx2.Response, content=body, options={"headers": headers}
                )
        except openai.APIStatusError as error:
            reply = error.response
        except (MemoryError, ShoeError):
            raise
        except Exception as error:  # the SDK does not catch all exceptions of its libraries
            raise connection_error(self._place, error, self._limits.timeout) from None
        return reply.status_code, reply.headers, reply.content


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
    """Raise OptionError for an invalid proxy or certificate file; a client would report it only when it connects."""
    import httpx2

    try:
        proxies = getproxies()
        for address in (proxies[name] for name in ("http", "https", "all") if name in proxies):
            port = httpx2.URL(address if "://" in address else f"http://{address}").port
            if port is not None and not 0 < port <= _LAST_PORT:
                raise ValueError
        yield
    except OSError as error:
        hint = "if SSL_CERT_FILE or SSLKEYLOGFILE is set, it must name a valid file"
        raise OptionError(f"{place}: cannot read certificates ({error.strerror or 'unknown reason'}): {hint}") from None
    except Exception:  # errors of several libraries, whose text may contain parts of a password
        found = "invalid proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY"
        expected = "a URL such as http://host:3128 (percent-encode passwords; the port must be 1 to 65535)"
        raise OptionError(f"{place}: {found}, expected {expected}") from None


def connection_error(place: Endpoint, error: Exception, timeout: float) -> Transient | ShoeError:
    """Return (not raise) the exception for a request without a complete response.

    It is ShoeError for an invalid certificate of the endpoint, otherwise Transient. ``error`` is from the SDK or its
    libraries; ``timeout``, in seconds, is for the message.
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
    """Return the seconds to wait after a failed attempt (1, 2, ...): random from 0 to min(0.5 * 2^(attempt-1), 60).

    Because of the random time ("full jitter"), requests that failed together are not repeated together. A longer pause
    that the endpoint requested (``failed.retry_after``) counts.
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
