"""Bars: what fixing each error gains, and how well pairs are found (IJCV paper, Figures 7 and 8, Table 2).

Panels are of horizontal bars with their figures beside them: names stay readable, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.oracles import ERRORS, GROUPS
from shoe.diagnosis.pairs import PairDiagnosis
from shoe.plots.style import BLUE, GREY, GRID, INK, ORANGE, beside_right, label, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROOM = 0.04
"""Share of an axis that is left free beyond the longest bar."""
_NAME, _TITLE = 1.6, 5.5
"""Inches of a line of a name beside bars, and of a title."""
_BAR = 0.16
"""Height of a bar in inches."""
_COLUMNS = 3
_GAIN = "gain in mAP if fixed alone, in points"
_SHARES: dict[str, Callable[[Diagnosis | PairDiagnosis], float | None]] = {
    "pair recall": lambda model: model.pairs.recall,
    "pair precision": lambda model: model.pairs.precision,
    "human recall": lambda model: model.pairs.human_recall,
    "object recall": lambda model: model.pairs.object_recall,
    "negative AP": lambda model: model.negative_ap.all_points if model.negative_ap else None,
    "interaction mAP": lambda model: model.interaction_map.map if model.interaction_map else None,
}


class Bar(NamedTuple):
    """One bar: its length, its figure in words, its colour, and what else is marked in its row, by mark."""

    value: float | None
    text: str
    colour: str
    marks: tuple[tuple[str, float | None], ...] = ()


_RARE, _NON_RARE = "^", "o"
"""Marks of the mean over rare and over non-rare classes."""


def error_bars(models: Mapping[str, ErrorAnalysis]) -> Figure:
    """Draw the deltas: one panel for all errors of one model, or a panel per error where there are several models."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if len(models) == 1:
        ((name, found),) = models.items()
        errors = (*sorted(ERRORS, key=lambda error: -(found.deltas[error.name].map or 0.0)), *GROUPS)
        bars = [_delta_bar(found, error.name) for error in errors]
        figure = _single(name, f"mAP {_points(found.means.map)}", bars, 0.95)
        _panel(figure.axes[0], [error.label for error in errors], bars, _limits_of(bars), gap=len(GROUPS))
        figure.axes[0].set_xlabel(_GAIN)
    else:
        panels = []
        for group in (ERRORS, GROUPS):
            bars_of = {error.label: [_delta_bar(found, error.name) for found in models.values()] for error in group}
            limits = _limits_of([bar for bars in bars_of.values() for bar in bars])
            panels += [(title, bars, limits) for title, bars in bars_of.items()]
        figure = _grid(models, panels, 0.6, 0.5)
        figure.supxlabel(_GAIN, fontsize=8)
    colours = [Patch(color=ORANGE, label="costs most"), Patch(color=BLUE, label="other errors")]
    marks = ((_RARE, "rare classes"), (_NON_RARE, "non-rare"))
    lines = [Line2D([], [], marker=mark, linestyle="", label=text, **_mark(mark)) for mark, text in marks]
    figure.legend(handles=[*colours, *lines], loc="outside upper right", ncols=4)
    return figure


def _delta_bar(found: ErrorAnalysis, name: str) -> Bar:
    delta = found.deltas[name]
    colour = GREY if name in {error.name for error in GROUPS} else ORANGE if name == found.worst else BLUE
    full, rare, non_rare = (None if value is None else 100 * value for value in delta)
    return Bar(full, _points(delta.map, "+"), colour, ((_RARE, rare), (_NON_RARE, non_rare)))


