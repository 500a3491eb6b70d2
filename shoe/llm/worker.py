"""A worker of a run, in a process of its own: it keeps each answer in its own ledger before it returns any."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from typing import Any

import msgspec

from shoe.core.errors import ShoeError
from shoe.engines.lease import SILENCE, Lease
from shoe.llm.budget import Budget, Price, Reason, Usage, likely_usage, most_usage, usage_of
from shoe.llm.ledger import Ledger, Parse
from shoe.llm.ledger_writer import writing
from shoe.llm.recorder import LedgerRecorder, Tally
from shoe.llm.request import Recorder, Request

Ask = Callable[[Iterator[Request], Recorder], None]
"""Makes requests, as :meth:`shoe.rating.config.Backend.rate` does."""


@dataclass(frozen=True, slots=True)
class Job:
    """Settings that all workers of one model share.

    Attributes:
        name: name of the model in messages.
        make: creates a worker's client or model, and the function that parses its answers.
        in_flight: largest number of requests that a worker has made without having kept their answers.
        identity: identity of the model, see :class:`~shoe.llm.ledger.Ledger`.
        price, sampling, asks, hint: as of the run's :class:`~shoe.llm.recorder.LedgerRecorder`.
        events: events in the run's ledger.
        is_local: whether the model runs in the worker.
    """

    name: str
    make: Callable[[], tuple[Ask, Parse]]
    in_flight: int
    identity: Mapping[str, Any]
    price: Price
    sampling: Mapping[str, Any]
    asks: bool
    hint: str
    events: Sequence[Mapping[str, Any]]
    is_local: bool

    @classmethod
    def from_recorder(
        cls,
        recorder: LedgerRecorder,
        name: str,
        make: Callable[[], tuple[Ask, Parse]],
        in_flight: int,
        *,
        is_local: bool,
    ) -> Job:
        """Create a job from the recorder of a run."""
        of = recorder
        events = of.remembered()
        return cls(name, make, in_flight, of.ledger.identity, of.price, of.sampling, of.asks, of.hint, events, is_local)

    def most(self, request: Request) -> float:
        """Return the largest cost of one attempt at a request."""
        return most_usage(self.sampling, request.size(), len(request.keys)).cost(self.price)


@dataclass(slots=True)
class BatchResult:
    """Result of a batch of requests.

    Attributes:
        answers: (key of the request, raw answer).
        failures: (key, kind, detail, usage) of attempts without an answer.
        requests: number of attempts.
        spent: their cost.
        reason: why the worker stopped early: its budget or a cancellation; None if all requests had all their tries.
        is_complete: whether the worker returned with no such reason. False for the result of a dead worker.
        error: error after which no further request makes sense.
        end: size of the worker's ledger afterwards, in bytes.
    """

    answers: list[tuple[bytes, Mapping[str, Any]]] = field(default_factory=list)
    failures: list[tuple[bytes, str, str, Usage | None]] = field(default_factory=list)
    requests: int = 0
    spent: float = 0.0
    reason: Reason | None = None
    is_complete: bool = False
    error: ShoeError | None = None
    end: int = 0


class Worker:
    """Makes batches of requests, each within a part of the run's budget."""

    def __init__(self, job: Job, path: Path) -> None:
        """Take the job, and the path of a ledger that no other process writes."""
        self._job, self._path, self._budget, self._open = job, path, Budget(), ExitStack()

    def ready(self) -> float:
        """Create the ledger and the client; return what :meth:`renew` returns.

        Raises:
            ShoeError: if there can be no ledger, or no client.
        """
        job = self._job
        self._ask, parse = job.make()
        ledger = Ledger(self._path, job.identity, parse)
        ledger.events.extend(job.events)
        writer = self._open.enter_context(writing(self._path, job.identity, lambda: False, lambda _: None))
        assert writer is not None, "it waits for as long as it takes"  # noqa: S101 - for the type checker
        self._lease = Lease(inf if job.is_local else SILENCE)  # a model that runs here costs no money
        self._recorder = _BatchRecorder(
            ledger, writer, self._budget, Tally(job.name), job.price, job.sampling, asks=job.asks, hint=job.hint
        )
        self._recorder.lease = self._lease
        return self.renew(0.0)

    def renew(self, time: float) -> float:
        """Receive a heartbeat; see :meth:`shoe.engines.lease.Lease.renew`."""
        return self._lease.renew(time)

    def stop(self) -> None:
        """Finish the requests in flight, and start no other."""
        self._budget.stop("interrupted")

    def ask(self, requests: Sequence[Request], max_cost: float | None, max_requests: int | None) -> BatchResult:
        """Make requests within a budget; all that is returned lies in the ledger, on the disk."""
        recorder, budget = self._recorder, Budget(max_cost, max_requests)
        self._budget = recorder.budget = budget
        result = recorder.result = BatchResult()
        try:
            self._ask(iter(requests), recorder)
            recorder.check()
        except ShoeError as error:
            result.error = error
        recorder.writer.flush()
        result.requests, result.spent, result.reason = budget.requests, budget.spent, budget.reason
        result.end, result.is_complete = recorder.writer.synced, budget.reason is None
        return result


@dataclass(eq=False, slots=True)
class _BatchRecorder(LedgerRecorder):
    """Keeps answers and failures in the worker's ledger, and collects them for the run."""

    result: BatchResult = field(default_factory=BatchResult, init=False)
    lease: Lease = field(init=False)

    def may_ask(self, request: Request) -> bool | None:
        """Reserve one request if the lease holds."""
        self.lease.check()
        return LedgerRecorder.may_ask(self, request)

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        """Keep one raw answer."""
        LedgerRecorder.answer(self, request, raw)
        self.result.answers.append((request.key, raw))

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        """Keep one attempt without an answer."""
        LedgerRecorder.failure(self, request, kind, detail, usage)
        self.result.failures.append((request.key, kind, detail, usage))


def recovered(job: Job, path: Path, start: int, requests: Sequence[Request], lease: Budget) -> BatchResult:
    """Return the result of a dead worker's batch: what its ledger holds, and the most that the batch may have cost.

    Args:
        job: job of the worker.
        path: its ledger; if it lies on another machine's disk, all requests count as unanswered.
        start: size of the ledger before the batch, in bytes.
        requests: the batch.
        lease: budget of the batch.
    """
    result, pending = BatchResult(), {request.key: request for request in requests}
    data = b""
    with suppress(OSError), path.open("rb") as stream:
        stream.seek(start)
        data = stream.read()
    for line in data.splitlines(keepends=True):
        entry = msgspec.json.decode(line) if line.endswith(b"\n") else {}
        key = bytes.fromhex("".join(entry.get("keys", ())))
        if key in pending and "answer" in entry:
            result.answers.append((key, entry["answer"]))
            usage = usage_of(entry["answer"]) or likely_usage(pending[key].characters(), len(pending[key].keys))
            result.spent += usage.cost(job.price)
        elif key in pending:
            result.failures.append((key, entry["failure"], entry["detail"], None))
    in_flight = max(map(job.most, requests), default=0.0)
    result.spent += in_flight * (job.in_flight + len(result.failures))
    result.requests = len(result.answers) + len(result.failures) + job.in_flight
    if lease.max_cost is not None:
        result.spent = min(result.spent, lease.max_cost)
    if lease.max_requests is not None:
        result.requests = min(result.requests, lease.max_requests)
    return result
