"""Plots of errors and pairs (Diag-HOI, IJCV paper, Figures 7 and 8, Table 2), sweeps, confusions and calibration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.error_gains import ErrorAnalysis
from shoe.diagnosis.error_types import ERRORS, GROUPS
from shoe.diagnosis.localisation import Sweep, SweepPoint
from shoe.diagnosis.pairs import PairDiagnosis
from shoe.diagnosis.semantics import SemanticDiagnosis
from shoe.report.diagnosis import SWEEPS, Models
from shoe.report.figures import style
from shoe.report.figures.style import BLUE, GREY, GRID, INK, ORANGE, WIDTH, file_name, label, new_figure, save
from shoe.scoring.evidence.collect import Calibration, CalibrationReport

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NAME, _TITLE = 1.6, 5.5  # width in inches of a model name next to bars, and of a title
_COLUMNS = 3
_GAIN = "gain in mAP if only this error were fixed, in points"
_SHARES: dict[str, Callable[[Diagnosis | PairDiagnosis], float | None]] = {
    "pair recall": lambda model: model.pairs.recall,
    "pair precision": lambda model: model.pairs.precision,
    "human recall": lambda model: model.pairs.human_recall,
    "object recall": lambda model: model.pairs.object_recall,
    "negative AP": lambda model: model.negative_ap.all_points if model.negative_ap else None,
    "interaction mAP": lambda model: model.interaction_map.map if model.interaction_map else None,
}


class Bar(NamedTuple):
    """One bar: its length, the text beside it, its colour, and further points in its row as (marker, value)."""

    value: float | None
    text: str
    colour: str
    marks: tuple[tuple[str, float | None], ...] = ()


_RARE, _NON_RARE = "^", "o"  # markers of the means over rare and over non-rare classes


def error_bars(models: Mapping[str, ErrorAnalysis]) -> Figure:
    """Draw the mAP gained by fixing errors: one panel for a single model, or one panel per error for several."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    if len(models) == 1:
        ((name, found),) = models.items()
        errors = (*sorted(ERRORS, key=lambda error: -(found.deltas[error.name].map or 0.0)), *GROUPS)
        bars = [_delta_bar(found, error.name) for error in errors]
        figure = _single(name, f"mAP {_bar_points(found.means.map)}", bars, 0.95)
        _panel(figure.axes[0], [error.label for error in errors], bars, _limits_of(bars), gap=len(GROUPS))
        figure.axes[0].set_xlabel(_GAIN)
    else:
        panels = []
        for group in (ERRORS, GROUPS):
            bars_of = {error.label: [_delta_bar(found, error.name) for found in models.values()] for error in group}
            limits = _limits_of([bar for bars in bars_of.values() for bar in bars])
            panels += [(title, bars, limits) for title, bars in bars_of.items()]
        figure = _grid(models, panels, 0.6, 0.5)
        figure.supxlabel(_GAIN, fontsize=8)
    colours = [Patch(color=ORANGE, label="largest gain"), Patch(color=BLUE, label="other errors")]
    marks = ((_RARE, "rare classes"), (_NON_RARE, "non-rare"))
    lines = [Line2D([], [], marker=mark, linestyle="", label=text, **_mark(mark)) for mark, text in marks]
    figure.legend(handles=[*colours, *lines], loc="outside upper right", ncols=4)
    return figure


def _delta_bar(found: ErrorAnalysis, name: str) -> Bar:
    delta = found.deltas[name]
    colour = GREY if name in {error.name for error in GROUPS} else ORANGE if name == found.worst else BLUE
    full, rare, non_rare = map(_in_percent, delta)
    return Bar(full, _bar_points(delta.map, "+"), colour, ((_RARE, rare), (_NON_RARE, non_rare)))


