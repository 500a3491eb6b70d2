"""What a run will take before anything is asked: pairs, requests, tokens, money and hours of every rater.

What is not known yet is a range. Prompts are really rendered, for a seeded sample of questions; what an earlier run
measured (:class:`Progress`) takes the place of what is assumed here. Failed attempts that are tried again and second
questions after an answer without a rating are not in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

import numpy as np

from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.llm.budget import bound_of
from shoe.rating.assumed import (
    ANSWER_TOKENS,
    BATCH_HOURS,
    ENOUGH,
    SECONDS,
    TOKENS_PER_CHAR,
    WHY_NOT_ZERO,
    Range,
    measured,
    not_zero,
    slowest,
    total,
)
from shoe.rating.config import RaterConfig, RatersFile
from shoe.rating.planning import Plan
from shoe.rating.prompts import Prompts
from shoe.rating.questions import Question, SenseText

SAMPLE = 200
"""Questions per part of speech whose prompts are rendered."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a rater's kept answers say.

    Attributes:
        answered: per part, how many of the plan's questions have their final answer, each repeat counted.
        zeros: per part, how many of those are rated 0; only the first rater's matter.
        tokens_per_char: measured input tokens for each character of a prompt; None if nothing is known.
        answer_tokens: measured output tokens for each pair.
        seconds: measured time of one request.
    """

    answered: Mapping[Part, int] = field(default_factory=dict)
    zeros: Mapping[Part, int] = field(default_factory=dict)
    tokens_per_char: float | None = None
    answer_tokens: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RaterEstimate:
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
    answered: int
    pairs: Range
    requests: Range | None
    input_tokens: Range | None
    output_tokens: Range | None
    cost: Range | None
    hours: Range | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a whole run will take.

    Attributes:
        rows: per part, pairs in the map, a class's sense with another.
        questions: per part, pairs to be asked of the first rater: each of two classes only once.
        raters: in the order of raters.toml.
        currency: of all costs.
        assumptions: in sentences, what the ranges rest on.
    """

    rows: Mapping[Part, int]
    questions: Mapping[Part, int]
    raters: tuple[RaterEstimate, ...]
    currency: str
    assumptions: tuple[str, ...]

    @property
    def cost(self) -> Range:
        """Of all raters."""
        return total(rater.cost for rater in self.raters)

    @property
    def hours(self) -> Range:
        """Of all raters whose hours are known, one after the other."""
        return total(rater.hours for rater in self.raters)


def estimate(
    plans: Mapping[Part, Plan],
    raters: RatersFile,
    prompts: Prompts,
    describe: Callable[[Sequence[str]], Sequence[SenseText]],
    progress: Mapping[str, Progress] | None = None,
) -> Estimate:
    """Estimate a run.

    Args:
        plans: what is to be rated.
        raters: who rates.
        prompts: what raters are asked.
        describe: lemmas and glosses of senses, by name.
        progress: what is known of raters from earlier runs, by name.

    Returns:
        Per rater what is left to do, and what that rests on.
    """
    known = {config.name: (progress or {}).get(config.name, Progress()) for config in raters.raters}
    samples = {part: _sample(plan, describe, raters.ensemble.seed) for part, plan in plans.items() if len(plan)}
    questions = {part: len(plan) for part, plan in plans.items()}
    first = raters.raters[0]
    everything = {part: Range.exactly(count) for part, count in questions.items()}
    onward = {part: _onward(part, count, raters, known[first.name]) for part, count in questions.items()}
    return Estimate(
        rows={part: len(plan.synset) for part, plan in plans.items()},
        questions=questions,
        raters=tuple(
            _of_rater(config, everything if config is first else onward, samples, prompts, known[config.name])
            for config in raters.raters
        ),
        currency=raters.currency,
        assumptions=(*_about_zeros(raters, questions, known[first.name]), *_about_requests(raters, known)),
    )


def _onward(part: Part, questions: int, raters: RatersFile, first: Progress) -> Range:
    """How many pairs the raters after the first are shown."""
    if part not in raters.ensemble.prefilter:
        return Range.exactly(questions)
    answered, zeros = _pairs_answered(part, raters.raters[0], first)
    return not_zero(part, answered, zeros).each(
        lambda share: min(answered - zeros + share * (questions - answered) + raters.ensemble.sample, questions)
    )


def _pairs_answered(part: Part, first: RaterConfig, known: Progress) -> tuple[int, int]:
    """How many pairs the first rater has answered, and rated 0, each with all its repeats."""
    return known.answered.get(part, 0) // first.repeats, known.zeros.get(part, 0) // first.repeats


