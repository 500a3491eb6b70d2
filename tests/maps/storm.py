"""A storm of kills over ``shoe map`` and ``shoe predict``: whatever ends a run, the same command ends as if unharmed.

The user's cache of answers is on; in the end, the same command in another folder has to find all answers there.

As a program: ``scripts/storm KILLS SEED JOB...`` prints how runs were ended, and what went wrong: to be 0 of all.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import cycle
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions, write_predictions
from tests.llm.server import Server
from tests.maps.runs import Runs
from tests.maps.test_kills import (
    ARGUMENTS,
    FAULTS,
    ONE,
    TIMED,
    TWO,
    Work,
    answered_other_than_once,
    answers,
    rater_toml,
)
from tests.predict.made import made_pictures
from tests.predict.test_parts import BOXES, NAMES, asking
from tests.predict.vlm_server import VlmServer, made_up

_OF_ONE_WORK = 10
_RESERVED = 4_002_000
"""Bytes that each ledger's writer takes for what is in flight, in whole pages."""
_MOST_ROOM = 1 << 26
_HURRIED = ("pairs_per_request = 2", "requests_per_batch = 30", "batches = 2", "limits = {{tries = 30, timeout = 2}}")
_BOUNDED = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
"""
# Ends itself before, in or after the n-th call of some name by which anything gets onto the disk, whoever makes it.
_KILLED_WHILE_WRITING = """
import io, os, random
class Raw(io.FileIO):
    def write(self, data):
        return os.write(self.fileno(), data)
os.fdopen = lambda handle, mode: io.BufferedWriter(Raw(handle, mode))  # by which maps are written
draw, left = random.Random({seed}), [{nth}]
real = os.{name}
def call(*arguments, **options):
    left[0] -= 1
    moment = draw.choice(("before", "torn", "after"))
    if left[0] == 0 and moment == "torn" and "{name}" == "write":
        real(arguments[0], arguments[1][:draw.randrange(len(arguments[1]))])
    if left[0] or moment == "after":
        found = real(*arguments, **options)
    if left[0] == 0:
        os.kill(os.getpid(), 9)
    return found
os.{name} = call
"""
_RARE = ("posix_fallocate", "ftruncate", "rename", "replace", "chmod", "mkdir", "unlink", "rmdir")
_CALLS = {"write": 400, "open": 100, "fsync": 40} | dict.fromkeys(_RARE, 5)
"""By which number of its calls, at most, a run is killed."""


class Job(NamedTuple):
    raters: str
    arguments: tuple[str, ...] = ARGUMENTS


JOBS = {
    "build": Job(TWO),
    "batch": Job(rater_toml("batch", "m3", "openai-batch", *_HURRIED)),
    "complete": Job(
        ONE.replace("{more}", TIMED),
        (
            *("map", "complete", "hico-det", "--for", "said.jsonl", "-g", str(TRUTH), "--tolerance", "0"),
            *("--raters", "raters.toml", "--yes", "--out"),
        ),
    ),
}
ALL_JOBS = (*JOBS, "predict")
WRONG = (
    *("answers lost", "answers paid twice", "maps that differ", "commands stuck", "tracebacks", "leftovers"),
    *("odd ends", "answers not in the cache"),
)
WAYS = {"SIGKILL": (-9,), "SIGTERM": (130, -15), "SIGHUP": (130, -1), "SIGINT twice": (130, -2)}
WAYS |= {"full disk": (2,), "kill while writing": (-9,)}
"""How runs are ended, and the exit codes that they may have then, beside 0."""
_HOSTILE = replace(FAULTS, seconds=0.03, hold_create=0.2, lists_lag=1.0, begins_again=True)


@dataclass
class Disk:
    """A disk of one's own for a folder, where it may be mounted; else a bound on the size of each file."""

    folder: Path
    mounted: bool = False

    def __enter__(self) -> Disk:
        self.mounted = self._mount(f"size={_MOST_ROOM}")
        return self

    def __exit__(self, *_: object) -> None:
        if self.mounted:
            subprocess.run(["umount", "--lazy", self.folder], check=True)

    def _mount(self, options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0

    def leave(self, room: int | None) -> None:
        """Let so many bytes be free; as many as anybody may want if None."""
        if self.mounted:
            about = os.statvfs(self.folder)
            size = _MOST_ROOM if room is None else (about.f_blocks - about.f_bfree) * about.f_frsize + room
            self._mount(f"remount,size={size}")

    def __str__(self) -> str:
        return "a file system of its own" if self.mounted else "bounds on the size of files: mounting takes root"


@dataclass
class Found:
    ended: Counter[str] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(WRONG, 0)))
    disk: str = ""

    def __str__(self) -> str:
        lines = [f"{count:5} {what}" for what, count in sorted(self.ended.items())]
        lines += [f"full disks: {self.disk}", "wrong:"]
        return "\n".join([*lines, *(f"{count:5} {what}" for what, count in self.wrong.items())])


