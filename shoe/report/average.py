"""Mean and standard deviation of metrics over the reports of several splits."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

from rich.console import Console

from shoe.benchmarks.signature import Signature
from shoe.comparison.run import SEMANTIC
from shoe.core.documents import Document, Fraction, Gain
from shoe.core.errors import InputError, quote
from shoe.core.io.files import read_bytes
from shoe.core.io.json import read_typed
from shoe.report.score import Score
from shoe.report.text import percent, points, print_line, table
from shoe.scoring.strict import Strict

_OF_TRUTH = ("split", "images", "truths", "truth-sha", "class-split", "class-split-sha")
"""Items of a signature that may differ between splits."""
_STRICT = {"full": "map", "rare": "map_rare", "non_rare": "map_non_rare"}


class AveragedReport(Document, frozen=True):
    """Metrics of one of the averaged reports.

    Attributes:
        file: file name of the report.
        split: split that was scored.
        signature: settings that produced the metrics.
        figures: measured metrics by key: "strict:PROTOCOL:PART", where PART is "full", "rare", "non_rare" or the name
            of a part of the class split; "roles:PROTOCOL:full"; "semantic:NAME" for the metrics of SHOE, such as
            "semantic:map"; and "semantic:PART" for the SHOE-mAP of a part.
    """

    file: str
    split: str
    signature: str
    figures: dict[str, Fraction]


class Average(Document, frozen=True):
    """Metrics averaged over several splits.

    Attributes:
        reports: one report per split.
        mean, standard_deviation: mean and sample standard deviation of the metrics that all reports have.
        beside: a further report that is not in the mean.
        difference: mean minus the metric of ``beside``, for the metrics in both; None without ``beside``.
    """

    reports: list[AveragedReport]
    mean: dict[str, Fraction]
    standard_deviation: dict[str, Fraction]
    beside: AveragedReport | None = None
    difference: dict[str, Gain] | None = None


class ReportFile(NamedTuple):
    """A report, the hash of its ground truth, and its signature by protocol; the key "" is for the whole report."""

    report: AveragedReport
    truth: str
    signatures: Mapping[str, str]


def read_report(path: Path) -> ReportFile:
    """Return metrics and signatures in a report of ``shoe score --json``; raise InputError for other files."""
    report = read_typed(path, read_bytes(path), Score, lambda *_: "the report")
    values: dict[str, float | None] = {}
    strict: Sequence[Strict] = report.protocols or [*filter(None, [report.strict])]
    for result in strict:
        key = f"strict:{result.protocol}"
        values |= {f"{key}:{name}": getattr(result, field) for name, field in _STRICT.items()}
        values |= {f"{key}:{name}": part.map for name, part in result.parts.items()}
    values |= {f"roles:{result.protocol}:full": result.map for result in report.roles}
    if report.semantic:
        values |= {f"semantic:{name}": getattr(report.semantic, name) for name in SEMANTIC}
        values |= {f"semantic:{name}": part.map for name, part in report.semantic.parts.items()}
    figures = {name: value for name, value in values.items() if value is not None}
    signatures = {"": report.signature} | {result.protocol: result.signature for result in report.protocols}
    signatures |= {result.protocol: result.signature for result in report.roles}
    truth = dict(Signature.parse(report.signature).items).get("truth-sha", "")
    return ReportFile(AveragedReport(path.name, report.split, report.signature, figures), truth, signatures)


def average(paths: Sequence[Path], beside: Path | None) -> Average:
    """Return the mean and sample standard deviation, over several reports, of the metrics that all reports have.

    ``paths`` are files of two or more reports, each with a different ground truth. ``beside`` is the file of a further
    report that is not in the mean, such as the report of the original split. Raise InputError if a file is not a
    report, if two files have the same ground truth, or if the reports differ in protocols or options.
    """
    reports = [read_report(path) for path in paths]
    if len(reports) < 2:
        raise InputError(paths[0], found="one report", expected="at least two reports, each of a different split")
    seen: dict[str, str] = {}
    for path, report in zip(paths, reports, strict=True):
        if report.truth in seen:
            raise InputError(
                path, found=f"the ground truth of {seen[report.truth]}", expected="a different split for each report"
            )
        seen[report.truth] = report.report.file
        _check_signatures(path, report, reports[0])
    made = [scored.report for scored in reports]
    shared = [name for name in made[0].figures if all(name in report.figures for report in made)]
    means = {name: mean(report.figures[name] for report in made) for name in shared}
    spread = {name: stdev(report.figures[name] for report in made) for name in shared}
    if beside is None:
        return Average(made, means, spread)
    other = read_report(beside)
    _check_signatures(beside, other, reports[0])
    if other.truth in seen:
        found = f"the ground truth of {seen[other.truth]}"
        raise InputError(beside, found=found, expected="another ground truth than the averaged reports")
    apart = {name: value - old for name, value in means.items() if (old := other.report.figures.get(name)) is not None}
    return Average(made, means, spread, other.report, apart)


def _check_signatures(path: Path, report: ReportFile, first: ReportFile) -> None:
    for protocol in {**first.signatures, **report.signatures}:
        own, wanted = (
            dict(Signature.parse(each.signatures[protocol]).items if each.signatures.get(protocol) else ())
            for each in (report, first)
        )
        for key in {**wanted, **own}:
            if key not in _OF_TRUTH and own.get(key) != wanted.get(key):
                found, expected = (quote(items[key]) if key in items else "nothing" for items in (own, wanted))
                hint = f"as in {first.report.file}"
                raise InputError(path, field=f"signature: {key}", found=found, expected=expected, hint=hint)


def print_average(average: Average, to: Console) -> None:
    """Print a row per metric: value in each report, mean, standard deviation, difference from ``average.beside``."""
    reports, beside, difference = average.reports, average.beside, average.difference or {}
    columns = [report.split for report in reports] + ["mean", "s. d."]
    output = table("", *columns, *([beside.split, "difference"] if beside else []))
    for name, value in average.mean.items():
        cells = [percent(report.figures[name]) for report in reports]
        cells += [percent(value), percent(average.standard_deviation[name])]
        if beside:
            cells += [percent(beside.figures.get(name)), points(difference.get(name))]
        output.add_row(name, *cells)
    to.print(output)
    print_line(to, f"mean and sample standard deviation over {len(reports)} splits")
