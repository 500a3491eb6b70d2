"""mAP of a state, fast: predictions are ranked once, and a fix only moves or removes some."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.diagnosis.oracles import State
from shoe.diagnosis.scope import Scope
from shoe.protocols.options import StrictOptions
from shoe.scoring.entries import ClassScores, Means, Rule
from shoe.scoring.ranking import FixedRanking


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """All predictions of a scope, ranked.

    Attributes:
        scope, options: what is ranked, and how classes are averaged.
        ranking: the predictions by class and score.
    """

    scope: Scope
    options: StrictOptions
    ranking: FixedRanking

    @classmethod
    def of(cls, scope: Scope, options: StrictOptions) -> Ranking:
        """Rank the predictions of a scope."""
        return cls(scope, options, FixedRanking.of(scope.hoi, scope.by_rank, len(scope.task.truth.classes)))

    def means(self, state: State) -> Means:
        """Score a state (protocols.md 8.5; IJCV paper 2.3)."""
        scope, classes = self.scope, self.scope.task.truth.classes
        false = state.kept.copy()
        false[state.true_positives] = False
        found = np.flatnonzero(state.found_by >= 0)
        truths = np.bincount(scope.truth_hoi[state.counted], minlength=len(classes))
        lists = self.ranking.lists(false, state.found_by[found], scope.truth_hoi[found], truths, self.options.ap)
        every = np.ones(len(classes), bool)
        return ClassScores.of(lists, truths, every, Rule.of(self.options)).means(classes.rare)
