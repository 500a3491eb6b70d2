"""Of a detector's false positives, which did anybody look at? HICO's image labels tell (docs/protocols.md 1).

For each image, annotators said yes, no or perhaps of some classes, and of most nothing. Protocols count a prediction
without a match as wrong all the same, where nobody has ever looked for its class in its image, too.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import ImageLabel
from shoe.core.arrays import Indices, Mask
from shoe.core.documents import Count, Document, MeanFields
from shoe.matching.task import Task
from shoe.protocols.options import StrictOptions
from shoe.scoring.entries import Entries
from shoe.scoring.strict import strict_entries

VERDICTS = {
    "in_image": ImageLabel.YES,
    "verified_wrong": ImageLabel.NO,
    "ambiguous": ImageLabel.PERHAPS,
    "never_verified": ImageLabel.UNKNOWN,
}
"""Of a false positive: its class is in the image (so its boxes are wrong, or it is one too many), is not, may be, or
nobody was asked."""


class Verdicts(Document, frozen=True):
    """False positives by what image labels say of their class."""

    in_image: Count
    verified_wrong: Count
    ambiguous: Count
    never_verified: Count


class FalsePositives(Document, frozen=True):
    """Unmatched predictions of one protocol by what the image labels say of their class and image.

    Attributes:
        all: number by verdict.
        top: the same among each class's best predictions, as many as it has ground truths.
        without_unknown: mAP with those left out of the lists that nobody ever verified.
        verified_only: mAP with ambiguous ones left out, too.
    """

    all: Verdicts
    top: Verdicts
    without_unknown: MeanFields = msgspec.field(name="without_never_verified")
    verified_only: MeanFields


def false_positives(task: Task, protocols: Sequence[StrictOptions]) -> dict[str, FalsePositives]:
    """Split the false positives of each protocol; nothing where the ground truth has no image labels."""
    labels, found = task.truth.image_labels, {}
    if labels is None:
        return {}
    for options in protocols:
        entries = strict_entries(task, options)
        label = labels[entries.category, entries.image]
        false = entries.credit == 0
        unknown, perhaps = false & (label == ImageLabel.UNKNOWN), false & (label == ImageLabel.PERHAPS)
        top = np.zeros(len(label), bool)
        top[_first(entries)] = True
        found[options.protocol] = FalsePositives(
            _verdicts(label, false),
            _verdicts(label, false & top),
            MeanFields(**entries.select(~unknown).means()._asdict()),
            MeanFields(**entries.select(~(unknown | perhaps)).means()._asdict()),
        )
    return found


def _first(entries: Entries) -> Indices:
    """Rows of the entries among each class's best, as many as it has ground truths."""
    truths = entries.truths
    order = np.lexsort((-entries.score, entries.category))
    ends = np.cumsum(np.bincount(entries.category, minlength=len(truths)))
    first = np.concatenate([[0], ends])[entries.category[order]]
    rows: Indices = order[np.arange(len(order)) - first < truths[entries.category[order]]]
    return rows


def _verdicts(label: NDArray[np.int8], rows: Mask) -> Verdicts:
    return Verdicts(**{name: int((label[rows] == verdict).sum()) for name, verdict in VERDICTS.items()})
