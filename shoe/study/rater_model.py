"""Each rater's bias and noise: people's among themselves, and that of a map's raters against people."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Mask

_STEPS, _STILL = 500, 1e-9
_LEAST_NOISE = 0.05
"""A rater that agreed with the estimate to the digit would otherwise become the estimate."""


@dataclass(frozen=True, slots=True, eq=False)
class RaterModel:
    """Rating of rater j on item i = item + bias of the rater + normal noise of the rater.

    Attributes:
        item: (N,) estimated true rating, 0..4; NaN for items that no person rated.
        bias: (R,) points above (below) what people say on average.
        noise: (R,) standard deviation of what is left.
    """

    item: Floats
    bias: Floats
    noise: Floats


def rater_model(values: Floats, anchors: int, weight: Floats | None = None) -> RaterModel:
    """Estimate by maximum likelihood: items are normal, raters have a bias and a noise of their own (EM).

    Items are estimated from people alone: raters of one map share errors, and would outvote them.

    Args:
        values: (N, R) ratings 0..4, NaN where missing; every rater has some, of items that people rated.
        anchors: how many of the raters, the first ones, are people.
        weight: (N,) of items, by which each counts in what is estimated of raters; None where each counts once.
    """
    given: Mask = ~np.isnan(values)
    known: Mask = np.logical_or.reduce(given[:, :anchors], axis=1)
    given &= known[:, None]
    counts = given if weight is None else given * weight[:, None]
    values, number = np.where(given, values, 0), counts.sum(axis=0)
    # What is uncertain of an item is hidden from who estimates it, and shows in the differences of who does not.
    sign = np.where(np.arange(values.shape[1]) < anchors, 1, -1)
    bias, variance = np.zeros(values.shape[1]), np.ones(values.shape[1])
    mean, spread = float(values[given].mean()), max(float(values[given].var()), _LEAST_NOISE**2)
    item, before = np.full(len(values), mean), -np.inf
    for _ in range(_STEPS):
        each = (given / variance)[:, :anchors]
        precision = 1 / spread + each.sum(axis=1)
        item = (mean / spread + (each * (values - bias)[:, :anchors]).sum(axis=1)) / precision
        bias = (counts * (values - item[:, None])).sum(axis=0) / number
        bias = bias - bias[:anchors].mean()
        off = counts * ((values - bias - item[:, None]) ** 2 + sign / precision[:, None])
        variance = np.maximum(off.sum(axis=0) / number, _LEAST_NOISE**2)
        of_known = None if weight is None else weight[known]
        mean = float(np.average(item[known], weights=of_known))
        spread = float(np.average(((item - mean) ** 2 + 1 / precision)[known], weights=of_known))
        now = float(np.log(variance).sum() + np.log(spread) + bias @ bias)
        if abs(now - before) < _STILL:
            break
        before = now
    return RaterModel(np.where(known, item, np.nan), bias, np.sqrt(variance))
