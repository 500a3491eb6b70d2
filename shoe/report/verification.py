"""What became of a run, in the terminal and as JSON."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from shoe.core.errors import many
from shoe.report.text import percent, present, say, table
from shoe.runs.verify import Verdict


def print_verdict(name: str, verdict: Verdict, to: Console) -> None:
    """Say that a run is equal, or what differs and why."""
    if verdict.equal:
        say(to, f"{name}: equal: {many(len(verdict.figures), 'figure')}, options, version and hashes", "bold")
        return
    say(to, f"{name}: different: {'; '.join(verdict.reasons)}", "bold")
    moved = set(verdict.moved)
    rows = [
        [key, percent(kept), percent(found), "differs" if key in moved else "equal"]
        for key, (kept, found) in verdict.figures.items()
    ]
    to.print(table("figure", "run", "now", "", rows=rows))
    for each in verdict.mismatches:
        say(to, f"{each.name:<10} {each.kept} in the run, {each.found} now: {each.why}")


def verdict_dict(verdict: Verdict) -> dict[str, Any]:
    """The keys of ``shoe verify --json``; fractions 0..1, and what is absent has no key."""
    moved = set(verdict.moved)
    kept: dict[str, Any] = present(
        {
            "equal": verdict.equal,
            "reasons": verdict.reasons or None,
            "figures": {
                key: {"run": before, "now": after, "equal": key not in moved}
                for key, (before, after) in verdict.figures.items()
            },
            "mismatches": [
                {"name": each.name, "run": each.kept, "now": each.found, "why": each.why} for each in verdict.mismatches
            ]
            or None,
        }
    )
    return kept
