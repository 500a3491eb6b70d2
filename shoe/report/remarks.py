"""What a reader should know before quoting a figure, in words: the same lines in the terminal and in the JSON."""

from __future__ import annotations

from shoe.core.errors import printable
from shoe.evidence.resolution import Words
from shoe.scoring.score import Report
from shoe.scoring.semantic import SemanticResult
from shoe.scoring.strict import StrictResult

_WORDS_SHOWN = 8
_NAMES_SHOWN = 3
_BOUNDS_WORTH_NAMING = 5e-5


def percent(value: float | None) -> str:
    """A fraction as percent with two decimals; a dash where there is nothing to measure."""
    return "–" if value is None else f"{100 * value:.2f}"


def remarks(report: Report) -> list[str]:
    """Collect the remarks on a report, one line each, the most urgent first."""
    lines = list(report.boxes.lines())
    lines += [f"{part}: not measured: {why}" for part, why in report.absent.items()]
    for result in report.strict_results:
        lines += _strict_lines(result)
    if report.semantic:
        lines += _semantic_lines(report, report.semantic)
    elif report.strict and report.strict.tied_share is not None:
        lines.append(_tie_line(report.strict.tied_share))
    lines += _word_lines(report)
    lines += _map_lines(report)
    profile = report.profile
    if profile.unknown_images:
        shown = ", ".join(printable(name) for name in profile.unknown_images[:_NAMES_SHOWN])
        lines.append(f"images     {len(profile.unknown_images):,} are not in the ground truth and left out: {shown}")
    if profile.repeats:
        lines.append(f"repeats    {profile.repeats:,} predictions repeat another one exactly")
    if profile.outside_share is not None:
        lines.append(f"boxes      {percent(profile.outside_share)} % of predictions have a box that leaves its image")
    if report.notes:
        lines += report.notes.lines()
    return lines


def _strict_lines(result: StrictResult) -> list[str]:
    options, name = result.options, result.options.protocol
    lines = []
    parts = (("mAP", result.map), ("rare", result.map_rare), ("non-rare", result.map_non_rare))
    absent = [part for part, value in parts if value is None]
    if absent:
        skips = options.zero_tp == "skip" or options.unpredicted == "full-only"
        why = "no class that this protocol counts" if skips else "no ground truth of such a class"
        lines.append(f"{name}: no {', '.join(absent)}: {why}")
    if options.zero_tp == "skip":
        lines.append(
            f"{name}: classes with predictions and no true positive are skipped; those without predictions count "
            "0 in mAP and not in rare and non-rare"
        )
    if options.known_object == "boxes":
        lines.append(f"{name}: without image-level labels, images are known to show an object by their boxes")
    return lines


def _semantic_lines(report: Report, result: SemanticResult) -> list[str]:
    lines = []
    if result.prediction_miss_rate is None:
        lines.append(f"pred. missed: not measured: no prediction reaches tau = {result.options.tau:g}")
    if result.tied_share is not None:
        line = _tie_line(result.tied_share)
        if result.map_bounds and result.map_bounds[1] - result.map_bounds[0] > _BOUNDS_WORTH_NAMING:
            low, high = result.map_bounds
            error = f" (± {100 * result.map_error:.2f})" if 100 * result.map_error >= 0.005 else ""
            line += f"; SHOE-mAP is the mean over their orders{error}, which span {percent(low)} to {percent(high)}"
        lines.append(line)
    if report.profile.constant_scores:
        lines.append("scores     all predictions have the same score: average precision has no ranking to judge")
    return lines


def _tie_line(share: float) -> str:
    return f"ties       {percent(share)} % of ranked predictions share their score with another of their class"


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
    return [*lines, _part_line("verbs", resolution.verbs), _part_line("objects", resolution.objects)]


def _map_lines(report: Report) -> list[str]:
    """How far the figures hang on what the map leaves unrated, and on who rated."""
    lines = []
    if interval := report.interval:
        figures = [
            f"{name} {percent(bounds[0])} to {percent(bounds[1])}"
            for name, bounds in (("SHOE-mAP", interval.map), ("SHOE-mF1", interval.mf1))
            if bounds
        ]
        lines.append(
            f"unrated    {interval.unrated_pairs:,} pairs of senses that credit or matches hang on; were they rated: "
            f"{', '.join(figures)} (docs/protocols.md, 10.7)"
        )
    if spread := report.spread:
        lines.append(
            f"raters     SHOE-mAP by single raters {percent(spread.low)} to {percent(spread.high)}, standard deviation "
            f"{100 * spread.deviation:.2f}; where one has no rating, the ensemble's counts"
        )
    return lines


def _part_line(part: str, words: Words) -> str:
    line = f"{part:<10} {words.words:,} words, {words.labels:,} are labels of the dataset, as strict figures need them"
    unresolved = [word for word in words.unresolved if word]
    if unresolved:
        shown = ", ".join(f'"{printable(word, longest=30)}"' for word in unresolved[:_WORDS_SHOWN])
        more = f" and {len(unresolved) - _WORDS_SHOWN:,} more" if len(unresolved) > _WORDS_SHOWN else ""
        line += f"; {len(unresolved):,} without a sense: {shown}{more}"
    return line
