"""Worker processes of a run on a Ray cluster; each worker sends requests and writes its own ledger."""

import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec

from shoe.core.errors import ShoeError
from shoe.engines.base import DEATHS
from shoe.engines.ray_cluster import SILENCE, Cluster, Lease, is_locked
from shoe.llm.budget import Budget, Reason, Usage, likely_usage, usage_of
from shoe.llm.ledger import Ledger, Parse
from shoe.llm.ledger_writer import WORKER, writing
from shoe.llm.recorder import LedgerRecorder, Tally, Terms
from shoe.llm.request import Recorder, Request

Ask = Callable[[Iterator[Request], Recorder], None]  # sends requests


@dataclass(frozen=True, slots=True)
class Job:
    """Settings that all workers of one model share."""

    name: str
    # Callback, called once per worker, that returns (callback that sends requests, parser of answers).
    make: Callable[[], tuple[Ask, Parse]]
    in_flight: int  # largest number of requests that a worker has sent and not yet recorded in its ledger
    # identity, events: settings in the header of the ledgers, and events in the run's ledger.
    identity: Mapping[str, Any]
    terms: Terms
    events: Sequence[Mapping[str, Any]]
    is_local: bool  # whether the model runs in the worker process


@dataclass(slots=True)
class BatchResult:
    """Result of a batch of requests that a worker has sent."""

    # (key of the request, raw answer) per answer.
    answers: list[tuple[bytes, Mapping[str, Any]]] = field(default_factory=list)
    # (key of the request, kind, detail, usage) per attempt without an answer; see ``Recorder.failure``.
    failures: list[tuple[bytes, str, str, Usage | None]] = field(default_factory=list)
    requests: int = 0
    spent: float = 0.0
    # Reason for an early end: the batch's budget was used up or the run was interrupted; None if neither.
    reason: Reason | None = None
    is_complete: bool = False  # whether the worker tried all requests; False after an early end or if the worker died
    error: ShoeError | None = None  # error that ended the batch, for example because the endpoint rejects all requests
    end: int = 0  # size of the worker's ledger after the batch, in bytes


class Worker:
    """Worker process of a Ray cluster, with a ledger at ``path``; sends batches within parts of the run's budget."""

    def __init__(self, job: Job, path: Path) -> None:
        self._job, self._path, self._budget, self._open = job, path, Budget(), ExitStack()

    def ready(self) -> float:
        """Create file of answers and client, or raise ShoeError; return the worker's clock time (:meth:`renew`)."""
        job = self._job
        self._ask, parse = job.make()
        ledger = Ledger(self._path, job.identity, parse)
        ledger.events.extend(job.events)
        writer = self._open.enter_context(writing(self._path, job.identity, lambda: False, lambda _: None))
        assert writer is not None, "it waits for as long as it takes"  # noqa: S101 - for the type checker
        self._lease = Lease(inf if job.is_local else SILENCE)  # a local model costs no money
        self._recorder = _BatchRecorder(ledger, writer, self._budget, Tally(job.name), job.terms)
        self._recorder.lease = self._lease
        return self.renew(0.0)

    def renew(self, time: float) -> float:
        """Receive a heartbeat with the worker's previous reply; see :meth:`shoe.engines.ray_cluster.Lease.renew`.

        Unless its model is local, the worker exits 30 seconds after ``time`` if no other heartbeat arrives.
        """
        return self._lease.renew(time)

    def stop(self) -> None:
        """Send no further requests of the present batch; return at once, although requests are in flight."""
        self._budget.stop("interrupted")

    def ask(self, requests: Sequence[Request], max_cost: float | None, max_requests: int | None) -> BatchResult:
        """Send a batch of requests within a budget (None: no limit), and return the result.

        Answers are on the disk, in the worker's ledger, before they are returned. A ShoeError is not raised, but
        returned.
        """
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
    result: BatchResult = field(default_factory=BatchResult, init=False)
    lease: Lease = field(init=False)

    def may_ask(self, request: Request) -> bool | None:
        self.lease.check()
        return LedgerRecorder.may_ask(self, request)

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        LedgerRecorder.answer(self, request, raw)
        self.result.answers.append((request.key, raw))

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        LedgerRecorder.failure(self, request, kind, detail, usage)
        self.result.failures.append((request.key, kind, detail, usage))


