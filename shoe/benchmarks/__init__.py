"""Benchmarks: one subpackage per benchmark, with a :class:`~shoe.benchmarks.base.Benchmark` named ``BENCHMARK``.

The environment variable ``SHOE_BENCHMARKS`` is the path of a folder with further benchmarks.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from shoe.benchmarks.base import Benchmark

DEFAULT = "hico-det"
"""Name of the default benchmark."""
ENVIRONMENT = "SHOE_BENCHMARKS"
_OWN = Path(__file__).parent
_INIT = "__init__.py"


def benchmark(name: str | Benchmark) -> Benchmark:
    """Return the benchmark with a name; a ``Benchmark`` object is returned unchanged.

    >>> len(benchmark("hico-det").classes)
    600

    Raises:
        OptionError: for an unknown name.
        InputError: for a benchmark in the folder ``SHOE_BENCHMARKS`` whose module cannot be imported.
    """
    if not isinstance(name, str):
        from shoe.benchmarks.base import Benchmark
        from shoe.core.errors import check_kind

        check_kind("dataset", name, Benchmark, "shoe.benchmark(NAME)")
        return name
    if name not in benchmark_names():
        from shoe.core.errors import unknown_name

        raise unknown_name("dataset", name, benchmark_names())
    module = name.replace("-", "_")
    folder = next(folder for folder in _folders() if (folder / module / _INIT).exists())
    if folder == _OWN:
        own: Benchmark = import_module(f"{__name__}.{module}").BENCHMARK
        return own
    __path__[:] = map(str, _folders())
    try:
        found: Benchmark = import_module(f"{__name__}.{module}").BENCHMARK
    except Exception as error:
        from shoe.core.errors import InputError, printable

        reason = printable(f"{type(error).__name__}: {error}")
        expected = "a benchmark that can be imported"
        raise InputError(folder / module / _INIT, found=reason, expected=expected) from error
    return found


def _folders() -> list[Path]:
    path = os.environ.get(ENVIRONMENT)
    return [_OWN, *([Path(path)] if path else [])]


def benchmark_names() -> list[str]:
    """Return the sorted names of all benchmarks: subfolders of this package and of ``SHOE_BENCHMARKS``."""
    return sorted({path.parent.name.replace("_", "-") for folder in _folders() for path in folder.glob(f"*/{_INIT}")})
