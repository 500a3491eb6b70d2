"""What a rating run will take and what it came to, for a whole map or for a score: for people, and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from shoe.core.errors import printable
from shoe.llm.budget import Budget
from shoe.maps.complete import Completion, Round, Why
from shoe.rating.built import account, states_of, unanswered
from shoe.rating.estimate import Estimate, Range, RaterEstimate
from shoe.rating.job import PAPER, Outcome
from shoe.rating.planning import Rules
from shoe.rating.session import Raters
from shoe.report.text import count, percent, say, table, words

_LONGEST = 500


def estimate_table(estimate: Estimate) -> Group:
    """Lay an estimate out: what is planned, a row for each rater and for all, and what that rests on.

    "~" marks what is likely; below it stands between what it will lie.
    """
    columns = ("answered", "to ask", "requests", "tokens in", "out", printable(f"cost {estimate.currency}"), "hours")
    made = table("rater", *columns)
    made.columns[0].no_wrap, made.columns[0].overflow = False, "fold"
    for rater in estimate.raters:
        made.add_row(
            Text(printable(rater.name)),
            _short(rater.answered),
            _count(rater.pairs),
            *(_count(value) for value in (rater.requests, rater.input_tokens, rater.output_tokens)),
            _span(rater.cost, _money),
            _span(rater.hours, _time),
        )
    if len(estimate.raters) > 1:
        made.add_section()
        made.add_row("all", *[""] * 5, _span(estimate.cost, _money), "")
    planned = ", ".join(
        f"{estimate.rows[part]:,} {part} pairs ({count:,} to be asked)" for part, count in estimate.questions.items()
    )
    notes = [Text(printable(f"- {line}", longest=_LONGEST)) for line in estimate.assumptions]
    return Group(Text(f"planned: {planned}"), made, *notes)


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Lay an estimate out as JSON: ranges as {"low", "likely", "high"}; what does not exist is absent."""
    return {
        "rows": dict(estimate.rows),
        "questions": dict(estimate.questions),
        "currency": estimate.currency,
        "raters": [_rater(rater) for rater in estimate.raters],
        "cost": _bounds(estimate.cost),
        "assumptions": list(estimate.assumptions),
    }


def _rater(rater: RaterEstimate) -> dict[str, Any]:
    known = {name: value for name, value in rater._asdict().items() if value is not None}
    return {name: _bounds(value) if isinstance(value, Range) else value for name, value in known.items()}


def _bounds(value: Range) -> dict[str, float]:
    return {"low": _rounded(value.low), "likely": _rounded(value.likely), "high": _rounded(value.high)}


def _rounded(value: float, digits: int = 3) -> float:
    """Whole numbers as they are; others to some digits that mean something."""
    return value if value == int(value) else float(f"{value:.{digits}g}")


def _count(value: Range | None) -> str:
    if value is None:
        return "–"
    return f"{round(value.likely):,}" if value.low == value.high else f"~{_short(value.likely)}"


def _short(count: float) -> str:
    """Two digits that mean something, thousands as K and so on."""
    rounded = float(f"{count:.2g}")
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if rounded >= size:
            return f"{rounded / size:.2g}{unit}" if rounded < 100 * size else f"{rounded / size:.0f}{unit}"
    return f"{rounded:.0f}"


def _span(value: Range | None, shown: Callable[[float], str]) -> str:
    """What is likely, and its bounds where they look different."""
    if value is None:
        return "–"
    low, likely, high = shown(value.low), shown(value.likely), shown(value.high)
    return likely if low == high else f"~{likely}\n{low}–{high}"


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount < 10 else f"{float(f'{amount:.2g}'):,.0f}"


def _time(hours: float) -> str:
    return f"{hours:.2f}" if hours < 1 else f"{hours:.1f}" if hours < 10 else f"{hours:,.0f}"


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


def outcome_json(raters: Raters, outcome: Outcome, budget: Budget, rules: Rules) -> dict[str, Any]:
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
