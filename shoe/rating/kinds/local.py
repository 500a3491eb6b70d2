"""Models that run on this machine: where, in which precision, and in batches whose shape does not depend on chance."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import MissingExtraError, OptionError, quote
from shoe.rating.config import RaterConfig, setting

Tokens = NDArray[np.int64]
Item = TypeVar("Item")

Thresholds = tuple[float, float, float, float]


class LocalModel(RaterConfig, frozen=True, kw_only=True):
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
        folder = Path(self.model)
        return {"files": fingerprint(folder)} if folder.is_dir() else {}


LENGTH_STEP = 32
"""Tokens: sequences are padded to the next multiple."""
_MEGABYTE = 1_000_000


class Model:
    """A model of transformers' form where it is to run, with its tokenizer; code that comes with one is never run.

    Attributes:
        name: the rater and its model, to begin a message.
        torch: the library.
        device: "cpu" or "cuda".
    """

    def __init__(self, config: LocalModel, kind: str, **more: str) -> None:
        """Load a model.

        Args:
            config: of the rater.
            kind: transformers' class for models of its kind.
            more: what else ``from_pretrained`` takes to find it.

        Raises:
            MissingExtraError: if torch or transformers is not installed.
            OptionError: if there is no such model or device.
        """
        # Unpacking a GGUF file draws a bar that transformers' own switch, below, does not reach.
        os.environ.setdefault("TQDM_DISABLE", "1")
        try:
            import torch
            import transformers
            from safetensors import SafetensorError
        except ImportError:
            raise MissingExtraError(f"rater {quote(config.name)}", "local") from None
        transformers.utils.logging.disable_progress_bar()
        transformers.utils.logging.set_verbosity_error()
        self.torch, self.name = torch, f"rater {quote(config.name)}: model {quote(config.model)}"
        if config.device == "cuda" and not torch.cuda.is_available():
            raise OptionError(f"rater {quote(config.name)}: device is cuda, and torch finds no such device here")
        self.device = "cuda" if config.device != "cpu" and torch.cuda.is_available() else "cpu"
        found = {"revision": config.revision or "main", "trust_remote_code": False, **more}
        try:
            self.tokenizer: Any = transformers.AutoTokenizer.from_pretrained(config.model, **found)
            loaded = getattr(transformers, kind).from_pretrained(
                config.model, dtype=getattr(torch, config.dtype), **found
            )
            self.model: Any = loaded.to(self.device).eval()
        except (ImportError, OSError, RuntimeError, ValueError, SafetensorError) as error:
            reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
            raise OptionError(f"{self.name} cannot be loaded: {reason}") from None


def check(config: RaterConfig, thresholds: Sequence[float] = ()) -> None:
    """See that what gives the same answer each time is asked once, and that its thresholds rise.

    Raises:
        OptionError: if not.
    """
    who = f"rater {quote(config.name)}"
    if config.repeats != 1:
        same = f"kind {config.kind} answers a question the same each time"
        raise OptionError(f"{who}: repeats is {config.repeats}, expected 1: {same}")
    if list(thresholds) != sorted(thresholds):
        found = quote(list(thresholds))
        raise OptionError(f"{who}: thresholds are {found}, expected {len(thresholds)} rising numbers")


def fingerprint(folder: Path) -> str:
    """16 hex digits of a model's files: their names and sizes, and the first and last megabyte of each.

    Other weights under the same name are another model; to read all of them just to know would take minutes.
    """
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith(".")):
        size = path.stat().st_size
        digest.update(f"{path.name}\n{size}\n".encode())
        with path.open("rb") as stream:
            digest.update(stream.read(_MEGABYTE))
            stream.seek(max(size - _MEGABYTE, 0))
            digest.update(stream.read())
    return digest.hexdigest()[:16]


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
