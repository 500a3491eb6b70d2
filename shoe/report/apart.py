"""What sets models apart, by class, verb and object: in the terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from shoe.comparison.classes import Apart, Moved, class_ap
from shoe.comparison.compare import Comparison
from shoe.report.notes import percent
from shoe.report.text import points, table, words

_MOST = 3


def print_apart(found: Comparison, made: Sequence[Apart], to: Console) -> None:
    """Of the two best models, the classes, verbs and objects that gain and lose most."""
    best = _two_best(found)
    for each in made:
        if set(each.models) != best:
            continue
        heading = next(column.heading for column in found.columns if column.figure == each.figure)
        rows = [
            (kind, words(one.name), percent(one.before), percent(one.after), points(one.by))
            for kind, moved in (("class", each.classes), ("verb", each.verbs), ("object", each.objects))
            for one in _extremes(moved)
        ]
        if rows:
            to.print(
                table(
                    f"most apart, {heading}", "", *(words(m, 24).plain for m in each.models), "by", names=2, rows=rows
                )
            )


def _two_best(found: Comparison) -> set[str]:
    cells = found.cells(found.columns[0].figure)
    order = sorted(range(len(cells)), key=lambda i: (cells[i].rank or len(cells) + 1, i))
    return {found.names[i] for i in order[:2]}


def _extremes(moved: Sequence[Moved]) -> list[Moved]:
    gained = [one for one in moved[:_MOST] if one.by > 0]
    lost = [one for one in moved[-_MOST:] if one.by < 0]
    return gained + lost


def apart_dict(made: Sequence[Apart]) -> list[dict[str, Any]]:
    """The key ``apart`` of ``shoe compare --json``."""
    return [{**asdict(each), "models": list(each.models)} for each in made]


def classes_csv(found: Comparison) -> str:
    """A line for each class: its name, its ground truths, whether it is rare, and average precision of every model."""
    figures = [
        figure for figure in dict.fromkeys(c.figure for c in found.columns) if figure.endswith((":full", ":map"))
    ]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["class", "rare", *(f"{name} {figure}" for figure in figures for name in found.names)])
    columns = [class_ap(run, figure) for figure in figures for run in found.runs]
    classes = found.runs[0].classes
    for k, label in enumerate(classes.labels):
        values = ("" if ap[k] != ap[k] else f"{ap[k]:.6f}" for ap in columns)
        writer.writerow([label, "yes" if classes.rare[k] else "no", *values])
    return text.getvalue()
