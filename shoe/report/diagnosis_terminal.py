"""A diagnosis in the terminal: what costs most first, then what it rests on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.datasets.truth import GroundTruth
from shoe.diagnosis.deltas import Means
from shoe.diagnosis.sweeps import Sweep
from shoe.errors import printable
from shoe.report.findings import ERRORS, GROUPS, Errors, Findings
from shoe.report.remarks import percent

_LONGEST_LINE = 2000
_WIDE = 120
"""Columns from which on there is room to say what each error is,"""
_ROOMY = 100
"""and to give the deltas of several models with two digits."""
_BAR = 20
_PARTS = {"negative_ap": "negative AP", "interaction_map": "interaction mAP"}
_NARROW = (
    *("human\nbox", "object\nbox", "both\nboxes", "assoc-\niation", "dupli-\ncate", "inter-\naction", "missed\nGT"),
    *("false\npos.", "false\nneg."),
)
"""Headings of ``ERRORS`` and ``GROUPS`` for tables that have a column each."""
_SWEEPS = {
    "nms": "pairs that overlap a better one by more than a threshold left out (NMS)",
    "detection": "pairs below a threshold of their detection's score left out",
    "score": "triplets below a threshold of their score left out",
}


def print_findings(found: Sequence[Findings], truth: GroundTruth, to: Console) -> None:
    """Print all that was found out about one model, or several models side by side."""
    first = found[0]
    title = (
        f"{truth.classes.name} · {printable(truth.split)} · {first.images:,} images and {first.truths:,} triplets that "
        "count"
    )
    _say(to, title, "bold")
    if len(found) == 1:
        _print_one(first, to)
    else:
        _print_several(found, to)
    to.print(_sub_task_table(found))
    for model in found:
        for curve in model.sweeps:
            _print_sweep(curve, model.name if len(found) > 1 else "", to)
    for line in _remarks(found):
        _say(to, line)
    for model in found:
        _say(
            to,
            f"signature  {model.signature.short()}"
            if len(found) == 1
            else f"signature  {model.name}: {model.signature.short()}",
        )
    _say(to, "           in full: --json -", "dim")


def _print_one(model: Findings, to: Console) -> None:
    if model.errors is None:
        _say(to, f"{model.name} · {model.predictions:,} pairs")
        return
    errors = model.errors
    counts = errors.counts
    counted = counts["true_positive"] + counts["false_positive"]
    share = "" if counted == model.predictions else f" of {model.predictions:,}"
    _say(
        to,
        f"{model.name} · {counted:,}{share} predictions · {counts['true_positive']:,} true positives · {_how(errors)}",
    )
    parts = zip(("mAP", "rare", "non-rare"), errors.means, strict=True)
    _say(to, "   ".join(f"{name} {percent(value)}" for name, value in parts), "bold")
    if verdict(errors):
        _say(to, verdict(errors), "bold")
    to.print(_error_table(errors, wide=to.width >= _WIDE))
    to.print(_progression_table(errors))


def _print_several(found: Sequence[Findings], to: Console) -> None:
    models = [(model.name, model.errors) for model in found if model.errors]
    if not models:
        return
    _say(to, f"mAP, and what mending one error alone would add to it ({_how(models[0][1])}); * costs most")
    digits = 2 if to.width >= _ROOMY else 1
    to.print(_models_table(models, lambda errors, name: _gain(errors.deltas[name].map, digits), with_map=True))
    _say(to, "number of cases")
    to.print(_models_table(models, lambda errors, name: _short(errors.counts[name]), with_map=False))


def verdict(errors: Errors) -> str:
    """Say which error costs most; nothing if none costs anything."""
    worst = errors.ranked[0]
    gain = errors.deltas[worst].map
    if not gain or gain <= 0:
        return ""
    label, meaning = ERRORS[worst]
    return f"costs most: {label} ({meaning}): {_gain(gain)} mAP if mended alone"


def _how(errors: Errors) -> str:
    """The choices that the short signature does not show."""
    if errors.variant == "released":
        return "as Diag-HOI's toolbox"
    return f"as Diag-HOI's paper, {'best fixes' if errors.choice == 'best' else f'seed {errors.seed}'}"


def _error_table(errors: Errors, *, wide: bool) -> Table:
    """Error types by what they cost, and the same errors in two groups."""
    table = _table("error", "cases", "Δ mAP", "rare", "non-rare")
    table.add_column("")
    if wide:
        table.add_column("what is wrong", no_wrap=True)
    most = max((errors.deltas[name].map or 0.0 for name in ERRORS), default=0.0)
    groups = sorted(GROUPS, key=lambda name: -(errors.deltas[name].map or 0.0))
    for name in (*errors.ranked, *groups):
        label, meaning = (ERRORS | GROUPS)[name]
        delta = errors.deltas[name]
        bar = _bar(delta.map, most) if name in ERRORS else ""
        cells = [label, f"{errors.counts[name]:,}", *map(_gain, delta), bar, *([meaning] if wide else [])]
        table.add_row(*cells, end_section=name == errors.ranked[-1])
    return table


def _progression_table(errors: Errors) -> Table:
    table = _table("mended one after the other", "mAP", "rare", "non-rare", "gain")
    table.add_row("none", *map(percent, errors.means), "")
    for step in errors.progression:
        table.add_row(f"+ {ERRORS[step.name].label}", *map(percent, step.means), _gain(step.delta.map))
    return table


def _models_table(models: Sequence[tuple[str, Errors]], cell: Callable[[Errors, str], str], *, with_map: bool) -> Table:
    table = _table("model", *(["mAP"] if with_map else []), *_NARROW, fold=True)
    table.padding = (0, 0, 0, 0)
    for name, errors in models:
        cells = [cell(errors, error) for error in (*ERRORS, *GROUPS)]
        if with_map:
            worst = list(ERRORS).index(errors.ranked[0])
            cells[worst] = f"[bold]{cells[worst]}*[/bold]"
            cells.insert(0, percent(errors.means.map))
        table.add_row(_name(name), *cells)
    return table


def _sub_task_table(found: Sequence[Findings]) -> Table:
    """Pairs and interactions, as in the papers' Table 2; of one model also by rare and other classes, as in Table 5."""
    headings = ("pairs an\nimage", "pair\nrecall", "pair\nprecision", "human\nrecall", "object\nrecall")
    first = "model" if len(found) > 1 else "classes"
    table = _table(first, *headings, "negative\nAP", "interaction\nmAP", fold=True)
    table.padding = (0, 0, 0, 0)
    for model in found:
        negative, named = model.negative_ap, model.interaction_map
        rows = [(model.name, model.pairs, named.map if named else None)]
        if len(found) == 1:
            rows = [
                ("all", model.pairs, named.map if named else None),
                ("rare", model.pairs_rare, named.map_rare if named else None),
                ("non-rare", model.pairs_non_rare, named.map_non_rare if named else None),
            ]
        for name, pairs, interaction in rows:
            whole = pairs is model.pairs
            shares = (pairs.recall, pairs.precision, pairs.human_recall, pairs.object_recall)
            per_image = "" if not whole else "–" if pairs.per_image is None else f"{pairs.per_image:.1f}"
            of_pairs = "" if not whole else percent(negative.all_points if negative else None)
            table.add_row(_name(name), per_image, *map(percent, shares), of_pairs, percent(interaction))
    return table


