"""Models beside each other, in words and as data: what the terminal, LaTeX, Markdown, CSV and JSON share."""

from __future__ import annotations

import csv
import io
from itertools import combinations
from typing import Any

from shoe.comparison.compare import Comparison
from shoe.comparison.ranks import better
from shoe.core.errors import many
from shoe.report.notes import percent
from shoe.report.text import points, present


def sentences(found: Comparison) -> list[str]:
    """What a comparison says, in plain words: rankings, each pair of models, and the two layers of uncertainty."""
    return [*_ranking(found), *_pairs(found), *_layers(found)]


def _ranking(found: Comparison) -> list[str]:
    if found.compared is None or found.tau is None:
        return []
    line = f"ranking    Kendall's tau-b between strict mAP and SHOE-mAP is {found.tau:.2f}: "
    if not found.moved:
        return [f"{line}no two models change places"]
    pairs = "; ".join(f"{a} is above {b} by strict mAP and below by SHOE-mAP" for a, b in found.moved)
    return [line + pairs]


def _pairs(found: Comparison) -> list[str]:
    if found.statistics is None:
        return []
    columns = [column for column in found.columns if column.figure in (found.compared or ())] or found.columns[:1]
    lines = []
    for a, b in combinations(found.names, 2):
        parts = []
        for column in columns:
            difference = found.statistics.between(a, b, column.figure)
            if difference is None:
                continue
            of, name = difference.estimate, column.heading
            p = max(difference.adjusted_bootstrap, difference.adjusted_randomisation)
            span = f"{points(of.value)} points ({points(of.low)} to {points(of.high)}, p = {p:.3f})"
            if difference.significant:
                best = a if better(column.figure, of.value, 0) else b
                parts.append(f"{name} {span}: {best} is better")
            else:
                parts.append(f"{name} {span}: no difference beyond chance")
        lines.append(f"{a} - {b}: {'; '.join(parts)}")
    return lines


def _layers(found: Comparison) -> list[str]:
    lines = []
    if (made := found.statistics) is not None:
        models = len(found.runs)
        pairs = many(models * (models - 1) // 2, "pair")
        lines.append(
            f"images     {many(made.resamples, 'resample')}: 95 % intervals; p is the larger of a paired bootstrap and "
            f"a paired randomisation test, by Holm's correction over {pairs} of models"
        )
        if made.smallest >= 0.05:
            needed = 20 * models * (models - 1) // 2
            lines.append(f"images     no p can be below 0.05 with so few: --resamples {needed} or more")
    if found.raters:
        orders = {rater: _order(values) for rater, values in found.raters.items()}
        alike = len(set(orders.values())) == 1
        verdict = "all rank the models alike" if alike else "they do not rank the models alike"
        lines.append(f"raters     SHOE-mAP by each of {many(len(orders), 'rater')} of the map alone: {verdict}")
    for run in found.runs:
        lines += [f"{run.name}: {part}: not measured: {why}" for part, why in (run.absent or {}).items()]
        if (of := run.interval) is not None and of.map is not None:
            ends = f"{percent(of.map[0])} to {percent(of.map[1])}"
            lines.append(f"unrated    {run.name}: SHOE-mAP {ends} were all pairs of senses rated, 90 % likely")
    return lines


def _order(values: list[float | None]) -> tuple[int, ...]:
    known = [(value, i) for i, value in enumerate(values) if value is not None]
    return tuple(i for _, i in sorted(known, reverse=True))


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
            "interval": [each.estimate.low, each.estimate.high],
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
            "notes": sentences(found) or None,
        }
    )
    return kept


def _ranking_dict(found: Comparison) -> dict[str, Any] | None:
    if found.compared is None:
        return None
    return {"figures": list(found.compared), "tau": found.tau, "moved": [list(pair) for pair in found.moved]}


def comparison_csv(found: Comparison) -> bytes:
    """A line for each model and figure: model, figure, value, rank, and the ends of its interval."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["model", "figure", "value", "rank", "low", "high"])
    for column in found.columns:
        for name, cell in zip(found.names, found.cells(column.figure), strict=True):
            if cell.value is None:
                continue
            estimate = found.statistics.estimates[name][column.figure] if found.statistics else None
            ends = [f"{estimate.low:.6f}", f"{estimate.high:.6f}"] if estimate else ["", ""]
            writer.writerow([name, column.figure, f"{cell.value:.6f}", cell.rank, *ends])
    return text.getvalue().encode()