def _of_rater(
    config: RaterConfig,
    shown: Mapping[Part, Range],
    samples: Mapping[Part, Sequence[Question]],
    prompts: Prompts,
    known: Progress,
) -> RaterEstimate:
    left = {part: _left(shown[part], config.repeats, known.answered.get(part, 0)) for part in shown}
    pairs, answered = total(left.values()), sum(known.answered.values())
    if not config.prompted:
        return RaterEstimate(config.name, config.kind, answered, pairs, None, None, None, None, None)
    requests = {part: left[part].each(lambda n: ceil(n / config.pairs_per_request)) for part in left}
    chars = total(
        requests[part].times(Range.exactly(_chars(config, sample, prompts))) for part, sample in samples.items()
    )
    input_tokens = chars.times(measured(known.tokens_per_char, TOKENS_PER_CHAR))
    output_tokens = pairs.times(_answer_tokens(config, known))
    return RaterEstimate(
        name=config.name,
        kind=config.kind,
        answered=answered,
        pairs=pairs,
        requests=total(requests.values()),
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost=input_tokens.times(Range.exactly(config.price.input / 1e6))
        + output_tokens.times(Range.exactly(config.price.output / 1e6)),
        hours=_hours(config, total(requests.values()), input_tokens + output_tokens, known),
    )


def _left(pairs: Range, repeats: int, answered: int) -> Range:
    return pairs.each(lambda n: max(round(n) * repeats - answered, 0))


def _answer_tokens(config: RaterConfig, known: Progress) -> Range:
    """Per pair; the bound that raters.toml sets is the most."""
    tokens = measured(known.answer_tokens, ANSWER_TOKENS)
    bound = bound_of(config.sampling)
    most = tokens.high if bound is None else bound / config.pairs_per_request
    return Range(min(tokens.low, most), min(tokens.likely, most), most)


def _hours(config: RaterConfig, requests: Range, tokens: Range, known: Progress) -> Range | None:
    """What is slowest: answers, or one of the endpoint's limits."""
    if not requests.high:
        return Range.exactly(0)
    if config.kind == "openai-batch":
        return BATCH_HOURS
    if config.kind == "transformers":
        return None if known.seconds is None else requests.times(measured(known.seconds, SECONDS)).each(_over(3600))
    limits = config.limits
    ways = [requests.times(measured(known.seconds, SECONDS)).each(_over(3600 * limits.concurrency))]
    if limits.requests_per_minute is not None:
        ways.append(requests.each(_over(60 * limits.requests_per_minute)))
    if limits.tokens_per_minute is not None:
        ways.append(tokens.each(_over(60 * limits.tokens_per_minute)))
    return slowest(ways)


def _over(divisor: float) -> Callable[[float], float]:
    return lambda value: value / divisor


def _chars(config: RaterConfig, sample: Sequence[Question], prompts: Prompts) -> float:
    """Mean characters of a request."""
    size = min(config.pairs_per_request, len(sample))
    groups = [sample[start : start + size] for start in range(0, len(sample) - size + 1, size)]
    rendered = [prompts.render(group, several=config.pairs_per_request > 1) for group in groups]
    return sum(len(request.system) + len(request.user) for request in rendered) / len(rendered)


def _sample(plan: Plan, describe: Callable[[Sequence[str]], Sequence[SenseText]], seed: int) -> list[Question]:
    rows = np.random.default_rng(seed).choice(len(plan), min(SAMPLE, len(plan)), replace=False)
    name = lexicon().name
    first = describe([name(synset) for synset in plan.first[rows].tolist()])
    second = describe([name(synset) for synset in plan.second[rows].tolist()])
    return [Question(b"", plan.part, *senses) for senses in zip(first, second, strict=True)]


def _about_zeros(raters: RatersFile, questions: Mapping[Part, int], known: Progress) -> Iterator[str]:
    """Say what share of pairs is taken to go on to the raters after the first, where that is not known."""
    first, *others = raters.raters
    for part in raters.ensemble.prefilter if others else ():
        answered, zeros = _pairs_answered(part, first, known)
        if answered >= questions.get(part, 0):
            continue
        share = not_zero(part, answered, zeros)
        source = f"as of the {answered:,} that it has answered" if answered >= ENOUGH else WHY_NOT_ZERO[part]
        yield (
            f"{first.name} rates {_percent(share.likely)} of the {part} pairs above 0 ({_percent(share.low)} to "
            f"{_percent(share.high)}; {source}), and only those and a sample of {raters.ensemble.sample:,} go on"
        )


def _about_requests(raters: RatersFile, known: Mapping[str, Progress]) -> Iterator[str]:
    """Say what is assumed of prompts, answers and time, and for which raters."""
    prompted = [config for config in raters.raters if config.prompted]
    for unknown, kind, sentence in (
        ("tokens_per_char", None, f"{_span(TOKENS_PER_CHAR)} input tokens for each character"),
        ("answer_tokens", None, f"{_span(ANSWER_TOKENS)} output tokens for each pair; more if the model thinks first"),
        ("seconds", "openai", f"{_span(SECONDS)} seconds for each request"),
        ("seconds", "openai-batch", f"{_span(BATCH_HOURS)} hours for all batches, which run side by side"),
        ("seconds", "transformers", "hours are known after the first answers"),
    ):
        names = [c.name for c in prompted if getattr(known[c.name], unknown) is None and kind in (None, c.kind)]
        if names:
            yield f"{', '.join(names)}: {sentence}"
    if prompted:
        yield "attempts that fail and second questions are not counted; raters work one after the other"


def _span(value: Range) -> str:
    return f"{value.likely:g} ({value.low:g} to {value.high:g})"


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
