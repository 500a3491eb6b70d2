"""Progress of a run on standard error: bars on a terminal, otherwise a line from time to time."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from datetime import timedelta
from threading import Event
from types import TracebackType
from typing import TYPE_CHECKING, Self

from shoe.core.errors import printable
from shoe.llm.budget import Budget
from shoe.llm.recorder import Tally

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task, TaskID

SECONDS_BETWEEN_LINES = 30.0
_SECONDS_OF_A_RATE = 5.0
"""Seconds until a rate is shown."""
_LOOK = 0.25


class Progress:
    """Progress display, as a context manager: bars on a terminal, otherwise lines, the first after a while.

    KeyboardInterrupt inside the context ends the process at once, whatever threads of libraries still run.
    """

    def __init__(self, currency: str, unit: str = "pairs", console: Console | None = None) -> None:
        """Create a display.

        Args:
            currency: currency of costs.
            unit: plural of what is counted.
            console: output; standard error by default.
        """
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as Bars

        self._currency, self._unit = currency, unit
        self._console = console or Console(stderr=True)
        self._bars = Bars(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=20),
            TextColumn("{task.fields[facts]}", markup=False),
            console=self._console,
            auto_refresh=False,
            transient=True,
            disable=not self._console.is_terminal,
            speed_estimate_period=60,
        )
        self._task: dict[str, TaskID] = {}
        self._last_line = time.monotonic()

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._bars.stop()
        if kind is KeyboardInterrupt:
            os._exit(130)

    def say(self, line: str) -> None:
        """Print a line above the bars."""
        line = printable(f"shoe: {line}", longest=1000)
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    def show(self, tallies: Sequence[Tally]) -> None:
        """Update the bars, or print a line for each tally if the latest lines are old."""
        for tally in tallies:
            if tally.name not in self._task:
                self._task[tally.name] = self._bars.add_task(printable(tally.name), total=None, facts="")
            self._bars.update(self._task[tally.name], completed=tally.done, total=max(tally.total, 1))
        tasks = dict(zip(self._task, self._bars.tasks, strict=True))
        if not self._bars.disable:
            for tally in tallies:
                self._bars.update(self._task[tally.name], facts="  ".join(self._facts(tally, tasks[tally.name])))
            self._bars.refresh()
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            for tally in tallies:
                if tally.total:
                    self.say(f"{tally.name}: {', '.join(self._facts(tally, tasks[tally.name]))}")

    def _facts(self, tally: Tally, task: Task) -> list[str]:
        if tally.waiting:
            return ["waiting for another process"]
        left = task.time_remaining if (task.elapsed or 0) >= _SECONDS_OF_A_RATE else None
        return [
            f"{tally.done:,}/{tally.total:,} {self._unit}",
            f"{task.speed or 0:,.1f}/s" if (task.elapsed or 0) >= _SECONDS_OF_A_RATE else "-/s",
            f"ETA {timedelta(seconds=left) if left else '-'}",
            f"{tally.cost:,.4g} {self._currency}" if tally.cost else "free",
            f"{tally.retries:,} retries",
            f"{tally.failures.total():,} failures",
        ]


def watch(
    ended: Event, tallies: Sequence[Tally], budget: Budget, display: Progress | None = None, *, quiet: bool = False
) -> None:
    """Wait for the threads of a run, and show its progress; Ctrl-C ends the run like a used-up budget.

    Threads are not joined: after Ctrl-C, Thread.join takes a running thread for one that has ended (in Python 3.11).

    Args:
        ended: event that is set when the last thread has ended.
        tallies: counts to show.
        budget: budget of the run.
        display: progress display; None for no display.
        quiet: whether no requests are made, so that there is nothing to wait for.

    Raises:
        KeyboardInterrupt: at the second Ctrl-C, or at the first if no requests are made.
    """
    interrupted = quiet
    while not ended.is_set():
        try:
            ended.wait(_LOOK)
            if display:
                with suppress(OSError):  # a closed terminal is no reason to lose answers
                    display.show(tallies)
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            budget.stop("interrupted")
            if display:
                display.say("interrupted; what is in flight is awaited and kept (again: end at once)")
