"""What testers of Bongard problems were asked and answered, in the terminal and as a table for papers."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.text import Text

from shoe.core.errors import many, printable
from shoe.report.bongard import group_name
from shoe.report.text import count, fixed, percent, say, table
from shoe.study.intervals import Figure
from shoe.study.problems import ProblemStudy
from shoe.study.testers import Result, TestersReport


def print_problem_plan(folder: Path, study: ProblemStudy, to: Console) -> None:
    """Print who is asked how much."""
    counts = [len(study.order(rater)) // 2 for rater in range(study.raters)]
    each = " to ".join(f"{number:,}" for number in sorted({min(counts), max(counts)}))
    asked = f"{many(study.testers, 'tester')} each, {each} on each of {many(study.raters, 'page')}"
    say(to, f"{folder}: {many(len(study.problems), 'problem')}, {asked}; seed {study.seed}", "bold")


def print_testers(found: TestersReport, to: Console) -> None:
    """Print how often testers are right, and what is kept."""
    whole, testers = found.all, found.testers
    shape = f"{many(whole.problems, 'problem')}, {many(len(testers), 'tester')}, {_by(whole)} of each problem"
    say(to, shape, "bold")
    made = table("problems", "number", "right, %", "positive, %", "negative, %", "kept", "dropped", "kept, %")
    for name, result in found.results.items():
        shares = (_share(each) for each in (result.accuracy, result.positive, result.negative))
        kept = count(result.kept), count(result.dropped), _kept(result)
        made.add_row(Text(group_name(name)), count(result.problems), *shares, *kept)
    to.print(made)
    made = table("tester", "problems", "right, %", "both right, %", "seconds a problem")
    for name, tester in testers.items():
        cells = percent(tester.accuracy), percent(tester.solved), fixed(tester.seconds, 1)
        made.add_row(Text(printable(name)), count(tester.problems), *cells)
    to.print(made)
    if whole.waiting:
        say(to, f"waiting    {many(whole.waiting, 'problem')} that nobody solves so far, and not all testers answered")
    say(to, f"agreement  Krippendorff's alpha (nominal) of the sides chosen: {fixed(whole.agreement)}")
    say(
        to, f"kept       if a tester is right about both queries; guessing would keep {percent(whole.guessed)} %", "dim"
    )


def _by(result: Result) -> str:
    low, high = result.testers
    return str(low) if low == high else f"{low} to {high}"


def _kept(result: Result) -> str:
    settled = result.kept + result.dropped
    return percent(result.kept / settled if settled else None)


def _share(figure: Figure) -> str:
    ends = figure.interval
    return percent(figure.value) + ("" if ends is None else f" [{percent(ends[0])}, {percent(ends[1])}]")


def testers_latex(found: TestersReport) -> str:
    r"""A table for papers: one line a group; needs ``\usepackage{booktabs}``."""
    head = r"problems & number & right [95\,\% interval] & kept \\"
    lines = [r"\begin{tabular}{lrrr}", r"\toprule", head, r"\midrule"]
    for name, result in found.results.items():
        cells = count(result.problems), _share(result.accuracy), _kept(result)
        lines.append(" & ".join([group_name(name).replace("_", r"\_"), *cells]) + r" \\")
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", ""])
