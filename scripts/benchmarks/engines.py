"""Stages about what engines cost on this machine, and from how many files, pairs and workers on each of them pays.

Files are copies of the demo's predictions; pairs are rated by an endpoint on this machine that answers at once. Two
numbers of them give an engine's constants (seconds to start, and for each piece and worker), a third one checks them:
measured against predicted. From the constants follows the least number that an engine needs to be faster than one
process, and what 1,000 files and 10,000,000 pairs take with more workers or machines, whose cores are taken to be like
this one's. Seconds are wall-clock: leave the machine alone meanwhile.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from math import ceil, inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple
from unittest import mock

from benchmarks.endpoint import endpoint
from benchmarks.shared import Row, print_cells
from shoe.demo import PREDICTIONS, TRUTH
from shoe.engines import engine_of
from shoe.engines.base import Engine
from shoe.engines.ray_cluster import Cluster, connect
from shoe.llm.budget import Budget
from shoe.llm.ledger import Ledger
from shoe.llm.ledger_writer import writing
from shoe.llm.limits import Limits
from shoe.llm.recorder import LedgerRecorder, Tally, Terms
from shoe.llm.workers import Job, Spread
from shoe.maps.session import _client, _parsed
from shoe.report.many_files import score_many
from shoe.scoring.file_options import ScoringOptions

CORES = len(os.sched_getaffinity(0))
WORKERS = (1, 2, 3, 4)
COLUMNS = ("start s", "each s", "number", "measured s", "predicted s", "of serial", "overhead s")
IN_FLIGHT = 32
RATES = (100, 1_000, 10_000)
"""Requests per second that endpoints bear."""
MANY = 10_000_000
ASKED = ScoringOptions(
    ground_truth=TRUTH,
    dataset="hico-det",
    protocols=(),
    similarity="dataset",
    options=(),
    boxes=None,
    scores=None,
    format=None,
    classes=None,
    subset=None,
    images_in_predictions=False,
    split=None,
    image_labels=None,
)
_runs = count()


class Cost(NamedTuple):
    """Seconds of an engine: to start, and for each piece of work of each worker."""

    start: float
    piece: float

    @classmethod
    def fit(cls, started: float, workers: int, few: tuple[int, float], most: tuple[int, float]) -> Cost:
        """Fit two numbers of pieces and their seconds, and what had to be started before."""
        piece = (most[1] - few[1]) / (most[0] - few[0]) * workers
        return cls(started + few[1] - piece * few[0] / workers, piece)

    def of(self, pieces: int, workers: int) -> float:
        """Predict the seconds of so many pieces."""
        return self.start + self.piece * ceil(pieces / workers)

    def print(self, name: str, pieces: int, workers: int, measured: float, alone: float, ideal: float) -> None:
        """Print the constants, and what they predict beside what was measured."""
        predicted = self.of(pieces, workers)
        print_cells(name, *self, str(pieces), measured, predicted, measured / alone, measured - ideal)


def pays_from(start: float, gain: float) -> float:
    """Return the least number of pieces for which what each gains makes up for the start."""
    return max(ceil(start / gain), 1) if gain > 0 else inf


@contextmanager
def cluster_of(workers: int) -> Iterator[Any]:
    """Yield a cluster of this machine's, as if it had so many cores."""
    with mock.patch("os.sched_getaffinity", return_value=set(range(workers))), connect() as ray:
        yield ray


def score_files(engine: Engine, files: int) -> float:
    """Return the seconds of scoring so many files, which differ in a line."""
    lines = PREDICTIONS["free text"].read_text().splitlines(keepends=True)
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.jsonl" for number in range(files)]
        for number, path in enumerate(paths):
            path.write_text("".join(lines[: len(lines) - number % 50]))
        begun = time.perf_counter()
        found = score_many(paths, ASKED, Path(folder) / "results", engine)
        took = time.perf_counter() - begun
        if found.scored != files:
            raise RuntimeError(found.failed)
        return took


@contextmanager
def started(name: str, workers: int) -> Iterator[Engine]:
    """Yield an engine; Ray has a cluster of so many workers, which have loaded what scoring takes once."""
    if name != "ray":
        yield engine_of(name)
        return
    with cluster_of(workers):
        score_files(engine_of(name), workers)
        yield engine_of(name)