class Storm:
    """One job of ``shoe map``, killed again and again, and what went wrong."""

    def __init__(self, job: str, folder: Path, server: Any, draw: random.Random, runs: Runs, found: Found) -> None:
        self.job, self.draw, self.server, self.runs, self.found = job, draw, server, runs, found
        self._forget()
        begun = time.monotonic()
        clean = self._work(folder / f"{job}-clean")
        if self._started(clean).end()[0]:
            raise RuntimeError(self.runs.text())
        self.clean = clean.map()
        self.seconds = time.monotonic() - begun
        self.most = self._answered()

    def _work(self, folder: Path) -> Work:
        raters, arguments = JOBS[self.job]
        work = Work(folder, raters.format(url=self.server.url), arguments)
        if "complete" in arguments:
            table = read_predictions(PREDICTIONS["free text"])
            write_predictions(table.select(np.arange(0, len(table), 8)), folder / "said.jsonl", "vlm")
        return work

    def _forget(self) -> None:
        self.server.endpoint.forget()

    def _answered(self) -> int:
        return answers(self.server)

    def _requests(self) -> int:
        asked: Counter[str] = self.server.endpoint.counts + self.server.endpoint.batches.counts
        return asked.total()

    def _paid_twice(self) -> Counter[str]:
        return answered_other_than_once(self.server.stats())

    def _started(self, work: Work, before: str = "") -> Runs:
        arguments = [*work.arguments, "map", "--cache", str(work.folder / "cache")]
        return self.runs.start(work.folder, arguments, before)

    def round(self, folder: Path, kills: int) -> int:
        """Kill some runs of one work, then let it come to its end; how many were killed."""
        self._forget()
        with Disk(folder) as disk:
            self.found.disk = str(disk)
            work, kept, done = self._work(folder), Counter[str](), 0
            for _ in range(kills):
                killed = self._kill(work, disk)
                done += killed
                found = _whole_lines(folder)
                self._went_wrong("answers lost", (kept - found).total(), "between two runs")
                kept = found
                disk.leave(None)
                if not killed and self.draw.random() < 0.5:
                    break
            self._finish(work)
            self._went_wrong("answers lost", (kept - _whole_lines(folder)).total(), "in the last run")
        return done

    def _finish(self, work: Work) -> None:
        code, _ = self._started(work).end()
        self._went_wrong("commands stuck", code != 0, f"exit code {code}: {self.runs.text()}")
        if code != 0:
            return
        found = work.map()
        differ = [name for name in found.keys() | self.clean.keys() if found.get(name) != self.clean.get(name)]
        self._went_wrong("maps that differ", bool(differ), f"{differ}, kept in {_copy(work, bool(differ))}")
        twice = self._paid_twice()
        self._went_wrong("answers paid twice", twice.total(), f"{dict(twice)}, kept in {_copy(work, bool(twice))}")
        self._build_elsewhere(work)
        left = [path.name for path in work.folder.iterdir() if path.name.endswith(".tmp")]
        self._went_wrong("leftovers", len(left), str(left))

    def _build_elsewhere(self, work: Work) -> None:
        """The same command in another folder asks nothing, and makes the same ratings."""
        before, elsewhere = self._requests(), self._work(work.folder / "elsewhere")
        (work.folder / "cache").rename(elsewhere.folder / "cache")
        code, _ = self._started(elsewhere).end()
        asked = self._requests() - before
        self._went_wrong("answers not in the cache", asked, f"exit code {code}: {self.runs.text()}")
        found = elsewhere.map() if code == 0 else {}
        differ = [name for name in self.clean.keys() - {"map.json"} if found.get(name) != self.clean[name]]
        self._went_wrong("maps that differ", bool(differ), f"{differ} in another folder: {self.runs.text()}")

    def _went_wrong(self, what: str, count: int, details: str) -> None:
        self.found.wrong[what] += count
        if count:
            sys.stderr.write(f"{self.job}: {count} {what}: {details[-3000:]}\n")

    def _kill(self, work: Work, disk: Disk) -> bool:
        """End one run in some way; whether it was not over before."""
        way, draw, before, where = self.draw.choice(list(WAYS)), self.draw, "", ""
        if way == "kill while writing":
            name = draw.choice(list(_CALLS))
            nth, where = int(_CALLS[name] ** draw.random()), f" ({name})"
            before = _KILLED_WHILE_WRITING.format(name=name, nth=nth, seed=draw.randrange(10**6))
        elif way == "full disk" and disk.mounted:
            disk.leave(draw.choice([0, 1, 2]) * _RESERVED + draw.randrange(60_000))
        elif way == "full disk":
            before = _BOUNDED.format(room=draw.randrange(1_000, 150_000))
        run = self._started(work, before)
        if "SIG" in way:
            self._wait(run)
            for name in way.replace(" twice", " SIGINT").split():
                run.send(signal.Signals[name])
                time.sleep(0.02)
        code, stuck = run.end()
        said = f"{way}: exit code {code}: {run.text()}"
        self._went_wrong("commands stuck", stuck, said)
        self._went_wrong("tracebacks", "Traceback" in said or "Fatal Python" in said, said)
        self._went_wrong("odd ends", code not in (0, *WAYS[way]), said)
        self.found.ended[f"{self.job}: {way + where if code else 'came to its end before'}"] += 1
        return code != 0

    def _wait(self, run: Runs) -> None:
        """Let a run go on for a while, or until it has been given some answers, which takes it further each time."""
        end, wanted = time.monotonic() + self.draw.uniform(0, 1.2 * self.seconds), None
        if self.draw.random() < 0.7:
            wanted = self._answered() + self.draw.randrange(max(self.most // 8, 1))
        while not run.is_over() and time.monotonic() < end and (wanted is None or self._answered() < wanted):
            time.sleep(0.01)
        time.sleep(self.draw.uniform(0, 0.1))


class PredictWork(Work):
    """A folder of images and boxes, in which ``shoe predict`` asks an endpoint about each pair and verb."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder, self.arguments = folder, (*map(str, asking(url, "--detections", "boxes.json")), "--out")
        made_pictures(folder / "images", NAMES)
        (folder / "boxes.json").write_text(json.dumps(BOXES))

    def map(self, out: str = "map") -> dict[str, bytes]:
        return {out: (self.folder / out).read_bytes()}


class PredictStorm(Storm):
    def _work(self, folder: Path) -> PredictWork:
        return PredictWork(folder, self.server.url)

    def _forget(self) -> None:
        self.server.forget()

    def _answered(self) -> int:
        return int(self.server.generated.total())

    def _requests(self) -> int:
        return int(self.server.requests)

    def _paid_twice(self) -> Counter[str]:
        return Counter({key: times for key, times in self.server.generated.items() if times > 1})


def _copy(work: Work, wanted: bool) -> str:
    return str(shutil.copytree(work.folder, tempfile.mkdtemp(prefix="storm-"), dirs_exist_ok=True)) if wanted else ""


def _whole_lines(folder: Path) -> Counter[str]:
    """The lines of all ledgers, but for what is torn at their ends."""
    paths = (*folder.glob("shoe-ledger/*.jsonl"), *folder.glob("*.answers.jsonl"))
    texts = (path.read_bytes().decode("utf-8", "replace") for path in sorted(paths))
    return Counter(line for text in texts for line in text.splitlines(keepends=True) if line.endswith("\n"))


def storm(folder: Path, kills: int, seed: int, found: Found, jobs: Collection[str] = ALL_JOBS) -> None:
    draw = random.Random(seed)
    with Server(_HOSTILE) as server, VlmServer(made_up, seconds=0.03) as models, Runs(folder) as runs:
        kinds = {"predict": partial(PredictStorm, server=models)}
        storm_of = partial(Storm, server=server)
        storms = cycle([kinds.get(job, storm_of)(job, folder, draw=draw, runs=runs, found=found) for job in jobs])
        while kills > 0:
            kills -= next(storms).round(Path(tempfile.mkdtemp(dir=folder)), min(kills, _OF_ONE_WORK))


def main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.default_int_handler)
    given = dict(enumerate(sys.argv[1:]))
    found = Found()
    with suppress(KeyboardInterrupt), tempfile.TemporaryDirectory() as folder:
        storm(Path(folder), int(given.get(0, 60)), int(given.get(1, 1)), found, sys.argv[3:] or ALL_JOBS)
    sys.stdout.write(f"{found}\n")
    sys.exit(any(found.wrong.values()))


if __name__ == "__main__":
    main()
