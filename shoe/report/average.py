"""Mean and standard deviation over the reports of several splits, as papers give them, beside that of another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev

from rich.console import Console

from shoe.benchmarks.protocols import Signature
from shoe.core.documents import Document, Fraction, Gain
from shoe.core.errors import InputError, quote
from shoe.core.io.files import read_bytes
from shoe.core.io.json import read_typed
from shoe.report.score_files import Score
from shoe.report.text import percent, points, say, table
from shoe.scoring.entries import PartMean
from shoe.scoring.strict import Strict

_OF_TRUTH = ("split", "images", "truths", "truth-sha", "class-split", "class-split-sha")
"""What signatures of different splits differ in."""
_STRICT = {"full": "map", "rare": "map_rare", "non_rare": "map_non_rare"}
_SEMANTIC = ("map", "mf1", "gt_miss_rate", "prediction_miss_rate")


class AveragedReport(Document, frozen=True):
    """A report that is put together with others.

    Attributes:
        file: its name.
        split: what it is of.
        signature: how its figures came about.
        figures: by key: "strict:PROTOCOL:full" or a part's name instead of full, "roles:PROTOCOL:full", "semantic:map".
    """

    file: str
    split: str
    signature: str
    figures: dict[str, Fraction]


class Average(Document, frozen=True):
    """Figures of several splits put together.

    Attributes:
        reports: one a split.
        mean, standard_deviation: of the figures that all of them have; the standard deviation is that of a sample.
        beside: one more report, which is not in the mean.
        difference: of the mean from it.
    """

    reports: list[AveragedReport]
    mean: dict[str, Fraction]
    standard_deviation: dict[str, Fraction]
    beside: AveragedReport | None = None
    difference: dict[str, Gain] | None = None


@dataclass(frozen=True, slots=True)
class Scored:
    """One report, with what tells its ground truth from others, and signatures by protocol, all of them by ""."""

    report: AveragedReport
    truth: str
    signatures: Mapping[str, str]


def read_report(path: Path) -> Scored:
    """Read what ``shoe score --json`` wrote.

    Raises:
        InputError: for anything else.
    """
    report = read_typed(path, read_bytes(path), Score, lambda *_: "the report")
    found: dict[str, float | None] = {}
    strict: Sequence[Strict] = report.protocols or [*filter(None, [report.strict])]
    for one in strict:
        of = f"strict:{one.protocol}"
        found |= {f"{of}:{name}": getattr(one, key) for name, key in _STRICT.items()} | _parts(of, one.parts)
    found |= {f"roles:{one.protocol}:full": one.map for one in report.roles}
    if report.semantic:
        found |= {f"semantic:{name}": getattr(report.semantic, name) for name in _SEMANTIC}
        found |= _parts("semantic", report.semantic.parts)
    figures = {name: value for name, value in found.items() if value is not None}
    signed = {"": report.signature} | {one.protocol: one.signature for one in report.protocols}
    signed |= {one.protocol: one.signature for one in report.roles}
    truth = dict(Signature.parse(report.signature).items).get("truth-sha", "")
    return Scored(AveragedReport(path.name, report.split, report.signature, figures), truth, signed)


def _parts(of: str, parts: Mapping[str, PartMean]) -> dict[str, float | None]:
    return {f"{of}:{name}": part.map for name, part in parts.items()}


def average(paths: Sequence[Path], beside: Path | None) -> Average:
    """Put reports together.

    Args:
        paths: of two reports or more, each of another ground truth.
        beside: of one more, as of the original split, which is not in the mean.

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
        seen[report.truth] = report.report.file
        _check_signatures(path, report, reports[0])
    if beside is not None and other is not None:
        _check_signatures(beside, other, reports[0])
        if other.truth in seen:
            found = f"the ground truth of {seen[other.truth]}"
            raise InputError(beside, found=found, expected="that of another split, which is not in the mean")
    made = [scored.report for scored in reports]
    shared = [name for name in made[0].figures if all(name in report.figures for report in made)]
    means = {name: mean(report.figures[name] for report in made) for name in shared}
    spread = {name: stdev(report.figures[name] for report in made) for name in shared}
    if other is None:
        return Average(made, means, spread)
    figures = other.report.figures
    apart = {name: value - figures[name] for name, value in means.items() if name in figures}
    return Average(made, means, spread, other.report, apart)


def _check_signatures(path: Path, report: Scored, first: Scored) -> None:
    """Only figures that came about alike have a mean."""
    for protocol in {**first.signatures, **report.signatures}:
        own, wanted = (_choices(each.signatures.get(protocol)) for each in (report, first))
        unlike = next((key for key in {**wanted, **own} if own.get(key) != wanted.get(key)), None)
        if unlike is not None:
            found, expected = (quote(of[unlike]) if unlike in of else "nothing" for of in (own, wanted))
            raise InputError(
                path, field=f"signature: {unlike}", found=found, expected=expected, hint=f"as in {first.report.file}"
            )


def _choices(signature: str | None) -> dict[str, str]:
    """What a signature says beside the ground truth."""
    items = Signature.parse(signature).items if signature else ()
    return {key: value for key, value in items if key not in _OF_TRUTH}


def print_average(made: Average, to: Console) -> None:
    """Print a line for each figure: each report's, their mean and standard deviation, and what stands beside."""
    reports, beside, difference = made.reports, made.beside, made.difference or {}
    columns = [report.split for report in reports] + ["mean", "s. d."]
    shown = table("", *columns, *([beside.split, "difference"] if beside else []))
    for name, value in made.mean.items():
        cells = [percent(report.figures[name]) for report in reports]
        cells += [percent(value), percent(made.standard_deviation[name])]
        if beside:
            cells += [percent(beside.figures.get(name)), points(difference.get(name))]
        shown.add_row(name, *cells)
    to.print(shown)
    say(to, f"mean and standard deviation (of a sample) over {len(reports)} splits")