def result_of_dead_worker(job: Job, path: Path, start: int, requests: Sequence[Request], lease: Budget) -> BatchResult:
    """Return the result of a batch whose worker died: the answers in its ledger, and an upper bound of its cost.

    ``path`` is the worker's ledger; if this machine cannot read it, the result has no answers. ``start`` is its size
    before the batch, in bytes, and ``lease`` the budget of the batch.
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
            result.spent += usage.cost(job.terms.price)
        elif key in pending:
            result.failures.append((key, entry["failure"], entry["detail"], None))
    in_flight = max(map(job.terms.max_cost, requests), default=0.0)
    result.spent += in_flight * (job.in_flight + len(result.failures))
    result.requests = len(result.answers) + len(result.failures) + job.in_flight
    result.spent = min(result.spent, inf if lease.max_cost is None else lease.max_cost)
    result.requests = result.requests if lease.max_requests is None else min(result.requests, lease.max_requests)
    return result


# The main process sends batches to each worker, with a part of the budget, and writes the results to the run's ledger.
# If a worker dies, its recorded answers are read from its ledger. Its other requests are sent to another worker, by the
# main process alone (Ray's own retries are off), once the dead worker has certainly stopped sending requests.

_SECONDS = 30.0  # approximate duration of a batch
_FIRST, _MOST = 4, 10_000  # first batch, as a multiple of ``Job.in_flight``; most requests of a batch
_POLL, _HEARTBEAT = 0.25, 2.0  # seconds between two checks of the workers, and between two heartbeats to a worker
_TRIES = 2  # attempts per request for which a part of the budget is reserved


@dataclass(eq=False, slots=True)
class WorkerHandle:
    """State of one worker, as the main process knows it."""

    actor: Any
    path: Path
    offset: int = 0  # size of the worker's ledger after the latest result, in bytes
    # requests, lease, since: current batch of the worker (empty if idle), its budget, and the time of its start.
    requests: Sequence[Request] = ()
    lease: Budget = field(default_factory=Budget)
    since: float = 0.0
    # alive, heartbeat: time of the latest heartbeat, and Ray reference to the worker's reply to it.
    alive: float = 0.0
    heartbeat: Any = None
    is_seen: bool = False  # whether this machine can see the lock of the worker's ledger, and so when the worker exits

    def send_heartbeat(self, time: float) -> None:
        """Send a heartbeat with the worker's reply to the previous heartbeat (see :meth:`Worker.renew`)."""
        self.alive, self.heartbeat = monotonic(), self.actor.renew.remote(time)


