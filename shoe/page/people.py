"""What people of a rating study say, as a part of the report, and as a page of its own."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from shoe.core.errors import many
from shoe.io.files import replacing
from shoe.page.markup import Markup, document, joined, tag
from shoe.report.study import figure_rows
from shoe.report.text import count, fixed, percent
from shoe.similarity.ensemble import HIGHEST
from shoe.study.analysis import Analysis
from shoe.study.map_raters import Beside
from shoe.study.ratings import shape_of

_STYLE = Path(__file__).parent / "static" / "page.css"
_ROW, _BAR, _LEFT, _RIGHT, _WIDTH = 20, 12, 150, 60, 720
_MOST = 40
"""Raters, and ensembles, that are shown one by one."""


def write_people_page(path: Path, found: Analysis, beside: Beside | None, command: str) -> None:
    """Write a study's report as one HTML file, which works from disk without a script.

    Raises:
        InputError: if the file cannot be written.
    """
    style = Markup(_STYLE.read_text("utf-8"))
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    typed = tag("div", tag("div", tag("pre", command), class_="command"), class_="card")
    body = tag(
        "main",
        tag("h1", "People's ratings"),
        tag("section", tag("h2", "Agreement"), people_part(found, beside)),
        tag("section", tag("h2", "Reproduce"), typed),
    )
    with replacing(path) as stream:
        stream.write(document("shoe: people's ratings", policy, style, body).encode("utf-8", "replace"))


def people_part(found: Analysis, beside: Beside | None) -> Markup:
    """Write the figures of a study: agreement with intervals, each rater, and a map's raters beside people."""
    columns = {"all": found.whole} | ({"without excluded": found.kept} if found.kept else {}) | found.parts
    rows = [figure_rows(agreement) for agreement in columns.values()]
    names = dict.fromkeys(name for row in rows for name in row)
    return joined(
        tag("p", f"{shape_of(found.study)}. In brackets 95 % intervals over items and raters.", class_="quiet"),
        _table("agreement", ("figure", *columns), ((name, *(row.get(name, "–") for row in rows)) for name in names)),
        tag("h3", "Each rater beside people"),
        _ceilings(found, beside),
        _levels(found),
        _ensembles(beside) if beside else None,
        _closing(found),
    )


def _ceilings(found: Analysis, beside: Beside | None) -> Markup:
    """Bars of how well each rater predicts the mean of the other people."""
    rows = [(name, rho, "m0") for name, rho in zip(found.study.raters, found.ceilings, strict=True)]
    if beside is not None:
        rows = [(rater.name, rater.rho, "m0" if rater.person else "m1") for rater in beside.raters]
    people = [row for row in rows if row[2] == "m0"][:_MOST]
    shown, parts = people + [row for row in rows if row[2] != "m0"], []
    scale = _WIDTH - _LEFT - _RIGHT
    for number, (name, rho, colour) in enumerate(shown):
        y = number * _ROW
        parts.append(tag("text", name[:24], tag("title", name), x=_LEFT - 12, y=y + _BAR, class_="name"))
        if rho is not None:
            width = max(rho, 0) * scale
            parts.append(tag("rect", x=_LEFT, y=y + 2, width=f"{max(width, 1):.1f}", height=_BAR, rx=2, class_=colour))
        parts.append(tag("text", fixed(rho), x=f"{_LEFT + max(rho or 0, 0) * scale + 8:.1f}", y=y + _BAR))
    about = "rank correlation of each rater with the mean of the other people"
    picture = tag(
        "svg", *parts, viewBox=f"0 0 {_WIDTH} {_ROW * len(shown)}", role="img", aria_label=about, class_="bars"
    )
    keys = [("m0", "people")] + ([("m1", "the map's raters")] if beside else [])
    legend = (tag("span", tag("span", class_=f"dot {colour}"), " ", text) for colour, text in keys)
    return tag(
        "div",
        tag("p", about[:1].upper() + about[1:] + ".", class_="quiet"),
        tag("div", picture, class_="wide", tabindex=0, role="region", aria_label="ceiling"),
        tag("p", *legend, class_="legend"),
        class_="card",
    )


def _levels(found: Analysis) -> Markup:
    headings = ("rater", *(f"rated {level}" for level in range(HIGHEST + 1)), "rho with others' mean", "excluded for")
    rows = (
        (rater, *map(count, given), fixed(rho), "; ".join(found.excluded.get(rater, ())))
        for rater, given, rho in zip(found.study.raters, found.levels.tolist(), found.ceilings, strict=True)
    )
    return tag("details", tag("summary", "What each rater gave"), _table("raters", headings, rows))


def _ensembles(beside: Beside) -> Markup:
    among = sum(each.among_best for each in beside.ensembles)
    told = f"{many(among, 'ensemble')} of {len(beside.ensembles)} cannot be told from the one nearest to people"
    rows = (
        (", ".join(each.raters), f"{percent(each.agreement)} %", "yes" if each.among_best else "no")
        for each in beside.ensembles[:_MOST]
    )
    summary = f"{told}, at 95 % for all together"
    return tag(
        "details", tag("summary", summary), _table("ensembles", ("raters", "agreement", "among the nearest"), rows)
    )


def _closing(found: Analysis) -> Markup | None:
    lines = []
    if found.study.weights:
        lines.append(f"Figures are of {found.study.weights.population:,.0f} pairs that the items stand for.")
    if (seen := found.picture) and seen.changed.value is not None:
        lines.append(f"{percent(seen.changed.value)} % of {many(seen.answers, 'rating')} changed with the picture.")
    if again := found.retest:
        lines.append(f"{percent(again.exact)} % of {many(again.answers, 'repeat')} were rated as before.")
    return tag("ul", *(tag("li", line) for line in lines), class_="words") if lines else None


def _table(about: str, headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    head = (tag("th", tag("bdi", heading, title=heading[:1000]), scope="col", class_="model") for heading in headings)
    body = (tag("tr", *(tag("td", tag("bdi", cell)) for cell in row)) for row in rows)
    table = tag("table", tag("thead", tag("tr", *head)), tag("tbody", *body))
    return tag("div", table, class_="card wide", tabindex=0, role="region", aria_label=about)
