"""Results of rating studies and of comparisons of measures with people: in the terminal and as LaTeX."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from shoe.core.errors import many, printable
from shoe.report.bongard import group_name
from shoe.report.comparison import escaped
from shoe.report.text import count, fixed, percent, say, table, table_of_models
from shoe.similarity.ensemble import HIGHEST
from shoe.study.agreement import Ends, Figure
from shoe.study.analysis import RULES, Agreement, Analysis
from shoe.study.metric.systems import Against, Difference, Level
from shoe.study.plan import Drawn, Study
from shoe.study.problems import ProblemStudy
from shoe.study.raters_and_people import Beside
from shoe.study.ratings import shape_of
from shoe.study.sampling import DIFFERS, expected
from shoe.study.testers import Result, TestersReport


def print_study(found: Analysis, beside: Beside | None, to: Console, *, as_drawn: bool = False) -> None:
    """Print the agreement in a study with intervals, each rater, and excluded raters.

    ``beside`` has the raters of the similarity map; ``as_drawn`` adds a note that sampling weights were not used.
    """
    study, whole = found.study, found.whole
    say(to, shape_of(study) + (f", {many(study.holes, 'line')} without a rating" if study.holes else ""), "bold")
    if study.weights:
        stand = f"as if of all {study.weights.population:,.0f} pairs that the items stand for"
        say(to, f"population figures {stand}, and as precise as with {study.weights.effective:.0f} drawn evenly")
    columns = {"all": whole} | ({"without excluded": found.kept} if found.kept else {}) | found.parts
    names = [name or "no part" for name in columns]
    made = table("figure [95 % interval over items and raters]", *map(printable, names))
    shown = [figure_rows(agreement) for agreement in columns.values()]
    for label in dict.fromkeys(label for rows in shown for label in rows):
        made.add_row(label, *(rows.get(label, "–") for rows in shown))
    to.print(made)
    if reference := whole.reference:
        named = {"Fisher": reference.fisher, "Bonett-Wright": reference.bonett_wright, "bootstrap": reference.bootstrap}
        intervals = ", ".join(f"{name}{_ends(interval)}" for name, interval in named.items() if interval)
        p = "" if reference.p is None else f"; permutation test p = {reference.p:.4f}"
        rho = f"rho {_or_undefined(reference.spearman.value)} on {many(reference.items, 'item')}"
        say(to, f"reference  {rho}; over items alone: {intervals or 'undefined'}{p}")
    _print_raters(found, to)
    if beside:
        _print_beside(beside, to)
    if again := found.retest:
        equal = f"{percent(again.exact)} % of {many(again.answers, 'rating')} equal"
        say(to, f"repeats    {equal}, quadratic weighted kappa {fixed(again.kappa)}")
    if seen := found.picture:
        share = f"{percent(seen.changed.value)} %"
        share += f" [{', '.join(map(percent, seen.changed.interval))}]" if seen.changed.interval else ""
        size = f", by {_figure(seen.size, 2)} points" if seen.size.value else ""
        say(to, f"picture    {share} of {many(seen.answers, 'rating')} changed{size}")
    for rater, rules in found.excluded.items():
        say(to, f"excluded   {printable(rater)}: {'; '.join(rules)}")
    if not found.excluded:
        say(to, f"excluded   nobody; the rules: {'; '.join(RULES)}", "dim")
    if as_drawn:
        note = "each item counts once, though items stand for more pairs or fewer; --population weights them"
        say(to, f"as drawn   {note}", "dim")
    say(to, "alpha      the distance that the SHOE supplement prints for its ordinal alpha is the interval one", "dim")


def print_plan(folder: Path, study: Study, drawn: Drawn, to: Console) -> None:
    """Print the sampled items of a study by level, and the expected precision of its results."""
    gold = sum(item.gold is not None for item in study.items)
    counts = [(len(study.items) - gold, "item"), (gold, "gold item"), (len(study.training), "practice item")]
    if seen := sum(bool(item.picture) for item in study.items):
        counts.append((seen, "picture"))
    sizes = ", ".join(many(number, noun) for number, noun in [*counts, (study.raters, "rater")])
    say(to, f"{folder}: {sizes}; seed {study.seed}, map {study.similarity}", "bold")
    made = table("differs", *(f"level {level}" for level in range(HIGHEST + 1)))
    for part in DIFFERS:
        cells = [drawn.strata.get((part, level)) for level in range(HIGHEST + 1)]
        made.add_row(part, *("–" if cell is None else f"{cell[1]:,} of {cell[0]:,}" for cell in cells))
    to.print(made)
    if drawn.influence is not None:
        say(to, f"influence  of all pairs on the score: {percent(drawn.influence)} % is of those drawn")
    if found := expected(len(study.items) - gold, study.raters):
        alpha = f"alpha of {found.alpha:.2f} will be known to about ±{found.alpha_reach:.2f}"
        rho = f"a correlation of {found.rho:.2f} with a measure to about ±{found.rho_reach:.2f}"
        say(to, f"precision  simulated: {alpha}, {rho}")


def figure_rows(agreement: Agreement) -> dict[str, str]:
    """Return measures of agreement with their intervals as text, by name."""
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


def _print_raters(found: Analysis, to: Console) -> None:
    levels = [str(level) for level in range(HIGHEST + 1)]
    made = table("rater", *(f"rated {level}" for level in levels), "kappa with others", "rho with others' mean")
    for j, rater in enumerate(found.study.raters):
        others = found.kappas[j][~np.isnan(found.kappas[j])]
        kappa = f"{others.min():.3f} to {others.max():.3f}" if len(others) else "–"
        made.add_row(Text(printable(rater)), *map(count, found.levels[j].tolist()), kappa, fixed(found.ceilings[j]))
    to.print(made)
    made = table("most frequent rating", *(f"rated {level}" for level in levels))
    for level, row in zip(levels, found.by_majority.tolist(), strict=True):
        made.add_row(level, *map(count, row))
    to.print(made)


def _print_beside(beside: Beside, to: Console) -> None:
    made = table(f"rater, {many(beside.items, 'item')}", "is", "bias", "noise", "rho with people", names=2)
    for rater in beside.raters:
        kind = "a person" if rater.person else "the map's"
        made.add_row(Text(printable(rater.name)), kind, f"{rater.bias:+.2f}", f"{rater.noise:.2f}", fixed(rater.rho))
    to.print(made)
    among = sum(each.among_best for each in beside.ensembles)
    best = beside.ensembles[0]
    line = f"{many(among, 'ensemble')} of {len(beside.ensembles)} cannot be told from the one nearest to people"
    say(to, f"ensembles  {line}: {printable(', '.join(best.raters))}, agreement {percent(best.agreement)} %")
    if beside.left_out:
        say(to, f"left out   raters of fewer than half of the items: {printable(', '.join(beside.left_out))}")


def _figure(figure: Figure, digits: int = 3) -> str:
    return _or_undefined(figure.value, digits) + _ends(figure.interval, digits)


def _or_undefined(value: float | None, digits: int = 3) -> str:
    return "undefined" if value is None else fixed(value, digits)


def _ends(interval: Ends | None, digits: int = 3) -> str:
    return "" if interval is None else f" [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"


def study_latex(found: Analysis) -> str:
    r"""Return a LaTeX table with one row per measure of agreement; needs ``\usepackage{booktabs}``."""
    lines = [r"\begin{tabular}{lrr}", r"\toprule", r"figure & value & 95\,\% interval \\", r"\midrule"]
    named = {f"Krippendorff's $\\alpha$ ({level})": figure for level, figure in found.whole.alpha.items()}
    named |= {"quadratic weighted $\\kappa$": found.whole.kappa, "rater against others ($\\rho$)": found.whole.ceiling}
    if found.whole.reference:
        named["reference against raters ($\\rho$)"] = found.whole.reference.spearman
        named["reference: agreement"] = found.whole.reference.agreement
    for name, figure in named.items():
        value = "--" if figure.value is None else f"{figure.value:.3f}"
        lines.append(f"{name} & {value} & {_ends(figure.interval).strip() or '--'} \\\\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


def print_problem_plan(folder: Path, study: ProblemStudy, to: Console) -> None:
    """Print the number of problems, testers per problem, and pages."""
    counts = [len(study.order(rater)) // 2 for rater in range(study.raters)]
    each = " to ".join(f"{number:,}" for number in sorted({min(counts), max(counts)}))
    workload = f"{many(study.testers, 'tester')} each, {each} on each of {many(study.raters, 'page')}"
    say(to, f"{folder}: {many(len(study.problems), 'problem')}, {workload}; seed {study.seed}", "bold")


def print_testers(found: TestersReport, to: Console) -> None:
    """Print the accuracy of testers by group and by tester, and the number of problems that are kept."""
    total, testers = found.all, found.testers
    by = " to ".join(map(str, sorted(set(total.testers))))
    say(to, f"{many(total.problems, 'problem')}, {many(len(testers), 'tester')}, {by} of each problem", "bold")
    made = table("problems", "number", "right, %", "positive, %", "negative, %", "kept", "dropped", "kept, %")
    for name, result in found.results.items():
        shares = (_share(each) for each in (result.accuracy, result.positive, result.negative))
        counts = count(result.kept), count(result.dropped), _kept(result)
        made.add_row(Text(group_name(name)), count(result.problems), *shares, *counts)
    to.print(made)
    made = table("tester", "problems", "right, %", "both right, %", "seconds a problem")
    for name, tester in testers.items():
        cells = percent(tester.accuracy), percent(tester.solved), fixed(tester.seconds, 1)
        made.add_row(Text(printable(name)), count(tester.problems), *cells)
    to.print(made)
    if total.waiting:
        say(to, f"waiting    {many(total.waiting, 'problem')} that nobody solves so far, and not all testers answered")
    say(to, f"agreement  Krippendorff's alpha (nominal) of the sides chosen: {fixed(total.agreement)}")
    say(
        to, f"kept       if a tester is right about both queries; guessing would keep {percent(total.guessed)} %", "dim"
    )


def _kept(result: Result) -> str:
    settled = result.kept + result.dropped
    return percent(result.kept / settled if settled else None)


def _share(figure: Figure) -> str:
    ends = figure.interval
    return percent(figure.value) + ("" if ends is None else f" [{percent(ends[0])}, {percent(ends[1])}]")


def testers_latex(found: TestersReport) -> str:
    r"""Return a LaTeX table with one row per group of problems; needs ``\usepackage{booktabs}``."""
    head = r"problems & number & right [95\,\% interval] & kept \\"
    lines = [r"\begin{tabular}{lrrr}", r"\toprule", head, r"\midrule"]
    for name, result in found.results.items():
        cells = count(result.problems), _share(result.accuracy), _kept(result)
        lines.append(" & ".join([group_name(name).replace("_", r"\_"), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])


KINDS = {"prediction": "predictions", "image": "models on images", "model": "models"}
HEADLINE = {"prediction": "kendall", "image": "kendall", "model": "soft"}
"""Figure by which measures are ranked by agreement with people, per level."""
HEADINGS = {
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall",
    "accuracy": "pairs as people",
    "soft": "soft pairs",
}
_MOST_PAIRS = 5


def print_against(found: Against, models: int, to: Console) -> None:
    """Print how well every measure ranks predictions, models on an image, and models, compared with people."""
    sizes = [many(found.images, "image"), many(models, "model"), many(found.raters, "rater")]
    judged = count(found.levels["prediction"].number)
    holes = f", {many(found.holes, 'line')} without a rating" if found.holes else ""
    say(to, f"{judged} judged predictions, {', '.join(sizes)}, {many(found.ratings, 'rating')}{holes}", "bold")
    for name, level in found.levels.items():
        headings = [HEADINGS[figure] for figure in next(iter(level.figures.values()), {})]
        made = table_of_models(f"{KINDS[name]} ({count(level.number)}) [95 % interval]", *headings)
        for measure, figures in level.figures.items():
            made.add_row(printable(measure), *map(_cell, figures.values()))
        to.print(made)
        _say_nearest(name, level, to)
    for row, pairs in found.opposite.items():
        if pairs:
            order = "; ".join(f"{better} above {worse}" for better, worse in pairs[:_MOST_PAIRS])
            more = f" and {len(pairs) - _MOST_PAIRS} more" if len(pairs) > _MOST_PAIRS else ""
            say(to, f"opposite   {row}: people rank {order}{more}")
    if "model" not in found.levels:
        say(to, "models     undefined: fewer than two models with judged predictions")
    if found.raters == 1:
        say(to, "intervals  undefined: one rater does not say what others would")
    people = _cell(found.people)
    say(to, f"people     each rater against the mean of the others: rho {people}; no measure need do better", "dim")


def _say_nearest(name: str, level: Level, to: Console) -> None:
    figure = HEADLINE[name]
    nearest = level.nearest.get(figure)
    if nearest is None:
        say(to, f"nearest    undefined: nothing to rank by {HEADINGS[figure]}")
        return
    best, others = nearest.measure, nearest.not_told_apart
    further = [
        _difference(each, best)
        for each in level.differences
        if each.figure == figure and each.significant
        if best in (each.first, each.second) and not {each.first, each.second} & set(others)
    ]
    ends = level.figures[best][figure].interval
    if figure == "kendall" and ends is not None and ends[0] <= 0:
        reason = f"the interval of the highest, {best}, holds 0, which is chance"
        say(to, f"nearest    by {HEADINGS[figure]}: none: {reason}")
        return
    like = f"; cannot be told from it: {', '.join(others)}" if others else ""
    behind = f"; further from people: {', '.join(further)}" if further else ""
    say(to, f"nearest    by {HEADINGS[figure]}: {best}{like}{behind}")


def _difference(each: Difference, best: str) -> str:
    other = each.second if each.first == best else each.first
    p = "undefined" if each.adjusted is None else "< 0.001" if each.adjusted < 0.001 else f"= {each.adjusted:.3f}"
    return f"{other} (by {abs(each.value or 0):.3f}, p {p})"


def _cell(figure: Figure) -> str:
    return "undefined" if figure.value is None else _figure(figure)


def against_latex(found: Against) -> str:
    r"""Return a LaTeX table with one row per measure and level; needs ``\usepackage{booktabs}``."""
    lines = [r"\begin{tabular}{lrrrr}", r"\toprule"]
    for number, (name, level) in enumerate(found.levels.items()):
        names = list(next(iter(level.figures.values()), {}))
        lines += [r"\midrule"] if number else []
        lines += [" & ".join([f"by {KINDS[name]}", *(HEADINGS[each] for each in names)]) + r" \\", r"\midrule"]
        for measure, figures in level.figures.items():
            cells = [escaped(measure), *map(_cell, figures.values())]
            lines.append(" & ".join(cells).replace("undefined", "--") + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
