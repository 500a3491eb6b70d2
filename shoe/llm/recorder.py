"""Recorder that writes answers and failures to a ledger and their cost to the budget; progress display of a run."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from threading import Event, Lock
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from shoe.core.errors import ShoeError, printable, quote
from shoe.llm.budget import Budget, Price, Usage, likely_usage, most_usage, usage_of
from shoe.llm.cache import AnswerCache
from shoe.llm.errors import HOLLOW
from shoe.llm.ledger import Ledger, answer_entry, answer_line, event_line, failure_line
from shoe.llm.ledger_writer import Writer
from shoe.llm.request import Request

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task, TaskID

SECONDS_BETWEEN_LINES = 30.0
_SECONDS_OF_A_RATE = 5.0  # seconds after the start until the speed is shown
_LOOK = 0.25


class Progress:
    """Progress display, a context manager: bars on a terminal, otherwise lines every 30 seconds.

    If KeyboardInterrupt is raised in the ``with`` block, the process exits at once, without waiting for threads.
    """

    def __init__(self, currency: str, unit: str = "pairs", console: Console | None = None) -> None:
        """Create a display on standard error or ``console``; ``unit`` is a plural noun, shown after the counts."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress as Bars, TextColumn

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
        """Print a line, prefixed with "shoe: ", above the bars."""
        self._console.print(printable(f"shoe: {line}", longest=1000), markup=False, highlight=False, soft_wrap=True)

    def show(self, tallies: Sequence[Tally]) -> None:
        """Update the bars; without bars, print a line per model that has questions, every 30 seconds."""
        is_due = self._bars.disable and time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES
        for tally in tallies:
            if tally.name not in self._task:
                self._task[tally.name] = self._bars.add_task(printable(tally.name), total=None, facts="")
            number = self._task[tally.name]
            self._bars.update(number, completed=tally.done, total=max(tally.total, 1))
            facts = self._facts(tally, self._bars.tasks[number])
            self._bars.update(number, facts="  ".join(facts))
            if is_due and tally.total:
                self.say(f"{tally.name}: {', '.join(facts)}")
        self._last_line = time.monotonic() if is_due else self._last_line
        self._bars.refresh()

    def _facts(self, tally: Tally, task: Task) -> list[str]:
        if tally.waiting:
            return ["waiting for another process"]
        left = task.time_remaining if (task.elapsed or 0) >= _SECONDS_OF_A_RATE else None
        return [
            f"{tally.done:,}/{tally.total:,} {self._unit}",
            f"{task.speed or 0:,.1f}/s" if (task.elapsed or 0) >= _SECONDS_OF_A_RATE else "-/s",
            f"ETA {timedelta(seconds=left) if left else '-'}",
            "unknown cost" if tally.is_unpriced else f"{tally.cost:,.4g} {self._currency}" if tally.cost else "free",
            f"{tally.retries:,} retries",
            f"{tally.failures.total():,} failures",
        ]


def wait_with_progress(
    ended: Event, tallies: Sequence[Tally], budget: Budget, display: Progress | None = None, *, quiet: bool = False
) -> None:
    """Wait until a run ends, and show its progress; after Ctrl-C, no further requests are sent (``Budget.stop``).

    The run's last thread sets the event ``ended``. A second Ctrl-C raises KeyboardInterrupt; in a ``quiet`` run, which
    sends no requests, the first Ctrl-C raises it.
    """
    # Threads are not joined, because after Ctrl-C, Thread.join may return too early (in Python 3.11).
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
                display.say("interrupted: waiting for running requests to save their answers (Ctrl-C again: quit now)")


_MAYBE_CHARGED = ("timeout", "dropped", "too long", "packed", *HOLLOW)  # an answer may have been generated
_UNUSABLE, _UNUSABLE_AT_FIRST = 50, 20  # attempts in a row without a usable answer after which a run stops


@dataclass
class Tally:
    """Counts of one model in a run."""

    name: str
    total: int = 0  # number of questions to send; a question that is sent twice counts twice
    # done, known, cached: number of questions answered in this run, in earlier runs, and found in the user's cache.
    done: int = 0
    known: int = 0
    cached: int = 0
    # requests, retries: number of attempts, and of attempts that repeat a failed attempt.
    requests: int = 0
    retries: int = 0
    failures: Counter[str] = field(default_factory=Counter)  # number of attempts without an answer, by kind of failure
    # input_tokens, output_tokens, cost: sums over all attempts; estimated for answers that report no tokens.
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    waiting: bool = False  # whether the model waits for another process to end
    is_unpriced: bool = False  # whether the model is at an endpoint, and has no price


@dataclass(frozen=True, slots=True)
class Terms:
    """Settings of one model that a recorder needs to compute costs and to check answers."""

    price: Price = field(default_factory=Price)
    # Sampling parameters of the requests, which may limit the tokens of answers.
    sampling: Mapping[str, Any] = field(default_factory=dict)
    asks: bool = True  # whether requests are sent to an endpoint; False for a local model, which costs nothing
    hint: str = ""  # advice at the end of the error message about unusable answers
    model: str = ""  # name of the model in requests; answers should have the same name. "" for no comparison
    address: str = ""  # URL of the endpoint, which is stored with each answer; "" for a local model

    def max_cost(self, request: Request) -> float:
        """Return an upper bound of the cost of one attempt (see :func:`~shoe.llm.budget.most_usage`)."""
        return most_usage(self.sampling, request.size(), len(request.keys)).cost(self.price)