def pair_bars(models: Mapping[str, Diagnosis | PairDiagnosis]) -> Figure:
    """Draw the figures of both sub-tasks that some model has, in percent."""
    numbers = ["–" if (n := model.pairs.per_image) is None else f"{n:.1f}" for model in models.values()]
    found = {title: [share(model) for model in models.values()] for title, share in _SHARES.items()}
    shares = {
        title: [Bar(None if value is None else 100 * value, _points(value), BLUE) for value in values]
        for title, values in found.items()
        if any(value is not None for value in values)
    }
    if len(models) == 1:
        bars = [bar for (bar,) in shares.values()]
        figure = _single(next(iter(models)), f"{numbers[0]} pairs per image", bars, 0.7)
        _panel(figure.axes[0], list(shares), bars, (0, 100))
        figure.axes[0].set_xlabel("%")
        return figure
    counts = [Bar(model.pairs.per_image, text, BLUE) for model, text in zip(models.values(), numbers, strict=True)]
    panels = {"pairs per image": counts} | {f"{title}, %": bars for title, bars in shares.items()}
    return _grid(models, [(title, bars, _limits_of(bars)) for title, bars in panels.items()], 0.2, 0.55)


def _single(name: str, line: str, bars: Sequence[Bar], above: float) -> Figure:
    """A figure of one panel with room for bars, under a model's name and a line."""
    figure = new_figure(above + 0.28 * len(bars))
    figure.subplots().set_title(f"{label(name, _TITLE, lines=1)}\n{line}", loc="left")
    return figure


def _grid(
    models: Iterable[str], panels: Sequence[tuple[str, Sequence[Bar], tuple[float, float]]], above: float, title: float
) -> Figure:
    """Draw panels with a bar a model.

    Args:
        models: their names.
        panels: title, bars, and limits of the values of each.
        above: inches beyond the panels.
        title: inches of a panel beyond its bars.
    """
    labels = [label(name, _NAME) for name in models]
    rows = -(-len(panels) // _COLUMNS)
    figure = new_figure(above + rows * (title + _row_height(labels) * len(labels)))
    grid = figure.subplots(rows, _COLUMNS, sharey=True).ravel()
    for axes, (text, bars, limits) in zip(grid, panels, strict=False):
        _panel(axes, labels, bars, limits)
        axes.set_title(text, loc="left", fontweight="bold")
    for axes in grid[len(panels) :]:
        axes.remove()
    return figure


def _panel(axes: Axes, names: Sequence[str], bars: Sequence[Bar], limits: tuple[float, float], gap: int = 0) -> None:
    """Draw bars from the top down.

    Args:
        axes: where.
        names: one per bar, in lines.
        bars: what to draw; a missing value leaves its row empty.
        limits: of the values, the same for all panels that are to be compared.
        gap: the last so many bars stand apart from the others.
    """
    rows = [k + (0.5 if k >= len(bars) - gap else 0.0) for k in range(len(bars))]
    height = _BAR / _row_height(names)
    for y, bar in zip(rows, bars, strict=True):
        if bar.value is not None:
            axes.barh(y, bar.value, height=height, color=bar.colour)
        for mark, value in bar.marks:
            if value is not None:
                axes.plot([value], [y], mark, **_mark(mark))
        beside_right(axes, y, bar.text)
    axes.set_yticks(rows, names)
    axes.set_ylim(rows[-1] + 0.6, -0.6)
    axes.set_xlim(*limits)
    axes.tick_params(axis="y", length=0, pad=6)
    axes.spines["left"].set_visible(False)
    axes.axvline(0, color=GREY, linewidth=0.6)
    axes.grid(axis="x", **GRID)
    axes.set_axisbelow(True)
    if gap:
        axes.axhline(len(bars) - gap - 0.25, color=GREY, linewidth=0.6)


def _limits_of(bars: Sequence[Bar]) -> tuple[float, float]:
    """Limits that show all of some bars and their marks, and 0."""
    values = (value for bar in bars for value in (bar.value, *(marked for _, marked in bar.marks)))
    known = [0.0, *(value for value in values if value is not None)]
    room = _ROOM * (max(known) - min(known)) or 1.0
    return min(known) - (room if min(known) < 0 else 0.0), max(known) + room


def _row_height(names: Sequence[str]) -> float:
    """Inches that a row needs, so that names of several lines do not touch."""
    return 0.12 + 0.135 * max(name.count("\n") + 1 for name in names)


def _mark(mark: str) -> dict[str, Any]:
    look = {"color": INK, "markersize": 3.6, "markeredgewidth": 0.8, "clip_on": False}
    return look | {"markerfacecolor": INK if mark == _RARE else "white"}


def _points(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{100 * value:{sign}z.1f}"
