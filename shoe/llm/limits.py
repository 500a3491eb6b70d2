"""How many requests are in flight and when the next may start: what the endpoint bears, found by trying.

Additive increase, multiplicative decrease (Chiu and Jain 1989; TCP's slow start at the beginning): twice as many
requests a round trip until that is too much, half of those, and from there one more a round trip.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from time import monotonic
from typing import Annotated

import msgspec

from shoe.llm.errors import LONGEST_PAUSE

_FIRST_BREATH, _LONGEST_BREATH = 0.5, 30.0
_OUTAGE = 20
"""Failed attempts in a row, over all requests, that make an outage of an endpoint that had answered before."""


class Limits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an endpoint takes.

    Attributes:
        concurrency: most requests in flight; the run finds out how many of them the endpoint bears.
        requests_per_minute, tokens_per_minute: None for no limit.
        timeout: seconds for one attempt.
        tries: attempts for one request before it is left for the next run; those during an outage do not count.
        outage: seconds that an endpoint which has answered before may answer nothing at all.
    """

    concurrency: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 16
    requests_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None = None
    tokens_per_minute: Annotated[float, msgspec.Meta(gt=0)] | None = None
    timeout: Annotated[float, msgspec.Meta(gt=0)] = 120.0
    tries: Annotated[int, msgspec.Meta(ge=1, le=100)] = 6
    outage: Annotated[float, msgspec.Meta(ge=0)] = 600.0

    def divided(self, workers: int) -> Limits:
        """What each of several workers may do, at most as many as requests may be in flight."""
        of = {"requests_per_minute": self.requests_per_minute, "tokens_per_minute": self.tokens_per_minute}
        each = {name: amount / workers for name, amount in of.items() if amount is not None}
        return msgspec.structs.replace(self, concurrency=self.concurrency // workers, **each)


class Bucket:
    """Amounts a minute, spent ahead: each spender is told how long to wait until its amount has run in."""

    def __init__(self, per_minute: float | None) -> None:
        self._per_second = None if per_minute is None else per_minute / 60
        self._paid_until = 0.0

    def spend(self, amount: float) -> float:
        """Take an amount; seconds to wait until it may be used. A second's worth may be used at once."""
        if self._per_second is None:
            return 0.0
        now = monotonic()
        self._paid_until = max(self._paid_until, now - 1.0) + amount / self._per_second
        return max(self._paid_until - amount / self._per_second - now, 0.0)

    def give_back(self, amount: float) -> None:
        """Correct what was spent, to either side: tokens are known only afterwards."""
        if self._per_second is not None:
            self._paid_until -= amount / self._per_second


class Gate:
    """The one door through which all attempts go. Used by one event loop."""

    def __init__(self, limits: Limits) -> None:
        self.window = 1.0
        self.in_flight = 0
        self._most = limits.concurrency
        self._doubling = True
        self._cut_at = 0.0
        self._paused_until = 0.0
        self._breath = _FIRST_BREATH
        self.answered = False
        self._failed_in_a_row = 0
        self._out_since: float | None = None
        self._longest_outage = limits.outage
        self._waiting: deque[asyncio.Future[bool]] = deque()
        self._stop = asyncio.Event()
        self._requests = Bucket(limits.requests_per_minute)
        self._tokens = Bucket(limits.tokens_per_minute)

    @property
    def stopped(self) -> bool:
        """Whether nothing more may start."""
        return self._stop.is_set()

    async def enter(self) -> bool:
        """Wait for a place among the requests in flight; False if there will be none any more."""
        if self.stopped:
            return False
        if self.in_flight < int(self.window):
            self.in_flight += 1
            return True
        ticket: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(ticket)
        return await ticket

    def leave(self) -> None:
        """Give the place back."""
        self.in_flight -= 1
        self._admit()

    async def start(self, tokens: float) -> bool:
        """Wait, inside the door, until one more request of so many tokens may be sent; False if none may any more."""
        wait = max(self._requests.spend(1), self._tokens.spend(tokens))
        if wait:
            await self.sleep(wait)
        while not self.stopped and self._paused_until > monotonic():
            await self.sleep(self._paused_until - monotonic())
        return not self.stopped

    def used(self, expected: float, tokens: float) -> None:
        """Say how many tokens a request took that was expected to take another number."""
        self._tokens.give_back(expected - tokens)

    @property
    def is_out(self) -> bool:
        """Whether nothing has come back for a while from an endpoint that had answered before."""
        return self._out_since is not None

    @property
    def is_out_for_long(self) -> bool:
        """Whether that has been so for longer than it may be."""
        return self._out_since is not None and monotonic() - self._out_since >= self._longest_outage

    def failed(self) -> None:
        """An attempt failed; after many in a row, one request at a time finds out, ever more rarely, when to go on."""
        self._failed_in_a_row += 1
        if not (self.answered and self._failed_in_a_row >= _OUTAGE):
            return
        self._out_since = self._out_since or monotonic()
        self.window = 1.0
        if self.is_out_for_long:
            self._breath = _FIRST_BREATH
        self.breathe()

    def went_well(self) -> None:
        """An answer came: if all places were in use, there may be more of them."""
        self.answered = True
        self._failed_in_a_row = 0
        self._doubling = self._doubling or self.is_out
        self._out_since = None
        self._breath = _FIRST_BREATH
        if self.in_flight >= int(self.window) and self.window < self._most:
            self.window = min(self.window + (1.0 if self._doubling else 1.0 / self.window), self._most)
            self._admit()

    def too_much(self, sent_at: float) -> None:
        """The endpoint is overloaded: half the places, once for all the requests that were in flight together."""
        if sent_at < self._cut_at:
            return
        self._doubling = False
        self._cut_at = monotonic()
        self.window = max(min(self.window, self.in_flight) / 2, 1.0)

    def breathe(self) -> None:
        """Even one request at once was too much, and no time was given: pause, each time for twice as long."""
        if self.window == 1.0:
            self.pause(self._breath)
            self._breath = min(2 * self._breath, _LONGEST_BREATH)

    def pause(self, seconds: float) -> None:
        """Send nothing for some time."""
        self._paused_until = max(self._paused_until, monotonic() + min(seconds, LONGEST_PAUSE))

    def heed(self, headers: Mapping[str, str]) -> None:
        """Pause when the endpoint says that no requests or tokens are left until some time."""
        for what in ("requests", "tokens"):
            if headers.get(f"x-ratelimit-remaining-{what}") == "0":
                self.pause(duration(headers.get(f"x-ratelimit-reset-{what}", "")))

    def stop(self) -> None:
        """Let nothing more start; whoever waits or sleeps goes on at once and is told."""
        self._stop.set()
        for ticket in self._waiting:
            ticket.set_result(False)
        self._waiting.clear()

    async def sleep(self, seconds: float) -> None:
        """Sleep, but not beyond a stop."""
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
    """Read a time as rate limits give it ("6m0s", "20ms", "1.5"), in seconds; 0 if it is none, as a date is not."""
    parts = _PART.findall(text)
    if "".join(number + unit for number, unit in parts) != text.strip():
        return 0.0
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in parts)
    return seconds if seconds <= 3600 else 0.0
