"""Estimate a run before any request is made: pairs, requests, tokens, cost and hours per rater.

Unknown quantities are ranges. Values that an earlier run measured (:class:`Progress`) replace the assumptions below.
Retries of failed requests, and second requests after an answer without a rating, are not included.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil
from operator import add, mul
from typing import NamedTuple

import numpy as np
from msgspec import structs

from shoe.core.documents import Count, Document
from shoe.lexicon.store import names_of
from shoe.llm.budget import Price, bound_of
from shoe.llm.ledger import pending
from shoe.maps.config import RaterConfig, RatersFile
from shoe.maps.job import Outcome
from shoe.maps.planning import Plan, Plans
from shoe.maps.prompts import Prompts, Question, SenseText, Subject, describe as describe_names
from shoe.maps.session import Raters

SAMPLE = 200
"""Number of questions per part of speech whose prompts are rendered."""


class Range(Document, frozen=True):
    """Estimate of a quantity: lowest, most likely and highest value, all 0 or more."""

    low: float
    likely: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Range:
        """Return the range of a known value."""
        return cls(value, value, value)

    def each(self, change: Callable[..., float], *others: Range) -> Range:
        """Return the range of ``change`` applied to the low, the likely and the high values."""
        return Range(*map(change, *((one.low, one.likely, one.high) for one in (self, *others))))

    def __mul__(self, other: Range | float) -> Range:
        return self.each(mul, other if isinstance(other, Range) else Range.exactly(other))

    def __add__(self, other: Range) -> Range:
        return self.each(add, other)

    def rounded(self) -> Range:
        """Return the range rounded to three significant digits; whole numbers are not rounded."""
        return self.each(lambda value: value if value == int(value) else float(f"{value:.3g}"))


NOT_ZERO: Mapping[Subject, Range] = {"verb": Range(0.07, 120 / 850, 0.28), "object": Range(0.1, 0.3, 0.6)}
"""Fraction of pairs that a first rater rates above 0. For verbs: 120/850 as in the paper, with half and twice that."""
WHY_NOT_ZERO: Mapping[Subject, str] = {
    "verb": "an assumption, as in the paper's run: 120K of 850K",
    "object": "an assumption; 28 % of the shipped map's object pairs are above 0",
}
TOKENS_PER_CHAR = Range(0.23, 0.25, 0.29)
"""Tokens per character of the shipped prompts, with the tokenizers of Qwen, Mistral (Tekken), Llama 3 and BERT."""
ANSWER_TOKENS = Range(6, 8, 20)
"""Output tokens per pair, with the same tokenizers. A reasoning model writes hundreds."""
SECONDS = Range(0.5, 1.5, 5)
"""Seconds of one short request to a hosted model, until answers show it; a guess."""
ANSWER_BYTES = 530
"""Size of a stored request with a short answer, as measured on ledgers."""
BATCH_HOURS = Range(0.5, 12, 24)
"""Hours until a batch is done; OpenAI promises 24 hours."""
ENOUGH = 5_000
"""Number of answers from which the first rater's own fraction of zeros replaces the assumption."""


class Progress(NamedTuple):
    """Measurements from a rater's stored answers.

    Attributes:
        answered, zeros: number of final answers, by part ("verb", ...), and of ratings 0 among them.
        cached: number of answers in the user's cache that are not in the rater's own file of answers (ledger) yet.
        tokens_per_char: input tokens per character of a prompt; like the other measurements, None if unknown.
        answer_tokens, seconds: output tokens per pair, and seconds per request.
    """

    answered: Mapping[Subject, int] = {}  # never modified
    zeros: Mapping[Subject, int] = {}
    cached: int = 0
    tokens_per_char: float | None = None
    answer_tokens: float | None = None
    seconds: float | None = None


class RaterEstimate(Document, frozen=True):
    """Estimate of the remaining work of one rater.

    Attributes:
        answered: number of answers that are already in the rater's file of answers (ledger) or in the user's cache.
        pairs: number of remaining questions; a question to be asked n times counts n times.
        requests, input_tokens, output_tokens: number of requests or tokens; absent for a rater without prompts.
        cost: cost in the currency of the estimate; absent for a rater without prompts, or if its price is unknown.
        hours: hours of work; absent if unknown.
        cached: number of the answers that are in the cache, but not in the ledger.
    """

    name: str
    kind: str
    answered: Count
    pairs: Range
    requests: Range | None = None
    input_tokens: Range | None = None
    output_tokens: Range | None = None
    cost: Range | None = None
    hours: Range | None = None
    cached: Count = 0

    @property
    def is_unknown(self) -> bool:
        """Whether the rater's requests have an unknown price."""
        return self.requests is not None and self.cost is None


