"""The stage about SWIG-HOI: made annotations and predictions of its true size."""

from __future__ import annotations

import tracemalloc

import numpy as np
import synthetic
from numpy.typing import NDArray

from benchmarks.shared import Row, rate, seconds_row, timed
from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.interactions import Interactions
from shoe.scoring.score import score

IMAGES, MOST_TRIPLETS, SEED = 14_000, 3, 2022
PROTOCOLS = ("swig-hoi", "choir", "shoe")
_OFTEN = np.array([1, 2, 20])
"""How often an unseen, a rare and another class is drawn."""


def truth() -> GroundTruth:
    """Return made annotations: every class that is scored at least once, the others drawn by how common they are."""
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
    """Return a box within each of (n, 2) sizes, at least a tenth as wide and high."""
    ends = np.sort(rng.random((len(sizes), 2, 2)), axis=1) * 0.9
    found: NDArray[np.float64] = ((ends + np.array([[0, 0], [0.1, 0.1]])) * sizes[:, None]).reshape(-1, 4)
    return found


def swig(_: str) -> list[Row]:
    """Time each protocol after a first run, and the memory that SHOE takes beside predictions and ground truth."""
    made = truth()
    predictions = synthetic.detector(made, np.random.default_rng(SEED))
    found = []
    for name in PROTOCOLS:

        def work(name: str = name) -> object:
            return score(predictions, made, protocols=[name])

        first, seconds = timed(work, 1), timed(work)
        found.append(seconds_row(f"match and score SWIG-HOI, {name}", seconds))
        found.append(seconds_row("  first in its process", first))
        found.append(rate("  triplets a second", len(predictions), seconds))
    tracemalloc.start()
    score(predictions, made, protocols=["shoe"])
    return [*found, Row("  peak memory beside the tables", tracemalloc.get_traced_memory()[1] / 1e6, "MB")]
