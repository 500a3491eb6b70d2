"""Reliability diagrams: the share of right predictions over their scores, and how many predictions have such scores."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shoe.plots.style import GREY, MARKERS, SERIES, WIDTH, file_name, label, new_figure, save
from shoe.report.calibration import Calibrated

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_HEIGHT = 3.6
_SHARES = (3, 1)
"""Heights of the diagram and of the counts below it."""
_LEGEND = 2.4


def draw_reliability(models: Mapping[str, Sequence[Calibrated]], folder: Path) -> list[Path]:
    """Write a figure for each protocol, with a line for each model.

    Args:
        models: by name, under the same protocols; those whose scores are no probabilities are left out.
        folder: where to; it is made if it does not exist.
    """
    protocols = dict.fromkeys(one.protocol for found in models.values() for one in found)
    paths: list[Path] = []
    for protocol in protocols:
        shown = {
            name: one
            for name, found in models.items()
            for one in found
            if one.protocol == protocol and one.found is not None
        }
        if shown:
            paths += save(partial(_diagram, shown), folder, f"reliability-{file_name(protocol)}")
    return paths


def _diagram(models: Mapping[str, Calibrated]) -> Figure:
    figure = new_figure(_HEIGHT, WIDTH / 2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=_SHARES)
    above.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    for i, (name, one) in enumerate(models.items()):
        assert one.found is not None, "those without are left out"  # noqa: S101 - for the type checker
        style = {"color": SERIES[i % len(SERIES)], "marker": MARKERS[i % len(MARKERS)], "markersize": 3}
        known = [each for each in one.found.bins if each.predictions]
        said = f"{label(name, _LEGEND)} ({100 * one.found.error:.1f} %)"
        above.plot([each.score for each in known], [each.right for each in known], label=said, linewidth=1, **style)
        middles = [(each.low + each.high) / 2 for each in one.found.bins]
        counts = [each.predictions or None for each in one.found.bins]
        below.plot(middles, counts, linewidth=1, **style)
    above.set(xlim=(0, 1), ylim=(0, 1), ylabel="share of right predictions")
    below.set(xlabel="score", ylabel="predictions", yscale="log")
    below.yaxis.set_major_formatter("{x:,.0f}")
    figure.legend(loc="outside upper left")
    return figure
