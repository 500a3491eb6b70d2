"""Rate the planned pairs with all raters.

As in the SHOE paper, the first rater rates all verb pairs, and the other raters only the pairs that it did not rate 0;
here also a sample of the others, to measure the error of this prefilter. The order of answers does not matter.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Mask, hash_numbers
from shoe.core.errors import ShoeError
from shoe.lexicon.senses import Part
from shoe.lexicon.store import lexicon
from shoe.llm.budget import Budget
from shoe.llm.ledger import State, pending
from shoe.llm.recorder import Progress, Tally, wait_with_progress
from shoe.maps.planning import Plan, Plans, plan_pairs
from shoe.maps.prompts import Subject
from shoe.maps.session import Raters
from shoe.similarity import RatedPairs
from shoe.similarity.ensemble import MISSING

PAPER = (0.00245, 0.01318)
"""Fraction of the paper's sample of zeros that another model did not rate 0: lowest and highest over the models."""


class Disagreement(NamedTuple):
    """Disagreement of one rater with the first rater, on a sample of pairs that the first rater rated 0.

    The rater rated ``rated`` of these pairs, and ``not_zero`` of them 1 or more: a fraction ``share``, 0 to 1, with the
    95 % confidence interval (Wilson) among all pairs that the first rater rated 0.
    """

    rated: int
    not_zero: int
    share: float
    interval_95: list[float]

    @classmethod
    def from_counts(cls, rated: int, not_zero: int) -> Self:
        """Return the disagreement with the interval of these counts."""
        from scipy.stats import binomtest

        interval = binomtest(not_zero, rated).proportion_ci(method="wilson")
        return cls(rated, not_zero, not_zero / rated, [float(interval.low), float(interval.high)])


@dataclass(slots=True, eq=False)
class Rated:
    """Ratings of a plan with n questions, in C columns (raters) of a similarity map.

    Attributes:
        states: (n, C) rating 0 to 4, or a negative state (:class:`shoe.llm.ledger.State`).
        asked: (n, C) mask of the questions that the column's rater is to answer; the prefilter excludes the others.
        cached: (C,) number of answers that came from the user's cache of answers.
        sampled: (s,) indices of the sampled questions that the first rater rated 0; None without a prefilter.
        zeros: number of questions that the first rater rated 0.
        disagreements: disagreement with the first rater, by the name of each other column that has ratings.
    """

    plan: Plan
    states: NDArray[np.int8]
    asked: NDArray[np.bool_]
    cached: Indices
    sampled: Indices | None = None
    zeros: int = 0
    disagreements: dict[str, Disagreement] = field(default_factory=dict)


class Outcome(NamedTuple):
    """Ratings of all runs so far by part ("verb", "object", "interaction"), and this run's cost per rater."""

    parts: Mapping[Subject, Rated]
    tallies: Sequence[Tally]


def rate(
    raters: Raters, plans: Plans, budget: Budget, display: Progress | None = None, *, sample: int | None = None
) -> Outcome:
    """Rate the planned pairs with all raters, until everything is rated or the budget is used up.

    Return all stored answers about these pairs, also from earlier runs. Ctrl-C ends the run early without an error, and
    ``budget.reason`` is then "interrupted"; a second Ctrl-C raises KeyboardInterrupt. ``sample`` replaces the number in
    raters.toml of pairs rated 0 by the first rater that the other raters rate nevertheless. Raise ShoeError if a rater
    cannot continue; answers to its running requests are stored first.
    """
    columns = len(raters.columns)
    parts = {}
    for part, plan in plans.items():
        states = np.full((len(plan), columns), State.UNRATED, np.int8)
        parts[part] = Rated(plan, states, np.zeros(states.shape, bool), np.zeros(columns, np.int64))
    configs = [session.config for session in raters.sessions]
    outcome = Outcome(parts, [Tally(c.name, is_unpriced=c.chats and c.price is None) for c in configs])
    if any(len(plan) for plan in plans.values()):
        _Run(raters, outcome, budget, display).work(raters.file.ensemble.sample if sample is None else sample)
    budget.cached += sum(int(rated.cached.sum()) for rated in parts.values())
    return outcome


def known(raters: Raters, plans: Plans, *, sample: int | None = None) -> Outcome:
    """Return stored and cached ratings of the planned pairs, in the form of :func:`rate`; no rater is queried."""
    return rate(raters, plans, Budget(reason="known"), sample=sample)


def rate_pairs(
    raters: Raters, pairs: Mapping[Part, Sequence[tuple[str, str]]], budget: Budget, display: Progress | None = None
) -> dict[Part, RatedPairs]:
    """Rate pairs of synsets; return them with one column of ratings per name in ``raters.columns``.

    ``pairs`` are (class synset, synset) names; pairs of a synset with itself are ignored, and an unknown name raises
    OptionError. With a prefilter in raters.toml, pairs rated 0 by the first rater are not sent to others. Pairs are
    omitted as long as a rater has still to answer.
    """
    plans = {part: plan_pairs(part, names) for part, names in pairs.items()}
    outcome = rate(raters, plans, budget, display, sample=0)
    found = {}
    for part in pairs:
        rated = outcome.parts[part]
        is_open: Mask = np.any(rated.asked & pending(rated.states), axis=1)
        found[part] = rated_pairs(rated)[~is_open[rated.plan.question]]
    return found


