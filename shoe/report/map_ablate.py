"""A map's subsets of raters, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.maps.ablate import Ablation, Subset, SubsetSpread
from shoe.maps.human import HumanKind
from shoe.report.map_tables import count, fixed, heading, present, table
from shoe.report.notes import percent
from shoe.report.text import say, words

_MOST_ROWS = 64

Figure = Callable[[Subset], float | None]


def ablation_dict(ablation: Ablation) -> dict[str, Any]:
    """Collect an ablation's figures in the documented keys."""
    similarity = ablation.similarity
    names = [rater.name for rater in similarity.raters]
    report = ablation.report
    return present(
        {
            "name": similarity.name,
            "digest": similarity.digest,
            "ensemble": similarity.ensemble,
            "raters": names,
            "correlations": {
                f"{part}s": [
                    present({"raters": [names[f.first], names[f.second]], "pairs": f.pairs, "pearson": f.pearson})
                    for f in found
                ]
                for part, found in ablation.correlations.items()
            },
            "subsets": [_subset_dict(subset, names) for subset in ablation.subsets],
            "sizes": [
                {"size": size, "subsets": sum(len(subset.raters) == size for subset in ablation.subsets)}
                | _spreads_dict(ablation, size)
                for size in ablation.sizes
            ],
            "all_subsets": _spreads_dict(ablation, None),
            "signature": str(report.signature) if report else None,
            "human": {
                kind: {"pairs": len(ratings.values), "ratings": ratings.lines}
                for kind, ratings in ablation.human.items()
            }
            or None,
        }
    )


def print_ablation(ablation: Ablation, to: Console) -> None:
    """Print an ablation; of many subsets the smallest and the whole map."""
    say(to, heading(ablation.similarity), style="bold")
    say(to, f"value of a pair: {ablation.similarity.ensemble} of the raters of the subset that rated it, 0 to 1")
    for kind, ratings in ablation.human.items():
        say(to, f"human ratings: {len(ratings.values):,} pairs of {kind}, {ratings.lines:,} ratings")
    if len(ablation.similarity.raters) > 1:
        to.print(_correlation_table(ablation))
    to.print(_subset_table(ablation))
    for kind in ablation.human:
        to.print(_human_table(ablation, kind))
    if len(ablation.subsets) > _MOST_ROWS:
        say(to, f"{len(ablation.subsets) - _MOST_ROWS:,} more subsets: --json -")
    if _figures(ablation):
        to.print(_size_table(ablation))
        say(to, "by number of raters: mean ± standard deviation (of a sample)")
    for title, figure in _figures(ablation):
        single, whole = ablation.spread(figure, 1), ablation.spread(figure)
        if single and whole:
            say(to, f"{title}: single raters {_range(single)}; all subsets {_range(whole)}")
    if ablation.report:
        say(to, f"signature  {ablation.report.signature.short()}")


def _figures(ablation: Ablation) -> list[tuple[str, Figure]]:
    """What was measured of each subset, by its title."""
    found: list[tuple[str, Figure]] = []
    if ablation.report:
        found += [("SHOE-mAP", lambda subset: subset.map), ("SHOE-mF1", lambda subset: subset.mf1)]
    return found + [(f"agreement, {kind}", _agreement_with(kind)) for kind in ablation.human]


def _agreement_with(kind: HumanKind) -> Figure:
    return lambda subset: subset.human[kind].agreement


def _subset_dict(subset: Subset, names: list[str]) -> dict[str, Any]:
    human = {
        kind: present(
            {"pairs": f.pairs, "agreement": f.agreement, "pearson": f.pearson, "spearman": f.spearman},
        )
        for kind, f in subset.human.items()
    }
    return present(
        {
            "raters": [names[column] for column in subset.raters],
            "rated": {f"{part}s": number for part, number in subset.rated.items()},
            "map": subset.map,
            "mf1": subset.mf1,
            "human": human or None,
        }
    )


def _spreads_dict(ablation: Ablation, size: int | None) -> dict[str, Any]:
    human: dict[str, Any] = {
        kind: _spread_dict(ablation.spread(_agreement_with(kind), size)) for kind in ablation.human
    }
    return present(
        {
            "map": _spread_dict(ablation.spread(lambda subset: subset.map, size)),
            "mf1": _spread_dict(ablation.spread(lambda subset: subset.mf1, size)),
            "human_agreement": present(human) or None,
        }
    )


def _spread_dict(spread: SubsetSpread | None) -> dict[str, Any] | None:
    if spread is None:
        return None
    return present(
        {
            "subsets": spread.subsets,
            "mean": spread.mean,
            "standard_deviation": spread.deviation,
            "lowest": spread.low,
            "highest": spread.high,
        }
    )


def _correlation_table(ablation: Ablation) -> Table:
    columns = tuple(column for part in ablation.correlations for column in (f"{part} pairs of both", "Pearson"))
    made = table("raters", "", right=columns)
    raters = ablation.similarity.raters
    for found in zip(*ablation.correlations.values(), strict=True):
        figures = [text for each in found for text in (count(each.pairs), fixed(each.pearson))]
        made.add_row(words(raters[found[0].first].name), words(raters[found[0].second].name), *figures)
    return made


def _subset_table(ablation: Ablation) -> Table:
    scores = ("SHOE-mAP", "SHOE-mF1") if ablation.report else ()
    made = table("#", "raters", right=(*(f"{part}s rated" for part in ablation.similarity.tables), *scores))
    made.columns[1].no_wrap = False
    for subset in _shown(ablation):
        figures = [percent(subset.map), percent(subset.mf1)] if ablation.report else []
        made.add_row(*_names(ablation, subset), *map(count, subset.rated.values()), *figures)
    return made


def _human_table(ablation: Ablation, kind: HumanKind) -> Table:
    right = ("agreement %", "Pearson", "Spearman", f"on pairs, of {len(ablation.human[kind].values):,}")
    made = table("#", f"people on {kind} beside", right=right)
    made.columns[1].no_wrap = False
    for subset in _shown(ablation):
        found = subset.human[kind]
        figures = (percent(found.agreement), fixed(found.pearson), fixed(found.spearman), count(found.pairs))
        made.add_row(*_names(ablation, subset), *figures)
    return made


def _shown(ablation: Ablation) -> list[Subset]:
    """All subsets; of very many the smallest, and the whole map."""
    subsets = ablation.subsets
    return subsets if len(subsets) <= _MOST_ROWS else [*subsets[: _MOST_ROWS - 1], subsets[-1]]


def _names(ablation: Ablation, subset: Subset) -> tuple[str, Text]:
    raters = ablation.similarity.raters
    return str(len(subset.raters)), words(" + ".join(raters[column].name for column in subset.raters), longest=300)


def _size_table(ablation: Ablation) -> Table:
    figures = _figures(ablation)
    made = table("raters", right=("subsets", *(title for title, _ in figures)))
    for size in ablation.sizes:
        subsets = sum(len(subset.raters) == size for subset in ablation.subsets)
        cells = (_mean(ablation.spread(figure, size)) for _, figure in figures)
        made.add_row(str(size), count(subsets), *cells)
    return made


def _mean(spread: SubsetSpread | None) -> str:
    if spread is None:
        return "–"
    deviation = "" if spread.deviation is None else f" ± {100 * spread.deviation:.2f}"
    return percent(spread.mean) + deviation


def _range(spread: SubsetSpread) -> str:
    return f"{percent(spread.low)} to {percent(spread.high)} (spread {100 * (spread.high - spread.low):.2f})"
