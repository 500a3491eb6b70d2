"""The prefilter of the SHOE paper: what the first rater rates 0 goes no further, and how wrong that is.

The paper had Qwen3-32B rate all verb pairs and showed the other four models only those that were not 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Indices, Mask
from shoe.core.seeded import mixed
from shoe.lexicon.store import lexicon
from shoe.llm.states import States, pending
from shoe.rating.planning import Plan

PAPER = (0.00245, 0.01318)
"""Lowest and highest share of the paper's sample that a model did not rate 0."""


@dataclass(frozen=True, slots=True)
class Disagreement:
    """How often one rater gave 1 or more to pairs of the sample, all of which the first rater rated 0.

    Attributes:
        rated: pairs of the sample that it rated; those that it refused, say, are not among them.
        not_zero: of those, rated 1 or more.
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


def goes_on(first: Sequence[States]) -> tuple[Mask, Mask]:
    """Say which of n pairs the other raters are shown, by the first one's states for each repeat.

    Returns:
        (n,) whether a pair goes on: rated above 0 in some repeat, or refused or unparsable, which are no zeros; and
        (n,) whether it is a zero: rated 0 in all. A pair that the first rater has still to rate is neither.
    """
    states = np.stack(first)
    zero: Mask = (states == 0).all(axis=0)
    onward: Mask = (states > 0).any(axis=0) | ~(zero | pending(states).any(axis=0))
    return onward, zero


def sample_of(plan: Plan, zeros: Indices, count: int, seed: int) -> Indices:
    """Draw some of the zeros, at random by the seed and the pairs' names alone: each pair has a rank of its own.

    Args:
        plan: the pairs.
        zeros: rows of the plan, ascending.
        count: of pairs to draw.
        seed: of the draw.

    Returns:
        Rows of the plan, ascending.
    """
    if len(zeros) <= count:
        return zeros
    names = lexicon().keys
    rank = mixed(mixed(names[plan.first[zeros]]) ^ names[plan.second[zeros]]) ^ np.uint64(seed)
    drawn: Indices = np.sort(zeros[np.argsort(mixed(rank), kind="stable")[:count]])
    return drawn
