"""The file of answers: every raw answer as it came, kept before it is read, so that nothing is ever asked twice.

It is a ledger (:mod:`shoe.llm.ledger`) of one model and how it decodes. A key stands for pictures,
boxes, prompt, model and decoding; so one file may hold several ways to ask, and those of other pictures. Kills leave
whole lines. Answers without probabilities of tokens are answers: scores that need some are refused, not made up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from shoe.core.errors import InputError, ShoeError, quote
from shoe.llm.budget import Budget, Usage
from shoe.llm.ledger import Ledger, answers
from shoe.llm.ledger_merge import merge
from shoe.llm.ledger_writer import writing
from shoe.llm.recorder import LedgerRecorder, Tally
from shoe.llm.request import Request
from shoe.llm.states import Keys, State, as_keys
from shoe.predict.ask import Ask, Question
from shoe.predict.backend import Backend, BackendConfig
from shoe.predict.completions import REFUSED, read_completion
from shoe.predict.records import Answer, Pair

_LOGPROBS = "logprob"
_REJECTED = ("400", "403", "413", "422")
"""Responses by which an endpoint does not take a request, whenever it is made."""


class Kept(IntEnum):
    """What an answer holds, as a ledger's states have it."""

    PROBABILITIES = 0
    """Text and the probabilities of its tokens."""
    TEXT = 1
    """Text alone: the endpoint gives no probabilities."""


class _About(msgspec.Struct):
    """What a line says of its question."""

    image: str
    way: str
    pair: Pair | None = None
    verb: str = ""
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Planned:
    """What a run would do.

    Attributes:
        total: questions, each counted once.
        known: of these, those that are answered or refused.
        text_tokens: at most so many of the other questions' texts and pictures, if a picture has 3,000 tokens.
        answer_tokens: at most so many of their answers.
        cost: of these, at most, in the currency of the price.
    """

    total: int
    known: int
    text_tokens: int
    answer_tokens: int
    cost: float


