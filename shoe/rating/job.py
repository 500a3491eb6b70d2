"""Rating whole plans: the first rater, what goes on to the others, and all of them at the same time.

What comes out follows from the ledgers alone, not from the order in which answers came.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Mask
from shoe.core.errors import ShoeError
from shoe.lexicon.expressions import Part
from shoe.llm.budget import Budget
from shoe.llm.progress import Progress, watch
from shoe.llm.recorder import Tally
from shoe.llm.states import State, pending
from shoe.rating.planning import Plan, Plans, Subject, plan_pairs
from shoe.rating.prefilter import Disagreement, goes_on, sample_of
from shoe.rating.questions import texts_of
from shoe.rating.session import Raters
from shoe.similarity import RatedPairs
from shoe.similarity.ensemble import MISSING


@dataclass(frozen=True, slots=True, eq=False)
class Rated:
    """What is known of one plan.

    Attributes:
        plan: its n questions.
        states: (n, C) per column of the map.
        asked: (n, C) whether the column's rater is to be asked at all: the prefilter spares it the rest.
        sampled: rows of the plan that the first rater rated 0 and the others are shown all the same; None without
            prefilter.
        zeros: how many pairs it rated 0.
        disagreements: per column of the others, how often they did not rate those 0; none for one without ratings.
    """

    plan: Plan
    states: NDArray[np.int8]
    asked: NDArray[np.bool_]
    sampled: Indices | None
    zeros: int
    disagreements: Mapping[str, Disagreement]


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """What a run came to.

    Attributes:
        parts: per part of speech.
        tallies: what each rater did in this run.
    """

    parts: Mapping[Subject, Rated]
    tallies: Sequence[Tally]


def rate(
    raters: Raters,
    plans: Plans,
    budget: Budget,
    display: Progress | None = None,
    *,
    sample: int | None = None,
) -> Outcome:
    """Have all raters rate plans, as far as the budget allows.

    Interruption (Ctrl-C) ends the run as an exhausted budget does: see ``budget.reason``. A second one raises at once.

    Args:
        raters: all of them, ready.
        plans: per part of speech.
        budget: of the run.
        display: shows how it goes.
        sample: how many of the first rater's zeros the others are shown; as raters.toml says if None.

    Returns:
        All that the ledgers hold of the plans, what this run added included.

    Raises:
        ShoeError: when a rater cannot go on; what others had in flight is kept.
        MissingExtraError: if WordNet's glosses cannot be read.
        KeyboardInterrupt: at the second interruption.
    """
    run = _Run(raters, plans, budget, display, sample)
    run.work()
    return run.outcome()


def known(raters: Raters, plans: Plans, *, sample: int | None = None) -> Outcome:
    """Say what the ledgers hold of plans, asking nobody; otherwise as :func:`rate`."""
    return rate(raters, plans, Budget(reason="requests"), sample=sample)


def rate_pairs(
    raters: Raters,
    pairs: Mapping[Part, Sequence[tuple[str, str]]],
    budget: Budget,
    display: Progress | None = None,
) -> dict[Part, RatedPairs]:
    """Have all raters rate some pairs; the first rater's zeros go no further, and none of them is sampled.

    Args:
        raters: all of them, ready.
        pairs: per part of speech (class synset, synset), by name; a synset with itself is not rated.
        budget: of the run; it says afterwards what was spent, and why the run ended early, if it did.
        display: shows how it goes.

    Returns:
        Per part, the ratings of ``raters.columns``. A pair without any is left out if a later run may have it answered.

    Raises:
        OptionError: for a name that is no synset's.
        ShoeError: as :func:`rate`.
    """
    plans = {part: plan_pairs(part, wanted) for part, wanted in pairs.items()}
    outcome = rate(raters, plans, budget, display, sample=0)
    return {part: _final(outcome.parts[part]) for part in pairs}


def _final(rated: Rated) -> RatedPairs:
    open_, without = rated.asked & pending(rated.states), rated.states < 0
    waits: Mask = np.logical_or.reduce(open_, axis=1) & np.logical_and.reduce(without, axis=1)
    return rated_pairs(rated)[~waits[rated.plan.question]]


def rated_pairs(rated: Rated) -> RatedPairs:
    """The rows of a plan of senses with their ratings, those that nobody rated among them."""
    ratings = np.maximum(rated.states, MISSING)[rated.plan.question]
    return RatedPairs(rated.plan.class_synset, rated.plan.synset, ratings)


class _Run:
    """One run: a thread for each rater; the first one's says what goes on to the others."""

    def __init__(
        self,
        raters: Raters,
        plans: Plans,
        budget: Budget,
        display: Progress | None,
        sample: int | None,
    ) -> None:
        self._raters = raters
        self._given = plans
        self._plans = {part: plan for part, plan in plans.items() if len(plan)}
        self._budget = budget
        self._display = display
        self._sample = raters.file.ensemble.sample if sample is None else sample
        filtering = raters.file.ensemble.prefilter if len(raters.sessions) > 1 else ()
        self._filtered = [part for part in self._plans if part in filtering]
        self._tallies = [Tally(session.config.name) for session in raters.sessions]
        self._columns = np.split(
            np.arange(len(raters.columns)), np.cumsum([len(session.config.columns) for session in raters.sessions])
        )
        shape = {part: (len(plan), len(raters.columns)) for part, plan in plans.items()}
        self._states = {part: np.full(shape[part], State.UNRATED, np.int8) for part in plans}
        self._asked = {part: np.zeros(shape[part], np.bool_) for part in plans}
        self._zeros: dict[Subject, Indices] = {}
        self._sampled: dict[Subject, Indices] = {}
        self._onward: dict[Subject, Indices] = {}
        self._filtering = Event()
        self._ended: list[int] = []
        self._all_ended = Event()
        self._errors: list[BaseException] = []
        self._quiet = budget.stopping

    def work(self) -> None:
        """Start all raters and show how they go until the last has ended."""
        if not self._plans:
            return
        self._texts = {part: texts_of(plan) for part, plan in self._plans.items()}
        for number, session in enumerate(self._raters.sessions):
            Thread(target=self._guarded, args=(number,), name=f"shoe-{session.config.name}", daemon=True).start()
        watch(self._all_ended, self._tallies, self._budget, self._display, quiet=self._quiet)
        if self._errors:
            raise next((error for error in self._errors if isinstance(error, ShoeError)), self._errors[0])

    def _say(self, line: str) -> None:
        if self._display:
            self._display.say(line)

    def _guarded(self, number: int) -> None:
        """Do a rater's work; what it raises ends the work of all."""
        try:
            if number == 0:
                self._work_of_first()
            else:
                self._work_of_other(number)
        except BaseException as error:
            self._errors.append(error)
            self._budget.stop("failed")
        finally:
            if number == 0:
                self._filtering.set()
            self._ended.append(number)
            if len(self._ended) == len(self._raters.sessions):
                self._all_ended.set()

    def _work_of_first(self) -> None:
        self._rate(0, {part: np.arange(len(plan)) for part, plan in self._plans.items()})
        seed = self._raters.file.ensemble.seed
        for part in self._filtered:
            onward, zero = goes_on(list(self._states[part][:, self._columns[0]].T))
            self._zeros[part] = np.flatnonzero(zero)
            self._sampled[part] = sample_of(self._plans[part], self._zeros[part], self._sample, seed)
            onward[self._sampled[part]] = True
            self._onward[part] = np.flatnonzero(onward & self._is_filtered(part))

    def _is_filtered(self, part: Subject) -> bool:
        """Whether it is known what goes on: in one part of a job, once all parts have the first rater's answers."""
        first = self._states[part][:, self._columns[0]]
        return self._raters.shard is None or not bool(pending(first).any())

    def _work_of_other(self, number: int) -> None:
        self._rate(number, {p: np.arange(len(plan)) for p, plan in self._plans.items() if p not in self._filtered})
        if self._filtered:
            self._filtering.wait()
            self._rate(number, self._onward)

    def _rate(self, number: int, rows: Mapping[Subject, Indices]) -> None:
        """Have a rater answer rows of the plans, and note its answers."""
        session, columns = self._raters.sessions[number], self._columns[number].tolist()
        for part, some in rows.items():
            self._asked[part][np.ix_(some, columns)] = True
        if self._budget.stopping and not session.ledger.exists():
            return  # there is nothing to look up
        every = [
            asked
            for part, some in rows.items()
            for asked in session.questions(self._plans[part], some, self._texts[part])
        ]
        states = iter(session.rate(every, self._budget, self._tallies[number], self._say))
        for part, some in rows.items():
            for column in columns:
                self._states[part][some, column] = next(states)

    def outcome(self) -> Outcome:
        """Put together what is known."""
        return Outcome({part: self._rated(part, plan) for part, plan in self._given.items()}, self._tallies)

    def _rated(self, part: Subject, plan: Plan) -> Rated:
        sampled = self._sampled.get(part)
        disagreements = {}
        if sampled is not None:
            for column in range(len(self._columns[0]), len(self._raters.columns)):
                given = self._states[part][sampled, column]
                if found := int(np.count_nonzero(given >= 0)):
                    not_zero = int(np.count_nonzero(given > 0))
                    disagreements[self._raters.columns[column]] = Disagreement(found, not_zero)
        return Rated(
            plan=plan,
            states=self._states[part],
            asked=self._asked[part],
            sampled=sampled,
            zeros=len(self._zeros.get(part, ())),
            disagreements=disagreements,
        )
