"""Raters whose answers say that they did not look: by rules that are fixed before anybody rates."""

from __future__ import annotations

import numpy as np

from shoe.core.statistics import counts_of_levels
from shoe.similarity.ensemble import MISSING
from shoe.study.agreement import LEVELS
from shoe.study.ratings import StudyRatings

GOLD_SHARE, GOLD_REACH = 0.75, 1
ONE_LEVEL_SHARE, FEWEST = 0.95, 20
MEDIAN_SECONDS = 1.5
RULES = (
    f"fewer than {GOLD_SHARE:.0%} of the gold items within {GOLD_REACH} of the expected rating",
    f"one and the same rating for {ONE_LEVEL_SHARE:.0%} of {FEWEST} or more items",
    f"a median time below {MEDIAN_SECONDS} seconds an item",
)
"""In words, for reports."""


def excluded(study: StudyRatings) -> dict[str, list[str]]:
    """Name the raters that the rules exclude, and the rules that do; a rule without data excludes nobody."""
    found: dict[str, list[str]] = {}
    for j, rater in enumerate(study.raters):
        given = study.first[:, j] != MISSING
        gold = given & ~study.measured
        levels = counts_of_levels(study.first[given & study.measured, j : j + 1], LEVELS).sum(axis=0)
        took = study.seconds[given & ~np.isnan(study.seconds[:, j]), j]
        near = np.abs(study.first[gold, j] - study.gold[gold]) <= GOLD_REACH
        broken = (
            gold.any() and near.mean() < GOLD_SHARE,
            levels.sum() >= FEWEST and levels.max() >= ONE_LEVEL_SHARE * levels.sum(),
            len(took) > 0 and np.median(took) < MEDIAN_SECONDS,
        )
        if any(broken):
            found[rater] = [rule for rule, holds in zip(RULES, broken, strict=True) if holds]
    return found
