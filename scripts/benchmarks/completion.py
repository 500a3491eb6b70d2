"""The stage about `shoe map complete`: stand-ins that know all answers complete maps for free text on a full test set.

Each run begins with a map, asks a stand-in for what `shoe map complete` would ask, and says at which number of pairs
the interval was inside the tolerance; then whether the score under the stand-in's whole table lies in it, which no run
can know. Nothing here says anything of a real model.

Stand-ins: wup, WordNet's Wu-Palmer measure rounded to 0 to 4; noisy, the same bent and with noise, as most pairs of
senses have nothing in common; shipped, the packaged map, and 0 for what it does not rate. "thinned" begins with half of
the packaged map's pairs, all others with an empty map.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from zlib import crc32

import numpy as np

from benchmarks.scoring import tables
from benchmarks.shared import Row, at_least, print_cells
from shoe.core.arrays import Floats, Ints, Mask
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import ids_of, names_of
from shoe.llm.budget import Budget
from shoe.maps.complete import CompletionRound, complete
from shoe.maps.planning import plan_dataset, plan_needed
from shoe.scoring.evidence.bounds import OPTIONS
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.semantic import semantic_score
from shoe.similarity import RatedPairs, Rater, Similarity, SimilarityMap, WordNetSimilarity, load_similarity, write_map

Pair = tuple[str, str]


@dataclass(frozen=True)
class StandIn(Similarity):
    """Knows the rating of every pair; a Similarity, too: that of its whole table."""

    name: str

    digest = "00000000"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """See shoe.similarity.Similarity."""
        similar = WordNetSimilarity("wup").values(part, class_senses, senses)
        known = load_similarity("hico-det").values(part, class_senses, senses)
        if self.name == "noisy":
            similar = 1.3 * similar**2 - 0.45 + 0.15 * noise(class_senses, senses)
        rated = np.where(np.isnan(known), 0, known) if self.name == "shipped" else similar
        rounded = np.clip(np.round(4 * rated), 0, 4) / 4
        return np.where(class_senses[:, None] == senses, 1.0, rounded)

    def rate(self, wanted: Mapping[Part, Sequence[Pair]]) -> dict[Part, RatedPairs]:
        """Answer pairs."""
        answers: dict[Part, RatedPairs] = {}
        for part, pairs in wanted.items():
            classes, senses = (sorted({pair[i] for pair in pairs}) for i in (0, 1))
            values = self.between(part, classes, senses)
            row, column = ({name: i for i, name in enumerate(names)} for names in (classes, senses))
            given = np.array([[round(4 * values[row[a], column[b]])] for a, b in pairs], np.int8).reshape(-1, 1)
            answers[part] = RatedPairs(ids_of(a for a, _ in pairs), ids_of(b for _, b in pairs), given).by_name()
        return answers


def noise(class_senses: Ints, senses: Ints) -> Floats:
    """Return numbers that are about normal, and fixed by the pair."""
    rows = np.array([crc32(name.encode()) for name in names_of(class_senses)], np.uint64)[:, None]
    mixed = (rows * np.uint64(0x9E3779B97F4A7C15)) ^ (senses.astype(np.uint64) * np.uint64(0xBF58476D1CE4E5B9))
    mixed = (mixed ^ (mixed >> np.uint64(31))) * np.uint64(0x94D049BB133111EB)
    parts = [(mixed >> np.uint64(shift)) & np.uint64(0xFFFF) for shift in (0, 16, 32, 48)]
    uniform: Floats = np.stack([part.astype(np.float64) / 65536 for part in parts])
    normal: Floats = (uniform.sum(axis=0) - 2) * np.sqrt(3)
    return normal


def completion(folder: str, *, tolerance: float = 0.001) -> list[Row]:
    """Complete four maps."""
    truth, _, predictions = tables(folder)
    task, found = Task(predictions, truth), list[Row]()
    full = sum(map(len, plan_dataset(truth.classes).values()))
    needed = sum(map(len, plan_needed(truth.classes, [predictions]).values()))
    print(f"{len(predictions):,} predictions; a full build: {full:,} pairs; all that they look up: {needed:,} pairs")
    for start, name in (("empty", "wup"), ("empty", "noisy"), ("empty", "shipped"), ("thinned", "shipped")):
        found += run(task, start, StandIn(name), tolerance, full, needed)
    return found


def run(task: Task, start: str, stand_in: StandIn, tolerance: float, full: int, needed: int) -> list[Row]:
    """Complete one map, beside the score under the whole table."""
    print(f"\n{start} map, stand-in {stand_in.name}")
    print_cells("round", "asked", "all", "SHOE-mAP, %", "lowest", "highest", "seconds")
    begun, asked, rounds = perf_counter(), 0, count()

    def show(state: CompletionRound) -> None:
        nonlocal asked
        asked += state.asked
        low, high = (100 * bound for bound in state.map_interval)
        seconds = perf_counter() - begun
        print_cells(str(next(rounds)), f"{state.asked:,}", f"{asked:,}", 100 * state.map, low, high, seconds)

    rater, purpose = Rater(stand_in.name, "a stand-in"), {"predictions": "the benchmark's free text"}
    with TemporaryDirectory() as folder:
        first, out = first_map(start, Path(folder) / "start"), Path(folder) / "completed"
        done = complete(
            first, task, stand_in.rate, [rater], out, tolerance=tolerance, purpose=purpose, budget=Budget(), show=show
        )
    # One that began with real ratings keeps them.
    table: Similarity = Kept(load_similarity("hico-det"), stand_in) if start == "thinned" else stand_in
    score = semantic_score(task, HoiSimilarity.from_task(task, table, OPTIONS), OPTIONS).map
    assert score is not None
    low, high = done.rounds[-1].map_interval
    inside = Row("  SHOE-mAP under the whole table", 100 * score, "%", 100 * low, 100 * high, "in the interval")
    return [
        Row(f"pairs asked, {start} map, stand-in {stand_in.name} ({done.why})", asked, ""),
        at_least("  full build / asked", full / asked, "×", 20),
        Row("  all that are looked up / asked", needed / asked, "×"),
        inside._replace(met=low <= score <= high),
    ]


def first_map(start: str, folder: Path) -> SimilarityMap:
    """Return a map without pairs, or with every second pair of the packaged one, by chance."""
    shipped = SimilarityMap.load("hico-det", "mean")
    pairs = {part: RatedPairs.empty(1) for part in POS}
    raters = [Rater("nobody", "nobody")]
    if start == "thinned":
        raters = list(shipped.raters)
        pairs = {
            part: table[np.array([kept(*pair) for pair in table.names()])] for part, table in shipped.tables.items()
        }
    write_map(folder, name=start, dataset="hico-det", raters=raters, pairs=pairs)
    return SimilarityMap.load(folder, "mean")


def kept(class_sense: str, sense: str) -> bool:
    """Whether a thinned map keeps a pair."""
    return crc32(f"{class_sense} {sense}".encode()) % 2 == 1


@dataclass(frozen=True)
class Kept(Similarity):
    """The rated pairs that a thinned map kept, and a stand-in for the rest."""

    source: Similarity
    stand_in: StandIn

    name = "kept"
    digest = "00000000"

    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """See shoe.similarity.Similarity."""
        known = self.source.values(part, class_senses, senses)
        names = names_of(senses)
        left: Mask = np.array([[kept(a, b) for b in names] for a in names_of(class_senses)], bool)
        return np.where(left & ~np.isnan(known), known, self.stand_in.values(part, class_senses, senses))
