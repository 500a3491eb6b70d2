"""Reliability diagrams: fraction of right predictions by score, and number of predictions by score."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from shoe.report.figures.style import GREY, MARKERS, SERIES, WIDTH, file_name, label, new_figure, save
from shoe.scoring.evidence.collect import Calibration, CalibrationReport

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_reliability(found: CalibrationReport, folder: Path) -> list[Path]:
    """Write one figure per protocol, as PDF and PNG, with a line per model, and return all paths; creates the folder.

    Models whose scores are not probabilities are left out, and so are protocols without a model.
    """
    by_protocol: dict[str, dict[str, Calibration]] = {}
    for model in found.models:
        for each in model.protocols:
            by_protocol.setdefault(each.protocol, {}).update({model.predictions: each} if each.bins else {})
    paths: list[Path] = []
    for protocol, models in by_protocol.items():
        paths += save(partial(_diagram, models), folder, f"reliability-{file_name(protocol)}") if models else []
    return paths


def _diagram(models: Mapping[str, Calibration]) -> Figure:
    figure = new_figure(3.6, WIDTH / 2)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    above.plot([0, 1], [0, 1], color=GREY, linewidth=0.8, linestyle=":")
    for i, (name, calibration) in enumerate(models.items()):
        style = {"color": SERIES[i % len(SERIES)], "marker": MARKERS[i % len(MARKERS)], "markersize": 3}
        known = [each for each in calibration.bins if each.predictions]
        text = f"{label(name, 2.4)} ({100 * (calibration.error or 0):.1f} %)"
        above.plot([each.score for each in known], [each.right for each in known], label=text, linewidth=1, **style)
        counts = [((each.low + each.high) / 2, each.predictions or None) for each in calibration.bins]
        below.plot(*zip(*counts, strict=True), linewidth=1, **style)
    above.set(xlim=(0, 1), ylim=(0, 1), ylabel="fraction of right predictions")
    below.set(xlabel="score", ylabel="predictions", yscale="log")
    below.yaxis.set_major_formatter("{x:,.0f}")
    figure.legend(loc="outside upper left")
    return figure
