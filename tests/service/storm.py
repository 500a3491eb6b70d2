"""A storm of kills over ``shoe serve``: whatever dies and whenever, each run that was accepted ends, once, and well.

As a program: ``scripts/storm-service KILLS SEED`` prints what was killed, and what went wrong: to be 0 of all.
"""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from shoe.cli.score import score
from shoe.core.errors import ServiceError
from shoe.demo import PREDICTIONS, TRUTH
from shoe.service import runs, submissions
from shoe.service.client import Client
from shoe.service.folder import Folder
from shoe.service.truths import add_truth
from tests.service.calling import one_value
from tests.service.processes import children_of, free_port, is_alive, serve_with_log

CLIENTS = 50
_OPTIONS: tuple[tuple[list[str], list[str]], ...] = (
    ([], []),
    (["qpic", "shoe"], []),
    (["hico-det", "shoe-robust"], ["weight=0.3"]),
    (["upt", "thid"], []),
)
_MOST_OPEN = 25  # units of work that are not done yet, beyond which clients ask for known ones alone
_AGAIN = 0.4  # share of submissions that others made before
_SERVERS = 0.5  # share of kills that are for the server
_BLIND = 0.25  # share of kills that do not wait for a job to be under way
_LONGEST_PAUSE, _PATIENCE = 1.5, 1800.0
_KILLED = re.compile("killed by signal|machine of the job was lost")
_OUTLIVED = "processes that outlived what started them"


@dataclass
class Storm:
    folder: Path
    port: int
    random: random.Random
    units: list[tuple[Path, list[str], list[str]]] = field(default_factory=list)  # files, protocols, options
    accepted: dict[str, set[int]] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    counts: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    server: subprocess.Popen[bytes] | None = None
    options: tuple[str, ...] = ()

    def start(self) -> None:
        self.server = serve_with_log(self.folder, self.port, "--jobs", "2", *self.options)

    def pause(self) -> None:
        """Wait for a random moment, mostly one at which a job is under way."""
        until = time.monotonic() + (0 if self.random.random() < _BLIND else 20)
        while not self.children() and time.monotonic() < until:
            time.sleep(0.05)
        time.sleep(self.random.random() * _LONGEST_PAUSE)

    def children(self) -> list[int]:
        return children_of(self.server.pid) if self.server is not None else []

    def kill(self) -> None:
        """Kill the server or one of its children, and start the server again where it is dead."""
        children = self.children()
        if children and self.random.random() > _SERVERS:
            with suppress(ProcessLookupError):
                os.kill(self.random.choice(children), signal.SIGKILL)
                self.counts["children killed"] += 1
            return
        self.kill_server(bool(children), children, 5)

    def kill_server(self, is_at_work: bool, started: Iterable[int], patience: float) -> None:
        """Kill the server, see that what it started ends within some seconds, and start another one."""
        assert self.server is not None
        self.server.kill()
        self.server.wait()
        self.counts["servers killed"] += 1
        self.counts["  of these with jobs under way"] += is_at_work
        self.see_end(started, patience)
        self.start()

    def see_end(self, started: Iterable[int], patience: float) -> None:
        left, until = set(started), time.monotonic() + patience
        while left and time.monotonic() < until:
            time.sleep(0.01)
            left = set(filter(is_alive, left))
        self.counts[_OUTLIVED] += len(left)

    def unit(self) -> int:
        with self.lock:
            is_open = len(self.units) - len(self.done) < _MOST_OPEN
            if self.units and (self.random.random() < _AGAIN or not is_open):
                self.counts["equal submissions"] += 1
                return self.random.randrange(len(self.units))
            source = self.random.choice(sorted(PREDICTIONS))
            path = self.folder.parent / f"{len(self.units)}{PREDICTIONS[source].suffix}"
            vary(PREDICTIONS[source], path, self.random.randrange(1 << 30))
            self.units.append((path, *self.random.choice(_OPTIONS)))
            return len(self.units) - 1

    def submit(self) -> None:
        """What one client does: submits, waits until that is done, and so on."""
        with Client(f"http://127.0.0.1:{self.port}") as client:
            while not self.over.is_set():
                chosen = self.unit()
                (path, protocols, options), run = self.units[chosen], None
                while run is None:
                    try:
                        run = client.submit(path, "demo", protocols=protocols, options=options)
                    except ServiceError as error:
                        self.counts["calls begun again"] += 1
                        self.counts[f"  {str(error)[:70]}"] += 1
                        time.sleep(0.5)
                with self.lock:
                    self.accepted.setdefault(run.id, set()).add(chosen)
                    self.counts["submissions accepted"] += 1
                self.wait(client, run.id)
                with self.lock:
                    self.done.add(chosen)
                time.sleep(1)

    def wait(self, client: Client, id_: str) -> None:
        """Wait for a run; what has failed as it was killed thrice is tried again."""
        while True:
            try:
                ended = client.wait(id_, timeout=_PATIENCE)
                if ended.state == "done":
                    return
                if ended.state != "failed" or not _KILLED.search(str(ended.reason)):
                    self.counts["ended otherwise"] += 1
                    say(f"{id_} {ended.state}: {ended.reason}")
                    return
                self.counts["killed three times and retried"] += 1
                client.retry(id_)
            except ServiceError:
                time.sleep(0.5)


