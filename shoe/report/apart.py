"""What sets models apart, by class, verb and object: in the terminal and as CSV."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from shoe.comparison.classes import Apart, Moved, class_ap, truths_of
from shoe.comparison.compare import Comparison
from shoe.io.delimited import delimited_text
from shoe.report.names import short_names
from shoe.report.text import count, percent, points, say, table, words
from shoe.runs.run import NO_CONFIDENCE

LEAST = "of classes with 5 ground truths or more, of verbs and objects with 10, where there are such"
_MOST = 3
_FEWEST_TRUTHS = {"class": 5, "verb": 10, "object": 10}
"""Ground truths below which average precision is a matter of luck; what has fewer is shown only where all have."""


def print_apart(found: Comparison, made: Sequence[Apart], to: Console) -> None:
    """Of the two best models, the classes, verbs and objects that gain and lose most."""
    shown = False
    for name, models, lines in most_apart(found, made):
        rows: list[list[str | Text]] = [[kind, words(label), *cells] for kind, label, *cells in lines]
        to.print(table(f"most apart, {name}", "", "truths", *short_names(models, 24), "by", names=2, rows=rows))
        shown = True
    if shown:
        pair = sorted(_two_best(found), key=found.names.index)
        others = "; other pairs, and all classes: --json" if len(found.runs) > 2 else "; all classes: --json"
        say(to, f"apart      {' and '.join(pair)}: {LEAST}{others}")


def most_apart(
    found: Comparison, made: Sequence[Apart]
) -> Iterator[tuple[str, Sequence[str], list[tuple[str, str, str, str, str, str]]]]:
    """For each figure its name, the two best models, and what gains and loses most from one to the other.

    Each row says the kind, the class, verb or object, its truths, its two figures in percent, and their difference.
    """
    pair = _two_best(found)
    for each in made:
        if set(each.models) != pair:
            continue
        heading = next(column.heading for column in found.columns if column.figure == each.figure)
        rows = [
            (kind, one.name, count(one.truths), percent(one.before), percent(one.after), points(one.by))
            for kind, moved in (("class", each.classes), ("verb", each.verbs), ("object", each.objects))
            for one in _extremes(moved, _FEWEST_TRUTHS[kind])
        ]
        if rows:
            yield heading, each.models, rows


def _two_best(found: Comparison) -> set[str]:
    """The best model and the next one that is not the same with all its scores equal."""
    cells = found.cells(found.columns[0].figure)
    order = sorted(range(len(cells)), key=lambda i: (cells[i].rank or len(cells) + 1, i))
    first, *others = (found.names[i] for i in order)
    model = first.removesuffix(NO_CONFIDENCE)
    return {first, *[name for name in others if name.removesuffix(NO_CONFIDENCE) != model][:1]}


def _extremes(moved: Sequence[Moved], fewest: int) -> list[Moved]:
    moved = [one for one in moved if one.truths >= fewest] or moved
    gained = [one for one in moved[:_MOST] if one.by > 0]
    lost = [one for one in moved[-_MOST:] if one.by < 0]
    return gained + lost


def classes_csv(found: Comparison) -> str:
    """A line for each class: its name, its ground truths, whether it is rare, and average precision of every model."""
    figures = [
        figure for figure in dict.fromkeys(c.figure for c in found.columns) if figure.endswith((":full", ":map"))
    ]
    headings = [f"{name} {figure}" for figure in figures for name in found.names]
    rows: list[list[object]] = [["class", "rare", "ground truths", *headings]]
    columns = [class_ap(run, figure) for figure in figures for run in found.runs]
    classes, truths = found.runs[0].classes, truths_of(found.runs[0])
    for k, label in enumerate(classes.labels):
        values = ("" if ap[k] != ap[k] else f"{ap[k]:.6f}" for ap in columns)
        rows.append([label, "yes" if classes.rare[k] else "no", int(truths[k]), *values])
    return delimited_text(rows)
