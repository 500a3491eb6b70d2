"""All figures of a diagnosis that there is something to show in: its curves, and heat maps of wrong words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.semantics import SemanticDiagnosis
from shoe.diagnosis.sweeps import Sweep, SweepPoint
from shoe.plots.bars import error_bars, pair_bars
from shoe.plots.style import GREY, GRID, INK, MARKERS, SERIES, file_name, label, new_figure, save, width_of
from shoe.report.diagnosis_json import Models
from shoe.report.diagnosis_terminal import SWEEPS

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_WORDS = 18
"""Rows and columns at most."""
_CELL = 0.32
"""Inches."""
_LONGEST = 1.5
"""Inches of a word."""
_DARKEST = (0.0, 0.27, 0.48)
_FAINTEST = 0.12
"""Share of the darkest colour that the smallest value has, so that it can be told from nothing."""
_LIGHT_TEXT = 0.65
"""Depth from which on white can be read better than black."""
_LEGEND = 1.9
"""Inches of a line of the legend."""
_MOST_TICKS = 5
_HEADROOM = 1.08
"""What an axis has beyond its highest point."""
_CURVES: dict[str, Callable[[SweepPoint], float | None]] = {
    "pair recall, %": lambda point: _in_percent(point.recall),
    "pair precision, %": lambda point: _in_percent(point.precision),
    "pairs per image": lambda point: point.per_image,
    "mAP, %": lambda point: _in_percent(point.map),
}


class Cell(NamedTuple):
    """One confusion: the word that is true, the one that was predicted, and how much that matters (above 0)."""

    truth: str
    predicted: str
    value: float


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
    gains = found.vocabulary_gap.confusions if found.vocabulary_gap else ()
    for part, wrong, where in (("verb", found.interaction, "pairs"), ("object", found.object_class, "boxes")):
        cells = [Cell(word.label, word.predicted, word.times) for word in wrong.words]
        title = f"{name}: wrong {part}s of right {where}, number of predictions"
        if cells:
            paths += save(partial(confusion_map, cells, title, _short), folder, f"{part}s{ending}")
        cells = [Cell(c.word.label, c.word.predicted, c.gain) for c in gains if c.part == part and c.gain > 0]
        title = f"{name}: what meaning adds to SHOE-mAP for {part}s in other words, in points"
        if cells:
            paths += save(partial(confusion_map, cells, title, _points), folder, f"{part}s_gain{ending}")
    return paths


def confusion_map(cells: Sequence[Cell], title: str, show: Callable[[float], str]) -> Figure:
    """Draw confusions: a row a true word, a column a predicted word, both by what they sum up to.

    Args:
        cells: all confusions; those of the words with the largest are drawn.
        title: what the numbers are.
        show: a number in a few characters.
    """
    from matplotlib.patches import Rectangle

    rows, columns = _words(cells)
    values = {(truth, word): value for truth, word, value in cells if truth in rows and word in columns}
    names = [label(word, _LONGEST, lines=1) for word in rows], [label(word, _LONGEST, lines=1) for word in columns]
    aside = [0.35 + max(map(width_of, words)) for words in names]
    width = max(4.0, aside[0] + _CELL * len(columns) + 0.6)
    heading = label(title, width - 0.2, bold=True)
    figure = new_figure(0.4 + 0.14 * heading.count("\n") + _CELL * len(rows) + 0.75 * aside[1], width)
    axes = figure.subplots()
    top, bottom = max(values.values()), min(values.values())
    for (truth, predicted), value in values.items():
        x, y = columns.index(predicted), rows.index(truth)
        depth = log(value / bottom) / log(top / bottom) if top > bottom else 1.0
        depth = _FAINTEST + (1 - _FAINTEST) * depth
        colour = tuple(1 - depth * (1 - channel) for channel in _DARKEST)
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="none"))
        axes.text(x, y, show(value), ha="center", va="center", size=6, color="white" if depth > _LIGHT_TEXT else INK)
    axes.set_xlim(-0.5, len(columns) - 0.5)
    axes.set_ylim(len(rows) - 0.5, -0.5)
    axes.set_aspect("equal", anchor="NW")
    axes.set_xticks(range(len(columns)), names[1], rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(len(rows)), names[0])
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    axes.set_xticks([k + 0.5 for k in range(-1, len(columns))], minor=True)
    axes.set_yticks([k + 0.5 for k in range(-1, len(rows))], minor=True)
    axes.grid(which="minor", color="#EBEBEB", linewidth=0.5)
    axes.tick_params(which="minor", length=0)
    axes.set_xlabel("predicted", color=GREY)
    axes.set_ylabel("true", color=GREY)
    figure.suptitle(heading, x=0.01, ha="left", fontsize=8, fontweight="bold")
    return figure


def _words(cells: Sequence[Cell]) -> tuple[list[str], list[str]]:
    """The words of the largest confusions, as many as there is room for; those with the largest sums first."""
    truths: dict[str, float] = {}
    words: dict[str, float] = {}
    for cell in sorted(cells, key=lambda each: (-each.value, each)):
        if max(len({*truths, cell.truth}), len({*words, cell.predicted})) <= _MOST_WORDS:
            truths[cell.truth] = words[cell.predicted] = 0.0
    for truth, predicted, value in cells:
        if truth in truths and predicted in words:
            truths[truth] += value
            words[predicted] += value
    rows, columns = (sorted(sums, key=lambda word: (-sums[word], word)) for sums in (truths, words))
    return rows, columns


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
            axes.grid(**GRID)
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
