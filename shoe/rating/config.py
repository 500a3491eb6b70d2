"""raters.toml: who rates, with which settings, at what price, and how the ensemble is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from shoe.lexicon.expressions import Part


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens; 0 where nothing is charged."""

    input: float = 0.0
    output: float = 0.0
    cached_input: float | None = None
    """For input tokens that the endpoint says it had cached; as ``input`` if absent."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What an endpoint takes.

    Attributes:
        concurrency: most requests in flight; the job finds out how many of them the endpoint bears.
        requests_per_minute, tokens_per_minute: None for no limit.
        timeout: seconds for one attempt.
        tries: attempts for one request before it is left for the next run.
    """

    concurrency: int = 16
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    timeout: float = 120.0
    tries: int = 6


@dataclass(frozen=True, slots=True)
class RaterConfig:
    """One rater.

    Attributes:
        name: of its column in the map.
        kind: "openai", "openai-batch", "transformers", "embedding", "lexical" or "table".
        model: what the endpoint or library calls it.
        revision: of the model, where it has one.
        pairs_per_request: 1 is the paper's way.
        repeats: how often each pair is asked; more than one makes columns NAME-1, NAME-2, ...
        sampling: passed on as they are (temperature, max_tokens, seed, ...).
        settings: of the kind alone (base_url, api_key_env, device, measure, file, ...), checked by the kind's file.
    """

    name: str
    kind: str
    model: str
    revision: str = ""
    pairs_per_request: int = 1
    repeats: int = 1
    sampling: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    price: Price = field(default_factory=Price)
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True)
class Ensemble:
    """How raters share the work (the paper: one model sees all verb pairs, the others only what it did not rate 0).

    Attributes:
        prefilter: parts of speech where pairs that the first rater rates 0 go no further.
        sample: how many of those zeros the others are shown all the same, to measure how far they disagree.
        seed: of that sample.
    """

    prefilter: tuple[Part, ...] = ("verb",)
    sample: int = 400
    seed: int = 0


@dataclass(frozen=True, slots=True)
class RatersFile:
    """All of raters.toml."""

    raters: tuple[RaterConfig, ...]
    ensemble: Ensemble = field(default_factory=Ensemble)
    currency: str = "USD"