class Estimate(Document, frozen=True):
    """Estimate of the remaining work and cost of a run, in total and per rater.

    Attributes:
        rows: number of ordered (class sense, sense) pairs of the map, per part ("verb", "object" or "interaction").
        questions: number of questions for the first rater, per part: unordered pairs of senses.
        raters: estimate per rater, in the order of raters.toml.
        assumptions: assumptions of the estimate, one sentence each.
        cost: total cost of all raters; absent if a rater sends requests whose price is unknown.
    """

    rows: dict[str, Count]
    questions: dict[str, Count]
    currency: str
    raters: tuple[RaterEstimate, ...]
    assumptions: tuple[str, ...]
    cost: Range | None = None

    def rounded(self) -> Estimate:
        """Return the estimate as written to JSON: all ranges are rounded to three significant digits."""
        raters = tuple(structs.replace(rater, **_rounded(rater)) for rater in self.raters)
        return structs.replace(self, raters=raters, **_rounded(self))


class BuildEstimate(Document, frozen=True):
    """Result of ``shoe map build --dry-run``: estimated work and cost."""

    estimate: Estimate


def _rounded(document: Document) -> dict[str, Range]:
    return {name: value.rounded() for name, value in structs.asdict(document).items() if isinstance(value, Range)}


def measured_progress(raters: Raters, outcome: Outcome) -> dict[str, Progress]:
    """Return the measurements from the stored answers of each rater, by name."""
    progress: dict[str, Progress] = {}
    for session, tally in zip(raters.sessions, outcome.tallies, strict=True):
        states = {part: rated.states[:, session.columns] for part, rated in outcome.parts.items()}
        answered = {part: int(np.count_nonzero(~pending(some))) for part, some in states.items()}
        zeros = {part: int(np.count_nonzero(some == 0)) for part, some in states.items()}
        progress[session.config.name] = Progress(answered, zeros, tally.cached, *session.measured())
    return progress


def estimate(
    plans: Plans,
    raters: RatersFile,
    prompts: Prompts,
    describe: Callable[[Sequence[str]], Sequence[SenseText]] = describe_names,
    progress: Mapping[str, Progress] | None = None,
) -> Estimate:
    """Estimate the remaining work of a run: pairs, requests, tokens, cost and hours per rater.

    ``describe`` returns the texts of senses, given their names; ``progress`` are measurements by rater's name.
    """
    known = {config.name: (progress or {}).get(config.name, Progress()) for config in raters.raters}
    samples = {part: _sample(plan, describe, raters.ensemble.seed) for part, plan in plans.items() if len(plan)}
    questions = {part: len(plan) for part, plan in plans.items()}
    first = raters.raters[0]
    everything = {part: Range.exactly(count) for part, count in questions.items()}
    passed_on = {part: _passed_on(part, count, raters, known[first.name]) for part, count in questions.items()}
    planned = ((config, everything if config is first else passed_on) for config in raters.raters)
    estimates = tuple(_estimate_rater(config, of, samples, prompts, known[config.name]) for config, of in planned)
    return Estimate(
        rows={part: len(plan.synset) for part, plan in plans.items()},
        questions={str(part): count for part, count in questions.items()},
        currency=raters.currency,
        raters=estimates,
        assumptions=(*_zero_assumptions(raters, questions, known[first.name]), *_request_assumptions(raters, known)),
        cost=None if any(rater.is_unknown for rater in estimates) else _total(rater.cost for rater in estimates),
    )


def _total(ranges: Iterable[Range | None]) -> Range:
    return sum((one for one in ranges if one is not None), Range.exactly(0))


def _or_measured(assumed: Range, value: float | None) -> Range:
    """Return the range of ``value`` plus or minus 10 %, or ``assumed`` if ``value`` is None (not measured)."""
    return assumed if value is None else Range(0.9 * value, value, 1.1 * value)


