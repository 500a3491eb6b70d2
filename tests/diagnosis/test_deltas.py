"""mAP after a fix, against rankings made one prediction at a time and averaged as each text says."""

from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe.benchmarks.class_splits import ClassSplit
from shoe.benchmarks.hico_det.protocols import PROTOCOLS as STRICT
from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.oracles import State, before_fixes
from shoe.matching.task import Task
from shoe.scoring.strict import strict_score
from tests.diagnosis.by_hand import CLASSES, comparable, diagnosed
from tests.examples import examples
from tests.oracles.average_precision import eleven_point
from tests.oracles.model import ImageScene
from tests.oracles.scenes import random_scenes
from tests.scoring.compare import close

both_variants = pytest.mark.parametrize("variant", ["paper", "released"])
Figures = tuple[float | None, float | None, float | None]


@both_variants
@given(found=comparable(), keep=st.booleans())
def test_small(variant: str, found: list[ImageScene], keep: bool) -> None:
    check(diagnosed(*found, variant=variant, seeds=1, no_interaction="keep" if keep else "exclude"))


@pytest.mark.slow
@both_variants
@pytest.mark.parametrize("decimals", [None, 1])
def test_many(variant: str, decimals: int | None) -> None:
    """Classes with up to dozens of true positives, with and without ties."""
    check(diagnosed(*many_images(decimals), variant=variant, seeds=1))


@cache
def many_images(decimals: int | None) -> list[ImageScene]:
    return random_scenes(np.random.default_rng(5), 300, n_predictions=30, decimals=decimals)


@given(found=comparable())
def test_before_any_fix_the_release_is_its_strict_protocol(found: list[ImageScene]) -> None:
    fast = diagnosed(*found, variant="released")
    strict = strict_score(fast.task, STRICT["diag"])
    assert fast.means == (strict.map, strict.map_rare, strict.map_non_rare)


def check(found: Diagnosis) -> None:
    start = before_fixes(found.assigned.found_by, len(found.scope.prediction))
    before = means_by_hand(found, start)
    assert all(close(*pair) for pair in zip(found.means, before, strict=True))
    for name, state in found.states.items():
        after = means_by_hand(found, state)
        expected = [None if a is None or b is None else a - b for a, b in zip(after, before, strict=True)]
        assert all(close(*pair) for pair in zip(found.deltas[name], expected, strict=True)), name


def means_by_hand(found: Diagnosis, state: State) -> Figures:
    """IJCV paper 2.3, or protocols.md 8.5."""
    scope = found.scope
    score = found.task.predictions.score[scope.prediction].tolist()
    truth_of = {p: t for t, p in enumerate(state.found_by.tolist()) if p >= 0}
    ranked: dict[int, list[int]] = {}
    for p in sorted(np.flatnonzero(state.kept).tolist(), key=lambda p: -score[p]):
        hoi = int(scope.truth_hoi[truth_of[p]] if p in truth_of else scope.hoi[p])
        ranked.setdefault(hoi, []).append(int(p in truth_of))
    every: list[float] = []
    parts: dict[bool, list[float]] = {True: [], False: []}
    counted = Counter(scope.truth_hoi[state.counted].tolist())
    for k, truths in counted.items():
        hits, rare = ranked.get(k, []), bool(CLASSES.rare[k])
        if found.variant.name == "paper":
            every.append(integral(hits, truths))
            parts[rare].append(every[-1])
        elif not hits:
            every.append(0.0)
        elif any(hits):
            every.append(eleven_point(hits, truths, "arange"))
            parts[rare].append(every[-1])
    return mean(every), mean(parts[True]), mean(parts[False])


def mean(values: list[float]) -> float | None:
    return sum(values) / len(values) if values else None


def integral(hits: list[int], truths: int) -> float:
    """Area under the precision-recall curve, precision being what it is at that or at any higher recall."""
    precision = [sum(hits[: i + 1]) / (i + 1) for i in range(len(hits))]
    return sum(max(precision[i:]) / truths for i, hit in enumerate(hits) if hit)


@examples(0.2)
@given(found=comparable(), variant=st.sampled_from(["paper", "released"]))
def test_parts_of_a_class_split_are_counted_as_rare_and_other_classes_are(
    found: list[ImageScene], variant: str
) -> None:
    one = diagnosed(*found, variant=variant)
    rare = one.task.truth.classes.rare
    split = ClassSplit("by-rarity", {"rare": rare, "other": ~rare, "all": rare | ~rare}, "made for this test")
    truth = replace(one.task.truth, class_split=split)
    parted = replace(one, task=Task(one.task.predictions, truth))
    assert [mean.map for mean in parted.parts.values()] == [*one.means[1:], one.means[0]] or variant == "released"
    for name, (_, *expected) in one.deltas.items():
        assert [parted.part_deltas[part][name] for part in ("rare", "other")] == [
            value if value is None else pytest.approx(value, abs=1e-12) for value in expected
        ]
