"""Reliability diagrams: the share of right predictions over their scores, and how many predictions have such scores."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shoe.report.figures.style import GREY, MARKERS, SERIES, WIDTH, file_name, label, new_figure, save
from shoe.scoring.evidence.collect import Calibration, CalibrationReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEIGHT = 3.6
_SHARES = (3, 1)
"""Heights of the diagram and of the counts below it."""
_LEGEND = 2.4


def draw_reliability(found: CalibrationReport, folder: Path) -> list[Path]:
    """Write a figure for each protocol, with a line for each model.

    Args:
        found: of models under the same protocols; those whose scores are no probabilities are left out.
        folder: where to; it is made if it does not exist.
    """
    protocols = dict.fromkeys(one.protocol for model in found.models for one in model.protocols)
    paths: list[Path] = []
    for protocol in protocols:
        shown = {
            model.predictions: one
            for model in found.models
            for one in model.protocols
            if one.protocol == protocol and one.bins
        }
        if shown:
            paths += save(partial(_diagram, shown), folder, f"reliability-{file_name(protocol)}")
    return paths


def _diagram(models: Mapping[str, Calibration]) -> Figure:
    figure = new_figure(_HEIGHT, WIDTH / 2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=_SHARES)
    above.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    for i, (name, one) in enumerate(models.items()):
        style = {"color": SERIES[i % len(SERIES)], "marker": MARKERS[i % len(MARKERS)], "markersize": 3}
        known = [each for each in one.bins if each.predictions]
        said = f"{label(name, _LEGEND)} ({100 * (one.error or 0):.1f} %)"
        above.plot([each.score for each in known], [each.right for each in known], label=said, linewidth=1, **style)
        middles = [(each.low + each.high) / 2 for each in one.bins]
        counts = [each.predictions or None for each in one.bins]
        below.plot(middles, counts, linewidth=1, **style)
    above.set(xlim=(0, 1), ylim=(0, 1), ylabel="share of right predictions")
    below.set(xlabel="score", ylabel="predictions", yscale="log")
    below.yaxis.set_major_formatter("{x:,.0f}")
    figure.legend(loc="outside upper left")
    return figure
