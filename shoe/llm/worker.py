"""One of several processes that ask for one run: it keeps each answer in a ledger of its own before it tells of any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from shoe.core.errors import ShoeError
from shoe.llm import fence
from shoe.llm.budget import Budget, Price, Reason, Usage, likely_usage, most_usage, usage_of
from shoe.llm.ledger import Ledger, Parse
from shoe.llm.ledger_writer import writing
from shoe.llm.recorder import LedgerRecorder, Tally
from shoe.llm.request import Recorder, Request

Ask = Callable[[Iterator[Request], Recorder], None]
"""Makes requests, as :meth:`shoe.rating.questions.Backend.rate` does."""


@dataclass(frozen=True, slots=True)
class Job:
    """What all workers of one model have in common.

    Attributes:
        name: of the model, as it is shown.
        make: makes a worker's client or model, and says how its answers are read.
        identity: of the model, see :class:`~shoe.llm.ledger.Ledger`.
        price: of tokens.
        sampling: parameters of the requests.
        in_flight: most requests that a worker has made and not yet kept the answers of.
        events: what the run's ledger remembers.
        asks: whether there are requests at all, see :class:`~shoe.llm.recorder.LedgerRecorder`.
        is_local: whether it is a model that runs in the worker.
        hint: see :class:`~shoe.llm.recorder.LedgerRecorder`.
    """

    name: str
    make: Callable[[], tuple[Ask, Parse]]
    identity: Mapping[str, Any]
    price: Price
    sampling: Mapping[str, Any]
    in_flight: int
    events: Sequence[Mapping[str, Any]] = ()
    asks: bool = True
    is_local: bool = False
    hint: str = ""

    @property
    def silence(self) -> float:
        """Seconds without a word of the run after which a worker ends; a model that runs there costs no money."""
        return inf if self.is_local else fence.SILENCE


@dataclass(slots=True)
class Told:
    """What came of some requests.

    Attributes:
        answers: (key of the request, raw answer).
        failures: (key, kind, detail, usage) of attempts without one.
        requests: attempts.
        spent: what they cost.
        reason: why no more were made, if it is the budget, or a word from outside.
        is_whole: whether it ended by itself: requests without an answer had all their tries.
        error: that no further request makes sense after.
        end: where the worker's ledger ended then.
    """

    answers: list[tuple[bytes, Mapping[str, Any]]] = field(default_factory=list)
    failures: list[tuple[bytes, str, str, Usage | None]] = field(default_factory=list)
    requests: int = 0
    spent: float = 0.0
    reason: Reason | None = None
    is_whole: bool = False
    error: ShoeError | None = None
    end: int = 0


class Worker:
    """Makes requests, within a part of the run's budget at a time."""

    def __init__(self, job: Job, path: Path) -> None:
        """Take what to do, and where to keep a ledger that no other process writes."""
        self._job, self._path, self._budget, self._open = job, path, Budget(), ExitStack()

    def ready(self) -> float:
        """Begin the ledger, and be ready to be asked.

        Returns:
            What :meth:`~shoe.llm.fence.Fence.heard` does.

        Raises:
            ShoeError: if there can be no ledger, or no client.
        """
        job, path = self._job, self._path
        self._ask, parse = job.make()
        ledger = Ledger(path, job.identity, parse)
        ledger.events.extend(job.events)
        writer = self._open.enter_context(writing(path, job.identity, lambda: False, lambda _: None))
        assert writer is not None, "it waits for as long as it takes"  # noqa: S101 - for the type checker
        self._writer = writer
        self._fence = fence.Fence(job.silence)
        self._recorder = _Telling(ledger, writer, self._budget, Tally(job.name), job.price, job.sampling, asks=job.asks)
        self._recorder.fence, self._recorder.hint = self._fence, job.hint
        return self.heard(0.0)

    def heard(self, when: float) -> float:
        """Go on for a while; see :meth:`shoe.llm.fence.Fence.heard`."""
        return self._fence.heard(when)

    def stop(self) -> None:
        """Finish what is in flight, and start nothing."""
        self._budget.stop("interrupted")

    def ask(self, requests: Sequence[Request], max_cost: float | None, max_requests: int | None) -> Told:
        """Make requests; what is told lies in the ledger, on the disk.

        Args:
            requests: to make.
            max_cost: of them, see :class:`~shoe.llm.budget.Budget`.
            max_requests: the same.
        """
        recorder, self._budget = self._recorder, Budget(max_cost, max_requests)
        recorder.budget, recorder.told = self._budget, Told()
        try:
            self._ask(iter(requests), recorder)
            recorder.check()
        except ShoeError as error:
            recorder.told.error = error
        self._writer.flush()
        told = recorder.told
        told.requests, told.spent = self._budget.requests, self._budget.spent
        told.reason, told.end, told.is_whole = self._budget.reason, self._writer.synced, self._budget.reason is None
        return told


@dataclass(eq=False, slots=True)
class _Telling(LedgerRecorder):
    """Keeps what happens, and collects it for the run."""

    told: Told = field(default_factory=Told, init=False)
    fence: fence.Fence = field(init=False)

    def may_ask(self, request: Request) -> bool | None:
        """Reserve one request, if the run still counts on this worker."""
        self.fence.check()
        return LedgerRecorder.may_ask(self, request)

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        """Keep one raw answer."""
        LedgerRecorder.answer(self, request, raw)
        self.told.answers.append((request.key, raw))

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        """Keep one attempt without an answer."""
        LedgerRecorder.failure(self, request, kind, detail, usage)
        self.told.failures.append((request.key, kind, detail, usage))


def left_behind(job: Job, path: Path, start: int, requests: Sequence[Request], lease: Budget) -> Told:
    """Say what a worker that died had kept of its last requests, and what they may have cost at most.

    Args:
        job: of the worker.
        path: of its ledger; what lies on another machine's disk cannot be read, and is asked again.
        start: where the ledger ended before.
        requests: that it was making.
        lease: that they had.
    """
    told, asked = Told(), {request.key: request for request in requests}
    data = b""
    with suppress(OSError), path.open("rb") as stream:
        stream.seek(start)
        data = stream.read()
    for line in data.splitlines(keepends=True):
        entry = msgspec.json.decode(line) if line.endswith(b"\n") else {}
        key = bytes.fromhex("".join(entry.get("keys", ())))
        if key in asked and "answer" in entry:
            told.answers.append((key, entry["answer"]))
            usage = usage_of(entry["answer"]) or likely_usage(asked[key].characters(), len(asked[key].keys))
            told.spent += usage.cost(job.price)
        elif key in asked:
            told.failures.append((key, entry["failure"], entry["detail"], None))
    most = max((_most(job, request) for request in requests), default=0.0)
    told.spent += most * (job.in_flight + len(told.failures))
    told.requests = len(told.answers) + len(told.failures) + job.in_flight
    if lease.max_cost is not None:
        told.spent = min(told.spent, lease.max_cost)
    if lease.max_requests is not None:
        told.requests = min(told.requests, lease.max_requests)
    return told


def _most(job: Job, request: Request) -> float:
    return most_usage(job.sampling, request.size(), len(request.keys)).cost(job.price)