@dataclass(eq=False)
class Spread:
    """Sends all requests of a run to one model by ``count`` workers of a Ray cluster.

    ``recorder`` records in the run's ledger, with the run's budget. The folder of ``beside`` gets a subfolder per
    worker; the worker's ledger in it has the file name of ``beside``.
    """

    cluster: Cluster
    job: Job
    count: int
    recorder: LedgerRecorder
    beside: Path
    _busy: dict[Any, WorkerHandle] = field(default_factory=dict, init=False)
    _idle: list[WorkerHandle] = field(default_factory=list, init=False)
    _lost: list[WorkerHandle] = field(default_factory=list, init=False)
    _again: deque[Request] = field(default_factory=deque, init=False)
    _paths: list[Path] = field(default_factory=list, init=False)
    _deaths: int = field(default=0, init=False)
    _stalled: bool = field(default=False, init=False)
    _error: ShoeError | None = field(default=None, init=False)

    def run(self, requests: Iterator[Request]) -> None:
        """Send all requests, and record answers and failures in the run's ledger.

        If the run ends early, requests in flight are awaited and their answers recorded. Raise ShoeError if the
        endpoint rejects the requests, or if too many workers die in a row; otherwise, delete the workers' ledgers.
        """
        self._ray, self._size, is_stopped = self.cluster.connection.ray, _FIRST * self.job.in_flight, False
        for _ in range(self.count):
            self._start()
        try:
            while True:
                self.cluster.connection.check()
                self._send_batches(requests)
                if not self._has_batches:
                    if self._is_over or not (self._busy or self._lost):
                        break
                    self._again.extend(() if self._again else islice(requests, 1))
                    if not self._again:
                        break
                elif self._is_over and not is_stopped:
                    is_stopped = True
                    for handle in self._busy.values():
                        handle.actor.stop.remote()
                if not self._busy:
                    sleep(_POLL)
                for reference in self._ready(list(self._busy), _POLL):
                    self._receive(self._busy.pop(reference), reference)
                self._send_heartbeats()
                self._replace_lost()
        finally:
            for handle in [*self._busy.values(), *self._idle]:
                self._ray.kill(handle.actor)
        if self._error is not None:
            raise self._error
        self.recorder.writer.flush()
        for path in self._paths:  # the run's ledger has all their answers
            with suppress(OSError):
                path.unlink()
                path.parent.rmdir()

    @property
    def _is_over(self) -> bool:
        return self.recorder.stopping or self._error is not None

    @property
    def _has_batches(self) -> bool:
        return any(handle.requests for handle in [*self._busy.values(), *self._lost])

    def _start(self) -> None:
        beside = self.beside.absolute()
        path = beside.parent / f"{WORKER}{uuid.uuid4().hex[:12]}" / beside.name
        self._paths.append(path)
        # Concurrency 2: heartbeats and cancellations reach a worker while it sends requests.
        actor = self.cluster.start(Worker, self.job, path, is_local=self.job.is_local, concurrency=2)
        self._busy[actor.ready.remote()] = WorkerHandle(actor, path)

    def _ready(self, references: list[Any], seconds: float) -> list[Any]:
        if not references:
            return []
        ready: list[Any] = self._ray.wait(references, num_returns=len(references), timeout=seconds)[0]
        return ready

    def _send_heartbeats(self) -> None:
        for handle in [*self._busy.values(), *self._idle]:
            sent = handle.heartbeat
            if sent is not None and monotonic() > handle.alive + _HEARTBEAT and self._ready([sent], 0):
                with suppress(self._ray.exceptions.RayError):  # the result of the worker's batch reports this, too
                    handle.send_heartbeat(self._ray.get(sent))

    def _send_batches(self, requests: Iterator[Request]) -> None:
        while self._idle and not self._is_over and not self._stalled:
            batch = [self._again.popleft() for _ in range(min(len(self._again), self._size))]
            batch += islice(requests, self._size - len(batch))
            if not batch:
                return
            terms = self.job.terms
            most = 0.0 if terms.price.is_free else _TRIES * sum(map(terms.max_cost, batch))
            lease = self.recorder.budget.lease(_TRIES * len(batch), most)
            if lease is None:
                self._again.extendleft(reversed(batch))
                return
            handle = self._idle.pop()
            handle.requests, handle.lease, handle.since = batch, lease, monotonic()
            ask = handle.actor.ask.options(name=f"{self.job.name}: {len(batch)} requests")
            self._busy[ask.remote(batch, lease.max_cost, lease.max_requests)] = handle

    def _receive(self, handle: WorkerHandle, reference: Any) -> None:
        """Process the result of a worker; if the worker died, add it to the lost workers."""
        exceptions, job = self._ray.exceptions, self.job
        try:
            result = self._ray.get(reference)
        except exceptions.RayTaskError as error:
            cause = error.cause
            self._error = cause if isinstance(cause, ShoeError) else ShoeError(f"{job.name}: {cause!r}")
            result = result_of_dead_worker(job, handle.path, handle.offset, handle.requests, handle.lease)
            self._ray.kill(handle.actor)
        except exceptions.RayError:
            with suppress(Exception):
                self._ray.kill(handle.actor)  # a worker that is only unreachable must not go on
            self._lost.append(handle)
            return
        self._deaths = 0
        if isinstance(result, float):  # the result of Worker.ready
            handle.is_seen = is_locked(handle.path)
            handle.send_heartbeat(result)
        else:
            handle.offset = result.end
            self._record(handle, result)
            seconds = max(monotonic() - handle.since, 0.1)
            self._size = max(job.in_flight, min(_MOST, int(len(handle.requests) * _SECONDS / seconds)))
            handle.requests = ()
        self._idle.append(handle)

    def _replace_lost(self) -> None:
        """For each lost worker that has certainly exited, record its result and start a new worker."""
        for handle in list(self._lost):
            has_exited = handle.is_seen and not is_locked(handle.path)
            if handle.requests and not has_exited and monotonic() < handle.alive + SILENCE:
                continue
            self._lost.remove(handle)
            result = result_of_dead_worker(self.job, handle.path, handle.offset, handle.requests, handle.lease)
            self._deaths = 0 if result.answers else self._deaths + 1
            if self._deaths >= DEATHS * max(self.count, DEATHS):
                deaths = f"{self._deaths} workers died one after the other (is there enough memory?)"
                self._error = ShoeError(f"{self.job.name}: {deaths}")
            self._record(handle, result)
            if not self._is_over:
                self._start()

    def _record(self, handle: WorkerHandle, result: BatchResult) -> None:
        if not handle.requests:
            return
        pending = {request.key: request for request in handle.requests}
        for key, kind, detail, usage in result.failures:
            self.recorder.failure(pending[key], kind, detail, usage)
        for key, raw in result.answers:
            self.recorder.answer(pending.pop(key), raw)
        budget = self.recorder.budget
        handle.lease.requests, handle.lease.spent = result.requests, result.spent
        budget.take_back(handle.lease)
        self.recorder.tally.requests += result.requests
        failed = {key for key, *_ in result.failures} if result.is_complete else set()
        self._again.extend(request for key, request in pending.items() if key not in failed)
        is_empty = result.reason in ("cost", "requests") and not result.requests  # its part of the budget was too small
        self._stalled = is_empty and self._has_batches
        if is_empty and not self._stalled and result.reason:
            budget.stop(result.reason)
        self._error = self._error or result.error
