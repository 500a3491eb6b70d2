"""The benchmarks that predictions can be scored on: one folder each, whose ``BENCHMARK`` says all that is its own."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoe.benchmarks.base import Benchmark
    from shoe.benchmarks.truth import GroundTruth, read_ground_truth

__all__ = ["DEFAULT", "Benchmark", "GroundTruth", "benchmark", "benchmark_names", "read_ground_truth"]

DEFAULT = "hico-det"
"""The benchmark where none is named."""

_HOMES = {"Benchmark": "base", "GroundTruth": "truth", "read_ground_truth": "truth"}


def benchmark(name: str | Benchmark) -> Benchmark:
    """Look up a benchmark by name; an object stays what it is.

    >>> len(benchmark("hico-det").classes)
    600

    Raises:
        OptionError: for a name that does not exist.
    """
    if not isinstance(name, str):
        from shoe.benchmarks.base import Benchmark
        from shoe.core.errors import check_kind

        check_kind("dataset", name, Benchmark, "shoe.benchmark(NAME)")
        return name
    if name not in benchmark_names():
        from shoe.core.errors import unknown_name

        raise unknown_name("dataset", name, benchmark_names())
    found: Benchmark = import_module(f"{__name__}.{name.replace('-', '_')}").BENCHMARK
    return found


def benchmark_names() -> list[str]:
    """List the benchmarks there are: the folders beside this file."""
    return sorted(path.parent.name.replace("_", "-") for path in Path(__file__).parent.glob("*/__init__.py"))


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
