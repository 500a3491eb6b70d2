"""What `scripts/bench` measures of SWIG-HOI: made annotations and predictions of its true size.

Usage: bench_swig.py swig FOLDER, as for bench_stages.py, of whose files it needs none; it prints one JSON object.
"""

from __future__ import annotations

import json
import sys
import tracemalloc

import numpy as np
import synthetic
from bench_stages import timed
from bench_table import Measured, Row, _rate, _seconds
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.interactions import Interactions
from shoe.scoring.score import score

IMAGES, MOST_TRIPLETS, SEED = 14_000, 3, 2022
PROTOCOLS = ("swig-hoi", "choir", "shoe")
_OFTEN = np.array([1, 2, 20])
"""How often an unseen, a rare and another class is drawn."""


def truth() -> GroundTruth:
    """Make annotations: every class that is scored at least once, the others drawn by how common they are."""
    rng, of = np.random.default_rng(SEED), benchmark("swig-hoi")
    classes = of.classes
    scored = np.flatnonzero(classes.scored)
    weight = _OFTEN[np.select([classes.unseen, classes.rare], [0, 1], 2)[scored]]
    image = np.repeat(np.arange(IMAGES), rng.integers(1, MOST_TRIPLETS + 1, IMAGES))
    drawn = rng.choice(scored, len(image) - len(scored), p=weight / weight.sum())
    hoi = rng.permutation(np.concatenate([scored, drawn]))
    sizes = rng.integers(300, 700, (IMAGES, 2))
    person = _boxes(sizes, rng)
    table = Interactions.from_columns(
        images=[f"wrapping_{number}.jpg" for number in range(IMAGES)],
        image=image,
        human_boxes=person[image],
        object_boxes=_boxes(sizes[image], rng),
        sizes=sizes,
        **classes.columns_of(hoi),
    )
    split = of.class_splits["frequency"]()
    return GroundTruth(table, classes, "made", benchmark=of, class_split=split)


def _boxes(sizes: NDArray[np.integer], rng: np.random.Generator) -> NDArray[np.float64]:
    """A box within each of (n, 2) sizes, at least a tenth as wide and high."""
    ends = np.sort(rng.random((len(sizes), 2, 2)), axis=1) * 0.9
    found: NDArray[np.float64] = ((ends + np.array([[0, 0], [0.1, 0.1]])) * sizes[:, None]).reshape(-1, 4)
    return found


def measure() -> Measured:
    """Time each protocol after a first run, and say what memory SHOE takes beside predictions and ground truth."""
    made = truth()
    predictions = synthetic.detector(made, np.random.default_rng(SEED))
    seconds = {}
    for name in PROTOCOLS:
        first = timed(lambda name=name: score(predictions, made, protocols=[name]), 1)  # type: ignore[misc]
        seconds[f"{name}, first"] = first
        seconds[name] = timed(lambda name=name: score(predictions, made, protocols=[name]))  # type: ignore[misc]
    tracemalloc.start()
    score(predictions, made, protocols=["shoe"])
    peak = tracemalloc.get_traced_memory()[1]
    return {"triplets": len(predictions), "truths": len(made.interactions), "seconds": seconds, "peak": peak}


def rows(measured: Measured) -> list[Row]:
    """Turn what was measured into figures."""
    found = []
    for name in PROTOCOLS:
        found.append(_seconds(f"match and score SWIG-HOI, {name}", measured["seconds"][name]))
        found.append(_rate("  triplets a second", measured["triplets"], measured["seconds"][name], None))
    found.append(_seconds("  shoe, first in its process", measured["seconds"]["shoe, first"]))
    return [*found, Row("  peak memory beside the tables", measured["peak"] / 1e6, "MB")]


if __name__ == "__main__":
    json.dump(measure(), sys.stdout)
