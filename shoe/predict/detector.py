"""Boxes from any detector of transformers: one with classes of its own, or one that looks for words (zero-shot).

Only pictures of one size go into a batch, so that none is padded: but for rounding, what a detector says of a picture
does not depend on the pictures beside it. Labels are kept as the detector has them; whoever reads the file says which
objects they are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from shoe.core.errors import MissingExtraError, OptionError, quote
from shoe.predict.detection_files import DETECTIONS, check_same, detected
from shoe.predict.images import Picture, opened
from shoe.predict.lines import growing, read_lines, write_lines
from shoe.predict.records import Detected, Detection
from shoe.rating.kinds.local import fingerprint

if TYPE_CHECKING:
    from PIL.Image import Image

_DECIMALS, _SCORE_DECIMALS = 2, 6


class DetectorConfig(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which detector, and how it is run.

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


class Detector:
    """A detector; its weights are loaded when it first looks at a picture.

    Attributes:
        config: which, and how it is run.
        labels: its classes, or the words that it looks for.
        is_zero_shot: whether it looks for words.
        by: all that its boxes depend on, JSON.
    """

    def __init__(self, config: DetectorConfig) -> None:
        """Find out what a detector is.

        Raises:
            MissingExtraError: if torch, transformers or Pillow is not installed.
            OptionError: if there is no such model or device, or it is no detector.
        """
        os.environ.setdefault("TQDM_DISABLE", "1")
        try:
            import torch
            import transformers
            from transformers.models.auto import modeling_auto
        except ImportError:
            raise MissingExtraError("a detector", "predict") from None
        transformers.utils.logging.disable_progress_bar()
        transformers.utils.logging.set_verbosity_error()
        self.config, self._torch, self._transformers = config, torch, transformers
        self._who = f"detector {quote(config.model)}"
        if config.device == "cuda" and not torch.cuda.is_available():
            raise OptionError(f"{self._who}: device is cuda, and torch finds no such device here")
        self._device = "cuda" if config.device != "cpu" and torch.cuda.is_available() else "cpu"
        with self._loading():
            about = self._made("AutoConfig")
        kinds = modeling_auto.MODEL_FOR_ZERO_SHOT_OBJECT_DETECTION_MAPPING_NAMES
        self.is_zero_shot = about.model_type in kinds
        if not self.is_zero_shot and about.model_type not in modeling_auto.MODEL_FOR_OBJECT_DETECTION_MAPPING_NAMES:
            found = f"a model of the kind {about.model_type}"
            raise OptionError(f"{self._who}: found {found}, expected one that finds objects")
        self.labels = tuple(dict.fromkeys(config.words if self.is_zero_shot else about.id2label.values()))
        self.by = self._by(about, transformers.__version__)

    @cached_property
    def _processor(self) -> Any:
        with self._loading():
            return self._made("AutoProcessor" if self.is_zero_shot else "AutoImageProcessor")

    @cached_property
    def _model(self) -> Any:
        kind = "AutoModelForZeroShotObjectDetection" if self.is_zero_shot else "AutoModelForObjectDetection"
        with self._loading():
            return self._made(kind, dtype=getattr(self._torch, self.config.dtype)).to(self._device).eval()

    def _made(self, kind: str, **more: Any) -> Any:
        found = {"revision": self.config.revision or "main", "trust_remote_code": False}
        return getattr(self._transformers, kind).from_pretrained(self.config.model, **found, **more)

    @contextmanager
    def _loading(self) -> Iterator[None]:
        """Say in one line why something of the model cannot be loaded."""
        from safetensors import SafetensorError

        try:
            yield
        except (ImportError, OSError, RuntimeError, ValueError, AttributeError, KeyError, SafetensorError) as error:
            reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise OptionError(f"{self._who} cannot be loaded: {reason}") from None

    def _by(self, about: Any, version: str) -> Mapping[str, Any]:
        config, folder = self.config, Path(self.config.model)
        commit = {"revision": getattr(about, "_commit_hash", None) or config.revision}
        return {
            "detector": folder.name if folder.is_dir() else config.model,
            **({"files": fingerprint(folder)} if folder.is_dir() else commit),
            "threshold": config.threshold,
            "dtype": config.dtype,
            **({"words": list(config.words)} if self.is_zero_shot else {}),
            "transformers": version,
        }

    def detect(self, images: Sequence[Image]) -> list[list[Detection]]:
        """Find the boxes of pictures of one size, the best first; cut off at the pictures' edges, empty ones left out.

        Args:
            images: upright, RGB.

        Returns:
            Of each, its detections with the detector's own labels.
        """
        torch = self._torch
        words = {"text": [list(self.config.words)] * len(images)} if self.is_zero_shot else {}
        inputs = self._processor(images=list(images), return_tensors="pt", **words)
        kind = getattr(torch, self.config.dtype)
        moved = {
            name: value.to(self._device, kind) if value.is_floating_point() else value.to(self._device)
            for name, value in inputs.items()
        }
        with torch.inference_mode():
            outputs = self._model(**moved)
        sizes = [(image.height, image.width) for image in images]
        settings: dict[str, Any] = {"threshold": self.config.threshold, "target_sizes": sizes}
        if self.is_zero_shot:
            found = self._processor.post_process_grounded_object_detection(
                outputs, text_labels=words["text"], **self._token_ids(inputs), **settings
            )
            labels = [one["text_labels"] for one in found]
        else:
            found = self._processor.post_process_object_detection(outputs, **settings)
            labels = [[self._model.config.id2label[int(label)] for label in one["labels"]] for one in found]
        return [
            _kept(one["boxes"].float().tolist(), names, one["scores"].float().tolist(), image.size)
            for one, names, image in zip(found, labels, images, strict=True)
        ]

    def _token_ids(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """What detectors that ground phrases need beside their outputs, to name them."""
        from inspect import signature

        wanted = signature(self._processor.post_process_grounded_object_detection).parameters
        return {"input_ids": inputs["input_ids"]} if "input_ids" in wanted else {}


def _kept(
    boxes: Sequence[Sequence[float]], labels: Sequence[str], scores: Sequence[float], size: tuple[int, int]
) -> list[Detection]:
    kept = []
    for box, label, score in zip(boxes, labels, scores, strict=True):
        x1, y1, x2, y2 = (
            round(min(max(value, 0.0), float(most)), _DECIMALS) for value, most in zip(box, 2 * size, strict=True)
        )
        if x1 < x2 and y1 < y2:
            kept.append(Detection((x1, y1, x2, y2), label, round(min(max(score, 0.0), 1.0), _SCORE_DECIMALS)))
    return sorted(kept, key=lambda one: -one.score)


def detect_all(
    pictures: Sequence[Picture],
    detector: Detector,
    path: str | Path,
    told: Callable[[int], object] = lambda _: None,
    found: Iterable[Detected] = (),
) -> None:
    """Write the detections of pictures to a file, and go on where a file was left.

    The order of its lines has no meaning, and is the same in the end, whoever found what first: that in which pictures
    are looked at, then other pictures by name.

    Args:
        pictures: all that the file is to have.
        detector: of a file that is there already, the same.
        path: the file.
        told: called with the number of pictures that are done, as they are.
        found: by the same detector elsewhere; it is taken over.

    Raises:
        InputError: where the file is another detector's, of other pictures, or a picture cannot be read.
    """
    with growing(path, DETECTIONS, detector.by) as add:
        known = {picture.name: picture for picture in pictures}
        done: dict[str, Detected] = {}

        def keep(record: Detected) -> None:
            add(record)
            done[record.image] = record

        for record in read_lines(path, Detected, DETECTIONS)[1]:
            check_same(Path(path), record.image, record.digest, (record.width, record.height), known.get(record.image))
            done[record.image] = record
        for record in found:
            if record.image not in done:
                keep(record)
        left = [picture for picture in pictures if picture.name not in done]
        count = len(pictures) - len(left)
        told(count)
        for batch in batches_of_one_size(left, detector.config.batch_size):
            for picture, boxes in zip(batch, detector.detect([opened(one) for one in batch]), strict=True):
                keep(detected(picture, boxes))
            count += len(batch)
            told(count)
        order = [picture.name for picture in sorted(pictures, key=_size)]
        order += sorted(done.keys() - known.keys())
        if list(done) != order:
            write_lines(path, DETECTIONS, detector.by, (done[image] for image in order))


def batches_of_one_size(pictures: Iterable[Picture], most: int) -> Iterator[list[Picture]]:
    """Put pictures of the same width and height together, at most so many; the largest first, as they need most."""
    for _, group in groupby(sorted(pictures, key=_size), _size):
        same = list(group)
        yield from (same[start : start + most] for start in range(0, len(same), most))


def _size(picture: Picture) -> tuple[int, int, int]:
    return -picture.width * picture.height, picture.width, picture.height
