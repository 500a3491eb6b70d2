"""What a map does to a score: the same predictions, ground truth and protocol under another map."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from shoe.core.errors import InputError
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report, score
from shoe.scoring.semantic import SemanticResult, semantic_score
from shoe.similarity import SimilarityMap


@dataclass(frozen=True, slots=True)
class ClassMove:
    """One HOI class under two maps: its label, its ground truths, its average precision under each."""

    label: str
    ground_truths: int
    a: float
    b: float


def scored(predictions: Path, ground_truth: Path, map_name: str, dataset: str) -> Report:
    """Score a prediction file under protocol ``shoe``; only the semantic part.

    Args:
        predictions: file, in any format that is recognised by content, boxes in its format's own convention.
        ground_truth: annotation file.
        map_name: shipped name or folder of the map.
        dataset: whose classes both have.

    Raises:
        InputError: if a file is broken, has scores outside 0..1, or the two have no image in common.
        OptionError: for a dataset that does not exist.
    """
    from shoe.benchmarks import read_ground_truth
    from shoe.predictions import read_predictions_with_notes

    truth = read_ground_truth(ground_truth, dataset)
    sizes = dict(zip(truth.interactions.images, map(tuple, truth.interactions.sizes.tolist()), strict=True))
    table, notes = read_predictions_with_notes(predictions, dataset=dataset, sizes=sizes)
    report = score(table, truth, similarity=map_name, protocols=["shoe"], notes=notes)
    if report.semantic is None:
        raise InputError(predictions, found=report.absent["semantic"].split(":")[0], expected="scores in 0..1")
    return report


def semantic_of(report: Report) -> SemanticResult:
    """The semantic result of a report that has one."""
    if report.semantic is None:
        raise ValueError("a report of protocols without meaning")
    return report.semantic


def under(report: Report, similarity: SimilarityMap) -> Report:
    """The same evaluation under another map; boxes are compared again, which is a third of its time."""
    options = semantic_of(report).options
    similarities = HoiSimilarity.of(report.task, similarity, options)
    return replace(
        report,
        facts=report.facts | {"map": similarity.name, "map-sha": similarity.digest},
        similarities=similarities,
        semantic=semantic_score(report.task, similarities, options),
    )


def class_moves(a: Report, b: Report) -> list[ClassMove]:
    """The classes whose average precision differs between two maps, the largest difference first."""
    ap_a, ap_b = semantic_of(a).ap, semantic_of(b).ap
    difference = np.nan_to_num(np.abs(ap_b - ap_a))
    order = np.argsort(-difference, kind="stable")[: np.count_nonzero(difference)].tolist()
    truths, labels = a.truth.triplets_per_class.tolist(), a.truth.classes.labels
    return [ClassMove(labels[k], truths[k], float(ap_a[k]), float(ap_b[k])) for k in order]
