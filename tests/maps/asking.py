"""What the tests of raters behind a network share: questions, a rater, and a recorder that keeps all in memory."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from threading import Lock
from typing import Any

from shoe.lexicon.senses import Part
from shoe.llm.budget import Usage
from shoe.llm.request import Request
from shoe.maps.config import Backend, RaterConfig
from shoe.maps.prompts import Group, Prompts, Question, SenseText
from shoe.maps.raters.kinds import kind_of
from tests.llm.server import Endpoint, Server
from tests.llm.server_plan import Plan

PROMPTS = Prompts.read()


def questions(count: int, repeat: int = 1) -> list[Question]:
    """Pairs of senses that differ in everything."""
    senses = [SenseText(f"act.v.{n:02d}", (f"act {n}", "do"), f"do thing {n}; as it is done") for n in range(count + 1)]
    return [Question(f"{repeat:04d}{n:012d}".encode(), "verb", a, b) for n, (a, b) in enumerate(pairwise(senses))]


def of_pairs(part: Part, pairs: Iterable[tuple[str, str]]) -> list[Question]:
    """Pairs by name, for raters that read no glosses."""
    senses = [(SenseText(a, (), ""), SenseText(b, (), "")) for a, b in pairs]
    return [Question(f"{n:016d}".encode(), part, *both) for n, both in enumerate(senses)]


def in_groups(asked: Sequence[Question], size: int = 1, *, several: bool | None = None) -> Iterator[Group]:
    """Requests for so many questions each; in the form for several if there are several, or if that is said."""
    for start in range(0, len(asked), size):
        yield Group(asked[start : start + size], PROMPTS, several=size > 1 if several is None else several)


def rater(base_url: str, kind: str = "openai", **settings: Any) -> tuple[RaterConfig, Backend]:
    config = kind_of(kind)(**{"name": "r", "model": "m", "base_url": base_url} | settings)
    return config, config.backend(PROMPTS)


class Memory:
    """A recorder that keeps all, also what an earlier one kept; the job ends after so many requests, or answers."""

    def __init__(self, most_requests: int = 10**9, stop_after: int = 10**9, past: "Memory | None" = None) -> None:
        self.answers: list[tuple[Request, Mapping[str, Any]]] = list(past.answers) if past else []
        self.failures: list[tuple[str, str]] = []
        self.events: list[Mapping[str, Any]] = list(past.events) if past else []
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


def rated_pairs(config: RaterConfig, questions: Sequence[Question], size: int = 4) -> dict[tuple[str, str], int]:
    """The ratings of one rater by the names of their senses, in groups of so many pairs."""
    backend, memory = config.backend(PROMPTS), Memory()
    backend.rate(in_groups(questions, size), memory)
    found: dict[tuple[str, str], int] = {}
    for group, raw in memory.answers:
        found.update(zip(group.about()["pairs"], backend.parse(group.about()["ids"], raw), strict=True))
    return found


def asked(
    endpoint: Plan | Endpoint | None = None, count: int = 60, memory: Memory | None = None, **options: Any
) -> tuple[dict[bytes, int], dict[str, Any], Memory]:
    """Ratings by a rater at an endpoint of its own, what the endpoint counted, and what was kept."""
    memory = memory or Memory()
    endpoint = endpoint if isinstance(endpoint, Endpoint) else Endpoint(endpoint or Plan())
    with Server(endpoint=endpoint) as server:
        config, backend = rater(server.url, **options)
        backend.rate(in_groups(questions(count), config.pairs_per_request), memory)
        return ratings(backend, memory), server.stats(), memory
