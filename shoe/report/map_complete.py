"""What completing a map came to, for people and in JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from shoe.maps.complete import Completion, Round, Why
from shoe.report.notes import percent
from shoe.report.text import count, table


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
