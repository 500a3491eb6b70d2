"""What a run will take before anything is asked: pairs, requests, tokens, money and hours of every rater.

What is not known is a range. Prompts are really rendered, for a seeded sample of questions; what an earlier run
measured (:class:`Progress`) takes the place of what is assumed here. Failed attempts that are tried again and second
questions after an answer without a rating are not in it.
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
from shoe.llm.budget import bound_of
from shoe.llm.ledger import pending
from shoe.maps.config import RaterConfig, RatersFile
from shoe.maps.job import Outcome
from shoe.maps.planning import Plan, Plans
from shoe.maps.prompts import Prompts, Question, SenseText, Subject
from shoe.maps.prompts import describe as describe_names
from shoe.maps.session import Raters

SAMPLE = 200
"""Questions per part of speech whose prompts are rendered."""


class Range(Document, frozen=True):
    """A quantity that is not known: what is likely, and between what it will lie; never negative."""

    low: float
    likely: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Range:
        """A quantity that is known."""
        return cls(value, value, value)

    def each(self, change: Callable[..., float], *others: Range) -> Range:
        """Change the three values, by something that keeps their order; it is given those of other ranges, too."""
        return Range(*(change(*(getattr(one, of) for one in (self, *others))) for of in ("low", "likely", "high")))

    def __mul__(self, other: Range | float) -> Range:
        return self.each(mul, other if isinstance(other, Range) else Range.exactly(other))

    def __add__(self, other: Range) -> Range:
        return self.each(add, other)

    def rounded(self) -> Range:
        """Return the range with three significant digits; whole numbers stay as they are."""
        return self.each(lambda value: value if value == int(value) else float(f"{value:.3g}"))


NOT_ZERO: Mapping[Subject, Range] = {"verb": Range(0.07, 120 / 850, 0.28), "object": Range(0.1, 0.3, 0.6)}
"""Share of pairs that a first rater does not rate 0. Verbs: the paper's run, and half and twice that."""
WHY_NOT_ZERO: Mapping[Subject, str] = {
    "verb": "an assumption, as in the paper's run: 120K of 850K",
    "object": "an assumption; 28 % of the shipped map's object pairs are above 0",
}
TOKENS_PER_CHAR = Range(0.23, 0.25, 0.29)
"""Of the shipped prompts; measured with the tokenizers of Qwen, Mistral (Tekken), Llama 3 and BERT."""
ANSWER_TOKENS = Range(6, 8, 20)
"""For each pair; measured with the same tokenizers. A model that thinks first writes hundreds."""
SECONDS = Range(0.5, 1.5, 5)
"""Of one short request to a hosted model; a guess."""
BATCH_HOURS = Range(0.5, 12, 24)
"""OpenAI promises a batch within 24 hours."""
ENOUGH = 5_000
"""Answers of a first rater that say more about its zeros than the paper does; they begin with few senses."""


class Progress(NamedTuple):
    """What a rater's kept answers say.

    Attributes:
        answered: per part, how many of the plan's questions have their final answer, each repeat counted.
        zeros: per part, how many of those are rated 0; only the first rater's matter.
        tokens_per_char: measured input tokens for each character of a prompt; None if nothing is known.
        answer_tokens: measured output tokens for each pair.
    """

    answered: Mapping[Subject, int] = {}  # nothing changes it
    zeros: Mapping[Subject, int] = {}
    tokens_per_char: float | None = None
    answer_tokens: float | None = None


