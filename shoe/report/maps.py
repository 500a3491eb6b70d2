"""Similarity maps, their estimates and their rating runs in the terminal."""

from collections.abc import Callable, Iterable, Iterator
from math import ceil
from typing import Any

import numpy as np
from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from shoe.core.errors import pluralize, printable
from shoe.maps.ablate import MapAblate, SizeSpreads, Spreads, Subset, SubsetSpread
from shoe.maps.built_map import states_of, unanswered
from shoe.maps.complete import CompletedPairs, Completion, CompletionRound, Why
from shoe.maps.cost_estimate import ANSWER_BYTES, Estimate, Range
from shoe.maps.diff import MapDiff
from shoe.maps.info import MapInfo, PartCheck, uniform_raters
from shoe.maps.job import PAPER, Outcome
from shoe.maps.learn import MapLearned
from shoe.maps.session import Raters
from shoe.report.text import count, decimals, percent, print_line, print_lines, table, words
from shoe.scoring.score import Report
from shoe.similarity import SimilarityMap
from shoe.similarity.ensemble import HIGHEST

_LONGEST, _DEEPEST, _MOST_ITEMS = 2000, 6, 50


def heading(similarity: SimilarityMap) -> str:
    """Return the name, hash, dataset, number of pairs and number of raters of a similarity map in one line."""
    pairs = " and ".join(f"{len(table):,} {part} pairs" for part, table in similarity.tables.items())
    raters = "1 rater" if len(similarity.raters) == 1 else f"{len(similarity.raters)} raters"
    return f"{similarity.name} ({similarity.digest}) · classes of {similarity.dataset} · {pairs} · {raters}"


def print_info(similarity: SimilarityMap, info: MapInfo, to: Console) -> None:
    """Print a description of a similarity map, with the class senses that have the fewest rated pairs."""
    print_line(to, heading(similarity), style="bold")
    of_commands = "commands use the mean unless an option selects another ensemble"
    print_line(to, f"ensemble: {similarity.ensemble} by map.json; {of_commands}")
    made = table("rater", "part", "rated", "missing", *map(str, range(HIGHEST + 1)), "mean", names=2)
    for counted in info.raters:
        for part, counts in (("verbs", counted.verbs), ("objects", counted.objects)):
            total = sum(rating * number for rating, number in enumerate(counts.histogram))
            mean = decimals(total / counts.rated if counts.rated else None, 2)
            numbers = map(count, (counts.rated, counts.missing, *counts.histogram))
            made.add_row(words(counted.name), part, *numbers, mean)
    to.print(made)
    for rater in similarity.raters:
        print_line(to, ": ".join([rater.name, rater.model, *([str(rater.note)] if rater.note else [])]))
        print_lines(to, _prose_lines(dict(rater.details), 1))
    made = table("raters", "", "part", "both rated", "equal %", "Pearson", "kappa (quadratic)", names=3)
    for part, found in ((part, found) for part, of_part in info.parts.items() for found in of_part.agreement):
        equal = decimals(None if found.exact is None else 100 * found.exact, 1)
        figures = (count(found.pairs), equal, decimals(found.pearson), decimals(found.quadratic_weighted_kappa))
        made.add_row(*map(words, found.raters), f"{part}s", *figures)
    to.print(made if len(similarity.raters) > 1 else "")
    made = table("coverage", "pairs", "rated", "class senses", "covered", "fewest", "median", "most")
    for part, of_part in info.parts.items():
        cells = ["–"] * 4
        if of_part.coverage:
            rated = list(of_part.coverage.values())
            spread = (count(int(of_rated(rated))) for of_rated in (min, np.median, max))
            cells = [f"{sum(number > 0 for number in rated)} of {len(rated)}", *spread]
        made.add_row(f"{part}s", *map(count, (of_part.pairs, of_part.rated_pairs, of_part.class_senses)), *cells)
    to.print(made)
    covered = f"covered: class senses of {similarity.dataset} in at least one rated pair"
    print_line(to, f"{covered}; fewest, median, most: rated pairs per class sense")
    for part, coverage in ((part, of_part.coverage) for part, of_part in info.parts.items() if of_part.coverage):
        fewest = sorted(coverage.items(), key=lambda item: item[1])[:5]
        senses = ", ".join(f"{sense} {rated:,}" for sense, rated in fewest)
        print_line(to, f"{part}s with the fewest rated pairs: {senses}")
    print_lines(to, _prose_lines(similarity.provenance))
    if info.check:
        _print_check(info.check, to)
    print_lines(to, (f"warning: {line}" for line in info.warnings), style="yellow")


