"""Files of one benchmark given as another's are told as what they are: by the formats that every benchmark has."""

from __future__ import annotations

from pathlib import Path

from shoe.benchmarks import benchmark, benchmark_names
from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.core.errors import InputError, flag


def refuse_other_benchmarks(path: str | Path, data: bytes, of: Benchmark) -> None:
    """Refuse ground truth of another benchmark than the one asked for.

    A file may fit formats of two benchmarks: it is the one's whose image names are in it.

    Raises:
        InputError: naming the file's format and benchmark, and how to read it.
    """
    is_own = any(known.fits(data) for known in of.formats)
    if is_own and (of.marks is None or of.marks.search(data)):
        return
    found = benchmark_of_truth(data, of, marked=is_own)
    if found is not None:
        other, known = found
        hint = f"give {flag('dataset', other.name)}"
        what = f"{known.name}, ground truth of {other.name}"
        raise InputError(path, found=what, expected=f"ground truth of {of.name}", hint=hint)


def benchmark_of_truth(
    data: bytes, besides: Benchmark | None = None, *, marked: bool
) -> tuple[Benchmark, TruthFormat] | None:
    """Tell whose ground truth a file is.

    ``besides`` is a benchmark whose it is not; if ``marked``, names of the benchmark's images have to be in the file.
    """
    for name in benchmark_names():
        other = benchmark(name)
        if besides is None or name != besides.name:
            fitting = next((known for known in other.formats if known.fits(data)), None)
            if fitting and (not marked or (other.marks is not None and other.marks.search(data))):
                return other, fitting
    return None
