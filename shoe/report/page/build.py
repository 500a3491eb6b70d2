"""Report of a comparison as one HTML file that works from disk without network requests."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from markupsafe import Markup

from shoe.comparison.compare import Comparison, class_ap, class_differences, truths_of
from shoe.comparison.run import Run
from shoe.comparison.sweeps import Point, RankStability
from shoe.core.arrays import expand
from shoe.core.errors import pluralize
from shoe.diagnosis.diagnose import diagnose
from shoe.diagnosis.error_types import ERRORS
from shoe.report.comparison import LEAST, RATERS, largest_differences, stability_sentence, sweep_tables
from shoe.report.comparison_sentences import model_notes, sentences
from shoe.report.page import examples, svg
from shoe.report.page.rendering import bundle, document, write_document
from shoe.report.page.rescoring import Rescoring, pack, rescoring
from shoe.scoring.entries import Entries
from shoe.scoring.score import Report

MOST_POINTS = 50
"""Maximum number of points per curve; more points would not be visible."""
_SCALE = 65535


def classes(runs: Sequence[Run], *, curves: bool = True) -> dict[str, Any] | None:
    """Return metrics and curves per class, with the keys that ``static/classes.js`` and ``static/curves.js`` read.

    Return None if no metric per class is known for all runs. ``curves`` reveal which predictions are right.
    """
    first = runs[0]
    measures, drawn = [], []
    for number, strict in enumerate(first.strict):
        protocol, curves_of = strict.options.protocol, [_curves(run.strict[number].entries) for run in runs]
        ap = [class_ap(run, f"strict:{protocol}:full") for run in runs]
        measures.append({"key": "strict", "label": f"{protocol} AP", "models": ap})
        drawn.append({"label": f"strict, {protocol}", "models": curves_of})
    semantic = [run.semantic for run in runs if run.semantic is not None]
    if len(semantic) == len(runs):
        f1 = [np.where(mask, values, np.nan) for values, mask in (each.f1.f1() for each in semantic)]
        measures.append({"key": "ap", "label": "SHOE AP", "models": [class_ap(run, "semantic:map") for run in runs]})
        measures.append({"key": "f1", "label": "SHOE F1", "models": f1})
        drawn.append({"label": "SHOE, credit by similarity", "models": [_curves(each.entries) for each in semantic]})
    if not measures:  # metrics by person only: their entries are actions, not classes
        return None
    return {
        "labels": first.classes.labels,
        "rare": first.classes.rare.astype(np.uint8),
        "truths": truths_of(first),
        "measures": measures,
        "curves": drawn if curves else [],
        "scale": _SCALE,
    }


def _curves(entries: Entries) -> dict[str, Any]:
    """Return "count", the (K,) number of points per class, and "recall" and "precision" of all points, class by class.

    Points are predictions with credit, in input order if tied. Recall and precision are scaled by ``_SCALE``.
    """
    order = np.lexsort((-entries.score, entries.category))
    category, credit, truths = entries.category[order], entries.credit[order], entries.truths
    number = np.bincount(category, minlength=len(truths))
    start = np.cumsum(number) - number
    rank = np.arange(len(category)) - start[category] + 1
    gained = np.cumsum(credit)
    gained -= np.append(0, gained)[start][category]
    positive = np.flatnonzero((credit > 0) & (truths[category] > 0))
    points = np.bincount(category[positive], minlength=len(truths))
    count = np.minimum(points, MOST_POINTS)
    k, point = expand(np.zeros(len(points), np.int64), count)
    chosen = positive[(np.cumsum(points) - points)[k] + point * (points[k] - 1) // np.maximum(count[k] - 1, 1)]
    recall, precision = gained[chosen] / truths[category[chosen]], gained[chosen] / rank[chosen]
    columns = (np.round(np.clip(values, 0, 1) * _SCALE).astype(np.uint16) for values in (recall, precision))
    return dict(zip(("count", "recall", "precision"), (count, *columns), strict=True))


_WORKER = ("packed", "tied", "rescore", "worker")
_PAGE = ("packed", "dom", "curves", "classes", "settings", "examples", "main")
_PARTS = ("Summary", "Settings", "Sweep", "Classes", "Errors", "People", "Examples", "Reproduce")
"""Sections in their order; ``templates/report_sweep.html`` renders the section "Sweep", and so on."""


def write_page(
    path: str | Path,
    found: Comparison,
    reports: Mapping[str, Report],
    command: str,
    images: Path | None = None,
    swept: tuple[Sequence[Point], Sequence[RankStability]] = ((), ()),
    *,
    people: Markup | None = None,
    shown: bool = True,
) -> None:
    """Write the report of a comparison as one HTML file; raise InputError if the file cannot be written.

    Args:
        reports: scoring reports by model name. The page can score again, break down errors and show images only if
            it has the reports of all models.
        command: command line that reproduces the page.
        images: folder of the dataset's images; small copies of the shown images become part of the page.
        swept: metrics under other options, and whether the ranking of models stays the same.
        people: section about a rating study, from :func:`shoe.report.page.study.people_part`.
        shown: whether the page may contain boxes and labels of single images: examples, curves, data for rescoring.
    """
    known = [reports[name] for name in found.names] if all(name in reports for name in found.names) else []
    again: Rescoring | str = "needs the ground truth, which this page must not show"
    if shown:
        again = rescoring(known) if known else "needs the predictions of all models, which runs do not contain"
    data: dict[str, Any] = {"models": found.names, "classes": classes(found.runs, curves=shown)}
    packed: dict[str, Any] = {"data-page": data}
    if isinstance(again, Rescoring):
        labels, options = ([each[key] for each in again.shared["ensembles"]] for key in ("label", "option"))
        semantic = ((item for item in figures.items() if item[0].startswith("semantic:")) for figures in found.figures)
        figures = [{key.split(":")[1]: value for key, value in items} for items in semantic]
        settings = {"settings": again.shared["settings"], "ensembles": labels, "options": options, "figures": figures}
        data["rescoring"] = settings
        packed["data-shared"] = again.shared
        packed |= {f"data-model-{number}": model for number, model in enumerate(again.models)}
    pictures = examples.examples(found.names, known, images) if shown else None
    if pictures is not None:
        packed["data-examples"] = pictures

    run, columns = found.runs[0], [(column.figure, found.cells(column.figure)) for column in found.columns]
    estimates = found.statistics.estimates if found.statistics else {}
    absent = [name for name, value in (("Sweep", swept[0]), ("People", people)) if not value]
    sizes = pluralize(len(run.images), "image"), pluralize(int(run.facts["truths"]), "ground truth")
    page, _ = document(
        "report.html",
        "shoe: " + ", ".join(name[:40] for name in found.names),
        ["page.css"],
        _PAGE,
        found=found,
        several=len(found.runs) > 1,
        about=" · ".join((f"{run.classes.name} {run.facts.get('split', '')}", *sizes, f"{len(run.classes):,} classes")),
        parts=[part for part in _PARTS if part not in absent],
        groups=[(name, len(list(group))) for name, group in groupby(found.columns, key=lambda column: column.group)],
        cells=[
            [(column[number], estimates.get(name, {}).get(figure)) for figure, column in columns]
            for number, name in enumerate(found.names)
        ],
        notes=[*found.unlike, *sentences(found), *model_notes(found)],
        why_not_again=again if isinstance(again, str) else None,
        sweep={
            "raters": RATERS,
            "sentences": [stability_sentence(survival).partition("   ")[2].strip() for survival in swept[1]],
            "charts": svg.sweep_charts(found.names, *swept),
            "tables": sweep_tables(swept[0]),
        },
        apart=None if data["classes"] is None else largest_differences(found, class_differences(found)),
        least=LEAST,
        errors=_errors(known),
        people=people,
        has_examples=pictures is not None,
        command=command,
        packed={name: pack(value) for name, value in packed.items()},
        worker=bundle(_WORKER),
    )
    write_document(path, page)


def _errors(reports: Sequence[Report]) -> dict[str, Any] | None:
    found = [diagnose(report.predictions, report.truth, similarity=None, notes=report.notes) for report in reports]
    if not found:
        return None
    deltas = [{error.name: each.deltas[error.name].map or 0.0 for error in ERRORS} for each in found]
    colours = [f"m{number % 8}" for number in range(len(found))]
    seeds = f"means over seeds {found[0].seed} to {found[0].seed + found[0].seeds - 1}"
    return {"bars": svg.error_bars(deltas, [each.counts for each in found], colours), "seeds": seeds}
