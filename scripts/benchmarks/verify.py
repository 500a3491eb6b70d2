"""The stage that checks shoe's scores against the slow oracles of the tests, on a whole test set."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from benchmarks.diagnosis import RUNS
from benchmarks.scoring import similarities, tables
from benchmarks.shared import Row
from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.benchmarks.truth import GroundTruth
from shoe.core.interactions import Interactions
from shoe.diagnosis.diagnose import diagnose
from shoe.scoring.entries import Means
from shoe.scoring.matching.task import Task
from shoe.scoring.score import score
from tests.diagnosis.test_against_oracle import by_numbers
from tests.oracles.average_precision import OutOfReachError
from tests.oracles.diagnosis import diagnosed
from tests.oracles.diagnosis_fixes import ORACLES, greedy
from tests.oracles.diagnosis_map import counts, oracle_map, progressive_maps
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


def verify(folder: str) -> list[Row]:
    """Print each score of shoe beside the oracle's; end with exit code 1 if they differ."""
    truth, detector, vlm = tables(folder)
    agreed = True
    for checks in (scores(truth, {"detector": detector, "free text": vlm}), errors(truth, detector)):
        for run, name, fast, slow in checks:
            same = fast is slow is None or (fast is not None and slow is not None and abs(fast - slow) <= TOLERANCE)
            agreed &= same
            print(f"{'same' if same else 'DIFFERENT':<10}{run:<36}{name:<40}{fast!s:<24}{slow!s}", flush=True)
    if not agreed:
        sys.exit(1)
    return []


def scores(truth: GroundTruth, models: dict[str, Interactions]) -> Iterator[Check]:
    """Yield each score twice: as shoe and as the oracle have it; classes' APs as their largest difference."""
    for source, predictions in models.items():
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
    """Return the predictions with words that are labels (up to case and inflection) written as the dataset does."""
    table, classes = task.predictions, task.truth.classes

    def spelled(words: tuple[str, ...], label: NDArray[np.int32], labels: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(labels[k] if k >= 0 else word for word, k in zip(words, label.tolist(), strict=True))

    verbs = spelled(table.verbs, task.verb_label, classes.verbs)
    return replace(table, verbs=verbs, objects=spelled(table.objects, task.object_label, classes.objects))


def _pairs(run: str, fast: Callable[[str], float | None], slow: object, names: tuple[str, ...]) -> Iterator[Check]:
    for name in names:
        yield run, name, fast(name), slow[name]  # type: ignore[index]


def _largest(fast: NDArray[np.float64], slow: list[float | None]) -> float:
    expected = np.array([np.nan if value is None else value for value in slow])
    if (np.isnan(fast) != np.isnan(expected)).any():
        return float("inf")
    return float(np.nanmax(np.abs(fast - expected), initial=0.0))


def errors(truth: GroundTruth, detector: Interactions) -> Iterator[Check]:
    """Yield each count and mean of the error analysis twice: as shoe and as the oracle have it."""
    scenes = from_tables(truth, detector)
    for run, options in RUNS.items():
        images = diagnosed(scenes, truth.classes, options["variant"])
        choose = greedy if options.get("choice") == "greedy" else by_numbers(detector, 0)
        fast = diagnose(detector, truth, **options, seeds=1)  # the oracle has seed 0 alone
        for name, number in counts(images, choose).items():
            yield run, f"count: {name}", fast.counts[name], number
        slow = {name: oracle_map(images, truth.classes, name, choose) for name in (None, *ORACLES)}
        steps = list(zip(fast.progression, progressive_maps(images, truth.classes, choose), strict=True))
        for part in Means._fields:
            before = slow[None][part]  # type: ignore[literal-required]
            yield run, part, getattr(fast.means, part), before
            for name in ORACLES:
                after = slow[name][part]  # type: ignore[literal-required]
                delta = None if after is None or before is None else after - before
                yield run, f"delta of {name}: {part}", getattr(fast.deltas[name], part), delta
            for step, expected in steps:
                yield run, f"after {step.name}: {part}", getattr(step.means, part), expected[part]  # type: ignore[literal-required]
