"""Figures of models under other choices of the metric, in the terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console

from shoe.comparison.sweeps import FIGURES, Choice, Point, Setting, Survival
from shoe.report.names import short_names
from shoe.report.text import percent, say, table

RATERS = "a rater is one of the map alone: shoe map info says who"
NAMES = {"strict": "mAP", "map": "SHOE-mAP", "mf1": "SHOE-mF1"}


def print_sweep(models: Sequence[str], points: Sequence[Point], survivals: Sequence[Survival], to: Console) -> None:
    """One table a figure, a row a setting and a column a model; then whether rankings survive."""
    for name, rows in sweep_tables(points):
        to.print(table(name, "value", *short_names(models, 24), names=2, rows=rows))
    if points:
        say(to, f"sweep      *: as asked for; weight is that of the verb: 0 objects alone, 1 verbs alone; {RATERS}")
    for survival in survivals:
        say(to, sentence(survival))


def sweep_tables(points: Sequence[Point]) -> Iterator[tuple[str, list[list[str]]]]:
    """For each figure its name, and a row a setting: the option, its value (* as asked for), percent of each model."""
    for figure in FIGURES:
        rows = [
            [point.setting.option, _value(point.setting), *map(percent, point.figures[figure])]
            for point in points
            if figure in point.figures
        ]
        if rows:
            yield NAMES[figure], rows


def sentence(survival: Survival) -> str:
    """Whether a ranking survives, in one sentence with its numbers."""
    figure, changed = NAMES[survival.figure], survival.changed
    if not changed:
        return f"ranking    by {figure} no two models change places under any of {survival.settings} other settings"
    named = ", ".join(f"{setting.option} {_value(setting)}" for setting in changed)
    least = f"; lowest Kendall's tau-b {survival.lowest_tau:.2f}" if survival.lowest_tau is not None else ""
    of = f"{len(changed)} of {survival.settings} other settings"
    return f"ranking    by {figure} models change places under {of}: {named}{least}"


def _value(setting: Choice) -> str:
    value = setting.value if isinstance(setting.value, str) else f"{setting.value:g}"
    return f"{value} *" if isinstance(setting, Setting) and setting.asked else value
