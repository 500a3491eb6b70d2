"""Plots of a rating study, and of the agreement of metrics with human ratings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from shoe.report.figures.style import BLUE, GREY, GRID, INK, ORANGE, label, new_figure, save, write_beside
from shoe.report.study import HEADINGS, HEADLINE, KINDS
from shoe.similarity.ensemble import HIGHEST, MISSING
from shoe.study.agreement import LEVELS, mean_ratings
from shoe.study.analysis import Reference, StudyReport
from shoe.study.metric.rankings import MeasureComparison
from shoe.study.ratings import StudyRatings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ROW, _ABOVE = 0.24, 0.9
_MOST = 40  # maximum number of raters that are drawn
_SHADES = ("#DCE9F2", "#A9CBE2", "#6BA6CD", "#2F7FB5", "#0B4F82")


def draw_study(study: StudyRatings, found: StudyReport, folder: Path) -> list[Path]:
    """Write the figures of a study as PDF and PNG; return all paths. InputError if ``folder`` is not writable."""
    made: dict[str, Callable[[], Figure]] = {"study_levels": partial(levels, found)}
    if found.all.reference is not None:
        made["study_reference"] = partial(reference, study, found.all.reference)
    if any(rater.ceiling is not None for rater in found.raters.values()):
        made["study_ceiling"] = partial(ceilings, found)
    if found.picture is not None:
        made["study_picture"] = partial(pictures, study)
    return [path for name, draw in made.items() for path in save(draw, folder, name)]


def levels(found: StudyReport) -> Figure:
    """Draw how often each rater gave each rating, 0 to 4, in percent: one stacked bar per rater, at most 40 raters."""
    ratings = np.array([rater.levels for rater in found.raters.values()][:_MOST])
    shares = 100 * ratings / np.maximum(ratings.sum(axis=1, keepdims=True), 1)
    figure = new_figure(_ABOVE + _ROW * len(ratings))
    axes = figure.subplots()
    before = np.zeros(len(ratings))
    for level, shade in enumerate(_SHADES):
        axes.barh(range(len(ratings)), shares[:, level], left=before, color=shade, height=0.7, label=str(level))
        before += shares[:, level]
    _names(axes, [label(name, 1.6, lines=1) for name in [*found.raters][:_MOST]])
    axes.set_xlim(0, 100)
    axes.set_xlabel("% of the rater's ratings")
    figure.legend(loc="outside upper right", ncols=LEVELS, title=None)
    return figure


def reference(study: StudyRatings, fit: Reference) -> Figure:
    """Draw the reference value and the mean rating of each item as a dot, with the line on which both are equal."""
    figure = new_figure(3.6, 3.9)
    axes = figure.subplots()
    axes.plot([0, 1], [0, HIGHEST], color=GREY, linewidth=0.8)
    axes.scatter(study.reference, mean_ratings(study.first), s=9, color=BLUE, alpha=0.45, linewidths=0, clip_on=False)
    axes.set(xlim=(0, 1), ylim=(0, HIGHEST), xlabel="similarity map or other metric", ylabel="mean rating of people")
    if fit.spearman.value is not None:
        axes.set_title(f"rho {fit.spearman.value:.3f} on {fit.items:,} items", loc="left")
    axes.grid(**GRID)
    axes.set_axisbelow(True)
    return figure


def ceilings(found: StudyReport) -> Figure:
    """Draw Spearman's rho of each rater (at most 40 people, and raters of a map) with the mean of the other people."""
    if found.beside is None:
        rows = [(name, True, rater.ceiling) for name, rater in found.raters.items()]
    else:
        rows = [(rater.name, rater.person, rater.rho) for rater in found.beside.raters]
    rows = [row for row in rows if row[1]][:_MOST] + [row for row in rows if not row[1]]
    figure = new_figure(_ABOVE + _ROW * len(rows))
    axes = figure.subplots()
    value, interval = found.all.ceiling.value, found.all.ceiling.interval
    if interval is not None:
        axes.axvspan(*interval, color=GRID["color"], linewidth=0)
    if value is not None:
        axes.axvline(value, color=GREY, linewidth=0.8)
    for y, (_, person, rho) in enumerate(rows):
        if rho is not None:
            axes.plot([rho], [y], "o" if person else "D", color=BLUE if person else ORANGE, markersize=4)
    _names(axes, [label(name, 1.6, lines=1) for name, _, _ in rows])
    axes.grid(axis="x", **GRID)
    axes.set_xlabel("Spearman's rho with the mean of the (other) people; band: people's mean and its 95 % interval")
    return figure


def pictures(study: StudyRatings) -> Figure:
    """Draw counts of ratings as a matrix: rating before the image was shown (rows), rating after it (columns)."""
    both = (study.first != MISSING) & (study.picture != MISSING)
    counts = np.zeros((LEVELS, LEVELS), np.int64)
    np.add.at(counts, (study.first[both], study.picture[both]), 1)
    moved = np.where(np.eye(LEVELS, dtype=bool), 0, counts)
    figure = new_figure(3.3, 3.6)
    axes = figure.subplots()
    axes.imshow(moved, cmap="Blues", vmin=0, vmax=max(1, 2 * int(moved.max())))
    for (first, then), number in np.ndenumerate(counts):
        axes.text(then, first, f"{number:,}", ha="center", va="center", color=GREY if first == then else INK)
    axes.set(xticks=range(LEVELS), yticks=range(LEVELS), xlabel="rating with the image", ylabel="rating by words only")
    axes.tick_params(length=0)
    return figure


def _names(axes: Axes, names: Sequence[str]) -> None:
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)


def draw_against(found: MeasureComparison, folder: Path) -> list[Path]:
    """Write :func:`ranking_lines` as PDF and PNG; return both paths. InputError if ``folder`` is not writable."""
    return save(partial(ranking_lines, found), folder, "metric_against_people")


def ranking_lines(found: MeasureComparison) -> Figure:
    """Draw how well measures agree with people, with intervals; panels: predictions, models per image, and models."""
    levels = {name: level for name, level in found.levels.items() if level.figures}
    rows = [max(1, len(level.figures)) for level in levels.values()]
    figure = new_figure(0.7 * len(levels) + 0.24 * sum(rows))
    panels = figure.subplots(len(levels), 1, squeeze=False, height_ratios=rows)[:, 0]
    for (name, level), axes in zip(levels.items(), panels, strict=True):
        nearest = level.nearest.get(HEADLINE[name])
        closest = [nearest.measure, *nearest.not_told_apart] if nearest else []
        for y, (measure, figures) in enumerate(level.figures.items()):
            value, interval = figures[HEADLINE[name]].value, figures[HEADLINE[name]].interval
            colour = ORANGE if measure in closest else BLUE
            if interval is not None:
                axes.plot(interval, [y, y], color=colour, linewidth=1.4)
            if value is not None:
                axes.plot([value], [y], "o", color=colour, markersize=4)
            else:
                write_beside(axes, y, "undefined", 0, color=GREY)
        _names(axes, [label(measure, 2.2) for measure in level.figures])
        axes.set_ylim(len(level.figures) - 0.5, -0.5)
        axes.set_title(f"{KINDS[name]} ({level.number:,}): {HEADINGS[HEADLINE[name]]}", loc="left", fontweight="bold")
        axes.grid(axis="x", **GRID)
    figure.supxlabel("agreement with human ratings; orange: not significantly different from the best", fontsize=8)
    return figure
