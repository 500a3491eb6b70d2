"""The stage about the metric service: start, pages, a full-set submission, many clients at once, memory.

The server is a process of its own, as are the clients that load it. What is compared with the command line is measured
in turn with it, so that the ratio says what the service adds; where the machine has other work, compare ratios, not
seconds. A reading client asks for a page or a JSON answer, waits a second on average, and asks again; a submitting one
sends a file that nobody sent before, waits for its result, and sends the next. The same clients read one static file
from a second server, which does nothing else: the ratio of the two says what the service adds under the same load.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx2

import shoe
from benchmarks.shared import SHOE, Row, fresh, ratio, seconds_row, timed
from shoe.demo import PREDICTIONS, TRUTH

PAUSE = 1.0
SLOWER = 4.0
"""How many times as long as the static file the slowest of 100 reads may take."""
STATIC = """
import socket, sys, uvicorn
content = open(sys.argv[1], "rb").read()
length = str(len(content)).encode()

async def app(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": content})

listening = socket.create_server(("127.0.0.1", 0), backlog=512)
print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
how = {"log_level": "warning", "access_log": False, "timeout_keep_alive": 15}
config = uvicorn.Config(app, http="h11", ws="none", lifespan="off", **how)
uvicorn.Server(config).run(sockets=[listening])
"""
"""A server that answers every request with one file."""
PLACES = (
    "/",
    "/runs",
    "/runs/{id}",
    "/boards/demo",
    "/v1/runs",
    "/v1/runs/{id}",
    "/v1/runs/{id}/result",
    "/v1/boards/demo",
)


def service(
    folder: str, *, repeats: int = 3, readers: int = 200, submitters: int = 20, seconds: float = 30, runs: int = 1000
) -> list[Row]:
    """Measure the service with the demo's board, then submissions of the full set beside `shoe score`."""
    with TemporaryDirectory(prefix="shoe-bench-") as temporary:
        place = Path(temporary)
        lab, truth = place / "lab", Path(folder) / "truth.json"
        found = [Row("load of the machine before", os.getloadavg()[0], ""), *started(lab)]
        with served(lab, demo=True) as (server, process), static_file() as static:
            found += pages(server)
            used = processor(process)
            loaded = load(server, static, readers, submitters, seconds, str(place))
            who = f"{readers} readers, {submitters} submitters: "
            for name, (values, unit) in loaded.items():
                found.append(seconds_row(who + name, values, unit))
            reads, files = (loaded[f"{of}, 99 of 100"][0] for of in ("a read", "a static file"))
            found.append(ratio(f"{who}a read / a static file, 99 of 100", reads, files, SLOWER))
            each = 1000 * (processor(process) - used) / loaded["reads"][0][0]
            found.append(Row("  processor of the server, a read", each, "ms"))
            forget(server)
            found += memory(server, process, runs, place)
        call("serve", "add-truth", lab, "full", truth)
        with served(lab) as (server, process):
            found += full_set(server, process, truth, Path(folder) / "detector.json", repeats, place)
    return [*found, Row("load of the machine after", os.getloadavg()[0], "")]


def call(*words: object) -> None:
    """Run a command of shoe."""
    subprocess.run([*SHOE, *map(str, words)], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def served(folder: Path, *, demo: bool = False) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """A server of a folder: its address, once it answers, and its process."""
    words = ["serve", *(["demo"] if demo else []), str(folder), "--port", "0"]
    process = subprocess.Popen([*SHOE, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        server = process.stdout.readline().split()[-1]
        while True:
            try:
                if httpx2.get(f"{server}/v1/health", trust_env=False).status_code == 200:
                    break
            except httpx2.TransportError:
                time.sleep(0.005)
        yield server, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)


@contextmanager
def static_file() -> Iterator[str]:
    """A server of the style sheet, as a process of its own: its address."""
    sheet = Path(shoe.__file__).parent / "report" / "page" / "static" / "page.css"
    process = subprocess.Popen([sys.executable, "-c", STATIC, str(sheet)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait(60)


def started(folder: Path) -> list[Row]:
    """Measure from the command to the first answer, beside a bare interpreter."""
    call("serve", "add-truth", folder, "demo", TRUTH, "--shown")
    took, used, bare = list[float](), list[float](), list[float]()
    for _ in range(5):
        begun = time.perf_counter()
        with served(folder) as (_server, process):
            took.append(time.perf_counter() - begun)
            used.append(processor(process))
        bare += timed(lambda: subprocess.run([sys.executable, "-c", ""], check=True), 1)
    return [
        seconds_row("start of the service, to its first answer", took),
        seconds_row("  its processor time", used),
        seconds_row("  a bare interpreter", bare),
    ]


def processor(process: subprocess.Popen[str], *, children: bool = False) -> float:
    """Return the seconds of processor time that a process has used, and its children that have ended."""
    ticks = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11 : 15 if children else 13]
    return sum(map(int, ticks)) / os.sysconf("SC_CLK_TCK")


def pages(server: str) -> list[Row]:
    """Measure each place for one client, over an open connection."""
    with shoe.Client(server) as client:
        run = client.runs(state="done")[0]
    found = []
    with httpx2.Client(base_url=server, trust_env=False) as http:
        for place in (*PLACES, "/v1/runs/{id}/files/report.html"):
            address = place.format(id=run.id)
            status = http.get(address).status_code
            if status == 200:
                took = timed(lambda address=address: http.get(address), 50)  # type: ignore[misc]
                found.append(seconds_row(f"GET {place}", [1000 * value for value in took], "ms"))
    return found


def load(
    server: str, static: str, readers: int, submitters: int, seconds: float, place: str
) -> dict[str, tuple[list[float], str]]:
    """Load a server and a static one with many clients at once: values and their unit per figure."""
    with ThreadPoolExecutor() as both:  # two processes: preparing files must not delay the clocks of the readers
        sent = both.submit(fresh, "service", "send", server, submitters, seconds, place)
        found = fresh("service", "read", server, static, readers, seconds)
        done, errors = sent.result()
    found["errors"] = [found["errors"][0][0] + errors], ""
    return {**found, "results": ([done], "")}


def read(server: str, static: str, readers: int, seconds: float) -> dict[str, tuple[list[float], str]]:
    """Read pages of a server, and as often the file of a static one, with many clients at once."""
    took: dict[str, list[float]] = {server: [], static: []}
    errors: list[str] = []
    with shoe.Client(server) as client:
        run = client.runs(state="done")[0].id

    async def of_one(until: float) -> None:
        ends: dict[str, Any] = {}
        while time.monotonic() < until:
            for of in random.sample((server, static), 2):
                await asyncio.sleep(random.uniform(0, 2 * PAUSE))
                path, host = random.choice(PLACES).format(id=run), of.removeprefix("http://")
                begun = time.perf_counter()
                try:
                    if of not in ends:
                        ends[of] = await asyncio.open_connection(*host.split(":"))
                    ends[of][1].write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
                    head = (await ends[of][0].readuntil(b"\r\n\r\n")).decode().lower()
                    await ends[of][0].readexactly(int(head.partition("content-length: ")[2].split()[0]))
                    if " 200 " not in head:
                        errors.append(f"{path}: {head.splitlines()[0]}")
                except (OSError, EOFError) as error:
                    ends.pop(of, None)
                    errors.append(f"{path}: {error!r}")
                took[of].append(1000 * (time.perf_counter() - begun))

    async def of_all() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(of_one(until) for _ in range(readers)))

    asyncio.run(of_all())
    print(*errors[:5], sep="\n", file=sys.stderr)
    found: dict[str, tuple[list[float], str]] = {"reads": ([len(took[server])], "")}
    for name, values in (("a read", took[server]), ("a static file", took[static])):
        cut = statistics.quantiles(values, n=100)
        found |= {f"{name}, {part} of 100": ([cut[part - 1]], "ms") for part in (50, 99)}
        found[f"{name}, slowest"] = [max(values)], "ms"
    return found | {"errors": ([len(errors)], "")}


def send(server: str, submitters: int, seconds: float, place: str) -> tuple[int, int]:
    """Submit files with many clients at once; the numbers of results and of errors."""
    done: list[str] = []
    errors: list[str] = []

    async def submit(number: int, until: float) -> None:
        async with shoe.AsyncClient(server) as client:
            count = 0
            while time.monotonic() < until:
                path, count = Path(place) / f"sent-{number}.jsonl", count + 1
                path.write_bytes(PREDICTIONS["free text"].read_bytes() + b"\n" * (1000 * number + count))
                try:
                    run = await client.submit(path, "demo")
                    while run.state not in ("done", "failed") and time.monotonic() < until:
                        await asyncio.sleep(0.5)
                        run = await client.run(run)
                    if run.state == "failed":
                        errors.append(f"{run.id} failed: {run.reason}")
                    elif run.state == "done":
                        done.append(run.id)
                except shoe.ShoeError as error:
                    errors.append(str(error))

    async def all_() -> None:
        until = time.monotonic() + seconds
        await asyncio.gather(*(submit(number, until) for number in range(submitters)))

    asyncio.run(all_())
    print(*errors[:5], sep="\n", file=sys.stderr)
    return len(done), len(errors)


def forget(server: str) -> None:
    """Delete what was submitted, so that its pages and diagnoses need not be waited for."""
    with shoe.Client(server) as client:
        while runs := [run for run in client.runs(limit=200) if run.board is None]:
            for run in runs:
                client.delete(run)
    idle(server)


def idle(server: str) -> None:
    """Wait until nothing is queued or running."""
    while (state := httpx2.get(f"{server}/v1/health", trust_env=False, timeout=60).json())["queued"] + state["running"]:
        time.sleep(0.5)


def memory(server: str, process: subprocess.Popen[str], runs: int, place: Path) -> list[Row]:
    """Measure the server's memory as more runs come in: files that are read and refused, each by a job."""
    found = [Row("memory of the server", resident(process), "MB")]
    path = place / "broken.json"
    with shoe.Client(server) as client, httpx2.Client(base_url=server, trust_env=False, timeout=60) as http:
        for number in range(1, runs + 1):
            path.write_text(f'[{{"predictions": {number}}}]')
            run = client.submit(path, "demo")
            http.get("/runs")
            http.get(f"/runs/{run.id}")
            if number % 50 == 0:
                idle(server)
            if number * 4 % runs < 4:
                found.append(Row(f"  after {number:,} runs", resident(process), "MB"))
    return found


def resident(process: subprocess.Popen[str]) -> float:
    """Return a process's memory in MB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def full_set(
    server: str, process: subprocess.Popen[str], truth: Path, detector: Path, repeats: int, place: Path
) -> list[Row]:
    """Measure from the first byte to the result, beside `shoe score` of the same file, in turn."""
    names = "service", "command line", "service, processor", "command line, processor"
    took: dict[str, list[float]] = {name: [] for name in names}
    path = place / "detector.json"
    idle(server)  # what was asked before has had its pages made
    for number in range(repeats):
        path.write_bytes(detector.read_bytes() + b"\n" * (number + 1))  # nobody has sent it before
        begun, used = time.perf_counter(), sum(os.times()[2:4])
        call("score", path, "--ground-truth", truth, "--json", place / "here.json", "--save", place / "here.shoe")
        took["command line"].append(time.perf_counter() - begun)
        took["command line, processor"].append(sum(os.times()[2:4]) - used)
        with shoe.Client(server) as client:
            begun, used = time.perf_counter(), time.process_time() + processor(process, children=True)
            run = client.wait(client.submit(path, "full"))
            content = client.file(run, "result.json")
            took["service"].append(time.perf_counter() - begun)
            took["service, processor"].append(time.process_time() + processor(process, children=True) - used)
            assert content == (place / "here.json").read_bytes()
            client.delete(run)
        idle(server)
    found = []
    for kind in ("", ", processor"):
        found += [seconds_row(f"full set, {name}{kind}", took[f"{name}{kind}"]) for name in ("service", "command line")]
        found.append(ratio("  service / command line", took[f"service{kind}"], took[f"command line{kind}"]))
    return found