class RaterEstimate(Document, frozen=True):
    """What one rater has still to do.

    Attributes:
        name, kind: of the rater.
        answered: questions that it answered in earlier runs.
        pairs: questions to ask, repeats counted.
        requests, input_tokens, output_tokens, cost: None for a rater that is asked by no prompt.
        hours: None where nothing is known.
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

    def rounded(self) -> RaterEstimate:
        """Return the estimate with rounded ranges."""
        ranges = {name: value for name, value in structs.asdict(self).items() if isinstance(value, Range)}
        return structs.replace(self, **{name: value.rounded() for name, value in ranges.items()})


class Estimate(Document, frozen=True):
    """What a whole run will take.

    Attributes:
        rows: per part, pairs in the map, a class's sense with another.
        questions: per part, pairs to be asked of the first rater: each of two classes only once.
        currency: currency of all costs.
        raters: in the order of raters.toml.
        cost: total cost of all raters.
        assumptions: in sentences, what the ranges rest on.
    """

    rows: dict[str, Count]
    questions: dict[str, Count]
    currency: str
    raters: tuple[RaterEstimate, ...]
    cost: Range
    assumptions: tuple[str, ...]

    def rounded(self) -> Estimate:
        """Return the estimate with rounded ranges, as JSON has them."""
        raters = tuple(rater.rounded() for rater in self.raters)
        return structs.replace(self, raters=raters, cost=self.cost.rounded())


class BuildEstimate(Document, frozen=True):
    """Estimate of ``shoe map build --dry-run``."""

    estimate: Estimate


def measured_progress(raters: Raters, outcome: Outcome) -> dict[str, Progress]:
    """Say per rater what its kept answers tell about the rest of its work."""
    found: dict[str, Progress] = {}
    for session in raters.sessions:
        states = {part: rated.states[:, session.columns] for part, rated in outcome.parts.items()}
        answered = {part: int(np.count_nonzero(~pending(some))) for part, some in states.items()}
        zeros = {part: int(np.count_nonzero(some == 0)) for part, some in states.items()}
        found[session.config.name] = Progress(answered, zeros, *session.tokens_used())
    return found


def estimate(
    plans: Plans,
    raters: RatersFile,
    prompts: Prompts,
    describe: Callable[[Sequence[str]], Sequence[SenseText]] = describe_names,
    progress: Mapping[str, Progress] | None = None,
) -> Estimate:
    """Estimate a run: per rater what is left to do, and what that rests on.

    Args:
        plans: what is to be rated.
        describe: lemmas and glosses of senses, by name.
        progress: what is known of raters from earlier runs, by name.
    """
    known = {config.name: (progress or {}).get(config.name, Progress()) for config in raters.raters}
    samples = {part: _sample(plan, describe, raters.ensemble.seed) for part, plan in plans.items() if len(plan)}
    questions = {part: len(plan) for part, plan in plans.items()}
    first, *others = raters.raters
    everything = {part: Range.exactly(count) for part, count in questions.items()}
    onward = {part: _onward(part, count, raters, known[first.name]) for part, count in questions.items()}
    estimates = (
        _of_rater(first, everything, samples, prompts, known[first.name]),
        *(_of_rater(config, onward, samples, prompts, known[config.name]) for config in others),
    )
    return Estimate(
        rows={part: len(plan.synset) for part, plan in plans.items()},
        questions={str(part): count for part, count in questions.items()},
        currency=raters.currency,
        raters=estimates,
        cost=_total(rater.cost for rater in estimates),
        assumptions=(*_about_zeros(raters, questions, known[first.name]), *_about_requests(raters, known)),
    )


def _total(ranges: Iterable[Range | None]) -> Range:
    return sum((one for one in ranges if one is not None), Range.exactly(0))


def _measured(value: float | None, assumed: Range) -> Range:
    """What was measured, with a tenth around it; else what is assumed."""
    return assumed if value is None else Range(0.9 * value, value, 1.1 * value)


def _not_zero(part: Subject, first: RaterConfig, known: Progress) -> tuple[int, int, Range]:
    """Pairs that the first rater has answered, those it did not rate 0, and the share of the rest that it will not."""
    answered, zeros = (count.get(part, 0) // first.repeats for count in (known.answered, known.zeros))
    if answered < ENOUGH:
        return answered, answered - zeros, NOT_ZERO[part]
    # Answers come in the order of names, not at random: the rest may be unlike them.
    share = 1 - zeros / answered
    return answered, answered - zeros, Range(0.8 * share, share, min(1.25 * share, 1))


def _onward(part: Subject, questions: int, raters: RatersFile, first: Progress) -> Range:
    """How many pairs the raters after the first are shown."""
    if part not in raters.ensemble.prefilter:
        return Range.exactly(questions)
    answered, above, share = _not_zero(part, raters.raters[0], first)
    return share.each(lambda of: min(above + of * (questions - answered) + raters.ensemble.sample, questions))


def _of_rater(
    config: RaterConfig,
    shown: Mapping[Subject, Range],
    samples: Mapping[Subject, Sequence[Question]],
    prompts: Prompts,
    known: Progress,
) -> RaterEstimate:
    def still(n: float, done: float) -> float:
        return max(round(n) * config.repeats - done, 0)

    left = {part: pairs.each(still, Range.exactly(known.answered.get(part, 0))) for part, pairs in shown.items()}
    found = RaterEstimate(config.name, config.kind, sum(known.answered.values()), _total(left.values()))
    if not config.prompted:
        return found
    by_part = {part: pairs.each(lambda n: ceil(n / config.pairs_per_request)) for part, pairs in left.items()}
    chars = _total(by_part[part] * _chars(config, sample, prompts) for part, sample in samples.items())
    each = _measured(known.answer_tokens, ANSWER_TOKENS)
    if (bound := bound_of(config.sampling)) is not None:
        most = bound / config.pairs_per_request
        each = Range(min(each.low, most), min(each.likely, most), most)
    tokens_in, tokens_out = chars * _measured(known.tokens_per_char, TOKENS_PER_CHAR), found.pairs * each
    cost = tokens_in * (config.price.input / 1e6) + tokens_out * (config.price.output / 1e6)
    hours = _hours(config, requests := _total(by_part.values()), tokens_in + tokens_out)
    return structs.replace(
        found, requests=requests, input_tokens=tokens_in, output_tokens=tokens_out, cost=cost, hours=hours
    )


def _hours(config: RaterConfig, requests: Range, tokens: Range) -> Range | None:
    """What is slowest: answers, or one of the endpoint's limits."""
    if not requests.high:
        return Range.exactly(0)
    if config.kind in ("openai-batch", "transformers"):
        return BATCH_HOURS if config.kind == "openai-batch" else None
    limits = config.limits
    bounds = (requests, limits.requests_per_minute), (tokens, limits.tokens_per_minute)
    ways = [amount * (1 / (60 * most)) for amount, most in bounds if most is not None]
    return (requests * SECONDS * (1 / (3600 * limits.concurrency))).each(max, Range.exactly(0), *ways)


