"""The evaluator as a metric of torchmetrics: for Lightning, and for several processes (extra ``torch``)."""

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
    """Scores human-object interactions as :func:`shoe.score` does; its states travel as torchmetrics' do.

    ``update`` takes a list of images, each a mapping as detectors give them::

        {"image": "HICO_test2015_00000001.jpg",
         "human_boxes": (n, 4) x1, y1, x2, y2 in pixels of the original image, "object_boxes": (n, 4),
         "verb": (n,) indices into ``verbs``, "object": (n,) indices into ``objects``, "score": (n,)}

    with all predictions of the image. Samplers for several processes repeat images to make their parts equally long: an
    image that came more than once counts as it first came, and ``compute`` warns of it.

    ``compute`` gives a tensor a figure: "PROTOCOL_map", "PROTOCOL_map_rare", "PROTOCOL_map_non_rare" of each strict
    protocol, and "shoe_map", "shoe_mf1", "shoe_gt_miss_rate", "shoe_prediction_miss_rate"; NaN where there is nothing
    to measure. ``report`` then holds the whole :class:`shoe.Report`.
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
        **of_torchmetrics: Any,
    ) -> None:
        """Take what :class:`shoe.Metric` takes, and what says how tensors are meant.

        Args:
            truth: what predictions are scored against.
            verbs: the words that the model's numbers stand for; the dataset's, in its order, if absent.
            coordinates: what the numbers of boxes count.
            similarity: name of a shipped map or baseline, a map's folder, or "dataset": the benchmark's own map.
            protocols: names of protocols; the benchmark's defaults if none.
            options: ``NAME=VALUE`` settings that change the protocols' choices.
            of_torchmetrics: what torchmetrics takes, as ``sync_on_compute``.

        Raises:
            OptionError: for an unknown protocol, option or value.
        """
        super().__init__(**of_torchmetrics)
        self.shoe = Metric(truth, similarity=similarity, protocols=protocols, options=options)
        self.verbs = tuple(verbs or truth.classes.verbs)
        self.objects = tuple(objects or truth.classes.objects)
        self.coordinates = coordinates
        self.report: Report | None = None
        for name in ("image", "rows", *_COLUMNS):
            self.add_state(name, default=[], dist_reduce_fx="cat")
        self._start()

    def reset(self) -> None:
        """Forget all images, as before the first."""
        super().reset()
        self._start()

    def _start(self) -> None:
        """Give every state a tensor: a process without images would leave the others waiting for its states."""
        for name, kind in {"image": torch.int64, "rows": torch.int64, **_COLUMNS}.items():
            shape = (0, 4) if name.endswith("boxes") else (0,)
            getattr(self, name).append(torch.zeros(shape, dtype=kind, device=self.device))

    def update(self, predictions: Sequence[Mapping[str, Any]]) -> None:
        """Add the predictions of some images; those of images that the ground truth does not have are left out.

        Raises:
            OptionError: for what is no such mapping.
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
            self._table([image], [len(tensors["score"])], tensors)  # checked here, where the batch is at hand
            self.image.append(torch.tensor([image], device=self.device))
            self.rows.append(torch.tensor([len(tensors["score"])], device=self.device))
            for name, tensor in tensors.items():
                getattr(self, name).append(tensor)

    def compute(self) -> dict[str, torch.Tensor]:
        """Score everything that all processes collected."""
        image, rows = (self._all(name).cpu().numpy() for name in ("image", "rows"))
        first = np.zeros(len(image), bool)
        first[np.unique(image, return_index=True)[1]] = True
        if not first.all():
            again = many(int((~first).sum()), "image")
            warnings.warn(f"{again} came more than once and count as they first came", stacklevel=2)
        kept = torch.from_numpy(np.repeat(first, rows))
        columns = {name: self._all(name).cpu()[kept] for name in _COLUMNS}
        self.shoe.reset()
        self.shoe.update(self._table(image[first], rows[first], columns))
        self.report = self.shoe.compute()
        self.shoe.reset()
        return {name: torch.tensor(np.nan if of is None else of) for name, of in _figures(self.report).items()}

    def _all(self, name: str) -> torch.Tensor:
        state = getattr(self, name)
        return state if isinstance(state, torch.Tensor) else torch.cat(state)  # those of several processes come joined

    def _table(self, image: Any, rows: Any, columns: Mapping[str, torch.Tensor]) -> Interactions:
        names = self.shoe.truth.interactions.images
        arrays = {name: tensor.cpu().numpy() for name, tensor in columns.items()}
        return Interactions.from_columns(
            images=[names[i] for i in image],
            image=np.repeat(np.arange(len(image)), rows),
            human_boxes=arrays["human_boxes"],
            object_boxes=arrays["object_boxes"],
            verb=arrays["verb"],
            object=arrays["object"],
            score=arrays["score"],
            verbs=self.verbs,
            objects=self.objects,
            coordinates=self.coordinates,
            source="predictions",
        )


def _figures(report: Report) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for each in report.strict_results:
        name = each.options.protocol
        found |= {f"{name}_map": each.map, f"{name}_map_rare": each.map_rare, f"{name}_map_non_rare": each.map_non_rare}
    if (shoe := report.semantic) is not None:
        names = ("map", "mf1", "gt_miss_rate", "prediction_miss_rate")
        found |= {f"shoe_{name}": getattr(shoe, name) for name in names}
    return found