def _print_sweep(curve: Sweep, name: str, to: Console) -> None:
    _say(to, f"{name}: {_SWEEPS[curve.by]}" if name else _SWEEPS[curve.by])
    table = _table("threshold", "pairs an\nimage", "pair\nrecall", "pair\nprecision", "mAP", "rare", "non-rare")
    for point in curve.points:
        pairs = point.pairs
        per_image = "–" if pairs.per_image is None else f"{pairs.per_image:.1f}"
        means = point.means or Means(None, None, None)
        table.add_row(f"{point.threshold:g}", per_image, *map(percent, (pairs.recall, pairs.precision, *means)))
    to.print(table)


def _remarks(found: Sequence[Findings]) -> list[str]:
    """Remarks, each once, with the models that it is about where it is not about all."""
    models: dict[str, list[str]] = {}
    for model in found:
        absent = [f"{_PARTS.get(part, part)}: not measured: {why}" for part, why in model.absent.items()]
        for line in (*absent, *model.remarks):
            models.setdefault(line, []).append(model.name)
    return [line if len(names) == len(found) else f"{', '.join(names)}: {line}" for line, names in models.items()]


def _table(first: str, *columns: str, fold: bool = False) -> Table:
    # Figures and headings may not shrink: one that is cut off says nothing. Names of models may take several lines.
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(first, no_wrap=not fold, overflow="fold")
    for column in columns:
        table.add_column(column, justify="right", no_wrap=True)
    return table


def _say(to: Console, line: str, style: str = "") -> None:
    to.print(Text(printable(line, _LONGEST_LINE), style=style), soft_wrap=True)


def _name(name: str) -> Text:
    return Text(printable(name))


def _gain(value: float | None, digits: int = 2) -> str:
    return "–" if value is None else f"{100 * value:+.{digits}f}"


def _bar(value: float | None, most: float) -> str:
    eighths = round(8 * _BAR * value / most) if value and value > 0 else 0
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def _short(count: int) -> str:
    """A count in at most six characters."""
    return f"{count:,}" if count < 10_000 else f"{count / 1000:,.0f}k"
