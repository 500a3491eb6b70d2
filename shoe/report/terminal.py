"""A report in the terminal: figures in percent, then what they rest on, then the signature."""

from __future__ import annotations

from collections.abc import Mapping

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.errors import printable
from shoe.scoring.score import Report
from shoe.scoring.semantic import SemanticResult

_WORDS_SHOWN = 8
_BOUNDS_WORTH_NAMING = 5e-5


def console() -> Console:
    """A console on standard output that never truncates what is piped into a file."""
    made = Console(highlight=False)
    return made if made.is_terminal else Console(highlight=False, width=160)


def print_report(report: Report, to: Console) -> None:
    """Print everything that a report says."""
    truth = report.truth
    to.print(
        f"{truth.classes.name} · {truth.split} · {len(truth.interactions.images):,} images · "
        f"{len(truth.interactions):,} triplets · {len(report.predictions):,} predictions",
        style="bold",
    )
    if report.strict_results:
        to.print(_strict_table(report))
    if report.semantic:
        to.print(_semantic_table(report.semantic))
    for line in remarks(report):
        to.print(Text(line))
    if len(report.strict_results) > 1:
        to.print(Text("signatures of the other strict protocols: --json", style="dim"))
    signature = report.signature
    to.print(Text(f"signature  {signature.short()}"), soft_wrap=True)
    to.print(Text(f"in full    {signature}", style="dim"), soft_wrap=True)


def comparison_table(reports: Mapping[str, Report]) -> Table:
    """One row for each set of predictions, strict beside semantic."""
    table = _table("predictions", "mAP", "rare", "non-rare", "SHOE-mAP", "SHOE-mF1", "GT missed", "predictions missed")
    for name, report in reports.items():
        strict, semantic = report.strict, report.semantic
        figures = [strict.map, strict.map_rare, strict.map_non_rare] if strict else [None] * 3
        figures += (
            [semantic.map, semantic.mf1, semantic.gt_miss_rate, semantic.prediction_miss_rate]
            if semantic
            else [None] * 4
        )
        table.add_row(printable(name), *map(percent, figures))
    return table


def percent(value: float | None) -> str:
    """A fraction as percent with two decimals; a dash where there is nothing to measure."""
    return "–" if value is None else f"{100 * value:.2f}"


def _table(first: str, *columns: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _strict_table(report: Report) -> Table:
    table = _table("strict", "mAP", "rare", "non-rare", "max recall", "classes")
    for result in report.strict_results:
        figures = (result.map, result.map_rare, result.map_non_rare, result.max_recall)
        table.add_row(result.options.protocol, *map(percent, figures), str(result.classes))
    return table


def _semantic_table(result: SemanticResult) -> Table:
    table = _table(
        "semantic", "SHOE-mAP", "without no_interaction", "SHOE-mF1", "GT missed", "predictions missed", "classes"
    )
    figures = (result.map, result.map_interactions, result.mf1, result.gt_miss_rate, result.prediction_miss_rate)
    table.add_row(result.options.protocol, *map(percent, figures), str(result.classes))
    return table


def remarks(report: Report) -> list[str]:
    """What a reader should know before quoting a figure, one line each."""
    lines = [f"{part}: not measured: {why}" for part, why in report.absent.items()]
    lines += _absent_means(report)
    if report.semantic:
        lines += _tie_lines(report, report.semantic)
    elif report.strict and report.strict.tied_share is not None:
        lines.append(f"ties       {percent(report.strict.tied_share)} % of ranked predictions share their score")
    lines += _word_lines(report)
    profile = report.profile
    if profile.unknown_images:
        shown = ", ".join(printable(name) for name in profile.unknown_images[:3])
        lines.append(f"images     {len(profile.unknown_images):,} are not in the ground truth and left out: {shown}")
    if profile.outside_share is not None:
        lines.append(f"boxes      {percent(profile.outside_share)} % of predictions have a box that leaves its image")
    return [*lines, *report.notes]


def _absent_means(report: Report) -> list[str]:
    lines = []
    for result in report.strict_results:
        absent = [
            name
            for name, value in (("mAP", result.map), ("rare", result.map_rare), ("non-rare", result.map_non_rare))
            if value is None
        ]
        if absent:
            lines.append(f"{result.options.protocol}: no {', '.join(absent)}: no ground truth of such a class")
    if report.semantic and report.semantic.prediction_miss_rate is None:
        tau = report.semantic.options.tau
        lines.append(f"predictions missed: not measured: no prediction reaches tau = {tau:g}")
    return lines


def _tie_lines(report: Report, result: SemanticResult) -> list[str]:
    if result.tied_share is None:
        return []
    line = f"ties       {percent(result.tied_share)} % of ranked predictions share their score"
    if result.map_bounds and result.map_bounds[1] - result.map_bounds[0] > _BOUNDS_WORTH_NAMING:
        low, high = result.map_bounds
        error = f" (± {100 * result.map_error:.1g}, from drawn orders)" if result.map_error else ""
        line += f"; SHOE-mAP is the mean over their orders{error}, which alone span {percent(low)} to {percent(high)}"
    if report.profile.constant_scores:
        line += "; all scores are equal, so mAP ranks nothing"
    return [line]


def _word_lines(report: Report) -> list[str]:
    resolution = report.resolution
    if resolution is None:
        return []
    lines = []
    if resolution.basis:
        lines.append(
            f"matches    {percent(resolution.rated_share)} % of compared words are rated or identical, "
            f"{percent(resolution.fallback_share)} % equal by spelling, {percent(resolution.unrated_share)} % unrated"
        )
    for part, words in (("verbs", resolution.verbs), ("objects", resolution.objects)):
        line = f"{part:<10} {words.words:,} words, {words.labels:,} are labels of the dataset"
        if words.unresolved:
            shown = ", ".join(f'"{printable(word, longest=30)}"' for word in words.unresolved[:_WORDS_SHOWN])
            more = f" and {len(words.unresolved) - _WORDS_SHOWN:,} more" if len(words.unresolved) > _WORDS_SHOWN else ""
            line += f"; {len(words.unresolved):,} without a sense: {shown}{more}"
        lines.append(line)
    return lines