def _chars(config: RaterConfig, sample: Sequence[Question], prompts: Prompts) -> float:
    """Mean characters of a request."""
    size = min(config.pairs_per_request, len(sample))
    groups = [sample[start : start + size] for start in range(0, len(sample) - size + 1, size)]
    rendered = [prompts.render(group, several=config.pairs_per_request > 1) for group in groups]
    return sum(len(request.system) + len(request.user) for request in rendered) / len(rendered)


def _sample(plan: Plan, describe: Callable[[Sequence[str]], Sequence[SenseText]], seed: int) -> list[Question]:
    rows = np.random.default_rng(seed).choice(len(plan), min(SAMPLE, len(plan)), replace=False)
    columns = plan.first[rows], plan.second[rows]
    senses: Iterable[Sequence[SenseText]]
    if plan.described is None:
        senses = (describe(names_of(column)) for column in columns)
    else:
        senses = ([plan.described[number] for number in column.tolist()] for column in columns)
    return [Question(b"", plan.part, *pair) for pair in zip(*senses, strict=True)]


def _about_zeros(raters: RatersFile, questions: Mapping[Subject, int], known: Progress) -> Iterator[str]:
    """Say what share of pairs is taken to go on to the raters after the first, where that is not known."""
    first, *others = raters.raters
    for part in raters.ensemble.prefilter if others else ():
        answered, _, share = _not_zero(part, first, known)
        if answered >= questions.get(part, 0):
            continue
        source = f"as of the {answered:,} that it has answered" if answered >= ENOUGH else WHY_NOT_ZERO[part]
        low, likely, high = (f"{100 * of:.0f} %" for of in (share.low, share.likely, share.high))
        above = f"{first.name} rates {likely} of the {part} pairs above 0 ({low} to {high}; {source})"
        yield f"{above}, and only those and a sample of {raters.ensemble.sample:,} go on"


def _about_requests(raters: RatersFile, known: Mapping[str, Progress]) -> Iterator[str]:
    """Say what is assumed of prompts, answers and time, and for which raters."""
    prompted = [config for config in raters.raters if config.prompted]
    for unknown, kind, sentence in (
        ("tokens_per_char", None, f"{_span(TOKENS_PER_CHAR)} input tokens for each character"),
        ("answer_tokens", None, f"{_span(ANSWER_TOKENS)} output tokens for each pair; more if the model thinks first"),
        (None, "openai", f"{_span(SECONDS)} seconds for each request"),
        (None, "openai-batch", f"{_span(BATCH_HOURS)} hours for all batches, which run side by side"),
        (None, "transformers", "how many hours the model takes on this machine is not known"),
    ):
        of_kind = [config for config in prompted if kind in (None, config.kind)]
        names = [c.name for c in of_kind if unknown is None or getattr(known[c.name], unknown) is None]
        if names:
            yield f"{', '.join(names)}: {sentence}"
    if prompted:
        yield "attempts that fail and second questions are not counted; raters work at the same time"


def _span(value: Range) -> str:
    return f"{value.likely:g} ({value.low:g} to {value.high:g})"
