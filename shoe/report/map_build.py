"""What a rating run came to, of a whole map or of what a score depends on, for people and in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from shoe.lexicon.expressions import Part
from shoe.llm.budget import Budget
from shoe.maps.complete import Completion, Round, Why
from shoe.rating.built import account, states_of, unanswered
from shoe.rating.job import Outcome
from shoe.rating.prefilter import PAPER
from shoe.rating.session import Raters
from shoe.report.notes import percent
from shoe.report.text import count, say, table, words


def print_outcome(raters: Raters, outcome: Outcome, to: Console) -> None:
    """Print what became of all questions, how far the raters disagree with the first, and what they did."""
    to.print(_states(raters, outcome))
    for line in _disagreements(raters, outcome):
        say(to, line)
    if any(tally.requests or tally.done for tally in outcome.tallies):
        to.print(_work(raters, outcome))
    for line in failure_lines(outcome):
        say(to, line)


def _states(raters: Raters, outcome: Outcome) -> Table:
    """A row for each column and part of speech: how many of its questions are in which state."""
    rows = [
        (words(rater), part, *map(count, states_of(rated, column).values()))
        for column, rater in enumerate(raters.columns)
        for part, rated in outcome.parts.items()
    ]
    return table("rater", "part", "rated", "refused", "unparsable", "unrated", "not asked", names=2, rows=rows)


def _work(raters: Raters, outcome: Outcome) -> Table:
    """A row for each rater: what it did in this run, and what that cost."""
    columns = ("answers", "requests", "retries", "failures", "tokens in", "out", f"cost {raters.file.currency}")
    made = table("rater", *columns)
    for tally in outcome.tallies:
        counts = (tally.done, tally.requests, tally.retries, tally.failures.total())
        tokens = (tally.input_tokens, tally.output_tokens)
        made.add_row(words(tally.name), *map(count, counts + tokens), f"{tally.cost:,.4f}")
    return made


def _disagreements(raters: Raters, outcome: Outcome) -> Iterator[str]:
    """Say how often the others disagreed with the first rater's zeros, beside the paper's figures."""
    first = raters.sessions[0].config.name
    for part, rated in outcome.parts.items():
        if rated.sampled is None:
            continue
        yield (
            f"{part} pairs: {first} rated {rated.zeros:,} of {len(rated.plan):,} 0; the others were shown a sample of "
            f"{len(rated.sampled):,} of those"
        )
        for column, found in rated.disagreements.items():
            share, low, high, *paper = map(_percent, (found.share, *found.interval, *PAPER))
            yield (
                f"  {column} rated {found.not_zero:,} of {found.rated:,} above 0: {share} (95 % interval {low} to "
                f"{high}; the paper's models {' to '.join(paper)})"
            )


def failure_lines(outcome: Outcome) -> Iterator[str]:
    """Say which attempts failed, by rater and kind."""
    for tally in outcome.tallies:
        if tally.failures:
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in tally.failures.most_common())
            yield f"{tally.name}: attempts that failed: {kinds}"


def outcome_json(raters: Raters, outcome: Outcome, budget: Budget, rules: Mapping[Part, str]) -> dict[str, Any]:
    """All of it as JSON; what does not exist is absent."""
    stopped = {"stopped_by": budget.reason} if budget.reason else {}
    fields = ("name", "requests", "retries", "input_tokens", "output_tokens", "cost")
    tallies = [
        {name: getattr(tally, name) for name in fields}
        | {"answers": tally.done, "failures": dict(sorted(tally.failures.items()))}
        for tally in outcome.tallies
    ]
    columns = [
        {"name": column_name, **{f"{part}s": states_of(rated, column) for part, rated in outcome.parts.items()}}
        for column, column_name in enumerate(raters.columns)
    ]
    run = {"requests": budget.requests, "cost": budget.spent, "currency": raters.file.currency, "raters": tallies}
    return {**account(raters, outcome, rules), "columns": columns, "run": run | stopped}


def left(outcome: Outcome) -> int:
    """How many answers are missing, as far as is known."""
    return sum(int(unanswered(rated).sum()) for rated in outcome.parts.values())


def _percent(share: float) -> str:
    return f"{100 * share:.3f} %"


@dataclass(frozen=True, slots=True)
class Sizes:
    """Questions that other ways would have asked: of the whole dataset, and of all that the predictions look up."""

    whole_build: int
    looked_up: int


def round_line(state: Round, currency: str) -> str:
    """A round in a line, while the next one is under way."""
    low, high = state.interval
    rated = f"{state.rated:,} pairs rated" if state.rated else "nothing rated yet"
    cost = f", {state.spent.cost:,.4g} {currency}" if state.spent.cost else ""
    return f"SHOE-mAP {percent(state.score)}, between {percent(low)} and {percent(high)}; {rated}{cost}"


def rounds_table(completion: Completion, currency: str) -> Table:
    """A row for each round."""
    columns = ("asked", "rated in all", "no valid answer", "requests", f"cost {currency}")
    made = table("round", *columns, "SHOE-mAP", "from", "to", "width")
    for state in completion.rounds:
        counts = (state.asked, state.rated, state.unanswered, state.spent.requests)
        figures = (state.score, *state.interval, state.width)
        made.add_row(str(state.number), *map(count, counts), f"{state.spent.cost:,.4f}", *map(percent, figures))
    return made


def closing_lines(completion: Completion, sizes: Sizes, tolerance: float) -> Iterator[str]:
    """Say why it ended, and what it saved."""
    last = completion.rounds[-1]
    yield f"{completion.why} ({percent(tolerance)} points)" if completion.why is Why.TOLERANCE else str(completion.why)
    if completion.why is not Why.DECIDED:
        yield "the interval does not cover false positives of unlikely classes: docs/protocols.md, 10.7"
    questions = last.rated + last.unanswered
    if not questions:
        yield "nothing had to be rated"
        return
    for size, what in ((sizes.whole_build, "a whole build"), (sizes.looked_up, "all that these predictions look up")):
        yield f"{questions:,} pairs instead of {size:,} ({what}): {size / questions:,.1f} times fewer"
    if last.unanswered:
        yield f"{last.unanswered:,} pairs have no valid answer; they stay open, and are not asked again"


def completion_json(completion: Completion, sizes: Sizes, tolerance: float, about: Mapping[str, Any]) -> dict[str, Any]:
    """All of it, fractions 0..1."""
    last = completion.rounds[-1]
    return {
        **about,
        "tolerance": tolerance,
        "why": completion.why.name.lower(),
        "map": last.score,
        "map_interval": list(last.interval),
        "pairs": {"rated": last.rated, "unanswered": last.unanswered, **asdict(sizes)},
        "spent": {"requests": last.spent.requests, "cost": last.spent.cost},
        "rounds": [
            {
                "map": state.score,
                "map_interval": list(state.interval),
                "matches_interval": list(state.matches),
                **{name: getattr(state, name) for name in ("asked", "rated", "unanswered")},
                "requests": state.spent.requests,
                "cost": state.spent.cost,
            }
            for state in completion.rounds
        ],
    }
