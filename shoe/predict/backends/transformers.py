"""Back end ``transformers``: a model of ``AutoModelForImageTextToText`` on this machine, CPU or GPU.

Answers are greedy, whatever settings a model ships: those with a temperature near 0 or a penalty for repetition would
make every token's processed score 1. Probabilities are a softmax over the raw logits.

Questions come by picture. Those of a batch are padded on the left to one length; each picture is prepared and encoded
once, if the model's class takes what its encoder made, and is kept for the next batch. Where half a batch or more asks
about one picture, what its prompts begin with, picture included, is read once for all (:mod:`prefix`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import groupby, islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from shoe.llm.request import Recorder
from shoe.predict.ask import Ask
from shoe.predict.backend import Backend, BackendConfig
from shoe.predict.completions import completion
from shoe.rating.kinds.local import fingerprint


class Transformers(BackendConfig, frozen=True, kw_only=True):
    """A model on this machine.

    Attributes:
        device: where it runs; auto is a GPU if there is one.
        dtype: precision of weights and sums.
        batch_size: questions that are answered at once.
        processor: settings of its processor, as its class has them (``{"max_pixels": 1003520}``): they decide how many
            tokens a picture has.
    """

    kind: ClassVar[str] = "transformers"

    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["float32", "bfloat16", "float16"] = "float32"
    batch_size: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 16
    processor: dict[str, Any] = msgspec.field(default_factory=dict)

    def more(self) -> Mapping[str, Any]:
        """Return precision, settings of the processor, and which model a folder holds."""
        folder = Path(self.model)
        files = {"files": fingerprint(folder)} if folder.is_dir() else {}
        return {"dtype": self.dtype, "processor": self.processor, **files}

    @property
    def at_once(self) -> int:
        """The size of a batch."""
        return self.batch_size

    def open(self) -> Backend:
        """Load the model; see :class:`~shoe.predict.backends.vision.VisionModel`."""
        from shoe.predict.backends.vision import VisionModel

        return _Local(VisionModel(self), self.batch_size)


class _Local:
    """Answers batch by batch; the next batch is prepared while the model works on one."""

    def __init__(self, model: Any, batch_size: int) -> None:
        self._model = model
        self._batch_size = batch_size

    def ask(self, asks: Iterator[Ask], recorder: Recorder) -> None:
        batches = together(asks, self._batch_size)
        with ThreadPoolExecutor(1) as beside:
            waiting = self._next(batches, recorder, beside)
            while waiting is not None:
                batch, prepared = waiting
                waiting = self._next(batches, recorder, beside)
                said = self._model.answer(prepared.result())
                for one, (answer, length) in zip(batch, said, strict=True):
                    recorder.answer(one, completion(answer, length))

    def _next(
        self, batches: Iterator[list[Ask]], recorder: Recorder, beside: ThreadPoolExecutor
    ) -> tuple[list[Ask], Future[Any]] | None:
        if recorder.stopping:
            return None
        batch = [one for one in next(batches, []) if recorder.may_ask(one)]
        return (batch, beside.submit(self._model.prepare, [one.question for one in batch])) if batch else None


def together(asks: Iterator[Ask], size: int) -> Iterator[list[Ask]]:
    """Gather batches of at most ``size``: of one picture alone where half a batch asks about it, else of several."""
    waiting: list[Ask] = []
    while waiting := [*waiting, *islice(asks, size - len(waiting))]:
        alike = len(next(list(of_one) for _, of_one in groupby(waiting, lambda one: one.shown)))
        count = alike if 2 * alike >= size else len(waiting)
        yield waiting[:count]
        waiting = waiting[count:]