def pair_bars(models: Mapping[str, Diagnosis | PairDiagnosis]) -> Figure:
    """Draw pairs per image, and metrics of pairs and interactions in percent, except metrics that no model has."""
    numbers = ["–" if (n := model.pairs.per_image) is None else f"{n:.1f}" for model in models.values()]
    by_title = {title: [share(model) for model in models.values()] for title, share in _SHARES.items()}
    known = {title: values for title, values in by_title.items() if any(value is not None for value in values)}
    shares = {title: [Bar(_in_percent(v), _bar_points(v), BLUE) for v in values] for title, values in known.items()}
    if len(models) == 1:
        bars = [bar for (bar,) in shares.values()]
        figure = _single(next(iter(models)), f"{numbers[0]} pairs per image", bars, 0.7)
        _panel(figure.axes[0], list(shares), bars, (0, 100))
        figure.axes[0].set_xlabel("%")
        return figure
    counts = [Bar(model.pairs.per_image, text, BLUE) for model, text in zip(models.values(), numbers, strict=True)]
    panels = {"pairs per image": counts} | {f"{title}, %": bars for title, bars in shares.items()}
    return _grid(models, [(title, bars, _limits_of(bars)) for title, bars in panels.items()], 0.2, 0.55)


def _single(name: str, line: str, bars: Sequence[Bar], above: float) -> Figure:
    figure = new_figure(above + 0.28 * len(bars))
    figure.subplots().set_title(f"{label(name, _TITLE, lines=1)}\n{line}", loc="left")
    return figure


