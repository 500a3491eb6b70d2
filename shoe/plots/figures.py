"""All figures of a diagnosis that there is something to show in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shoe.plots.errors import error_bars
from shoe.plots.pairs import pair_bars, sweep_curves
from shoe.plots.style import save
from shoe.report.findings import Findings


def draw_figures(found: Sequence[Findings], folder: Path) -> list[Path]:
    """Write each figure as PDF and PNG.

    Args:
        found: one or several models.
        folder: where to; it is made if it does not exist.

    Raises:
        InputError: if the folder cannot be written to.
    """
    diagnosed = [(model.name, model.errors) for model in found if model.errors]
    paths = save(lambda: error_bars(diagnosed), folder, "errors") if diagnosed else []
    paths += save(lambda: pair_bars(found), folder, "pairs")
    if any(model.sweeps for model in found):
        paths += save(lambda: sweep_curves(found), folder, "sweeps")
    return paths
