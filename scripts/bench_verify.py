"""Hold the figures of shoe to those of the slow oracles on a whole test set: `scripts/bench --verify`.

Usage: bench_verify.py FOLDER, as for bench_stages.py. Exit code 1 where they differ.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from bench_stages import similarities
from numpy.typing import NDArray

from shoe.benchmarks import read_ground_truth
from shoe.benchmarks.hico_det.protocols import PROTOCOLS as STRICT
from shoe.core.interactions import Interactions
from shoe.io.native import read_native
from shoe.matching.task import Task
from shoe.predictions import read_predictions
from shoe.scoring.score import score
from tests.oracles.average_precision import OutOfReachError
from tests.oracles.model import from_tables
from tests.oracles.semantic import semantic
from tests.oracles.strict import strict

TOLERANCE = 1e-9
SEMANTIC_RUNS = {
    "shoe": {"ties": "expected"},
    "shoe, ties=input": {"ties": "input"},
    "shoe-literal": {"ties": "input", "fp-scope": "image", "repeats": "matched"},
}
STRICT_FIGURES = ("map", "map_rare", "map_non_rare", "max_recall")
SEMANTIC_FIGURES = ("map", "mf1", "gt_miss_rate", "prediction_miss_rate")

Check = tuple[str, str, float | None, float | None]
"""What was scored and how, the figure's name, shoe's value and the oracle's."""


def verify(folder: Path) -> Iterator[Check]:
    """Yield each figure twice: as shoe and as the oracle have it; classes' APs as their largest difference."""
    truth = read_ground_truth(folder / "truth.json")
    detector, vlm = read_native(folder / "detector.npz"), read_predictions(folder / "vlm.jsonl")
    for source, predictions in (("detector", detector), ("free text", vlm)):
        scenes, task = from_tables(truth, predictions), Task(predictions, truth)
        labelled = from_tables(truth, in_labels(task))
        for protocol in STRICT:
            slow = strict(labelled, truth.classes, protocol)  # type: ignore[arg-type]
            (fast,) = score(predictions, truth, protocols=[protocol]).strict_results
            yield from _pairs(f"{source}: {protocol}", fast.__getattribute__, slow, STRICT_FIGURES)
            yield f"{source}: {protocol}", "AP by class, largest difference", _largest(fast.ap, slow["ap"]), 0.0
        verb, noun = similarities(task)
        for name, options in SEMANTIC_RUNS.items():
            try:
                found = semantic(
                    scenes, truth.classes, verb, noun, {k.replace("-", "_"): v for k, v in options.items()}
                )
            except OutOfReachError as error:
                print(f"{'left out':<10}{source}: {name}: {error}")
                continue
            settings = [f"{k}={v}" for k, v in options.items()]
            quick = score(predictions, truth, protocols=["shoe"], options=settings).semantic
            if quick is not None:
                yield from _pairs(f"{source}: {name}", quick.__getattribute__, found, SEMANTIC_FIGURES)
                yield f"{source}: {name}", "AP by class, largest difference", _largest(quick.ap, found["ap"]), 0.0


def in_labels(task: Task) -> Interactions:
    """The predictions with each word that is a label (up to case and inflection) written as the dataset writes it."""
    table, classes = task.predictions, task.truth.classes

    def spelled(words: tuple[str, ...], label: NDArray[np.int32], labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(labels[k] if k >= 0 else word for word, k in zip(words, label.tolist(), strict=True))

    verbs = spelled(table.verbs, task.verb_label, classes.verbs)
    return replace(table, verbs=verbs, objects=spelled(table.objects, task.object_label, classes.objects))


def agree(fast: float | None, slow: float | None) -> bool:
    """Whether two figures are equal to 1e-9, or both absent."""
    return fast is slow is None or (fast is not None and slow is not None and abs(fast - slow) <= TOLERANCE)


def _pairs(run: str, fast: Callable[[str], float | None], slow: object, names: tuple[str, ...]) -> Iterator[Check]:
    for name in names:
        yield run, name, fast(name), slow[name]  # type: ignore[index]


def _largest(fast: NDArray[np.float64], slow: list[float | None]) -> float:
    expected = np.array([np.nan if value is None else value for value in slow])
    if (np.isnan(fast) != np.isnan(expected)).any():
        return float("inf")
    return float(np.nanmax(np.abs(fast - expected), initial=0.0))


def main() -> None:
    """Print each figure of shoe beside the oracle's."""
    agreed = True
    for run, name, fast, slow in verify(Path(sys.argv[1])):
        same = agree(fast, slow)
        agreed &= same
        print(f"{'same' if same else 'DIFFERENT':<10}{run:<36}{name:<32}{fast!s:<24}{slow!s}", flush=True)
    sys.exit(not agreed)


if __name__ == "__main__":
    main()
