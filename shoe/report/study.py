"""Results of rating studies, and agreement of metrics with human ratings, in the terminal and as LaTeX."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from shoe.core.errors import pluralize, printable
from shoe.report.bongard import group_name
from shoe.report.comparison import escaped
from shoe.report.text import count, decimals, percent, print_line, print_lines, table, table_of_models
from shoe.similarity.ensemble import HIGHEST
from shoe.study.agreement import Ends, Figure
from shoe.study.analysis import RULES, Agreement, StudyReport
from shoe.study.metric.rankings import Level, MeasureComparison
from shoe.study.plan import Drawn, ProblemStudy, Study
from shoe.study.raters_and_people import PeopleAndRaters
from shoe.study.ratings import StudyRatings, shape_of
from shoe.study.sampling import DIFFERS, expected
from shoe.study.testers import Result, TestersReport


def print_study(study: StudyRatings, found: StudyReport, to: Console, *, as_drawn: bool = False) -> None:
    """Print a study without gold items: agreement, raters, exclusions; ``as_drawn`` adds a note on unused weights."""
    holes = f", {pluralize(study.holes, 'line')} without a rating" if study.holes else ""
    print_line(to, shape_of(study) + holes, "bold")
    if study.weights:
        population = f"results represent {study.weights.population:,.0f} pairs"
        print_line(to, f"population {population}; effective sample size {study.weights.effective:.0f} items")
    columns = columns_of(found)
    names = [name or "no part" for name in columns]
    made = table("measure [95 % interval over items and raters]", *map(printable, names))
    shown = [figure_rows(agreement) for agreement in columns.values()]
    for label in dict.fromkeys(label for rows in shown for label in rows):
        made.add_row(label, *(rows.get(label, "–") for rows in shown))
    to.print(made)
    if reference := found.all.reference:
        named = {"Fisher": reference.fisher, "Bonett-Wright": reference.bonett_wright, "bootstrap": reference.bootstrap}
        intervals = ", ".join(f"{name}{_ends(interval)}" for name, interval in named.items() if interval)
        p = "" if reference.p is None else f"; permutation test p = {reference.p:.4f}"
        rho = f"rho {_or_undefined(reference.spearman.value)} on {pluralize(reference.items, 'item')}"
        print_line(to, f"reference  {rho}; intervals over items only: {intervals or 'undefined'}{p}")
    _print_raters(found, to)
    if found.beside:
        _print_map_raters(found.beside, to)
    if again := found.retest:
        equal = f"{percent(again.exact)} % of {pluralize(again.answers, 'rating')} equal"
        print_line(to, f"repeats    {equal}, quadratic weighted kappa {decimals(again.kappa)}")
    if seen := found.picture:
        share = f"{percent(seen.changed.value)} %"
        share += f" [{', '.join(map(percent, seen.changed.interval))}]" if seen.changed.interval else ""
        size = f", by {_figure(seen.size, 2)} points" if seen.size.value else ""
        ratings = pluralize(seen.answers, "rating")
        print_line(to, f"image      {share} of {ratings} changed after the image was shown{size}")
    excluded = {name: rater.excluded for name, rater in found.raters.items() if rater.excluded}
    print_lines(to, (f"excluded   {printable(name)}: {'; '.join(rules)}" for name, rules in excluded.items()))
    if not excluded:
        print_line(to, f"excluded   no rater; rules for exclusion: {'; '.join(RULES)}", "dim")
    if as_drawn:
        note = "each item has weight 1; `--population` weights items by the number of pairs that they represent"
        print_line(to, f"as drawn   {note}", "dim")
    remark = "the SHOE supplement names the ordinal alpha, but prints the distance of the interval alpha"
    print_line(to, f"alpha      {remark}", "dim")


def print_plan(folder: Path, study: Study, drawn: Drawn, to: Console) -> None:
    """Print the number of items by differing word (verb, object or both) and similarity, and expected precision."""
    gold = sum(item.gold is not None for item in study.items)
    counts = [(len(study.items) - gold, "item"), (gold, "gold item"), (len(study.training), "practice item")]
    if seen := sum(bool(item.picture) for item in study.items):
        counts.append((seen, "picture"))
    sizes = ", ".join(pluralize(number, noun) for number, noun in [*counts, (study.raters, "rater")])
    print_line(to, f"{folder}: {sizes}; seed {study.seed}, map {study.similarity}", "bold")
    made = table("differs", *(f"level {level}" for level in range(HIGHEST + 1)))
    for part in DIFFERS:
        cells = [drawn.strata.get((part, level)) for level in range(HIGHEST + 1)]
        made.add_row(part, *("–" if cell is None else f"{cell[1]:,} of {cell[0]:,}" for cell in cells))
    to.print(made)
    if drawn.influence is not None:
        share = f"{percent(drawn.influence)} % of the influence of all pairs on the score"
        print_line(to, f"influence  the sampled pairs account for {share}")
    if found := expected(len(study.items) - gold, study.raters):
        alpha = f"expected 95 % interval: ±{found.alpha_reach:.2f} for an alpha of {found.alpha:.2f}"
        rho = f"±{found.rho_reach:.2f} for a correlation of {found.rho:.2f} with a metric"
        print_line(to, f"precision  {alpha}, {rho} (simulated)")


def columns_of(found: StudyReport) -> dict[str, Agreement]:
    """Return {title: agreement}: of all raters, without excluded raters (if any), and by part (verb, object, both)."""
    without = {"without excluded": found.without_excluded} if found.without_excluded else {}
    return {"all": found.all, **without, **found.parts}


def figure_rows(agreement: Agreement) -> dict[str, str]:
    """Return {name: text} of measures of agreement with intervals ("undefined" if None), and of items and ratings."""
    rows = {f"Krippendorff's alpha, {level}": _figure(figure) for level, figure in agreement.alpha.items()}
    rows["quadratic weighted kappa, mean of pairs"] = _figure(agreement.kappa)
    rows["each rater against the others' mean (rho)"] = _figure(agreement.ceiling)
    rows["within-item standard deviation"] = _or_undefined(agreement.spread)
    rows["standard error of an item's mean"] = _or_undefined(agreement.standard_error)
    if agreement.reference:
        rows["reference against people (rho)"] = _figure(agreement.reference.spearman)
        rows["reference: 1 - mean absolute difference"] = _figure(agreement.reference.agreement)
    rows["items"], rows["ratings"] = count(agreement.items), count(agreement.ratings)
    return rows


def _print_raters(found: StudyReport, to: Console) -> None:
    levels = [str(level) for level in range(HIGHEST + 1)]
    made = table("rater", *(f"rated {level}" for level in levels), "kappa with others", "rho with others' mean")
    for name, rater in found.raters.items():
        others = rater.kappas.values()
        kappa = f"{min(others):.3f} to {max(others):.3f}" if others else "–"
        made.add_row(Text(printable(name)), *map(count, rater.levels), kappa, decimals(rater.ceiling))
    to.print(made)
    made = table("most frequent rating", *(f"rated {level}" for level in levels))
    for level, row in zip(levels, found.by_majority, strict=True):
        made.add_row(level, *map(count, row))
    to.print(made)


def _print_map_raters(beside: PeopleAndRaters, to: Console) -> None:
    made = table(f"rater, {pluralize(beside.items, 'item')}", "kind", "bias", "noise", "rho with people", names=2)
    for rater in beside.raters:
        kind = "person" if rater.person else "map rater"
        made.add_row(Text(printable(rater.name)), kind, f"{rater.bias:+.2f}", f"{rater.noise:.2f}", decimals(rater.rho))
    to.print(made)
    among = sum(each.among_best for each in beside.ensembles)
    best = beside.ensembles[0]
    line = f"{pluralize(among, 'ensemble')} of {len(beside.ensembles)} are not significantly worse than the best one"
    print_line(to, f"ensembles  {line}: {printable(', '.join(best.raters))}, agreement {percent(best.agreement)} %")
    if beside.left_out:
        names = printable(", ".join(beside.left_out))
        print_line(to, f"left out   raters that rated fewer than half of the items: {names}")


def _figure(figure: Figure, digits: int = 3) -> str:
    return _or_undefined(figure.value, digits) + _ends(figure.interval, digits)


def _or_undefined(value: float | None, digits: int = 3) -> str:
    return "undefined" if value is None else decimals(value, digits)


def _ends(interval: Ends | None, digits: int = 3) -> str:
    return "" if interval is None else f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"


def study_latex(found: StudyReport) -> str:
    r"""Return a LaTeX table with a row per measure of agreement, "--" if undefined; needs ``\usepackage{booktabs}``."""
    named = {f"Krippendorff's $\\alpha$ ({level})": figure for level, figure in found.all.alpha.items()}
    named |= {"quadratic weighted $\\kappa$": found.all.kappa, "rater against others ($\\rho$)": found.all.ceiling}
    if found.all.reference:
        named["reference against raters ($\\rho$)"] = found.all.reference.spearman
        named["reference: agreement"] = found.all.reference.agreement
    values = ((name, figure.value, _ends(figure.interval).strip()) for name, figure in named.items())
    rows = [[name, "--" if value is None else f"{value:.3f}", ends or "--"] for name, value, ends in values]
    return _latex("lrr", [[["figure", "value", r"95\,\% interval"]], rows])


def _latex(alignment: str, blocks: Sequence[Sequence[Sequence[str]]]) -> str:
    """Return a LaTeX table of blocks of rows, with a line above each block; needs the package booktabs."""
    lines = [rf"\begin{{tabular}}{{{alignment}}}"]
    for number, rows in enumerate(blocks):
        lines += [r"\midrule" if number else r"\toprule", *(" & ".join(row) + r" \\" for row in rows)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def print_problem_plan(folder: Path, study: ProblemStudy, to: Console) -> None:
    """Print one line on a study of Bongard problems: numbers of problems, of testers per problem and of pages; seed."""
    counts = [len(study.order(rater)) // 2 for rater in range(study.raters)]
    each = " to ".join(f"{number:,}" for number in sorted({min(counts), max(counts)}))
    workload = f"{pluralize(study.testers, 'tester')} per problem, {each} on each of {pluralize(study.raters, 'page')}"
    print_line(to, f"{folder}: {pluralize(len(study.problems), 'problem')}, {workload}; seed {study.seed}", "bold")


def print_testers(found: TestersReport, to: Console) -> None:
    """Print the accuracy of testers by group and by tester, and the number of problems that some tester solves."""
    total, testers = found.all, found.testers
    by = " to ".join(map(str, sorted(set(total.testers))))
    sizes = f"{pluralize(total.problems, 'problem')}, {pluralize(len(testers), 'tester')}"
    print_line(to, f"{sizes}, {by} of each problem", "bold")
    made = table("problems", "number", "right, %", "positive, %", "negative, %", "kept", "dropped", "kept, %")
    for name, result in found.results.items():
        shares = (_share(each) for each in (result.accuracy, result.positive, result.negative))
        counts = count(result.kept), count(result.dropped), _kept_share(result)
        made.add_row(Text(group_name(name)), count(result.problems), *shares, *counts)
    to.print(made)
    made = table("tester", "problems", "right, %", "both right, %", "seconds a problem")
    for name, tester in testers.items():
        cells = percent(tester.accuracy), percent(tester.solved), decimals(tester.seconds, 1)
        made.add_row(Text(printable(name)), count(tester.problems), *cells)
    to.print(made)
    if total.waiting:
        problems = pluralize(total.waiting, "problem")
        print_line(to, f"waiting    {problems} not yet solved; answers of some testers are missing")
    print_line(to, f"agreement  Krippendorff's alpha (nominal) of the sides chosen: {decimals(total.agreement)}")
    guessing = f"guessing would keep {percent(total.guessed)} %"
    print_line(to, f"kept       problems that at least one tester solves (both queries); {guessing}", "dim")


def _kept_share(result: Result) -> str:
    settled = result.kept + result.dropped
    return percent(result.kept / settled if settled else None)


def _share(figure: Figure) -> str:
    ends = figure.interval
    return percent(figure.value) + ("" if ends is None else f" [{percent(ends[0])}, {percent(ends[1])}]")


def testers_latex(found: TestersReport) -> str:
    r"""Return a LaTeX table with one row per group of problems; needs ``\usepackage{booktabs}``."""
    rows = []
    for name, result in found.results.items():
        cells = count(result.problems), _share(result.accuracy), _kept_share(result)
        rows.append([group_name(name).replace("_", r"\_"), *cells])
    return _latex("lrrr", [[["problems", "number", r"right [95\,\% interval]", "kept"]], rows])


KINDS = {"prediction": "predictions", "image": "models on images", "model": "models"}
HEADLINE = {"prediction": "kendall", "image": "kendall", "model": "soft"}
"""Measure of agreement with the human ratings by which metrics are ranked, for each level of comparison."""
HEADINGS = {name: name.capitalize() for name in ("spearman", "pearson", "kendall")}
HEADINGS |= {"accuracy": "pairs as people", "soft": "soft pairs"}
_MOST_PAIRS = 5


def print_against(found: MeasureComparison, models: int, to: Console) -> None:
    """Print how well measures agree with people on the ranking of predictions, of models per image, and of models."""
    sizes = [pluralize(found.images, "image"), pluralize(models, "model"), pluralize(found.raters, "rater")]
    judged = count(found.levels["prediction"].number)
    holes = f", {pluralize(found.holes, 'line')} without a rating" if found.holes else ""
    sizes.append(pluralize(found.ratings, "rating"))
    print_line(to, f"{judged} judged predictions, {', '.join(sizes)}{holes}", "bold")
    for name, level in found.levels.items():
        headings = [HEADINGS[figure] for figure in next(iter(level.figures.values()), {})]
        made = table_of_models(f"{KINDS[name]} ({count(level.number)}) [95 % interval]", *headings)
        for measure, figures in level.figures.items():
            made.add_row(printable(measure), *map(_figure, figures.values()))
        to.print(made)
        _print_closest(name, level, to)
    for row, pairs in found.opposite.items():
        if pairs:
            order = "; ".join(f"{better} above {worse}" for better, worse in pairs[:_MOST_PAIRS])
            more = f" and {len(pairs) - _MOST_PAIRS} more" if len(pairs) > _MOST_PAIRS else ""
            print_line(to, f"opposite   {row}: people rank {order}{more}; the metric ranks the reverse")
    if "model" not in found.levels:
        print_line(to, "models     undefined: fewer than two models with judged predictions")
    if found.raters == 1:
        print_line(to, "intervals  undefined: the disagreement of raters cannot be estimated from one rater")
    people = f"rho {_figure(found.people)}, the ceiling for any metric"
    print_line(to, f"people     each rater against the mean of the other raters: {people}", "dim")


def _print_closest(name: str, level: Level, to: Console) -> None:
    figure = HEADLINE[name]
    if (nearest := level.nearest.get(figure)) is None:
        print_line(to, f"closest    undefined: no metric has a value of {HEADINGS[figure]}")
        return
    best, others = nearest.measure, nearest.not_told_apart
    further = []
    for each in level.differences:
        other = each.second if each.first == best else each.first
        if each.figure == figure and each.significant and best in (each.first, each.second) and other not in others:
            p = each.adjusted
            shown = "undefined" if p is None else "< 0.001" if p < 0.001 else f"= {p:.3f}"
            further.append(f"{other} (by {abs(each.value or 0):.3f}, p {shown})")
    ends = level.figures[best][figure].interval
    like = f"; no significant difference to: {', '.join(others)}" if others else ""
    behind = f"; significantly further from people: {', '.join(further)}" if further else ""
    line = f"{best}{like}{behind}"
    if figure == "kendall" and ends is not None and ends[0] <= 0:
        line = f"no metric: the interval of the best metric, {best}, includes 0 (chance)"
    print_line(to, f"closest    by {HEADINGS[figure]}: {line}")


def against_latex(found: MeasureComparison) -> str:
    r"""Return a LaTeX table of the agreement of each measure with people; needs ``\usepackage{booktabs}``."""
    blocks: list[list[list[str]]] = []
    for name, level in found.levels.items():
        headings = [HEADINGS[each] for each in next(iter(level.figures.values()), {})]
        rows = ([escaped(measure), *map(_figure, figures.values())] for measure, figures in level.figures.items())
        blocks += [[[f"by {KINDS[name]}", *headings]], [[c.replace("undefined", "--") for c in row] for row in rows]]
    return _latex("lrrrr", blocks)
