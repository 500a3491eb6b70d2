"""Hold the figures of `shoe diagnose` to those of the slow oracles on a whole test set: `scripts/bench --verify`.

Usage: bench_diagnosis_verify.py FOLDER, as for bench_stages.py. Exit code 1 where they differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from bench_diagnosis import RUNS
from bench_verify import Check, agree

from shoe.datasets.classes import HoiClasses
from shoe.datasets.hico_det import read_ground_truth
from shoe.diagnosis.deltas import Means
from shoe.diagnosis.diagnose import diagnose, diagnose_task
from shoe.diagnosis.diagnosis import Diagnosis
from shoe.diagnosis.variants import VARIANTS
from shoe.matching.task import Task
from shoe.native import read_native
from shoe.scoring.average_precision import Interpolation
from tests.diagnosis.test_against_oracle import by_numbers
from tests.oracles.diagnosis import Diagnosed, diagnosed
from tests.oracles.diagnosis_fixes import ORACLES, PROGRESSIVE, Choose, State, best_case, unfixed
from tests.oracles.diagnosis_map import MapFigures, counts, oracle_map, progressive_maps
from tests.oracles.model import from_tables


def verify(folder: Path) -> Iterator[Check]:
    """Yield each count and mean twice: as shoe and as the oracle have it.

    The oracle averages as the toolbox does in both variants, so ``paper`` is held to it with that averaging, and with
    its own to the oracle's states under ``means_of_the_paper``.
    """
    truth, detector = read_ground_truth(folder / "truth.json"), read_native(folder / "detector.npz")
    scenes = from_tables(truth, detector)
    for run, options in RUNS.items():
        variant, choice = VARIANTS[options["variant"]], options.get("choice", "seeded")
        images = diagnosed(scenes, truth.classes, options["variant"])
        choose = best_case if choice == "best" else by_numbers(detector, 0)
        toolbox = replace(variant.strict, ap=Interpolation.ELEVEN_ARANGE, unpredicted="full-only")
        fast = diagnose_task(Task(detector, truth), replace(variant, strict=toolbox), choice, 0, {})
        for name, number in counts(images, choose).items():
            yield run, f"count: {name}", fast.counts[name], number
        yield from _compared(
            f"{run}, 11 points" if variant.name == "paper" else run,
            fast,
            {name: oracle_map(images, truth.classes, name, choose) for name in (None, *ORACLES)},
            progressive_maps(images, truth.classes, choose),
        )
        if variant.name == "paper":
            yield from _compared(
                f"{run}, own averaging",
                diagnose(detector, truth, **options),
                {name: next(means_of_the_paper(images, truth.classes, choose, [name])) for name in (None, *ORACLES)},
                list(means_of_the_paper(images, truth.classes, choose, (*PROGRESSIVE[:-1], "false_negative"))),
            )


def means_of_the_paper(
    images: Sequence[Diagnosed], classes: HoiClasses, choose: Choose, fixes: Sequence[str | None]
) -> Iterator[MapFigures]:
    """MAP after each of some fixes: the area under the envelope of each class that has truth (IJCV paper 2.3)."""
    states = [unfixed(image) for image in images]
    rare = classes.rare.tolist()
    for name in fixes:
        truths = [0] * len(classes)
        ranked: list[list[tuple[float, bool]]] = [[] for _ in range(len(classes))]
        for state in states:
            if name is not None:
                ORACLES[name](state, choose)
            _count(state, truths, ranked)
        ap = [
            _area([hit for _, hit in sorted(each, key=lambda entry: -entry[0])], number) if number else None
            for each, number in zip(ranked, truths, strict=True)
        ]
        yield {
            "map": _mean(ap),
            "map_rare": _mean([a for a, is_rare in zip(ap, rare, strict=True) if is_rare]),
            "map_non_rare": _mean([a for a, is_rare in zip(ap, rare, strict=True) if not is_rare]),
            "ap": ap,
        }


def _count(state: State, truths: list[int], ranked: list[list[tuple[float, bool]]]) -> None:
    for place, truth in enumerate(state.image.truth):
        truths[truth.hoi] += place not in state.left_out
    for entry in state.entries:
        if entry.hoi >= 0:
            ranked[entry.hoi].append((entry.source.score, entry.type == "true_positive"))


def _area(hits: Sequence[bool], truths: int) -> float:
    found = sum(hits)
    area = envelope = 0.0
    for rank in range(len(hits), 0, -1):
        envelope = max(envelope, found / rank)
        if hits[rank - 1]:
            area += envelope
            found -= 1
    return area / truths


def _mean(ap: Sequence[float | None]) -> float | None:
    values = [value for value in ap if value is not None]
    return sum(values) / len(values) if values else None


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
