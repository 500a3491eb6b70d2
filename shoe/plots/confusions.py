"""Which words are predicted for which: heat maps whose every cell can be read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from math import log
from typing import TYPE_CHECKING, NamedTuple

from shoe.plots.style import GREY, INK, label, new_figure, width_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 18
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


class Cell(NamedTuple):
    """One confusion: the word that is true, the one that was predicted, and how much that matters (above 0)."""

    truth: str
    predicted: str
    value: float


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
    chosen: tuple[set[str], set[str]] = set(), set()
    for cell in sorted(cells, key=lambda each: (-each.value, each)):
        pair = cell.truth, cell.predicted
        if all(len(words | {word}) <= _MOST for words, word in zip(chosen, pair, strict=True)):
            for words, word in zip(chosen, pair, strict=True):
                words.add(word)
    sums: tuple[defaultdict[str, float], defaultdict[str, float]] = defaultdict(float), defaultdict(float)
    for truth, predicted, value in cells:
        if truth in chosen[0] and predicted in chosen[1]:
            sums[0][truth] += value
            sums[1][predicted] += value
    rows, columns = (sorted(totals, key=lambda word: (-totals[word], word)) for totals in sums)
    return rows, columns
