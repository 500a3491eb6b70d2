"""How well pairs are found and named, and what becomes of that as pairs are thinned out (IJCV paper, Tables 2 to 4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from shoe.diagnosis.sweeps import Sweep, SweepPoint
from shoe.plots.bars import NAME, Bar, limits_of, panel, row_height
from shoe.plots.style import BLUE, MARKERS, SERIES, label, new_figure
from shoe.report.findings import Findings

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_COLUMNS = 3
_TITLE, _LEGEND = 5.5, 1.9
"""Inches of a line."""
_MOST_TICKS = 5
_HEADROOM = 1.08
"""What an axis has beyond its highest point."""
_SHARES: dict[str, Callable[[Findings], float | None]] = {
    "pair recall": lambda model: model.pairs.recall,
    "pair precision": lambda model: model.pairs.precision,
    "human recall": lambda model: model.pairs.human_recall,
    "object recall": lambda model: model.pairs.object_recall,
    "negative AP": lambda model: model.negative_ap.all_points if model.negative_ap else None,
    "interaction mAP": lambda model: model.interaction_map.map if model.interaction_map else None,
}
_CURVES: dict[str, Callable[[SweepPoint], float | None]] = {
    "pair recall, %": lambda point: _in_percent(point.pairs.recall),
    "pair precision, %": lambda point: _in_percent(point.pairs.precision),
    "pairs an image": lambda point: point.pairs.per_image,
    "mAP, %": lambda point: _in_percent(point.means.map) if point.means else None,
}
_SWEEPS = {
    "nms": "without pairs that overlap a better one by more than a threshold (NMS)",
    "detection": "without pairs whose detection scores less than a threshold",
    "score": "without triplets that score less than a threshold",
}


def pair_bars(models: Sequence[Findings]) -> Figure:
    """Draw the figures of both sub-tasks that some model has, in percent."""
    shares = {name: share for name, share in _SHARES.items() if any(share(model) is not None for model in models)}
    if len(models) == 1:
        bars = [_percent(share(models[0])) for share in shares.values()]
        figure = new_figure(0.7 + 0.28 * len(bars))
        axes = figure.subplots()
        panel(axes, list(shares), bars, (0, 100))
        axes.set_title(f"{label(models[0].name, _TITLE, lines=1)}\n{_number(models[0])} pairs an image", loc="left")
        axes.set_xlabel("%")
        return figure
    labels = [label(model.name, NAME) for model in models]
    rows = -(-(len(shares) + 1) // _COLUMNS)
    figure = new_figure(0.2 + rows * (0.55 + row_height(labels) * len(models)))
    panels = figure.subplots(rows, _COLUMNS, sharey=True).ravel()
    counts = [Bar(model.pairs.per_image, _number(model), BLUE) for model in models]
    panel(panels[0], labels, counts, limits_of(counts))
    panels[0].set_title("pairs an image", loc="left", fontweight="bold")
    for axes, (name, share) in zip(panels[1:], shares.items(), strict=False):
        bars = [_percent(share(model)) for model in models]
        panel(axes, labels, bars, limits_of(bars))
        axes.set_title(f"{name}, %", loc="left", fontweight="bold")
    for axes in panels[1 + len(shares) :]:
        axes.remove()
    return figure


def sweep_curves(models: Sequence[Findings]) -> Figure:
    """Draw the curves: a row for each way of thinning out, from all pairs on the left to the fewest on the right."""
    kinds = [by for by in _SWEEPS if any(curve.by == by for model in models for curve in model.sweeps)]
    legend_rows = -(-len(models) // 3) * max(label(model.name, _LEGEND).count("\n") + 1 for model in models)
    figure = new_figure(0.15 * legend_rows + 0.1 + 2.0 * len(kinds))
    parts = figure.subfigures(len(kinds), 1, squeeze=False)[:, 0]
    for by, part in zip(kinds, parts, strict=True):
        part.suptitle(_SWEEPS[by], x=0.01, ha="left", fontsize=8, fontweight="bold")
        panels = part.subplots(1, len(_CURVES))
        for axes, (title, value) in zip(panels, _CURVES.items(), strict=True):
            for k, model in enumerate(models):
                look = {"color": SERIES[k % len(SERIES)], "marker": MARKERS[k % len(MARKERS)]}
                for curve in model.sweeps:
                    if curve.by == by:
                        _draw(axes, curve, value, look | {"label": label(model.name, _LEGEND)})
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
    place = range(len(curve.points))
    known = [(x, y) for x, y in zip(place, map(value, curve.points), strict=True) if y is not None]
    if known:
        axes.plot([x for x, _ in known], [y for _, y in known], linewidth=1, markersize=3.2, **look)
    every = -(-len(place) // _MOST_TICKS)
    axes.set_xticks(place[::every], [f"{point.threshold:g}" for point in curve.points[::every]])


def _percent(value: float | None) -> Bar:
    return Bar(_in_percent(value), "–" if value is None else f"{100 * value:.1f}", BLUE)


def _in_percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _number(model: Findings) -> str:
    per_image = model.pairs.per_image
    return "–" if per_image is None else f"{per_image:.1f}"
