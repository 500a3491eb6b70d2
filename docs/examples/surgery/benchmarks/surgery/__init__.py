"""CholecT45's surgical triplets as a benchmark: the instrument's box stands where a person's does elsewhere."""

from pathlib import Path

import numpy as np

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.classes import HoiClasses, class_table, parse_classes
from shoe.benchmarks.scoring_options import StrictOptions
from shoe.core.interactions import Rows

TRIPLETS = Path(__file__).parents[2] / "triplets.txt"


def load_classes() -> HoiClasses:
    """A class for each triplet that says what is done: verb and instrument are one verb, "dissect_with_hook"."""
    triplets = [line.split(",") for line in TRIPLETS.read_text().splitlines()]
    pairs = [(f"{verb}_with_{tool}", target) for tool, verb, target in triplets if verb != "null_verb"]
    return parse_classes(class_table([[verb, target, verb, verb, target, ""] for verb, target in pairs]), "surgery")


def read_lines(_path: str | Path, data: bytes, _benchmark: Benchmark, _split: str | None) -> Rows:
    """Read lines of frame, instrument, verb, target, and the eight numbers of two boxes."""
    lines = [line.split() for line in data.decode().splitlines()[1:]]
    names = [[line[0] for line in lines], [f"{line[2]}_with_{line[1]}" for line in lines], [line[3] for line in lines]]
    known = [sorted(set(column)) for column in names]
    number = [np.array([of.index(name) for name in column]) for of, column in zip(known, names, strict=True)]
    boxes = np.array([line[4:] for line in lines], np.float64)
    return Rows(known[0], number[0], boxes[:, :4], boxes[:, 4:], known[1], known[2], number[1], number[2])


BENCHMARK = Benchmark(
    name="surgery",
    load_classes=load_classes,
    formats=[TruthFormat("triplet lines", "triplets.txt", lambda data: data.startswith(b"frame"), read_lines)],
    protocols={"surgery": StrictOptions(protocol="surgery")},
    default_protocols=("surgery", "shoe"),
)
