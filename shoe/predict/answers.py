"""The file of raw answers of a vision-language model, so that no question is asked twice.

The file is a ledger (:mod:`shoe.llm.ledger`) of one model with its decoding settings. It may hold several kinds of
questions, and questions about other images. Answers may lack token probabilities.
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

_LOGPROBS = "logprob"
_REJECTED = ("400", "403", "413", "422")
"""HTTP statuses with which an endpoint always rejects a request."""


class AnswerState(IntEnum):
    """Content of an answer, as its state in the ledger."""

    PROBABILITIES = 0
    """Text with token probabilities."""
    TEXT = 1
    """Text without token probabilities."""


@dataclass(eq=False, slots=True)
class AnswerRecorder(LedgerRecorder):
    """Recorder that ends the run at the first answer or error without the needed token probabilities."""

    probabilities: bool = True
    _lacks: str = field(default="", init=False)
    _rejected: str = field(default="", init=False)

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        """Record one raw answer."""
        LedgerRecorder.answer(self, request, raw)
        answer = read_completion(raw)
        if self.probabilities and answer.tokens is None and answer.finish != REFUSED:
            self._end_without_probabilities("answers without logprobs")

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        """Record one attempt without an answer."""
        LedgerRecorder.failure(self, request, kind, detail, usage)
        if kind in _REJECTED:
            self._rejected = f"HTTP {kind}: {detail.partition(f'HTTP {kind}: ')[2] or detail}"
            if _LOGPROBS in detail.lower():
                self._end_without_probabilities(self._rejected)

    def _end_without_probabilities(self, found: str) -> None:
        self._lacks = self._lacks or found
        self.budget.stop("failed")

    def end(self) -> None:
        """Raise ShoeError if probabilities are missing, all questions are rejected, or no answer was usable."""
        model = f"model {quote(self.ledger.identity['model'])}"
        if self._lacks:
            raise ShoeError(
                f"{model}: found {self._lacks}, expected the probabilities of tokens that the confidence is made of "
                "(use confidence 'none', or an endpoint that gives logprobs)"
            )
        if self._rejected and not self.answered:
            raise ShoeError(f"{model}: it takes none of the questions: {self._rejected}")
        if self.stopping and not self.budget.stopping:
            raise ShoeError(
                f"{model}: {self.wordless} answers in a row were refusals, or empty; the last are at the end of "
                f"{self.ledger.path}"
            )


def parsed(entry: Mapping[str, Any]) -> list[int]:
    """Return the state of the question in a ledger line; see :data:`shoe.llm.ledger.Parse`."""
    answer = answer_of(entry)
    if answer.finish == REFUSED:
        return [State.REFUSED]
    return [AnswerState.TEXT if answer.tokens is None else AnswerState.PROBABILITIES]


def answer_of(entry: Mapping[str, Any]) -> Answer:
    """Return the answer in a ledger line; raise ValueError if it has no message of a model."""
    (key,), raw = entry["keys"], entry["answer"]
    choices = raw.get("choices")
    message = choices[0].get("message") if choices else raw.get("error")
    if not isinstance(message, dict):
        raise ValueError("no message of a model")
    return msgspec.convert({**entry, "key": key, **read_completion(raw)._asdict()}, Answer)


_WORKER_BATCHES = 2
"""Batches in flight per local model: the next batch is prepared while one is answered."""


def spread(
    cluster: Cluster, config: BackendConfig, asks: Iterator[Ask], count: int, recorder: LedgerRecorder, beside: Path
) -> None:
    """Distribute questions among the workers of a cluster; see :class:`~shoe.llm.workers.Spread`.

    Workers read images under the same paths as this process, and check their content: images are not sent to them.
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
    """Return a worker's client or model, and the parser of answers; raise ShoeError if the model's files differ."""
    if {**config.identity(), "model": identity["model"]} != identity:
        raise ShoeError(f"model {quote(config.model)}: found other files on a worker's machine, expected the same")
    return cast("Asking", config.open().ask), parsed


Questions = Callable[[], Iterable[Question]]
"""Callback that returns all questions, grouped by image, always in the same order."""
_NAMES = {AnswerState.PROBABILITIES: "probabilities", AnswerState.TEXT: "text", State.REFUSED: "refused"}
_BATCHES, _WORTH_MEASURING = 2, 4


@dataclass(frozen=True, slots=True)
class Planned:
    """Size of a run.

    Attributes:
        total: number of distinct questions.
        known: number of questions that are answered or refused already.
        text_tokens: upper bound on the input tokens of the other questions, with 3,000 tokens per image.
        answer_tokens: upper bound on the tokens of their answers.
        cost: upper bound on the cost, in the currency of the price.
    """

    total: int
    known: int
    text_tokens: int
    answer_tokens: int
    cost: float


