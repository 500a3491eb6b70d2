"""Two maps beside each other, and a map's subsets of raters, in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from rich.console import Console
from rich.table import Table

from shoe.maps.ablate import Ablation, Subset, SubsetSpread, agreement_with
from shoe.maps.diff import MapDiff
from shoe.report.map_info import heading
from shoe.report.text import count, fixed, percent, say, table, words
from shoe.scoring.score import Report
from shoe.similarity import SimilarityMap

_MOST_ROWS = 64


def print_diff(
    maps: tuple[SimilarityMap, SimilarityMap], found: MapDiff, reports: tuple[Report, Report] | None, to: Console
) -> None:
    """Print a comparison."""
    for side, similarity in zip("AB", maps, strict=True):
        say(to, f"{side}  {heading(similarity)}", style="bold")
    say(to, f"value of a pair: {found.ensemble} of the raters that rated it, 0 to 1")
    rows = (
        (
            f"{part}s",
            *map(count, (d.shared, d.only_a, d.only_b)),
            *map(fixed, (d.pearson, d.spearman, d.mean_difference)),
        )
        for part, d in found.parts.items()
    )
    to.print(table("part", "shared pairs", "only A", "only B", "Pearson", "Spearman", "mean |B - A|", rows=rows))
    for part, diff in found.parts.items():
        if diff.largest:
            largest = table("A", "B", names=0)
            largest.add_column(f"largest disagreements, {part}s: class")
            largest.add_column("other sense")
            for pair in diff.largest:
                senses = zip((pair.class_synset, pair.synset), pair.lemmas, pair.glosses or ("", ""), strict=True)
                said = (f"{name} ({lemmas})" + (f": {gloss}" if pair.glosses else "") for name, lemmas, gloss in senses)
                largest.add_row(fixed(pair.a, 2), fixed(pair.b, 2), *(words(text, longest=300) for text in said))
            to.print(largest)
    if found.score and reports:
        a, b = found.score.a, found.score.b
        scores = (("SHOE-mAP", a.map, b.map), ("SHOE-mF1", a.mf1, b.mf1))
        to.print(table("score", "A", "B", "B - A", rows=((title, *_beside(*figures)) for title, *figures in scores)))
        if moves := found.score.classes:
            moved = ((words(m.label), count(m.ground_truths), *_beside(m.a, m.b)) for m in moves)
            to.print(table("classes that move most", "ground truths", "AP under A", "AP under B", "B - A", rows=moved))
        for side, report in zip("AB", reports, strict=True):
            say(to, f"signature {side}  {report.signature.short()}")


def _beside(a: float | None, b: float | None) -> tuple[str, str, str]:
    """Two fractions in percent, and their difference."""
    return percent(a), percent(b), "–" if a is None or b is None else f"{100 * (b - a):+.2f}"


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
        found = (subset.human or {})[kind]
        nearest = {True: "yes", False: "no", None: "–"}[found.among_best]
        return [percent(found.agreement), fixed(found.pearson), fixed(found.spearman), count(found.pairs), nearest]

    columns = (*(f"{part}s rated" for part in similarity.tables), *scores)
    to.print(_table_of_subsets(ablation, "raters", columns, rated_and_scores))
    for kind, people in ablation.human.items():
        columns = ("agreement %", "Pearson", "Spearman", f"on pairs, of {len(people.values):,}", "among nearest")
        to.print(_table_of_subsets(ablation, f"people on {kind} beside", columns, agreement))
    if more > 0:
        say(to, f"{more:,} more subsets: --json -")
    figures = scores | {f"agreement, {kind}": agreement_with(kind) for kind in ablation.human}
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


def _correlation_table(ablation: Ablation) -> Table:
    columns = (column for part in ablation.correlations for column in (f"{part} pairs of both", "Pearson"))
    made = table("raters", "", *columns, names=2)
    for found in zip(*ablation.correlations.values(), strict=True):
        figures = [text for each in found for text in (count(each.pairs), fixed(each.pearson))]
        made.add_row(*map(words, found[0].raters), *figures)
    return made


def _table_of_subsets(
    ablation: Ablation, title: str, columns: tuple[str, ...], cells: Callable[[Subset], Iterable[str]]
) -> Table:
    """A row for each subset; of very many for the smallest, and for the whole map."""
    subsets = ablation.subsets
    made = table("#", title, *columns, names=2)
    made.columns[1].no_wrap = False
    for subset in subsets if len(subsets) <= _MOST_ROWS else [*subsets[: _MOST_ROWS - 1], subsets[-1]]:
        names = words(" + ".join(subset.raters), longest=300)
        made.add_row(str(len(subset.raters)), names, *cells(subset))
    return made


def _mean(spread: SubsetSpread | None) -> str:
    deviation = spread.standard_deviation if spread else None
    return percent(spread.mean if spread else None) + ("" if deviation is None else f" ± {100 * deviation:.2f}")


def _range(spread: SubsetSpread) -> str:
    return (
        f"{percent(spread.lowest)} to {percent(spread.highest)} (spread {100 * (spread.highest - spread.lowest):.2f})"
    )
