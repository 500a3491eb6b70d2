"""Send concurrent requests to a chat endpoint. To save memory, a request is created only when it can be sent."""

import asyncio
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from time import monotonic
from typing import Any

from shoe.core.errors import ShoeError
from shoe.llm import errors
from shoe.llm.endpoint import Endpoint
from shoe.llm.limits import Gate, Limits
from shoe.llm.request import Chat, Recorder, Request
from shoe.llm.sdk import async_client, backoff, connection_error

GIVEN_UP_IN_A_ROW = 20
"""Number of failed requests in a row after which the run ends."""
_LOOK_FOR_A_STOP, _LOOK_FOR_ROOM = 0.1, 0.02


@dataclass(eq=False, slots=True)
class _Pending:
    """A request that is being sent.

    Attributes:
        inside: whether the gate has admitted the request.
        hollow: number of responses without content.
        tries: number of failed attempts, except attempts during an outage.
    """

    request: Request
    inside: bool = True
    hollow: int = 0
    tries: int = 0


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
        except (errors.Transient, errors.RejectedError) as last:
            if not self._gate.stopped:
                self._give_up(last)
            return
        finally:
            if pending.inside:
                self._gate.leave()
        self._given_up = 0
        self._recorder.answer(request, raw)

    def _give_up(self, last: errors.Transient | errors.RejectedError) -> None:
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
            raise ShoeError(
                f"{self._place}: {self._given_up} requests in a row failed after {tries} each, the last with {last}"
            )

    async def _until_answered(self, pending: _Pending) -> dict[str, Any]:
        for attempt in count(1):
            try:
                return await self._attempt(pending)
            except errors.Transient as failed:
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
            raw = await self._answer(pending)
        except errors.RejectedError as error:
            self._reached = True
            self._recorder.failure(pending.request, error.kind, str(error))
            raise
        except errors.Transient as failed:
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
        pending.inside = False
        self._gate.leave()
        return raw

    async def _answer(self, pending: _Pending) -> dict[str, Any]:
        while True:
            structured, chat = self._structured, self._chat
            try:
                return await self._exchange(pending, structured)
            except errors.HopelessError as error:
                self._denied += 1
                if not self._gate.answered or self._denied >= errors.DENIED_IN_A_ROW:
                    raise
                raise errors.Transient(error.kind, str(error)) from None
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
        except errors.Transient as failed:
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
            self._gate.tokens.give_back(expected - usage["total_tokens"])
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
