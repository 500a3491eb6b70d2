"""Rating of whole plans: by the first rater, then by the others, all at the same time.

The result follows from the ledgers alone, not from the order of the answers. The prefilter is that of the SHOE paper,
where Qwen3-32B rated all verb pairs and the other four models only those that were not 0. A sample of the zeros is
rated by the others all the same, which measures the error of the prefilter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Mask, mixed
from shoe.core.errors import ShoeError
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.llm.budget import Budget
from shoe.llm.ledger import State, pending
from shoe.llm.recorder import Progress, Tally, watch
from shoe.maps.planning import Plan, Plans, plan_pairs
from shoe.maps.prompts import Subject
from shoe.maps.session import Raters
from shoe.similarity import RatedPairs
from shoe.similarity.ensemble import MISSING

PAPER = (0.00245, 0.01318)
"""Lowest and highest share of the paper's sample that a model did not rate 0."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Number of pairs of the sample that one rater rated 1 or more, while the first rater rated all of them 0.

    Attributes:
        rated: pairs of the sample with a rating; refused ones, for example, have none.
        not_zero: pairs rated 1 or more.
    """

    rated: int
    not_zero: int

    @property
    def share(self) -> float:
        """``not_zero`` of ``rated``; 0 to 1."""
        return self.not_zero / self.rated

    @property
    def interval(self) -> tuple[float, float]:
        """95 % confidence interval of the share among all zeros, by Wilson's score (1927)."""
        from scipy.stats import binomtest

        found = binomtest(self.not_zero, self.rated).proportion_ci(method="wilson")
        return float(found.low), float(found.high)


@dataclass(slots=True, eq=False)
class Rated:
    """Ratings of one plan.

    Attributes:
        states: (n, C) per column of the map.
        asked: (n, C) whether the column's rater rates the pair; the prefilter excludes pairs.
        sampled: rows of the plan that the first rater rated 0 and the others rate all the same; None without prefilter.
        zeros: number of pairs that the first rater rated 0.
        disagreements: per column of the others, their ratings above 0 of the sample; none for one without ratings.
    """

    plan: Plan
    states: NDArray[np.int8]
    asked: NDArray[np.bool_]
    sampled: Indices | None = None
    zeros: int = 0
    disagreements: Mapping[str, Disagreement] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """Result of a run.

    Attributes:
        tallies: counts of each rater in this run.
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
        sample: number of the first rater's zeros that the others rate; as raters.toml says if None.

    Returns:
        Everything that the ledgers hold of the plans, including what this run added.

    Raises:
        ShoeError: when a rater cannot go on; answers to the other requests in flight are kept.
        MissingExtraError: if WordNet's glosses cannot be read.
        KeyboardInterrupt: at the second interruption.
    """
    columns = len(raters.columns)
    parts = {
        part: Rated(plan, np.full((len(plan), columns), State.UNRATED, np.int8), np.zeros((len(plan), columns), bool))
        for part, plan in plans.items()
    }
    outcome = Outcome(parts, [Tally(session.config.name) for session in raters.sessions])
    if any(len(plan) for plan in plans.values()):
        _Run(raters, outcome, budget, display).work(raters.file.ensemble.sample if sample is None else sample)
    return outcome


def known(raters: Raters, plans: Plans, *, sample: int | None = None) -> Outcome:
    """Return the ratings of plans in the ledgers, without asking a rater; otherwise as :func:`rate`."""
    return rate(raters, plans, Budget(reason="requests"), sample=sample)


def rate_pairs(
    raters: Raters,
    pairs: Mapping[Part, Sequence[tuple[str, str]]],
    budget: Budget,
    display: Progress | None = None,
) -> dict[Part, RatedPairs]:
    """Have all raters rate some pairs; pairs that the first rater rates 0 are not shown to the others.

    Args:
        pairs: per part of speech (class synset, synset), by name; a synset with itself is not rated.
        budget: budget of the run; afterwards it holds the cost, and the reason if the run ended early.

    Returns:
        Per part, the ratings of ``raters.columns``. A pair without any is left out if a later run may have it answered.

    Raises:
        OptionError: for a name that is no synset's.
        ShoeError: as :func:`rate`.
    """
    plans = {part: plan_pairs(part, wanted) for part, wanted in pairs.items()}
    outcome = rate(raters, plans, budget, display, sample=0)
    found = {}
    for part in pairs:
        rated = outcome.parts[part]
        open_, without = rated.asked & pending(rated.states), rated.states < 0
        waits: Mask = np.logical_or.reduce(open_, axis=1) & np.logical_and.reduce(without, axis=1)
        found[part] = rated_pairs(rated)[~waits[rated.plan.question]]
    return found


def rated_pairs(rated: Rated) -> RatedPairs:
    """Return the rows of a plan of senses with their ratings, including rows without any."""
    ratings = np.maximum(rated.states, MISSING)[rated.plan.question]
    return RatedPairs(rated.plan.class_synset, rated.plan.synset, ratings)