def _print_check(check: dict[str, PartCheck], to: Console) -> None:
    made = table("check", "classes", "similar to: median", "most", "both directions", "hypernyms", "siblings")
    pairs = table("most surprising pairs: class", "other sense", "rating", "expected", names=2)
    for part, found in check.items():
        shares = found.median_share, max(found.broad_classes.values(), default=None)
        means = (decimals(mean, 2) for mean in (found.asymmetry, found.hypernyms, found.siblings))
        made.add_row(part, count(found.classes), *map(percent, shares), *means)
        for p in found.surprising:
            pairs.add_row(words(p.class_synset), words(p.synset), decimals(p.rating, 2), decimals(p.expected, 2))
    to.print(made)
    print_line(to, "similar to: % of the senses with a value of at least 0.5 of 4, per class, without hyponyms")
    print_line(to, "both directions: mean difference of two class senses; hypernyms, siblings: mean value, 0 to 4")
    to.print(pairs)


def _prose_lines(value: Any, depth: int = 0) -> Iterator[str]:
    indent = "  " * depth
    if depth > _DEEPEST:
        yield f"{indent}…"
    elif isinstance(value, dict):
        for key, below in value.items():
            nested = isinstance(below, (dict, list))
            yield f"{indent}{printable(str(key))}{'' if nested else f': {printable(str(below), longest=_LONGEST)}'}"
            yield from _prose_lines(below, depth + 1) if nested else ()
    elif isinstance(value, list):
        for item in value[:_MOST_ITEMS]:
            lines = list(_prose_lines(item, depth + 1))
            yield f"{indent}- {lines[0].strip()}" if lines else f"{indent}-"
            yield from lines[1:]
        if len(value) > _MOST_ITEMS:
            yield f"{indent}- and {len(value) - _MOST_ITEMS:,} more"
    else:
        yield f"{indent}{printable(str(value), longest=_LONGEST)}"


_MOST_ROWS = 64  # maximum number of rows in a table of subsets of raters


def print_diff(
    maps: tuple[SimilarityMap, SimilarityMap], found: MapDiff, reports: tuple[Report, Report] | None, to: Console
) -> None:
    """Print the differences of two similarity maps and, if given, of the two reports scored with them."""
    print_lines(to, (f"{side}  {heading(of)}" for side, of in zip("AB", maps, strict=True)), style="bold")
    print_line(to, f"value of a pair: {found.ensemble} of its ratings, scaled to 0..1")
    made = table("part", "shared pairs", "only A", "only B", "Pearson", "Spearman", "mean |B - A|")
    for part, d in found.parts.items():
        figures = map(decimals, (d.pearson, d.spearman, d.mean_difference))
        made.add_row(f"{part}s", *map(count, (d.shared, d.only_a, d.only_b)), *figures)
    to.print(made)
    for part, pairs in ((part, diff.largest) for part, diff in found.parts.items() if diff.largest):
        largest = table("A", "B", names=0)
        largest.add_column(f"largest disagreements, {part}s: class")
        largest.add_column("other sense")
        for pair in pairs:
            senses = zip((pair.class_synset, pair.synset), pair.lemmas, pair.glosses or ("", ""), strict=True)
            texts = (f"{name} ({lemmas}){f': {gloss}' if pair.glosses else ''}" for name, lemmas, gloss in senses)
            largest.add_row(decimals(pair.a, 2), decimals(pair.b, 2), *(words(text, longest=300) for text in texts))
        to.print(largest)
    if found.score and reports:
        a, b = found.score.a, found.score.b
        scores = [["SHOE-mAP", *_with_difference(a.map, b.map)], ["SHOE-mF1", *_with_difference(a.mf1, b.mf1)]]
        to.print(table("score", "A", "B", "B - A", rows=scores))
        if moves := found.score.classes:
            moved = ((words(m.label), count(m.ground_truths), *_with_difference(m.a, m.b)) for m in moves)
            columns = ("ground truths", "AP under A", "AP under B", "B - A")
            to.print(table("classes with the largest change", *columns, rows=moved))
        print_lines(to, (f"signature {side}  {of.signature.short()}" for side, of in zip("AB", reports, strict=True)))


