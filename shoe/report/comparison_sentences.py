"""Results of a comparison in sentences: rankings, pairs of models, and sources of uncertainty."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

from shoe.comparison.compare import Column, Comparison
from shoe.comparison.significance import LEVEL, Difference, Statistics, better, fewest_resamples, pairs_of
from shoe.core.errors import many
from shoe.report.text import percent, points

_MOST_PAIRS = 6
"""Most pairs of models that get a sentence each; more are summarised."""
_MOST_NAMED = 3


def sentences(found: Comparison) -> list[str]:
    """Return the results of a comparison, one line each, limits of the statistics first."""
    if len(found.runs) == 1:
        return _layers(found)
    same = [f"same       {' and '.join(names)} hold the same predictions" for names in found.same]
    return [*_too_few(found.statistics), *same, *_ranking(found), *_tests(found), *_layers(found)]


def legend(found: Comparison) -> str:
    """Return the legend of the table of metrics."""
    several = len(found.runs) > 1
    parts = ["Percent; best in bold, second underlined" if several else "Percent"]
    if found.statistics is not None and several:
        parts.append("superscripts are the numbers of the models than which one is significantly better")
    if any(column.marked != column.heading for column in found.columns):
        parts.append("↓: lower is better")
    if found.compared:
        parts.append("gain: SHOE-mAP less mAP, in points")
    return "; ".join(parts) + "."


def model_notes(found: Comparison) -> list[str]:
    """Return the notes on how the predictions were read, each once, with the models that it is about."""
    models: dict[str, list[str]] = {}
    for run in found.runs:
        for note in run.notes:
            models.setdefault(" ".join(note.split()), []).append(run.name)
    return [f"{named(names, found)}: {note}" for note, names in models.items()]


def named(names: Sequence[str], found: Comparison) -> str:
    """Return names of models as text."""
    return "all models" if len(names) == len(found.runs) > 1 else "; ".join(names)


def _too_few(made: Statistics | None) -> list[str]:
    if made is None or made.too_few is None:
        return []
    models = len(made.estimates)
    of_images = made.too_few == "images"
    number = many(made.images, "image") if of_images else f"{made.resamples:,}"
    return [
        f"tests      too few {made.too_few} to tell: with {number} and {many(pairs_of(models), 'pair')} of models "
        f"no corrected p can be below {LEVEL:g}"
        + ("" if of_images else f"; --resamples {fewest_resamples(models)} or more")
    ]


def _ranking(found: Comparison) -> list[str]:
    if found.compared is None or found.tau is None:
        return []
    line = f"ranking    Kendall's tau-b between strict mAP and SHOE-mAP is {found.tau:.2f}: "
    if not found.moved:
        return [f"{line}no two models change places"]
    pairs = [f"{a} is above {b} by strict mAP and below by SHOE-mAP" for a, b in found.moved]
    return [line + _first(pairs, "; ")]


def _first(names: Sequence[str], separator: str = ", ") -> str:
    more = [f"{len(names) - _MOST_NAMED:,} more"] if len(names) > _MOST_NAMED else []
    return separator.join([*names[:_MOST_NAMED], *more])


def _tests(found: Comparison) -> list[str]:
    if found.statistics is None:
        return []
    columns = [column for column in found.columns if column.figure in (found.compared or ())] or found.columns[:1]
    if pairs_of(len(found.runs)) <= _MOST_PAIRS:
        others = [column for column in found.columns if column not in columns]
        return [_pair(found, found.statistics, pair, columns, others) for pair in combinations(found.names, 2)]
    return [_summary(found, found.statistics, column) for column in columns] if found.statistics.too_few is None else []


def _pair(
    found: Comparison, made: Statistics, pair: tuple[str, str], columns: Sequence[Column], others: Sequence[Column]
) -> str:
    """Describe all differences in ``columns``, and those in ``others`` if significant or if the two tests disagree."""
    parts = [
        f"{_heading(found, column)} {_difference(difference, made)}"
        for column in columns
        if (difference := made.between(*pair, column.figure)) is not None
    ]
    winners: dict[str, list[str]] = {}
    for column in [*others, *columns]:
        difference = made.between(*pair, column.figure)
        if difference is None:
            continue
        if difference.significant and column in others:
            winners.setdefault(f"{_better(difference)} is better in", []).append(_heading(found, column))
        elif (difference.bootstrap.adjusted < LEVEL) != (difference.randomisation.adjusted < LEVEL):
            p = f"{difference.bootstrap.adjusted:.3f} and {difference.randomisation.adjusted:.3f}"
            winners.setdefault("bootstrap and randomisation disagree on", []).append(f"{_heading(found, column)} ({p})")
    parts += [f"{verdict} {', '.join(headings)}" for verdict, headings in winners.items()]
    return f"{' - '.join(pair)}: {'; '.join(parts) or 'no figure that both have'}"


def _difference(difference: Difference, made: Statistics) -> str:
    p = f"p = {max(difference.bootstrap.adjusted, difference.randomisation.adjusted):.3f}"
    ends = f"{' to '.join(map(points, difference.interval))}, " if difference.interval else ""
    if made.too_few is not None:
        verdict = f"too few {made.too_few} to tell"
    elif difference.significant:
        verdict = f"{_better(difference)} is better"
    else:
        verdict = "no difference beyond chance"
    return f"{points(difference.value)} points ({ends}{p}): {verdict}"


def _better(difference: Difference) -> str:
    first, second = difference.models
    return first if better(difference.figure, difference.value, 0) else second


def _summary(found: Comparison, made: Statistics, column: Column) -> str:
    cells = found.cells(column.figure)
    tested = [each for each in made.differences if each.figure == column.figure]
    differ = sum(each.significant for each in tested)
    best = next((number for number, cell in enumerate(cells) if cell.rank == 1), 0)
    beaten = cells[best].above
    open_ = [
        name
        for number, (name, cell) in enumerate(zip(found.names, cells, strict=True), 1)
        if cell.value is not None and number not in (best + 1, *beaten)
    ]
    line = f"tests      {_heading(found, column)}: {found.names[best]} is better than "
    line += f"{len(beaten)} others, not beyond chance than {_first(open_)}" if open_ else "all others"
    pairs = many(len(tested), "pair")
    return f"{line}; {differ:,} of {pairs} of models differ beyond chance (superscripts; all in --json)"


def _heading(found: Comparison, column: Column) -> str:
    """Return the heading of a column, with its protocol if other columns have the same heading."""
    several = sum(other.heading == column.heading for other in found.columns) > 1
    return f"{column.group} {column.heading}" if several else column.heading


def _layers(found: Comparison) -> list[str]:
    lines = []
    if (made := found.statistics) is not None:
        line = f"images     {many(made.resamples, 'resample')}: "
        line += "95 % intervals" if made.has_intervals else "too few for intervals"
        if pairs := pairs_of(len(found.runs)):
            line += (
                "; p is the larger of a paired bootstrap and a paired randomisation test, by Holm's correction over "
                f"{many(pairs, 'pair')} of models"
            )
        lines.append(line)
        lines += _without_interval(found, made)
    lines += _raters(found)
    for run in found.runs:
        lines += [f"{run.name}: {part}: not measured: {why}" for part, why in (run.absent or {}).items()]
        if run.interval is not None and run.interval.map is not None:
            ends = " to ".join(map(percent, run.interval.map))
            lines.append(f"unrated    {run.name}: SHOE-mAP {ends} were all pairs of senses rated, 90 % likely")
    return lines


def _without_interval(found: Comparison, made: Statistics) -> list[str]:
    if not made.has_intervals:
        return []
    lacking = [
        _heading(found, column)
        for column in found.columns
        for name, cell in zip(found.names, found.cells(column.figure), strict=True)
        if cell.value is not None and column.figure not in made.estimates[name]
    ]
    if not lacking:
        return []
    return [f"images     no interval where no draw of images changes a figure: {', '.join(dict.fromkeys(lacking))}"]


def _raters(found: Comparison) -> list[str]:
    if not found.raters:
        return []
    together = [figures.get("semantic:map") for figures in found.figures]
    known = [number for number, value in enumerate(next(iter(found.raters.values()))) if value is not None]
    line = f"raters     SHOE-mAP by each of {many(len(found.raters), 'rater')} of the map alone"
    line += "" if len(known) == len(found.runs) else f" (known for {len(known)} of {len(found.runs)} models)"
    if len(known) < 2:
        return [line]
    otherwise = []
    for rater, alone in found.raters.items():
        pairs = [
            (j, i) if _order(together, i, j) > 0 else (i, j)
            for i, j in combinations(known, 2)
            if _order(together, i, j) * _order(alone, i, j) < 0
        ]
        if pairs:
            above = _first([f"{found.names[i]} above {found.names[j]}" for i, j in pairs])
            otherwise.append(f"{rater} has {above}")
    return [f"{line}: {'; '.join(otherwise) or 'all rank the models as all together do'}"]


def _order(values: Sequence[float | None], i: int, j: int) -> int:
    a, b = values[i] or 0.0, values[j] or 0.0
    return better("semantic:map", a, b) - better("semantic:map", b, a)
