"""Boxes from any detector of transformers: one with classes of its own, or one that looks for words (zero-shot).

Only images of one size go into a batch, so that none is padded: except for rounding, the boxes of an image do not
depend on the images beside it. Labels are kept as the detector has them; reading the file maps them to objects.
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
from shoe.predict.detection_files import DETECTIONS, Names, check_same, detected, objects_of
from shoe.predict.images import Picture, opened
from shoe.predict.records import Detected, Detection, growing, read_lines, write_lines

if TYPE_CHECKING:
    from PIL.Image import Image

_DECIMALS, _SCORE_DECIMALS = 2, 6
_MOST_NAMED = 5


class DetectorConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of a detector.

    Attributes:
        model: as the hub calls it, or a folder.
        revision: of a model of the hub.
        threshold: boxes with a lower score are not kept; low, since pairs have a threshold of their own.
        words: what a zero-shot detector looks for; a detector with classes of its own is told nothing.
        device: where it runs; auto is a GPU if there is one.
        dtype: precision of weights and sums.
        batch_size: pictures at once.
    """

    model: str
    revision: str = ""
    threshold: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.05
    words: tuple[str, ...] = ()
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 8


class Detector(LocalModel):
    """A detector; its weights are loaded when it first looks at an image.

    Attributes:
        config: its settings.
        labels: its classes, or the words that it looks for.
        is_zero_shot: whether it looks for words.
        by: everything that its boxes depend on, JSON.
    """

    def __init__(self, config: DetectorConfig) -> None:
        """Read which classes a detector has."""
        super().__init__(config, f"detector {quote(config.model)}", "predict", needed_by="a detector")
        self.config = config
        about = self.load("AutoConfig")
        with self.loading():
            models = import_module("transformers.models.auto.modeling_auto")
        self.is_zero_shot = about.model_type in models.MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES
        if not self.is_zero_shot and about.model_type not in models.MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES:
            found = f"a model of the kind {about.model_type}"
            raise OptionError(f"{self.name}: found {found}, expected one that finds objects")
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
        kind = "AutoModelForZeroShotObjectDetection" if self.is_zero_shot else "AutoModelForObjectDetection"
        return self.load_weights(kind)

    def check_labels(self, names: Names, benchmark: Benchmark) -> None:
        """Check that some class of the detector is an object, before it looks at any image."""
        if not any(objects_of(self.labels, names, benchmark)):
            found = f"no object, but {', '.join(self.labels[:_MOST_NAMED])}"
            hint, expected = "--labels FILE says which objects they are", f"objects of {benchmark.name}"
            raise InputError(self.config.model, field="labels", found=found, expected=expected, hint=hint)

    def detect(self, images: Sequence[Image]) -> list[list[Detection]]:
        """Return the boxes of upright RGB images of one size, with the detector's own labels.

        Boxes are clipped to the image and sorted by score, empty ones left out.
        """
        torch = self.torch
        words = {"text": [list(self.config.words)] * len(images)} if self.is_zero_shot else {}
        inputs = self._processor(images=list(images), return_tensors="pt", **words)
        kind = getattr(torch, self.config.dtype)
        moved = {
            name: value.to(self.device, kind) if value.is_floating_point() else value.to(self.device)
            for name, value in inputs.items()
        }
        with torch.inference_mode():
            outputs = self._model(**moved)
        settings = {"threshold": self.config.threshold, "target_sizes": [(one.height, one.width) for one in images]}
        if self.is_zero_shot:
            read = self._processor.post_process_grounded_object_detection
            if "input_ids" in signature(read).parameters:  # detectors that ground phrases need them to name boxes
                settings["input_ids"] = inputs["input_ids"]
            found = read(outputs, text_labels=words["text"], **settings)
            labels = [one["text_labels"] for one in found]
        else:
            found = self._processor.post_process_object_detection(outputs, **settings)
            labels = [[self._model.config.id2label[int(label)] for label in one["labels"]] for one in found]
        return [
            _rounded(one["boxes"].float().tolist(), names, one["scores"].float().tolist(), image.size)
            for one, names, image in zip(found, labels, images, strict=True)
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
    return sorted(detections, key=lambda one: -one.score)


def detect_all(
    pictures: Sequence[Picture],
    detector: Detector,
    path: str | Path,
    progress: Callable[[int], object] = lambda _: None,
    known: Iterable[Detected] = (),
) -> None:
    """Write the detections of pictures to a file, or complete an unfinished file.

    The finished file has one order of lines, whichever process found which boxes: that in which pictures are looked
    at, then other pictures by name.

    Args:
        pictures: all that the file is to have.
        detector: of a file that is there already, the same.
        path: the file.
        progress: callback, takes the number of pictures that are done.
        known: detections of the same detector from elsewhere, which are copied.

    Raises:
        InputError: where the file is another detector's, of other pictures, or a picture cannot be read.
    """
    with growing(path, DETECTIONS, detector.by) as add:
        by_name = {picture.name: picture for picture in pictures}
        done: dict[str, Detected] = {}

        def keep(record: Detected) -> None:
            add(record)
            done[record.image] = record

        for record in read_lines(path, Detected, DETECTIONS)[1]:
            check_same(Path(path), record, by_name.get(record.image))
            done[record.image] = record
        for record in known:
            if record.image not in done:
                keep(record)
        left = [picture for picture in pictures if picture.name not in done]
        count = len(pictures) - len(left)
        progress(count)
        for batch in batches_of_one_size(left, detector.config.batch_size):
            for picture, boxes in zip(batch, detector.detect([opened(one) for one in batch]), strict=True):
                keep(detected(picture, boxes))
            count += len(batch)
            progress(count)
        order = [picture.name for picture in sorted(pictures, key=_size)]
        order += sorted(done.keys() - by_name.keys())
        if list(done) != order:
            write_lines(path, (done[image] for image in order), DETECTIONS, detector.by)


def batches_of_one_size(pictures: Iterable[Picture], most: int) -> Iterator[list[Picture]]:
    """Yield batches of at most ``most`` pictures of the same width and height, the largest pictures first."""
    for _, group in groupby(sorted(pictures, key=_size), _size):
        same = list(group)
        yield from (same[start : start + most] for start in range(0, len(same), most))


def _size(picture: Picture) -> tuple[int, int, int]:
    return -picture.width * picture.height, picture.width, picture.height
