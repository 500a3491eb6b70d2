"""The file of answers: every raw answer as it came, kept before it is read, so that nothing is ever asked twice.

It is a ledger (:mod:`shoe.llm.ledger`) of one model and how it decodes. A key stands for pictures,
boxes, prompt, model and decoding; so one file may hold several ways to ask, and those of other pictures. Kills leave
whole lines. Answers without probabilities of tokens are answers: scores that need some are refused, not made up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from shoe.engines.cluster import Cluster
from shoe.llm.budget import Budget, Usage
from shoe.llm.ledger import Ledger, answers
from shoe.llm.ledger_merge import merge
from shoe.llm.ledger_writer import writing
from shoe.llm.recorder import Tally
from shoe.llm.states import Keys, State, as_keys
from shoe.predict.ask import Ask, Question
from shoe.predict.backend import Backend, BackendConfig
from shoe.predict.keeping import AnswerRecorder, Kept, answer_of, parsed
from shoe.predict.records import Answer
from shoe.predict.spreading import spread


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
        self.path = path
        self.cluster: Cluster | None = None
        self._config = config
        self._beside = beside or path
        self._identity = config.identity()
        self._ledger = Ledger(path, self._identity, parsed, base)

    @cached_property
    def _backend(self) -> Backend:
        return self._config.open()

    def merge(self, say: Callable[[str], None]) -> int:
        """Take over the answers that others kept for this file; see :func:`shoe.llm.ledger_merge.merge`."""
        return merge(self.path, self._identity, parsed, say, self._beside)

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
            ready = self.cluster or self.path.exists()
            backend = None if ready else self._backend  # one that cannot be opened leaves no file
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
                    if tally.total:
                        asks = self.unanswered(questions)
                        if self.cluster:
                            spread(self.cluster, self._config, asks, tally.total, recorder, self._beside)
                        else:
                            (backend or self._backend).ask(asks, recorder)
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
                yield answer_of(entry)

    def of(self, questions: Iterable[Question]) -> Iterator[Answer]:
        """Go through the answers to some questions, in their order; what is unanswered is left out."""
        kept = {answer.key: answer for answer in self.read()}
        for question in questions:
            found = kept.get(Ask(question, self._identity).key.hex())
            if found is not None:  # what it was kept of may be a picture of another name, or detections of other scores
                about = {name: question.about.get(name) for name in ("image", "pair")}
                yield msgspec.structs.replace(found, **about)

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
