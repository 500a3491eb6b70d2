"""What requests cost, how much a run may ask and spend over all its models, and whether it is to end.

Costs follow from the tokens that an answer says it took, or from a bound on them before it is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from typing import Annotated, Any, Literal, NamedTuple, cast

import msgspec

LIKELY_TOKENS_PER_CHAR = 0.25
LIKELY_ANSWER_TOKENS = 8
"""For each question."""
TOKENS_AROUND = 256
"""At most, for what a chat template puts around texts, and for a schema of answers."""
ANSWER_TOKENS = 64
"""Expected of an answer that has no bound, beside ``ANSWER_TOKENS_PER_QUESTION``; what answers cost corrects it."""
ANSWER_TOKENS_PER_QUESTION = 16
_MILLION = 1e6
BOUNDS = ("max_completion_tokens", "max_tokens", "max_new_tokens")
"""Sampling parameters that bound an answer's tokens."""

Reason = Literal["requests", "cost", "interrupted", "failed"]
_Money = Annotated[float, msgspec.Meta(ge=0)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Money for a million tokens; 0 where nothing is charged."""

    input: _Money = 0.0
    output: _Money = 0.0
    cached_input: _Money | None = None
    """For input tokens that the endpoint says it had cached; as ``input`` if absent."""

    @property
    def is_free(self) -> bool:
        """Whether nothing is charged."""
        return not (self.input or self.output or self.cached_input)


class Usage(NamedTuple):
    """Tokens of one request; ``cached`` of the input tokens were cached at the endpoint."""

    input: int
    output: int
    cached: int = 0

    def cost(self, price: Price) -> float:
        """What they cost."""
        cached_price = price.input if price.cached_input is None else price.cached_input
        whole = (self.input - self.cached) * price.input + self.cached * cached_price + self.output * price.output
        return whole / _MILLION


def usage_of(raw: Mapping[str, Any]) -> Usage | None:
    """Read the tokens that an answer says it took, under the names that endpoints use; None if it does not say."""
    usage = raw.get("usage")
    if not isinstance(usage, dict):
        return None
    tokens_in = _count(usage.get("prompt_tokens", usage.get("input_tokens")))
    tokens_out = _count(usage.get("completion_tokens", usage.get("output_tokens", 0)))
    if tokens_in is None or tokens_out is None:
        return None
    details = usage.get("prompt_tokens_details", usage.get("input_tokens_details"))
    cached = _count(details.get("cached_tokens")) if isinstance(details, dict) else 0
    return Usage(tokens_in, tokens_out, min(cached or 0, tokens_in))


def bound_of(sampling: Mapping[str, Any]) -> int | None:
    """Return the most tokens of an answer that sampling parameters allow; None if they set no bound."""
    return next((n for name in BOUNDS if isinstance(n := sampling.get(name), int)), None)


def most_usage(sampling: Mapping[str, Any], size: int, questions: int) -> Usage:
    """Bound the tokens of a request before it is made: no tokenizer makes more of them than a text has bytes.

    The bound holds if the sampling parameters bound answers; else a model that thinks at length exceeds it.

    Args:
        sampling: parameters of the requests.
        size: bytes of the request's texts.
        questions: that it asks.
    """
    bound = bound_of(sampling)
    return Usage(
        size + TOKENS_AROUND, ANSWER_TOKENS + ANSWER_TOKENS_PER_QUESTION * questions if bound is None else bound
    )


def likely_usage(characters: int, questions: int) -> Usage:
    """Estimate the tokens of a request whose answer does not say them."""
    return Usage(ceil(characters * LIKELY_TOKENS_PER_CHAR), LIKELY_ANSWER_TOKENS * questions)


@dataclass
class Budget:
    """What a run may still do; shared by all threads, and by runs that are to share it.

    What is in flight is reserved at the most that it can cost. So no more is spent than ``max_cost``, and what the
    requests that are in flight together cost beyond what was reserved for them, if they do.

    Attributes:
        max_cost: in the currency of the prices; None for no limit.
        max_requests: attempts at requests, retries included; None for no limit.
        requests: made so far.
        spent: so far, where no tokens were reported by estimate.
        reason: why the run is to end; None while it is not.
    """

    max_cost: float | None = None
    max_requests: int | None = None
    requests: int = 0
    spent: float = 0.0
    reason: Reason | None = None
    _reserved: float = 0.0
    _in_flight: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def reserve(self, cost: float) -> bool | None:
        """Take one request that can cost so much.

        Returns:
            Whether there is room for it; False ends the run, None says that there may be when others have come back.
        """
        with self._lock:
            if self.reason is not None:
                return False
            if self.max_requests is not None and self.requests >= self.max_requests:
                self.reason = "requests"
            elif self.max_cost is not None and cost > 0 and self.spent + self._reserved + cost > self.max_cost:
                if self._in_flight:
                    return None
                self.reason = "cost"
            else:
                self.requests += 1
                self._reserved += cost
                self._in_flight += cost > 0
            return self.reason is None

    def settle(self, reserved: float, cost: float) -> None:
        """Replace what was reserved for a request by what it cost."""
        with self._lock:
            self._in_flight -= reserved > 0
            self._reserved = self._reserved - reserved if self._in_flight else 0.0
            self.spent += cost

    def lease(self, requests: int, cost: float) -> Budget | None:
        """Set a part aside for another process, as far as there is any; :meth:`take_back` ends that.

        Args:
            requests: that it is to make, retries included.
            cost: that they can have.

        Returns:
            A budget of its own; None if the run is to end, or if there may be room when others have been taken back.
        """
        with self._lock:
            left = None if self.max_requests is None else self.max_requests - self.requests
            money = None if self.max_cost is None or not cost else self.max_cost - self.spent - self._reserved
            spent = next(
                (name for name, of in (("requests", left), ("cost", money)) if of is not None and of <= 0), None
            )
            if self.reason is not None or spent is not None:
                if not self._in_flight:
                    self.reason = self.reason or cast("Reason", spent)
                return None
            part = Budget(None if money is None else min(cost, money), None if left is None else min(requests, left))
            self._in_flight += 1
            self.requests += part.max_requests or 0
            self._reserved += part.max_cost or 0.0
            return part

    def take_back(self, part: Budget) -> None:
        """Take a lease back with what was made of it."""
        with self._lock:
            self._in_flight -= 1
            self.requests += part.requests - (part.max_requests or 0)
            self._reserved = self._reserved - (part.max_cost or 0.0) if self._in_flight else 0.0
            self.spent += part.spent

    def stop(self, reason: Reason) -> None:
        """End the run: what is in flight is kept, nothing is started. The user's word counts most."""
        with self._lock:
            self.reason = reason if reason == "interrupted" else self.reason or reason

    @property
    def stopping(self) -> bool:
        """Whether the run is to end."""
        return self.reason is not None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
