"""What is found when measures are held against people, and which of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Protocol, Self

from shoe.comparison.significance import LEVEL
from shoe.core.statistics import Interval, holm
from shoe.study.intervals import Figure, Scale

_SHARES = ("accuracy", "soft")


class Ranking(Protocol):
    """A figure that knows how it varies."""

    def figure(self, scale: Scale = ...) -> Figure:
        """The figure with its interval."""

    def minus(self, other: Self) -> Self:
        """The difference from another one, which varies together with it."""

    @property
    def p(self) -> float | None:
        """Of the figure being 0."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A figure of one measure less that of another.

    Attributes:
        figure: its name.
        first, second: the measures.
        value: the difference, with its interval.
        p: of there being none; None where nothing varies.
        adjusted: by Holm's procedure over all pairs of measures.
    """

    figure: str
    first: str
    second: str
    value: Figure
    p: float | None
    adjusted: float | None

    @property
    def significant(self) -> bool:
        """Whether there is one, after correction."""
        return self.adjusted is not None and self.adjusted < LEVEL


@dataclass(frozen=True, slots=True)
class Level:
    """How measures rank one kind of thing.

    Attributes:
        number: how many predictions, models on an image, or models there are.
        figures: of each measure, by name.
        differences: of every two measures.
    """

    number: int
    figures: dict[str, dict[str, Figure]]
    differences: list[Difference]

    @classmethod
    def of(cls, number: int, rows: Mapping[str, Mapping[str, Ranking]]) -> Level:
        """Take all differences of the figures of some measures, and correct for their number."""

        def shown(ranking: Ranking, figure: str) -> Figure:
            share = figure in _SHARES  # the interval leaves out what the figure cannot be
            value, interval = ranking.figure("as it is" if share else "correlation")
            limits = interval and Interval(max(interval.low, 0 if share else -1), min(interval.high, 1))
            return Figure(value, limits)

        figures = {
            name: {figure: shown(ranking, figure) for figure, ranking in of.items()} for name, of in rows.items()
        }
        differences = []
        for figure in next(iter(rows.values()), {}):
            apart = {(a, b): rows[a][figure].minus(rows[b][figure]) for a, b in combinations(rows, 2)}
            adjusted = iter(holm([p for each in apart.values() if (p := each.p) is not None]))
            differences += [
                Difference(figure, *names, each.figure("as it is"), each.p, None if each.p is None else next(adjusted))
                for names, each in apart.items()
            ]
        return cls(number, figures, differences)

    def nearest(self, figure: str) -> tuple[str, list[str]] | None:
        """The measure with the highest figure, and those that cannot be told from it; None where none has one."""
        known = {name: value for name, of in self.figures.items() if (value := of[figure].value) is not None}
        if not known:
            return None
        best = max(known, key=lambda name: known[name])
        pairs = [{each.first, each.second} for each in self.differences if each.figure == figure and each.significant]
        return best, [name for name in known if name != best and {name, best} not in pairs]


@dataclass(frozen=True, slots=True)
class Against:
    """What ``shoe study metric`` says.

    Attributes:
        images, raters, ratings, holes: how much there is.
        people: each rater against the mean of the others, over the judged predictions.
        models: mean rating of each model's predictions, over its images; None where nobody judged any.
        scores: what each row of level model says of each model.
        signatures: of each measure.
        levels: prediction, image, and model where there are two or more.
        opposite: of each row of level model, pairs of models in the order opposite to people's, their better one first.
    """

    images: int
    raters: int
    ratings: int
    holes: int
    people: Figure
    models: dict[str, float | None]
    scores: dict[str, dict[str, float | None]]
    signatures: dict[str, str]
    levels: dict[str, Level]
    opposite: dict[str, list[tuple[str, str]]]
