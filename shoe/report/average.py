"""Mean and standard deviation over the reports of several splits, as papers give them, beside that of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from msgspec import UNSET
from rich.console import Console

from shoe.core.errors import InputError, quote
from shoe.io.files import read_bytes
from shoe.io.json import read_typed
from shoe.protocols.signature import Signature
from shoe.report.schemas.kinds import MaybeParts
from shoe.report.schemas.scoring import Score, Strict
from shoe.report.text import percent, points, say, table

_OF_TRUTH = ("split", "images", "truths", "truth-sha", "class-split", "class-split-sha")
"""What signatures of different splits differ in."""
_STRICT = {"full": "map", "rare": "map_rare", "non_rare": "map_non_rare"}
_SEMANTIC = ("map", "mf1", "gt_miss_rate", "prediction_miss_rate")


@dataclass(frozen=True, slots=True)
class Scored:
    """One report.

    Attributes:
        name: of its file.
        split: what it is of.
        truth: what tells its ground truth from others.
        signatures: how its figures came about: all together, and by protocol where several were asked for.
        figures: by key: "strict:PROTOCOL:full" or a part's name instead of full, "roles:PROTOCOL:full", "semantic:map".
    """

    name: str
    split: str
    truth: str
    signatures: Mapping[str, str]
    figures: Mapping[str, float]


def read_report(path: Path) -> Scored:
    """Read what ``shoe score --json`` wrote.

    Raises:
        InputError: for anything else.
    """
    report = read_typed(path, read_bytes(path), Score, lambda *_: "the report")
    found: dict[str, Any] = {}
    strict: Sequence[Strict] = report.protocols or ([report.strict] if report.strict else [])
    for one in strict:
        of = f"strict:{one.protocol}"
        found |= {f"{of}:{name}": getattr(one, key) for name, key in _STRICT.items()} | _parts(of, one.parts)
    found |= {f"roles:{one.protocol}:full": one.map for one in report.roles or []}
    if report.semantic:
        found |= {f"semantic:{name}": getattr(report.semantic, name) for name in _SEMANTIC}
        found |= _parts("semantic", report.semantic.parts)
    figures = {name: value for name, value in found.items() if value is not UNSET}
    signed = {"": report.signature} | {
        one.protocol: one.signature for one in (*(report.protocols or ()), *(report.roles or ()))
    }
    truth = dict(Signature.parse(report.signature).items).get("truth-sha", "")
    return Scored(path.name, report.split, truth, signed, figures)


def _parts(of: str, parts: MaybeParts) -> dict[str, Any]:
    return {f"{of}:{name}": part.map for name, part in parts.items()} if parts else {}


def average(paths: Sequence[Path], beside: Path | None) -> dict[str, Any]:
    """Put reports together.

    Args:
        paths: of two reports or more, each of another ground truth.
        beside: of one more, as of the original split, which is not in the mean.

    Returns:
        ``reports``, ``mean`` and ``standard_deviation`` (that of a sample) of the figures that all of them have;
        ``beside``, and ``difference``, of the mean from it, where there is one.

    Raises:
        InputError: for a file that is no report, one ground truth twice, and signatures that differ in anything else.
    """
    reports = [read_report(path) for path in paths]
    if len(reports) < 2:
        raise InputError(paths[0], found="one report", expected="two or more, each of another split")
    other = None if beside is None else read_report(beside)
    seen: dict[str, str] = {}
    for path, report in zip(paths, reports, strict=True):
        if report.truth in seen:
            raise InputError(path, found=f"the ground truth of {seen[report.truth]}", expected="each another split")
        seen[report.truth] = report.name
        _check_signatures(path, report, reports[0])
    if beside is not None and other is not None:
        _check_signatures(beside, other, reports[0])
        if other.truth in seen:
            found = f"the ground truth of {seen[other.truth]}"
            raise InputError(beside, found=found, expected="that of another split, which is not in the mean")
    shared = [name for name in reports[0].figures if all(name in report.figures for report in reports)]
    means = {name: mean(report.figures[name] for report in reports) for name in shared}
    spread = {name: stdev(report.figures[name] for report in reports) for name in shared}
    made = {"reports": [_told(report) for report in reports], "mean": means, "standard_deviation": spread}
    if other is not None:
        made["beside"] = _told(other)
        made["difference"] = {
            name: value - other.figures[name] for name, value in means.items() if name in other.figures
        }
    return made


def _check_signatures(path: Path, report: Scored, first: Scored) -> None:
    """Only figures that came about alike have a mean."""
    for protocol in {**first.signatures, **report.signatures}:
        own, wanted = (_choices(each.signatures.get(protocol)) for each in (report, first))
        unlike = next((key for key in {**wanted, **own} if own.get(key) != wanted.get(key)), None)
        if unlike is not None:
            found, expected = (quote(of[unlike]) if unlike in of else "nothing" for of in (own, wanted))
            raise InputError(
                path, field=f"signature: {unlike}", found=found, expected=expected, hint=f"as in {first.name}"
            )


def _choices(signature: str | None) -> dict[str, str]:
    """What a signature says beside the ground truth."""
    items = Signature.parse(signature).items if signature else ()
    return {key: value for key, value in items if key not in _OF_TRUTH}


def _told(report: Scored) -> dict[str, Any]:
    return {
        "file": report.name,
        "split": report.split,
        "signature": report.signatures[""],
        "figures": dict(report.figures),
    }


def print_average(made: Mapping[str, Any], to: Console) -> None:
    """Print a line for each figure: each report's, their mean and standard deviation, and what stands beside."""
    reports, beside = made["reports"], made.get("beside")
    columns = [report["split"] for report in reports] + ["mean", "s. d."]
    shown = table("", *columns, *([beside["split"], "difference"] if beside else []))
    for name, value in made["mean"].items():
        cells = [percent(report["figures"][name]) for report in reports]
        cells += [percent(value), percent(made["standard_deviation"][name])]
        if beside:
            cells += [percent(beside["figures"].get(name)), points(made["difference"].get(name))]
        shown.add_row(name, *cells)
    to.print(shown)
    say(to, f"mean and standard deviation (of a sample) over {len(reports)} splits")
