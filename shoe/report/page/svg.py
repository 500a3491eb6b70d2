"""Charts of all pages as SVG, without scripts; the ``label`` of a chart is its description for screen readers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from math import ceil, floor, log10
from typing import TYPE_CHECKING, NamedTuple

from markupsafe import Markup, escape

from shoe.core.errors import visible
from shoe.report.text import decimals, percent, points

if TYPE_CHECKING:
    from shoe.comparison.sweeps import OptionValue, Point, RankStability, Setting

_WIDTH = 720
_BAR, _BARS_LEFT, _BARS_RIGHT = 12, 36, 70
"""Height of a bar in pixels, and start and end of the longest bar in percent of the width of the chart."""
_SWEEP_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM = 250, 34, 242, 22, 150
_NAMES_END = 92  # left end of the rows in a chart of raters, right of their names
_ROW = 15
_OPTIONS = {"weight": "weight of the verb", "delta": "delta", "threshold": "IoU threshold", "tau": "tau"}


def element(name: str, /, *content: object, **attributes: object) -> Markup:
    """Return an HTML or SVG element with texts and child elements; all are escaped, and values of None are left out.

    In names of ``attributes``, ``_`` stands for ``-``, and ``class_`` for "class".

    >>> str(element("text", "1 < 2", class_="end"))
    '<text class="end">1 &lt; 2</text>'
    """
    known = {key.rstrip("_").replace("_", "-"): value for key, value in attributes.items() if value is not None}
    written = "".join(f' {key}="{_escaped(value)}"' for key, value in known.items())
    body = "".join(_escaped(each) for each in content if each is not None)
    return Markup(f"<{name}{written}>{body}</{name}>")  # noqa: S704 - made of escaped parts


def _escaped(value: object) -> Markup:
    return value if isinstance(value, Markup) else escape(visible(str(value)))


def _svg(width: float, height: float, label: str, parts: Sequence[Markup | None], **attributes: object) -> Markup:
    return element("svg", *parts, viewBox=f"0 0 {width} {height}", role="img", aria_label=label, **attributes)


def _label(text: str, longest: int, **attributes: object) -> Markup:
    """Return a text cut to ``longest`` characters, with the whole text as its tooltip."""
    cut = text if len(text) <= longest else text[: longest - 1] + "…"
    return element("text", cut, element("title", text), **attributes)


class Interval(NamedTuple):
    """A value and its interval, as fractions; ``low`` and ``high`` are None without an interval."""

    value: float
    low: float | None = None
    high: float | None = None


def intervals(rows: Sequence[tuple[str, Sequence[Interval | None]]], colours: Sequence[str], label: str) -> Markup:
    """Draw rows of values with intervals on one percent scale, as wide as the page; each row has its name above it.

    ``rows`` are (name, values), with a value, or None for no mark, for each of ``colours``, which are CSS classes.
    """
    step, head = 13, 18
    line = head + step * len(colours) + 8
    ends = [end for _, values in rows for each in values if each for end in each if end is not None]
    first = int(10 * max(0.0, min(ends, default=0.0) - 0.01))  # ends in steps of ten percent, with some room
    last = max(-int(-10 * min(1.0, max(ends, default=1.0) + 0.01) // 1), first + 1)
    low, high = first / 10, last / 10

    def across(value: float) -> str:
        return f"{3 + (value - low) / (high - low) * 94:.2f}%"

    bottom, parts = line * len(rows) + 6, list[Markup]()
    for tick, x in ((tick, across(tick / 10)) for tick in range(first, last + 1)):
        parts.append(element("line", x1=x, x2=x, y1=0, y2=bottom, class_="grid"))
        parts.append(element("text", f"{10 * tick}", x=x, y=bottom + 14, class_="quiet middle"))
    for number, (name, values) in enumerate(rows):
        top = number * line + 6
        parts.append(_label(name, 44, x=0, y=top + 11))
        for row, (each, colour) in enumerate(zip(values, colours, strict=True)):
            if each is None:
                continue
            y, text = top + head + row * step + 6, percent(each.value)
            if each.low is not None and each.high is not None:
                ends_at = {"x1": across(each.low), "x2": across(each.high)}
                parts.append(element("line", **ends_at, y1=y, y2=y, class_=colour))
                text += f", {percent(each.low)} to {percent(each.high)}"
            title, x = element("title", text), across(each.value)
            if row:  # the shape tells the rows apart without colour
                parts.append(element("rect", title, x=x, y=y - 4, width=8, height=8, class_=f"{colour} mark"))
            else:
                parts.append(element("circle", title, cx=x, cy=y, r=4, class_=colour))
    return element("svg", *parts, height=bottom + 18, role="img", aria_label=label, class_="plot")


def stack(parts: Sequence[tuple[str, float, str]], label: str) -> Markup:
    """Draw fractions of a whole, given as (name, fraction, CSS class), side by side as one stacked bar."""
    height, at = 22, 0.0
    drawn = [element("rect", x=0, y=0, width=_WIDTH, height=height, rx=3, class_="rest")]
    for name, value, colour in parts:
        if value > 0:
            size = {"width": f"{value * _WIDTH:.1f}", "height": height}
            title = element("title", f"{name}: {percent(value)}")
            drawn.append(element("rect", title, x=f"{at:.1f}", y=0, **size, class_=colour))
            at += value * _WIDTH
    return _svg(_WIDTH, height, label, drawn, preserveAspectRatio="none", class_="plot stack")


def histogram(counts: Sequence[int], label: str) -> Markup:
    """Draw a small histogram for a table cell; ``counts`` are the frequencies of the values 0, 1, 2 and so on."""
    most, width = max(max(counts, default=0), 1), 18
    bars = []
    for value, count in enumerate(counts):
        size = {"y": f"{24 * (1 - count / most):.1f}", "width": width - 3, "height": f"{24 * count / most:.1f}"}
        bars.append(element("rect", element("title", f"{value}: {count:,}"), x=value * width, **size))
    return _svg(width * len(counts), 24, label, bars, class_="tiny m0")


def matrix(names: Sequence[str], values: Sequence[tuple[int, int, float | None]], label: str) -> Markup:
    """Draw (i, j, value) per pair of items i < j as a triangle of cells, darker for higher values; None if unknown."""
    left, cell = 110, 46
    width, height = left + cell * (len(names) - 1), cell * (len(names) - 1)
    parts = []
    for row, name in enumerate(names[1:]):
        parts.append(_label(name, 16, x=left - 8, y=row * cell + cell / 2 + 4, class_="name"))
    for column, name in enumerate(names[:-1]):
        x, y = left + column * cell + cell / 2 + 8, height + 12
        parts.append(_label(name, 16, x=x, y=y, class_="name", transform=f"rotate(-40 {x:g} {y})"))
    for first, second, value in values:
        x, y = left + first * cell, (second - 1) * cell
        if value is not None:
            title = element("title", f"{names[first]} and {names[second]}: {value:.3f}")
            shade = f"{0.12 + 0.38 * max(0.0, min(1.0, value)):.2f}"
            size = {"width": cell - 2, "height": cell - 2, "rx": 3}
            parts.append(element("rect", title, x=x, y=y, **size, fill_opacity=shade))
        parts.append(element("text", decimals(value, 2), x=x + cell / 2 - 1, y=y + cell / 2 + 3))
    return _svg(width, height + 80, label, parts, class_="matrix")


def error_bars(
    deltas: Sequence[Mapping[str, float]],
    counts: Sequence[Mapping[str, int] | None],
    colours: Sequence[str],
    *,
    rounded: bool = False,
) -> Markup:
    """Draw the mAP that fixing each kind of error would add, and the number of errors of that kind.

    Each series, such as a model, has mAP gains as fractions by error name (``rounded``: shown without further
    decimals), numbers of errors (None if unknown), and a CSS class.
    """
    from shoe.diagnosis.error_types import ERRORS  # here and below: a service draws without loading the metric

    row, most = 16, max(0.01, *(value for each in deltas for value in each.values()))
    heads = (("error type", _BARS_LEFT - 2, "name"), ("mAP gain", _BARS_LEFT, None), ("errors", 100, "count"))
    parts = [element("text", text, x=f"{x}%", y=12, class_=kind) for text, x, kind in heads]
    y = 24
    for error in sorted(ERRORS, key=lambda error: -max(each[error.name] for each in deltas)):
        block = row * len(deltas)
        parts.append(element("text", error.label, x=f"{_BARS_LEFT - 2}%", y=y + block / 2 + 4, class_="name"))
        for number, (delta, count, colour) in enumerate(zip(deltas, counts, colours, strict=True)):
            value, top = delta[error.name], y + number * row + (row - _BAR) / 2
            cases = "" if count is None else f"{count[error.name]:,}"
            title = element("title", error.meaning + (f": {cases} cases" if cases else ""))
            parts += _bar(title, points(value, rounded=rounded), top, max(value, 0) / most, colour)
            parts += [element("text", cases, x="100%", y=top + _BAR - 2, class_="count")] if cases else []
        y += block + 12
    label = "mAP that fixing each kind of error would add, in points, and how many errors there are"
    return element("svg", *parts, height=y, role="img", aria_label=label, class_="bars")


def rater_bars(raters: Sequence[tuple[str, float | None, str]], label: str) -> Markup:
    """Draw one bar per rater, given (name, correlation or None, CSS class); None draws no bar."""
    row = 20
    parts: list[Markup] = []
    for y, (name, rho, colour) in zip(range(0, row * len(raters), row), raters, strict=True):
        parts.append(_label(name, 18, x=f"{_BARS_LEFT - 2}%", y=y + _BAR, class_="name"))
        parts += _bar(None, decimals(rho), y + 2, max(rho or 0, 0), colour)[rho is None :]
    return element("svg", *parts, height=row * len(raters), role="img", aria_label=label, class_="bars")


def _bar(title: Markup | None, text: str, top: float, fraction: float, colour: str) -> list[Markup]:
    width = max(fraction, 0.002) * (_BARS_RIGHT - _BARS_LEFT)
    size = {"width": f"{width:.2f}%", "height": _BAR, "rx": 2}
    bar = element("rect", title, x=f"{_BARS_LEFT}%", y=top, **size, class_=colour)
    return [bar, element("text", text, x=f"{_BARS_LEFT + width:.2f}%", dx=8, y=top + _BAR - 2)]


Edges = tuple[float, float, float, float]
"""Left, top, right and bottom in pixels."""


def crop(size: tuple[float, float], image: tuple[str, Edges] | None, boxes: Mapping[str, Edges], label: str) -> Markup:
    """Draw a crop with the boxes of a human and an object; one unit of the drawing is one pixel of the original image.

    ``image`` is the URL of an image, and its edges in the crop. ``boxes`` are the edges of "human" and "object".
    """
    width, height = (f"{each:g}" for each in size)
    parts = [element("rect", width=width, height=height, class_="paper")]
    if image:
        parts.append(element("image", href=image[0], **_place(image[1]), preserveAspectRatio="none"))
    longest = max(size)
    for kind, edges in boxes.items():
        dashes = f"{longest / 25:.3g} {longest / 50:.3g}" if kind == "object" else None
        lines = {"stroke_width": f"{longest / 60:.3g}", "stroke_dasharray": dashes}
        parts.append(element("rect", **_place(edges), class_=f"triplet {kind}", **lines))
    return element("svg", *parts, viewBox=f"0 0 {width} {height}", role="img", aria_label=label)


def triplets(
    size: tuple[float, float], image: str | None, pairs: Sequence[tuple[str, Edges, Edges]], label: str
) -> Markup:
    """Draw the boxes of triplets, given as (CSS class, human box, object box), on the frame of an image.

    One unit of the drawing is one pixel. ``image`` is a URL. If ``size`` is unknown (0), the frame contains all boxes.
    """
    width, height = size
    if min(size) <= 0:
        width, height = (max(box[side] for _, *boxes in pairs for box in boxes) + 1 for side in (2, 3))
    frame = {"width": f"{width:g}", "height": f"{height:g}"}
    parts = [element("rect", **frame, class_="paper")]
    if image:
        parts.append(element("image", href=image, **frame, preserveAspectRatio="none"))
    for colour, human, thing in pairs:
        rects = element("rect", **_place(human), class_="human"), element("rect", **_place(thing), class_="object")
        parts.append(element("g", *rects, class_=f"triplet {colour}"))
    return element("svg", *parts, viewBox=f"0 0 {width:g} {height:g}", role="img", aria_label=label)


def _place(edges: Edges) -> dict[str, str]:
    left, top, right, bottom = edges
    return {"x": f"{left:g}", "y": f"{top:g}", "width": f"{right - left:g}", "height": f"{bottom - top:g}"}


_Drawing = tuple[int, list[Markup], Callable[[int, float], tuple[float, float]]]
"""Height of a sweep chart, its axes, and a function from setting index and metric value to the (x, y) of a point."""


class _Axis(NamedTuple):
    """Axis with its tick values in ascending order, and the coordinates of the first and the last tick."""

    ticks: list[float]
    low: float
    high: float

    @classmethod
    def around(cls, values: Sequence[float], low: float, high: float) -> _Axis:
        """Return an axis with two to six round ticks that enclose ``values``; ``low`` and ``high``: end coordinates."""
        span = max(values) - min(values) or max(abs(values[0]), 1) / 10
        step = 10 ** floor(log10(span))
        step = next(step * by for by in (0.5, 1, 2, 5) if span / (step * by) <= 4)
        first, last = floor(min(values) / step), ceil(max(values) / step)
        return cls([step * number for number in range(first, max(last, first + 1) + 1)], low, high)

    def __call__(self, value: float) -> float:
        fraction = (value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0])
        return round(self.low + fraction * (self.high - self.low), 1)


def sweep_charts(
    models: Sequence[str], points: Sequence[Point], survivals: Sequence[RankStability]
) -> dict[str, dict[str, Markup]]:
    """Return {metric: {option: chart}} of options with several values; marks show values that change the ranking."""
    from shoe.comparison.sweeps import FIGURES, VALUES
    from shoe.report.comparison import NAMES

    changed = {survival.figure: survival.changed for survival in survivals}
    found: dict[str, dict[str, Markup]] = {}
    for figure in FIGURES:
        known = [point for point in points if any(value is not None for value in point.figures.get(figure, ()))]
        drawn = [(_OPTIONS[name], _curves, [p for p in known if p.setting.option == name]) for name in VALUES]
        drawn.append(("ensemble, or one rater alone", _rows, [p for p in known if p.setting.option not in VALUES]))
        charts = {
            title: _sweep_chart(f"{NAMES[figure]} by {title}", models, figure, chosen, changed.get(figure, ()), draw)
            for title, draw, chosen in drawn
            if len(chosen) > 1
        }
        if charts:
            found[NAMES[figure]] = charts
    return found


def _sweep_chart(
    label: str,
    models: Sequence[str],
    figure: str,
    points: Sequence[Point],
    changed: Collection[OptionValue],
    draw: Callable[[Sequence[Setting], Sequence[float], Collection[OptionValue]], _Drawing],
) -> Markup:
    rows, settings = [point.figures[figure] for point in points], [point.setting for point in points]
    values = [[None if value is None else 100 * value for value in column] for column in zip(*rows, strict=True)]
    names = [each.value if isinstance(each.value, str) else f"{each.value:g}" for each in settings]
    for model, column in zip(models, values, strict=True):
        pairs = zip(names, column, strict=True)
        label += f"; {model[:40]}: " + ", ".join(f"{n} {'none' if v is None else percent(v / 100)}" for n, v in pairs)
    requested = [name for name, setting in zip(names, settings, strict=True) if setting.asked]
    moved = [name for name, setting in zip(names, settings, strict=True) if setting in changed]
    label += f". Requested: {', '.join(requested)}." if requested else "."
    label += f" Models change places under {', '.join(moved)}." if moved else ""
    height, parts, place_of = draw(settings, [v for column in values for v in column if v is not None], changed)
    for number, (model, column) in enumerate(zip(models, values, strict=True)):
        parts.append(_model(model, number, [None if v is None else place_of(i, v) for i, v in enumerate(column)]))
    return _svg(_SWEEP_WIDTH, height, label, parts)


def _curves(settings: Sequence[Setting], known: Sequence[float], changed: Collection[OptionValue]) -> _Drawing:
    at = [float(setting.value) for setting in settings]
    y, x = _Axis.around(known, _BOTTOM, _TOP), _Axis([min(at), max(at)], _LEFT + 8, _RIGHT - 8)
    parts = [_line("grid", _LEFT, y(tick), _RIGHT, y(tick)) for tick in y.ticks]
    parts += [element("text", f"{tick:g}", x=_LEFT - 6, y=y(tick) + 4, class_="end") for tick in y.ticks]
    labelled: list[float] = []
    for setting, value in sorted(zip(settings, at, strict=True), key=lambda pair: not pair[0].asked):
        where = x(value)
        if setting.asked:
            parts.append(_line("asked", where, _TOP, where, _BOTTOM))
        if setting in changed:
            parts.append(element("text", "↕", x=where, y=_TOP - 8, class_="middle moved"))
        if all(abs(where - other) >= 24 for other in labelled):
            labelled.append(where)
            style = f"middle{' chosen' * setting.asked}"
            parts.append(element("text", f"{value:g}", x=where, y=_BOTTOM + 16, class_=style))
    return _BOTTOM + 22, parts, lambda number, value: (x(at[number]), y(value))


def _rows(settings: Sequence[Setting], known: Sequence[float], changed: Collection[OptionValue]) -> _Drawing:
    bottom = _TOP + _ROW * len(settings)
    x = _Axis.around(known, _NAMES_END + 8, _RIGHT - 12)
    parts = [_line("grid", x(tick), _TOP - 8, x(tick), bottom - 4) for tick in x.ticks]
    labelled = x.ticks[:: 1 + (len(x.ticks) > 4)]
    parts += [element("text", f"{tick:g}", x=x(tick), y=bottom + 10, class_="middle") for tick in labelled]
    for y, setting in zip(range(_TOP, bottom, _ROW), settings, strict=True):
        name, style = str(setting.value), f"end{' chosen' * setting.asked}"
        parts.append(_label(name, 13, x=_NAMES_END - 6, y=y + 4, class_=style))
        if setting.asked:
            parts.append(_line("asked", _NAMES_END, y, _RIGHT, y))
        if setting in changed:
            parts.append(element("text", "↕", x=_SWEEP_WIDTH - 4, y=y + 4, class_="middle moved"))
    return bottom + 16, parts, lambda number, value: (x(value), _TOP + _ROW * number)


def _model(name: str, number: int, places: Sequence[tuple[float, float] | None]) -> Markup:
    path, ahead = "", "M"
    for place in places:
        path += f"{ahead}{place[0]:g} {place[1]:g}" if place else ""
        ahead = "L" if place else "M"
    dots = (element("circle", cx=f"{place[0]:g}", cy=f"{place[1]:g}", r=2.6) for place in places if place)
    line = element("path", d=path, class_="line")
    return element("g", element("title", name[:1000]), line, *dots, class_=f"m{number % 8}")


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)
