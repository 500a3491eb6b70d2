"""Parts of a comparison that need no script: what sets the two best models apart, and figures under other choices."""

from __future__ import annotations

from collections.abc import Sequence

from shoe.comparison.classes import apart
from shoe.comparison.compare import Comparison
from shoe.comparison.sweeps import Point, Survival
from shoe.page.markup import Markup, joined, tag
from shoe.page.summary import named
from shoe.page.sweep_charts import sweep_charts
from shoe.report.apart import LEAST, most_apart
from shoe.report.sweeps import RATERS, sentence, sweep_tables


def apart_tables(found: Comparison) -> Markup:
    """Classes, verbs and objects that gain and lose most from one of the two best models to the other."""
    return joined(
        tag("p", f"Of the two best models, what gains and loses most: {LEAST}.", class_="quiet"),
        *(
            _table(f"Most apart, {name}", ("", "", "truths", *models, "by"), rows)
            for name, models, rows in most_apart(found, apart(found))
        ),
    )


def sweep_of(models: Sequence[str], points: Sequence[Point], survivals: Sequence[Survival]) -> Markup:
    """Whether rankings survive other choices of the metric: in words, as curves, and the figures under each."""
    about = (
        "Each choice of the metric varied alone. Dashed is what was asked for; an arrow (↕) stands where two models "
        f"change places; {RATERS}."
    )
    items = (tag("li", sentence(survival).partition("   ")[2].strip()) for survival in survivals)
    names = (tag("span", *named(name, number), class_="model") for number, name in enumerate(models))
    tables = (_table(f"{name}, all values", ("option", "value", *models), rows) for name, rows in sweep_tables(points))
    return joined(
        tag("p", about, class_="quiet"),
        tag("ul", *items, class_="words"),
        tag("div", sweep_charts(models, points, survivals), tag("p", *names, class_="legend"), class_="card"),
        *tables,
    )


def _table(name: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Markup:
    head = (tag("th", tag("bdi", heading, title=heading[:1000]), scope="col", class_="model") for heading in headings)
    body = (tag("tr", *(tag("td", tag("bdi", cell)) for cell in row)) for row in rows)
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body), class_="listed")
    return tag("details", tag("summary", name), tag("div", table, class_="card wide"))
