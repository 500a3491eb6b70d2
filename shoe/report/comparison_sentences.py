"""Results of a comparison in sentences: rankings, pairs of models, and sources of uncertainty."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from math import comb

from shoe.comparison.columns import Column
from shoe.comparison.compare import Comparison
from shoe.comparison.significance import LEVEL, Difference, Statistics, better, fewest_resamples
from shoe.core.errors import pluralize
from shoe.report.text import percent, points

_MOST_NAMED = 3


def sentences(found: Comparison, *, brief: bool = False) -> list[str]:
    """Return the results of a comparison in sentences; ``brief`` leaves out uncertainty, and summarises all tests."""
    absent = ((run.name, part, why) for run in found.runs for part, why in (run.absent or {}).items())
    last = [f"{name}: {part}: not measured: {why}" for name, part, why in absent]
    if not brief:
        last = [*_images(found), *_raters(found), *last, *_unrated(found)]
    if len(found.runs) == 1:
        return last
    same = [f"same       {' and '.join(names)} contain the same predictions" for names in found.same]
    tests = _tests(found, 1 if brief else 6)  # more pairs of models are summarised
    return [*_too_few(found.statistics), *same, *_ranking(found), *tests, *last]


def legend(found: Comparison) -> str:
    """Return the legend of the table of metrics: unit, styles and symbols that the table uses, as one text."""
    several = len(found.runs) > 1
    parts = ["Percent; bold: best; underlined: second" if several else "Percent"]
    if found.statistics is not None and several:
        parts.append("superscripts: significantly worse models")
    if any(column.marked != column.heading for column in found.columns):
        parts.append("↓: lower is better")
    if found.compared:
        parts.append("gain: SHOE-mAP minus mAP")
    return "; ".join(parts) + "."


def model_notes(found: Comparison) -> list[str]:
    """Return "MODELS: NOTE" for each distinct warning or note of the runs; MODELS are names, or "all models"."""
    models: dict[str, list[str]] = {}
    for run in found.runs:
        for note in run.notes:
            models.setdefault(" ".join(note.split()), []).append(run.name)
    return [f"{named(names, found)}: {note}" for note, names in models.items()]


def named(names: Sequence[str], found: Comparison) -> str:
    """Return model names joined by "; ", or "all models" for all of several models."""
    return "all models" if len(names) == len(found.runs) > 1 else "; ".join(names)


def _too_few(statistics: Statistics | None) -> list[str]:
    if statistics is None or statistics.too_few is None:
        return []
    models, of_images = len(statistics.estimates), statistics.too_few == "images"
    number = pluralize(statistics.images, "image") if of_images else f"{statistics.resamples:,}"
    pairs = pluralize(comb(models, 2), "pair")
    line = f"tests      too few {statistics.too_few} to tell: with {number} and {pairs} of models "
    more = "" if of_images else f"; --resamples {fewest_resamples(models)} or more"
    return [f"{line}no corrected p can be below {LEVEL:g}{more}"]


def _ranking(found: Comparison) -> list[str]:
    if found.compared is None or found.tau is None:
        return []
    line = f"ranking    Kendall's tau-b between strict mAP and SHOE-mAP is {found.tau:.2f}: "
    if not found.discordant_pairs:
        return [f"{line}no two models change places"]
    pairs = [f"{a} is above {b} by strict mAP and below by SHOE-mAP" for a, b in found.discordant_pairs]
    return [line + _first(pairs, "; ")]


def _first(names: Sequence[str], separator: str = ", ") -> str:
    more = [f"{len(names) - _MOST_NAMED:,} more"] if len(names) > _MOST_NAMED else []
    return separator.join([*names[:_MOST_NAMED], *more])


def _tests(found: Comparison, most_pairs: int) -> list[str]:
    """Return one sentence per pair of models, or one per metric if there are more than ``most_pairs`` pairs."""
    if found.statistics is None:
        return []
    columns = [column for column in found.columns if column.figure in (found.compared or ())] or found.columns[:1]
    if comb(len(found.runs), 2) <= most_pairs:
        others = [column for column in found.columns if column not in columns]
        return [_pair(found, found.statistics, pair, columns, others) for pair in combinations(found.names, 2)]
    return [_summary(found, found.statistics, column) for column in columns] if found.statistics.too_few is None else []


def _pair(
    found: Comparison, made: Statistics, pair: tuple[str, str], columns: Sequence[Column], others: Sequence[Column]
) -> str:
    """Describe the differences in ``columns``, and in ``others`` if they are significant or the two tests disagree."""
    parts, winners = [], dict[str, list[str]]()
    for column in [*others, *columns]:
        if (difference := made.between(*pair, column.figure)) is None:
            continue
        name, adjusted = _heading(found, column), (difference.bootstrap.adjusted, difference.randomisation.adjusted)
        if column in columns:
            parts.append(f"{name} {_difference(difference, made)}")
        if difference.significant and column in others:
            winners.setdefault(f"{difference.winner} is better in", []).append(name)
        elif min(adjusted) < LEVEL <= max(adjusted):
            p = " and ".join(f"{each:.3f}" for each in adjusted)
            winners.setdefault("the two tests disagree on", []).append(f"{name} ({p})")
    parts += [f"{verdict} {', '.join(headings)}" for verdict, headings in winners.items()]
    return f"{' - '.join(pair)}: {'; '.join(parts) or 'no metric that both models have'}"


def _difference(difference: Difference, statistics: Statistics) -> str:
    p = f"p = {max(difference.bootstrap.adjusted, difference.randomisation.adjusted):.3f}"
    ends = f"{' to '.join(map(points, difference.interval))}, " if difference.interval else ""
    verdict = f"{difference.winner} is better" if difference.significant else "no significant difference"
    if statistics.too_few is not None:
        verdict = f"too few {statistics.too_few} to tell"
    return f"{points(difference.value)} points ({ends}{p}): {verdict}"


def _summary(found: Comparison, statistics: Statistics, column: Column) -> str:
    cells = found.cells(column.figure)
    tested = [each for each in statistics.differences if each.figure == column.figure]
    differ = sum(each.significant for each in tested)
    best = next((number for number, cell in enumerate(cells) if cell.rank == 1), 0)
    beaten = cells[best].above
    numbered = enumerate(zip(found.names, cells, strict=True), 1)
    open_ = [name for n, (name, cell) in numbered if cell.value is not None and n not in (best + 1, *beaten)]
    line = f"tests      {_heading(found, column)}: {found.names[best]} is better than "
    line += f"{len(beaten)} others, but not significantly better than {_first(open_)}" if open_ else "all others"
    pairs = pluralize(len(tested), "pair")
    return f"{line}; {differ:,} of {pairs} of models differ significantly (superscripts; `--json` writes all tests)"


def _heading(found: Comparison, column: Column) -> str:
    several = sum(other.heading == column.heading for other in found.columns) > 1
    return f"{column.group} {column.heading}" if several else column.heading


def _images(found: Comparison) -> list[str]:
    if (made := found.statistics) is None:
        return []
    line = f"images     {pluralize(made.resamples, 'resample')}: "
    line += "95 % intervals over images" if made.has_intervals else "too few for intervals"
    if pairs := comb(len(found.runs), 2):
        line += "; p is the larger p-value of a paired bootstrap and a paired randomisation test, with Holm's "
        line += f"correction over {pluralize(pairs, 'pair')} of models"
    lacking = dict.fromkeys(
        _heading(found, column)
        for column in found.columns
        for name, cell in zip(found.names, found.cells(column.figure), strict=True)
        if made.has_intervals and cell.value is not None and column.figure not in made.estimates[name]
    )
    why = "no interval, because no resample of the images changes the metric"
    return [line, f"images     {why}: {', '.join(lacking)}"] if lacking else [line]


def _unrated(found: Comparison) -> Iterator[str]:
    for run in found.runs:
        if run.interval is not None and run.interval.map is not None:
            ends = " to ".join(map(percent, run.interval.map))
            yield f"unrated    {run.name}: SHOE-mAP {ends} is the 90 % interval if all pairs of senses were rated"


def _raters(found: Comparison) -> list[str]:
    if not found.raters:
        return []
    together = [figures.get("semantic:map") for figures in found.figures]
    known = [number for number, value in enumerate(next(iter(found.raters.values()))) if value is not None]
    raters = pluralize(len(found.raters), "rater")
    line = f"raters     SHOE-mAP with the ratings of one rater at a time ({raters} of the similarity map)"
    line += "" if len(known) == len(found.runs) else f" (known for {len(known)} of {len(found.runs)} models)"
    if len(known) < 2:
        return [line]
    otherwise = []
    for rater, alone in found.raters.items():
        pairs = [pair for pair in combinations(known, 2) if _order(together, *pair) * _order(alone, *pair) < 0]
        pairs = [(j, i) if _order(together, i, j) > 0 else (i, j) for i, j in pairs]
        if pairs:
            otherwise.append(f"{rater} ranks {_first([f'{found.names[i]} above {found.names[j]}' for i, j in pairs])}")
    same = "every rater alone gives the same ranking of models as all raters together"
    return [f"{line}: {'; '.join(otherwise) or same}"]


def _order(values: Sequence[float | None], i: int, j: int) -> int:
    a, b = values[i] or 0.0, values[j] or 0.0
    return better("semantic:map", a, b) - better("semantic:map", b, a)
