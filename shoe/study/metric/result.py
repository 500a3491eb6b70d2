"""What is found when measures are held against people, and which of them differ."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from typing import Annotated, Protocol, Self

from msgspec import Meta

from shoe.comparison.significance import LEVEL
from shoe.core.documents import Count, Document, Fraction
from shoe.core.statistics import holm
from shoe.study.agreement import Ends, Figure, Scale

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


class Difference(Document, frozen=True, kw_only=True):
    """Difference of two measures' figures, with its interval.

    Attributes:
        figure: name of the figure.
        first, second: the measures.
        p: p value of no difference; None if nothing varies.
        adjusted: p by Holm's correction over all pairs of measures.
        significant: whether the adjusted p is below 0.05.
    """

    figure: str
    first: str
    second: str
    value: float | None = None
    interval: Ends | None = None
    p: Fraction | None = None
    adjusted: Fraction | None = None
    significant: bool


class Nearest(Document, frozen=True):
    """Measure that is nearest to people, and the measures that the judgements cannot tell from it."""

    measure: str
    not_told_apart: list[str]


class Level(Document, frozen=True):
    """Ranking of predictions, of models on an image, or of models by each measure.

    Attributes:
        number: number of predictions, models on an image, or models.
        figures: figures of each measure, by name.
        differences: differences of every two measures.
        nearest: nearest measure by each figure that any measure has.
    """

    number: Count
    figures: dict[str, dict[str, Figure]]
    differences: list[Difference]
    nearest: dict[str, Nearest]

    @classmethod
    def of(cls, number: int, rows: Mapping[str, Mapping[str, Ranking]]) -> Level:
        """Take all differences of the figures of some measures, and correct for their number."""

        def shown(ranking: Ranking, figure: str) -> Figure:
            share = figure in _SHARES  # the interval leaves out what the figure cannot be
            made = ranking.figure("as it is" if share else "correlation")
            if made.interval is None:
                return made
            low, high = made.interval
            return Figure(made.value, (max(low, 0 if share else -1), min(high, 1)))

        figures = {
            name: {figure: shown(ranking, figure) for figure, ranking in of.items()} for name, of in rows.items()
        }
        differences, nearest = [], {}
        for figure in next(iter(rows.values()), {}):
            apart = {(a, b): rows[a][figure].minus(rows[b][figure]) for a, b in combinations(rows, 2)}
            corrected = iter(holm([p for each in apart.values() if (p := each.p) is not None]))
            alike = {name: {name} for name in rows}
            for (first, second), each in apart.items():
                value, adjusted = each.figure("as it is"), None if each.p is None else next(corrected)
                significant = adjusted is not None and adjusted < LEVEL
                differences.append(
                    Difference(
                        figure=figure,
                        first=first,
                        second=second,
                        value=value.value,
                        interval=value.interval,
                        p=each.p,
                        adjusted=adjusted,
                        significant=significant,
                    )
                )
                if not significant:
                    alike[first].add(second)
                    alike[second].add(first)
            known = {name: high for name, of in figures.items() if (high := of[figure].value) is not None}
            if known:
                best = max(known, key=lambda name: known[name])
                nearest[figure] = Nearest(best, [name for name in known if name != best and name in alike[best]])
        return cls(number, figures, differences, nearest)


class Against(Document, frozen=True):
    """What ``shoe study metric`` says.

    Attributes:
        images, raters, ratings, holes: how much there is.
        people: each rater against the mean of the others, over the judged predictions.
        models: mean rating of each judged model's predictions, over its images.
        measures: signature of each measure.
        scores: what each row of level model says of each model.
        levels: prediction, image, and model where there are two or more.
        opposite: of each row of level model, pairs of models in the order opposite to people's, their better one first.
    """

    images: Count
    raters: Count
    ratings: Count
    holes: Count
    people: Figure
    models: dict[str, float]
    measures: Annotated[dict[str, str], Meta(description="signature of each")]
    scores: dict[str, dict[str, float]]
    levels: dict[str, Level]
    opposite: dict[str, list[list[str]]]
