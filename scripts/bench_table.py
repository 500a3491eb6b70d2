"""The table of `scripts/bench`: what was measured beside what it should be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Any, NamedTuple

from rich import box
from rich.console import Console
from rich.table import Table

Measured = dict[str, Any]

_MEGABYTE = 1_000_000


class Row(NamedTuple):
    """One figure; ``low`` and ``high`` are those of its repeats, ``met`` is None where there is no target."""

    figure: str
    value: float
    unit: str
    low: float | None = None
    high: float | None = None
    target: str = ""
    met: bool | None = None


def rows(measured: Measured) -> list[Row]:
    """Turn what was measured into figures."""
    read, scored, slow = measured["read"]["seconds"], measured["score_all"], measured["oracle"]
    seconds, processes = scored["seconds"], measured["processes"]
    replies, compared = measured["read_replies"]["seconds"], measured["comparison"]["seconds"]
    triplets, free_triplets, slow_triplets = scored["triplets"], scored["vlm_triplets"], slow["triplets"]
    in_class_words, reply_count = measured["read_replies"]["in class words"], measured["read_replies"]["replies"]
    bongard = measured["bongard"]["seconds"]
    splits = measured["splits"]
    by_person = measured["persons"]["seconds"]
    of_test = [seconds / splits["triplets"] for seconds in splits["seconds"]["score_test"]]
    of_all = [seconds / splits["all"] for seconds in splits["seconds"]["score"]]
    native = measured["files"]["detector.npz"]
    limit = 6 * native + 200 * _MEGABYTE
    slow_rates = {name: slow_triplets / median(values) for name, values in slow["seconds"].items()}
    made = [
        _seconds("generate both files (when they were made)", measured["generated"]["seconds"]),
        _seconds("orjson.loads, QPIC JSON", read["orjson.loads"]),
        _seconds("parse, QPIC JSON to Interactions", read["parse"]),
        _ratio("  / orjson.loads", read["parse"], read["orjson.loads"], 1.3),
        _seconds("load, native file", read["native"]),
        _ratio("  / orjson.loads", read["native"], read["orjson.loads"], 1 / 20),
        _seconds("orjson.loads, raw replies and the JSON in them", replies["orjson.loads"]),
        _seconds("read raw replies, 4 forms, first in its process", replies["first"]),
        _seconds("read raw replies, 4 forms", replies["read"]),
        _at_most("  ms a reply", 1000 * median(replies["read"]) / reply_count, "ms", 0.2),
        _seconds("read raw replies, 4 forms, in the words of the classes", in_class_words["read"]),
        _at_most("  ms a reply", 1000 * median(in_class_words["read"]) / reply_count, "ms", 0.2),
        _seconds("load similarity map (first in its process)", measured["resolve"]["seconds"]["map"]),
        _seconds("resolve the free text's words (first)", measured["resolve"]["seconds"]["resolve"]),
    ]
    for name in [name for name in seconds if name not in ("vlm", "numpy", "shoe, first in its process")]:
        made.append(_seconds(f"match and score, {name}", seconds[name]))
        wanted = 3e6 if name in ("hico-det", "shoe") else None
        made.append(_rate("  triplets a second", triplets, seconds[name], wanted))
        if name in ("hico-det", "shoe"):
            kind = "strict" if name == "hico-det" else "semantic"
            rate = triplets / median(seconds[name])
            made.append(_at_least("  / slow oracle's triplets a second", rate / slow_rates[kind], "×", 40))
    return [
        *made,
        _seconds("match and score, shoe, first in its process", seconds["shoe, first in its process"]),
        _seconds("match and score, shoe, free text", seconds["vlm"]),
        _rate("  triplets a second", free_triplets, seconds["vlm"], None),
        _seconds("compare two models, 1,000 resamples", compared["compare"]),
        _ratio("  / scoring one", compared["compare"], compared["score"], 40),
        _seconds(f"make {measured['bongard']['problems']:,} Bongard problems", bongard["build"]),
        _ratio("  / scoring one model", bongard["build"], bongard["score"], 3),
        _seconds("answer them by both oracles", bongard["answer"]),
        _ratio("  / scoring one model", bongard["answer"], bongard["score"], 1),
        _seconds("split by combinations", splits["seconds"]["split"]),
        _ratio("  / scoring one model", splits["seconds"]["split"], splits["seconds"]["score"], 1),
        _rate("score its test images, triplets a second", splits["triplets"], splits["seconds"]["score_test"], None),
        _ratio("  a triplet / one of all images", of_test, of_all, 2),
        _seconds(f"score {measured['persons']['persons']:,} persons by V-COCO's script, 3 protocols", by_person),
        _rate("  ranked predictions a second", measured["persons"]["ranked"], by_person, None),
        _seconds("NumPy alone: sort, cumulative sums by class", seconds["numpy"]),
        *[Row(f"slow oracle, {name}, triplets a second", rate, "1/s") for name, rate in slow_rates.items()],
        _seconds("process: python -c 'import numpy'", processes["import numpy"]),
        _seconds("process: shoe demo", processes["shoe demo"]),
        _ratio("  / import numpy", processes["shoe demo"], processes["import numpy"], 4),
        _seconds("process: shoe score, the demo's detector", processes["shoe score"]),
        _ratio("  / import numpy", processes["shoe score"], processes["import numpy"], 4),
        _seconds("process: python -c 'import shoe'", processes["import shoe"]),
        _ratio("  / import numpy", processes["import shoe"], processes["import numpy"], 2),
        Row("peak memory, parsing the QPIC JSON", measured["parse_once"]["peak"] / _MEGABYTE, "MB"),
        _at_most(
            "peak memory, whole run on the native file", measured["whole_run"]["peak"] / _MEGABYTE, "MB", limit / 1e6
        ),
        _seconds("  its seconds", measured["whole_run"]["seconds"]),
    ]


def show(rows: Sequence[Row], measured: Measured) -> None:
    """Print the table, what it is about, and the figures of the synthetic predictions."""
    scored, files = measured["score_all"], measured["files"]
    console = Console(highlight=False)
    width = None if console.is_terminal else 140
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("figure", "median", "low – high", "target", ""):
        table.add_column(name, justify="left" if name in ("figure", "") else "right")
    for row in rows:
        spread = "" if row.low is None or row.high is None else f"{_text(row.low)} – {_text(row.high)}"
        met = "" if row.met is None else "met" if row.met else "NOT MET"
        table.add_row(row.figure, f"{_text(row.value)} {row.unit}", spread, row.target, met)
    Console(highlight=False, width=width).print(table)
    print(
        f"{scored['images']:,} images; synthetic predictions: detector {scored['triplets']:,} triplets "
        f"(QPIC JSON {files['detector.json'] / 1e6:.0f} MB, native {files['detector.npz'] / 1e6:.0f} MB), "
        f"free text {scored['vlm_triplets']:,} ({measured['resolve']['words']:,} words)"
    )
    print(f"slow oracle: {measured['oracle']['images']:,} of the images, {measured['oracle']['triplets']:,} triplets")
    figures = ", ".join(f"{name} {100 * value:.2f}" for name, value in scored["figures"].items() if value is not None)
    print(f"mAP in %: {figures}")


def _seconds(figure: str, values: Sequence[float]) -> Row:
    return Row(figure, median(values), "s", *_spread(values))


def _rate(figure: str, triplets: int, seconds: Sequence[float], wanted: float | None) -> Row:
    rates = [triplets / value for value in seconds]
    row = _at_least(figure, triplets / median(seconds), "1/s", wanted) if wanted else Row(figure, median(rates), "1/s")
    low, high = _spread(rates)
    return row._replace(low=low, high=high)


def _ratio(figure: str, values: Sequence[float], base: Sequence[float], most: float) -> Row:
    """Compare run by run: noise that lasts hits both of a pair."""
    ratios = [value / other for value, other in zip(values, base, strict=True)]
    low, high = _spread(ratios)
    return _at_most(figure, median(ratios), "×", most)._replace(low=low, high=high)


def _at_most(figure: str, value: float, unit: str, most: float) -> Row:
    return Row(figure, value, unit, target=f"≤ {_text(most)}", met=value <= most)


def _at_least(figure: str, value: float, unit: str, least: float) -> Row:
    return Row(figure, value, unit, target=f"≥ {_text(least)}", met=value >= least)


def _spread(values: Sequence[float]) -> tuple[float | None, float | None]:
    return (min(values), max(values)) if len(values) > 1 else (None, None)


def _text(value: float) -> str:
    formats: list[tuple[float, Callable[[float], str]]] = [
        (1000, lambda v: f"{v:,.0f}"),
        (10, lambda v: f"{v:.1f}"),
        (0.1, lambda v: f"{v:.2f}"),
    ]
    return next((form(value) for least, form in formats if value >= least), f"{value:.4f}")
