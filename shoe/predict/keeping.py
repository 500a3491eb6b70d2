"""How answers are kept: what a line says, the states that follow from it, and when a run has seen enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import msgspec

from shoe.core.errors import ShoeError, quote
from shoe.llm.budget import Usage
from shoe.llm.recorder import LedgerRecorder
from shoe.llm.request import Request
from shoe.llm.states import State
from shoe.predict.completions import REFUSED, read_completion
from shoe.predict.records import Answer

_LOGPROBS = "logprob"
_REJECTED = ("400", "403", "413", "422")
"""Responses by which an endpoint does not take a request, whenever it is made."""


class Kept(IntEnum):
    """What an answer holds, as a ledger's states have it."""

    PROBABILITIES = 0
    """Text and the probabilities of its tokens."""
    TEXT = 1
    """Text alone: the endpoint gives no probabilities."""


@dataclass(eq=False, slots=True)
class AnswerRecorder(LedgerRecorder):
    """Ends a run where probabilities are wanted and none come, at the first answer or error that shows it."""

    probabilities: bool = True
    _lacks: str = field(default="", init=False)
    _rejected: str = field(default="", init=False)

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        """Keep one raw answer."""
        LedgerRecorder.answer(self, request, raw)
        said = read_completion(raw)
        if self.probabilities and said.tokens is None and said.finish != REFUSED:
            self._lack("answers without logprobs")

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        """Keep one attempt that brought no answer."""
        LedgerRecorder.failure(self, request, kind, detail, usage)
        if kind in _REJECTED:
            self._rejected = f"HTTP {kind}: {detail.partition(f'HTTP {kind}: ')[2] or detail}"
            if _LOGPROBS in detail.lower():
                self._lack(self._rejected)

    def _lack(self, found: str) -> None:
        self._lacks = self._lacks or found
        self.budget.stop("failed")

    def end(self) -> None:
        """See that the run did not end for want of what it needs."""
        who = f"model {quote(self.ledger.identity['model'])}"
        if self._lacks:
            raise ShoeError(
                f"{who}: found {self._lacks}, expected the probabilities of tokens that the confidence is made of "
                "(use confidence 'none', or an endpoint that gives logprobs)"
            )
        if self._rejected and not self.answered:
            raise ShoeError(f"{who}: it takes none of the questions: {self._rejected}")
        if self.stopping and not self.budget.stopping:
            raise ShoeError(
                f"{who}: {self.wordless} answers in a row were refusals, or empty; the last are at the end of "
                f"{self.ledger.path}"
            )


def parsed(entry: Mapping[str, Any]) -> list[int]:
    """Return the states of the questions of a line; see :data:`shoe.llm.ledger.Parse`."""
    answer = answer_of(entry)
    if answer.finish == REFUSED:
        return [State.REFUSED]
    return [Kept.TEXT if answer.tokens is None else Kept.PROBABILITIES]


def answer_of(entry: Mapping[str, Any]) -> Answer:
    """Read the line of an answer."""
    (key,), raw = entry["keys"], entry["answer"]
    choices = raw.get("choices")
    message = choices[0].get("message") if choices else raw.get("error")
    if not isinstance(message, dict):
        raise ValueError("no message of a model")
    completion = read_completion(raw)
    said = {"text": completion.text, "tokens": completion.tokens, "finish": completion.finish}
    return msgspec.convert({**entry, "key": key, **said}, Answer)
