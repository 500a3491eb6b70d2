"""File of raw answers of a vision-language model, so that no question is sent twice.

The file is a ledger (:mod:`shoe.llm.ledger`) for one model and its decoding settings. It may contain answers to several
kinds of questions, and to questions about other images than those of the run. Token probabilities may be missing.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum
from functools import cached_property, partial
from itertools import islice
from math import ceil
from pathlib import Path
from statistics import median
from threading import Event, Thread
from typing import Any, cast

import msgspec

from shoe.core.errors import ShoeError, quote
from shoe.engines.ray_cluster import Cluster
from shoe.llm.budget import Budget, Price, Usage
from shoe.llm.cache import AnswerCache, AnswerStore
from shoe.llm.errors import REJECTED
from shoe.llm.ledger import Keys, Ledger, Parse, State, answer_line, answers, as_keys, comparable, ledgers_of
from shoe.llm.ledger_writer import merge, parts_of, writing
from shoe.llm.recorder import LedgerRecorder, Progress, Tally, Terms, wait_with_progress
from shoe.llm.request import Request
from shoe.llm.workers import Ask as Asking, Job, Spread
from shoe.predict.backends import Backend, BackendConfig
from shoe.predict.questions import Ask, Question
from shoe.predict.records import REFUSED, Answer, read_completion
from shoe.predict.scored import Questions as RunSize

_LOGPROBS = "logprob"


class AnswerState(IntEnum):
    """State of an answered question: text with token probabilities (PROBABILITIES) or without (TEXT)."""

    PROBABILITIES = 0
    TEXT = 1


@dataclass(eq=False, slots=True)
class AnswerRecorder(LedgerRecorder):
    """Recorder of answers. If ``probabilities``, an answer (not a refusal) without token probabilities ends the run."""

    probabilities: bool = True
    _lacks: str = ""
    _rejected: str = ""

    def answer(self, request: Request, raw: Mapping[str, Any]) -> None:
        """Record the raw answer to one question; end the run if the answer lacks required token probabilities."""
        LedgerRecorder.answer(self, request, raw)
        answer = read_completion(raw)
        if self.probabilities and answer.tokens is None and answer.finish != REFUSED:
            self._end_without_probabilities("answers without logprobs")

    def failure(self, request: Request, kind: str, detail: str = "", usage: Usage | None = None) -> None:
        """Record a failed request, with its kind, such as "429"; end the run if the endpoint rejects logprobs."""
        LedgerRecorder.failure(self, request, kind, detail, usage)
        if kind in REJECTED:
            self._rejected = f"HTTP {kind}: {detail.partition(f'HTTP {kind}: ')[2] or detail}"
            if _LOGPROBS in detail.lower():
                self._end_without_probabilities(self._rejected)

    def _end_without_probabilities(self, found: str) -> None:
        self._lacks = self._lacks or found
        self.budget.stop("failed")

    def end(self) -> None:
        """Raise ShoeError if probabilities were missing, all questions were rejected, or the last answers unusable."""
        if not self._is_failing:
            self.check()
        model = f"model {quote(self.ledger.identity['model'])}"
        if self._lacks:
            expected = "token probabilities, which are needed for the confidence"
            hint = "--confidence none requests no logprobs; or use an endpoint that returns logprobs"
            raise ShoeError(f"{model}: found {self._lacks}, expected {expected} ({hint})")
        if self._rejected and not self.answered:
            raise ShoeError(f"{model}: the endpoint rejected all questions: {self._rejected}")
        if self.stopping and not self.budget.stopping:
            last = f"the last {self.unusable} answers were refusals or empty"
            raise ShoeError(f"{model}: {last}; see the end of {self.ledger.path}")


def parsed(entry: Mapping[str, Any]) -> list[int]:
    """Return a list with the state of the answer in a line of a file: an :class:`AnswerState` or ``State.REFUSED``."""
    answer = answer_of(entry)
    if answer.finish == REFUSED:
        return [State.REFUSED]
    return [AnswerState.TEXT if answer.tokens is None else AnswerState.PROBABILITIES]


def answer_of(entry: Mapping[str, Any]) -> Answer:
    """Return the answer or refusal in a line of an answer file; ValueError without a message or an error object."""
    (key,), raw = entry["keys"], entry["answer"]
    choices = raw.get("choices")
    message = choices[0].get("message") if choices else raw.get("error")
    if not isinstance(message, dict):
        raise ValueError("neither a message of a model nor an error")
    return msgspec.convert({**entry, "key": key, **read_completion(raw)._asdict()}, Answer)


_WORKER_BATCHES = 2  # in flight per local model: one is prepared while the model answers another


def spread(
    cluster: Cluster, config: BackendConfig, asks: Iterator[Ask], count: int, recorder: LedgerRecorder, beside: Path
) -> None:
    """Let the workers of a cluster answer ``count`` questions (``asks``) with a model, and record the answers.

    Workers open the image files under the same paths as this process, and check that they have not changed. They write
    their answers into subfolders of the folder that contains ``beside``.
    """
    is_local = not config.asks
    workers = cluster.workers(ceil(count / config.at_once) if is_local else config.at_once, is_local=is_local)
    each = config.per_worker(workers)
    if Path(config.model).is_dir():  # workers may run in other folders
        each = msgspec.structs.replace(each, model=str(Path(config.model).absolute()))
    make, in_flight = partial(_client, each, config.identity()), each.at_once * (_WORKER_BATCHES if is_local else 1)
    settings = recorder.ledger.identity, recorder.terms, recorder.remembered(), is_local
    Spread(cluster, Job(config.model, make, in_flight, *settings), workers, recorder, beside).run(asks)


def _client(config: BackendConfig, identity: Mapping[str, Any]) -> tuple[Asking, Parse]:
    """Return callbacks for a worker, which send questions and parse answers; ShoeError if model files differ."""
    if comparable({**config.identity(), "model": identity["model"]}) != comparable(identity):
        model = quote(config.model)
        raise ShoeError(f"model {model}: a worker has other model files than this machine: copy the files")
    return cast("Asking", config.open()), parsed


Questions = Callable[[], Iterable[Question]]  # all questions, grouped by image, always in the same order
_NAMES = {AnswerState.PROBABILITIES: "probabilities", AnswerState.TEXT: "text", State.REFUSED: "refused"}
_BATCHES, _WORTH_MEASURING, _LATEST = 2, 4, 1 << 20


class Answers:
    """Answers of one model in a file; questions are sent from this process, or by the workers of ``cluster``."""

    def __init__(
        self,
        path: Path,
        config: BackendConfig,
        base: Path | None = None,
        beside: Path | None = None,
        store: AnswerStore | None = None,
    ) -> None:
        """Create the object without reading the file, which need not exist.

        Answers are also read from the file ``base``. Beside the path ``beside``, by default ``path``, :meth:`merge`
        finds the files of other processes. ``store`` is the user's cache, which is used for models at endpoints; None
        for no cache.
        """
        self.path, self._config, self._beside = path, config, beside or path
        self.cluster: Cluster | None = None
        self._identity = config.identity()
        for _, identity in ledgers_of([base or path, path], self._identity):  # of an earlier version, with an address
            self._identity = identity
        self._ledger = Ledger(path, self._identity, parsed, Ledger(base, self._identity, parsed) if base else None)
        self._cache = AnswerCache(store, self._ledger) if store and config.asks else None

    @cached_property
    def _backend(self) -> Backend:
        return self._config.open()

    def merge(self, say: Callable[[str], None]) -> int:
        """Merge and delete the answer files of shards and workers; return the number of lines added to this file."""
        return merge(self.path, self._identity, parsed, say, self._beside)

    def read_others(self) -> None:
        """Treat the answers in the files of shards and workers as answers in this file, without merging the files."""
        self._ledger.begin_with(parts_of(self._beside))

    def plan(self, questions: Questions, *, probabilities: bool = True) -> RunSize:
        """Estimate tokens and cost of the questions without an answer in the file or the user's cache; send nothing.

        Input: one token per 4 bytes of text, 3,000 per image; output: as many as allowed. The cost is None for a model
        on this machine or without a price. If ``probabilities``, cached answers without token probabilities do not
        count.
        """
        self._ledger.refresh()
        cached = {entry["keys"][0] for entry in self._cached(questions, probabilities)}
        sizes = [ask.size() for ask in self.unanswered(questions) if ask.key.hex() not in cached]
        total = len(self._keys(questions))
        usage = Usage(sum(sizes) // 4, len(sizes) * self._config.most_tokens)
        cost = usage.cost(self._config.price) if self._config.asks and self._config.price else None
        return RunSize(total, total - len(sizes), usage.input, usage.output, cost, len(cached))

    def _cached(self, questions: Questions, probabilities: bool) -> Iterator[dict[str, Any]]:
        """Yield cached answers to unanswered questions; if ``probabilities``, only answers with token probabilities."""
        if self._cache and self._cache.exists():
            for ask in self.unanswered(questions):
                if found := self._cache.answer(ask.key):
                    entry, states = found
                    if not probabilities or AnswerState.TEXT not in states.values():
                        yield entry

    def ask(
        self,
        questions: Questions,
        *,
        budget: Budget | None = None,
        tally: Tally | None = None,
        say: Callable[[str], None] = lambda line: None,
        probabilities: bool = True,
    ) -> Counter[str]:
        """Copy answers from the user's cache, and send the other questions to the model, which is loaded if needed.

        If ``probabilities``, the first answer without token probabilities ends the run. ``budget.reason`` tells why a
        run ended early. Returns the number of distinct questions by state: "probabilities" and "text" for answers with
        and without token probabilities, "refused", and "unasked" for questions without an answer.

        Raises ShoeError if all further questions would fail, and InputError if the file cannot be read or written, or
        has answers of another model.
        """
        budget, tally = budget or Budget(), tally or Tally(self._config.model)
        self._ledger.refresh()
        keys = self._keys(questions)
        if self._cache and not budget.stopping:  # also if all are answered: a killed run may not have cached the last
            self._cache.add_ledger()
        if not self._answered(keys).all() and not budget.stopping:
            if not self.cluster and not self.path.exists():
                plan = self.plan(questions, probabilities=probabilities)
                _ = self._backend if plan.known < plan.total else None  # first: an error must not leave an empty file
            with writing(self.path, self._identity, lambda: budget.stopping, say) as writer:
                if writer is not None:
                    self._ledger.refresh()
                    for entry in self._cached(questions, probabilities):
                        writer.append(answer_line(entry))
                        tally.cached += 1
                    writer.flush()
                    self._ledger.refresh(writer.synced)
                    tally.known = int(self._answered(keys).sum())
                    tally.total = len(keys) - tally.known
                    config = self._config
                    names = (config.model, getattr(config, "base_url", "").partition("?")[0]) if config.asks else ()
                    terms = Terms(config.price or Price(), config.sampling(), config.asks, "", *names)
                    options: dict[str, Any] = {"probabilities": probabilities, "say": say, "cache": self._cache}
                    recorder = AnswerRecorder(self._ledger, writer, budget, tally, terms, **options)
                    if tally.total and self.cluster:
                        asks = self.unanswered(questions)
                        spread(self.cluster, self._config, asks, tally.total, recorder, self._beside)
                    elif tally.total:
                        self._backend(self.unanswered(questions), recorder)
                    writer.flush()
                    recorder.end()
                    self._ledger.refresh(writer.synced)
        return Counter(_NAMES.get(state, "unasked") for state in self._ledger.states(keys).tolist())

    def measure(
        self, questions: Questions, left: int, batch: int, budget: Budget, display: Progress, *, probabilities: bool
    ) -> tuple[float, int] | None:
        """Measure the time per question on two batches, after a first batch that loads and warms up the model.

        The answers are recorded. ``left`` is the number of questions without an answer, ``batch`` the batch size.
        Returns (seconds per question, number of timed questions); None if fewer than eight batches are left, or if the
        run was stopped.
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

    def earlier_seconds(self) -> float | None:
        """Return the median seconds of the latest stored answers, per concurrent request; None if there are none."""
        latest = (entry["answer"].get("seconds") for entry in answers(self.path, _LATEST))
        seconds = [value for value in latest if value is not None]
        return median(seconds) / self._config.at_once if seconds else None

    def ask_shown(
        self, questions: Questions, budget: Budget, display: Progress, *, probabilities: bool
    ) -> Counter[str]:
        """Do :meth:`ask`, showing progress. Ctrl-C acts as a used-up budget; a second raises KeyboardInterrupt."""
        tally = Tally("answers", is_unpriced=self._config.asks and self._config.price is None)
        done, counts, errors = Event(), Counter[str](), list[BaseException]()
        more: dict[str, Any] = {"tally": tally, "say": display.say, "probabilities": probabilities}

        def work() -> None:
            try:
                counts.update(self.ask(questions, budget=budget, **more))
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        # Python waits at its exit for threads of executors, but not for this one.
        Thread(target=work, name="shoe-ask", daemon=True).start()
        wait_with_progress(done, [tally], budget, display)
        if errors:
            raise errors[0]
        return counts

    def read(self) -> Iterator[Answer]:
        """Yield one answer (perhaps a refusal) to each question in the file; of several answers, the first."""
        self._ledger.refresh()
        seen: set[str] = set()
        for entry in answers(self.path):
            (key,) = entry["keys"]
            if key not in seen:
                seen.add(key)
                yield answer_of(entry)

    def answers_to(self, questions: Iterable[Question]) -> Iterator[Answer]:
        """Yield the recorded answers to the given questions, in order; questions without an answer are skipped.

        Image name and pair are those of the questions, because file names and detection scores may have changed.
        """
        by_key = {answer.key: answer for answer in self.read()}
        for question in questions:
            if answer := by_key.get(Ask(question, self._identity).key.hex()):
                yield msgspec.structs.replace(answer, **{name: question.about.get(name) for name in ("image", "pair")})

    def _keys(self, questions: Questions) -> Keys:
        return as_keys(b"".join(dict.fromkeys(Ask(question, self._identity).key for question in questions())))

    def _answered(self, keys: Keys) -> Any:
        return self._ledger.states(keys) != State.UNRATED

    def unanswered(self, questions: Questions) -> Iterator[Ask]:
        """Yield a request for each distinct question to which no answer has been read from the file."""
        seen: set[bytes] = set()
        for question in questions():
            ask = Ask(question, self._identity)
            if ask.key not in seen and not self._answered(as_keys(ask.key))[0]:
                seen.add(ask.key)
                yield ask
