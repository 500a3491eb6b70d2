"""torchmetrics metric for Lightning and for several processes (extra ``torch``)."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.core.boxes import Coordinates
from shoe.core.errors import MissingExtraError, OptionError, check_kind, many, quote
from shoe.core.interactions import Interactions, image_index
from shoe.scoring.metric import Metric
from shoe.scoring.score import Report

try:
    import torch
    from torchmetrics import Metric as TorchMetric
except ModuleNotFoundError as error:
    raise MissingExtraError(str(error.name), "torch") from None

_COLUMNS = {
    "human_boxes": torch.float64,
    "object_boxes": torch.float64,
    "verb": torch.int64,
    "object": torch.int64,
    "score": torch.float64,
}


class HoiMetric(TorchMetric):  # type: ignore[misc]
    """torchmetrics metric that scores human-object interactions like :func:`shoe.score`, across processes.

    ``update`` takes a list of images, each a mapping as detectors produce it::

        {"image": "HICO_test2015_00000001.jpg",
         "human_boxes": (n, 4) x1, y1, x2, y2 in pixels of the original image, "object_boxes": (n, 4),
         "verb": (n,) indices into ``verbs``, "object": (n,) indices into ``objects``, "score": (n,)}

    with all predictions of the image. Samplers for several processes repeat images to make their parts equally long, so
    only the first occurrence of an image counts, and ``compute`` warns of repeated images.

    ``compute`` returns one tensor per metric: "PROTOCOL_map", "PROTOCOL_map_rare" and "PROTOCOL_map_non_rare" of each
    exact-label protocol, and "shoe_map", "shoe_mf1", "shoe_gt_miss_rate" and "shoe_prediction_miss_rate". Values that
    cannot be measured are NaN. ``report`` then holds the :class:`shoe.Report`.
    """

    is_differentiable = False
    higher_is_better = True
    full_state_update = False

    def __init__(
        self,
        truth: GroundTruth,
        *,
        verbs: Sequence[str] | None = None,
        objects: Sequence[str] | None = None,
        coordinates: Coordinates = Coordinates.CONTINUOUS,
        similarity: str | Path = "dataset",
        protocols: Sequence[str] = (),
        options: Sequence[str] = (),
        **torchmetrics_arguments: Any,
    ) -> None:
        """Check the arguments of :class:`shoe.Metric`, and set the meaning of the tensors.

        Args:
            truth: ground truth to score against.
            verbs: verb of each index that the model predicts; by default the dataset's verbs in its order.
            objects: object of each index; by default the dataset's objects in its order.
            coordinates: box convention of the tensors.
            similarity: name of a built-in map or baseline, folder of a map, or "dataset" for the benchmark's own map.
            protocols: names of protocols; if empty, the benchmark's defaults.
            options: ``NAME=VALUE`` settings that change the options of the protocols.
            torchmetrics_arguments: arguments of torchmetrics, like ``sync_on_compute``.

        Raises:
            OptionError: for an unknown protocol, option or value.
        """
        super().__init__(**torchmetrics_arguments)
        self.shoe = Metric(truth, similarity=similarity, protocols=protocols, options=options)
        self.verbs = tuple(verbs or truth.classes.verbs)
        self.objects = tuple(objects or truth.classes.objects)
        self.coordinates = coordinates
        self.report: Report | None = None
        for name in ("image", "rows", *_COLUMNS):
            self.add_state(name, default=[], dist_reduce_fx="cat")
        self._start()

    def reset(self) -> None:
        """Delete all images."""
        super().reset()
        self._start()

    def _start(self) -> None:
        # Every state gets a tensor: other processes would wait for the states of a process without images.
        for name, kind in {"image": torch.int64, "rows": torch.int64, **_COLUMNS}.items():
            shape = (0, 4) if name.endswith("boxes") else (0,)
            getattr(self, name).append(torch.zeros(shape, dtype=kind, device=self.device))

    def update(self, predictions: Sequence[Mapping[str, Any]]) -> None:
        """Add the predictions of some images; images that the ground truth does not have are left out.

        Raises:
            OptionError: if an element is not a mapping with all keys.
            InputError: naming the first record that breaks a rule, as :meth:`Interactions.from_columns` does.
        """
        for each in predictions:
            check_kind("predictions", each, Mapping, '[{"image": NAME, "human_boxes": ..., ...}]')
            missing = next((name for name in ("image", *_COLUMNS) if name not in each), None)
            if missing is not None:
                raise OptionError(f"predictions: found {quote(list(each))}, expected {missing}, too")
            truth = self.shoe.truth
            (image,) = image_index(truth.names_of((str(each["image"]),)), truth.interactions.images).tolist()
            if image < 0:
                continue
            tensors = {
                name: torch.as_tensor(each[name]).detach().to(self.device, kind) for name, kind in _COLUMNS.items()
            }
            self._table([image], [len(tensors["score"])], tensors)  # raises for invalid values of this batch
            self.image.append(torch.tensor([image], device=self.device))
            self.rows.append(torch.tensor([len(tensors["score"])], device=self.device))
            for name, tensor in tensors.items():
                getattr(self, name).append(tensor)

    def compute(self) -> dict[str, torch.Tensor]:
        """Score all predictions of all processes."""
        image, rows = (self._all(name).cpu().numpy() for name in ("image", "rows"))
        first = np.zeros(len(image), bool)
        first[np.unique(image, return_index=True)[1]] = True
        if not first.all():
            repeated = many(int((~first).sum()), "image")
            warnings.warn(f"{repeated} came more than once and count as they first came", stacklevel=2)
        rows_kept = torch.from_numpy(np.repeat(first, rows))
        columns = {name: self._all(name).cpu()[rows_kept] for name in _COLUMNS}
        self.shoe.reset()
        self.shoe.update(self._table(image[first], rows[first], columns))
        self.report = self.shoe.compute()
        self.shoe.reset()
        return {name: torch.tensor(np.nan if value is None else value) for name, value in _metrics(self.report).items()}

    def _all(self, name: str) -> torch.Tensor:
        state = getattr(self, name)
        # The states of several processes come concatenated.
        return state if isinstance(state, torch.Tensor) else torch.cat(state)

    def _table(self, image: Any, rows: Any, columns: Mapping[str, torch.Tensor]) -> Interactions:
        names = self.shoe.truth.interactions.images
        arrays = {name: tensor.cpu().numpy() for name, tensor in columns.items()}
        return Interactions.from_columns(
            images=[names[i] for i in image],
            image=np.repeat(np.arange(len(image)), rows),
            **arrays,
            verbs=self.verbs,
            objects=self.objects,
            coordinates=self.coordinates,
            source="predictions",
        )


def _metrics(report: Report) -> dict[str, float | None]:
    metrics: dict[str, float | None] = {}
    for each in report.strict_results:
        for name in ("map", "map_rare", "map_non_rare"):
            metrics[f"{each.options.protocol}_{name}"] = getattr(each, name)
    if report.semantic is not None:
        for name in ("map", "mf1", "gt_miss_rate", "prediction_miss_rate"):
            metrics[f"shoe_{name}"] = getattr(report.semantic, name)
    return metrics
