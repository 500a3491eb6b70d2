"""Rankings of models, and whether two of them agree."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

LOWER_IS_BETTER = ("gt_miss_rate", "prediction_miss_rate")
"""Figures, by the end of their key, of which the lowest is the best."""
_ROUNDING = 1e-12


def better(figure: str, a: float, b: float) -> bool:
    """Whether one value of a figure is better than another."""
    return (b - a if figure.endswith(LOWER_IS_BETTER) else a - b) > _ROUNDING


def ranks(figure: str, values: Sequence[float | None]) -> list[int | None]:
    """Rank of each value, 1 for the best; equal ones share the first of their ranks, what is None has none.

    >>> ranks("semantic:map", [0.3, 0.5, None, 0.5])
    [3, 1, None, 1]
    """
    known = [value for value in values if value is not None]
    return [None if value is None else 1 + sum(better(figure, other, value) for other in known) for value in values]


def kendall(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Kendall's tau-b of two rankings of the same models; None where one of them has all models equal.

    Each pair of models counts 1 where both rankings have the same one first and -1 where they differ; ties take part in
    neither, and in the denominator only of the ranking that has none there (Kendall 1945).

    >>> kendall([1, 2, 3], [1, 3, 2])
    0.3333333333333333
    """
    of_a, of_b = ([_order(of[i], of[j]) for i in range(len(of)) for j in range(i)] for of in (a, b))
    ordered = sum(map(abs, of_a)) * sum(map(abs, of_b))
    return sum(x * y for x, y in zip(of_a, of_b, strict=True)) / sqrt(ordered) if ordered else None


def _order(a: float, b: float) -> int:
    return (a - b > _ROUNDING) - (b - a > _ROUNDING)


def changes_places(a: Sequence[float], b: Sequence[float]) -> bool:
    """Whether two rankings have any two models in opposite orders."""
    return any(_order(a[i], a[j]) * _order(b[i], b[j]) < 0 for i in range(len(a)) for j in range(i))
