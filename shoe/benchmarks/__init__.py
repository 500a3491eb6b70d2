"""The benchmarks that predictions can be scored on: one folder each, whose ``BENCHMARK`` says all that is its own.

The environment variable ``SHOE_BENCHMARKS`` names a folder of further ones.
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
"""The benchmark where none is named."""
ENVIRONMENT = "SHOE_BENCHMARKS"
_OWN = Path(__file__).parent
_INIT = "__init__.py"


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
    module = name.replace("-", "_")
    home = next(home for home in _homes() if (home / module / _INIT).exists())
    found: Benchmark = (import_module(f"{__name__}.{module}") if home == _OWN else _from(home / module)).BENCHMARK
    return found


def _homes() -> list[Path]:
    named = os.environ.get(ENVIRONMENT)
    return [_OWN, *([Path(named)] if named else [])]


def _from(folder: Path) -> ModuleType:
    name = f"shoe_benchmarks_{folder.name}"
    spec = spec_from_file_location(name, folder / _INIT, submodule_search_locations=[str(folder)])
    if name not in sys.modules and spec and spec.loader:
        sys.modules[name] = module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def benchmark_names() -> list[str]:
    """List the benchmarks there are: the folders beside this file, and those of the folder in the environment."""
    return sorted({path.parent.name.replace("_", "-") for home in _homes() for path in home.glob(f"*/{_INIT}")})