def _with_difference(a: float | None, b: float | None) -> tuple[str, str, str]:
    return percent(a), percent(b), "–" if a is None or b is None else f"{100 * (b - a):+.2f}"


def print_ablation(ablation: MapAblate, similarity: SimilarityMap, report: Report | None, to: Console) -> None:
    """Print the scores (if ``report`` is given) and agreement with people of at most 64 subsets of a map's raters."""
    more, kinds = len(ablation.subsets) - _MOST_ROWS, ablation.human or {}
    print_line(to, heading(similarity), style="bold")
    print_line(to, f"value of a pair: {similarity.ensemble} of its ratings by the subset of raters, scaled to 0..1")
    humans = (f"{of.pairs:,} pairs of {kind}, {of.ratings:,} ratings" for kind, of in kinds.items())
    print_lines(to, (f"human ratings: {human}" for human in humans))
    if len(similarity.raters) > 1:
        both = (column for parts in ablation.correlations for column in (f"{parts[:-1]} pairs of both", "Pearson"))
        made = table("raters", "", *both, names=2)
        for found in zip(*ablation.correlations.values(), strict=True):
            figures = (text for each in found for text in (count(each.pairs), decimals(each.pearson)))
            made.add_row(*map(words, found[0].raters), *figures)
        to.print(made)
    scores = {"SHOE-mAP": "map", "SHOE-mF1": "mf1"} if report else {}

    def rated_and_scores(subset: Subset) -> list[str]:
        return [*map(count, subset.rated.values()), *(percent(getattr(subset, score)) for score in scores.values())]

    def agreement(subset: Subset) -> list[str]:
        found = (subset.human or {})[kind]
        nearest = {True: "yes", False: "no", None: "–"}[found.among_best]
        figures = percent(found.agreement), decimals(found.pearson), decimals(found.spearman)
        return [*figures, count(found.pairs), nearest]

    columns = (*(f"{part}s rated" for part in similarity.tables), *scores)
    to.print(_table_of_subsets(ablation, "raters", columns, rated_and_scores))
    for kind, of_kind in kinds.items():
        columns = ("agreement %", "Pearson", "Spearman", f"on pairs, of {of_kind.pairs:,}", "among nearest")
        to.print(_table_of_subsets(ablation, f"human ratings of {kind} against", columns, agreement))
    if more > 0:
        print_line(to, f"{more:,} more subsets: `--json -` writes all")

    def spreads(of: Spreads | SizeSpreads) -> dict[str, SubsetSpread | None]:
        people = {f"agreement, {kind}": (of.human_agreement or {}).get(kind) for kind in kinds}
        return {title: getattr(of, score) for title, score in scores.items()} | people

    if scores or kinds:
        rows = ((str(of.size), count(of.subsets), *map(_mean, spreads(of).values())) for of in ablation.sizes)
        to.print(table("raters", "subsets", *spreads(ablation.all_subsets), rows=rows))
        print_line(to, "by number of raters: mean ± sample standard deviation over subsets")
    single = spreads(ablation.sizes[0])
    for title, whole in spreads(ablation.all_subsets).items():
        if (one := single[title]) and whole:
            print_line(to, f"{title}: single raters {_range(one)}; all subsets {_range(whole)}")
    if report:
        print_line(to, f"signature  {report.signature.short()}")


def _table_of_subsets(
    ablation: MapAblate, title: str, columns: tuple[str, ...], cells: Callable[[Subset], Iterable[str]]
) -> Table:
    subsets, made = ablation.subsets, table("#", title, *columns, names=2)
    made.columns[1].no_wrap = False
    # Subsets are sorted by size: of too many, the smallest and the whole map are shown.
    for subset in subsets if len(subsets) <= _MOST_ROWS else [*subsets[: _MOST_ROWS - 1], subsets[-1]]:
        made.add_row(str(len(subset.raters)), words(" + ".join(subset.raters), longest=300), *cells(subset))
    return made


def _mean(spread: SubsetSpread | None) -> str:
    deviation = spread.standard_deviation if spread else None
    return percent(spread.mean if spread else None) + ("" if deviation is None else f" ± {100 * deviation:.2f}")


def _range(spread: SubsetSpread) -> str:
    return f"{percent(spread.lowest)} to {percent(spread.highest)} (range {100 * (spread.highest - spread.lowest):.2f})"


