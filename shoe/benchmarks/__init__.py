"""Benchmarks: one subpackage per benchmark, with a :class:`~shoe.benchmarks.base.Benchmark` named ``BENCHMARK``.

The environment variable ``SHOE_BENCHMARKS`` is the path of a folder with further benchmarks.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
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
    loaded = import_module(f"{__name__}.{module}") if folder == _OWN else _import_folder(folder / module)
    found: Benchmark = loaded.BENCHMARK
    return found


def _folders() -> list[Path]:
    path = os.environ.get(ENVIRONMENT)
    return [_OWN, *([Path(path)] if path else [])]


def _import_folder(folder: Path) -> ModuleType:
    name = f"shoe_benchmarks_{folder.name}"
    spec = spec_from_file_location(name, folder / _INIT, submodule_search_locations=[str(folder)])
    if name not in sys.modules and spec and spec.loader:
        sys.modules[name] = module_from_spec(spec)
        try:
            spec.loader.exec_module(sys.modules[name])
        except Exception as error:
            from shoe.core.errors import InputError, printable

            del sys.modules[name]
            found = printable(f"{type(error).__name__}: {error}")
            raise InputError(folder / _INIT, found=found, expected="a benchmark that can be imported") from error
    return sys.modules[name]


def benchmark_names() -> list[str]:
    """Return the sorted names of all benchmarks: subfolders of this package and of ``SHOE_BENCHMARKS``."""
    return sorted({path.parent.name.replace("_", "-") for folder in _folders() for path in folder.glob(f"*/{_INIT}")})
