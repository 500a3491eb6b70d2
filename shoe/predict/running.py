"""A run of questions: how long it will take, measured on a few of them, and all of it, shown while it goes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from threading import Event, Thread

from shoe.llm.budget import Budget
from shoe.llm.progress import Progress, watch
from shoe.llm.recorder import Tally
from shoe.predict.answers import Answers
from shoe.predict.ask import Question

_BATCHES = 2
_WORTH_MEASURING = 4

Questions = Callable[[], Iterable[Question]]


@dataclass(frozen=True, slots=True)
class Measured:
    """How long questions take.

    Attributes:
        seconds: of one, beside others.
        questions: on how many it was measured; their answers are kept.
    """

    seconds: float
    questions: int


class Run:
    """Questions to one model, asked as far as a budget allows."""

    def __init__(
        self, answers: Answers, questions: Questions, budget: Budget, display: Progress, *, probabilities: bool
    ) -> None:
        """Take what is to be done.

        Args:
            answers: where answers are kept.
            questions: makes all questions.
            budget: of the run.
            display: shows how it goes.
            probabilities: whether answers without probabilities of tokens are of no use.
        """
        self._answers, self._questions, self._budget, self._display = answers, questions, budget, display
        self._probabilities = probabilities

    def measure(self, left: int, batch: int) -> Measured | None:
        """Ask a few questions, and time them; None where few are left, or the budget ends it.

        The first batch is not timed: it loads and warms up the model.

        Args:
            left: how many are not answered.
            batch: how many are asked at once.
        """
        count = _BATCHES * batch
        if left < _WORTH_MEASURING * count:
            return None
        for asked in (batch, count):
            some = [ask.question for ask in islice(self._answers.unanswered(self._questions), asked)]
            start = time.monotonic()
            self._ask(lambda some=some: some)  # type: ignore[misc]
            if self._budget.stopping:
                return None
        return Measured((time.monotonic() - start) / count, count)

    def ask(self) -> Counter[str]:
        """Ask what is not answered, and show how it goes; an interruption ends the run as an exhausted budget does.

        Returns:
            How many questions are in which state; see :meth:`Answers.ask`.

        Raises:
            ShoeError: when no further question makes sense.
            KeyboardInterrupt: at the second interruption.
        """
        return self._ask(self._questions)

    def _ask(self, questions: Questions) -> Counter[str]:
        tally = Tally("answers")
        done, found, errors = Event(), Counter[str](), list[BaseException]()

        def work() -> None:
            try:
                found.update(
                    self._answers.ask(
                        questions,
                        budget=self._budget,
                        tally=tally,
                        say=self._display.say,
                        probabilities=self._probabilities,
                    )
                )
            except BaseException as error:
                errors.append(error)
            finally:
                done.set()

        Thread(target=work, name="shoe-ask", daemon=True).start()
        watch(done, [tally], self._budget, self._display)
        if errors:
            raise errors[0]
        return found
