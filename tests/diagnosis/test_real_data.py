"""The whole test set of HICO-DET, diagnosed against itself and with errors put into it."""

from dataclasses import replace

import numpy as np
import pytest

from shoe.benchmarks.truth import GroundTruth
from shoe.diagnosis.diagnose import diagnose
from shoe.scoring.score import score
from tests.diagnosis.by_hand import both_variants

pytestmark = pytest.mark.real_data


@both_variants
@pytest.mark.parametrize(
    ("no_interaction", "triplets", "images"), [("exclude", 29_110, 8_528), ("keep", 33_405, 9_546)]
)
def test_truth_predicts_itself(
    hico_det: GroundTruth, variant: str, no_interaction: str, triplets: int, images: int
) -> None:
    """Counts of protocols.md 8 and 15."""
    found = diagnose(hico_det.interactions, hico_det, variant=variant, no_interaction=no_interaction)
    assert found.counts["true_positive"] == len(found.scope.truth) == sum(found.counts.values()) == triplets
    assert len(np.unique(found.scope.truth_image)) == images
    assert found.means == pytest.approx((1, 1, 1))


@both_variants
def test_each_error_that_was_put_in_is_found_and_fixed(hico_det: GroundTruth, variant: str) -> None:
    """Every fourth human and every fifth object stands aside; every seventh verb is another."""
    table = hico_det.interactions
    row = np.arange(len(table))
    wrong_human, wrong_object = row % 4 == 0, row % 5 == 0
    humans = table.human_boxes + 1e5 * wrong_human[:, None]
    objects = table.object_boxes + 1e5 * wrong_object[:, None]
    verb = np.where(row % 7 == 0, (table.verb + 1) % len(table.verbs), table.verb).astype(np.int32)
    predictions = replace(table, human_boxes=humans, object_boxes=objects, verb=verb, score=1 / (row + 2))
    found = diagnose(predictions, hico_det, variant=variant, no_interaction="keep")
    assert found.counts["human_box"] == (wrong_human & ~wrong_object).sum()
    assert found.counts["object_box"] == (wrong_object & ~wrong_human).sum()
    assert found.counts["both_boxes"] == (wrong_human & wrong_object).sum()
    assert found.progression[-1].means.map == pytest.approx(1)
    if variant == "released":
        strict = score(predictions, hico_det, protocols=["diag"], options=["strict.no-interaction=keep"]).strict
        assert strict is not None
        assert found.means == (strict.map, strict.map_rare, strict.map_non_rare)