def learned_table(found: MapLearned) -> Group:
    """Return the accuracy of predicted ratings for new senses and new classes, and a warning per suspect class."""
    made = table("predicted", "held out", "pairs", "rho", "kappa (quadratic)", "off by", "bias", names=2)
    for part, of_part in (("verbs", found.verbs), ("objects", found.objects)):
        for held_out, figures in (("senses", of_part.by_sense), ("classes", of_part.by_class)):
            cells = map(decimals, (figures.rho, figures.kappa, figures.off_by, figures.bias))
            made.add_row(part, held_out, count(figures.pairs), *cells)
    lines = (
        f"{each.synset}: found a predicted rating of at least 0.5 for {percent(each.unrated_share)} % of the unrated "
        f"senses, expected fewer than of the rated senses ({percent(each.rated_share)} %); rate unrated senses of this "
        "class and run `shoe map learn` again"
        for each in (*found.verbs.suspect_classes, *found.objects.suspect_classes)
    )
    return Group(made, *(words(line, longest=500) for line in lines))


def estimate_table(estimate: Estimate) -> Group:
    """Return planned pairs, expected costs per rater ("~" marks uncertain values), and assumptions of an estimate."""
    columns = ("answered", "to ask", "requests", "tokens in", "out", printable(f"cost {estimate.currency}"), "hours")
    made = table("rater", *columns)
    made.columns[0].no_wrap, made.columns[0].overflow = False, "fold"
    for rater in estimate.raters:
        counts = map(_count, (rater.pairs, rater.requests, rater.input_tokens, rater.output_tokens))
        cost = "unknown" if rater.is_unknown else _span(rater.cost, _money)
        hours = _span(rater.hours, lambda hours: f"{hours:,.{2 if hours < 1 else 1 if hours < 10 else 0}f}")
        answered = f"{rater.answered:,}" if rater.answered < 10_000 else _short(rater.answered)
        made.add_row(words(rater.name), answered, *counts, cost, hours)
    if len(estimate.raters) > 1:
        made.add_section()
        made.add_row("all", *[""] * 5, _span(estimate.cost, _money) if estimate.cost else "unknown", "")
    asked = estimate.questions.items()
    planned = ", ".join(f"{estimate.rows[part]:,} {part} pairs ({number:,} to be asked)" for part, number in asked)
    notes = [words(f"- {line}", longest=500) for line in estimate.assumptions]
    if requests := sum(rater.requests.likely for rater in estimate.raters if rater.requests):
        notes.append(words(f"- answers on disk: about {ceil(requests * ANSWER_BYTES / 1e6):,} MB"))
    return Group(Text(f"planned: {planned}"), made, *notes)


def _count(value: Range | None) -> str:
    if value is None:
        return "–"
    return f"{round(value.likely):,}" if value.low == value.high else f"~{_short(value.likely)}"


def _short(count: float) -> str:
    rounded = float(f"{count:.2g}")
    for size, unit in ((1e9, "B"), (1e6, "M"), (1e3, "K")):
        if rounded >= size:
            return f"{rounded / size:.2g}{unit}" if rounded < 100 * size else f"{rounded / size:.0f}{unit}"
    return f"{rounded:.0f}"


def _span(value: Range | None, write: Callable[[float], str]) -> str:
    if value is None:
        return "–"
    low, likely, high = map(write, (value.low, value.likely, value.high))
    return likely if low == high else f"~{likely}\n{low}–{high}"


def _money(amount: float) -> str:
    return f"{amount:.2f}" if amount < 10 else f"{float(f'{amount:.2g}'):,.0f}"


