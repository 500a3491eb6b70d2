"""A diagnosis in the terminal: what costs most first, then what it rests on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from rich.table import Table

from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import printable
from shoe.diagnosis.deltas import Means
from shoe.diagnosis.pairs import PairFigures
from shoe.diagnosis.sweeps import Sweep
from shoe.report.diagnosis_meaning import meaning_table, print_meaning
from shoe.report.findings import ERRORS, GROUPS, Errors, Findings, Semantic
from shoe.report.remarks import percent
from shoe.report.text import many, points, say, table, table_of_models, words

_WIDE = 125
"""Columns from which on there is room to say what each error is,"""
_ROOMY = 100
"""and to give the deltas of several models with two digits."""
_BAR = 20
_PARTS = {"negative_ap": "negative AP", "interaction_map": "interaction mAP", "map": "SHOE-mAP"}
_NARROW = (
    *("human\nbox", "object\nbox", "both\nboxes", "assoc-\niation", "dupli-\ncate", "inter-\naction", "missed\nGT"),
    *("false\npos.", "false\nneg."),
)
"""Headings of ``ERRORS`` and ``GROUPS`` for tables that have a column each."""
_SWEEPS = {
    "nms": "without pairs that overlap a better one by more than a threshold (NMS)",
    "detection": "without pairs whose detection scores less than a threshold",
    "score": "without triplets that score less than a threshold",
}


def print_findings(found: Sequence[Findings], truth: GroundTruth, to: Console) -> None:
    """Print all that was found out about one model, or several models side by side."""
    counted = f"{many(found[0].images, 'image')} and {many(found[0].truths, 'triplet')} that count"
    say(to, f"{truth.classes.name} · {printable(truth.split)} · {counted}", "bold")
    if len(found) == 1:
        _print_one(found[0], to)
    else:
        _print_several(found, to)
    for line in _remarks(found):
        say(to, line)
    for model in found:
        whose = f"{model.name}: " if len(found) > 1 else ""
        say(to, f"signature  {whose}{model.signature.short()}")
        if model.semantic is not None:
            say(to, f"           {whose}{model.semantic.signature.short()}")
    say(to, "           in full: --json -", "dim")


def verdict(errors: Errors) -> str:
    """Say which error costs most; nothing if none costs anything."""
    if errors.worst is None:
        return ""
    label, meaning = ERRORS[errors.worst]
    return f"costs most: {label} ({meaning}): {points(errors.deltas[errors.worst].map)} mAP if mended alone"


def _print_one(model: Findings, to: Console) -> None:
    errors = model.errors
    if errors is None:
        say(to, f"{model.name} · {many(model.predictions, 'pair')}")
    else:
        right = errors.counts["true_positive"]
        counted = right + errors.counts["false_positive"]
        part = f"{counted:,} of " if counted != model.predictions else ""
        total, hits = many(model.predictions, "prediction"), many(right, "true positive")
        say(to, f"{model.name} · {part}{total} · {hits} · {_how(errors)}")
        parts = zip(("mAP", "rare", "non-rare"), errors.means, strict=True)
        say(to, "   ".join(f"{part} {percent(value)}" for part, value in parts), "bold")
        say(to, verdict(errors), "bold")
        to.print(_error_table(errors, model.semantic, wide=to.width >= _WIDE))
        to.print(_progression_table(errors))
    to.print(_sub_task_table([model]))
    if model.semantic is not None:
        print_meaning(model.semantic, to)
    for curve in model.sweeps:
        say(to, _SWEEPS[curve.by])
        to.print(_sweep_table(curve))


def _print_several(found: Sequence[Findings], to: Console) -> None:
    digits = 2 if to.width >= _ROOMY else 1
    models = [(model.name, model.errors) for model in found if model.errors]
    if models:
        say(to, f"mAP, and what mending one error alone would add to it ({_how(models[0][1])}); * costs most")
        to.print(_deltas_table([(name, errors.means, errors.deltas) for name, errors in models], digits))
        say(to, "number of cases")
        made = table_of_models("model", *_NARROW)
        for name, errors in models:
            made.add_row(words(name), *(_short(errors.counts[error]) for error in (*ERRORS, *GROUPS)))
        to.print(made)
    to.print(_sub_task_table(found))
    meant = [(model.name, model.semantic) for model in found if model.semantic]
    if meant:
        say(to, "SHOE-mAP, and what the same oracles add to it; * costs most")
        to.print(_deltas_table([(name, each.means, each.deltas) for name, each in meant], digits))
        say(to, "SHOE-mAP: with equal words alone, what meaning adds, and wrong words that are near the right ones")
        to.print(meaning_table(meant))
    for model in found:
        for curve in model.sweeps:
            say(to, f"{model.name}: {_SWEEPS[curve.by]}")
            to.print(_sweep_table(curve))


def _how(errors: Errors) -> str:
    """The choices that the short signature does not show."""
    if errors.variant == "released":
        return "as Diag-HOI's toolbox"
    return f"as Diag-HOI's paper, {'best fixes' if errors.choice == 'best' else f'seed {errors.seed}'}"


def _error_table(errors: Errors, semantic: Semantic | None, *, wide: bool) -> Table:
    """Error types by what they cost, and the same errors in two groups."""
    by_meaning = semantic.deltas if semantic is not None else {}
    made = table("error", "cases", "Δ mAP", "rare", "non-rare", *(["Δ SHOE"] if by_meaning else []))
    made.add_column("")
    if wide:
        made.add_column("what is wrong", no_wrap=True)
    most = max(errors.deltas[name].map or 0.0 for name in ERRORS)
    groups = sorted(GROUPS, key=lambda name: -(errors.deltas[name].map or 0.0))
    for name in (*errors.ranked, *groups):
        label, meaning = (ERRORS | GROUPS)[name]
        delta = errors.deltas[name]
        cells = [label, f"{errors.counts[name]:,}", *map(points, delta)]
        cells += [points(by_meaning[name].map)] if by_meaning else []
        cells += [_bar(delta.map, most) if name in ERRORS else "", *([meaning] if wide else [])]
        made.add_row(*cells, end_section=name == errors.ranked[-1])
    return made


def _progression_table(errors: Errors) -> Table:
    made = table("mended one after the other", "mAP", "rare", "non-rare", "gain")
    made.add_row("none", *map(percent, errors.means), "")
    for step in errors.progression:
        made.add_row(f"+ {ERRORS[step.name].label}", *map(percent, step.means), points(step.delta.map))
    return made


def _deltas_table(models: Sequence[tuple[str, Means, Mapping[str, Means]]], digits: int) -> Table:
    """One row a model: its mean, and what each oracle adds."""
    made = table_of_models("model", "mAP", *_NARROW)
    for name, means, deltas in models:
        gains = [deltas[error].map if error in deltas else None for error in (*ERRORS, *GROUPS)]
        cells = [points(gain, digits) for gain in gains]
        worst = max(range(len(ERRORS)), key=lambda k: gains[k] or 0.0)
        if (gains[worst] or 0.0) > 0:
            cells[worst] = f"[bold]{cells[worst]}*[/bold]"
        made.add_row(words(name), percent(means.map), *cells)
    return made


def _sub_task_table(found: Sequence[Findings]) -> Table:
    """Pairs and interactions, as in the papers' Table 2; of one model also by rare and other classes, as in Table 5."""
    headings = ("pairs an\nimage", "pair\nrecall", "pair\nprecision", "human\nrecall", "object\nrecall")
    made = table_of_models("model" if len(found) > 1 else "classes", *headings, "negative\nAP", "interaction\nmAP")
    for model in found:
        named, negative = model.interaction_map, model.negative_ap
        parts = (named.map, named.map_rare, named.map_non_rare) if named else (None, None, None)
        whole = _number(model.pairs.per_image), percent(negative.all_points if negative else None)
        _add_sub_tasks(made, model.name if len(found) > 1 else "all", model.pairs, parts[0], *whole)
        if len(found) == 1:
            _add_sub_tasks(made, "rare", model.pairs_rare, parts[1])
            _add_sub_tasks(made, "non-rare", model.pairs_non_rare, parts[2])
    return made


