"""Report of ``shoe score``: metrics, notes and signature in the terminal, as JSON, and as CSV by class and wording."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.comparison.run import SEMANTIC
from shoe.core.arrays import Floats
from shoe.core.documents import Span
from shoe.core.errors import pluralize, printable
from shoe.core.io.files import write_text
from shoe.core.io.json import encode
from shoe.core.io.spreadsheets import delimited_text
from shoe.predictions.agreement import agreement_line
from shoe.report.evidence import THRESHOLD_NOTE, bounds_notes, detail_notes, essential_notes, notes, threshold_names
from shoe.report.text import count, decimals, percent, print_line, print_lines, print_more, table, words
from shoe.scoring.evidence.collect import Evidence
from shoe.scoring.evidence.facts import PartReading, Profile, Range, Resolution, Wording, nearest_seen_of_report
from shoe.scoring.score import Figures, Report
from shoe.scoring.semantic import SemanticResult


def print_report(report: Report, to: Console, evidence: Evidence | None = None, *, verbose: bool = False) -> None:
    """Print the metrics, notes and signature of a report; ``verbose`` adds wordings, thresholds and all notes."""
    truth = report.truth
    split = f" · {printable(truth.class_split.name)}" if truth.class_split else ""
    sizes = (len(truth.interactions.images), "image"), (len(truth.interactions), "triplet")
    counts = [pluralize(*size) for size in (*sizes, (len(report.predictions), "prediction"))]
    title = " · ".join([truth.classes.name, printable(truth.split) + split, *counts])
    if report.predictions.roles is not None:
        title += f" · {pluralize(len(report.predictions.roles), 'prediction')} by person"
    print_line(to, title, "bold")
    evidence, urgent = evidence or Evidence.from_report(report), report.warnings
    labels, words = report.task.labelled_words
    line = f"{labels:,} of {pluralize(words, 'word')} {'is a label' if words == 1 else 'are labels'} of the dataset"
    if report.notes:
        line = f"read as {report.notes.format}, boxes as {report.notes.boxes}" + (f"; {line}" if words else "")
    if report.notes or words:
        print_line(to, line)
    if report.agreement:
        print_line(to, agreement_line(report.agreement))
    print_lines(to, urgent, "bold")
    if report.strict_results:
        to.print(_strict_table(report))
    if report.role_results:
        _print_roles(report, to)
    if report.semantic:
        to.print(_semantic_table(report.semantic))
    if evidence.by_nearest_seen:
        protocols = [each.options.protocol for each in (report.strict, report.semantic) if each]
        headings = ["mAP"][: len(report.strict_results)] + ["SHOE-mAP"][: report.semantic is not None]
        made = table("unseen, by nearest seen class", "classes", *headings)
        for part in evidence.by_nearest_seen:
            title = f"  similarity {part.low:g} to {part.high:g}"
            made.add_row(title, str(part.classes), *(percent(part.map.get(name)) for name in protocols))
        to.print(made)
    if verbose and evidence.wordings:
        print_line(to, WORDINGS_TITLE, "bold")
        to.print(wordings_table(evidence.wordings, narrow=to.width < 100))
    if verbose and report.semantic and len(set(report.tau_readings.values())) > 1:
        options = report.semantic.options
        headings = ["SHOE-mF1", "GT\nmissed", "unmatched", "no\noverlap"]
        made = table("confidence threshold", "option", *headings, names=2)
        for by, figures in report.tau_readings.items():
            option = f"tau-by={by}{' (used)' if by == options.tau_by else ''}"
            made.add_row(threshold_names(options.tau)[by], option, *map(percent, structs.astuple(figures)))
        to.print(made)
        print_line(to, THRESHOLD_NOTE)
    details = detail_notes(report, evidence) if verbose else bounds_notes(evidence)
    print_lines(to, (line for line in [*essential_notes(report, evidence), *details] if line not in urgent))
    print_line(to, f"signature  {report.signature.short()}")
    if verbose:
        print_line(to, "           `--json -` prints the full signature of each protocol", "dim")
    else:
        print_more(to)


def comparison_table(reports: Mapping[str, Report | Score]) -> Table:
    """Return a table with one row per report: metrics of its first strict protocol and of its semantic protocol."""
    semantic = ["SHOE-mAP", "SHOE-mF1", "SHOE-mF1\nbest tau", "GT\nmissed", "un-\nmatched", "no\noverlap"]
    made = table("predictions", "mAP", "rare", "non-rare", *semantic)
    for name, report in reports.items():
        figures = [getattr(report.strict, key, None) for key in ("map", "map_rare", "map_non_rare")]
        figures += [getattr(report.semantic, key, None) for key in SEMANTIC]
        made.add_row(Text(printable(name)), *map(percent, figures))
    return made


def _strict_table(report: Report) -> Table:
    made = table("strict", "mAP", "rare", "non-rare", "max recall", "classes")
    for result in report.strict_results:
        figures = (result.map, result.map_rare, result.map_non_rare, result.max_recall)
        made.add_row(result.options.protocol, *map(percent, figures), str(result.classes))
        for part, mean in result.parts.items():
            made.add_row(f"  {part}", percent(mean.map), "", "", "", str(mean.classes))
        if result.harmonic_mean is not None:
            made.add_row("  harmonic mean", percent(result.harmonic_mean), "", "", "", "")
    return made


def _print_roles(report: Report, to: Console) -> None:
    results, actions = report.role_results, report.truth.benchmark.actions
    left_out = next((f"w/o {result.left_out}" for result in results if result.left_out), "")
    made = table("by person", "mean AP", left_out, "entries")
    for result in results:
        without = percent(result.map_without) if result.left_out else ""
        made.add_row(result.options.protocol, percent(result.map), without, str(int(result.in_mean.sum())))
    to.print(made)
    made = table("action", "persons", *(result.options.protocol for result in results))
    by_name = [dict(zip(r.names, zip(r.truths.tolist(), r.ap.tolist(), strict=True), strict=True)) for r in results]
    for number, action in enumerate(actions.names):
        roles = [name for name, (k, _) in zip(actions.entry_names, actions.entries, strict=True) if k == number]
        for name in (action, *roles):
            found = [each.get(name) for each in by_name]
            if (persons := next((truths for truths, _ in filter(None, found)), None)) is not None:
                cells = ("" if entry is None else percent(entry[1] if entry[0] else None) for entry in found)
                made.add_row(name, f"{persons:,}", *cells)
    to.print(made)


def _semantic_table(result: SemanticResult) -> Table:
    # The number of classes is that of the strict table, except for the parts; without it the table has 80 columns.
    headings = ["w/o\nno_int.", "SHOE-mF1", "SHOE-mF1\nbest tau", "GT\nmissed", "un-\nmatched", "no\noverlap"]
    made = table("semantic", "SHOE-mAP", *headings, *(["classes"] if result.parts else []))
    first, *others = (getattr(result, name) for name in SEMANTIC)
    figures = map(percent, (first, result.map_interactions, *others))
    made.add_row(result.options.protocol, *figures, *([str(result.classes)] if result.parts else []))
    if result.options.min_sigma != "delta":
        mf1, *rates = map(percent, structs.astuple(result.above_delta))
        made.add_row(f"  sim. > {result.options.delta:g}", "", "", mf1, "", *rates)
    for part, mean in result.parts.items():
        made.add_row(f"  {part}", percent(mean.map), "", percent(mean.mf1), *[""] * 4, str(mean.classes))
    if result.harmonic_mean is not None:
        made.add_row("  harmonic mean", percent(result.harmonic_mean))
    return made


def write_classes(report: Report, path: str | Path) -> None:
    """Write the metrics of each class as CSV, one class per line, atomically.

    Columns: class, verb, object, rare ("rare" or empty), ground_truths, and predictions with exactly the words of the
    class. With a class split: nearest_seen and nearest_similarity of unseen classes. ``PROTOCOL_ap`` is
    average precision by protocol, strict or SHOE, ``PROTOCOL_recall`` largest recall by strict protocol, and
    ``PROTOCOL_f1`` F1 of SHOE. Values are fractions, 0 to 1. Classes that do not count in the mean have no value, so
    the mean of a column is the metric in the report.
    """
    task, classes = report.task, report.truth.classes
    columns: dict[str, list[str] | list[int]] = {
        "class": classes.labels,
        "verb": [classes.verbs[verb] for verb in classes.verb],
        "object": [classes.objects[object_] for object_ in classes.object],
        "rare": ["rare" if rare else "" for rare in classes.rare],
        "ground_truths": report.truth.triplets_per_class.tolist(),
        "predictions": np.bincount(task.hoi[task.hoi >= 0], minlength=len(classes)).tolist(),
    }
    if (near := nearest_seen_of_report(report)) is not None:
        seen, similarity = [""] * len(classes), np.full(len(classes), np.nan)
        for unseen, nearest in zip(near.unseen.tolist(), near.seen.tolist(), strict=True):
            seen[unseen] = classes.labels[nearest]
        similarity[near.unseen] = near.similarity
        columns |= {"nearest_seen": seen, "nearest_similarity": _cells(similarity)}
    for result in report.strict_results:
        columns[f"{result.options.protocol}_ap"] = _cells(result.ap)
        columns[f"{result.options.protocol}_recall"] = _cells(result.recall)
    if semantic := report.semantic:
        columns[f"{semantic.options.protocol}_ap"] = _cells(semantic.ap)
        columns[f"{semantic.options.protocol}_f1"] = _cells(semantic.f1)
    write_text(path, delimited_text([columns, *zip(*columns.values(), strict=True)]))


def _cells(values: Floats) -> list[str]:
    return ["" if np.isnan(value) else f"{value:.6f}" for value in values.tolist()]


WORDINGS_TITLE = "Predicted words other than labels: most credit lost, then most credit gained"


def wordings_table(wordings: Sequence[Wording], *, narrow: bool = False) -> Table:
    """Return a table of predicted words by credit lost, then by credit gained; ``narrow`` shows only the main part."""
    lost = sum(wording.lost >= 0.05 for wording in wordings[: (len(wordings) + 1) // 2])  # less is printed as 0.0
    headings = ["prediction", "verb · object", "compared with"]
    headings += ["verb", "object", "times", "credit\ngained", "credit\nlost"]
    columns, names = ([0, 2, 5, 6, 7], 2) if narrow else (list(range(len(headings))), 3)
    made = table(*(headings[i] for i in columns), names=names)
    for half in (wordings[:lost], wordings[lost:]):
        for wording in half[: 5 if narrow else len(half)]:
            verb, object_ = wording.verb, wording.object
            phrase = wording.phrases[0] if wording.phrases else f"{verb.word} {object_.word}".strip()
            phrase = phrase or "phrases without a verb and an object"
            both = f"{verb.word} · {object_.word}" if verb.word else "–"
            cells: list[str | Text] = [words(phrase, 44), words(both, 40), words(wording.compared_with, 30)]
            cells += [decimals(verb.similarity, 2), decimals(object_.similarity, 2), count(wording.count)]
            cells += [decimals(wording.earned, 1), decimals(wording.lost, 1)]
            made.add_row(*(cells[i] for i in columns))
        made.add_section()
    for column in made.columns[:names]:
        column.no_wrap, column.overflow = False, "fold"
    return made


def write_wordings(wordings: Sequence[Wording], unread: Mapping[str, int], path: str | Path) -> None:
    """Write all wordings of a report as CSV, one per line, atomically; columns are the fields of :class:`Wording`.

    ``unread`` counts the phrases without a verb and an object, which get a line each.
    """
    rows: list[dict[str, Any]] = []
    for wording in wordings:
        if not unread or wording.verb.word or wording.object.word:
            row = wording.to_dict()
            row["phrases"] = " | ".join(row["phrases"])
            for part in ("verb", "object"):
                found = row.pop(part)
                row |= {part: found["word"]} | {f"{part}_{name}": value for name, value in found.items()}
            rows.append(row)
    rows += [{"phrases": phrase, "count": count, "matched": 0} for phrase, count in unread.items()]
    write_text(path, delimited_text([_COLUMNS, *([row.get(name, "") for name in _COLUMNS] for row in rows)]))


_PARTS = tuple(name for name in PartReading.__struct_fields__ if name != "word")
_OWN = tuple(name for name in Wording.__struct_fields__ if name not in ("verb", "object"))
_COLUMNS = ("verb", "object", *_OWN, *(f"{part}_{name}" for part in ("verb", "object") for name in _PARTS))


class Score(Figures, frozen=True, kw_only=True):
    """Metrics of one set of predictions, with explanations.

    Attributes:
        resolution: how predicted words were resolved to senses.
        profile: statistics of the predictions, such as duplicates and equal scores.
        by_nearest_seen: with a class split, mAP of unseen classes by similarity to their nearest seen class.
        order_spans: with ``--bounds``, the lowest and highest mAP over several orders of the lines of the file, by
            protocol; only protocols whose mAP depends on the order.
        absent: reasons why metrics could not be measured, by group of metrics, such as "semantic".
        wordings: of the predicted words that are not labels, the 10 with most credit lost, then 10 with most gained.
        notes: the notes printed below the tables.
    """

    resolution: Resolution | None = None
    profile: Profile
    by_nearest_seen: list[Range] = msgspec.field(default_factory=list)
    order_spans: dict[str, Span] = msgspec.field(default_factory=dict)
    absent: dict[str, str] = msgspec.field(default_factory=dict)
    wordings: list[Wording] = msgspec.field(default_factory=list)
    notes: list[str] = msgspec.field(default_factory=list)

    @classmethod
    def from_report(cls, report: Report, evidence: Evidence | None = None) -> Score:
        """Build the JSON document from a report; ``evidence`` explains its metrics, and is collected if None."""
        evidence = evidence or Evidence.from_report(report)
        figures, interval, spread = report.figures(), evidence.interval, evidence.spread
        if figures.semantic is not None:
            semantic = structs.replace(
                figures.semantic,
                tau_readings=report.tau_readings,
                map_interval=interval and interval.map,
                mf1_interval=interval and interval.mf1,
                unrated_pairs=interval and interval.unrated_pairs,
                raters=spread and spread.raters,
            )
            figures = structs.replace(figures, semantic=semantic)
        return cls(
            **structs.asdict(figures),
            resolution=evidence.resolution,
            profile=evidence.profile,
            by_nearest_seen=evidence.by_nearest_seen,
            order_spans={**evidence.orders},
            absent=dict(report.absent),
            wordings=list(evidence.wordings),
            notes=notes(report, evidence),
        )


def as_json(report: Report, evidence: Evidence | None = None) -> bytes:
    """Return a report as indented JSON with a final newline; ``evidence``, which explains it, is collected if None."""
    return encode(Score.from_report(report, evidence), readable=True)
