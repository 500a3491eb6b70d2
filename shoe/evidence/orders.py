"""How far figures move when a file lists the same lines, images and ground truths in another order."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoe.core.arrays import Indices
from shoe.core.interactions import Interactions
from shoe.matching.task import Task
from shoe.protocols.options import Ties
from shoe.scoring.score import Report
from shoe.scoring.semantic import semantic_score
from shoe.scoring.strict import strict_score

_ORDERS = 10


def order_spans(report: Report) -> dict[str, tuple[float, float]]:
    """Find the lowest and highest mAP of each protocol that depends on order, over this order and ten drawn ones.

    A figure that no order moved is left out. Each order takes as long as scoring.

    Returns:
        By the name of the protocol; strict mAP or SHOE-mAP, fractions 0..1.
    """
    strict = [r.options for r in report.strict_results if r.tied_share and r.options.ties is not Ties.EXPECTED]
    semantic = report.semantic.options if report.semantic and not report.semantic.options.order_free else None
    figures = {r.options.protocol: [r.map] for r in report.strict_results if r.options in strict}
    if report.semantic and semantic:
        figures[semantic.protocol] = [report.semantic.map]
    for seed in range(_ORDERS if figures else 0):
        rng = np.random.default_rng(seed)
        predictions, (table, images) = _shuffled(report.predictions, rng)[0], _shuffled(report.truth.interactions, rng)
        labels = None if report.truth.image_labels is None else report.truth.image_labels[:, images]
        task = Task(predictions, replace(report.truth, interactions=table, image_labels=labels))
        for options in strict:
            figures[options.protocol].append(strict_score(task, options).map)
        if semantic and report.similarities:
            figures[semantic.protocol].append(semantic_score(task, report.similarities, semantic).map)
    known = {name: [value for value in values if value is not None] for name, values in figures.items()}
    return {name: (min(values), max(values)) for name, values in known.items() if len(set(values)) > 1}


def _shuffled(table: Interactions, rng: np.random.Generator) -> tuple[Interactions, Indices]:
    """The table with its images, and the rows of each, in another order; and which image stands where."""
    images = rng.permutation(len(table.images))
    index = np.empty(len(images), np.int64)
    index[images] = np.arange(len(images))
    rows = np.lexsort((rng.random(len(table)), index[table.image]))
    columns = {name: getattr(table, name)[rows] for name in ("human_boxes", "object_boxes", "verb", "object", "score")}
    return replace(
        table,
        images=tuple(table.images[i] for i in images.tolist()),
        sizes=table.sizes[images],
        coordinates=table.coordinates[images],
        offsets=np.concatenate([[0], np.cumsum(np.diff(table.offsets)[images])]),
        **columns,
    ), images
