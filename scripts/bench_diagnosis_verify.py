"""Hold the figures of `shoe diagnose` to those of the slow oracles on a whole test set: `scripts/bench --verify`.

Usage: bench_diagnosis_verify.py FOLDER, as for bench_stages.py. Exit code 1 where they differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench_diagnosis import RUNS
from bench_verify import Check, agree

from shoe.benchmarks import read_ground_truth
from shoe.diagnosis.diagnose import Diagnosis, diagnose
from shoe.io.native import read_native
from shoe.scoring.entries import Means
from tests.diagnosis.test_against_oracle import by_numbers
from tests.oracles.diagnosis import diagnosed
from tests.oracles.diagnosis_fixes import ORACLES, greedy
from tests.oracles.diagnosis_map import MapFigures, counts, oracle_map, progressive_maps
from tests.oracles.model import from_tables


def verify(folder: Path) -> Iterator[Check]:
    """Yield each count and mean twice: as shoe and as the oracle have it."""
    truth, detector = read_ground_truth(folder / "truth.json"), read_native(folder / "detector.npz")
    scenes = from_tables(truth, detector)
    for run, options in RUNS.items():
        images = diagnosed(scenes, truth.classes, options["variant"])
        choose = greedy if options.get("choice") == "greedy" else by_numbers(detector, 0)
        fast = diagnose(detector, truth, **options)
        for name, number in counts(images, choose).items():
            yield run, f"count: {name}", fast.counts[name], number
        slow = {name: oracle_map(images, truth.classes, name, choose) for name in (None, *ORACLES)}
        yield from _compared(run, fast, slow, progressive_maps(images, truth.classes, choose))


def _compared(
    run: str, fast: Diagnosis, slow: dict[str | None, MapFigures], progression: Sequence[MapFigures]
) -> Iterator[Check]:
    before = slow[None]
    for name, after in slow.items():
        for part in Means._fields:
            a, b = after[part], before[part]  # type: ignore[literal-required]
            if name is None:
                yield run, part, getattr(fast.means, part), a
            else:
                delta = None if a is None or b is None else a - b
                yield run, f"delta of {name}: {part}", getattr(fast.deltas[name], part), delta
    for step, expected in zip(fast.progression, progression, strict=True):
        for part in Means._fields:
            yield run, f"after {step.name}: {part}", getattr(step.means, part), expected[part]  # type: ignore[literal-required]


def main() -> None:
    """Print each figure of shoe beside the oracle's."""
    agreed = True
    for run, name, fast, slow in verify(Path(sys.argv[1])):
        same = agree(fast, slow)
        agreed &= same
        print(f"{'same' if same else 'DIFFERENT':<10}{run:<32}{name:<40}{fast!s:<24}{slow!s}", flush=True)
    sys.exit(not agreed)


if __name__ == "__main__":
    main()