class Answers:
    """The answers of one model, in a file that grows.

    Attributes:
        path: the file; it need not be there.
    """

    def __init__(self, path: Path, config: BackendConfig, base: Path | None = None, beside: Path | None = None) -> None:
        """Take a file, which is read when something is looked up.

        Args:
            path: the file.
            config: of the model.
            base: a file whose answers count as this one's, and are not written.
            beside: the path beside which other processes keep what :meth:`merge` takes over; the file's if absent.
        """
        self.path = path
        self._config = config
        self._beside = beside or path
        self._identity = config.identity()
        self._ledger = Ledger(path, self._identity, _parsed, base)

    @cached_property
    def _backend(self) -> Backend:
        return self._config.open()

    def merge(self, say: Callable[[str], None]) -> int:
        """Take over the answers that others kept for this file; see :func:`shoe.llm.ledger_merge.merge`."""
        return merge(self.path, self._identity, _parsed, say, self._beside)

    def plan(self, questions: Callable[[], Iterable[Question]]) -> Planned:
        """Say what asking would do, asking nobody.

        Args:
            questions: makes all of them, in the same order each time.

        Raises:
            InputError: if the file is another model's, or damaged.
        """
        self._ledger.refresh()
        seen: set[bytes] = set()
        known = size = 0
        for question in questions():
            ask = Ask(question, self._identity)
            if ask.key not in seen:
                seen.add(ask.key)
                is_known = bool(self._answered(as_keys(ask.key))[0])
                known += is_known
                size += 0 if is_known else ask.size()
        usage = Usage(size // 4, (len(seen) - known) * self._config.most_tokens)
        return Planned(len(seen), known, usage.input, usage.output, usage.cost(self._config.price))

    def ask(
        self,
        questions: Callable[[], Iterable[Question]],
        *,
        budget: Budget | None = None,
        tally: Tally | None = None,
        say: Callable[[str], None] = lambda line: None,
        probabilities: bool = True,
    ) -> Counter[str]:
        """Ask what is not answered yet. The model is loaded if there is any such question.

        Args:
            questions: makes all of them, those about one picture one after the other, in the same order each time.
            budget: of the run; says afterwards why it ended early, if it did.
            tally: what is shown of the run.
            say: takes a line for the user.
            probabilities: whether the first answer without any ends the run.

        Returns:
            How many questions are in which state: "probabilities", "text", "refused", "unasked".

        Raises:
            ShoeError: when no further question makes sense.
            InputError: if the file cannot be read or written, or is another model's.
        """
        budget, tally = budget or Budget(), tally or Tally(self._config.model)
        self._ledger.refresh()
        keys = self._keys(questions)
        if not self._answered(keys).all() and not budget.stopping:
            backend = None if self.path.exists() else self._backend  # one that cannot be opened leaves no file
            with writing(self.path, self._identity, lambda: budget.stopping, say) as writer:
                if writer is not None:
                    self._ledger.refresh()
                    tally.known = int(self._answered(keys).sum())
                    tally.total = len(keys) - tally.known
                    recorder = _Recorder(
                        self._ledger,
                        writer,
                        budget,
                        tally,
                        price=self._config.price,
                        sampling=self._config.sampling(),
                        asks=self._config.asks,
                        probabilities=probabilities,
                    )
                    if tally.total:
                        (backend or self._backend).ask(self.unanswered(questions), recorder)
                    writer.flush()
                    recorder.end()
                    self._ledger.refresh(writer.synced)
        return self._counted(keys)

    def read(self) -> Iterator[Answer]:
        """Go through all answers of the file, each question's first; refusals are among them, without text.

        Raises:
            InputError: if a line is none that this program writes.
        """
        self._ledger.refresh()
        seen: set[str] = set()
        for entry in answers(self.path):
            (key,) = entry["keys"]
            if key not in seen:
                seen.add(key)
                yield self._answer(key, entry)

    def of(self, questions: Iterable[Question]) -> Iterator[Answer]:
        """Go through the answers to some questions, in their order; what is unanswered is left out."""
        kept = {answer.key: answer for answer in self.read()}
        for question in questions:
            found = kept.get(Ask(question, self._identity).key.hex())
            if found is not None:
                yield found

    def _answer(self, key: str, entry: Mapping[str, Any]) -> Answer:
        said = read_completion(entry["answer"])
        try:
            about = msgspec.convert(entry, _About)
        except msgspec.ValidationError as error:
            raise InputError(self.path, record=key, found=str(error), expected="an answer about a picture") from None
        return Answer(
            key=key,
            image=about.image,
            pair=about.pair,
            way=about.way,
            verb=about.verb,
            options=about.options,
            text=said.text,
            tokens=said.tokens,
            finish=said.finish,
        )

    def _keys(self, questions: Callable[[], Iterable[Question]]) -> Keys:
        """(n, 2) keys of all questions, each once."""
        found = dict.fromkeys(Ask(question, self._identity).key for question in questions())
        return as_keys(b"".join(found))

    def _answered(self, keys: Keys) -> Any:
        return self._ledger.states(keys) != State.UNRATED

    def unanswered(self, questions: Callable[[], Iterable[Question]]) -> Iterator[Ask]:
        """Go through the questions that have no answer, as far as the file was read, each once."""
        seen: set[bytes] = set()
        for question in questions():
            ask = Ask(question, self._identity)
            if ask.key not in seen and not self._answered(as_keys(ask.key))[0]:
                seen.add(ask.key)
                yield ask

    def _counted(self, keys: Keys) -> Counter[str]:
        names = {Kept.PROBABILITIES: "probabilities", Kept.TEXT: "text", State.REFUSED: "refused"}
        states, counts = np.unique(self._ledger.states(keys), return_counts=True)
        found = zip(states.tolist(), counts.tolist(), strict=True)
        return Counter({names.get(state, "unasked"): count for state, count in found})


@dataclass(eq=False, slots=True)
class _Recorder(LedgerRecorder):
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
        """See that the run did not end for want of what it needs.

        Raises:
            ShoeError: if it did.
        """
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


def _parsed(entry: Mapping[str, Any]) -> list[int]:
    return [_state(entry)] * len(entry["keys"])


def _state(entry: Mapping[str, Any]) -> int:
    said = read_completion(entry["answer"])
    if said.finish == REFUSED:
        return State.REFUSED
    return Kept.TEXT if said.tokens is None else Kept.PROBABILITIES
