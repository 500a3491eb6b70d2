"""Models that run on this machine: where, in which precision, and in batches whose shape does not depend on chance."""

from __future__ import annotations

import hashlib
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import MissingExtraError, OptionError, quote
from shoe.rating.config import RaterConfig, setting

Tokens = NDArray[np.int64]
Item = TypeVar("Item")

Thresholds = tuple[float, float, float, float]


class LocalModel(RaterConfig, frozen=True, kw_only=True):
    """What the kinds that run a model here have in common."""

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


def libraries(config: RaterConfig) -> tuple[Any, Any]:
    """Return torch and transformers, the latter without its progress bars and advice.

    Raises:
        MissingExtraError: if one is not installed.
    """
    # Unpacking a GGUF file draws a bar that transformers' own switch, below, does not reach.
    os.environ.setdefault("TQDM_DISABLE", "1")
    try:
        import torch
        import transformers
    except ImportError:
        raise MissingExtraError(f"rater {quote(config.name)}", "local") from None
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    return torch, transformers


def check_once(config: RaterConfig) -> None:
    """See that what gives the same answer each time is asked once.

    Raises:
        OptionError: if it is to be asked again.
    """
    if config.repeats != 1:
        raise OptionError(
            f"rater {quote(config.name)}: repeats is {config.repeats}, expected 1: kind {config.kind} answers a "
            "question the same each time"
        )


def check_rising(config: RaterConfig, thresholds: Thresholds) -> None:
    """See that thresholds rise.

    Raises:
        OptionError: if they do not.
    """
    if list(thresholds) != sorted(thresholds):
        where = f"rater {quote(config.name)}: thresholds"
        raise OptionError(f"{where} are {quote(list(thresholds))}, expected {len(thresholds)} rising numbers")


def device_of(config: LocalModel, torch: Any) -> str:
    """Say where a model is to run: "cpu" or "cuda".

    Raises:
        OptionError: for "cuda" where there is none.
    """
    if config.device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    if config.device == "cuda" and not torch.cuda.is_available():
        raise OptionError(f"rater {quote(config.name)}: device is cuda, and torch finds no such device here")
    return config.device


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


def source(config: RaterConfig) -> dict[str, Any]:
    """What ``from_pretrained`` takes to find a model; code that comes with a model is never run."""
    where = {"pretrained_model_name_or_path": config.model, "revision": config.revision or "main"}
    return {**where, "trust_remote_code": False}


def described(config: RaterConfig) -> str:
    """Name a rater and its model, to begin a message."""
    return f"rater {quote(config.name)}: model {quote(config.model)}"


@contextmanager
def loading(config: RaterConfig) -> Iterator[None]:
    """Turn what transformers raises about a model into one line.

    Raises:
        OptionError: with the first line of it.
    """
    try:
        yield
    except (ImportError, OSError, RuntimeError, ValueError) as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise OptionError(f"{described(config)} cannot be loaded: {reason}") from None


def batches(items: Iterable[tuple[Item, Sequence[int]]], size: int) -> Iterator[tuple[int, list[tuple[Item, Any]]]]:
    """Gather sequences of tokens that are padded to one length, in batches of ``size``; the last ones may be smaller.

    With :func:`padded`, the shape that the arithmetic sees follows from a sequence's own length alone: its figures do
    not depend on the sequences beside it.

    Args:
        items: what a sequence is for, and its tokens.
        size: of a batch.

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
