"""What `scripts/bench` measures of `shoe diagnose`.

Usage: bench_diagnosis.py diagnosis FOLDER, as for bench_stages.py; it prints one JSON object.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from bench_stages import EVERY_NTH_IMAGE, REPEATS, some_images, timed
from bench_table import Measured, Row, _at_least, _ratio, _seconds

from shoe.benchmarks import read_ground_truth
from shoe.benchmarks.truth import GroundTruth
from shoe.core.interactions import Interactions
from shoe.diagnosis.diagnose import Diagnosis, diagnose
from shoe.io.native import read_native
from shoe.scoring.score import score

_MOST, _LEAST = 6, 60
RUNS: dict[str, dict[str, Any]] = {
    "paper, seeded": {"variant": "paper"},
    "paper, greedy": {"variant": "paper", "choice": "greedy"},
    "released": {"variant": "released"},
}


def measure(folder: Path) -> Measured:
    """Time all oracles beside one strict run, in turns, and the slow oracle on some of the images."""
    truth = read_ground_truth(folder / "truth.json")
    detector = read_native(folder / "detector.npz")
    works: dict[str, Callable[[], object]] = {"diag": lambda: score(detector, truth, protocols=["diag"])}
    for name, options in RUNS.items():
        works[name] = lambda options=options: _errors(diagnose(detector, truth, **options))  # type: ignore[misc]
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPEATS):
        for name, work in works.items():
            seconds[name] += timed(work, 1)
    counted = len(diagnose(detector, truth).scope.prediction)
    return {"seconds": seconds, "triplets": counted, **_slow(*some_images(truth, detector, EVERY_NTH_IMAGE))}


def _errors(found: Diagnosis) -> object:
    """The error analysis whole: parts are computed when they are asked for."""
    return found.counts, found.deltas, found.progression, found.types, found.target, found.truth_status, found.fixed_by


def _slow(truth: GroundTruth, detector: Interactions) -> Measured:
    """Time the slow oracle of the tests on all that the fast side finds out, from the tables that that starts from."""
    from tests.oracles.diagnosis import diagnosed
    from tests.oracles.diagnosis_fixes import ORACLES
    from tests.oracles.diagnosis_map import counts, oracle_map, progressive_maps
    from tests.oracles.model import from_tables

    classes = truth.classes

    def everything() -> None:
        images = diagnosed(from_tables(truth, detector), classes)
        counts(images)
        for name in (None, *ORACLES):
            oracle_map(images, classes, name)
        progressive_maps(images, classes)

    counted = len(diagnose(detector, truth).scope.prediction)
    return {"slow_triplets": counted, "slow_seconds": timed(everything, 3)}


def rows(measured: Measured) -> list[Row]:
    """Turn what was measured into figures."""
    seconds = measured["seconds"]
    slow = measured["slow_triplets"] / median(measured["slow_seconds"])
    made = [_seconds("strict mAP, diag, beside the diagnosis", seconds["diag"])]
    for name in RUNS:
        rate = measured["triplets"] / median(seconds[name])
        made.append(_seconds(f"diagnose, all oracles, {name}", seconds[name]))
        made.append(_ratio("  / strict mAP, diag", seconds[name], seconds["diag"], _MOST))
        made.append(_at_least("  / slow oracle's triplets a second", rate / slow, "×", _LEAST))
    return [*made, Row("slow oracle, diagnosis, triplets a second", slow, "1/s")]


if __name__ == "__main__":
    json.dump(measure(Path(sys.argv[2])), sys.stdout)
