"""Asking by several processes on several machines: actors of Ray, each with one client or one model, and one budget.

The run's own process hands out requests, about half a minute's work at a time, with a part of the budget, and keeps
what comes back in the run's ledger. A worker or machine that dies costs what it had in flight: what it had kept is read
from its ledger, the rest is handed out again, by this process alone (Ray itself repeats nothing), and not before it is
certain that the worker asks no more.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from time import monotonic, sleep
from typing import Any

from shoe.core.errors import OptionError, ShoeError
from shoe.engines.base import DEATHS
from shoe.engines.watch import check_cluster
from shoe.llm.budget import Budget, most_usage
from shoe.llm.fence import SILENCE, is_written
from shoe.llm.ledger_merge import WORKER
from shoe.llm.recorder import LedgerRecorder
from shoe.llm.request import Request
from shoe.llm.worker import Job, Told, Worker, left_behind

_SECONDS = 30.0
"""Of work that is handed out at once, more or less."""
_FIRST, _MOST = 4, 10_000
"""Requests that are handed out at first, for each that may be in flight; and most of them."""
_LOOK = 0.25
_WORD = 2.0
"""Seconds between two words to a worker, by which it knows that the run counts on it."""
_TRIES = 2
"""Attempts at each request for which a part of the budget has room."""


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where workers run.

    Attributes:
        ray: the module, connected.
        gpus: that each of them has to itself, or a part of one.
        models: that share the cluster at the same time.
    """

    ray: Any
    gpus: float = 0.0
    models: int = 1

    def workers(self, most: int, *, is_local: bool = False) -> int:
        """How many there can be of one model, or of one endpoint's clients.

        Raises:
            OptionError: if there is no machine for one.
        """
        check_cluster()  # else this waits for a minute
        known = self.ray.cluster_resources()
        gpus = known.get("GPU", 0.0)
        if self.gpus > gpus:
            expected = "as many for each worker"
            raise OptionError(f"--gpus {self.gpus:g}: found a cluster with {gpus:g} GPUs, expected {expected}")
        found = gpus / self.gpus if is_local and self.gpus else known.get("CPU", 0.0)
        return max(1, min(most, int(found / self.models)))

    def start(self, job: Job, path: Path) -> Any:
        """Have a worker start somewhere."""
        gpus = self.gpus if job.is_local else 0.0
        options = {"num_cpus": 0.0 if gpus else 1.0, "num_gpus": gpus, "scheduling_strategy": "SPREAD"}
        kind = self.ray.remote(max_restarts=0, max_task_retries=0, max_concurrency=2, **options)(Worker)
        return kind.remote(job, path)


@dataclass(eq=False, slots=True)
class _Hand:
    """A worker, as this process knows it.

    Attributes:
        actor: of Ray.
        path: of its ledger.
        offset: where that ended when it last told.
        requests: that it makes.
        lease: that they have.
        since: when it was given them.
        heard: when the latest word of it came that was given back to it, see :class:`~shoe.llm.fence.Fence`.
        word: its next one, awaited.
        is_seen: whether the lock of its ledger can be seen from here.
    """

    actor: Any
    path: Path
    offset: int = 0
    requests: Sequence[Request] = ()
    lease: Budget = field(default_factory=Budget)
    since: float = 0.0
    heard: float = 0.0
    word: Any = None
    is_seen: bool = False


