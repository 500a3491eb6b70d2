"""What rating pairs costs by one process and by workers of Ray, with an endpoint that answers at once, also here."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from bench_cost import CORES, WORKERS, Cost, cluster_of, pays_from

from shoe.engines.cluster import Cluster
from shoe.llm.budget import Budget
from shoe.llm.ledger import Ledger
from shoe.llm.ledger_writer import writing
from shoe.llm.limits import Limits
from shoe.llm.recorder import LedgerRecorder, Tally
from shoe.llm.spread import Spread
from shoe.llm.worker import Job
from shoe.rating.session import _client, _parsed
from tests.rating.asking import PROMPTS, in_groups, questions, rater

IN_FLIGHT = 32
RATES = (100, 1_000, 10_000)
"""Requests per second that endpoints bear."""
MANY = 10_000_000
_runs = count()


class Took(NamedTuple):
    """What a run took: seconds, of them of this process's core, and bytes of the ledger."""

    seconds: float
    cpu: float
    bytes: int


@contextmanager
def endpoint() -> Iterator[str]:
    """The server of bench-client, in a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("bench-client")), "--serve"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


def measure(url: str, pairs: int, ray: Any = None, workers: int = 1) -> Took:
    """Rate so many pairs, one for each request."""
    limits = Limits(concurrency=IN_FLIGHT // workers)
    config, backend = rater(url, limits=limits, sampling={"temperature": 0, "max_tokens": 20})
    asked = in_groups(questions(pairs, next(_runs)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder).absolute() / "ledger" / "m.jsonl"
        ledger = Ledger(path, {"model": "m"}, partial(_parsed, backend))
        begun, busy = time.perf_counter(), time.process_time()
        with writing(path, ledger.identity, lambda: False, lambda _: None) as writer:
            assert writer is not None
            recorder = LedgerRecorder(ledger, writer, Budget(), Tally("m"), sampling=config.sampling)
            if ray is None:
                backend.rate(asked, recorder)
            else:
                make = partial(_client, config, PROMPTS)
                job = Job.from_recorder(recorder, "m", make, limits.concurrency, is_local=False)
                Spread(Cluster(ray), job, workers, recorder, path).run(asked)
            writer.flush()
        took = Took(time.perf_counter() - begun, time.process_time() - busy, path.stat().st_size)
        if recorder.tally.done != pairs:
            raise RuntimeError(recorder.tally)
    return took


def bench(most: int) -> None:
    """Print constants, how they predict, and from where on workers pay."""
    few, between = most // 4, most // 2
    print(f"{'pairs by':<10} {'start s':>8} {'pair ms':>8} {'driver ms':>9} {'pairs':>6} {'measured':>9} ", end="")
    print(f"{'predicted':>9} {'of serial':>9} {'overhead s':>10}")
    with endpoint() as url:
        measure(url, 100)  # what is loaded once
        took = [measure(url, n) for n in (few, most, between)]
        alone = took[-1].seconds
        _, cpu, size = _row("serial", 0.0, took, most, alone)
        rows = {}
        for workers in WORKERS:
            begun = time.perf_counter()
            with cluster_of(workers) as ray:
                started = time.perf_counter() - begun
                took = [measure(url, n, ray, workers) for n in (few, most, between)]
            rows[workers] = _row(f"ray {workers}", started, took, most, alone)
    start, driver = rows[CORES][0].start, max(driver for _, driver, _ in rows.values())
    print(f"\nan answer has {size:.0f} bytes in the ledger. One process asks at most {1 / cpu:,.0f} times a second,")
    print(f"a command keeps at most {1 / driver:,.0f} answers a second of workers.")
    print(f"{MANY:,} pairs are {MANY * size / 1e9:.1f} GB, and take, of an endpoint that bears so many requests:\n")
    print(f"{'requests/s':>10} {'workers':>8} {'pays from':>10} {'hours':>9} {'of serial':>9}")
    for rate in RATES:
        one = max(1 / rate, cpu)
        print(f"{rate:10,} {'serial':>8} {'':>10} {MANY * one / 3600:9.1f} {1.0:9.2f}")
        for workers in (2, 4, 16, 64):
            each = max(1 / rate, cpu / workers, driver)
            seconds = start + MANY * each
            least = pays_from(start, one - each)
            print(f"{'':>10} {workers:8} {least:10,} {seconds / 3600:9.1f} {seconds / MANY / one:9.2f}")


def _row(name: str, started: float, took: list[Took], most: int, alone: float) -> tuple[Cost, float, float]:
    """Print what an engine took for a quarter, all and half of the pairs; its cost, driver's seconds, and bytes."""
    few, whole, half = took
    cost = Cost.fit(started, 1, (most // 4, few.seconds), (most, whole.seconds))
    cpu, measured = (whole.cpu - few.cpu) / (most - most // 4), started + half.seconds
    predicted = cost.of(most // 2, 1)
    print(
        f"{name:<10} {cost.start:8.2f} {1e3 * cost.piece:8.2f} {1e3 * cpu:9.2f} {most // 2:6} {measured:9.2f} "
        f"{predicted:9.2f} {measured / alone:9.2f} {measured - alone:10.2f}",
        flush=True,
    )
    return cost, cpu, whole.bytes / most