def print_outcome(raters: Raters, outcome: Outcome, to: Console) -> None:
    """Print pairs and requests by rater, and the fraction of pairs rated 0 by the first rater but above 0 by others."""
    made = table("rater", "part", "rated", "refused", "unparsable", "unrated", "not asked", names=2)
    for column, rater in enumerate(raters.columns):
        for part, rated in outcome.parts.items():
            made.add_row(words(rater), part, *map(count, states_of(rated, column).values()))
    to.print(made)
    for part, rated in outcome.parts.items():
        ratings = dict(zip(raters.columns, rated.states.T, strict=True))
        histograms = {name: np.bincount(of[of >= 0], minlength=HIGHEST + 1).tolist() for name, of in ratings.items()}
        for line in uniform_raters(part, histograms):
            print_line(to, f"warning: {line}", style="yellow")
    first = raters.sessions[0].config.name
    for part, rated in outcome.parts.items():
        if rated.sampled is not None:
            others = f"a sample of {len(rated.sampled):,} of these pairs is for the other raters"
            answered = states_of(rated, 0)["rated"]
            print_line(to, f"{part} pairs: {first} rated {rated.zeros:,} of {answered:,} pairs 0; {others}")
        for name, found in rated.disagreements.items() if rated.sampled is not None else ():
            share, low, high, *paper = (f"{100 * v:.3f} %" for v in (found.share, *found.interval_95, *PAPER))
            interval = f"95 % interval {low} to {high}; the paper's models {' to '.join(paper)}"
            print_line(to, f"  {name} rated {found.not_zero:,} of {found.rated:,} above 0: {share} ({interval})")
    if any(tally.requests or tally.done or tally.cached for tally in outcome.tallies):
        cost = f"cost {raters.file.currency}"
        made = table("rater", "answers", "from cache", "requests", "retries", "failures", "tokens in", "out", cost)
        for tally in outcome.tallies:
            counts = (tally.done, tally.cached, tally.requests, tally.retries, tally.failures.total())
            numbers = map(count, (*counts, tally.input_tokens, tally.output_tokens))
            made.add_row(words(tally.name), *numbers, "unknown" if tally.is_unpriced else f"{tally.cost:,.4f}")
        to.print(made)
    print_lines(to, failure_lines(outcome))


def failure_lines(outcome: Outcome) -> Iterator[str]:
    """Yield a line per rater with failed requests: number of failures by kind, such as "429"."""
    for tally in outcome.tallies:
        if tally.failures:
            kinds = ", ".join(f"{number:,} {kind}" for kind, number in tally.failures.most_common())
            yield f"{tally.name}: failed attempts: {kinds}"


def unanswered_questions(outcome: Outcome) -> int:
    """Return the number of unanswered questions, summed over all raters."""
    return sum(int(unanswered(rated).sum()) for rated in outcome.parts.values())


def round_line(state: CompletionRound, currency: str) -> str:
    """Return one line with SHOE-mAP, its interval, number of rated pairs and cost after a round of rating."""
    ends = " and ".join(map(percent, state.map_interval))
    rated = f"{pluralize(state.rated, 'pair')} rated" if state.rated else "no pair rated by this command yet"
    cost = f", {state.cost:,.4g} {currency}" if state.cost else ""
    return f"SHOE-mAP {percent(state.map)}, between {ends}; {rated}{cost}"


def rounds_table(completion: Completion, currency: str) -> Table:
    """Return a table with one row per round of rating: pairs, requests, cost, and SHOE-mAP with its interval."""
    columns = ("asked", "rated in all", "no valid answer", "requests", f"cost {currency}")
    made = table("round", *columns, "SHOE-mAP", "from", "to", "width")
    for number, state in enumerate(completion.rounds):
        counts = (state.asked, state.rated, state.unanswered, state.requests)
        figures = (state.map, *state.map_interval, state.width)
        cost = f"{state.cost:,.4f}" if state.cost else "–"
        made.add_row(str(number), *map(count, counts), cost, *map(percent, figures))
    return made


def closing_lines(completion: Completion, pairs: CompletedPairs, tolerance: float) -> Iterator[str]:
    """Yield lines on why the rating of pairs ended, and on how many times more pairs a complete map would need."""
    points, again = f" ({percent(tolerance)} points)", "; run the same command to continue with a new budget"
    yield f"{completion.why}{ {Why.TOLERANCE: points, Why.OVER: again}.get(completion.why, '') }"
    if completion.why is not Why.DECIDED:
        yield "the interval does not cover false positives of unlikely classes: docs/protocols.md, 10.7"
    if not (questions := pairs.rated + pairs.unanswered):
        yield "no pair had to be rated"
        return
    if cached := completion.rounds[-1].cached:
        yield f"{pluralize(cached, 'answer')} came from the cache"
    plans = {"a complete map": pairs.whole_build, "all pairs that these predictions look up": pairs.looked_up}
    for plan, size in plans.items():
        yield f"{pluralize(questions, 'pair')} instead of {size:,} ({plan}): a factor of {size / questions:,.1f}"
    if pairs.unanswered:
        yield f"without a valid answer: {pluralize(pairs.unanswered, 'pair')}, unrated and not requested again"
