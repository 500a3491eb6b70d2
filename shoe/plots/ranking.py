"""Measures on a line: how near each ranks to people, with its interval, a panel for each kind of thing."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shoe.plots.style import BLUE, GREY, GRID, ORANGE, beside_right, label, new_figure, save
from shoe.report.study_metric import HEADINGS, HEADLINE, KINDS
from shoe.study.metric.result import Against

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAME = 2.2
"""Inches of a line of a measure's name."""


def draw_against(found: Against, folder: Path) -> list[Path]:
    """Write the figure as PDF and PNG.

    Raises:
        InputError: if the folder cannot be written to.
    """
    return save(partial(ranking_lines, found), folder, "metric_against_people")


def ranking_lines(found: Against) -> Figure:
    """Draw a panel a level: a dot and its interval for each measure; those not told from the nearest in orange."""
    levels = {name: level for name, level in found.levels.items() if level.figures}
    rows = [max(1, len(level.figures)) for level in levels.values()]
    figure = new_figure(0.7 * len(levels) + 0.24 * sum(rows))
    panels = figure.subplots(len(levels), 1, squeeze=False, height_ratios=rows)[:, 0]
    for (name, level), axes in zip(levels.items(), panels, strict=True):
        nearest = level.nearest.get(HEADLINE[name])
        closest = [nearest.measure, *nearest.not_told_apart] if nearest else []
        for y, (measure, of) in enumerate(level.figures.items()):
            value, interval = of[HEADLINE[name]].value, of[HEADLINE[name]].interval
            colour = ORANGE if measure in closest else BLUE
            if interval is not None:
                axes.plot(interval, [y, y], color=colour, linewidth=1.4)
            if value is not None:
                axes.plot([value], [y], "o", color=colour, markersize=4)
            else:
                beside_right(axes, y, "undefined", 0, color=GREY)
        axes.set_yticks(range(len(level.figures)), [label(measure, _NAME) for measure in level.figures])
        axes.set_ylim(len(level.figures) - 0.5, -0.5)
        axes.set_title(f"{KINDS[name]} ({level.number:,}): {HEADINGS[HEADLINE[name]]}", loc="left", fontweight="bold")
        axes.grid(axis="x", **GRID)
        axes.tick_params(axis="y", length=0)
        axes.spines["left"].set_visible(False)
    figure.supxlabel("nearness to people; orange: cannot be told from the nearest", fontsize=8)
    return figure
