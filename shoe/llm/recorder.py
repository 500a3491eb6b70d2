"""Where a rater puts what happens: into the ledger, the budget, and the counts that a run shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

from shoe.llm.budget import Budget
from shoe.llm.costs import ENOUGH, MARGIN, TOKENS_PER_CHAR, Usage, likely_usage, most_usage, usage_of
from shoe.llm.ledger import Ledger, answer_line, event_line, failure_line
from shoe.llm.ledger_writer import Writer
from shoe.rating.config import RaterConfig
from shoe.rating.kinds import kind_of
from shoe.rating.prompts import Prompts, ids_of
from shoe.rating.questions import Group


@dataclass
class Tally:
    """What one rater did in a run.

    Attributes:
        rater: its name.
        total: questions that it had to answer, each repeat counted, and second askings.
        done: of those, answered.
        known: answered in earlier runs.
        requests: attempts, retries included.
        retries: of those, for questions of which an attempt had failed.
        failures: attempts without an answer, by kind.
        input_tokens, output_tokens, cost: as answers say, or by estimate.
        waiting: for another process to end.
    """

    rater: str
    total: int = 0
    done: int = 0
    known: int = 0
    requests: int = 0
    retries: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    waiting: bool = False


class LedgerRecorder:
    """A :class:`~shoe.rating.questions.Recorder` of one rater, for as long as it may write its ledger."""

    def __init__(
        self, config: RaterConfig, prompts: Prompts, ledger: Ledger, writer: Writer, budget: Budget, tally: Tally
    ) -> None:
        self._config = config
        self._prompts = prompts
        self._prompted = kind_of(config.kind).prompted
        self._free = not (config.price.input or config.price.output or config.price.cached_input)
        self._ledger = ledger
        self._writer = writer
        self._budget = budget
        self._tally = tally
        self._lock = Lock()
        self._in_flight: dict[bytes, float] = {}
        self._failed: set[bytes] = set()
        self._dearest = 1.0
        self._told = 0
        self._most_tokens_per_char = 0.0
        self._events: list[Mapping[str, Any]] = []

    @property
    def stopping(self) -> bool:
        """Whether the job is to end."""
        return self._budget.stopping

    def may_ask(self, group: Group) -> bool:
        """Reserve one request; a rater that answers no prompts makes none."""
        if not self._prompted:
            return not self._budget.stopping
        most = 0.0 if self._free else self._most(group).cost(self._config.price) * self._dearest
        if not self._budget.reserve(most):
            return False
        with self._lock:
            self._in_flight[group[0].key] = most
            self._tally.requests += 1
            self._tally.retries += group[0].key in self._failed
        return True

    def answer(self, group: Group, raw: Mapping[str, Any]) -> None:
        """Keep one raw answer; see :meth:`Writer.append` for what "kept" means when this returns.

        Raises:
            InputError: if the ledger cannot be written.
        """
        ids = ids_of([question.key for question in group])
        prompt = self._prompts.of(group[0].part).digest if self._prompted else ""
        self._writer.append(answer_line(group, ids, prompt, raw))
        usage, characters = usage_of(raw), self._characters(group)
        if usage is not None:
            with self._lock:
                self._told += 1
                self._most_tokens_per_char = max(self._most_tokens_per_char, usage.input / characters)
        self._settle(group, usage or likely_usage(characters, len(group)), answered=True)

    def failure(self, group: Group, kind: str, detail: str = "") -> None:
        """Keep one attempt that brought no answer, at the cost of its prompt.

        Raises:
            InputError: if the ledger cannot be written.
        """
        self._writer.append(failure_line(group, kind, detail))
        self._settle(group, Usage(likely_usage(self._characters(group), 0).input, 0), answered=False)
        with self._lock:
            self._tally.failures[kind] += 1
            self._failed.add(group[0].key)

    def remember(self, event: Mapping[str, Any]) -> None:
        """Keep an event; it is on the disk when this returns.

        Raises:
            InputError: if the ledger cannot be written.
        """
        self._writer.append(event_line(event))
        self._writer.flush()
        with self._lock:
            self._events.append(event)

    def remembered(self) -> list[Mapping[str, Any]]:
        """Return all events of this rater, oldest first."""
        with self._lock:
            return [*self._ledger.events, *self._events]

    def _settle(self, group: Group, usage: Usage, *, answered: bool) -> None:
        """Book an attempt; what turns out dearer than any bound raises the bound."""
        if not self._prompted:
            usage = Usage(0, 0)
        cost = usage.cost(self._config.price)
        with self._lock:
            reserved = self._in_flight.pop(group[0].key, 0.0)
            if reserved:
                self._dearest *= max(1.0, cost / reserved)
            self._tally.input_tokens += usage.input
            self._tally.output_tokens += usage.output
            self._tally.cost += cost
            if answered:
                self._tally.done += len(group)
                self._failed.discard(group[0].key)
        self._budget.settle(reserved, cost)

    def _most(self, group: Group) -> Usage:
        """Bound a request's tokens: by what answers say of prompts, once enough of them have said it."""
        known = self._told >= ENOUGH
        tokens_per_char = min(TOKENS_PER_CHAR, MARGIN * self._most_tokens_per_char) if known else TOKENS_PER_CHAR
        return most_usage(self._config, self._characters(group), len(group), tokens_per_char)

    def _characters(self, group: Group) -> int:
        return self._prompts.length(group, several=self._config.pairs_per_request > 1)
