"""What a map holds, in the terminal and as JSON."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from shoe.lexicon.expressions import Part
from shoe.maps.info import MapInfo, PartInfo
from shoe.report.map_tables import count, fixed, heading, present, prose_lines, table
from shoe.report.text import say, words
from shoe.similarity.ensemble import HIGHEST

_FEWEST = 5


def info_dict(info: MapInfo) -> dict[str, Any]:
    """Collect a description's figures in the documented keys."""
    similarity = info.similarity
    return {
        "name": similarity.name,
        "dataset": similarity.dataset,
        "digest": similarity.digest,
        "ensemble": similarity.ensemble,
        "raters": [
            {"name": rater.name, "model": rater.model, "note": rater.note, "details": details}
            | {f"{part}s": _counts(of_part, column) for part, of_part in info.parts.items()}
            for column, (rater, details) in enumerate(zip(similarity.raters, info.details, strict=True))
        ],
        **{f"{part}s": _part_dict(info, part) for part in info.parts},
        "provenance": info.provenance,
        "warnings": info.warnings,
    }


def print_info(info: MapInfo, to: Console) -> None:
    """Print a description; every class of the dataset is in the JSON alone."""
    similarity = info.similarity
    say(to, heading(similarity), style="bold")
    say(to, f"ensemble: {similarity.ensemble} by map.json; commands take the mean unless told otherwise")
    to.print(_rater_table(info))
    for rater, details in zip(similarity.raters, info.details, strict=True):
        say(to, ": ".join([rater.name, rater.model, *([str(rater.note)] if rater.note else [])]))
        for line in prose_lines(details, 1):
            say(to, line)
    if len(similarity.raters) > 1:
        to.print(_agreement_table(info))
    else:
        say(to, "")
    to.print(_coverage_table(info))
    say(
        to, f"covered: class senses of {similarity.dataset} with a rated synset; fewest to most: synsets rated with one"
    )
    for part, of_part in info.parts.items():
        if of_part.coverage:
            fewest = sorted(of_part.coverage.items(), key=lambda item: item[1])[:_FEWEST]
            shown = ", ".join(f"{sense} {rated:,}" for sense, rated in fewest)
            say(to, f"{part}s with the fewest: {shown}")
    for line in prose_lines(info.provenance):
        say(to, line)
    for line in info.warnings:
        say(to, f"warning: {line}", style="yellow")


def _counts(of_part: PartInfo, column: int) -> dict[str, Any]:
    histogram = of_part.histograms[column].tolist()
    return {"rated": sum(histogram), "missing": of_part.pairs - sum(histogram), "histogram": histogram}


def _part_dict(info: MapInfo, part: Part) -> dict[str, Any]:
    of_part, raters = info.parts[part], info.similarity.raters
    return present(
        {
            "pairs": of_part.pairs,
            "rated_pairs": of_part.rated,
            "class_senses": of_part.class_senses,
            "agreement": [
                present(
                    {
                        "raters": [raters[found.first].name, raters[found.second].name],
                        "pairs": found.pairs,
                        "exact": found.exact,
                        "pearson": found.pearson,
                        "quadratic_weighted_kappa": found.kappa,
                    }
                )
                for found in of_part.agreements
            ],
            "coverage": of_part.coverage,
            "classes_without_ratings": None if of_part.coverage is None else of_part.without_ratings,
        }
    )


def _rater_table(info: MapInfo) -> Table:
    made = table("rater", "part", right=("rated", "missing", *map(str, range(HIGHEST + 1)), "mean"))
    for column, rater in enumerate(info.similarity.raters):
        for part, of_part in info.parts.items():
            histogram = of_part.histograms[column]
            rated = int(histogram.sum())
            mean = float(histogram @ np.arange(HIGHEST + 1)) / rated if rated else None
            counts = (rated, of_part.pairs - rated, *histogram.tolist())
            made.add_row(words(rater.name), f"{part}s", *map(count, counts), fixed(mean, 2))
    return made


def _agreement_table(info: MapInfo) -> Table:
    made = table("raters", "", "part", right=("both rated", "equal %", "Pearson", "kappa (quadratic)"))
    raters = info.similarity.raters
    for part, of_part in info.parts.items():
        for found in of_part.agreements:
            made.add_row(
                words(raters[found.first].name),
                words(raters[found.second].name),
                f"{part}s",
                count(found.pairs),
                fixed(None if found.exact is None else 100 * found.exact, 1),
                fixed(found.pearson),
                fixed(found.kappa),
            )
    return made


def _coverage_table(info: MapInfo) -> Table:
    made = table("coverage", right=("pairs", "rated", "class senses", "covered", "fewest", "median", "most"))
    for part, of_part in info.parts.items():
        covered, spread = "–", ["–", "–", "–"]
        if of_part.coverage:
            rated = list(of_part.coverage.values())
            covered = f"{sum(number > 0 for number in rated)} of {len(rated)}"
            spread = [count(int(of_rated(rated))) for of_rated in (min, np.median, max)]
        made.add_row(
            f"{part}s", count(of_part.pairs), count(of_part.rated), count(of_part.class_senses), covered, *spread
        )
    return made
