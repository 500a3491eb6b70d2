"""Stages about a rating job before and after the raters: planning all pairs, and loading the finished map.

Planning is that of HICO-DET's whole map. The maps are synthetic: 120,000 verb and 40,000 object pairs of that plan with
five ratings each (what the paper's raters all rated), and the whole plan, where most verb pairs have one rating, a 0.
Every repeat is the first of a new process. Ratios are to work of the same size in the same process.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np

from benchmarks.shared import REPEATS, SEED, Row, fresh, ratio, seconds_row, timed
from shoe.benchmarks import benchmark
from shoe.maps.planning import Plan, plan_dataset
from shoe.similarity import RatedPairs, Rater, SimilarityMap, write_map
from shoe.similarity.ensemble import MISSING
from shoe.similarity.map_files import FILES

RATERS = [Rater(f"rater_{number}", "synthetic") for number in range(1, 6)]
FINISHED = {"verb": 120_000, "object": 40_000}


def raters(_: str) -> list[Row]:
    """Plan HICO-DET's whole map, and load maps that five raters finished."""
    found = []
    with TemporaryDirectory() as folder:
        make_maps(Path(folder))
        for label, work, map_folder, beside, most in (
            ("plan HICO-DET's whole map", "plan", "", "sorting as many numbers", 10),
            ("load a map that 5 raters finished", "load", f"{folder}/finished", "hashing its files", 0.3),
            ("load it with the first rater's zeros", "load", f"{folder}/whole", "hashing its files", None),
        ):
            pairs, own, other = zip(*(fresh("raters", work, map_folder) for _ in range(REPEATS)), strict=True)
            found.append(seconds_row(f"{label}, {pairs[0]:,} pairs", own, most=most))
            found.append(ratio(f"  / {beside}", own, other))
    return found


def plan(_: str) -> tuple[int, float, float]:
    """Plan HICO-DET's whole map, the lexicon not loaded yet: pairs, seconds, and seconds of sorting."""
    classes = benchmark("hico-det").classes
    start = perf_counter()
    plans = plan_dataset(classes)
    seconds = perf_counter() - start
    pairs = sum(len(one.synset) for one in plans.values())
    numbers = np.random.default_rng(SEED).integers(0, 2**62, pairs)
    return pairs, seconds, timed(lambda: np.sort(numbers), 1)[0]


def load(folder: str) -> tuple[int, float, float]:
    """Load a map: pairs, seconds, and seconds of hashing."""
    start = perf_counter()
    loaded = SimilarityMap.load(Path(folder))
    seconds = perf_counter() - start
    files = [(Path(folder) / file).read_bytes() for file in FILES.values()]
    beside = timed(lambda: [sha256(content).digest() for content in files], 1)[0]
    return sum(map(len, loaded.tables.values())), seconds, beside


def make_maps(folder: Path) -> None:
    """Write both synthetic maps."""
    random = np.random.default_rng(SEED)
    plans = plan_dataset(benchmark("hico-det").classes)
    for name in ("finished", "whole"):
        pairs = {part: ratings(one, FINISHED[part], name == "whole", random) for part, one in plans.items()}
        write_map(folder / name, dataset="hico-det", raters=RATERS, pairs=pairs)


def ratings(plan: Plan, rated: int, whole: bool, random: np.random.Generator) -> RatedPairs:
    """Return five random ratings for some of a plan's pairs; for the others nothing, or one 0."""
    given = np.full((len(plan.synset), len(RATERS)), MISSING, np.int8)
    given[:, 0] = 0 if whole else MISSING
    chosen = np.sort(random.choice(len(plan.synset), rated, replace=False))
    given[chosen] = random.integers(0, 5, (rated, len(RATERS)))
    pairs = RatedPairs(plan.class_synset, plan.synset, given)
    return pairs[pairs.rated]