def rated_pairs(rated: Rated) -> RatedPairs:
    """Return the m pairs of a plan with their (m, C) ratings by the C raters of the map; -1 marks a missing rating."""
    ratings = np.maximum(rated.states, MISSING)[rated.plan.question]
    return RatedPairs(rated.plan.class_synset, rated.plan.synset, ratings)


class _Run:
    """One run, with a thread per rater. The ratings of the first rater decide which pairs the other raters rate."""

    def __init__(self, raters: Raters, outcome: Outcome, budget: Budget, display: Progress | None) -> None:
        self._raters, self._tallies, self._budget, self._display = raters, outcome.tallies, budget, display
        self._parts = {part: rated for part, rated in outcome.parts.items() if len(rated.plan)}
        ensemble = raters.file.ensemble
        self._filtered = [part for part in self._parts if part in ensemble.prefilter and len(raters.sessions) > 1]
        self._passed_on: dict[Subject, Indices] = {}
        self._first_ended, self._all_ended = Event(), Event()

    def work(self, sample: int) -> None:
        for rated in self._parts.values():
            _ = rated.plan.texts  # cached here, so that the threads do not compute it at the same time
        quiet, errors, running = self._budget.stopping, list[BaseException](), list(range(len(self._raters.sessions)))

        def work(number: int) -> None:
            try:
                if number == 0:
                    self._run_first(sample)
                else:
                    self._run_other(number)
            except BaseException as error:  # ends the work of all raters
                errors.append(error)
                self._budget.stop("failed")
            finally:
                if number == 0:
                    self._first_ended.set()
                running.remove(number)
                if not running:
                    self._all_ended.set()

        for number, session in enumerate(self._raters.sessions):
            Thread(target=work, args=(number,), name=f"shoe-{session.config.name}", daemon=True).start()
        wait_with_progress(self._all_ended, self._tallies, self._budget, self._display, quiet=quiet)
        if errors:
            raise next((error for error in errors if isinstance(error, ShoeError)), errors[0])
        others = range(self._raters.sessions[0].columns.stop, len(self._raters.columns))
        for rated in self._parts.values():
            for column in others if rated.sampled is not None else ():
                states = rated.states[rated.sampled, column]
                if count := int((states >= 0).sum()):
                    found = Disagreement.from_counts(count, int((states > 0).sum()))
                    rated.disagreements[self._raters.columns[column]] = found

    def _run_first(self, sample: int) -> None:
        self._rate(0, {part: np.arange(len(rated.plan)) for part, rated in self._parts.items()})
        for part in self._filtered:
            rated = self._parts[part]
            first = rated.states[:, self._raters.sessions[0].columns]
            passed_on, zero = apply_prefilter(first)
            zeros = np.flatnonzero(zero)
            rated.zeros = len(zeros)
            rated.sampled = sample_zeros(rated.plan, zeros, sample, self._raters.file.ensemble.seed)
            passed_on[rated.sampled] = True
            # In a shard, the other raters start only after the first rater has answered in all shards.
            if self._raters.shard and pending(first).any():
                passed_on[:] = False
            self._passed_on[part] = np.flatnonzero(passed_on)

    def _run_other(self, number: int) -> None:
        self._rate(number, {p: np.arange(len(of.plan)) for p, of in self._parts.items() if p not in self._filtered})
        if self._filtered:
            self._first_ended.wait()
            self._rate(number, self._passed_on)

    def _rate(self, number: int, questions: Mapping[Subject, Indices]) -> None:
        session = self._raters.sessions[number]
        for part, rows in questions.items():
            self._parts[part].asked[rows, session.columns] = True
        if self._budget.stopping and not session.has_answers():
            return  # no request may be made, and no answer is stored
        wanted = [(self._parts[part].plan, rows) for part, rows in questions.items()]
        say = self._display.say if self._display else lambda _: None
        found = session.rate(wanted, self._budget, self._tallies[number], say)
        for (part, rows), (states, cached) in zip(questions.items(), found, strict=True):
            self._parts[part].states[rows, session.columns] = states
            self._parts[part].cached[session.columns] += cached.sum(axis=0)


def apply_prefilter(states: NDArray[np.int8]) -> tuple[Mask, Mask]:
    """Return (n,) masks of the questions to send to the other raters, and of those that the first rater rated 0.

    ``states`` are the (n, repeats) ratings or negative states of the first rater. A question is sent if one is above 0,
    or if all are final and one of them is not 0, for example a refusal. In the second mask, all are 0.
    """
    zero: Mask = (states == 0).all(axis=1)
    passed_on: Mask = (states > 0).any(axis=1) | ~(zero | pending(states).any(axis=1))
    return passed_on, zero


def sample_zeros(plan: Plan, zeros: Indices, count: int, seed: int) -> Indices:
    """Return ``count`` random elements of ``zeros`` (indices of questions), ascending, or all if there are fewer.

    The choice depends on the seed and on the names of the senses, and not on the indices.
    """
    if len(zeros) <= count:
        return zeros
    names = lexicon().keys
    rank = hash_numbers(hash_numbers(names[plan.first[zeros]]) ^ names[plan.second[zeros]]) ^ np.uint64(seed)
    return np.sort(zeros[np.argsort(hash_numbers(rank), kind="stable")[:count]])
