"""An estimate of a rating run for people, in a table, and for programs, in JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Group
from rich.text import Text

from shoe.core.errors import printable
from shoe.rating.estimate import Estimate, Range, RaterEstimate
from shoe.report.text import table

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
        made.add_row("all", *[""] * 5, _span(estimate.cost, _money), _span(estimate.hours, _time))
    planned = ", ".join(
        f"{estimate.rows[part]:,} {part} pairs ({count:,} to be asked)" for part, count in estimate.questions.items()
    )
    remarks = [Text(printable(f"- {line}", longest=_LONGEST)) for line in estimate.assumptions]
    return Group(Text(f"planned: {planned}"), made, *remarks)


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """Lay an estimate out as JSON: ranges as {"low", "likely", "high"}; what does not exist is absent."""
    return {
        "rows": dict(estimate.rows),
        "questions": dict(estimate.questions),
        "currency": estimate.currency,
        "raters": [_rater(rater) for rater in estimate.raters],
        "cost": _bounds(estimate.cost),
        "hours": _bounds(estimate.hours),
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
