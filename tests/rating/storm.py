"""A storm of kills over ``shoe map build``: whatever ends a run and whenever, the same command goes on to the same map.

As a program: ``scripts/storm KILLS SEED`` prints what went wrong, which is to be 0 of everything.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.llm.server import Server
from tests.rating.test_kills import FAULTS, THREE, Work, answered_other_than_once, answers

WAYS = ("SIGKILL", "SIGTERM", "SIGINT twice", "full disk", "kill while writing")
_LONGEST = 120.0
_WRITING = """
import os, random, sys
draw = random.Random({seed})
left = [draw.randrange(1, 60)]
def let(name):
    real = getattr(os, name)
    def step(*arguments, **options):
        left[0] -= name != "write" or draw.random() < 0.02
        if left[0] == 0:
            os.kill(os.getpid(), 9)
        return real(*arguments, **options)
    setattr(os, name, step)
for name in ("rename", "replace", "mkdir", "unlink", "rmdir", "fsync", "write"):
    let(name)
from shoe.cli import main
main()
"""
_FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, ({room}, {room}))
from shoe.cli import main
main()
"""


def storm(folder: Path, kills: int, seed: int) -> Counter[str]:
    """Kill so many runs, and count what went wrong."""
    draw, wrong = random.Random(seed), Counter[str]()
    with Server(FAULTS) as server:
        clean = Work(folder / "clean", THREE.format(url=server.url)).built()
        most = answers(server)
        done = 0
        while done < kills:
            server.endpoint.forget()
            work = Work(folder / f"storm-{done}", THREE.format(url=server.url))
            for _ in range(min(kills - done, 12)):
                way = draw.choice(WAYS)
                wrong.update(_killed(work, server, draw, way, most))
                wrong[f"{way}: so often"] += 1
                done += 1
            try:
                wrong["maps that differ"] += work.built() != clean
            except AssertionError:
                wrong["commands stuck"] += 1
            wrong["answers paid twice"] += answered_other_than_once(server.stats()).total()
            wrong["leftovers"] += sum(path.name.startswith(".map.") for path in work.folder.iterdir())
    return wrong


def _killed(work: Work, server: Server, draw: random.Random, way: str, most: int) -> Counter[str]:
    """One run that is ended in some way."""
    wrong: Counter[str] = Counter()
    program = None
    if way == "kill while writing":
        program = _WRITING.format(seed=draw.randrange(10**6))
    elif way == "full disk":
        program = _FULL.format(room=draw.randrange(1_000, 150_000))
    process = work.start(program=program)
    if program is None:
        begun, wanted = time.monotonic(), answers(server) + draw.randrange(max(most // 10, 1))
        while process.poll() is None and answers(server) < wanted and time.monotonic() - begun < _LONGEST:
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 0.15))
        for name in way.replace(" twice", " SIGINT").split():
            process.send_signal(signal.Signals[name])
            time.sleep(0.02)
    try:
        _, errors = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        wrong["commands stuck"] += 1
        _, errors = process.communicate()
    wrong["tracebacks"] += "Traceback" in errors
    return wrong


def main() -> None:
    """Print what a storm does."""
    given = dict(enumerate(map(int, sys.argv[1:])))
    kills, seed = given.get(0, 60), given.get(1, 1)
    with tempfile.TemporaryDirectory() as folder:
        wrong = storm(Path(folder), kills, seed)
    for what in sorted(wrong):
        sys.stdout.write(f"{wrong[what]:5} {what}\n")
    sys.exit(any(count for what, count in wrong.items() if ": so often" not in what))


if __name__ == "__main__":
    main()
