"""What requests cost: by the tokens that an answer says it took, or by a bound on them before it is there."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import Any, NamedTuple

from shoe.rating.config import Price, RaterConfig

TOKENS_PER_CHAR = 0.4
"""No tokenizer that is in use needs more for English (they need about 0.25)."""
ENOUGH = 20
"""Answers that say how many tokens a character really takes: all prompts of a rater are much alike."""
MARGIN = 1.25
"""How much more than the most of those the next one may take."""
LIKELY_TOKENS_PER_CHAR = 0.25
LIKELY_ANSWER_TOKENS = 8
"""For each pair."""
TOKENS_PER_MESSAGE = 16
"""At most, for what a chat template puts around a text."""
ANSWER_TOKENS = 64
"""Expected of an answer that has no bound, beside ``ANSWER_TOKENS_PER_PAIR``; what answers take corrects it."""
ANSWER_TOKENS_PER_PAIR = 16
_MILLION = 1e6
BOUNDS = ("max_completion_tokens", "max_tokens", "max_new_tokens")
"""Sampling parameters that bound an answer's tokens."""


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


def most_usage(config: RaterConfig, characters: int, pairs: int, tokens_per_char: float = TOKENS_PER_CHAR) -> Usage:
    """Bound the tokens of a request before it is made.

    The bound holds if the rater's sampling bounds its answers; else a model that thinks at length exceeds it.
    """
    bound = next((n for name in BOUNDS if isinstance(n := config.sampling.get(name), int)), None)
    answer = ANSWER_TOKENS + ANSWER_TOKENS_PER_PAIR * pairs if bound is None else bound
    return Usage(ceil(characters * tokens_per_char) + 2 * TOKENS_PER_MESSAGE, answer)


def likely_usage(characters: int, pairs: int) -> Usage:
    """Estimate the tokens of a request whose answer does not say them."""
    return Usage(ceil(characters * LIKELY_TOKENS_PER_CHAR), LIKELY_ANSWER_TOKENS * pairs)


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
