"""Limit the number and rate of requests, adapted to the load that the endpoint accepts.

Additive increase, multiplicative decrease (Chiu and Jain 1989; TCP's slow start at the beginning): the number of
requests allowed in flight doubles per round trip until the endpoint is overloaded. It is then halved, and grows by one
per round trip.
"""

import asyncio
import re
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Annotated, Self

import msgspec

from shoe.llm.errors import LONGEST_PAUSE

_FIRST_BREATH, _LONGEST_BREATH = 0.5, 30.0
_OUTAGE = 20  # failed attempts in a row, over all requests, from which an endpoint that has answered is out


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Limits of an endpoint."""

    # Largest number of requests in flight; the actual number is adapted to the endpoint.
    concurrency: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 16
    # requests_per_minute, tokens_per_minute: rate limits; None for no limit.
    requests_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tokens_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None = None
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 120.0  # time limit of an attempt, in seconds
    # Largest number of attempts per request in one run; attempts during an outage do not count.
    tries: Annotated[int, msgspec.Meta(ge=1, le=100)] = 6
    # Longest outage, in seconds, of an endpoint that has answered before; a longer outage ends the run.
    outage: Annotated[float, msgspec.Meta(ge=0)] = 600.0

    def divided(self, workers: int) -> Self:
        """Return the limits of one of ``workers`` equal workers: rates and (rounded down) concurrency are divided."""
        return msgspec.structs.replace(
            self,
            concurrency=self.concurrency // workers,
            requests_per_minute=self.requests_per_minute and self.requests_per_minute / workers,
            tokens_per_minute=self.tokens_per_minute and self.tokens_per_minute / workers,
        )


class Bucket:
    """Rate limiter for requests or tokens; without a limit if ``per_minute`` is None."""

    def __init__(self, per_minute: float | None) -> None:
        self._per_second = None if per_minute is None else per_minute / 60
        self._paid_until = 0.0

    def spend(self, amount: float) -> float:
        """Reserve a number of requests or tokens; return the seconds to wait before they may be used.

        After a break, at most the amount of one second may be used at once.
        """
        if self._per_second is None:
            return 0.0
        now = monotonic()
        start = max(self._paid_until, now - 1.0)
        self._paid_until = start + amount / self._per_second
        return max(start - now, 0.0)

    def correct(self, amount: float) -> None:
        """Add ``amount`` to an earlier reservation, because more was used; less if it is negative."""
        if self._per_second is not None:
            self._paid_until += amount / self._per_second


class Gate:
    """Delays the requests of one asyncio event loop so that they keep within the limits of an endpoint."""

    def __init__(self, limits: Limits) -> None:
        self.window, self.in_flight, self.answered = 1.0, 0, False
        self._most, self._longest_outage = limits.concurrency, limits.outage
        self._doubling, self._breath, self._failed_in_a_row = True, _FIRST_BREATH, 0
        self._cut_at = self._paused_until = 0.0
        self._out_since: float | None = None
        self._waiting: deque[asyncio.Future[bool]] = deque()
        self._stop = asyncio.Event()
        self._requests, self.tokens = Bucket(limits.requests_per_minute), Bucket(limits.tokens_per_minute)

    @property
    def stopped(self) -> bool:
        """Whether the gate admits no more requests."""
        return self._stop.is_set()

    async def enter(self) -> bool:
        """Wait until one more request may be in flight, and return True; return False if the gate was stopped."""
        if self.stopped:
            return False
        if self.in_flight < int(self.window):
            self.in_flight += 1
            return True
        ticket: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)
        return await ticket

    def leave(self) -> None:
        """Record that an admitted request is no longer in flight."""
        self.in_flight -= 1
        self._admit()

    async def start(self, tokens: float) -> bool:
        """Wait until rate limits and pauses allow a request of ``tokens`` tokens; return False if stopped."""
        if wait := max(self._requests.spend(1), self.tokens.spend(tokens)):
            await self.sleep(wait)
        while not self.stopped and self._paused_until > monotonic():
            await self.sleep(self._paused_until - monotonic())
        return not self.stopped

    @property
    def is_out(self) -> bool:
        """Whether there is an outage: the endpoint has answered before, but at least the last 20 attempts failed."""
        return self._out_since is not None

    @property
    def is_out_for_long(self) -> bool:
        """Whether there is an outage that has lasted at least ``Limits.outage`` seconds."""
        return self._out_since is not None and monotonic() - self._out_since >= self._longest_outage

    def failed(self) -> None:
        """Record a failed attempt; in an outage (:attr:`is_out`), admit one request at a time, with growing pauses."""
        self._failed_in_a_row += 1
        if self.answered and self._failed_in_a_row >= _OUTAGE:
            self._out_since = self._out_since or monotonic()
            self.window = 1.0
            if self.is_out_for_long:
                self._breath = _FIRST_BREATH
            self.back_off()

    def record_answer(self) -> None:
        """Record an answer; if the allowed number of requests is in flight, raise this number."""
        self._doubling = self._doubling or self.is_out
        self.answered, self._failed_in_a_row, self._out_since, self._breath = True, 0, None, _FIRST_BREATH
        if self.in_flight >= int(self.window) and self.window < self._most:
            self.window = min(self.window + (1.0 if self._doubling else 1.0 / self.window), self._most)
            self._admit()

    def halve_window(self, sent_at: float) -> None:
        """Halve the allowed requests in flight (at least 1), unless this was done since ``sent_at`` (monotonic)."""
        if sent_at >= self._cut_at:
            self._doubling, self._cut_at = False, monotonic()
            self.window = max(min(self.window, self.in_flight) / 2, 1.0)

    def back_off(self) -> None:
        """If one request at a time is allowed, pause 0.5 s, doubled at each call up to 30 s, until the next answer."""
        if self.window == 1.0:
            self.pause(self._breath)
            self._breath = min(2 * self._breath, _LONGEST_BREATH)

    def pause(self, seconds: float) -> None:
        """Send no request for some seconds, at most 300."""
        self._paused_until = max(self._paused_until, monotonic() + min(seconds, LONGEST_PAUSE))

    def apply_headers(self, headers: Mapping[str, str]) -> None:
        """Pause until the time in ``x-ratelimit-...`` headers if they report that no requests or tokens are left."""
        for unit in ("requests", "tokens"):
            if headers.get(f"x-ratelimit-remaining-{unit}") == "0":
                self.pause(duration(headers.get(f"x-ratelimit-reset-{unit}", "")))

    def stop(self) -> None:
        """Admit no further requests; :meth:`enter` and :meth:`sleep` then return at once."""
        self._stop.set()
        for ticket in self._waiting:
            ticket.set_result(False)
        self._waiting.clear()

    async def sleep(self, seconds: float) -> None:
        """Sleep for some seconds, or until the gate is stopped."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._stop.wait()

    def _admit(self) -> None:
        while self._waiting and self.in_flight < int(self.window):
            self.in_flight += 1
            self._waiting.popleft().set_result(True)


_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smh]?)")
_SECONDS = {"ms": 0.001, "": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}


def duration(text: str) -> float:
    """Parse a duration such as "6m0s", "20ms" or "1.5" into seconds; 0 if it is invalid or longer than one hour."""
    parts = _PART.findall(text)
    if "".join(number + unit for number, unit in parts) != text.strip():
        return 0.0
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return seconds if seconds <= 3600 else 0.0
