"""The figures of each class, as CSV."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from shoe.core.arrays import Floats
from shoe.evidence.distance import distance
from shoe.io.delimited import delimited_text
from shoe.io.files import replacing
from shoe.scoring.score import Report


def write_classes(report: Report, path: str | Path) -> None:
    """Write one class a line; the file appears whole or not at all.

    Columns: class, verb, object, rare ("rare" or nothing), ground_truths, predictions (whose words are exactly those of
    the class); with a split of the classes, nearest_seen and nearest_similarity of each unseen one; average precision
    and largest recall by each strict protocol as ``PROTOCOL_ap`` and ``PROTOCOL_recall``, of SHOE ``PROTOCOL_ap`` and
    ``PROTOCOL_f1``. Fractions 0..1, nothing for a class that is not in the mean: the mean
    of a column is the report's figure.
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
    if (near := distance(report)) is not None:
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
    with replacing(path) as stream:
        stream.write(delimited_text([columns, *zip(*columns.values(), strict=True)]).encode())


def _cells(values: Floats) -> list[str]:
    return ["" if np.isnan(value) else f"{value:.6f}" for value in values.tolist()]
