"""A streaming metric for training loops: collect batches, merge workers, compute once."""

from __future__ import annotations

from pathlib import Path

from shoe.benchmarks.truth import GroundTruth
from shoe.core.interactions import Interactions, concatenate
from shoe.scoring.score import DEFAULT_PROTOCOLS, Report, score


class Metric:
    """Collects predictions; ``compute`` is :func:`shoe.score` of all of them, in whatever batches they came.

    Example:
        >>> metric = Metric(truth)                   # doctest: +SKIP
        >>> for batch in loader:                     # doctest: +SKIP
        ...     metric.update(model(batch))
        >>> metric.compute().semantic.map            # doctest: +SKIP
    """

    def __init__(
        self,
        truth: GroundTruth,
        *,
        similarity: str | Path = "hico-det",
        protocols: tuple[str, ...] = DEFAULT_PROTOCOLS,
        options: tuple[str, ...] = (),
    ) -> None:
        self.truth = truth
        self._settings = (similarity, protocols, options)
        self._batches: list[Interactions] = []

    def update(self, predictions: Interactions) -> None:
        """Add the predictions of some images."""
        self._batches.append(predictions)

    def merge(self, other: Metric) -> None:
        """Add what another worker collected."""
        self._batches += other._batches

    def compute(self) -> Report:
        """Score everything collected so far.

        Raises:
            OptionError: for an unknown protocol, option or value.
            InputError: when the predictions and the ground truth have no image in common.
        """
        similarity, protocols, options = self._settings
        return score(
            concatenate(self._batches), self.truth, similarity=similarity, protocols=protocols, options=options
        )
