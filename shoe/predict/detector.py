"""Detection of objects with any detector of transformers, with fixed classes or zero-shot.

All images of a batch have the same size, so that no image is padded. Therefore, except for rounding, the boxes of an
image do not depend on the other images in the batch. The file of detections contains the labels of the detector, which
are translated to objects of the benchmark when the file is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from inspect import signature
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError, OptionError, quote
from shoe.maps.local_models import LocalModel, files_of
from shoe.predict.backends.transformers import on_device
from shoe.predict.detection_files import DETECTIONS, Names, check_same, detected, objects_of
from shoe.predict.images import Picture, opened
from shoe.predict.records import Detected, Detection, appender, read_lines, write_lines

if TYPE_CHECKING:
    from PIL.Image import Image

_DECIMALS, _SCORE_DECIMALS = 2, 6
_MOST_NAMED = 5


class DetectorConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a detector.

    Attributes:
        model: name on the hub, or a folder.
        revision: revision on the hub.
        threshold: minimum score of a box; low by default, because pair rules have their own threshold.
        words: words for which a zero-shot detector searches; not used by a detector with fixed classes.
        device: device that runs the model; ``auto`` is a GPU if available, else the CPU.
        dtype: precision of weights and computations.
        batch_size: number of images per batch.
    """

    model: str
    revision: str = ""
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.05
    words: tuple[str, ...] = ()
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 8


class Detector(LocalModel):
    """Object detector. Its weights are loaded when the first image is processed.

    Attributes:
        labels: classes of the detector, or the words for which a zero-shot detector searches.
        by: all settings on which the boxes depend, as JSON.
    """

    def __init__(self, config: DetectorConfig) -> None:
        """Read the configuration and the classes of a detector; raise OptionError if the model is no detector."""
        super().__init__(config, f"detector {quote(config.model)}", "predict", needed_by="a detector")
        self.config = config
        about = self.load("AutoConfig")
        with self.loading():
            models = import_module("transformers.models.auto.modeling_auto")
        self.is_zero_shot = about.model_type in models.MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES
        if not self.is_zero_shot and about.model_type not in models.MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES:
            raise OptionError(f"{self.name}: a model of type {about.model_type} is not an object detection model")
        self.labels = tuple(dict.fromkeys(config.words if self.is_zero_shot else about.id2label.values()))
        folder = Path(config.model)
        commit = {"revision": getattr(about, "_commit_hash", None) or config.revision}
        self.by: Mapping[str, Any] = {
            "detector": folder.name if folder.is_dir() else config.model,
            **(files_of(config.model) or commit),
            "threshold": config.threshold,
            "dtype": config.dtype,
            **({"words": list(config.words)} if self.is_zero_shot else {}),
            "transformers": self.transformers.__version__,
        }

    @cached_property
    def _processor(self) -> Any:
        return self.load("AutoProcessor" if self.is_zero_shot else "AutoImageProcessor")

    @cached_property
    def _model(self) -> Any:
        kind = "ZeroShotObjectDetection" if self.is_zero_shot else "ObjectDetection"
        return self.load_weights(f"AutoModelFor{kind}")

    def check_labels(self, names: Names, benchmark: Benchmark) -> None:
        """Raise InputError if no class of the detector is an object of the benchmark."""
        if not any(objects_of(self.labels, names, benchmark)):
            found = f"only other labels, such as {', '.join(self.labels[:_MOST_NAMED])}"
            hint, expected = "add --labels FILE with an object for each label", f"objects of {benchmark.name}"
            raise InputError(self.config.model, field="labels", found=found, expected=expected, hint=hint)

    def detect(self, images: Sequence[Image]) -> list[list[Detection]]:
        """Return the detections in RGB images of equal size, one list per image, with the labels of the detector.

        Boxes are clipped to the image and sorted by descending score. Empty boxes are left out.
        """
        torch = self.torch
        words = {"text": [list(self.config.words)] * len(images)} if self.is_zero_shot else {}
        inputs = self._processor(images=list(images), return_tensors="pt", **words)
        with torch.inference_mode():
            outputs = self._model(**on_device(inputs, self.device, getattr(torch, self.config.dtype)))
        sizes = [(image.height, image.width) for image in images]
        settings = {"threshold": self.config.threshold, "target_sizes": sizes}
        if self.is_zero_shot:
            read = self._processor.post_process_grounded_object_detection
            if "input_ids" in signature(read).parameters:  # needed by detectors that ground phrases
                settings["input_ids"] = inputs["input_ids"]
            results = read(outputs, text_labels=words["text"], **settings)
            labels = [result["text_labels"] for result in results]
        else:
            results = self._processor.post_process_object_detection(outputs, **settings)
            labels = [[self._model.config.id2label[int(label)] for label in result["labels"]] for result in results]
        return [
            _rounded(result["boxes"].float().tolist(), names, result["scores"].float().tolist(), image.size)
            for result, names, image in zip(results, labels, images, strict=True)
        ]


def _rounded(
    boxes: Sequence[Sequence[float]], labels: Sequence[str], scores: Sequence[float], size: tuple[int, int]
) -> list[Detection]:
    detections = []
    for box, label, score in zip(boxes, labels, scores, strict=True):
        x1, y1, x2, y2 = (
            round(min(max(value, 0.0), float(most)), _DECIMALS) for value, most in zip(box, 2 * size, strict=True)
        )
        if x1 < x2 and y1 < y2:
            detections.append(Detection((x1, y1, x2, y2), label, round(min(max(score, 0.0), 1.0), _SCORE_DECIMALS)))
    return sorted(detections, key=lambda detection: -detection.score)


def detect_all(
    pictures: Sequence[Picture],
    detector: Detector,
    path: str | Path,
    progress: Callable[[int], object] = lambda _: None,
    known: Iterable[Detected] = (),
) -> None:
    """Detect objects in images, and write the detections to a new or unfinished file.

    The file contains the given images, from large to small, followed by all other images that it contained before, by
    name. Detections of the same detector from other files (``known``) are copied. ``progress`` is called with the
    number of finished images. Raise InputError if the file is from another detector, if an image differs from the image
    in the file, or if an image cannot be read.
    """
    with appender(path, DETECTIONS, detector.by) as add:
        by_name = {picture.name: picture for picture in pictures}
        done: dict[str, Detected] = {}

        def write(record: Detected) -> None:
            add(record)
            done[record.image] = record

        for record in read_lines(path, Detected, DETECTIONS)[1]:
            check_same(Path(path), record, by_name.get(record.image))
            done[record.image] = record
        for record in known:
            if record.image not in done:
                write(record)
        left = [picture for picture in pictures if picture.name not in done]
        count = len(pictures) - len(left)
        progress(count)
        for batch in batches_of_one_size(left, detector.config.batch_size):
            for picture, boxes in zip(batch, detector.detect(list(map(opened, batch))), strict=True):
                write(detected(picture, boxes))
            count += len(batch)
            progress(count)
        order = [picture.name for picture in sorted(pictures, key=_size)]
        order += sorted(done.keys() - by_name.keys())
        if list(done) != order:
            write_lines(path, (done[image] for image in order), DETECTIONS, detector.by)


def batches_of_one_size(pictures: Iterable[Picture], most: int) -> Iterator[list[Picture]]:
    """Yield batches of at most ``most`` images of equal width and height, the largest images first."""
    for _, group in groupby(sorted(pictures, key=_size), _size):
        same = list(group)
        yield from (same[start : start + most] for start in range(0, len(same), most))


def _size(picture: Picture) -> tuple[int, int, int]:
    return -picture.width * picture.height, picture.width, picture.height
