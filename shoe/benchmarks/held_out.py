"""Held-out combinations of a benchmark: the published systematic generalisation splits, drawn again from their seeds.

The released program numbers combinations object by object, in the order of COCO's categories, and then by the verb's
number in its files, and shuffles that list. What it drew is what the class table has (docs/splits.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from shoe.benchmarks import benchmark
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.class_splits import ClassSplit
from shoe.core.arrays import Indices

SOURCE = "Takemoto et al., HICO-DET-SG and V-COCO-SG; seeds and program of FujitsuResearch/hoi_sg"


def published_splits(dataset: str, ratio: float, seeds: Sequence[int]) -> dict[str, Callable[[], ClassSplit]]:
    """What draws each of a benchmark's published splits again, by its name.

    Args:
        dataset: the benchmark's name.
        ratio: share of the combinations that is for training.
        seeds: of splits 1, 2 and so on.
    """
    return {f"sg{number}": partial(_drawn, dataset, ratio, seed, number) for number, seed in enumerate(seeds, start=1)}


def _drawn(dataset: str, ratio: float, seed: int, number: int) -> ClassSplit:
    of = benchmark(dataset)
    classes = of.classes
    ordered = np.argsort(file_order(of)[classes.verb, classes.object])
    shuffled = np.random.RandomState(seed).permutation(len(ordered))
    held_out = ordered[shuffled[: len(ordered) - int(ratio * len(ordered))]]
    about = f"the {len(held_out)} combinations that systematic generalisation split {number} holds out"
    return ClassSplit.of_unseen(f"sg{number}", held_out, len(classes), SOURCE, about)


def file_order(of: Benchmark) -> Indices:
    """(verbs, objects) numbers that order combinations of the class table's words as those of files do."""
    object_number = np.empty(len(of.objects), np.int64)
    object_number[of.object_order] = np.arange(len(of.object_order))
    object_number = object_number[: len(of.classes.objects)]
    verb_number = np.argsort(of.verb_order)[:, None]
    if of.actions.all:  # an action has a number for each role, and an object has one of them
        number = {pair: i for i, pair in enumerate(of.actions.numbered)}
        action = [of.actions.names.index(verb) for verb in of.classes.verbs]
        rows = [[number[a, of.actions.entry_of(a, o)] for o in of.classes.objects] for a in action]
        verb_number = np.array(rows, np.int64)
    return object_number * (int(verb_number.max()) + 1) + verb_number
