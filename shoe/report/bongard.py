"""Bongard problems in the terminal: how they were made, how they were answered."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from shoe.core.errors import many, printable
from shoe.report.text import count, percent, say, table
from shoe.scoring.bongard.build import Built
from shoe.scoring.bongard.oracle import Outcome
from shoe.scoring.bongard.problems import SHOTS, Problems
from shoe.scoring.bongard.score import BongardReport

_OUTCOMES = {
    Outcome.RIGHT: "right",
    Outcome.NOTHING_DETECTED: "nothing detected",
    Outcome.NOTHING_LEFT: "nothing left",
    Outcome.MISSED: "missed",
    Outcome.FALSELY_FOUND: "falsely found",
}


def group_name(name: str) -> str:
    """A group in words: "seen object, unseen action" of "seen_obj_unseen_act"."""
    return name.replace("_obj_", " object, ").replace("_act", " action") if "_obj_" in name else printable(name)


def print_built(built: Built, files: list[str], to: Console) -> None:
    """Print what each step of the curation left, and what was sampled."""
    rows = ((step.step, count(step.concepts), count(step.regions), count(step.labels)) for step in built.steps)
    to.print(table("curation", "concepts", "regions", "labels", rows=rows))
    if built.merged:
        say(to, f"merged     {', '.join(' '.join(pair) for pair in built.merged)}")
    say(to, f"too few    {many(built.too_few, 'concept')} with fewer than {SHOTS + 1} images on a side")
    print_counts(built.problems, to)
    for path in files:
        say(to, f"written    {path}")


def print_counts(problems: Problems, to: Console) -> None:
    """Print concepts, problems and images of each group."""
    made = table("group", "concepts", "problems", "images")
    for name, (concepts, number, images) in problems.counts().items():
        made.add_row(group_name(name), count(concepts), count(number), count(images))
    to.print(made)


def print_score(report: BongardReport, to: Console) -> None:
    """Print the accuracy of both oracles by group, and what became of the questions."""
    title = f"{many(report.problems, 'problem')} · {many(report.concepts, 'concept')} · {many(report.images, 'image')}"
    say(to, title, "bold")
    if report.named_images < report.images:
        missing = report.images - report.named_images
        line = f"{many(missing, 'image')} of the problems are not in the predictions and count as without detections"
        say(to, f"{line} (--images-in-predictions leaves their problems out)", "bold")
    both = {"oracle": report.oracle, "soft oracle": report.soft_oracle}
    made = table("accuracy", "concepts", "problems", "oracle", "95 %", "soft oracle", "95 %")
    for name, group in report.oracle.groups.items():
        soft = report.soft_oracle.groups[name]
        cells = [percent(group.accuracy), _span(group.interval), percent(soft.accuracy), _span(soft.interval)]
        made.add_row(group_name(name), count(group.concepts), count(group.problems), *cells)
    averages = (cell for each in both.values() for cell in (percent(each.average), _span(each.interval)))
    made.add_row(Text("average"), "", "", *averages)
    to.print(made)
    outcomes = table("questions", *_OUTCOMES.values())
    for name, found in both.items():
        total = (sum(group.outcomes.get(code, 0) for group in found.groups.values()) for code in _OUTCOMES)
        outcomes.add_row(name, *map(count, total))
    to.print(outcomes)
    for line in report.notes:
        say(to, line)
    say(to, f"signature  {report.signature}")


def _span(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{100 * interval[0]:.1f} to {100 * interval[1]:.1f}"
