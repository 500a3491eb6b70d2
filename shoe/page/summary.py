"""The table that a page opens with: models down, figures across, and what that says in words."""

from __future__ import annotations

from itertools import groupby

from shoe.comparison.compare import Cell, Column, Comparison
from shoe.page.markup import Markup, joined, tag
from shoe.report.comparison_sentences import model_notes, sentences
from shoe.report.text import percent, points


def summary(found: Comparison) -> Markup:
    """Write the table: percent, best in bold, second underlined, with intervals and significance where tested."""
    columns = [found.cells(column.figure) for column in found.columns]
    rows = []
    for number, name in enumerate(found.names):
        model = tag("th", *named(name, number), scope="row", class_="model")
        cells = (_cell(found, column, of[number], number) for column, of in zip(found.columns, columns, strict=True))
        gain = tag("td", points(found.gains[number])) if found.compared else None
        rows.append(tag("tr", model, *cells, gain))
    groups = [(name, len(list(of))) for name, of in groupby(found.columns, key=lambda column: column.group)]
    above = tag("tr", tag("td"), *(tag("th", name, scope="colgroup", colspan=size) for name, size in groups))
    headings = [column.marked for column in found.columns] + (["gain"] if found.compared else [])
    below = tag("tr", *(tag("th", heading, scope="col") for heading in ("model", *headings)))
    table = tag("table", tag("thead", above, below), tag("tbody", *rows), class_="figures")
    return joined(tag("p", _about(found), class_="quiet"), tag("div", table, class_="card wide"), _words(found))


def named(name: str, number: int) -> tuple[Markup, Markup, Markup]:
    """A model's colour, its number from 1, and its name; ``number`` counts from 0."""
    colour = tag("span", class_=f"dot m{number % 8}")
    return colour, tag("small", number + 1), tag("bdi", name, title=name[:1000])


def _about(found: Comparison) -> str:
    about, several = "Percent; ↓: lower is better.", len(found.runs) > 1
    if several:
        about += " The best of each column is bold, the second underlined."
    if found.statistics is not None:
        if several:
            about += " Superscripts are the numbers of the models than which one is significantly better."
        about += " Under each figure stands its 95 % interval over images."
    return about + (" Gain is from strict to semantic mAP, in points." if found.compared else "")


def _cell(found: Comparison, column: Column, cell: Cell, number: int) -> Markup:
    above = tag("sup", ",".join(map(str, cell.above))) if cell.above else None
    estimates = found.statistics.estimates[found.names[number]] if found.statistics else {}
    of = estimates.get(column.figure)
    interval = tag("small", f"{percent(of.low)}–{percent(of.high)}") if of else None
    weight = "best" if cell.best else "second" if cell.second else None
    return tag("td", tag("span", percent(cell.value), class_=weight), above, interval)


def _words(found: Comparison) -> Markup:
    """What the comparison says, and what is to be known before it is believed."""
    items = []
    for line in [*found.unlike, *sentences(found), *model_notes(found)]:
        label, gap, text = line.partition("   ")
        items.append(tag("li", tag("b", f"{label}: ") if gap else None, tag("bdi", text.strip() if gap else line)))
    return tag("ul", *items, class_="words")
