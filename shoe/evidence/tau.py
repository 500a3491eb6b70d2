"""What SHOE-mF1 and the miss rates would be, were tau read in another way (docs/protocols.md, A22)."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args, get_type_hints

from shoe.protocols.options import SemanticOptions
from shoe.scoring.f1_entries import F1Figures
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer


def tau_readings(report: Report) -> dict[str, F1Figures]:
    """Measure by each reading of tau, those of the option ``tau-by``; nothing without the semantic part."""
    found: dict[str, F1Figures] = {}
    if report.semantic is None or report.similarities is None:
        return found
    result = report.semantic
    for by in get_args(get_type_hints(SemanticOptions)["tau_by"]):
        scorer = Scorer(report.task, report.similarities, replace(result.options, tau_by=by), result.near)
        found[by] = scorer.f1_entries(scorer.match(scorer.f1_rows)).figures()
    return found
