"""Predictions, and what else shoe knows, given as ground truth: told as what they are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from shoe.benchmarks import benchmark
from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError
from shoe.predictions.formats import recognised
from shoe.predictions.others import SWAPPED, refuse_others
from shoe.predictions.source import open_source


@contextmanager
def told_as_what_it_is(path: str | Path, dataset: str | Benchmark) -> Iterator[None]:
    """Within it, a file that is refused as ground truth is told as what it is, where that is known.

    Raises:
        InputError: the one raised within, or one that names what the file is.
    """
    try:
        yield
    except InputError as error:
        if error.source != str(path):
            raise
        of = benchmark(dataset)
        expected = f"ground truth of {of.name}"
        source = known = None
        with suppress(InputError):
            source = open_source(path, of)
            known = recognised(source)
        if source is not None:
            refuse_others(source, expected)
        if known is None:
            raise
        found = f"predictions (format {known.name})"
        raise InputError(path, found=found, expected=expected, hint=SWAPPED) from None
