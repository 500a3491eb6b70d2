"""Bars: what fixing each error gains, and how well pairs are found (IJCV paper, Figures 7 and 8, Table 2).

Panels are of horizontal bars with their figures beside them: names stay readable, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from shoe.diagnosis.analysis import ErrorAnalysis
from shoe.diagnosis.diagnose import Diagnosis, PairDiagnosis
from shoe.diagnosis.oracles import ERRORS, GROUPS
from shoe.plots.style import BLUE, GREY, INK, ORANGE, label, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

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
    figure = _errors_of_one(*next(iter(models.items()))) if len(models) == 1 else _errors_of_several(models)
    _legend(figure)
    return figure


def _errors_of_one(name: str, found: ErrorAnalysis) -> Figure:
    ranked = sorted(ERRORS, key=lambda error: -(found.deltas[error.name].map or 0.0))
    errors = (*ranked, *GROUPS)
    figure = new_figure(0.95 + 0.28 * len(errors))
    bars = [_delta_bar(found, error.name) for error in errors]
    axes = figure.subplots()
    _panel(axes, [error.label for error in errors], bars, _limits_of(bars), gap=len(GROUPS))
    axes.set_xlabel(_GAIN)
    axes.set_title(f"{label(name, _TITLE, lines=1)}\nmAP {_points(found.means.map)}", loc="left")
    return figure


def _errors_of_several(models: Mapping[str, ErrorAnalysis]) -> Figure:
    labels = [label(name, _NAME) for name in models]
    rows = (len(ERRORS) + len(GROUPS)) // _COLUMNS
    figure = new_figure(0.6 + rows * (0.5 + _row_height(labels) * len(models)))
    panels = iter(figure.subplots(rows, _COLUMNS, sharey=True).ravel())
    for group in (ERRORS, GROUPS):
        bars = [[_delta_bar(found, error.name) for found in models.values()] for error in group]
        limits = _limits_of([bar for each in bars for bar in each])
        for error, each in zip(group, bars, strict=True):
            axes = next(panels)
            _panel(axes, labels, each, limits)
            axes.set_title(error.label, loc="left", fontweight="bold")
    figure.supxlabel(_GAIN, fontsize=8)
    return figure


def _delta_bar(found: ErrorAnalysis, name: str) -> Bar:
    delta = found.deltas[name]
    colour = GREY if name in {error.name for error in GROUPS} else ORANGE if name == found.worst else BLUE
    full, rare, non_rare = (None if value is None else 100 * value for value in delta)
    return Bar(full, _points(delta.map, "+"), colour, ((_RARE, rare), (_NON_RARE, non_rare)))


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    entries = [
        Patch(color=ORANGE, label="costs most"),
        Patch(color=BLUE, label="other errors"),
        _legend_of(_RARE, "rare classes"),
        _legend_of(_NON_RARE, "non-rare"),
    ]
    figure.legend(handles=entries, loc="outside upper right", ncols=len(entries))


def pair_bars(models: Mapping[str, Diagnosis | PairDiagnosis]) -> Figure:
    """Draw the figures of both sub-tasks that some model has, in percent."""
    found = list(models.values())
    shares = {name: share for name, share in _SHARES.items() if any(share(model) is not None for model in found)}
    if len(models) == 1:
        bars = [_percent(share(found[0])) for share in shares.values()]
        figure = new_figure(0.7 + 0.28 * len(bars))
        axes = figure.subplots()
        _panel(axes, list(shares), bars, (0, 100))
        axes.set_title(f"{label(next(iter(models)), _TITLE, lines=1)}\n{_number(found[0])} pairs per image", loc="left")
        axes.set_xlabel("%")
        return figure
    labels = [label(name, _NAME) for name in models]
    rows = -(-(len(shares) + 1) // _COLUMNS)
    figure = new_figure(0.2 + rows * (0.55 + _row_height(labels) * len(models)))
    panels = figure.subplots(rows, _COLUMNS, sharey=True).ravel()
    counts = [Bar(model.pairs.per_image, _number(model), BLUE) for model in found]
    _panel(panels[0], labels, counts, _limits_of(counts))
    panels[0].set_title("pairs per image", loc="left", fontweight="bold")
    for axes, (name, share) in zip(panels[1:], shares.items(), strict=False):
        bars = [_percent(share(model)) for model in found]
        _panel(axes, labels, bars, _limits_of(bars))
        axes.set_title(f"{name}, %", loc="left", fontweight="bold")
    for axes in panels[1 + len(shares) :]:
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
        to_the_right = axes.get_yaxis_transform()
        axes.annotate(bar.text, (1, y), (4, 0), xycoords=to_the_right, textcoords="offset points", va="center", size=7)
    axes.set_yticks(rows, names)
    axes.set_ylim(rows[-1] + 0.6, -0.6)
    axes.set_xlim(*limits)
    axes.tick_params(axis="y", length=0, pad=6)
    axes.spines["left"].set_visible(False)
    axes.axvline(0, color=GREY, linewidth=0.6)
    axes.grid(axis="x", color="#E3E3E3", linewidth=0.6)
    axes.set_axisbelow(True)
    if gap:
        axes.axhline(len(bars) - gap - 0.25, color=GREY, linewidth=0.6)


def _limits_of(bars: Sequence[Bar]) -> tuple[float, float]:
    """Limits that show all of some bars and their marks, and 0."""
    values = [bar.value for bar in bars] + [value for bar in bars for _, value in bar.marks]
    known = [0.0, *(value for value in values if value is not None)]
    room = _ROOM * (max(known) - min(known)) or 1.0
    return min(known) - (room if min(known) < 0 else 0.0), max(known) + room


def _row_height(names: Sequence[str]) -> float:
    """Inches that a row needs, so that names of several lines do not touch."""
    return 0.12 + 0.135 * max(name.count("\n") + 1 for name in names)


def _legend_of(mark: str, text: str) -> Line2D:
    """A legend's entry for a mark."""
    from matplotlib.lines import Line2D

    return Line2D([], [], marker=mark, linestyle="", label=text, **_mark(mark))


def _mark(mark: str) -> dict[str, Any]:
    return {
        "color": INK,
        "markerfacecolor": INK if mark == _RARE else "white",
        "markersize": 3.6,
        "markeredgewidth": 0.8,
        "clip_on": False,
    }


def _points(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{100 * value:{sign}z.1f}"


def _percent(value: float | None) -> Bar:
    return Bar(None if value is None else 100 * value, _points(value), BLUE)


def _number(model: Diagnosis | PairDiagnosis) -> str:
    per_image = model.pairs.per_image
    return "–" if per_image is None else f"{per_image:.1f}"
