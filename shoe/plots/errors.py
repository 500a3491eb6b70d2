"""What mending each error would add to mAP, for one model or for several side by side (IJCV paper, Figures 7 and 8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from shoe.plots.bars import NAME, NON_RARE, RARE, Bar, legend_of, limits_of, panel, row_height
from shoe.plots.style import BLUE, GREY, ORANGE, label, new_figure
from shoe.report.findings import ERRORS, GROUPS, Errors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLUMNS = 3
_TITLE = 5.5
"""Inches."""
_GAIN = "gain in mAP if mended alone, in points"


def error_bars(models: Sequence[tuple[str, Errors]]) -> Figure:
    """Draw the deltas: one panel for all errors of one model, or a panel an error where there are several models."""
    return _one(*models[0]) if len(models) == 1 else _several(models)


def _one(name: str, errors: Errors) -> Figure:
    names = [*errors.ranked, *GROUPS]
    figure = new_figure(0.95 + 0.28 * len(names))
    bars = [_bar(errors, each) for each in names]
    axes = figure.subplots()
    panel(axes, [(ERRORS | GROUPS)[each].label for each in names], bars, limits_of(bars), gap=len(GROUPS))
    axes.set_xlabel(_GAIN)
    axes.set_title(f"{label(name, _TITLE, lines=1)}\nmAP {_points(errors.means.map)}", loc="left")
    _legend(figure)
    return figure


def _several(models: Sequence[tuple[str, Errors]]) -> Figure:
    labels = [label(name, NAME) for name, _ in models]
    rows = (len(ERRORS) + len(GROUPS)) // _COLUMNS
    figure = new_figure(0.6 + rows * (0.5 + row_height(labels) * len(models)))
    panels = iter(figure.subplots(rows, _COLUMNS, sharey=True).ravel())
    for group in (ERRORS, GROUPS):
        bars = {name: [_bar(errors, name) for _, errors in models] for name in group}
        limits = limits_of([bar for each in bars.values() for bar in each])
        for name, each in bars.items():
            axes = next(panels)
            panel(axes, labels, each, limits)
            axes.set_title(group[name].label, loc="left", fontweight="bold")
    figure.supxlabel(_GAIN, fontsize=8)
    _legend(figure)
    return figure


def _bar(errors: Errors, name: str) -> Bar:
    delta = errors.deltas[name]
    colour = GREY if name in GROUPS else ORANGE if name == errors.worst else BLUE
    full, rare, non_rare = (None if value is None else 100 * value for value in delta)
    return Bar(full, _points(delta.map, "+"), colour, ((RARE, rare), (NON_RARE, non_rare)))


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    entries = [
        Patch(color=ORANGE, label="costs most"),
        Patch(color=BLUE, label="other errors"),
        legend_of(RARE, "rare classes"),
        legend_of(NON_RARE, "non-rare"),
    ]
    figure.legend(handles=entries, loc="outside upper right", ncols=len(entries))


def _points(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{100 * value:{sign}z.1f}"