class Answers:
    """The answers of one model, in a file to which answers are appended.

    Attributes:
        cluster: cluster whose workers send the questions; None to send them from this process.
    """

    def __init__(self, path: Path, config: BackendConfig, base: Path | None = None, beside: Path | None = None) -> None:
        """Create an object for a file, which need not exist and is read later.

        Args:
            base: another file, whose answers count as if they were in this file.
            beside: path beside which :meth:`merge` finds the files of other processes; ``path`` by default.
        """
        self.path, self._config, self._beside = path, config, beside or path
        self.cluster: Cluster | None = None
        self._identity = config.identity()
        self._ledger = Ledger(path, self._identity, parsed, base)

    @cached_property
    def _backend(self) -> Backend:
        return self._config.open()

    def merge(self, say: Callable[[str], None]) -> int:
        """Merge the answers of other processes into this file; see :func:`shoe.llm.ledger_writer.merge`."""
        return merge(self.path, self._identity, parsed, say, self._beside)

    def plan(self, questions: Questions) -> Planned:
        """Return the size of a run, without sending a question."""
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
        """Ask all questions without an answer. The model is loaded only if there are such questions.

        Args:
            budget: budget of the run; its ``reason`` is set if the run ends early.
            say: callback that takes a line for the user.
            probabilities: whether the first answer without token probabilities ends the run.

        Returns:
            Number of questions per state: "probabilities", "text", "refused", "unasked".

        Raises:
            ShoeError: if no further question can succeed.
            InputError: if the file cannot be read or written, or has answers of another model.
        """
        budget, tally = budget or Budget(), tally or Tally(self._config.model)
        self._ledger.refresh()
        keys = self._keys(questions)
        if not self._answered(keys).all() and not budget.stopping:
            if not self.cluster and not self.path.exists():
                _ = self._backend  # opened first, because an error must not leave an empty file
            with writing(self.path, self._identity, lambda: budget.stopping, say) as writer:
                if writer is not None:
                    self._ledger.refresh()
                    tally.known = int(self._answered(keys).sum())
                    tally.total = len(keys) - tally.known
                    config, ledger = self._config, self._ledger
                    sampling = config.sampling()
                    recorder = AnswerRecorder(ledger, writer, budget, tally, config.price, sampling, config.asks)
                    recorder.probabilities = probabilities
                    if tally.total and self.cluster:
                        asks = self.unanswered(questions)
                        spread(self.cluster, self._config, asks, tally.total, recorder, self._beside)
                    elif tally.total:
                        self._backend.ask(self.unanswered(questions), recorder)
                    writer.flush()
                    recorder.end()
                    self._ledger.refresh(writer.synced)
        states, counts = np.unique(self._ledger.states(keys), return_counts=True)
        states_and_counts = zip(states.tolist(), counts.tolist(), strict=True)
        return Counter({_NAMES.get(state, "unasked"): count for state, count in states_and_counts})

    def measure(
        self, questions: Questions, left: int, batch: int, budget: Budget, display: Progress, *, probabilities: bool
    ) -> tuple[float, int] | None:
        """Ask a few questions and time them, after a first batch that loads and warms up the model.

        ``left`` is the number of questions without an answer, and ``batch`` that of questions asked at once.

        Returns:
            Seconds per question, and number of timed questions, whose answers are recorded. None if few questions are
            left, or the budget ended the measurement.
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
        """Ask questions as :meth:`ask` does, and show the progress; Ctrl-C ends the run like a used-up budget."""
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
        """Yield the first answer to each question in the file; refusals, too."""
        self._ledger.refresh()
        seen: set[str] = set()
        for entry in answers(self.path):
            (key,) = entry["keys"]
            if key not in seen:
                seen.add(key)
                yield answer_of(entry)

    def of(self, questions: Iterable[Question]) -> Iterator[Answer]:
        """Yield the answers to questions, in the order of the questions; unanswered questions are left out."""
        by_key = {answer.key: answer for answer in self.read()}
        for question in questions:
            answer = by_key.get(Ask(question, self._identity).key.hex())
            if answer is not None:  # recorded perhaps for another file name, or for detections with other scores
                about = {name: question.about.get(name) for name in ("image", "pair")}
                yield msgspec.structs.replace(answer, **about)

    def _keys(self, questions: Questions) -> Keys:
        return as_keys(b"".join(dict.fromkeys(Ask(question, self._identity).key for question in questions())))

    def _answered(self, keys: Keys) -> Any:
        return self._ledger.states(keys) != State.UNRATED

    def unanswered(self, questions: Questions) -> Iterator[Ask]:
        """Yield the distinct questions without an answer in the part of the file read so far."""
        seen: set[bytes] = set()
        for question in questions():
            ask = Ask(question, self._identity)
            if ask.key not in seen and not self._answered(as_keys(ask.key))[0]:
                seen.add(ask.key)
                yield ask