@dataclass(eq=False, slots=True)
class LedgerRecorder:
    """:class:`~shoe.llm.request.Recorder` for one model, with a budget and a ledger (a file of all attempts).

    Each answer is added to ``cache`` once it is in the ledger. ``say`` is called with messages for the user.
    ``unusable`` is the number of attempts without a usable answer since the latest usable answer, and ``answered``
    whether there has been a usable answer.
    """

    ledger: Ledger
    writer: Writer
    budget: Budget
    tally: Tally
    terms: Terms = field(default_factory=Terms)
    unusable: int = field(default=0, init=False)
    answered: bool = field(default=False, init=False)
    say: Callable[[str], None] = lambda _: None
    cache: AnswerCache | None = None
    _names: list[str] = field(default_factory=list, init=False)
    _lock: Lock = field(default_factory=Lock, init=False)
    _in_flight: dict[bytes, float] = field(default_factory=dict, init=False)
    _failed: set[bytes] = field(default_factory=set, init=False)
    _dearest: float = field(default=1.0, init=False)
    _events: list[Mapping[str, Any]] = field(default_factory=list, init=False)

    @property
    def stopping(self) -> bool:
        """Whether the run is ending, because of the budget or too many unusable answers in a row."""
        return self.budget.stopping or self._is_failing

    @property
    def _is_failing(self) -> bool:
        return self.unusable >= (_UNUSABLE if self.answered else _UNUSABLE_AT_FIRST)

    def check(self) -> None:
        """Raise ShoeError if answers named different models, or if 50 attempts (first: 20) had no usable answer."""
        if len(self._names) > 1:
            first, second = map(quote, self._names[:2])
            hint = "request a name that always stands for the same model, and run again"
            raise ShoeError(f"{self.tally.name}: the endpoint answered as model {first}, then as {second}: {hint}")
        if self._is_failing:
            hint = f"see the last lines of {self.ledger.path}{self.terms.hint}"
            raise ShoeError(f"{self.tally.name}: {self.unusable} attempts in a row had no usable answer; {hint}")

    def may_ask(self, request: Request) -> bool | None:
        """Reserve the cost of a request; return True if it may be sent, None if not yet, False if the run ends."""
        if not self.terms.asks or self.stopping:
            return not self.stopping
        most = 0.0 if self.terms.price.is_free else self.terms.max_cost(request) * self._dearest
        may = self.budget.reserve(most)
        if may:
            with self._lock:
                self._in_flight[request.key] = most
                self.tally.requests += 1
                self.tally.retries += request.key in self._failed
        return may

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        """Write a raw answer to the ledger file and the cache, and count its cost; raise InputError if this fails."""
        entry = answer_entry(request, raw, self.terms.address)
        self.writer.append(answer_line(entry))
        if self.cache:
            self.cache.add(entry)
        self._compare_name(raw.get("model"))
        characters = request.characters() if self.terms.asks else 0
        self._settle(request, usage_of(raw) or likely_usage(characters, len(request.keys)), answered=True)
        if self.terms.asks:  # an unusable second answer is likely, and no sign of a broken endpoint
            self._count(is_usable=request.attempt > 1 or max(self.ledger.parse(entry)) >= 0)

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        """Write an attempt without an answer to the ledger, and count its cost; raise InputError if this fails.

        Without ``usage``, the cost is the reserved cost for kinds of failures that the endpoint may charge for, such as
        "timeout", and 0 for all others.
        """
        self.writer.append(failure_line(request, kind, detail))
        self._settle(request, usage or (None if kind in _MAYBE_CHARGED else Usage(0, 0)), answered=False)
        with self._lock:
            self.tally.failures[kind] += 1
            self._failed.add(request.key)
        if kind in HOLLOW:
            self._count(is_usable=False)

    def remember(self, event: Mapping[str, Any]) -> None:
        """Write an event to the ledger, and wait until it is on the disk; raise InputError if this fails."""
        self.writer.append(event_line(event))
        self.writer.flush()
        with self._lock:
            self._events.append(event)

    def remembered(self) -> list[Mapping[str, Any]]:
        """Return all events written by :meth:`remember`, in this run and earlier runs, oldest first."""
        with self._lock:
            return [*self.ledger.events, *self._events]

    def _compare_name(self, name: Any) -> None:
        """Warn if the first answer names another model than the request; end the run if the name changes."""
        if not self.terms.model or not isinstance(name, str) or not name:
            return
        with self._lock:
            is_new = name not in self._names
            if is_new:
                self._names.append(name)
        if is_new and len(self._names) > 1:
            self.budget.stop("failed")
        elif is_new and name != self.terms.model:
            self.say(f"{self.tally.name}: warning: asked for {quote(self.terms.model)}, answered by {quote(name)}")

    def _count(self, *, is_usable: bool) -> None:
        with self._lock:
            self.unusable = 0 if is_usable else self.unusable + 1
            self.answered |= is_usable

    def _settle(self, request: Request, usage: Usage | None, *, answered: bool) -> None:
        # If the cost exceeds its upper bound, all later bounds are multiplied by the same factor. Requests of a batch
        # that an earlier run started are not booked in this run's budget.
        usage = usage if self.terms.asks else Usage(0, 0)
        with self._lock:
            reserved = self._in_flight.pop(request.key, None)
            cost = (reserved or 0.0) if usage is None else usage.cost(self.terms.price)
            if reserved and cost > reserved:
                self._dearest = max(self._dearest, cost / self.terms.max_cost(request))
            if usage is not None:
                self.tally.input_tokens += usage.input
                self.tally.output_tokens += usage.output
            self.tally.cost += cost
            if answered:
                self.tally.done += len(request.keys)
                self._failed.discard(request.key)
        if reserved is not None:
            self.budget.settle(reserved, cost)
