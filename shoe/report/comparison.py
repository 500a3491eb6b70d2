"""Models beside each other as data: CSV and JSON."""

from __future__ import annotations

from typing import Any

from shoe.comparison.compare import Comparison
from shoe.io.delimited import delimited_text
from shoe.report.comparison_sentences import model_notes, sentences
from shoe.report.text import present


def comparison_dict(found: Comparison) -> dict[str, Any]:
    """The keys of ``shoe compare --json``; fractions 0..1, and what is absent has no key."""
    made = found.statistics
    columns = {column.figure: found.cells(column.figure) for column in found.columns}
    models = []
    for number, (run, gain) in enumerate(zip(found.runs, found.gains, strict=True)):
        estimates = made.estimates[run.name] if made else {}
        figures = {
            figure: {
                "value": cells[number].value,
                "rank": cells[number].rank,
                "interval": [estimates[figure].low, estimates[figure].high] if figure in estimates else None,
            }
            for figure, cells in columns.items()
            if cells[number].value is not None
        }
        models.append(
            {
                "name": run.name,
                "signature": str(run.signature),
                "predictions": run.facts.get("predictions"),
                "predictions_sha": run.facts.get("predictions-sha"),
                "figures": figures,
                "gain": gain,
                "raters": run.spread.raters if run.spread else None,
                "map_interval": list(run.interval.map) if run.interval and run.interval.map else None,
                "absent": dict(run.absent) if run.absent else None,
            }
        )
    differences = [
        {
            "models": [each.first, each.second],
            "figure": each.figure,
            "value": each.estimate.value,
            "interval": [each.estimate.low, each.estimate.high]
            if made and made.has_intervals and each.estimate.varies
            else None,
            "bootstrap": {"p": each.bootstrap, "adjusted": each.adjusted_bootstrap},
            "randomisation": {"p": each.randomisation, "adjusted": each.adjusted_randomisation},
            "significant": each.significant,
        }
        for each in (made.differences if made else ())
    ]
    kept: dict[str, Any] = present(
        {
            "models": models,
            "resamples": made.resamples if made else None,
            "seed": made.seed if made else None,
            "differences": differences or None,
            "ranking": {
                "figures": list(found.compared),
                "tau": found.tau,
                "moved": [list(pair) for pair in found.moved],
            }
            if found.compared
            else None,
            "unlike": list(found.unlike) or None,
            "notes": [*model_notes(found), *sentences(found)] or None,
        }
    )
    return kept


def comparison_csv(found: Comparison) -> bytes:
    """A line for each model and figure: model, figure, value, rank, and the ends of its interval."""
    rows: list[list[object]] = [["model", "figure", "value", "rank", "low", "high"]]
    for column in found.columns:
        for name, cell in zip(found.names, found.cells(column.figure), strict=True):
            if cell.value is None:
                continue
            estimate = found.statistics.estimates[name].get(column.figure) if found.statistics else None
            ends = [f"{estimate.low:.6f}", f"{estimate.high:.6f}"] if estimate else ["", ""]
            rows.append([name, column.figure, f"{cell.value:.6f}", cell.rank, *ends])
    return delimited_text(rows).encode()
