"""What a map holds, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from shoe.core.errors import printable
from shoe.maps.info import MapInfo
from shoe.report.text import count, fixed, say, table, words
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import HIGHEST

_FEWEST = 5
_LONGEST = 2000
_DEEPEST = 6
_MOST_ITEMS = 50


def heading(similarity: SimilarityMap) -> str:
    """A map in one line: name, content, and how its raters are combined."""
    pairs = " and ".join(f"{len(table):,} {part} pairs" for part, table in similarity.tables.items())
    raters = "1 rater" if len(similarity.raters) == 1 else f"{len(similarity.raters)} raters"
    return f"{similarity.name} ({similarity.digest}) · classes of {similarity.dataset} · {pairs} · {raters}"


def print_info(similarity: SimilarityMap, info: MapInfo, to: Console) -> None:
    """Print a description; every class of the dataset is in the JSON alone."""
    say(to, heading(similarity), style="bold")
    say(to, f"ensemble: {similarity.ensemble} by map.json; commands take the mean unless told otherwise")
    to.print(_rater_table(info))
    for rater in similarity.raters:
        say(to, ": ".join([rater.name, rater.model, *([str(rater.note)] if rater.note else [])]))
        for line in _prose_lines(dict(rater.details), 1):
            say(to, line)
    if len(similarity.raters) > 1:
        to.print(_agreement_table(info))
    else:
        say(to, "")
    to.print(_coverage_table(info))
    covered = f"covered: class senses of {similarity.dataset} with a rated synset"
    say(to, f"{covered}; fewest to most: synsets rated with one")
    for part, of_part in info.parts.items():
        if of_part.coverage:
            fewest = sorted(of_part.coverage.items(), key=lambda item: item[1])[:_FEWEST]
            say(to, f"{part}s with the fewest: {', '.join(f'{sense} {rated:,}' for sense, rated in fewest)}")
    for line in _prose_lines(similarity.provenance):
        say(to, line)
    for line in info.warnings:
        say(to, f"warning: {line}", style="yellow")


def _rater_table(info: MapInfo) -> Table:
    made = table("rater", "part", "rated", "missing", *map(str, range(HIGHEST + 1)), "mean", names=2)
    for rater in info.raters:
        for part, given in (("verbs", rater.verbs), ("objects", rater.objects)):
            total = sum(rating * number for rating, number in enumerate(given.histogram))
            mean = fixed(total / given.rated if given.rated else None, 2)
            made.add_row(words(rater.name), part, *map(count, (given.rated, given.missing, *given.histogram)), mean)
    return made


def _agreement_table(info: MapInfo) -> Table:
    made = table("raters", "", "part", "both rated", "equal %", "Pearson", "kappa (quadratic)", names=3)
    for part, of_part in info.parts.items():
        for found in of_part.agreement:
            equal = fixed(None if found.exact is None else 100 * found.exact, 1)
            figures = (count(found.pairs), equal, fixed(found.pearson), fixed(found.quadratic_weighted_kappa))
            made.add_row(*map(words, found.raters), f"{part}s", *figures)
    return made


def _coverage_table(info: MapInfo) -> Table:
    made = table("coverage", "pairs", "rated", "class senses", "covered", "fewest", "median", "most")
    for part, of_part in info.parts.items():
        cells = ["–"] * 4
        if of_part.coverage:
            rated = list(of_part.coverage.values())
            spread = (count(int(of_rated(rated))) for of_rated in (min, np.median, max))
            cells = [f"{sum(number > 0 for number in rated)} of {len(rated)}", *spread]
        made.add_row(f"{part}s", *map(count, (of_part.pairs, of_part.rated_pairs, of_part.class_senses)), *cells)
    return made


def _prose_lines(value: Any, depth: int = 0) -> Iterator[str]:
    """Lay any JSON out for reading, two spaces a level; what is too deep or too long is cut, and says so."""
    indent = "  " * depth
    if depth > _DEEPEST:
        yield f"{indent}…"
    elif isinstance(value, dict):
        for key, below in value.items():
            shown = printable(str(key))
            if isinstance(below, (dict, list)):
                yield f"{indent}{shown}"
                yield from _prose_lines(below, depth + 1)
            else:
                yield f"{indent}{shown}: {printable(str(below), longest=_LONGEST)}"
    elif isinstance(value, list):
        for item in value[:_MOST_ITEMS]:
            lines = list(_prose_lines(item, depth + 1))
            yield f"{indent}- {lines[0].strip()}" if lines else f"{indent}-"
            yield from lines[1:]
        if len(value) > _MOST_ITEMS:
            yield f"{indent}- and {len(value) - _MOST_ITEMS:,} more"
    else:
        yield f"{indent}{printable(str(value), longest=_LONGEST)}"
