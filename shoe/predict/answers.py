"""The file of answers: every raw answer as it came, kept before it is read, so that nothing is ever asked twice.

It is a ledger (:mod:`shoe.llm.ledger`) of one model and how it decodes. A key stands for pictures,
boxes, prompt, model and decoding; so one file may hold several ways to ask, and those of other pictures. Kills leave
whole lines. Answers without probabilities of tokens are answers: scores that need some are refused, not made up.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cached_property, partial
from itertools import islice
from math import ceil
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import msgspec
import numpy as np

from shoe.core.errors import ShoeError, quote
from shoe.engines.ray_cluster import Cluster
from shoe.llm.budget import Budget, Usage
from shoe.llm.ledger import Keys, Ledger, Parse, State, answers, as_keys
from shoe.llm.ledger_writer import merge, writing
from shoe.llm.recorder import LedgerRecorder, Progress, Tally, watch
from shoe.llm.request import Request
from shoe.llm.workers import Ask as Asking
from shoe.llm.workers import Job, Spread
from shoe.predict.backends import Backend, BackendConfig
from shoe.predict.confidence import REFUSED, read_completion
from shoe.predict.questions import Ask, Question
from shoe.predict.records import Answer

# How answers are kept: what a line says, the states that follow from it, and when a run has seen enough.

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


# Questions asked by the workers of a cluster, each with its own client or model.
#
# Workers read images under the same paths as this process, and check them against the content seen first: only
# questions
# go over the network.

_WORKER_BATCHES = 2
"""Batches in flight per local model: one is answered while the next one is prepared."""


def spread(
    cluster: Cluster, config: BackendConfig, asks: Iterator[Ask], count: int, recorder: LedgerRecorder, beside: Path
) -> None:
    """Have the workers of a cluster ask questions.

    Args:
        cluster: cluster on which the workers run.
        config: settings of the model.
        asks: the questions.
        count: number of questions.
        recorder: recorder of the run's ledger, with the run's budget.
        beside: path beside which workers have their ledgers.

    Raises:
        ShoeError: when no further question makes sense, or every worker dies.
    """
    is_local = not config.asks
    most = ceil(count / config.at_once) if is_local else config.at_once
    workers = cluster.workers(most, is_local=is_local)
    each = config.one_of(workers)
    if Path(config.model).is_dir():  # workers may run in other folders
        each = msgspec.structs.replace(each, model=str(Path(config.model).absolute()))
    make = partial(_client, each, config.identity())
    in_flight = each.at_once * (_WORKER_BATCHES if is_local else 1)
    job = Job.from_recorder(recorder, config.model, make, in_flight, is_local=is_local)
    Spread(cluster, job, workers, recorder, beside).run(asks)


def _client(config: BackendConfig, identity: Mapping[str, Any]) -> tuple[Asking, Parse]:
    """Return a worker's client or model, and the parser of its answers.

    Raises:
        ShoeError: if the model cannot be opened there, or its files differ there.
    """
    if {**config.identity(), "model": identity["model"]} != identity:
        raise ShoeError(f"model {quote(config.model)}: found other files on a worker's machine, expected the same")
    return cast("Asking", config.open().ask), parsed


Questions = Callable[[], Iterable[Question]]
"""Makes all questions, those about one picture one after the other, in the same order each time."""
_NAMES = {Kept.PROBABILITIES: "probabilities", Kept.TEXT: "text", State.REFUSED: "refused"}
_BATCHES, _WORTH_MEASURING = 2, 4


@dataclass(frozen=True, slots=True)
class Planned:
    """What a run would ask.

    Attributes:
        total: number of distinct questions.
        known: of these, those that are answered or refused.
        text_tokens: upper bound for the texts and pictures of the other questions, at 3,000 tokens per picture.
        answer_tokens: upper bound for their answers.
        cost: upper bound of the cost, in the currency of the price.
    """

    total: int
    known: int
    text_tokens: int
    answer_tokens: int
    cost: float


class Answers:
    """The answers of one model, in a file that grows.

    Attributes:
        path: the file; it need not exist.
        cluster: whose workers ask; None for this process alone.
    """

    def __init__(self, path: Path, config: BackendConfig, base: Path | None = None, beside: Path | None = None) -> None:
        """Take a file, which is read when something is looked up.

        Args:
            path: the file.
            config: of the model.
            base: a file whose answers count as this one's, and are not written.
            beside: the path beside which other processes keep what :meth:`merge` takes over; the file's if absent.
        """
        self.path, self._config, self._beside = path, config, beside or path
        self.cluster: Cluster | None = None
        self._identity = config.identity()
        self._ledger = Ledger(path, self._identity, parsed, base)

    @cached_property
    def _backend(self) -> Backend:
        return self._config.open()

    def merge(self, say: Callable[[str], None]) -> int:
        """Take over the answers that others kept for this file; see :func:`shoe.llm.ledger_writer.merge`."""
        return merge(self.path, self._identity, parsed, say, self._beside)

    def plan(self, questions: Questions) -> Planned:
        """Return what a run would ask, asking nobody."""
        self._ledger.refresh()
        size = sum(ask.size() for ask in self.unanswered(questions))
        keys = self._keys(questions)
        known = int(self._answered(keys).sum())
        usage = Usage(size // 4, (len(keys) - known) * self._config.most_tokens)
        return Planned(len(keys), known, usage.input, usage.output, usage.cost(self._config.price))

    def ask(
        self,
        questions: Questions,
        *,
        budget: Budget | None = None,
        tally: Tally | None = None,
        say: Callable[[str], None] = lambda line: None,
        probabilities: bool = True,
    ) -> Counter[str]:
        """Ask what is not answered yet. The model is loaded if there is any such question.

        Args:
            questions: makes all of them.
            budget: of the run; says afterwards why it ended early, if it did.
            tally: what is shown of the run.
            say: takes a line for the user.
            probabilities: whether the first answer without any ends the run.

        Returns:
            Number of questions per state: "probabilities", "text", "refused", "unasked".

        Raises:
            ShoeError: when no further question makes sense.
            InputError: if the file cannot be read or written, or is another model's.
        """
        budget, tally = budget or Budget(), tally or Tally(self._config.model)
        self._ledger.refresh()
        keys = self._keys(questions)
        if not self._answered(keys).all() and not budget.stopping:
            if not self.cluster and not self.path.exists():
                _ = self._backend  # one that cannot be opened leaves no file
            with writing(self.path, self._identity, lambda: budget.stopping, say) as writer:
                if writer is not None:
                    self._ledger.refresh()
                    tally.known = int(self._answered(keys).sum())
                    tally.total = len(keys) - tally.known
                    recorder = AnswerRecorder(
                        self._ledger,
                        writer,
                        budget,
                        tally,
                        price=self._config.price,
                        sampling=self._config.sampling(),
                        asks=self._config.asks,
                        probabilities=probabilities,
                    )
                    if tally.total and self.cluster:
                        asks = self.unanswered(questions)
                        spread(self.cluster, self._config, asks, tally.total, recorder, self._beside)
                    elif tally.total:
                        self._backend.ask(self.unanswered(questions), recorder)
                    writer.flush()
                    recorder.end()
                    self._ledger.refresh(writer.synced)
        states, counts = np.unique(self._ledger.states(keys), return_counts=True)
        found = zip(states.tolist(), counts.tolist(), strict=True)
        return Counter({_NAMES.get(state, "unasked"): count for state, count in found})

    def measure(
        self, questions: Questions, left: int, batch: int, budget: Budget, display: Progress, *, probabilities: bool
    ) -> tuple[float, int] | None:
        """Ask a few questions and time them, except for the first batch, which loads and warms up the model.

        ``left`` questions have no answer yet, and ``batch`` are asked at once; the rest as :meth:`ask_shown`.

        Returns:
            Seconds per question, and the number of questions timed, whose answers are kept. None where few questions
            are left, or the budget ended the measurement.
        """
        count = _BATCHES * batch
        if left < _WORTH_MEASURING * count:
            return None
        for size in (batch, count):
            some = [ask.question for ask in islice(self.unanswered(questions), size)]
            start = time.monotonic()
            self.ask_shown(lambda some=some: some, budget, display, probabilities=probabilities)  # type: ignore[misc]
            if budget.stopping:
                return None
        return (time.monotonic() - start) / count, count

    def ask_shown(
        self, questions: Questions, budget: Budget, display: Progress, *, probabilities: bool
    ) -> Counter[str]:
        """Ask as :meth:`ask` does, and show how it goes; an interruption ends the run as an exhausted budget does."""
        tally, done, counts, errors = Tally("answers"), Event(), Counter[str](), list[BaseException]()
        more: dict[str, Any] = {"tally": tally, "say": display.say, "probabilities": probabilities}

        def work() -> None:
            try:
                counts.update(self.ask(questions, budget=budget, **more))
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        Thread(target=work, name="shoe-ask", daemon=True).start()
        watch(done, [tally], budget, display)
        if errors:
            raise errors[0]
        return counts

    def read(self) -> Iterator[Answer]:
        """Yield all answers of the file, each question's first; refusals are among them, without text."""
        self._ledger.refresh()
        seen: set[str] = set()
        for entry in answers(self.path):
            (key,) = entry["keys"]
            if key not in seen:
                seen.add(key)
                yield answer_of(entry)

    def of(self, questions: Iterable[Question]) -> Iterator[Answer]:
        """Yield the answers to questions, in their order; questions without an answer are left out."""
        by_key = {answer.key: answer for answer in self.read()}
        for question in questions:
            answer = by_key.get(Ask(question, self._identity).key.hex())
            if answer is not None:  # it may have been asked of another name, or of detections with other scores
                about = {name: question.about.get(name) for name in ("image", "pair")}
                yield msgspec.structs.replace(answer, **about)

    def _keys(self, questions: Questions) -> Keys:
        """(n, 2) keys of all questions, each once."""
        return as_keys(b"".join(dict.fromkeys(Ask(question, self._identity).key for question in questions())))

    def _answered(self, keys: Keys) -> Any:
        return self._ledger.states(keys) != State.UNRATED

    def unanswered(self, questions: Questions) -> Iterator[Ask]:
        """Yield the distinct questions without an answer in what was read of the file so far."""
        seen: set[bytes] = set()
        for question in questions():
            ask = Ask(question, self._identity)
            if ask.key not in seen and not self._answered(as_keys(ask.key))[0]:
                seen.add(ask.key)
                yield ask
