"""A map's subsets of raters, in the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from shoe.maps.ablate import Ablation, Subset, SubsetSpread
from shoe.maps.human import HumanKind
from shoe.report.map_info import heading
from shoe.report.notes import percent
from shoe.report.text import count, fixed, present, say, table, words

_MOST_ROWS = 64


def ablation_dict(ablation: Ablation) -> dict[str, Any]:
    """Collect an ablation's figures in the documented keys."""
    similarity, report = ablation.similarity, ablation.report
    names = [rater.name for rater in similarity.raters]
    human = {kind: {"pairs": len(of.values), "ratings": of.lines} for kind, of in ablation.human.items()}

    def spreads(size: int | None) -> dict[str, Any]:
        figures = {"map": lambda subset: subset.map, "mf1": lambda subset: subset.mf1} | {
            kind: _agreement_with(kind) for kind in ablation.human
        }
        found = {name: ablation.spread(figure, size) for name, figure in figures.items()}
        known = {name: asdict(spread) for name, spread in found.items() if spread}
        people = {kind: known.pop(kind) for kind in ablation.human if kind in known}
        return known | {"human_agreement": people or None}

    found: dict[str, Any] = present(
        {
            "name": similarity.name,
            "digest": similarity.digest,
            "ensemble": similarity.ensemble,
            "raters": names,
            "correlations": {
                f"{part}s": [
                    {"raters": [names[f.first], names[f.second]], "pairs": f.pairs, "pearson": f.pearson} for f in found
                ]
                for part, found in ablation.correlations.items()
            },
            "subsets": [
                {
                    "raters": [names[column] for column in subset.raters],
                    "rated": {f"{part}s": number for part, number in subset.rated.items()},
                    "map": subset.map,
                    "mf1": subset.mf1,
                    "human": {kind: asdict(agreement) for kind, agreement in subset.human.items()} or None,
                }
                for subset in ablation.subsets
            ],
            "sizes": [{"size": size, "subsets": number} | spreads(size) for size, number in ablation.sizes.items()],
            "all_subsets": spreads(None),
            "signature": str(report.signature) if report else None,
            "human": human or None,
        }
    )
    return found


def print_ablation(ablation: Ablation, to: Console) -> None:
    """Print an ablation; of many subsets the smallest and the whole map."""
    similarity, more = ablation.similarity, len(ablation.subsets) - _MOST_ROWS
    say(to, heading(similarity), style="bold")
    say(to, f"value of a pair: {similarity.ensemble} of the raters of the subset that rated it, 0 to 1")
    for kind, ratings in ablation.human.items():
        say(to, f"human ratings: {len(ratings.values):,} pairs of {kind}, {ratings.lines:,} ratings")
    if len(similarity.raters) > 1:
        to.print(_correlation_table(ablation))
    scores: dict[str, Callable[[Subset], float | None]] = {}
    if ablation.report:
        scores = {"SHOE-mAP": lambda subset: subset.map, "SHOE-mF1": lambda subset: subset.mf1}

    def rated_and_scores(subset: Subset) -> list[str]:
        return [*map(count, subset.rated.values()), *(percent(figure(subset)) for figure in scores.values())]

    def agreement(subset: Subset) -> list[str]:
        found = subset.human[kind]
        return [percent(found.agreement), fixed(found.pearson), fixed(found.spearman), count(found.pairs)]

    columns = (*(f"{part}s rated" for part in similarity.tables), *scores)
    to.print(_table_of_subsets(ablation, "raters", columns, rated_and_scores))
    for kind, people in ablation.human.items():
        columns = ("agreement %", "Pearson", "Spearman", f"on pairs, of {len(people.values):,}")
        to.print(_table_of_subsets(ablation, f"people on {kind} beside", columns, agreement))
    if more > 0:
        say(to, f"{more:,} more subsets: --json -")
    figures = scores | {f"agreement, {kind}": _agreement_with(kind) for kind in ablation.human}
    if figures:
        rows = (
            (str(size), count(subsets), *(_mean(ablation.spread(figure, size)) for figure in figures.values()))
            for size, subsets in ablation.sizes.items()
        )
        to.print(table("raters", "subsets", *figures, rows=rows))
        say(to, "by number of raters: mean ± standard deviation (of a sample)")
    for title, figure in figures.items():
        single, whole = ablation.spread(figure, 1), ablation.spread(figure)
        if single and whole:
            say(to, f"{title}: single raters {_range(single)}; all subsets {_range(whole)}")
    if ablation.report:
        say(to, f"signature  {ablation.report.signature.short()}")


def _agreement_with(kind: HumanKind) -> Callable[[Subset], float | None]:
    return lambda subset: subset.human[kind].agreement


def _correlation_table(ablation: Ablation) -> Table:
    columns = (column for part in ablation.correlations for column in (f"{part} pairs of both", "Pearson"))
    raters = ablation.similarity.raters
    made = table("raters", "", *columns, names=2)
    for found in zip(*ablation.correlations.values(), strict=True):
        figures = [text for each in found for text in (count(each.pairs), fixed(each.pearson))]
        made.add_row(words(raters[found[0].first].name), words(raters[found[0].second].name), *figures)
    return made


def _table_of_subsets(
    ablation: Ablation, title: str, columns: tuple[str, ...], cells: Callable[[Subset], Iterable[str]]
) -> Table:
    """A row for each subset; of very many for the smallest, and for the whole map."""
    subsets, raters = ablation.subsets, ablation.similarity.raters
    made = table("#", title, *columns, names=2)
    made.columns[1].no_wrap = False
    for subset in subsets if len(subsets) <= _MOST_ROWS else [*subsets[: _MOST_ROWS - 1], subsets[-1]]:
        names = words(" + ".join(raters[column].name for column in subset.raters), longest=300)
        made.add_row(str(len(subset.raters)), names, *cells(subset))
    return made


def _mean(spread: SubsetSpread | None) -> str:
    deviation = spread.standard_deviation if spread else None
    return percent(spread.mean if spread else None) + ("" if deviation is None else f" ± {100 * deviation:.2f}")


def _range(spread: SubsetSpread) -> str:
    return (
        f"{percent(spread.lowest)} to {percent(spread.highest)} (spread {100 * (spread.highest - spread.lowest):.2f})"
    )
