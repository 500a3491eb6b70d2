"""What errors become when they are fixed."""

import numpy as np
import pytest

from shoe.diagnosis.diagnose import diagnose
from tests.diagnosis.by_hand import AWAY, CLASSES, FAR_AWAY, O1, O2, P1, P2, P3, RIDE, diagnosed, image, types
from tests.oracles.boxes import Box
from tests.oracles.model import ImageScene, Triplet, to_tables

THREE = [RIDE, Triplet(P1, O1, "hold", "horse"), Triplet(P1, O1, "feed", "horse")]
"""One pair, three interactions."""


def targets(scene: ImageScene, seeds: int) -> list[list[int]]:
    return [diagnosed(scene, seed=seed).target.tolist() for seed in range(seeds)]


def test_a_random_fix_depends_on_the_seed_and_the_row() -> None:
    scene = image(THREE, [Triplet(P1, O1, "kiss", "horse", 0.5)])
    picks = targets(scene, 200)
    assert picks[:8] == targets(scene, 8)
    assert np.bincount([pick for (pick,) in picks]).min() > 40
    later = image(THREE, [Triplet(AWAY, FAR_AWAY, "ride", "horse", 0.9), *scene.predictions])
    assert [pick[1:] for pick in targets(later, 20)] != picks[:20]


def test_random_fixes_make_duplicates_of_which_the_best_stays() -> None:
    """Ten errors on three truths: each truth picked keeps one, and no error is left."""
    scene = image(THREE, [Triplet(P1, O1, "kiss", "horse", 1 - i / 20) for i in range(10)])
    for seed in range(20):
        found = diagnosed(scene, seed=seed)
        first = {int(t): row for row, t in reversed(list(enumerate(found.target.tolist())))}
        state = found.states["interaction"]
        assert np.flatnonzero(state.kept).tolist() == sorted(first.values())
        assert {t: int(row) for t, row in enumerate(state.found_by) if row >= 0} == first


def test_greedy_takes_what_is_free_then_what_scores_least() -> None:
    predictions = [Triplet(P1, O1, "ride", "horse", 0.4), Triplet(P1, O1, "hold", "horse", 0.3)]
    predictions += [Triplet(P1, O1, "kiss", "horse", score) for score in (0.9, 0.8, 0.7, 0.6)]
    found, again = (diagnosed(image(THREE, predictions), choice="greedy", seed=seed) for seed in (0, 5))
    assert found.target.tolist() == [0, 1, 2, 1, 0, 0]
    assert found.states["interaction"].found_by.tolist() == [4, 3, 2]
    assert found.deltas == again.deltas


@pytest.mark.parametrize(
    ("truth", "human", "thing", "words"),
    [
        # Two people at one horse: either is a possible partner, but for a verb that is right with one of them.
        ([RIDE, Triplet(P2, O1, "feed", "horse"), Triplet(P3, O2, "ride", "horse")], AWAY, O1, ("feed", "horse")),
        ([RIDE, Triplet(P1, O2, "fly", "kite"), Triplet(P2, O2, "fly", "kite")], P1, AWAY, ("fly", "kite")),
    ],
    ids=["human", "object"],
)
def test_oracles_look_at_the_other_box(truth: list[Triplet], human: Box, thing: Box, words: tuple[str, str]) -> None:
    other = "kiss" if thing == O1 else "pull"
    scene = image(truth, [Triplet(human, thing, other, words[1], 0.5), Triplet(human, thing, *words, 0.4)])
    first, second = map(set, zip(*targets(scene, 20), strict=True))
    assert (first, second) == ({0, 1}, {1})
    if human == AWAY:
        assert diagnosed(scene, choice="greedy").target.tolist() == [0, 1]


@pytest.mark.parametrize("choice", ["seeded", "greedy"])
def test_association_fixes_each_truth_once(choice: str) -> None:
    """Three errors, two truths: the third has nothing left. The second may not keep its verb any more."""
    truth = [Triplet(P1, O1, "feed", "horse"), Triplet(P2, O2, "ride", "horse")]
    scene = image(truth, [Triplet(P1, O2, "ride", "horse", score) for score in (0.9, 0.8, 0.7)])
    found = diagnosed(scene, choice=choice)
    assert found.target.tolist() == [1, 0, -1]
    assert found.states["association"].kept.tolist() == [True, True, False]


def test_association_leaves_alone_what_an_earlier_step_has_aimed_at() -> None:
    truth = [Triplet(P1, O1, "feed", "horse"), Triplet(P2, O2, "ride", "horse")]
    found = diagnosed(image(truth, [Triplet(AWAY, O2, "ride", "horse", 0.2), Triplet(P1, O2, "ride", "horse", 0.9)]))
    assert types(found) == ["human_box", "association"]
    assert found.states["association"].found_by.tolist() == [-1, 1]
    assert found.fixed_by.tolist() == [1, 0]


def test_the_map_of_the_toolbox() -> None:
    """Truths choose in turn: by score, by human box, by object box only where the human is correct nowhere."""
    truth = [RIDE, Triplet(P1, O1, "hold", "horse"), Triplet(P2, O2, "feed", "horse")]
    predictions = [
        Triplet(P2, O1, "ride", "horse", 0.9),  # correct human of the third: no candidate of the first two
        Triplet(AWAY, O1, "kiss", "horse", 0.8),
        Triplet(P1, AWAY, "kiss", "horse", 0.7),
        Triplet(P1, O1, "ride", "horse", 0.6),  # the true positive of the first
        Triplet(P1, O1, "kiss", "horse", 0.5),
    ]
    scene = image(truth, predictions)
    found = diagnosed(scene, variant="released")
    assert types(found) == ["association", "human_box", "object_box", "true_positive", "interaction"]
    assert found.target.tolist() == [2, 0, 1, 0, -1]
    assert found.fixed_by.tolist() == [1, 2, 0]
    assert found.states["human_box"].kept.tolist() == [True, True, True, False, True]
    assert found.states["interaction"].kept.tolist() == [True, True, True, True, False]
    for choice in ("seeded", "greedy"):
        assert diagnosed(scene, variant="released", choice=choice, seed=3).deltas == found.deltas


def test_predictions_on_other_images_leave_the_draw_as_it_is() -> None:
    """Rows of the table are counted, not rows that have a part."""
    scene = image(THREE, [Triplet(P1, O1, "kiss", "horse", 0.5)] * 5)
    truth, predictions = to_tables([scene], CLASSES)
    alone = diagnose(predictions, truth, no_interaction="keep")
    assert alone.target.tolist() == diagnose(predictions, truth).target.tolist()
