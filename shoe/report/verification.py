"""What became of a run, in the terminal."""

from __future__ import annotations

from rich.console import Console

from shoe.core.errors import many
from shoe.report.text import percent, say, table
from shoe.runs.verify import Verdict


def print_verdict(name: str, verdict: Verdict, to: Console) -> None:
    """Say that a run is equal, or what differs and why."""
    if verdict.equal:
        say(to, f"{name}: equal: {many(len(verdict.figures), 'figure')}, options, version and hashes", "bold")
        return
    say(to, f"{name}: different: {'; '.join(verdict.reasons)}", "bold")
    rows = [
        [key, percent(each.run), percent(each.now), "equal" if each.equal else "differs"]
        for key, each in verdict.figures.items()
    ]
    to.print(table("figure", "run", "now", "", rows=rows))
    for each in verdict.mismatches:
        say(to, f"{each.name:<10} {each.run} in the run, {each.now} now: {each.why}")
