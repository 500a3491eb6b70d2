"""Reports of ``shoe score`` as JSON, and metrics of classes and wordings as CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from msgspec import structs
from rich.table import Table
from rich.text import Text

from shoe.core.arrays import Floats
from shoe.core.documents import Span
from shoe.core.io.files import write_text
from shoe.core.io.json import encode
from shoe.core.io.spreadsheets import delimited_text
from shoe.report.evidence import notes
from shoe.report.text import count, decimals, table, words
from shoe.scoring.evidence.collect import Evidence
from shoe.scoring.evidence.facts import PartReading, Profile, Range, Resolution, Wording, nearest_seen_of_report
from shoe.scoring.score import Figures, Report


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
    """Return a table of predicted words: first the words with most credit lost, then the words with most credit gained.

    ``narrow`` leaves out some columns, and all but the first five rows of each group.
    """
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
                tau_readings=evidence.tau,
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
