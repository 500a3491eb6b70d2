"""Panels of horizontal bars with their figures beside them: names stay readable, however many there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shoe.plots.style import GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_ROOM = 0.04
"""Share of an axis that is left free beyond the longest bar."""
NAME = 1.6
"""Inches of a line of a name beside bars."""
_BAR = 0.16
"""Height of a bar in inches."""


class Bar(NamedTuple):
    """One bar: its length, its figure in words, its colour, and what else is marked in its row, by mark."""

    value: float | None
    text: str
    colour: str
    marks: tuple[tuple[str, float | None], ...] = ()


RARE, NON_RARE = "^", "o"
"""Marks of the mean over rare and over non-rare classes."""


def panel(axes: Axes, names: Sequence[str], bars: Sequence[Bar], limits: tuple[float, float], gap: int = 0) -> None:
    """Draw bars from the top down.

    Args:
        axes: where.
        names: one a bar, in lines.
        bars: what to draw; a missing value leaves its row empty.
        limits: of the values, the same for all panels that are to be compared.
        gap: the last so many bars stand apart from the others.
    """
    place = [k + (0.5 if k >= len(bars) - gap else 0.0) for k in range(len(bars))]
    height = _BAR / row_height(names)
    for y, bar in zip(place, bars, strict=True):
        if bar.value is not None:
            axes.barh(y, bar.value, height=height, color=bar.colour)
        for mark, value in bar.marks:
            if value is not None:
                axes.plot([value], [y], mark, **_mark(mark))
        to_the_right = axes.get_yaxis_transform()
        axes.annotate(bar.text, (1, y), (4, 0), xycoords=to_the_right, textcoords="offset points", va="center", size=7)
    axes.set_yticks(place, names)
    axes.set_ylim(place[-1] + 0.6, -0.6)
    axes.set_xlim(*limits)
    axes.tick_params(axis="y", length=0, pad=6)
    axes.spines["left"].set_visible(False)
    axes.axvline(0, color=GREY, linewidth=0.6)
    axes.grid(axis="x", color="#E3E3E3", linewidth=0.6)
    axes.set_axisbelow(True)
    if gap:
        axes.axhline(len(bars) - gap - 0.25, color=GREY, linewidth=0.6)


def limits_of(bars: Sequence[Bar]) -> tuple[float, float]:
    """Limits that show all of some bars and their marks, and 0."""
    values = [bar.value for bar in bars] + [value for bar in bars for _, value in bar.marks]
    known = [0.0, *(value for value in values if value is not None)]
    room = _ROOM * (max(known) - min(known)) or 1.0
    return min(known) - (room if min(known) < 0 else 0.0), max(known) + room


def row_height(names: Sequence[str]) -> float:
    """Inches that a row needs, so that names of several lines do not touch."""
    return 0.12 + 0.135 * max(name.count("\n") + 1 for name in names)


def legend_of(mark: str, text: str) -> Line2D:
    """A legend's entry for a mark."""
    from matplotlib.lines import Line2D

    return Line2D([], [], marker=mark, linestyle="", label=text, **_mark(mark))


def _mark(mark: str) -> dict[str, Any]:
    return {
        "color": INK,
        "markerfacecolor": INK if mark == RARE else "white",
        "markersize": 3.6,
        "markeredgewidth": 0.8,
        "clip_on": False,
    }
