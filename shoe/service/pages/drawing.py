"""Figures as SVG, made on the server: they need no script, print, and can be read as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shoe.page.markup import Markup, tag
from shoe.report.text import percent

_WIDTH = 720


class Interval(NamedTuple):
    """A figure and its interval, as fractions; no ends where there is none."""

    value: float
    low: float | None = None
    high: float | None = None


def intervals(rows: Sequence[tuple[str, Sequence[Interval | None]]], colours: Sequence[str], label: str) -> Markup:
    """Draw figures with their intervals, a line a name and a mark a figure, on one scale of percent.

    Args:
        rows: names, and for each colour its figure; None where there is none.
        colours: classes for the style sheet.
        label: what is drawn, for who hears it.
    """
    left, right, step, line = 170, 20, 13, 0
    line = step * len(colours) + 12
    ends = [end for _, of in rows for each in of if each for end in each if end is not None]
    low, high = _scale(min(ends, default=0.0), max(ends, default=1.0))

    def across(value: float) -> str:
        return f"{left + (value - low) / (high - low) * (_WIDTH - left - right):.1f}"

    bottom = line * len(rows) + 6
    parts: list[Markup] = []
    for tenth in range(round(20 * low), round(20 * high) + 1):
        x = across(tenth / 20)
        parts.append(tag("line", x1=x, x2=x, y1=0, y2=bottom, class_="grid"))
        parts.append(tag("text", f"{5 * tenth}", x=x, y=bottom + 14, class_="quiet middle"))
    for number, (name, of) in enumerate(rows):
        top = number * line + 6
        parts.append(tag("text", _short(name, 24), tag("title", name), x=left - 12, y=top + line / 2, class_="name"))
        for row, (each, colour) in enumerate(zip(of, colours, strict=True)):
            if each is None:
                continue
            y = top + row * step + 8
            said = percent(each.value)
            if each.low is not None and each.high is not None:
                ends_of = {"x1": across(each.low), "x2": across(each.high)}
                parts.append(tag("line", **ends_of, y1=y, y2=y, class_=colour))
                said += f", {percent(each.low)} to {percent(each.high)}"
            parts.append(tag("circle", tag("title", said), cx=across(each.value), cy=y, r=4, class_=colour))
    return tag("svg", *parts, viewBox=f"0 0 {_WIDTH} {bottom + 18}", role="img", aria_label=label, class_="plot")


def stack(parts: Sequence[tuple[str, float, str]], label: str) -> Markup:
    """Draw shares of one hundred percent, one beside the other.

    Args:
        parts: what each is, its fraction, and its class for the style sheet; those of no width are left out.
        label: what is drawn, for who hears it.
    """
    height, drawn, at = 22, [], 0.0
    drawn.append(tag("rect", x=0, y=0, width=_WIDTH, height=height, rx=3, class_="rest"))
    for name, value, colour in parts:
        if value > 0:
            width = value * _WIDTH
            title = tag("title", f"{name}: {percent(value)}")
            drawn.append(tag("rect", title, x=f"{at:.1f}", y=0, width=f"{width:.1f}", height=height, class_=colour))
            at += width
    box = f"0 0 {_WIDTH} {height}"
    return tag(
        "svg", *drawn, viewBox=box, preserveAspectRatio="none", role="img", aria_label=label, class_="plot stack"
    )


def histogram(counts: Sequence[int], label: str) -> Markup:
    """Draw how often each of a few values comes, small enough for a table."""
    most, width = max(max(counts, default=0), 1), 18
    bars = (
        tag(
            "rect",
            tag("title", f"{value}: {count:,}"),
            x=value * width,
            y=f"{24 * (1 - count / most):.1f}",
            width=width - 3,
            height=f"{24 * count / most:.1f}",
        )
        for value, count in enumerate(counts)
    )
    return tag("svg", *bars, viewBox=f"0 0 {width * len(counts)} 24", role="img", aria_label=label, class_="tiny m0")


def matrix(names: Sequence[str], values: Sequence[tuple[int, int, float | None]], label: str) -> Markup:
    """Draw a figure of every two as a triangle of cells, the darker the higher.

    Args:
        names: of the items.
        values: numbers of two items, the smaller one first, and their figure, 0 to 1.
        label: what is drawn, for who hears it.
    """
    left, cell = 110, 46
    parts: list[Markup] = []
    for number, name in enumerate(names[1:], 1):
        y = (number - 1) * cell + cell / 2 + 4
        parts.append(tag("text", _short(name, 16), tag("title", name), x=left - 8, y=y, class_="name"))
    for number, name in enumerate(names[:-1]):
        x, y = left + number * cell + cell / 2, (len(names) - 1) * cell + 14
        parts.append(tag("text", _short(name, 7), tag("title", name), x=x, y=y))
    for first, second, value in values:
        x, y = left + first * cell, (second - 1) * cell
        if value is None:
            parts.append(tag("text", "–", x=x + cell / 2 - 1, y=y + cell / 2 + 3))
            continue
        title = tag("title", f"{names[first]} and {names[second]}: {value:.3f}")
        shade = f"{0.12 + 0.38 * max(0.0, min(1.0, value)):.2f}"
        parts.append(tag("rect", title, x=x, y=y, width=cell - 2, height=cell - 2, rx=3, fill_opacity=shade))
        parts.append(tag("text", f"{value:.2f}", x=x + cell / 2 - 1, y=y + cell / 2 + 3))
    width, height = left + cell * (len(names) - 1), cell * (len(names) - 1) + 20
    return tag("svg", *parts, viewBox=f"0 0 {width} {height}", role="img", aria_label=label, class_="matrix")


def _scale(low: float, high: float) -> tuple[float, float]:
    """Ends in steps of five percent, with some room."""
    first, last = int(20 * max(0.0, low - 0.01)), -int(-20 * min(1.0, high + 0.01) // 1)
    return first / 20, max(last, first + 1) / 20


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