def _grid(
    models: Iterable[str], panels: Sequence[tuple[str, Sequence[Bar], tuple[float, float]]], above: float, title: float
) -> Figure:
    """Draw panels, each (title, a bar per model, x limits); ``above`` and ``title``: inches above all and each."""
    labels = [label(name, _NAME) for name in models]
    rows = -(-len(panels) // _COLUMNS)
    figure = new_figure(above + rows * (title + _row_height(labels) * len(labels)))
    grid = figure.subplots(rows, _COLUMNS, sharey=True).ravel()
    for axes, (text, bars, limits) in zip(grid, panels, strict=False):
        _panel(axes, labels, bars, limits)
        axes.set_title(text, loc="left", fontweight="bold")
    for axes in grid[len(panels) :]:
        axes.remove()
    return figure


def _panel(axes: Axes, names: Sequence[str], bars: Sequence[Bar], limits: tuple[float, float], gap: int = 0) -> None:
    """Draw bars from top to bottom, with a space before the last ``gap`` bars; a value of None leaves a row empty."""
    rows = [k + (0.5 if k >= len(bars) - gap else 0.0) for k in range(len(bars))]
    height = 0.16 / _row_height(names)
    for y, bar in zip(rows, bars, strict=True):
        if bar.value is not None:
            axes.barh(y, bar.value, height=height, color=bar.colour)
        for mark, value in ((mark, value) for mark, value in bar.marks if value is not None):
            axes.plot([value], [y], mark, **_mark(mark))
        style.write_beside(axes, y, bar.text)
    axes.set_yticks(rows, names)
    axes.set(xlim=limits, ylim=(rows[-1] + 0.6, -0.6))
    axes.tick_params(axis="y", length=0, pad=6)
    axes.spines["left"].set_visible(False)
    axes.axvline(0, color=GREY, linewidth=0.6)
    axes.grid(axis="x", **GRID)
    axes.set_axisbelow(True)
    if gap:
        axes.axhline(len(bars) - gap - 0.25, color=GREY, linewidth=0.6)


def _limits_of(bars: Sequence[Bar]) -> tuple[float, float]:
    values = (value for bar in bars for value in (bar.value, *(marked for _, marked in bar.marks)))
    known = [0.0, *(value for value in values if value is not None)]
    room = 0.04 * (max(known) - min(known)) or 1.0
    return min(known) - (room if min(known) < 0 else 0.0), max(known) + room


def _row_height(names: Sequence[str]) -> float:
    # In inches, so that names of several lines do not touch.
    return 0.12 + 0.135 * max(name.count("\n") + 1 for name in names)


def _mark(mark: str) -> dict[str, Any]:
    look = {"color": INK, "markersize": 3.6, "markeredgewidth": 0.8, "clip_on": False}
    return look | {"markerfacecolor": INK if mark == _RARE else "white"}


def _bar_points(value: float | None, sign: str = "") -> str:
    return "–" if value is None else f"{100 * value:{sign}z.1f}"


_MOST_WORDS = 18  # maximum number of rows and of columns of a heat map
_CELL = 0.32  # size of a cell in inches
_LONGEST = 1.5  # width of a word in inches
_DARKEST = (0.0, 0.27, 0.48)
_FAINTEST = 0.12  # fraction of the darkest colour for the smallest value, so that it differs from an empty cell
_LEGEND = 1.9  # width of a line of the legend in inches
_CURVES: dict[str, Callable[[SweepPoint], float | None]] = {
    "pair recall, %": lambda point: _in_percent(point.recall),
    "pair precision, %": lambda point: _in_percent(point.precision),
    "pairs per image": lambda point: point.per_image,
    "mAP, %": lambda point: _in_percent(point.map),
}


class Cell(NamedTuple):
    """A confusion: the true word, the predicted word, and a value above 0."""

    truth: str
    predicted: str
    value: float


def draw_figures(models: Models, folder: Path, *, sweeps: bool = False) -> list[Path]:
    """Write all figures of a diagnosis to a folder, each as PDF and PNG, and return their paths.

    ``sweeps`` adds curves over thresholds. Raise InputError if the folder cannot be written to.
    """
    diagnosed = {name: found for name, found in models.items() if isinstance(found, Diagnosis)}
    paths = save(lambda: error_bars(diagnosed), folder, "errors") if diagnosed else []
    paths += save(lambda: pair_bars(models), folder, "pairs")
    if sweeps:
        paths += save(lambda: sweep_curves(models), folder, "sweeps")
    for name, found in models.items():
        if found.semantic is not None:
            paths += _confusions(name, found.semantic, folder, "" if len(models) == 1 else f"-{style.file_name(name)}")
    return paths


def _confusions(name: str, found: SemanticDiagnosis, folder: Path, ending: str) -> list[Path]:
    paths = []
    gains = found.vocabulary_gap.confusions if found.vocabulary_gap else ()
    for part, wrong, where in (("verb", found.interaction, "pairs"), ("object", found.object_class, "boxes")):
        if cells := [Cell(word.label, word.predicted, word.times) for word in wrong.words]:
            title = f"{name}: wrong {part}s of right {where}, number of predictions"
            paths += save(partial(confusion_map, cells, title, _short), folder, f"{part}s{ending}")
        if cells := [Cell(c.word.label, c.word.predicted, c.gain) for c in gains if c.part == part and c.gain > 0]:
            title = f"{name}: gain in SHOE-mAP by credit for similar {part}s, in points"
            show = partial(confusion_map, cells, title, lambda gain: f"{100 * gain:.2f}" if gain >= 5e-5 else "<.01")
            paths += save(show, folder, f"{part}s_gain{ending}")
    return paths


def confusion_map(cells: Sequence[Cell], title: str, show: Callable[[float], str]) -> Figure:
    """Draw the largest confusions as a heat map; ``show`` is a function that formats a value in a few characters."""
    from matplotlib.patches import Rectangle

    rows, columns = _words(cells)
    values = {(truth, word): value for truth, word, value in cells if truth in rows and word in columns}
    names = [label(word, _LONGEST, lines=1) for word in rows], [label(word, _LONGEST, lines=1) for word in columns]
    aside = [0.35 + max(map(style.width_of, words)) for words in names]
    width = max(4.0, aside[0] + _CELL * len(columns) + 0.6)
    heading = label(title, width - 0.2, bold=True)
    figure = new_figure(0.4 + 0.14 * heading.count("\n") + _CELL * len(rows) + 0.75 * aside[1], width)
    axes = figure.subplots()
    top, bottom = max(values.values()), min(values.values())
    for (truth, predicted), value in values.items():
        x, y = columns.index(predicted), rows.index(truth)
        depth = _FAINTEST + (1 - _FAINTEST) * (log(value / bottom) / log(top / bottom) if top > bottom else 1.0)
        colour = tuple(1 - depth * (1 - channel) for channel in _DARKEST)
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=colour, edgecolor="none"))
        axes.text(x, y, show(value), ha="center", va="center", size=6, color="white" if depth > 0.65 else INK)
    axes.set(xlim=(-0.5, len(columns) - 0.5), ylim=(len(rows) - 0.5, -0.5))
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
    """Return true and predicted words of the largest confusions, at most ``_MOST_WORDS`` each, by sum of values."""
    truths, words = dict[str, float](), dict[str, float]()
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
    """Draw metrics over thresholds, one row per kind of threshold (NMS, detection score, triplet score)."""
    kinds = [by for by in SWEEPS if any(curve.by == by for model in models.values() for curve in model.sweeps)]
    legend_rows = -(-len(models) // 3) * max(label(name, _LEGEND).count("\n") + 1 for name in models)
    figure = new_figure(0.15 * legend_rows + 0.1 + 2.0 * len(kinds))
    parts = figure.subfigures(len(kinds), 1, squeeze=False)[:, 0]
    for by, part in zip(kinds, parts, strict=True):
        part.suptitle(SWEEPS[by], x=0.01, ha="left", fontsize=8, fontweight="bold")
        for axes, (title, value) in zip(part.subplots(1, len(_CURVES)), _CURVES.items(), strict=True):
            for k, (name, model) in enumerate(models.items()):
                for curve in (curve for curve in model.sweeps if curve.by == by):
                    _draw(axes, curve, value, style.series(k) | {"label": label(name, _LEGEND)})
            axes.set_title(title, loc="left")
            axes.set_xlabel("threshold")
            axes.grid(**GRID)
            axes.set_ylim(0, 1.08 * axes.dataLim.y1 if axes.dataLim.y1 > 0 else 1)
            if not axes.lines:
                axes.remove()
    figure.legend(*parts[0].axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=3)
    return figure


def _draw(axes: Axes, curve: Sweep, value: Callable[[SweepPoint], float | None], look: dict[str, Any]) -> None:
    index = range(len(curve.points))
    if known := [(x, y) for x, y in zip(index, map(value, curve.points), strict=True) if y is not None]:
        axes.plot([x for x, _ in known], [y for _, y in known], linewidth=1, markersize=3.2, **look)
    every = -(-len(index) // 5)
    axes.set_xticks(index[::every], [f"{point.threshold:g}" for point in curve.points[::every]])


def _in_percent(value: float | None) -> float | None:
    return None if value is None else 100 * value


def _short(count: float) -> str:
    return f"{count:.0f}" if count < 1000 else f"{count / 1000:.{count < 10_000:d}f}k"


def draw_reliability(found: CalibrationReport, folder: Path) -> list[Path]:
    """Write a figure per protocol, with a line per model whose scores are probabilities; return the paths."""
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
        look = style.series(i) | {"linewidth": 1, "markersize": 3}
        known = [each for each in calibration.bins if each.predictions]
        text = f"{label(name, 2.4)} ({100 * (calibration.error or 0):.1f} %)"
        above.plot([each.score for each in known], [each.right for each in known], label=text, **look)
        counts = [((each.low + each.high) / 2, each.predictions or None) for each in calibration.bins]
        below.plot(*zip(*counts, strict=True), **look)
    above.set(xlim=(0, 1), ylim=(0, 1), ylabel="fraction of right predictions")
    below.set(xlabel="score", ylabel="predictions", yscale="log")
    below.yaxis.set_major_formatter("{x:,.0f}")
    figure.legend(loc="outside upper left")
    return figure
