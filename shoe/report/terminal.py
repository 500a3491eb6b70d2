"""Report of ``shoe score`` in the terminal: metrics in percent, notes and signature."""

from collections.abc import Mapping

from msgspec.structs import astuple
from rich.console import Console
from rich.table import Table
from rich.text import Text

from shoe.comparison.run import SEMANTIC
from shoe.core.errors import pluralize, printable
from shoe.report.evidence import THRESHOLD_NOTE, bounds_notes, detail_notes, essential_notes, threshold_names
from shoe.report.score_files import WORDINGS_TITLE, Score, wordings_table
from shoe.report.text import percent, print_line, print_more, table
from shoe.scoring.evidence.collect import Evidence
from shoe.scoring.score import Report
from shoe.scoring.semantic import SemanticResult


class _Console(Console):
    """Console that leaves the handling of a closed pipe to the command line."""

    def on_broken_pipe(self) -> None:
        raise


def console() -> Console:
    """Return a console for standard output, 160 characters wide if piped. A closed pipe raises BrokenPipeError."""
    made = _Console(highlight=False)
    return made if made.is_terminal else _Console(highlight=False, width=160)


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
    for line in urgent:
        print_line(to, line, "bold")
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
    if verbose and report.semantic and len(set(evidence.tau.values())) > 1:
        options = report.semantic.options
        headings = ["SHOE-mF1", "GT\nmissed", "unmatched", "no\noverlap"]
        made = table("confidence threshold", "option", *headings, names=2)
        for by, figures in evidence.tau.items():
            used = " (used)" if by == options.tau_by else ""
            name = threshold_names(options.tau)[by]
            made.add_row(name, f"tau-by={by}{used}", *map(percent, astuple(figures)))
        to.print(made)
        print_line(to, THRESHOLD_NOTE)
    details = detail_notes(report, evidence) if verbose else bounds_notes(evidence)
    for line in [*essential_notes(report, evidence), *details]:
        if line not in urgent:
            print_line(to, line)
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
        mf1, *rates = map(percent, astuple(result.above_delta))
        made.add_row(f"  sim. > {result.options.delta:g}", "", "", mf1, "", *rates)
    for part, mean in result.parts.items():
        made.add_row(f"  {part}", percent(mean.map), "", percent(mean.mf1), *[""] * 4, str(mean.classes))
    if result.harmonic_mean is not None:
        made.add_row("  harmonic mean", percent(result.harmonic_mean))
    return made