def say(line: str) -> None:
    sys.stderr.write(line + "\n")


def vary(source: Path, target: Path, seed: int) -> None:
    draw, decoded = random.Random(seed), source.read_bytes()
    if source.suffix == ".jsonl":
        target.write_bytes(b"".join(line for line in decoded.splitlines(keepends=True) if draw.random() < 0.8))
    else:
        target.write_bytes(msgspec.json.encode([of for of in msgspec.json.decode(decoded) if draw.random() < 0.8]))


def wrong(storm: Storm) -> Counter[str]:
    """Compare everything that was accepted with what the command line makes of it."""
    bad = ("runs lost", "units with several runs", "done twice", "not as the command line has it")
    found: Counter[str] = Counter(dict.fromkeys(bad, 0))
    opened = Folder.open(storm.folder)
    by_unit: dict[int, set[str]] = {}
    for id_, numbers in storm.accepted.items():
        run = runs.run(opened, id_)
        for number in numbers:
            by_unit.setdefault(number, set()).add(id_)
        if run.state != "done":
            found["runs lost"] += 1
            say(f"{id_} {run.state}: {run.reason}")
            continue
        for number in numbers:
            (path, protocols, options), target = storm.units[number], storm.folder.parent / "result.json"
            with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
                score([path], TRUTH, protocol=protocols, option=options, json=str(target))
            result = opened.files.path(run.outputs["result.json"].sha256).read_bytes()
            found["not as the command line has it"] += result != target.read_bytes()
    found["units with several runs"] = sum(len(ids) > 1 for ids in by_unit.values())
    with opened.database.read() as db:
        states = Counter(row["state"] for row in db.execute("SELECT state FROM jobs"))
        finishes = db.execute("SELECT count(*) AS n FROM log WHERE line = 'finished' GROUP BY key").fetchall()
        attempts = db.execute("SELECT sum(attempt) FROM jobs").fetchone()[0]
    found["done twice"] = sum(row["n"] > 1 for row in finishes)
    storm.counts["jobs done"], storm.counts["attempts at them"] = states.pop("done", 0), attempts
    found["jobs that are not done"] = sum(states.values())
    found[_OUTLIVED] = storm.counts.pop(_OUTLIVED, 0)
    found["ended otherwise"] = storm.counts.pop("ended otherwise", 0)
    opened.close()
    return found


def settle(storm: Storm) -> None:
    opened, until = Folder.open(storm.folder), time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        for id_ in storm.accepted:
            if "failed" in runs.run(opened, id_).further.values():
                submissions.retry(opened, id_)
                storm.counts["killed three times and retried"] += 1
        if not one_value(opened, "SELECT count(*) FROM jobs WHERE state IN ('queued', 'running')"):
            break
        time.sleep(1)
    opened.close()


def main(kills: int, seed: int, made: Callable[[Path, int, random.Random], Storm] = Storm) -> int:
    with tempfile.TemporaryDirectory(prefix="shoe-storm-") as temporary:
        folder = Path(temporary) / "service"
        opened = Folder.open(folder)
        add_truth(opened, "demo", TRUTH, shown=True)
        opened.close()
        storm = made(folder, free_port(), random.Random(seed))
        started = time.monotonic()
        storm.start()
        threads = [threading.Thread(target=storm.submit, daemon=True) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for number in range(kills):
            storm.pause()
            storm.kill()
            if number % 20 == 19:
                say(f"{number + 1} kills, {len(storm.done)} of {len(storm.units)} units done")
        storm.over.set()
        for thread in threads:
            thread.join(_PATIENCE)
        settle(storm)
        assert storm.server is not None
        left = storm.children()
        storm.server.terminate()
        storm.server.wait()
        storm.see_end(left, 5)
        bad = wrong(storm)
        storm.counts["seconds"] = round(time.monotonic() - started)
        storm.counts["units of work"] = len(storm.units)
        storm.counts["runs accepted"] = len(storm.accepted)
        for name, number in (*storm.counts.items(), *bad.items()):
            sys.stdout.write(f"{number:8,}  {name}\n")
    return int(any(bad.values()))


def asked() -> list[int]:
    return [int(word) for word in (*sys.argv[1:], *("200", "0")[len(sys.argv) - 1 :])]


if __name__ == "__main__":
    kills, seed = asked()
    sys.exit(main(kills, seed))
