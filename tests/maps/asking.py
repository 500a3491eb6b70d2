"""What the tests of raters behind a network share: questions, a rater, and a recorder that keeps all in memory."""

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

from shoe.llm.budget import Usage
from shoe.llm.request import Request
from shoe.maps.config import Backend, RaterConfig
from shoe.maps.prompts import Group, Prompts, Question, SenseText
from shoe.maps.raters import kind_of

PROMPTS = Prompts.read()


def questions(count: int, repeat: int = 1) -> list[Question]:
    """Pairs of senses that differ in everything."""
    senses = [SenseText(f"act.v.{n:02d}", (f"act {n}", "do"), f"do thing {n}; as it is done") for n in range(count + 1)]
    return [Question(f"{repeat:04d}{n:012d}".encode(), "verb", senses[n], senses[n + 1]) for n in range(count)]


def in_groups(asked: Sequence[Question], size: int = 1, *, several: bool | None = None) -> Iterator[Group]:
    """Requests for so many questions each; in the form for several if there are several, or if that is said."""
    for start in range(0, len(asked), size):
        yield Group(asked[start : start + size], PROMPTS, several=size > 1 if several is None else several)


def rater(base_url: str, kind: str = "openai", **settings: Any) -> tuple[RaterConfig, Backend]:
    """A rater with default settings but for those given."""
    config = kind_of(kind)(**{"name": "r", "model": "m", "base_url": base_url} | settings)
    return config, config.backend(PROMPTS)


class Memory:
    """A recorder that keeps all; the job ends after so many requests, or so many answers."""

    def __init__(self, most_requests: int = 10**9, stop_after: int = 10**9) -> None:
        self.answers: list[tuple[Request, Mapping[str, Any]]] = []
        self.failures: list[tuple[str, str]] = []
        self.events: list[Mapping[str, Any]] = []
        self.requests = 0
        self.stopping = False
        self._most_requests = most_requests
        self._stop_after = stop_after
        self._lock = Lock()

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        with self._lock:
            self.answers.append((request, raw))
            self.stopping = self.stopping or len(self.answers) >= self._stop_after

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        with self._lock:
            self.failures.append((kind, detail))

    def may_ask(self, request: Request) -> bool:
        with self._lock:
            self.requests += 1
            return self.requests <= self._most_requests

    def remember(self, event: Mapping[str, Any]) -> None:
        self.events.append(event)

    def remembered(self) -> list[Mapping[str, Any]]:
        return list(self.events)


def ratings(backend: Backend, memory: Memory) -> dict[bytes, int]:
    """The state of every question that was answered, by key; of several answers the last."""
    states: dict[bytes, int] = {}
    for request, raw in memory.answers:
        states.update(zip(request.keys, backend.parse(request.about()["ids"], raw), strict=True))
    return states
