"""Raters that run on this machine: their settings, and batches whose shape does not depend on chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import OptionError, quote
from shoe.rating.config import RaterConfig, setting
from shoe.rating.local_models import LocalModel, files_of

Tokens = NDArray[np.int64]
Item = TypeVar("Item")

Thresholds = tuple[float, float, float, float]


class LocalRater(RaterConfig, frozen=True, kw_only=True):
    """What the kinds that run a model here have in common."""

    is_local: ClassVar[bool] = True

    device: Annotated[
        Literal["auto", "cpu", "cuda"], setting("where it runs; auto: a GPU if there is one", key=False)
    ] = "auto"
    dtype: Annotated[
        Literal["float32", "bfloat16", "float16"], setting("precision of weights and sums; the others save memory")
    ] = "float32"
    batch_size: Annotated[int, setting("how many sequences it reads at once", key=False, ge=1, le=1_000_000)] = 16

    def identity(self) -> dict[str, str]:
        """Say which model a folder holds; nothing for one of the hub, where ``revision`` does."""
        return files_of(self.model)


LENGTH_STEP = 32
"""Tokens: sequences are padded to the next multiple."""


class Model(LocalModel):
    """A rater's model, with its tokenizer."""

    def __init__(self, config: LocalRater, kind: str, **more: str) -> None:
        """Load a model.

        Args:
            config: of the rater.
            kind: transformers' class for models of its kind.
            more: further arguments of ``from_pretrained`` that find the model.
        """
        rater = f"rater {quote(config.name)}"
        super().__init__(config, f"{rater}: model {quote(config.model)}", "local", owner=rater)
        self.tokenizer = self.load("AutoTokenizer", **more)
        self.model = self.load_weights(kind, **more)


def check(config: RaterConfig, thresholds: Sequence[float] = ()) -> None:
    """See that what gives the same answer each time is asked once, and that its thresholds rise."""
    who = f"rater {quote(config.name)}"
    if config.repeats != 1:
        same = f"kind {config.kind} answers a question the same each time"
        raise OptionError(f"{who}: repeats is {config.repeats}, expected 1: {same}")
    if list(thresholds) != sorted(thresholds):
        found = quote(list(thresholds))
        raise OptionError(f"{who}: thresholds are {found}, expected {len(thresholds)} rising numbers")


def batches(items: Iterable[tuple[Item, Sequence[int]]], size: int) -> Iterator[tuple[int, list[tuple[Item, Any]]]]:
    """Gather sequences of tokens that are padded to one length, in batches of ``size``; the last ones may be smaller.

    With :func:`padded`, the shape that the arithmetic sees follows from a sequence's own length alone: its figures do
    not depend on the sequences beside it.

    Yields:
        The padded length, and the items with their tokens.
    """
    waiting: defaultdict[int, list[tuple[Item, Any]]] = defaultdict(list)
    for item, tokens in items:
        length = -(-len(tokens) // LENGTH_STEP) * LENGTH_STEP
        waiting[length].append((item, tokens))
        if len(waiting[length]) == size:
            yield length, waiting.pop(length)
    for length in sorted(waiting):
        yield length, waiting[length]


def padded(sequences: Sequence[Sequence[int]], size: int, length: int, padding: int, side: str) -> Mapping[str, Tokens]:
    """Put sequences into arrays of one shape.

    Args:
        sequences: 1 to ``size`` sequences of tokens; further rows repeat the first.
        size: rows.
        length: columns.
        padding: the token to fill up with.
        side: "left" or "right", where to fill up.

    Returns:
        ``input_ids`` and ``attention_mask`` (size, length), and ``position_ids`` that count the tokens of a sequence.
    """
    ids = np.full((size, length), padding, np.int64)
    mask = np.zeros((size, length), np.int64)
    for row in range(size):
        tokens = sequences[row if row < len(sequences) else 0]
        columns = slice(length - len(tokens), length) if side == "left" else slice(0, len(tokens))
        ids[row, columns], mask[row, columns] = tokens, 1
    return {
        "input_ids": ids,
        "attention_mask": mask,
        "position_ids": np.maximum(mask.cumsum(axis=1) - 1, 0),
    }
