"""A storm of kills over ``shoe serve`` while raters answer: what was told to be kept is, and nothing is there twice.

Raters keep a log as the page does, and send what is not confirmed; each does so from two tabs, and at times from a
device that has nothing but the link. As a program: ``python -m tests.service.study_storm KILLS SEED``.
"""

import random
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import msgspec

from shoe.service import studies
from shoe.service.folder import Folder
from shoe.service.types import Answer
from tests.service.processes import free_port, serve_with_log

ID = "0123456789ab"
_ITEMS, _RATERS, _TABS = 60, 12, 2
_LONGEST_PAUSE = 1.5
_AGAIN = 0.1  # share of sendings that repeat what was confirmed


@dataclass
class Rater:
    """A browser: its log, and what the service has confirmed of it."""

    name: str
    token: str
    log: list[Answer] = field(default_factory=list)
    confirmed: set[str] = field(default_factory=set)
    lock: threading.Lock = field(default_factory=threading.Lock)


@dataclass
class Storm:
    folder: Path
    port: int
    random: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    over: threading.Event = field(default_factory=threading.Event)

    def call(self, rater: Rater, path: str, sent: Any = None) -> Any:
        headers = {"Authorization": f"Bearer {rater.token}", "Content-Type": "application/json"}
        body = None if sent is None else msgspec.json.encode(sent)
        while True:
            try:
                with urlopen(Request(f"http://127.0.0.1:{self.port}{path}", body, headers), timeout=10) as answer:
                    return msgspec.json.decode(answer.read())
            except HTTPError as error:
                if error.code not in (429, 503):
                    raise
                self.counts[f"answered {error.code}"] += 1
            except (OSError, HTTPException):
                self.counts["calls cut off"] += 1
            time.sleep(0.2)

    def rate(self, rater: Rater, seed: int) -> None:
        """Answer, and send what the service has not confirmed, as one tab does."""
        draw = random.Random(seed)
        while not self.over.is_set():
            with rater.lock:
                at = time.time() * 1000 + len(rater.log)
                number = len(rater.log) if len(rater.log) < _ITEMS else draw.randrange(_ITEMS)
                if len(rater.log) < 15 * _ITEMS:
                    rater.log.append(Answer(number, 1, "words", draw.randrange(5), at - 900, at))
                again = draw.random() < _AGAIN
                some = [each for each in rater.log if again or key(each) not in rater.confirmed]
            self.call(rater, "/v1/study/answers", {"answers": some})
            self.counts["sendings"] += 1
            with rater.lock:
                rater.confirmed |= set(map(key, some))
            if draw.random() < 0.02:
                self.look(rater)
            time.sleep(draw.random() * 0.05)
        self.counts["tabs that broke"] -= 1

    def look(self, rater: Rater) -> None:
        """Come from another device: all that was confirmed before has to be there."""
        with rater.lock:
            before = set(rater.confirmed)
        there = self.call(rater, "/v1/study/answers")["answers"]
        self.counts["looks from another device"] += 1
        self.counts["confirmed and lost"] += len(before - {key(msgspec.convert(each, Answer)) for each in there})


def key(answer: Answer) -> str:
    return msgspec.json.encode(answer).decode()


def storm(path: Path, kills: int, seed: int) -> Counter[str]:
    """Let it blow; counts of what happened, and of what went wrong: to be 0."""
    folder = Folder.open(path / "service")
    names = [f"rater-{number + 1}" for number in range(_RATERS)]
    asked = studies.Rater([(item, 1, "words") for item in range(_ITEMS)], [])
    studies.publish(folder, ID, {"study": ID}, 5, dict.fromkeys(names, asked), {})
    raters = [Rater(name, token) for name, token in studies.invite(folder, ID).items()]
    folder.close()
    made = Storm(path / "service", free_port(), random.Random(seed))
    made.counts["confirmed and lost"], made.counts["tabs that broke"] = 0, _RATERS * _TABS
    server = serve_with_log(made.folder, made.port)
    tabs = [
        threading.Thread(target=made.rate, args=(rater, seed * 1000 + _TABS * number + tab), daemon=True)
        for number, rater in enumerate(raters)
        for tab in range(_TABS)
    ]
    for thread in tabs:
        thread.start()
    for _ in range(kills):
        made.call(raters[0], "/v1/study/answers")
        time.sleep(_LONGEST_PAUSE * made.random.random())
        server.kill()
        server.wait()
        made.counts["servers killed"] += 1
        server = serve_with_log(made.folder, made.port)
    made.over.set()
    for thread in tabs:
        thread.join(120)
    server.terminate()
    server.wait()
    folder = Folder.open(path / "service")
    for rater, kept in zip(raters, studies.returned(folder, ID), strict=True):
        there, given = Counter(map(key, kept.answers)), set(map(key, rater.log))
        made.counts["answers given"] += len(given)
        made.counts["answers lost"] += len(given - there.keys())
        made.counts["answers from nowhere"] += len(there.keys() - given)
        made.counts["answers twice"] += sum(number > 1 for number in there.values())
        made.counts["of another rater"] += kept.rater != rater.name
    folder.close()
    return made.counts


BAD = ["tabs that broke", "confirmed and lost", "of another rater"]
BAD += ["answers lost", "answers from nowhere", "answers twice"]

if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="shoe-storm-") as temporary:
        counts = storm(Path(temporary), *(int(word) for word in (*sys.argv[1:], *("30", "0")[len(sys.argv) - 1 :])))
    for name, number in counts.items():
        sys.stdout.write(f"{number:8,}  {name}\n")
    sys.exit(any(counts[name] for name in BAD))
