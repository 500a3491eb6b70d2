"""mAP after a fix, against rankings made one prediction at a time and averaged as each text says."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks.classes import ClassSplit
from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.scoring.matching.task import Task
from shoe.scoring.strict import strict_score
from tests.diagnosis.by_hand import comparable, diagnosed
from tests.examples import examples
from tests.oracles.model import ImageScene


@given(found=comparable())
def test_before_any_fix_the_release_is_its_strict_protocol(found: list[ImageScene]) -> None:
    fast = diagnosed(*found, variant="released")
    strict = strict_score(fast.task, STRICT["diag"])
    assert fast.means == (strict.map, strict.map_rare, strict.map_non_rare)


@examples(0.2)
@given(found=comparable(), variant=st.sampled_from(["paper", "released"]))
def test_parts_of_a_class_split_are_counted_as_rare_and_others_are(found: list[ImageScene], variant: str) -> None:
    one = diagnosed(*found, variant=variant)
    rare = one.task.truth.classes.rare
    split = ClassSplit("by-rarity", {"rare": rare, "other": ~rare, "all": rare | ~rare}, "made for this test")
    truth = replace(one.task.truth, class_split=split)
    parted = replace(one, task=Task(one.task.predictions, truth))
    assert [mean.map for mean in parted.parts.values()] == [*one.means[1:], one.means[0]] or variant == "released"
    for name, (_, *expected) in one.deltas.items():
        near = [value if value is None else pytest.approx(value, abs=1e-12) for value in expected]
        assert [parted.part_deltas[part][name] for part in ("rare", "other")] == near
