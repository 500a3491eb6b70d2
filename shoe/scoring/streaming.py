"""Streaming metric for training loops."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.protocols import choose
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import OptionError, check_kind, pluralize, quote
from shoe.core.interactions import Interactions, concatenate
from shoe.core.public import public_function
from shoe.scoring.score import Report, score
from shoe.similarity import OF_DATASET


class Metric:
    """Streaming metric: ``update`` collects batches of predictions, ``compute`` scores them all by :func:`shoe.score`.

    A batch is a table; :meth:`Interactions.from_columns` builds a table from the arrays of a training loop. The
    predictions of an image may be spread over several batches. All rows are stored, because matching and caps depend on
    all rows of an image, and the threshold of SHOE-mF1 on all rows of the data set. Each column is stored in the
    smallest type that keeps the values exactly: 40 bytes per triplet if boxes and scores are in single precision.

    Example:
        >>> import numpy as np, shoe
        >>> from shoe.demo import TRUTH
        >>> truth = shoe.read_ground_truth(TRUTH)
        >>> metric = shoe.Metric(truth, protocols=["qpic"])
        >>> batch = shoe.Interactions.from_columns(
        ...     images=truth.interactions.images[:1], image=np.array([0, 0]),
        ...     human_boxes=np.array([[20.0, 30, 100, 200], [25, 30, 100, 210]]),
        ...     object_boxes=np.array([[10.0, 90, 160, 240], [10, 95, 160, 240]]),
        ...     verb=np.array([76, 87]), verbs=truth.classes.verbs,
        ...     object=np.array([9, 9]), objects=truth.classes.objects, score=np.array([0.9, 0.4]),
        ... )
        >>> metric.update(batch)
        >>> 0 <= metric.compute().strict.map <= 1
        True
    """

    def __init__(
        self,
        truth: GroundTruth,
        *,
        similarity: str | Path = "dataset",
        protocols: Sequence[str] = (),
        options: Sequence[str] = (),
    ) -> None:
        """Check and store the arguments of :func:`shoe.score`.

        Raises OptionError for an unknown protocol, option or value.
        """
        check_kind("truth", truth, GroundTruth, "shoe.read_ground_truth(FILE)")
        benchmark, labels = truth.benchmark, truth.image_labels is not None
        names = protocols or benchmark.usual_protocols
        choose(names, options, benchmark.protocols, benchmark.role_protocols, image_labels=labels)
        self.truth = truth
        similarity = benchmark.similarity if similarity == OF_DATASET else similarity
        self._settings = similarity, tuple(protocols), tuple(options)
        self._batches: list[Interactions] = []

    def __repr__(self) -> str:
        return f"<Metric: {self.truth!r}, {sum(map(len, self._batches)):,} predictions so far>"

    def update(self, predictions: Interactions) -> None:
        """Add the predictions of some images; arrays are copied, so the caller may reuse them.

        Raises OptionError if ``predictions`` is not a table of predictions.
        """
        check_kind("predictions", predictions, Interactions, "shoe.Interactions.from_columns(...)")
        self._batches.append(_packed(predictions, self._batches[-1] if self._batches else predictions))

    def reset(self) -> None:
        """Delete all batches; the ground truth and the options are kept."""
        self._batches = []

    def merge(self, other: Metric) -> None:
        """Add the batches of another worker's metric.

        Raises OptionError if ``other`` is this metric itself, or differs in ground truth, map, protocols or options.
        """
        check_kind("other", other, Metric, "shoe.Metric(TRUTH)")
        if other is self:
            raise OptionError("other: found this metric itself, expected the metric of another worker")
        names = "similarity", "protocols", "options"
        for name, mine, its in zip(names, self._settings, other._settings, strict=True):
            if str(mine) != str(its):
                raise OptionError(f"other: {name}: found {quote(its)}, expected {quote(mine)} as in this metric")
        if other.truth is not self.truth and other.truth.signature_fields() != self.truth.signature_fields():
            raise OptionError(f"other: truth: found {other.truth!r}, expected {self.truth!r} as in this metric")
        self._batches += other._batches

    @public_function
    def compute(self) -> Report:
        """Return the report of all predictions collected so far, and issue its warnings as Python warnings.

        Raises:
            OptionError: for an unknown similarity map, or an option that this map does not support.
            InputError: if the predictions and the ground truth have no image in common.
        """
        similarity, protocols, options = self._settings
        table = concatenate(self._batches)
        report = score(table, self.truth, similarity=similarity, protocols=protocols, options=options)
        # Successive batches may share an image; an image that comes again after others is a sign of epochs.
        given = [batch.images[i] for batch in self._batches for i in np.flatnonzero(np.diff(batch.offsets))]
        runs = Counter(name for name, _ in groupby(given))
        again = sum(count > 1 for count in runs.values())
        found = f"epochs: {again:,} of {pluralize(len(runs), 'image')} came again in a later update after other images"
        line = f"{found}, and all their predictions count: call `reset()` before each epoch"
        return replace(report, said=(line,)) if 0 < len(runs) <= 2 * again else report


def _packed(table: Interactions, before: Interactions) -> Interactions:
    # Copy with compact columns; vocabularies equal to those of the table before are shared with it.
    columns = {name: getattr(table, name).copy() for name in ("sizes", "coordinates", "offsets")}
    for name in ("human_boxes", "object_boxes", "score", "verb", "object"):
        columns[name] = _small(getattr(table, name))
    verbs = before.verbs if before.verbs == table.verbs else table.verbs
    objects = before.objects if before.objects == table.objects else table.objects
    return replace(table, **columns, verbs=verbs, objects=objects)


def _small(column: NDArray[Any]) -> NDArray[Any]:
    kinds = (np.float32,) if column.dtype.kind == "f" else (np.uint8, np.uint16)
    with np.errstate(over="ignore"):
        made = (column.astype(kind) for kind in kinds)
        small = next((small for small in made if np.array_equal(small, column)), None)
    return column.copy() if small is None else small