class _Run:
    """One run: a thread for each rater; the first rater's ratings decide which pairs the others get."""

    def __init__(self, raters: Raters, outcome: Outcome, budget: Budget, display: Progress | None) -> None:
        self._raters, self._tallies, self._budget, self._display = raters, outcome.tallies, budget, display
        self._parts = {part: rated for part, rated in outcome.parts.items() if len(rated.plan)}
        ensemble = raters.file.ensemble
        self._filtered = [part for part in self._parts if part in ensemble.prefilter and len(raters.sessions) > 1]
        self._onward: dict[Subject, Indices] = {}
        self._first_ended, self._all_ended = Event(), Event()

    def work(self, sample: int) -> None:
        """Start all raters, show their progress until the last has ended, and compare them on the sample."""
        for rated in self._parts.values():
            _ = rated.plan.texts  # read once, before threads would do so
        quiet, errors, left = self._budget.stopping, list[BaseException](), list(range(len(self._raters.sessions)))

        def work(number: int) -> None:
            try:
                if number == 0:
                    self._work_of_first(sample)
                else:
                    self._work_of_other(number)
            except BaseException as error:  # ends the work of all
                errors.append(error)
                self._budget.stop("failed")
            finally:
                if number == 0:
                    self._first_ended.set()
                left.remove(number)
                if not left:
                    self._all_ended.set()

        for number, session in enumerate(self._raters.sessions):
            Thread(target=work, args=(number,), name=f"shoe-{session.config.name}", daemon=True).start()
        watch(self._all_ended, self._tallies, self._budget, self._display, quiet=quiet)
        if errors:
            raise next((error for error in errors if isinstance(error, ShoeError)), errors[0])
        others = range(self._raters.sessions[0].columns.stop, len(self._raters.columns))
        for rated in self._parts.values():
            if rated.sampled is not None:
                given = {self._raters.columns[column]: rated.states[rated.sampled, column] for column in others}
                rated.disagreements = {
                    name: Disagreement(count, int((states > 0).sum()))
                    for name, states in given.items()
                    if (count := int((states >= 0).sum()))
                }

    def _work_of_first(self, sample: int) -> None:
        self._rate(0, {part: np.arange(len(rated.plan)) for part, rated in self._parts.items()})
        for part in self._filtered:
            rated = self._parts[part]
            first = rated.states[:, self._raters.sessions[0].columns]
            onward, zero = goes_on(first)
            zeros = np.flatnonzero(zero)
            rated.zeros = len(zeros)
            rated.sampled = sample_of(rated.plan, zeros, sample, self._raters.file.ensemble.seed)
            onward[rated.sampled] = True
            if self._raters.shard and pending(first).any():
                onward[:] = False  # one part of a job knows what goes on once all parts have the first rater's answers
            self._onward[part] = np.flatnonzero(onward)

    def _work_of_other(self, number: int) -> None:
        whole = {p: np.arange(len(rated.plan)) for p, rated in self._parts.items() if p not in self._filtered}
        self._rate(number, whole)
        if self._filtered:
            self._first_ended.wait()
            self._rate(number, self._onward)

    def _rate(self, number: int, rows: Mapping[Subject, Indices]) -> None:
        """Have a rater rate rows of the plans, and record its answers."""
        session = self._raters.sessions[number]
        for part, some in rows.items():
            self._parts[part].asked[some, session.columns] = True
        if self._budget.stopping and not session.ledger.exists():
            return  # there is nothing to look up
        wanted = [(self._parts[part].plan, some) for part, some in rows.items()]
        found = session.rate(
            wanted, self._budget, self._tallies[number], self._display.say if self._display else lambda _: None
        )
        for (part, some), states in zip(rows.items(), found, strict=True):
            self._parts[part].states[some, session.columns] = states


def goes_on(states: NDArray[np.int8]) -> tuple[Mask, Mask]:
    """Return which of n pairs the other raters get, by the first one's (n, repeats) states.

    Returns:
        (n,) whether a pair goes on: rated above 0 in some repeat, or refused or unparsable, which are no zeros; and
        (n,) whether it is a zero: rated 0 in all. A pair that the first rater has not rated yet is neither.
    """
    zero: Mask = (states == 0).all(axis=1)
    onward: Mask = (states > 0).any(axis=1) | ~(zero | pending(states).any(axis=1))
    return onward, zero


def sample_of(plan: Plan, zeros: Indices, count: int, seed: int) -> Indices:
    """Draw some of the zeros at random; a pair's rank depends only on the seed and the pair's names.

    Args:
        zeros: rows of the plan, ascending.

    Returns:
        Rows of the plan, ascending.
    """
    if len(zeros) <= count:
        return zeros
    names = lexicon().keys
    rank = mixed(mixed(names[plan.first[zeros]]) ^ names[plan.second[zeros]]) ^ np.uint64(seed)
    drawn: Indices = np.sort(zeros[np.argsort(mixed(rank), kind="stable")[:count]])
    return drawn