def _not_zero(part: Subject, first: RaterConfig, known: Progress) -> tuple[int, int, Range]:
    """Return the number of pairs that the first rater has answered and rated above 0, and the fraction of the rest."""
    answered, zeros = (count.get(part, 0) // first.repeats for count in (known.answered, known.zeros))
    if answered < ENOUGH:
        return answered, answered - zeros, NOT_ZERO[part]
    # Answers come in the order of names, not at random, so the fraction may differ for the remaining pairs.
    share = 1 - zeros / answered
    return answered, answered - zeros, Range(0.8 * share, share, min(1.25 * share, 1))


def _passed_on(part: Subject, questions: int, raters: RatersFile, first: Progress) -> Range:
    if part not in raters.ensemble.prefilter:
        return Range.exactly(questions)
    answered, above, share = _not_zero(part, raters.raters[0], first)
    return share.each(lambda rest: min(above + rest * (questions - answered) + raters.ensemble.sample, questions))


def _estimate_rater(
    config: RaterConfig,
    planned: Mapping[Subject, Range],
    samples: Mapping[Subject, Sequence[Question]],
    prompts: Prompts,
    known: Progress,
) -> RaterEstimate:
    def remaining(pairs: float, done: float) -> float:
        return max(round(pairs) * config.repeats - done, 0)

    left = {part: pairs.each(remaining, Range.exactly(known.answered.get(part, 0))) for part, pairs in planned.items()}
    found = RaterEstimate(
        config.name, config.kind, sum(known.answered.values()), _total(left.values()), cached=known.cached
    )
    if not config.prompted:
        return found
    by_part = {part: pairs.each(lambda n: ceil(n / config.pairs_per_request)) for part, pairs in left.items()}
    chars = _total(by_part[part] * _mean_length(config, sample, prompts) for part, sample in samples.items())
    per_pair = _or_measured(ANSWER_TOKENS, known.answer_tokens)
    if (bound := bound_of(config.sampling)) is not None:
        most = bound / config.pairs_per_request
        per_pair = Range(min(per_pair.low, most), min(per_pair.likely, most), most)
    tokens_in, tokens_out = chars * _or_measured(TOKENS_PER_CHAR, known.tokens_per_char), found.pairs * per_pair
    hours = _hours(config, requests := _total(by_part.values()), tokens_in + tokens_out, known.seconds)
    price = config.price or (None if config.chats and requests.high else Price())
    cost = tokens_in * (price.input / 1e6) + tokens_out * (price.output / 1e6) if price else None
    return structs.replace(
        found, requests=requests, input_tokens=tokens_in, output_tokens=tokens_out, cost=cost, hours=hours
    )


def _hours(config: RaterConfig, requests: Range, tokens: Range, seconds: float | None) -> Range | None:
    """Return the hours that the slowest limit allows: concurrency, requests or tokens per minute; None if unknown."""
    if not requests.high:
        return Range.exactly(0)
    if config.kind in ("openai-batch", "transformers"):
        return BATCH_HOURS if config.kind == "openai-batch" else None
    limits = config.limits
    bounds = (requests, limits.requests_per_minute), (tokens, limits.tokens_per_minute)
    by_limit = [amount * (1 / (60 * most)) for amount, most in bounds if most is not None]
    per_request = _or_measured(SECONDS, seconds) * (1 / (3600 * limits.concurrency))
    return (requests * per_request).each(max, Range.exactly(0), *by_limit)


def _mean_length(config: RaterConfig, sample: Sequence[Question], prompts: Prompts) -> float:
    size = min(config.pairs_per_request, len(sample))
    groups = [sample[start : start + size] for start in range(0, len(sample) - size + 1, size)]
    rendered = [prompts.render(group, several=config.pairs_per_request > 1) for group in groups]
    return sum(len(request.system) + len(request.user) for request in rendered) / len(rendered)


def _sample(plan: Plan, describe: Callable[[Sequence[str]], Sequence[SenseText]], seed: int) -> list[Question]:
    rows = np.random.default_rng(seed).choice(len(plan), min(SAMPLE, len(plan)), replace=False)
    senses: list[Sequence[SenseText]] = []
    for column in (plan.first[rows], plan.second[rows]):
        whole = plan.described
        senses.append(describe(names_of(column)) if whole is None else [whole[index] for index in column.tolist()])
    return [Question(b"", plan.part, *pair) for pair in zip(*senses, strict=True)]


def _zero_assumptions(raters: RatersFile, questions: Mapping[Subject, int], known: Progress) -> Iterator[str]:
    first, *others = raters.raters
    for part in raters.ensemble.prefilter if others else ():
        answered, _, share = _not_zero(part, first, known)
        if answered < questions.get(part, 0):
            source = f"as for its {answered:,} answers so far" if answered >= ENOUGH else WHY_NOT_ZERO[part]
            low, likely, high = (f"{100 * value:.0f} %" for value in (share.low, share.likely, share.high))
            above = f"{first.name} rates {likely} of the {part} pairs above 0 ({low} to {high}; {source})"
            yield f"{above}; the other raters rate only these pairs and a sample of {raters.ensemble.sample:,} others"


def _request_assumptions(raters: RatersFile, known: Mapping[str, Progress]) -> Iterator[str]:
    prompted = [config for config in raters.raters if config.prompted]
    for unknown, kind, sentence in (
        ("tokens_per_char", None, f"{_span(TOKENS_PER_CHAR)} input tokens per character"),
        ("answer_tokens", None, f"{_span(ANSWER_TOKENS)} output tokens per pair; more if the model thinks first"),
        ("seconds", "openai", f"{_span(SECONDS)} seconds per request"),
        (None, "openai-batch", f"{_span(BATCH_HOURS)} hours for all batches, which run at the same time"),
        (None, "transformers", "the duration on this machine is unknown"),
    ):
        of_kind = [config for config in prompted if kind in (None, config.kind)]
        names = [c.name for c in of_kind if unknown is None or getattr(known[c.name], unknown) is None]
        if names:
            yield f"{', '.join(names)}: {sentence}"
    if prompted:
        yield "failed requests and repeated questions are not counted; all raters work at the same time"


def _span(value: Range) -> str:
    return f"{value.likely:g} ({value.low:g} to {value.high:g})"
