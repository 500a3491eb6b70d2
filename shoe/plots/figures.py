"""All figures of a diagnosis that there is something to show in, its curves among them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.semantics import SemanticDiagnosis
from shoe.diagnosis.sweeps import Sweep, SweepPoint
from shoe.plots.bars import error_bars, pair_bars
from shoe.plots.confusions import Cell, confusion_map
from shoe.plots.style import MARKERS, SERIES, file_name, label, new_figure, save
from shoe.report.diagnosis_json import Models
from shoe.report.diagnosis_terminal import SWEEPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LEGEND = 1.9
"""Inches of a line."""
_MOST_TICKS = 5
_HEADROOM = 1.08
"""What an axis has beyond its highest point."""
_CURVES: dict[str, Callable[[SweepPoint], float | None]] = {
    "pair recall, %": lambda point: _in_percent(point.pairs.recall),
    "pair precision, %": lambda point: _in_percent(point.pairs.precision),
    "pairs per image": lambda point: point.pairs.per_image,
    "mAP, %": lambda point: _in_percent(point.means.map) if point.means else None,
}


def draw_figures(models: Models, folder: Path, *, sweeps: bool = False) -> list[Path]:
    """Write each figure as PDF and PNG.

    Args:
        models: one or several.
        folder: where to; it is made if it does not exist.
        sweeps: whether to thin out pairs at several thresholds too.

    Raises:
        InputError: if the folder cannot be written to.
    """
    diagnosed = {name: found for name, found in models.items() if isinstance(found, Diagnosis)}
    paths = save(lambda: error_bars(diagnosed), folder, "errors") if diagnosed else []
    paths += save(lambda: pair_bars(models), folder, "pairs")
    if sweeps:
        paths += save(lambda: sweep_curves(models), folder, "sweeps")
    for name, found in models.items():
        if found.semantic is not None:
            paths += _confusions(name, found.semantic, folder, "" if len(models) == 1 else f"-{file_name(name)}")
    return paths


def _confusions(name: str, found: SemanticDiagnosis, folder: Path, ending: str) -> list[Path]:
    """Heat maps of wrong verbs and objects, by number and by what meaning gives for them."""
    paths = []
    gap = found.vocabulary_gap
    for part, wrong, where in (("verb", found.interaction, "pairs"), ("object", found.object_class, "boxes")):
        cells = [Cell(*word) for word in wrong.words]
        title = f"{name}: wrong {part}s of right {where}, number of predictions"
        if cells:
            paths += save(partial(confusion_map, cells, title, _short), folder, f"{part}s{ending}")
        confusions = [each for each in gap.confusions if each.part == part and each.gain > 0] if gap else []
        cells = [Cell(each.word.label, each.word.predicted, each.gain) for each in confusions]
        title = f"{name}: what meaning adds to SHOE-mAP for {part}s in other words, in points"
        if cells:
            paths += save(partial(confusion_map, cells, title, _points), folder, f"{part}s_gain{ending}")
    return paths


def sweep_curves(models: Models) -> Figure:
    """Draw the curves: a row for each way of thinning out, from all pairs on the left to the fewest on the right."""
    kinds = [by for by in SWEEPS if any(curve.by == by for model in models.values() for curve in model.sweeps)]
    legend_rows = -(-len(models) // 3) * max(label(name, _LEGEND).count("\n") + 1 for name in models)
    figure = new_figure(0.15 * legend_rows + 0.1 + 2.0 * len(kinds))
    parts = figure.subfigures(len(kinds), 1, squeeze=False)[:, 0]
    for by, part in zip(kinds, parts, strict=True):
        part.suptitle(SWEEPS[by], x=0.01, ha="left", fontsize=8, fontweight="bold")
        panels = part.subplots(1, len(_CURVES))
        for axes, (title, value) in zip(panels, _CURVES.items(), strict=True):
            for k, (name, model) in enumerate(models.items()):
                look = {"color": SERIES[k % len(SERIES)], "marker": MARKERS[k % len(MARKERS)]}
                for curve in model.sweeps:
                    if curve.by == by:
                        _draw(axes, curve, value, look | {"label": label(name, _LEGEND)})
            axes.set_title(title, loc="left")
            axes.set_xlabel("threshold")
            axes.grid(color="#E3E3E3", linewidth=0.6)
            axes.set_ylim(0, _HEADROOM * axes.dataLim.y1 if axes.dataLim.y1 > 0 else 1)
            if not axes.lines:
                axes.remove()
    figure.legend(*parts[0].axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return figure


def _draw(axes: Axes, curve: Sweep, value: Callable[[SweepPoint], float | None], look: dict[str, Any]) -> None:
    """Draw one line; thresholds stand at equal distances, however they are chosen."""
    index = range(len(curve.points))
    known = [(x, y) for x, y in zip(index, map(value, curve.points), strict=True) if y is not None]
    if known:
        axes.plot([x for x, _ in known], [y for _, y in known], linewidth=1, markersize=3.2, **look)
    every = -(-len(index) // _MOST_TICKS)
    axes.set_xticks(index[::every], [f"{point.threshold:g}" for point in curve.points[::every]])


def _in_percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _short(count: float) -> str:
    """A count in at most four characters, up to a million."""
    thousands = count / 1000
    return f"{count:.0f}" if count < 1000 else f"{thousands:.1f}k" if count < 10_000 else f"{thousands:.0f}k"


def _points(gain: float) -> str:
    return f"{100 * gain:.2f}" if gain >= 5e-5 else "<.01"
