"""Shared parts of the stages of ``scripts/bench``: clocks, new processes, an endpoint's cost, and tables."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

ROOT = Path(__file__).resolve().parents[2]
SHOE = [sys.executable, "-m", "shoe"]
SEED = 2015
REPEATS = 5

Work = Callable[[], object]


class Row(NamedTuple):
    """One row of the table; ``low`` and ``high`` are those of the repeats, ``met`` is None without a target."""

    figure: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    target: str = ""
    met: bool | None = None


def timed(work: Work, repeats: int = REPEATS, clock: Callable[[], float] = perf_counter) -> list[float]:
    """Return the seconds of each repeat; what a repeat returns is dropped before the next."""
    return in_turns({"": work}, repeats, clock)[""]


def in_turns(
    works: Mapping[str, Work], repeats: int = REPEATS, clock: Callable[[], float] = perf_counter
) -> dict[str, list[float]]:
    """Return the seconds of each repeat of each work; they take turns, so that noise meets all of them."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(repeats):
        for name, work in works.items():
            start = clock()
            work()
            seconds[name].append(clock() - start)
    return seconds


def fresh(module: str, function: str, *arguments: object, **options: object) -> Any:
    """Call a function of the stages in a new Python process, and return its result, which travels as JSON."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        given = ", ".join([*map(repr, arguments), f"**{options!r}"])
        code = f"import json; from benchmarks.{module} import {function} as call; found = call({given}); "
        code += f"json.dump(found, open({str(file)!r}, 'w'))"
        subprocess.run([sys.executable, "-c", code], check=True, env=environment())
        return json.loads(file.read_text())


def measured(module: str, function: str, folder: str, **options: object) -> list[Row]:
    """Run a stage in this process, and return its rows and the peak memory of the process."""
    rows = getattr(import_module(f"benchmarks.{module}"), function)(folder, **options)
    return [*rows, Row(f"peak memory of {function.replace('_', '-')}", peak_memory(), "MB")]


def environment() -> dict[str, str]:
    """Return the environment of a new process: the checkout is importable, with the oracles of the tests."""
    return {**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'scripts'}"}


def peak_memory() -> float:
    """Return this process's peak memory in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6


def seconds_row(figure: str, values: Sequence[float], unit: str = "s", most: float | None = None) -> Row:
    """Return the median of some repeats, with the lowest and the highest."""
    row = Row(figure, median(values), unit) if most is None else at_most(figure, median(values), unit, most)
    return row._replace(low=min(values), high=max(values)) if len(values) > 1 else row


def rate(figure: str, triplets: int, seconds: Sequence[float], least: float | None = None) -> Row:
    """Return triplets per second."""
    row = seconds_row(figure, [triplets / value for value in seconds], "1/s")
    if least is None:
        return row
    return at_least(figure, triplets / median(seconds), "1/s", least)._replace(low=row.low, high=row.high)


def ratio(figure: str, values: Sequence[float], base: Sequence[float], most: float | None = None) -> Row:
    """Return the ratio to what ran beside it, repeat by repeat: noise that lasts hits both of a pair."""
    return seconds_row(figure, [value / other for value, other in zip(values, base, strict=True)], "×", most)


def at_most(figure: str, value: float, unit: str, most: float) -> Row:
    """Return a value that should not be higher than ``most``."""
    return Row(figure, value, unit, target=f"≤ {text(most)}", met=value <= most)


def at_least(figure: str, value: float, unit: str, least: float) -> Row:
    """Return a value that should not be lower than ``least``."""
    return Row(figure, value, unit, target=f"≥ {text(least)}", met=value >= least)


def show(rows: Sequence[Row]) -> None:
    """Print the table."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("figure", "median", "low – high", "target", ""):
        table.add_column(name, justify="left" if name in ("figure", "") else "right")
    for row in rows:
        spread = "" if row.low is None or row.high is None else f"{text(row.low)} – {text(row.high)}"
        met = "" if row.met is None else "met" if row.met else "NOT MET"
        table.add_row(row.figure, f"{text(row.value)} {row.unit}", spread, row.target, met)
    Console(highlight=False, width=None if sys.stdout.isatty() else 140).print(table)


def print_cells(first: str, *others: str | float) -> None:
    """Print one line of a table that grows while it is measured."""
    print(
        f"{first:<20}" + "".join(f"{each if isinstance(each, str) else text(each):>14}" for each in others), flush=True
    )


def text(value: float) -> str:
    """Write a number with three digits or so."""
    formats = {1000: ",.0f", 10: ".1f", 0.1: ".2f"}
    return next((format(value, form) for least, form in formats.items() if abs(value) >= least), f"{value:.4f}")
