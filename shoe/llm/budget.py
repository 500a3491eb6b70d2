"""Costs of requests, from reported or estimated tokens, and the budget of a run, shared by all its models."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from threading import Lock
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

LIKELY_TOKENS_PER_CHAR = 0.25
LIKELY_ANSWER_TOKENS = 8  # estimated tokens per question of an answer
TOKENS_AROUND = 256  # upper bound of the tokens of a chat template and of a JSON schema for answers
ANSWER_TOKENS = 64  # expected tokens of an answer without a token limit, without those per question
ANSWER_TOKENS_PER_QUESTION = 16
BOUNDS = ("max_completion_tokens", "max_tokens", "max_new_tokens")  # limits of answer tokens

Reason = Literal["requests", "cost", "interrupted", "failed", "known"]  # known: only stored answers are wanted
_Money = Annotated[float, msgspec.Meta(ge=0)]


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Price per million tokens; 0 if nothing is charged."""

    input: _Money = 0.0
    output: _Money = 0.0
    cached_input: _Money | None = None  # defaults to ``input``

    @property
    def is_free(self) -> bool:
        """Whether nothing is charged."""
        return not (self.input or self.output or self.cached_input)


class Usage(NamedTuple):
    """Number of input and output tokens of a request; ``cached`` is the part of ``input`` billed as cached."""

    input: int
    output: int
    cached: int = 0

    def cost(self, price: Price) -> float:
        """Return the cost of the tokens, in the currency of the price."""
        cached_price = price.input if price.cached_input is None else price.cached_input
        total = (self.input - self.cached) * price.input + self.cached * cached_price + self.output * price.output
        return total / 1e6


def usage_of(raw: Mapping[str, Any]) -> Usage | None:
    """Return the token counts in a raw answer; None without a valid input count, or if the output count is invalid."""
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
    """Return the limit on output tokens in sampling parameters, such as "max_tokens"; None if they set no limit."""
    return next((n for name in BOUNDS if isinstance(n := sampling.get(name), int)), None)


def most_usage(sampling: Mapping[str, Any], size: int, questions: int) -> Usage:
    """Return an upper bound of the tokens of a request with ``size`` bytes of text and this number of questions.

    The input has at most one token per byte, and 256 for the chat template and a JSON schema. The output is bounded by
    the sampling parameters; without a limit, it is only estimated (64 tokens plus 16 per question), and a reasoning
    model may use more.
    """
    bound = bound_of(sampling)
    answer = ANSWER_TOKENS + ANSWER_TOKENS_PER_QUESTION * questions if bound is None else bound
    return Usage(size + TOKENS_AROUND, answer)


def likely_usage(characters: int, questions: int) -> Usage:
    """Estimate the tokens of an answered request: 0.25 input tokens per character, 8 output tokens per question."""
    return Usage(ceil(characters * LIKELY_TOKENS_PER_CHAR), LIKELY_ANSWER_TOKENS * questions)


@dataclass
class Budget:
    """Budget of a run, shared by threads. ``max_cost`` and ``max_requests`` are limits of cost and attempts, or None.

    For each request in flight, the largest expected cost is reserved. So ``max_cost`` is exceeded only if a request
    costs more than was reserved for it. ``requests`` attempts, retries included, have cost ``spent`` so far (estimated
    for answers that report no tokens). ``cached`` answers used by the run were copied from the user's cache, now or by
    an earlier run. ``reason`` is None while requests are allowed.
    """

    max_cost: float | None = None
    max_requests: int | None = None
    requests: int = 0
    spent: float = 0.0
    cached: int = 0
    reason: Reason | None = None
    _reserved: float = 0.0
    _in_flight: int = 0
    _lock: Lock = field(default_factory=Lock, repr=False)

    def reserve(self, cost: float) -> bool | None:
        """Reserve one request of at most this cost; return True if it may be sent, None if not yet, else False.

        None: it may be sent later if requests in flight cost less than was reserved for them. False ends the run: the
        budget is used up, or the run is already ending.
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
        """Replace the reserved cost of a request by its actual cost."""
        with self._lock:
            self._in_flight -= reserved > 0
            self._reserved = self._reserved - reserved if self._in_flight else 0.0
            self.spent += cost

    def lease(self, requests: int, cost: float) -> "Budget | None":
        """Reserve ``requests`` attempts and ``cost``, or what is left, until :meth:`take_back`; return a new budget.

        The new budget has no limit of attempts or cost if this budget has none, and no limit of cost if ``cost`` is 0.
        Return None if the run is ending or nothing is left; in the latter case, end the run if no request is in flight.
        """
        with self._lock:
            left = None if self.max_requests is None else self.max_requests - self.requests
            money = None if self.max_cost is None or not cost else self.max_cost - self.spent - self._reserved
            used_up: Reason | None = (
                "requests" if left is not None and left <= 0 else "cost" if money is not None and money <= 0 else None
            )
            if self.reason is not None or used_up is not None:
                if not self._in_flight:
                    self.reason = self.reason or used_up
                return None
            part = Budget(None if money is None else min(cost, money), None if left is None else min(requests, left))
            self._in_flight += 1
            self.requests += part.max_requests or 0
            self._reserved += part.max_cost or 0.0
            return part

    def take_back(self, part: "Budget") -> None:
        """Add attempts and cost of ``part``, from :meth:`lease`, to this budget, and release what it did not use."""
        with self._lock:
            self._in_flight -= 1
            self.requests += part.requests - (part.max_requests or 0)
            self._reserved = self._reserved - (part.max_cost or 0.0) if self._in_flight else 0.0
            self.spent += part.spent

    def stop(self, reason: Reason) -> None:
        """Allow no further requests. An earlier reason is kept, unless the new ``reason`` is "interrupted"."""
        with self._lock:
            self.reason = reason if reason == "interrupted" else self.reason or reason

    @property
    def stopping(self) -> bool:
        """Whether no further requests are allowed."""
        return self.reason is not None


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
