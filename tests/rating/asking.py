"""What the tests of raters behind a network share: questions, a rater, and a recorder that keeps all in memory."""

from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

from shoe.rating.config import Limits, RaterConfig
from shoe.rating.kinds import kind_of
from shoe.rating.prompts import Prompts
from shoe.rating.questions import Backend, Group, Question, Sense

PROMPTS = Prompts.read()


def questions(count: int, repeat: int = 1) -> list[Question]:
    """Pairs of senses that differ in everything."""
    senses = [Sense(f"act.v.{n:02d}", (f"act {n}", "do"), f"do thing {n}; as it is done") for n in range(count + 1)]
    return [Question(f"{repeat:04d}{n:012d}".encode(), "verb", senses[n], senses[n + 1]) for n in range(count)]


def in_groups(asked: Sequence[Question], size: int = 1) -> Iterator[Group]:
    return (asked[start : start + size] for start in range(0, len(asked), size))


def rater(
    base_url: str,
    kind: str = "openai",
    *,
    model: str = "m",
    pairs_per_request: int = 1,
    sampling: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    **settings: Any,
) -> tuple[RaterConfig, Backend]:
    """A rater with default settings but for those given."""
    kind_ = kind_of(kind)
    config = RaterConfig(
        name="r",
        kind=kind,
        model=model,
        pairs_per_request=pairs_per_request,
        sampling=sampling or {},
        settings={name: setting.default for name, setting in kind_.settings.items()}
        | {"base_url": base_url}
        | settings,
        limits=limits or Limits(),
    )
    return config, kind_.backend(config, PROMPTS)


class Memory:
    """A recorder that keeps all; the job ends after so many requests, or so many answers."""

    def __init__(self, most_requests: int = 10**9, stop_after: int = 10**9) -> None:
        self.answers: list[tuple[Group, Mapping[str, Any]]] = []
        self.failures: list[tuple[str, str]] = []
        self.events: list[Mapping[str, Any]] = []
        self.requests = 0
        self.stopping = False
        self._most_requests = most_requests
        self._stop_after = stop_after
        self._lock = Lock()

    def answer(self, group: Group, raw: Mapping[str, Any]) -> None:
        with self._lock:
            self.answers.append((group, raw))
            self.stopping = self.stopping or len(self.answers) >= self._stop_after

    def failure(self, group: Group, kind: str, detail: str = "") -> None:
        with self._lock:
            self.failures.append((kind, detail))

    def may_ask(self, group: Group) -> bool:
        with self._lock:
            self.requests += 1
            return self.requests <= self._most_requests

    def remember(self, event: Mapping[str, Any]) -> None:
        self.events.append(event)

    def remembered(self) -> list[Mapping[str, Any]]:
        return list(self.events)


def ratings(config: RaterConfig, backend: Backend, memory: Memory) -> dict[bytes, int]:
    """The state of every question that was answered, by key; of several answers the last."""
    states: dict[bytes, int] = {}
    for group, raw in memory.answers:
        ids = PROMPTS.render(group, several=config.pairs_per_request > 1).ids
        for question, state in zip(group, backend.parse(group[0].part, ids, raw), strict=True):
            states[question.key] = state
    return states