def files(_: str, *, most: int = 32) -> list[Row]:
    """Print each engine's constants for scoring files, how they predict, and from where on it pays."""
    costs, alone, between = dict[tuple[str, int], Cost](), 0.0, most // 2
    print_cells("files by", *COLUMNS)
    for name, workers in [("serial", 1), *((f"processes:{n}", n) for n in WORKERS), *(("ray", n) for n in WORKERS)]:
        begun = time.perf_counter()
        with started(name, workers) as engine:
            start = time.perf_counter() - begun
            at_few, at_most, measured = (score_files(engine, number) for number in (2 * workers, most, between))
        measured += start
        alone = alone or measured
        cost = costs[name, workers] = Cost.fit(start, workers, (2 * workers, at_few), (most, at_most))
        cost.print(f"{name} {workers}", between, workers, measured, alone, alone / min(workers, CORES))
    print_cells("\nfiles by", "workers", "pays from", "1,000 files s", "of serial")
    serial, here = costs["serial", 1], min(CORES, max(WORKERS))
    for name in ("serial", f"processes:{here}", "ray"):
        cost = costs[name, 1 if name == "serial" else here]
        for many in (2, 4, 16, 64) if name == "ray" else (1 if name == "serial" else here,):
            least = pays_from(cost.start - serial.start, serial.piece - cost.piece / many)
            took = cost.of(1000, many)
            print_cells(name, str(many), str(least), took, took / serial.of(1000, 1))
    return []


class Took(NamedTuple):
    """What a run took: seconds, of them of this process's core, and bytes of the ledger."""

    seconds: float
    cpu: float
    bytes: int


def rate_pairs(url: str, pairs: int, ray: Any = None, workers: int = 1) -> Took:
    """Rate so many pairs, one for each request."""
    from tests.maps.asking import PROMPTS, in_groups, questions, rater

    limits = Limits(concurrency=IN_FLIGHT // workers)
    config, backend = rater(url, limits=limits, sampling={"temperature": 0, "max_tokens": 20})
    asked = in_groups(questions(pairs, next(_runs)))
    with TemporaryDirectory() as folder:
        path = Path(folder).absolute() / "ledger" / "m.jsonl"
        ledger = Ledger(path, {"model": "m"}, partial(_parsed, backend))
        begun, busy = time.perf_counter(), time.process_time()
        with writing(path, ledger.identity, lambda: False, lambda _: None) as writer:
            assert writer is not None
            recorder = LedgerRecorder(ledger, writer, Budget(), Tally("m"), Terms(sampling=config.sampling))
            if ray is None:
                backend.rate(asked, recorder)
            else:
                make = partial(_client, config, PROMPTS)
                job = Job(
                    "m",
                    make,
                    limits.concurrency,
                    ledger.identity,
                    recorder.terms,
                    recorder.remembered(),
                    is_local=False,
                )
                Spread(Cluster(ray), job, workers, recorder, path).run(asked)
            writer.flush()
        took = Took(time.perf_counter() - begun, time.process_time() - busy, path.stat().st_size)
        if recorder.tally.done != pairs:
            raise RuntimeError(recorder.tally)
    return took


def pairs(_: str, *, most: int = 3000) -> list[Row]:
    """Print constants of rating pairs by one process and by workers, and from where on workers pay."""
    few, between = most // 4, most // 2

    def measure(
        name: str, started: float, work: Callable[[int], Took], alone: float = 0
    ) -> tuple[Cost, float, Took, float]:
        """Print an engine's line; return its cost, the seconds of this process's core per pair, all pairs' run."""
        first, whole, half = (work(n) for n in (few, most, between))
        cost = Cost.fit(started, 1, (few, first.seconds), (most, whole.seconds))
        alone, measured = alone or half.seconds, started + half.seconds
        cost.print(name, between, 1, measured, alone, alone)
        return cost, (whole.cpu - first.cpu) / (most - few), whole, alone

    print_cells("pairs by", *COLUMNS)
    with endpoint() as server:
        url = f"{server}/v1"
        rate_pairs(url, 100)  # what is loaded once
        cpu, whole, alone = measure("serial", 0.0, partial(rate_pairs, url))[1:]
        rows = {}
        for workers in WORKERS:
            begun = time.perf_counter()
            with cluster_of(workers) as ray:
                start = time.perf_counter() - begun
                rows[workers] = measure(
                    f"ray {workers}", start, partial(rate_pairs, url, ray=ray, workers=workers), alone
                )
    start, driver, size = rows[CORES][0].start, max(row[1] for row in rows.values()), whole.bytes / most
    print(f"\nan answer has {size:.0f} bytes in the ledger. One process asks at most {1 / cpu:,.0f} times a second,")
    print(f"a command keeps at most {1 / driver:,.0f} answers a second of workers.")
    print(f"{MANY:,} pairs are {MANY * size / 1e9:.1f} GB, and take, of an endpoint that bears so many requests:\n")
    print_cells("requests/s", "workers", "pays from", "hours", "of serial")
    for rate in RATES:
        one = max(1 / rate, cpu)
        print_cells(f"{rate:,}", "serial", "", MANY * one / 3600, 1.0)
        for workers in (2, 4, 16, 64):
            each = max(1 / rate, cpu / workers, driver)
            seconds = start + MANY * each
            print_cells("", str(workers), str(pays_from(start, one - each)), seconds / 3600, seconds / MANY / one)
    return []
