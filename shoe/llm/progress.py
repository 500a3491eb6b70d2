"""Showing how a run goes: bars on a terminal, else a line now and then; all of it on the error output."""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Protocol, Self

from shoe.core.errors import printable
from shoe.llm.recorder import Tally

SECONDS_BETWEEN_LINES = 30.0
_SMOOTHING = 20.0
"""Seconds over which the rate is averaged."""


class Display(Protocol):
    """Something that shows how a run goes; used by one thread."""

    def show(self, tallies: Sequence[Tally]) -> None:
        """Show where every rater is; called some times a second."""
        ...

    def say(self, line: str) -> None:
        """Tell the user something; may be called from any thread."""
        ...


class Silent:
    """Shows nothing."""

    def show(self, tallies: Sequence[Tally]) -> None:
        """Do nothing."""

    def say(self, line: str) -> None:
        """Do nothing."""


class Speed:
    """Answers a second, of late."""

    def __init__(self) -> None:
        self._at, self._done, self._rate = time.monotonic(), 0, 0.0

    def now(self, done: int) -> float:
        """Take in how many answers there are, and return how many come a second."""
        at = time.monotonic()
        passed = at - self._at
        if passed > 0:
            weight = min(passed / _SMOOTHING, 1.0) if self._rate else 1.0
            self._rate += weight * ((done - self._done) / passed - self._rate)
            self._at, self._done = at, done
        return self._rate


class Progress:
    """What the user sees of a run, as a context.

    On a terminal a table of all raters is drawn again and again; else lines are printed, the first after a while.
    """

    def __init__(self, currency: str) -> None:
        from rich.console import Console

        self._currency = currency
        self._console = Console(stderr=True)
        self._live: Any = None
        self._speeds: dict[str, Speed] = {}
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            from rich.live import Live

            self._live = Live(console=self._console, auto_refresh=False, transient=True)
            self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None

    def say(self, line: str) -> None:
        """Print a line above the bars."""
        line = printable(f"shoe: {line}", longest=1000)
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def show(self, tallies: Sequence[Tally]) -> None:
        """Draw the table, or print a line if it is time for one."""
        speeds = [self._speeds.setdefault(tally.rater, Speed()).now(tally.done) for tally in tallies]
        if self._live is not None:
            self._live.update(self._table(tallies, speeds), refresh=True)
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            for tally, speed in zip(tallies, speeds, strict=True):
                if tally.total:
                    self.say(f"{tally.rater}: {', '.join(self._facts(tally, speed))}")

    def _table(self, tallies: Sequence[Tally], speeds: Sequence[float]) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        table = Table.grid(padding=(0, 2))
        for tally, speed in zip(tallies, speeds, strict=True):
            bar = ProgressBar(total=max(tally.total, 1), completed=tally.done, width=20)
            table.add_row(Text(printable(tally.rater)), bar, *map(Text, self._facts(tally, speed)))
        return table

    def _facts(self, tally: Tally, speed: float) -> list[str]:
        if tally.waiting:
            return ["waiting for another process"]
        left = tally.total - tally.done
        facts = [f"{tally.done:,}/{tally.total:,} pairs", f"{speed:,.1f}/s"]
        facts.append(f"ETA {duration(left / speed)}" if speed and left else "ETA -")
        facts.append(f"{tally.cost:,.4g} {self._currency}" if tally.cost else "free")
        facts.append(f"{tally.retries:,} retries")
        facts.append(f"{tally.failures.total():,} failures")
        return facts


def duration(seconds: float) -> str:
    """Show a time as 3:07 or 26:03:07."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
