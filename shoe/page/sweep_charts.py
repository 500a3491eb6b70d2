"""Figures of models under other choices of the metric, as curves: one chart for each figure and choice."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from shoe.comparison.sweeps import FIGURES, VALUES, Choice, Point, Setting, Survival
from shoe.page.markup import Markup, joined, tag
from shoe.report.sweeps import NAMES
from shoe.report.text import percent

_WIDTH, _LEFT, _RIGHT = 250, 34, 242
_TOP, _BOTTOM = 22, 150
_NAMES_END = 92
"""Where the rows of a chart of raters begin, right of their names."""
_ROW = 15
_LONGEST_NAME = 13
_NEAREST_TICKS = 24
_MOST_LABELS = 4
"""Of ticks side by side below a chart of raters."""
_CHOICES = {"weight": "weight of the verb", "delta": "delta", "threshold": "IoU threshold", "tau": "tau"}
_RATERS = "ensemble, or one rater alone"


class _Axis(NamedTuple):
    """Ticks from the lowest to the highest value, and where values stand between two ends of a chart."""

    ticks: list[float]
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float], low: float, high: float) -> _Axis:
        """Lay two to six round ticks around values."""
        span = max(values) - min(values) or max(abs(values[0]), 1) / 10
        step = 10 ** floor(log10(span))
        step = next(step * by for by in (0.5, 1, 2, 5) if span / (step * by) <= 4)
        first, last = floor(min(values) / step), ceil(max(values) / step)
        return cls([step * number for number in range(first, max(last, first + 1) + 1)], low, high)

    def __call__(self, value: float) -> float:
        share = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return round(self.low + share * (self.high - self.low), 1)


def sweep_charts(models: Sequence[str], points: Sequence[Point], survivals: Sequence[Survival]) -> Markup:
    """Draw the charts, those of each figure together.

    Args:
        models: their names.
        points: figures under each setting.
        survivals: under which settings models change places.
    """
    changed = {survival.figure: survival.changed for survival in survivals}
    parts = []
    for figure in FIGURES:
        of = [point for point in points if any(value is not None for value in point.figures.get(figure, ()))]
        charts = [
            _chart(_Chart(figure, title, models, chosen, changed.get(figure, ())), draw)
            for title, draw, chosen in (
                *((_CHOICES[name], _curves, [p for p in of if p.setting.option == name]) for name in VALUES),
                (_RATERS, _rows, [p for p in of if p.setting.option not in VALUES]),
            )
            if len(chosen) > 1
        ]
        if charts:
            parts.append(tag("h3", f"{NAMES[figure]}, %"))
            parts.append(tag("div", *charts, class_="plots sweeps"))
    return joined(*parts)


class _Chart(NamedTuple):
    """What one chart shows: a figure of models under the settings of one choice, and those that change places."""

    figure: str
    title: str
    models: Sequence[str]
    points: Sequence[Point]
    changed: Collection[Choice]

    def values(self, model: int) -> list[float | None]:
        found = (point.figures[self.figure][model] for point in self.points)
        return [None if value is None else 100 * value for value in found]

    @property
    def known(self) -> list[float]:
        return [value for model in range(len(self.models)) for value in self.values(model) if value is not None]

    @property
    def described(self) -> str:
        """The chart in words."""
        said = f"{NAMES[self.figure]} by {self.title}"
        for number, name in enumerate(self.models):
            pairs = zip(self.points, self.values(number), strict=True)
            each = ", ".join(f"{_text(p.setting)} {'none' if v is None else percent(v / 100)}" for p, v in pairs)
            said += f"; {name[:40]}: {each}"
        asked = [_text(p.setting) for p in self.points if p.setting.asked]
        moved = [_text(p.setting) for p in self.points if p.setting in self.changed]
        said += f". Asked for: {', '.join(asked)}." if asked else "."
        return said + (f" Models change places under {', '.join(moved)}." if moved else "")


def _chart(chart: _Chart, draw: Callable[[_Chart], tuple[int, list[Markup]]]) -> Markup:
    height, drawn = draw(chart)
    svg = tag("svg", *drawn, viewBox=f"0 0 {_WIDTH} {height}", role="img", aria_label=chart.described)
    return tag("figure", tag("figcaption", chart.title), svg)


def _curves(chart: _Chart) -> tuple[int, list[Markup]]:
    """Values along the bottom, a line for each model."""
    at = [float(point.setting.value) for point in chart.points]
    y, x = _Axis.of(chart.known, _BOTTOM, _TOP), _Axis([min(at), max(at)], _LEFT + 8, _RIGHT - 8)
    parts = [_line("grid", _LEFT, y(tick), _RIGHT, y(tick)) for tick in y.ticks]
    parts += [tag("text", f"{tick:g}", x=_LEFT - 6, y=y(tick) + 4, class_="end") for tick in y.ticks]
    labelled: list[float] = []
    for point, value in sorted(zip(chart.points, at, strict=True), key=lambda pair: not pair[0].setting.asked):
        where, asked = x(value), point.setting.asked
        if asked:
            parts.append(_line("asked", where, _TOP, where, _BOTTOM))
        if point.setting in chart.changed:
            parts.append(tag("text", "↕", x=where, y=_TOP - 8, class_="middle moved"))
        if all(abs(where - other) >= _NEAREST_TICKS for other in labelled):
            labelled.append(where)
            parts.append(tag("text", f"{value:g}", x=where, y=_BOTTOM + 16, class_=f"middle{' chosen' * asked}"))
    for number in range(len(chart.models)):
        values = zip(at, chart.values(number), strict=True)
        parts.append(_model(chart, number, [None if of is None else (x(value), y(of)) for value, of in values]))
    return _BOTTOM + 22, parts


def _rows(chart: _Chart) -> tuple[int, list[Markup]]:
    """A row for each ensemble and rater, values from left to right, and a line for each model down the rows."""
    bottom = _TOP + _ROW * len(chart.points)
    x = _Axis.of(chart.known, _NAMES_END + 8, _RIGHT - 12)
    parts = [_line("grid", x(tick), _TOP - 8, x(tick), bottom - 4) for tick in x.ticks]
    labelled = x.ticks[:: 1 + (len(x.ticks) > _MOST_LABELS)]
    parts += [tag("text", f"{tick:g}", x=x(tick), y=bottom + 10, class_="middle") for tick in labelled]
    rows = [_TOP + _ROW * number for number in range(len(chart.points))]
    for point, y in zip(chart.points, rows, strict=True):
        name, asked = str(point.setting.value), point.setting.asked
        short = name if len(name) <= _LONGEST_NAME else f"{name[: _LONGEST_NAME - 1]}…"
        title = tag("title", name)
        parts.append(tag("text", short, title, x=_NAMES_END - 6, y=y + 4, class_=f"end{' chosen' * asked}"))
        if asked:
            parts.append(_line("asked", _NAMES_END, y, _RIGHT, y))
        if point.setting in chart.changed:
            parts.append(tag("text", "↕", x=_WIDTH - 4, y=y + 4, class_="middle moved"))
    for number in range(len(chart.models)):
        values = zip(rows, chart.values(number), strict=True)
        parts.append(_model(chart, number, [None if of is None else (x(of), y) for y, of in values]))
    return bottom + 16, parts


def _model(chart: _Chart, number: int, places: Sequence[tuple[float, float] | None]) -> Markup:
    """A line through the places of one model, with gaps where it has none, and a dot at each."""
    path, ahead = "", "M"
    for place in places:
        path += f"{ahead}{place[0]:g} {place[1]:g}" if place else ""
        ahead = "L" if place else "M"
    dots = (tag("circle", cx=f"{place[0]:g}", cy=f"{place[1]:g}", r=2.6) for place in places if place)
    title = tag("title", chart.models[number][:1000])
    return tag("g", title, tag("path", d=path, class_="line"), *dots, class_=f"m{number % 8}")


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return tag("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)


def _text(setting: Setting) -> str:
    return setting.value if isinstance(setting.value, str) else f"{setting.value:g}"
