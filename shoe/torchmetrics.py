"""torchmetrics metric for Lightning and for several processes (extra ``torch``)."""

import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.comparison.run import SEMANTIC
from shoe.core.arrays import mask_of
from shoe.core.boxes import Coordinates
from shoe.core.errors import MissingExtraError, OptionError, check_kind, pluralize, quote, unknown_name
from shoe.core.interactions import Interactions, check_bad_boxes, image_index
from shoe.predictions.vlm.images import number_of_image
from shoe.scoring.score import Report
from shoe.scoring.streaming import Metric

try:
    import torch
    from torchmetrics import Metric as TorchMetric
except ModuleNotFoundError as error:
    raise MissingExtraError(str(error.name), "torch") from None

_COLUMNS = dict.fromkeys(("human_boxes", "object_boxes", "verb", "object", "score"), torch.float64)
_COLUMNS |= dict.fromkeys(("verb", "object"), torch.int64)
# ``unknown`` has the names of images with index -1, as UTF-8, each ended by a zero byte, because states are tensors.
_STATES = {"image": torch.int64, "rows": torch.int64, "unknown": torch.uint8, **_COLUMNS}


class HoiMetric(TorchMetric):  # type: ignore[misc]
    """torchmetrics metric that scores human-object interactions like :func:`shoe.score`, across processes.

    ``update`` takes a list of images, each a mapping as detectors produce it::

        {"image": "HICO_test2015_00000001.jpg",
         "human_boxes": (n, 4) x1, y1, x2, y2 in pixels of the original image, "object_boxes": (n, 4),
         "verb": (n,) indices into ``verbs``, "object": (n,) indices into ``objects``, "score": (n,)}

    with all predictions of the image. "verb" and "object" may also be lists of these words. Distributed samplers repeat
    images so that all processes get the same number of images. Therefore only the first occurrence of an image counts,
    and ``compute`` warns of repeated images.

    "image" is the file name of the image in the ground truth, or its number as in prediction files (HICO-DET: 12 is
    HICO_test2015_00000012.jpg). Predictions for images that are not in the ground truth do not count: ``compute`` warns
    of them, and raises InputError if no image is in the ground truth.

    ``compute`` returns one tensor per metric: "PROTOCOL_map", "PROTOCOL_map_rare" and "PROTOCOL_map_non_rare" of each
    exact-label protocol, and "shoe_map", "shoe_mf1", "shoe_mf1_best_tau", "shoe_gt_miss_rate",
    "shoe_prediction_miss_rate" and "shoe_no_overlap_rate". Values that cannot be measured are NaN. ``compute`` also
    stores the :class:`shoe.Report` in the attribute ``report``.
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
        bad_boxes: str = "refuse",
        **torchmetrics_arguments: Any,
    ) -> None:
        """Create the metric; ``verbs``, ``objects`` and ``coordinates`` define the meaning of predicted tensors.

        Args:
            verbs: verb of each index that the model predicts; by default the dataset's verbs in its order.
            objects: object of each index; by default the dataset's objects in its order.
            coordinates: box convention of the tensors.
            similarity, protocols, options: as in :func:`shoe.score`.
            bad_boxes: rule for predictions with an invalid box or score, as in :meth:`Interactions.from_columns`.
            torchmetrics_arguments: arguments of torchmetrics, like ``sync_on_compute``.

        Raises OptionError for an unknown protocol, option or value.
        """
        check_bad_boxes(bad_boxes)
        super().__init__(**torchmetrics_arguments)
        self.shoe = Metric(truth, similarity=similarity, protocols=protocols, options=options)
        self.verbs = tuple(verbs or truth.classes.verbs)
        self.objects = tuple(objects or truth.classes.objects)
        self.coordinates = coordinates
        self.bad_boxes = bad_boxes
        self.report: Report | None = None
        for name in _STATES:
            self.add_state(name, default=[], dist_reduce_fx="cat")
        self._start()

    def reset(self) -> None:
        """Delete the predictions of all images; ``report`` is kept."""
        super().reset()
        self._start()

    def _start(self) -> None:
        # Every state gets a tensor: other processes would wait for the states of a process without images.
        for name, kind in _STATES.items():
            shape = (0, 4) if name.endswith("boxes") else (0,)
            getattr(self, name).append(torch.zeros(shape, dtype=kind, device=self.device))

    def update(self, predictions: Sequence[Mapping[str, Any]]) -> None:
        """Add the predictions of some images. If an image is invalid, the images before it have been added.

        Raises:
            OptionError: if an element is not a mapping with all keys, "image" is not the name or number of an
                image, or a word is not in ``verbs`` or ``objects``.
            InputError: for the first invalid prediction, as in :meth:`Interactions.from_columns`.
        """
        for each in predictions:
            check_kind("predictions", each, Mapping, '[{"image": NAME, "human_boxes": ..., ...}]')
            if missing := [name for name in _COLUMNS if each.get(name) is None] or ["image"] * ("image" not in each):
                raise OptionError(f"predictions: found {quote(list(each))}, expected also the key {missing[0]}")
            image, name = self._image_of(each["image"])
            words = {"verb": self.verbs, "object": self.objects}
            tensors = {
                name: torch.as_tensor(_indices(name, each[name], words[name]) if name in words else each[name])
                .detach()
                .to_dense()
                .to(self.device, kind)
                for name, kind in _COLUMNS.items()
            }
            self._table([name], [len(tensors["score"])], tensors)  # raises for invalid values of this batch
            if image < 0:
                encoded = np.frombuffer(f"{name}\0".encode(), np.uint8).copy()
                self.unknown.append(torch.from_numpy(encoded).to(self.device))
            self.image.append(torch.tensor([image], device=self.device))
            self.rows.append(torch.tensor([len(tensors["score"])], device=self.device))
            for name, tensor in tensors.items():
                getattr(self, name).append(tensor)

    def compute(self) -> dict[str, torch.Tensor]:
        """Score the predictions of all processes, and return one tensor per metric, by name.

        Raises:
            InputError: if there are predictions, but none of their images is in the ground truth.
        """
        image, rows = (self._all(name).cpu().numpy() for name in ("image", "rows"))
        known = self.shoe.truth.interactions.images
        unknown = iter(self._all("unknown").cpu().numpy().tobytes().decode().split("\0"))
        names = np.array([known[i] if i >= 0 else next(unknown) for i in image.tolist()], object)
        first = mask_of(np.unique(names.astype(str), return_index=True)[1], len(image))
        if not first.all():
            repeated = f"{pluralize(int((~first).sum()), 'image')} occurred more than once"
            rule = "only the first occurrence counts: call `reset()` before each epoch, and `update` once per image"
            warnings.warn(f"{repeated}; {rule}", stacklevel=2)
        rows_kept = torch.from_numpy(np.repeat(first, rows))
        columns = {name: self._all(name).cpu()[rows_kept] for name in _COLUMNS}
        self.shoe.reset()
        self.shoe.update(self._table(names[first].tolist(), rows[first], columns))
        self.report = self.shoe.compute()
        self.shoe.reset()
        return {name: torch.tensor(np.nan if value is None else value) for name, value in _metrics(self.report).items()}

    def _all(self, name: str) -> torch.Tensor:
        state = getattr(self, name)
        # The states of several processes come concatenated.
        return state if isinstance(state, torch.Tensor) else torch.cat(state)

    def _image_of(self, value: Any) -> tuple[int, str]:
        """Return index (-1 if unknown) and name of an image in the ground truth, given its name or number."""
        truth = self.shoe.truth
        while isinstance(value, list | tuple) and len(value) == 1:
            (value,) = value
        if isinstance(value, torch.Tensor | np.ndarray | np.generic) and value.reshape(-1).shape == (1,):
            value = value.item()
        number, names = number_of_image(value), [str(value).replace("\0", "")]
        if number is None and not isinstance(value, str):
            raise OptionError(f"predictions: image: found {quote(value)}, expected the name or number of one image")
        with suppress(ValueError):
            names.append(truth.benchmark.image_name(value if number is None else number))
        found = image_index(truth.names_of(tuple(names)), truth.interactions.images).tolist()
        image = next((index for index in found if index >= 0), -1)
        return image, names[-1] if image < 0 else truth.interactions.images[image]

    def _table(self, images: Sequence[str], rows: Any, columns: Mapping[str, torch.Tensor]) -> Interactions:
        return Interactions.from_columns(
            images=images,
            image=np.repeat(np.arange(len(images)), rows),
            **{name: tensor.cpu().numpy() for name, tensor in columns.items()},
            verbs=self.verbs,
            objects=self.objects,
            coordinates=self.coordinates,
            bad_boxes=self.bad_boxes,
            source="predictions",
        )


def _indices(name: str, values: Any, words: Sequence[str]) -> Any:
    if isinstance(values, torch.Tensor) or not len(values) or not isinstance(values[0], str):
        found = torch.as_tensor(values)
        if found.is_floating_point() and len(broken := found[found != found.trunc()]):
            raise OptionError(f"predictions: {name}: found {broken[0].item():g}, expected an index: a whole number")
        return found
    index = {word: i for i, word in enumerate(words)}
    if (unknown := next((value for value in values if value not in index), None)) is not None:
        raise unknown_name(name, str(unknown), words)
    return [index[value] for value in values]


def _metrics(report: Report) -> dict[str, float | None]:
    names, results = ("map", "map_rare", "map_non_rare"), report.strict_results
    metrics = {f"{each.options.protocol}_{name}": getattr(each, name) for each in results for name in names}
    if report.semantic is not None or "semantic" in report.absent:
        metrics |= {f"shoe_{name}": getattr(report.semantic, name, None) for name in SEMANTIC}
    return metrics
