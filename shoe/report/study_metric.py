"""Which measure ranks as people do, in the terminal and as a table for papers."""

from __future__ import annotations

from rich.console import Console

from shoe.core.errors import many, printable
from shoe.report.comparison_tables import escaped
from shoe.report.text import count, fixed, say, table_of_models
from shoe.study.agreement import Figure
from shoe.study.metric.result import Against, Difference, Level

KINDS = {"prediction": "predictions", "image": "models on images", "model": "models"}
HEADLINE = {"prediction": "kendall", "image": "kendall", "model": "soft"}
"""By which figure measures are put in order of nearness to people."""
HEADINGS = {
    "spearman": "Spearman",
    "pearson": "Pearson",
    "kendall": "Kendall",
    "accuracy": "pairs as people",
    "soft": "soft pairs",
}
_MOST_PAIRS = 5


def print_against(found: Against, models: int, to: Console) -> None:
    """Print how every measure ranks predictions, models on an image, and models, and which differ."""
    sizes = [many(found.images, "image"), many(models, "model"), many(found.raters, "rater")]
    judged = count(found.levels["prediction"].number)
    holes = f", {many(found.holes, 'line')} without a rating" if found.holes else ""
    say(to, f"{judged} judged predictions, {', '.join(sizes)}, {many(found.ratings, 'rating')}{holes}", "bold")
    for name, level in found.levels.items():
        headings = [HEADINGS[figure] for figure in next(iter(level.figures.values()), {})]
        made = table_of_models(f"{KINDS[name]} ({count(level.number)}) [95 % interval]", *headings)
        for measure, of in level.figures.items():
            made.add_row(printable(measure), *map(_cell, of.values()))
        to.print(made)
        _say_nearest(name, level, to)
    for row, pairs in found.opposite.items():
        if pairs:
            told = "; ".join(f"{better} above {worse}" for better, worse in pairs[:_MOST_PAIRS])
            more = f" and {len(pairs) - _MOST_PAIRS} more" if len(pairs) > _MOST_PAIRS else ""
            say(to, f"opposite   {row}: people rank {told}{more}")
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
        _difference(each, best) for each in level.differences if each.figure == figure and _of(each, best, others)
    ]
    ends = level.figures[best][figure].interval
    if figure == "kendall" and ends is not None and ends[0] <= 0:
        say(
            to, f"nearest    by {HEADINGS[figure]}: none: the interval of the highest, {best}, holds 0, which is chance"
        )
        return
    like = f"; cannot be told from it: {', '.join(others)}" if others else ""
    behind = f"; further from people: {', '.join(further)}" if further else ""
    say(to, f"nearest    by {HEADINGS[figure]}: {best}{like}{behind}")


def _of(each: Difference, best: str, others: list[str]) -> bool:
    return each.significant and best in (each.first, each.second) and not {each.first, each.second} & set(others)


def _difference(each: Difference, best: str) -> str:
    other = each.second if each.first == best else each.first
    return f"{other} (by {abs(each.value or 0):.3f}, p {_p(each.adjusted)})"


def _p(p: float | None) -> str:
    return "undefined" if p is None else "< 0.001" if p < 0.001 else f"= {p:.3f}"


def _cell(figure: Figure) -> str:
    if figure.value is None:
        return "undefined"
    ends = "" if figure.interval is None else f" [{figure.interval[0]:.3f}, {figure.interval[1]:.3f}]"
    return fixed(figure.value) + ends


def against_latex(found: Against) -> str:
    r"""A table for papers, a line a measure and level; needs ``\usepackage{booktabs}``."""
    lines = [r"\begin{tabular}{lrrrr}", r"\toprule"]
    for number, (name, level) in enumerate(found.levels.items()):
        names = list(next(iter(level.figures.values()), {}))
        lines += [r"\midrule"] if number else []
        lines += [" & ".join([f"by {KINDS[name]}", *(HEADINGS[each] for each in names)]) + r" \\", r"\midrule"]
        for measure, of in level.figures.items():
            lines.append(" & ".join([escaped(measure), *map(_cell, of.values())]).replace("undefined", "--") + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
