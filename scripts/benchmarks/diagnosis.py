"""The stage about `shoe diagnose`."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median
from typing import Any

from benchmarks.scoring import some_images, tables
from benchmarks.shared import Row, at_least, in_turns, ratio, seconds_row, timed
from shoe.diagnosis.diagnose import Diagnosis, diagnose
from shoe.scoring.score import score

RUNS: dict[str, dict[str, Any]] = {
    "paper, seeded": {"variant": "paper"},
    "paper, greedy": {"variant": "paper", "choice": "greedy"},
    "released": {"variant": "released"},
}


def diagnosis(folder: str) -> list[Row]:
    """Time all fixes of errors beside one strict run, and the slow oracle of the tests on some of the images."""
    from tests.oracles.diagnosis import diagnosed
    from tests.oracles.diagnosis_fixes import ORACLES
    from tests.oracles.diagnosis_map import counts, oracle_map, progressive_maps
    from tests.oracles.model import from_tables

    truth, detector, _ = tables(folder)
    works: dict[str, Callable[[], object]] = {"diag": lambda: score(detector, truth, protocols=["diag"])}
    for name, options in RUNS.items():
        works[name] = lambda options=options: _errors(diagnose(detector, truth, **options))  # type: ignore[misc]
    seconds = in_turns(works)
    some_truth, some = some_images(truth, detector)

    def everything() -> None:
        images = diagnosed(from_tables(some_truth, some), truth.classes)
        counts(images)
        for name in (None, *ORACLES):
            oracle_map(images, truth.classes, name)
        progressive_maps(images, truth.classes)

    slow = len(diagnose(some, some_truth).scope.prediction) / median(timed(everything, 3))
    triplets = len(diagnose(detector, truth).scope.prediction)
    found = [seconds_row("strict mAP, diag, beside the diagnosis", seconds["diag"])]
    for name in RUNS:
        times = triplets / median(seconds[name]) / slow
        found.append(seconds_row(f"diagnose, all oracles, {name}", seconds[name]))
        found.append(ratio("  / strict mAP, diag", seconds[name], seconds["diag"], 6))
        found.append(at_least("  / slow oracle's triplets a second", times, "×", 60))
    return [*found, Row("slow oracle, diagnosis, triplets a second", slow, "1/s")]


def _errors(found: Diagnosis) -> object:
    """Return the error analysis whole: its parts are computed when they are read."""
    return found.counts, found.deltas, found.progression, found.types, found.target, found.truth_status, found.fixed_by
