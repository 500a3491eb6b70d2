"""Many requests to a chat endpoint, as fast as it bears: each answer kept before it is read, each failure counted.

A request is taken from the iterator when there is room for it, so that memory does not grow with their number.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any

from shoe.core.errors import ShoeError
from shoe.llm.endpoint import Endpoint
from shoe.llm.errors import (
    DENIED_IN_A_ROW,
    HOLLOW,
    HopelessError,
    NoResponseFormatError,
    RejectedError,
    Transient,
    answer,
)
from shoe.llm.limits import Gate, Limits
from shoe.llm.request import Chat, Recorder, Request
from shoe.llm.sdk import async_client, connection_error, policy

GIVEN_UP_IN_A_ROW = 20
"""Requests given up in a row: then the endpoint is taken for broken."""
_LOOK_FOR_A_STOP, _LOOK_FOR_ROOM = 0.1, 0.02


class _NoMoreError(Exception):
    """The pass is to end: a request is left as it is."""


class Pass:
    """One pass over some requests to one model."""

    def __init__(self, place: Endpoint, chat: Chat, limits: Limits, recorder: Recorder) -> None:
        self._place = place
        self._limits = limits
        self._chat = chat
        self._structured = chat.response_format is not None
        self._recorder = recorder
        self._gate = Gate(limits)
        self._policy = policy(limits.tries, lambda: self._gate.stopped)
        from tenacity.asyncio import AsyncRetrying

        self._retrying = AsyncRetrying(sleep=self._gate.sleep, **self._policy)
        self._failure: BaseException | None = None
        self._given_up = 0
        self._reached = False
        self._denied = 0

    def run(self, requests: Iterator[Request]) -> None:
        """Make all requests. What is in flight when the pass is to end is awaited and kept.

        Raises:
            ShoeError: when no further request makes sense.
        """
        asyncio.run(self._run(requests))
        if self._failure is not None:
            raise self._failure

    async def _run(self, requests: Iterator[Request]) -> None:
        watch = asyncio.create_task(self._watch())
        async with async_client(self._place, self._limits.timeout) as self._client:
            # Each takes one request at a time; a gate that opens slowly keeps most of them waiting.
            await asyncio.gather(*(self._work(requests) for _ in range(self._limits.concurrency)))
        watch.cancel()

    async def _watch(self) -> None:
        while not self._recorder.stopping:
            await asyncio.sleep(_LOOK_FOR_A_STOP)
        self._gate.stop()

    def _end(self, failure: BaseException) -> None:
        self._failure = self._failure or failure
        self._gate.stop()

    async def _work(self, requests: Iterator[Request]) -> None:
        while await self._gate.enter():
            try:
                request = next(requests, None)
                if request is None:
                    self._gate.leave()
                    return
                await self._ask(request)
            except _NoMoreError:
                self._gate.stop()
            except Exception as error:  # ends the pass; what others have in flight is still to be kept
                self._end(error)

    async def _ask(self, request: Request) -> None:
        """Ask until there is an answer, and keep it. There is room for the first attempt."""
        asked = _Asked(request)
        try:
            raw = await self._until_answered(asked)
        except (Transient, RejectedError) as last:
            if not self._gate.stopped:
                self._give_up(last)
            return
        finally:
            if asked.inside:
                self._gate.leave()
        self._given_up = 0
        self._recorder.answer(request, raw)

    def _give_up(self, last: Transient | RejectedError) -> None:
        self._given_up += 1
        if isinstance(last, RejectedError):
            # One such request does not end a run that others can go on with; were all such, nothing would be charged.
            if self._given_up >= GIVEN_UP_IN_A_ROW:
                raise last
            return
        tries = f"{self._limits.tries} {'try' if self._limits.tries == 1 else 'tries'}"
        if not self._reached:
            raise ShoeError(f"{self._place}: it does not answer after {tries}: {last}")
        if self._given_up >= GIVEN_UP_IN_A_ROW:
            raise ShoeError(
                f"{self._place}: {self._given_up} requests in a row failed after {tries} each, the last with {last}"
            )

    async def _until_answered(self, asked: _Asked) -> dict[str, Any]:
        try:
            return await self._attempt(asked)
        except Transient as failed:
            asked.failed = failed
        # Only now: all that tenacity sets up costs as much as a request, and stays for the garbage collector.
        jitter = self._policy["wait"]
        raw: dict[str, Any] = await self._retrying.copy(
            stop=lambda _: self._gate.stopped or asked.tries >= self._limits.tries,
            wait=lambda state: 0.0 if self._gate.is_out else jitter(state),  # then the gate says when
        )(self._attempt_again, asked)
        return raw

    async def _attempt_again(self, asked: _Asked) -> dict[str, Any]:
        """Attempt; the first time, fail as the attempt before did, so that tenacity counts that one and waits."""
        failed, asked.failed = asked.failed, None
        if failed is not None:
            raise failed
        return await self._attempt(asked)

    async def _attempt(self, asked: _Asked) -> dict[str, Any]:
        asked.inside = asked.inside or await self._gate.enter()
        if not asked.inside:
            raise _NoMoreError
        try:
            raw = await self._answer(asked)
        except RejectedError as error:
            self._reached = True
            self._recorder.failure(asked.request, error.kind, str(error))
            raise
        except Transient as failed:
            asked.hollow += failed.kind == "hollow"
            self._recorder.failure(asked.request, failed.kind, failed.detail, failed.usage)
            if failed.kind not in HOLLOW:  # it is there, and may charge: the recorder ends that soon
                self._gate.failed()
            asked.tries = self._limits.tries if self._gate.is_out_for_long else asked.tries + (not self._gate.is_out)
            # Until the endpoint was reached for the first time, one request alone finds out whether it can be.
            if self._reached:
                asked.inside = False
                self._gate.leave()
            raise
        asked.inside = False
        self._gate.leave()
        return raw

    async def _answer(self, asked: _Asked) -> dict[str, Any]:
        while True:
            structured = self._structured
            try:
                return await self._exchange(asked, structured)
            except HopelessError as error:
                self._denied += 1
                if not self._gate.answered or self._denied >= DENIED_IN_A_ROW:
                    raise
                raise Transient(error.kind, str(error)) from None
            except NoResponseFormatError as error:
                self._recorder.failure(asked.request, "no response_format", str(error))
                if not structured:
                    raise ShoeError(f"{self._place}: HTTP 400: {error}") from None
                self._structured = False

    async def _exchange(self, asked: _Asked, structured: bool) -> dict[str, Any]:
        request = asked.request
        body = self._chat.body(request, structured)
        expected = self._chat.most_tokens(request, body)
        if not await self._gate.start(expected) or self._recorder.stopping:
            raise _NoMoreError
        while (may := self._recorder.may_ask(request)) is None and not self._gate.stopped:
            await self._gate.sleep(_LOOK_FOR_ROOM)
        if not may:
            raise _NoMoreError
        sent_at = monotonic()
        try:
            status, headers, content = await self._post(body, self._chat.once(request, structured, asked.hollow))
            self._gate.heed(headers)
            raw = answer(self._place, self._chat.model, status, headers, content)
        except Transient as failed:
            self._reached = self._reached or failed.reached
            if failed.overload:
                self._gate.too_much(sent_at)
            if failed.retry_after:
                self._gate.pause(failed.retry_after)
            elif failed.kind == "429":
                self._gate.breathe()
            raise
        self._reached = True
        self._denied = 0
        self._gate.went_well()
        usage = raw.get("usage")
        if isinstance(usage, dict) and isinstance(usage.get("total_tokens"), int):
            self._gate.used(expected, usage["total_tokens"])
        return raw

    async def _post(self, body: bytes, once: str) -> tuple[int, Mapping[str, str], bytes]:
        """Send JSON under an ``Idempotency-Key``; status, headers and body of the response, as it came.

        Raises:
            Transient: if no whole response came in time.
            ShoeError: if the endpoint cannot prove who it is.
        """
        import httpx2
        import openai

        headers = {"Content-Type": "application/json", "Idempotency-Key": once}
        try:
            async with asyncio.timeout(self._limits.timeout):  # the SDK's own is for each step of a response
                reply = await self._client.post(
                    "/chat/completions", cast_to=httpx2.Response, content=body, options={"headers": headers}
                )
        except openai.APIStatusError as error:
            reply = error.response
        except (MemoryError, ShoeError):
            raise
        except Exception as error:  # some come through as they are from libraries below the SDK
            raise connection_error(self._place, error, self._limits.timeout) from None
        return reply.status_code, reply.headers, reply.content


@dataclass(eq=False, slots=True)
class _Asked:
    """A request, whether it is in flight, how its first attempt failed, how many answers were hollow, and tries."""

    request: Request
    inside: bool = True
    failed: Transient | None = None
    hollow: int = 0
    tries: int = 0
