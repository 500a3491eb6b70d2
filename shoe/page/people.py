"""Ratings of a study as a section of the report, and as a page of their own."""

from __future__ import annotations

from pathlib import Path

from markupsafe import Markup

from shoe.core.errors import many
from shoe.page.rendering import document, render, write_document
from shoe.page.svg import rater_bars
from shoe.report.study import figure_rows
from shoe.report.text import count, fixed, percent
from shoe.similarity.ensemble import HIGHEST
from shoe.study.analysis import Analysis
from shoe.study.map_raters import Beside
from shoe.study.ratings import shape_of

_MOST = 40
"""Raters, and ensembles, that are shown one by one."""


def write_people_page(path: Path, found: Analysis, beside: Beside | None, command: str) -> None:
    """Write the report of a study as one HTML file, which works from disk without a script.

    Raises:
        InputError: if the file cannot be written.
    """
    values = {"people": people_part(found, beside), "command": command}
    write_document(path, document("people.html", "shoe: people's ratings", ["page.css"], **values)[0])


def people_part(found: Analysis, beside: Beside | None) -> Markup:
    """Render the results of a study: agreement with intervals, each rater, and the raters of a map beside people."""
    columns = {"all": found.whole} | ({"without excluded": found.kept} if found.kept else {}) | found.parts
    agreement = [figure_rows(each) for each in columns.values()]
    ceilings = list(zip(found.study.raters, found.ceilings, strict=True))
    bars = [(name, rho, "m0") for name, rho in ceilings]
    if beside is not None:
        bars = [(rater.name, rater.rho, "m0" if rater.person else "m1") for rater in beside.raters]
    people = [bar for bar in bars if bar[2] == "m0"][:_MOST]
    label = "rank correlation of each rater with the mean of the other people"
    return render(
        "people_part.html",
        shape=shape_of(found.study),
        columns=list(columns),
        agreement=[
            (name, *(row.get(name, "–") for row in agreement))
            for name in dict.fromkeys(name for row in agreement for name in row)
        ],
        ceilings=rater_bars(people + [bar for bar in bars if bar[2] != "m0"], label),
        ceilings_label=label,
        levels=[f"rated {level}" for level in range(HIGHEST + 1)],
        raters=[
            (rater, *map(count, given), fixed(rho), "; ".join(found.excluded.get(rater, ())))
            for (rater, rho), given in zip(ceilings, found.levels.tolist(), strict=True)
        ],
        ensembles=_ensembles(beside) if beside else None,
        closing=_closing(found),
    )


def _ensembles(beside: Beside) -> dict[str, object]:
    among = many(sum(each.among_best for each in beside.ensembles), "ensemble")
    rows = [
        (", ".join(each.raters), f"{percent(each.agreement)} %", "yes" if each.among_best else "no")
        for each in beside.ensembles[:_MOST]
    ]
    summary = f"{among} of {len(beside.ensembles)} cannot be told from the one nearest to people"
    return {"summary": summary, "rows": rows}


def _closing(found: Analysis) -> list[str]:
    lines = []
    if found.study.weights:
        lines.append(f"Figures are of {found.study.weights.population:,.0f} pairs that the items stand for.")
    if (seen := found.picture) and seen.changed.value is not None:
        lines.append(f"{percent(seen.changed.value)} % of {many(seen.answers, 'rating')} changed with the picture.")
    if again := found.retest:
        lines.append(f"{percent(again.exact)} % of {many(again.answers, 'repeat')} were rated as before.")
    return lines