def _add_sub_tasks(
    to: Table, name: str, pairs: PairFigures, interaction: float | None, per_image: str = "", negative: str = ""
) -> None:
    shares = (pairs.recall, pairs.precision, pairs.human_recall, pairs.object_recall)
    to.add_row(words(name), per_image, *map(percent, shares), negative, percent(interaction))


def _sweep_table(curve: Sweep) -> Table:
    made = table("threshold", "pairs an\nimage", "pair\nrecall", "pair\nprecision", "mAP", "rare", "non-rare")
    for point in curve.points:
        means = point.means or Means(None, None, None)
        shares = (point.pairs.recall, point.pairs.precision, *means)
        made.add_row(f"{point.threshold:g}", _number(point.pairs.per_image), *map(percent, shares))
    return made


def _remarks(found: Sequence[Findings]) -> list[str]:
    """Remarks, each once, with the models that it is about where it is not about all."""
    models: dict[str, list[str]] = {}
    for model in found:
        absent = {**model.absent, **(model.semantic.absent if model.semantic else {})}
        lines = [f"{_PARTS.get(part, part)}: not measured: {why}" for part, why in absent.items()]
        for line in (*lines, *model.remarks):
            models.setdefault(line, []).append(model.name)
    return [line if len(names) == len(found) else f"{', '.join(names)}: {line}" for line, names in models.items()]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def _bar(value: float | None, most: float) -> str:
    eighths = round(8 * _BAR * value / most) if value and value > 0 else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _short(count: int) -> str:
    """A count in at most six characters."""
    return f"{count:,}" if count < 10_000 else f"{count / 1000:,.0f}k"
