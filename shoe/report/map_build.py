"""What a rating run will take and what it came to, for a whole map or for a score: in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from shoe.core.errors import printable
from shoe.maps.built_map import states_of, unanswered
from shoe.maps.complete import CompletedPairs, Completion, Round, Why
from shoe.maps.estimate import Estimate, Range
from shoe.maps.job import PAPER, Outcome
from shoe.maps.session import Raters
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


def left(outcome: Outcome) -> int:
    """How many answers are missing, as far as is known."""
    return sum(int(unanswered(rated).sum()) for rated in outcome.parts.values())


def _percent(share: float) -> str:
    return f"{100 * share:.3f} %"


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


def closing_lines(completion: Completion, pairs: CompletedPairs, tolerance: float) -> Iterator[str]:
    """Say why it ended, and what it saved."""
    yield f"{completion.why} ({percent(tolerance)} points)" if completion.why is Why.TOLERANCE else str(completion.why)
    if completion.why is not Why.DECIDED:
        yield "the interval does not cover false positives of unlikely classes: docs/protocols.md, 10.7"
    questions = pairs.rated + pairs.unanswered
    if not questions:
        yield "nothing had to be rated"
        return
    for size, what in ((pairs.whole_build, "a whole build"), (pairs.looked_up, "all that these predictions look up")):
        yield f"{questions:,} pairs instead of {size:,} ({what}): {size / questions:,.1f} times fewer"
    if pairs.unanswered:
        yield f"{pairs.unanswered:,} pairs have no valid answer; they stay open, and are not asked again"