class Spread:
    """One pass over some requests to one model by many workers."""

    def __init__(
        self,
        cluster: Cluster,
        job: Job,
        workers: int,
        budget: Budget,
        recorder: LedgerRecorder,
        beside: Path | None = None,
    ) -> None:
        """Take who works, on what, and where it is kept.

        Args:
            cluster: where workers run.
            job: what they do.
            workers: how many.
            budget: of the run.
            recorder: writes the run's ledger.
            beside: the path beside which workers have theirs, in folders of their own; the run's ledger if absent.
        """
        self._cluster, self._ray, self._job, self._count = cluster, cluster.ray, job, workers
        self._budget, self._recorder = budget, recorder
        self._place = (beside or recorder.ledger.path).absolute()
        self._doing: dict[Any, _Hand] = {}
        self._idle: list[_Hand] = []
        self._lost: list[_Hand] = []
        self._again: deque[Request] = deque()
        self._paths: list[Path] = []
        self._size = _FIRST * job.in_flight
        self._deaths, self._stalled, self._stopped = 0, False, False
        self._error: ShoeError | None = None

    def run(self, requests: Iterator[Request]) -> None:
        """Make all requests; what is in flight when the run is to end is awaited and kept.

        Raises:
            ShoeError: when no further request makes sense, or every worker dies.
        """
        for _ in range(self._count):
            self._start()
        try:
            while True:
                check_cluster()
                self._hand_out(requests)
                others = [*self._doing.values(), *self._lost]
                if not any(hand.requests for hand in others):
                    waits = others and not self._is_over and (self._again or self._peek(requests))
                    if not waits:
                        break
                elif self._is_over and not self._stopped:
                    self._stop()
                for one in self._ready(list(self._doing), _LOOK):
                    self._hear(self._doing.pop(one), one)
                self._count_on()
                self._replace()
        finally:
            for hand in [*self._doing.values(), *self._idle]:
                self._ray.kill(hand.actor)
        if self._error is not None:
            raise self._error
        self._recorder.writer.flush()
        for path in self._paths:  # the run's ledger has all of it
            with suppress(OSError):
                path.unlink()
                path.parent.rmdir()

    @property
    def _is_over(self) -> bool:
        return self._recorder.stopping or self._error is not None

    def _start(self) -> None:
        path = self._place.parent / f"{WORKER}{uuid.uuid4().hex[:12]}" / self._place.name
        self._paths.append(path)
        hand = _Hand(self._cluster.start(self._job, path), path)
        self._doing[hand.actor.ready.remote()] = hand

    def _ready(self, results: list[Any], seconds: float) -> list[Any]:
        if not results:
            sleep(seconds)
            return []
        found: list[Any] = self._ray.wait(results, num_returns=len(results), timeout=seconds)[0]
        return found

    def _count_on(self) -> None:
        """Tell workers that they may go on."""
        for hand in [*self._doing.values(), *self._idle]:
            if hand.word is not None and monotonic() > hand.heard + _WORD and self._ready([hand.word], 0):
                with suppress(self._ray.exceptions.RayError):  # what it was asked says so, too
                    self._say(hand, self._ray.get(hand.word))

    def _say(self, hand: _Hand, word: float) -> None:
        hand.heard, hand.word = monotonic(), hand.actor.heard.remote(word)

    def _replace(self) -> None:
        """Have others go on for each lost worker that has certainly ended."""
        for hand in list(self._lost):
            has_ended = hand.is_seen and not is_written(hand.path)
            if hand.requests and not has_ended and monotonic() < hand.heard + SILENCE:
                continue
            self._lost.remove(hand)
            told = left_behind(self._job, hand.path, hand.offset, hand.requests, hand.lease)
            self._deaths = 0 if told.answers else self._deaths + 1
            if self._deaths >= DEATHS * max(self._count, DEATHS):
                self._error = ShoeError(
                    f"{self._job.name}: {self._deaths} workers died one after the other: is there memory?"
                )
            self._settle(hand, told)
            if not self._is_over:
                self._start()

    def _stop(self) -> None:
        self._stopped = True
        for hand in self._doing.values():
            hand.actor.stop.remote()

    def _peek(self, requests: Iterator[Request]) -> bool:
        self._again.extend(islice(requests, 1))
        return bool(self._again)

    def _hand_out(self, requests: Iterator[Request]) -> None:
        """Give each worker that has nothing to do some requests, and a part of the budget for them."""
        while self._idle and not self._is_over and not self._stalled:
            some = [self._again.popleft() for _ in range(min(len(self._again), self._size))]
            some += islice(requests, self._size - len(some))
            if not some:
                return
            lease = self._budget.lease(_TRIES * len(some), sum(map(self._most, some)))
            if lease is None:
                self._again.extendleft(reversed(some))
                return
            hand = self._idle.pop()
            hand.requests, hand.lease, hand.since = some, lease, monotonic()
            ask = hand.actor.ask.options(name=f"{self._job.name}: {len(some)} requests")
            self._doing[ask.remote(some, lease.max_cost, lease.max_requests)] = hand

    def _most(self, request: Request) -> float:
        if self._job.price.is_free:
            return 0.0
        most = most_usage(self._job.sampling, request.size(), len(request.keys))
        return _TRIES * most.cost(self._job.price)

    def _hear(self, hand: _Hand, result: Any) -> None:
        """Keep what a worker tells, or left behind."""
        exceptions = self._ray.exceptions
        try:
            told = self._ray.get(result)
        except exceptions.RayTaskError as error:
            self._error = (
                error.cause if isinstance(error.cause, ShoeError) else ShoeError(f"{self._job.name}: {error.cause!r}")
            )
            told = left_behind(self._job, hand.path, hand.offset, hand.requests, hand.lease)
            self._ray.kill(hand.actor)
        except exceptions.RayError:
            with suppress(Exception):
                self._ray.kill(hand.actor)  # what only cannot be reached must not go on
            self._lost.append(hand)
            return
        self._deaths = 0
        if isinstance(told, float):  # it is ready
            hand.is_seen = is_written(hand.path)
            self._say(hand, told)
        else:
            hand.offset = told.end
            self._settle(hand, told)
            took = monotonic() - hand.since
            self._size = max(self._job.in_flight, min(_MOST, int(len(hand.requests) * _SECONDS / max(took, 0.1))))
            hand.requests = ()
        self._idle.append(hand)

    def _settle(self, hand: _Hand, told: Told) -> None:
        """Book what came of a worker's requests, and have the rest of them made again."""
        if not hand.requests:
            return
        asked = {request.key: request for request in hand.requests}
        for key, kind, detail, usage in told.failures:
            self._recorder.failure(asked[key], kind, detail, usage)
        for key, raw in told.answers:
            self._recorder.answer(asked.pop(key), raw)
        hand.lease.requests, hand.lease.spent = told.requests, told.spent
        self._budget.take_back(hand.lease)
        tried = {key for key, *_ in told.failures} if told.is_whole else set()
        self._recorder.tally.requests += told.requests
        self._again.extend(request for key, request in asked.items() if key not in tried)
        others = any(other.requests for other in [*self._doing.values(), *self._lost])
        self._stalled = told.reason in ("cost", "requests") and not told.requests and others
        if told.reason in ("cost", "requests") and not told.requests and not others:
            self._budget.stop(told.reason)
        self._error = self._error or told.error
