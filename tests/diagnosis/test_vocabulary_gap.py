"""The vocabulary gap: figures by hand, and what must add up."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from shoe.benchmarks.scoring_options import changed
from shoe.core.boxes import Coordinates
from shoe.diagnosis.relations import WordPair
from shoe.diagnosis.vocabulary_gap import ConfusionExample, VocabularyGap
from shoe.similarity.whole_interactions import WholeRatings
from tests.diagnosis.by_hand import AWAY, O1, P1, RIDE, comparable, image
from tests.diagnosis.meanings import read_for_meaning, write_hand_map
from tests.oracles.model import ImageScene, Triplet

TRUTH = [RIDE]


def near(value: Any) -> Any:
    return pytest.approx(value, abs=1e-7)


def gap_of(folder: Path, *scenes: ImageScene, options: Sequence[str] = ()) -> VocabularyGap:
    result = read_for_meaning(folder, *scenes)
    found = replace(result, options=changed(result.options, options)).vocabulary_gap
    assert found is not None
    return found


def steps(found: VocabularyGap) -> tuple[float, float, float]:
    return found.matching, found.false_positives, found.credit


TWO_WORDS = [
    image(TRUTH, [Triplet(P1, O1, "gallop", "horse", 0.9)]),
    image(TRUTH, [Triplet(P1, O1, "ride", "pony", 0.8)], "b.jpg"),
]


def test_a_verb_and_an_object_by_hand(rated: Path) -> None:
    """One class of two truths. Equal words: both matches have the half of 1 that is right, AP = 1/2 x 1/2.

    The map: 3/4 and 7/8. Precision at the second is 13/16, and so is recall: AP = (13/16)^2. On the way the second is
    always the peak, where both have the same slope; so they share the credit as they share the growth, 2 to 3.
    """
    found = gap_of(rated, *TWO_WORDS)
    gain = (13 / 16) ** 2 - 1 / 4
    assert (found.exact_map, found.identity_map, found.map) == (near(1 / 4), near(1 / 4), near((13 / 16) ** 2))
    assert steps(found) == (near(0), near(0), near(gain))
    pony, gallop = found.confusions
    assert (pony.part, pony.matches, pony.share, pony.gain) == ("object", 1, near(0.6), near(0.6 * gain))
    assert pony.word == WordPair("horse", "horse.n.01", "pony", "pony.n.05", 0.75, "more_specific")
    assert gallop.word == WordPair("ride", "ride.v.01", "gallop", "gallop.v.01", 0.5, "more_specific")
    assert (gallop.part, gallop.share) == ("verb", near(0.4))
    assert (found.verb_credit, found.object_credit) == (near(0.4 * gain), near(0.6 * gain))
    assert (found.further, found.further_gain) == (0, 0)


def test_examples_lead_back_to_the_files(rated: Path) -> None:
    beside = (P1[0] + 3, P1[1], P1[2] + 3, P1[3])
    scene = image(TRUTH, [Triplet(AWAY, AWAY, "kiss", "kite"), Triplet(beside, O1, "gallop", "horse", 0.9)])
    scene.truth_coordinates, scene.prediction_coordinates = Coordinates.PIXELS_1, Coordinates.PIXELS_0
    (confusion,) = gap_of(rated, scene).confusions
    (example,) = confusion.examples
    assert example == ConfusionExample(
        image="a.jpg",
        truth=0,
        prediction=1,
        true_human_box=P1,
        true_object_box=O1,
        human_box=beside,
        object_box=O1,
        verb=WordPair("ride", "ride.v.01", "gallop", "gallop.v.01", 0.5, "more_specific"),
        object=WordPair("horse", "horse.n.01", "horse", "horse.n.01", 1.0, "same"),
        similarity=0.75,
        score=0.9,
        # Frames lie a pixel apart in both directions, the human boxes three more in one: 16 x 19 of 20 x 20 are shared.
        iou=near(16 * 19 / (800 - 16 * 19)),
        gain=near(confusion.gain),
    )


def test_words_with_a_meaning_can_count_as_false_positives(rated: Path) -> None:
    """ "Galloping pony" elsewhere, the most confident: to equal words it is nothing, to the map it rides a horse."""
    # It pushes both matches down a rank. With equal words that takes the AP from 1/4 to 1/2 x 1/3.
    elsewhere = [Triplet(P1, O1, "kiss", "horse")], [Triplet(AWAY, AWAY, "gallop", "pony", 1.0)]
    found = gap_of(rated, *TWO_WORDS, image(*elsewhere, "c.jpg"))
    # Two classes: that of the kiss has no match and AP 0.
    assert found.exact_map == near(1 / 8)
    assert found.false_positives == near((1 / 6 - 1 / 4) / 2)
    assert found.map == near(13 / 8 / 3 * 13 / 16 / 2)
    assert sum(steps(found)) == pytest.approx(found.gain)


def test_the_map_may_match_others(rated: Path) -> None:
    """Half right both, the more confident "gallop horse" is matched by equal words, "ride pony" by the map."""
    # Then "gallop horse" is left over above it: charged, it halves precision.
    both = [Triplet(P1, O1, "gallop", "horse", 0.9), Triplet(P1, O1, "ride", "pony", 0.8)]
    found = gap_of(rated, image(TRUTH, both))
    assert found.exact_map == near(1 / 4)
    assert steps(found) == (near(0), near(-1 / 8), near((7 / 8) ** 2 / 2 - 1 / 8))
    (pony,) = found.confusions
    assert (pony.word.predicted, pony.share, pony.matches) == ("pony", near(1), 1)


def test_words_of_the_same_sense_count_under_identity(rated: Path) -> None:
    found = gap_of(rated, image([Triplet(P1, O1, "ride", "bicycle")], [Triplet(P1, O1, "ride", "bike", 0.9)]))
    assert (found.exact_map, found.identity_map, found.map) == pytest.approx((1 / 4, 1, 1), abs=1e-7)
    (bike,) = found.confusions
    assert bike.word == WordPair("bicycle", "bicycle.n.01", "bike", "bicycle.n.01", 1.0, "same")


def test_one_confusion_gathers_its_matches_over_classes_and_shows_the_three_that_gain_most(rated: Path) -> None:
    scenes = [
        image([Triplet(P1, O1, verb, "horse")], [Triplet(P1, O1, verb, "pony", score)], f"{verb}{score}.jpg")
        for verb, score in (("ride", 0.9), ("ride", 0.8), ("hold", 0.7), ("feed", 0.6), ("feed", 0.5))
    ]
    (pony,) = gap_of(rated, *scenes).confusions
    assert (pony.matches, pony.share) == (5, near(1))
    # Holding is alone in its class; the others share theirs.
    assert (len(pony.examples), pony.examples[0].image) == (3, "hold0.7.jpg")
    assert pony.examples[0].gain > 1.9 * pony.examples[1].gain
    assert pony.gain > sum(example.gain for example in pony.examples)


BOTH_WRONG = image(TRUTH, [Triplet(P1, O1, "gallop", "pony", 0.7)])


@pytest.mark.parametrize(
    ("how", "sigma", "of_verb"),
    [("arithmetic", 5 / 8, 0.4), ("geometric", (3 / 8) ** 0.5, 0.5), ("minimum", 1 / 2, 0.5)],
)
def test_two_wrong_words_share_by_what_each_adds(rated: Path, how: str, sigma: float, of_verb: float) -> None:
    """Gallop is worth 1/2, pony 3/4; where neither is worth anything alone, both have half."""
    found = gap_of(rated, BOTH_WRONG, options=[f"combine={how}"])
    assert (found.exact_map, found.map) == (0, near(sigma**2))
    assert (found.verb_credit, found.object_credit) == near((of_verb * sigma**2, (1 - of_verb) * sigma**2))


def test_whole_interactions_have_both_words_right_or_wrong(tmp_path: Path) -> None:
    """Ride horse is rated 3 for gallop horse and 1 for gallop pony, which by its components would be 5/8."""
    rows = [("ride", "horse", "gallop", "horse"), ("ride", "horse", "gallop", "pony")]
    write_hand_map(tmp_path / "map", WholeRatings(rows, np.array([[3], [1]], np.int8)))
    for scene, credits_ in ((TWO_WORDS[0], (9 / 16, 0)), (BOTH_WRONG, (1 / 32, 1 / 32))):
        found = gap_of(tmp_path / "map", scene, options=["compare=interactions"])
        assert (found.exact_map, found.identity_map, found.map) == (0, 0, near(sum(credits_)))
        assert (found.verb_credit, found.object_credit) == near(credits_)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["shoe", "shoe-robust"])
@given(found=comparable())
def test_figures_of_exact_words_are_those_of_scoring_by_them(protocol: str, found: list[ImageScene]) -> None:
    """What stands beside the map's figure is what scoring by WordNet's identity of senses says, repeats included."""
    explained = read_for_meaning("hico-det", *found, protocol=protocol).vocabulary_gap
    if explained is not None:
        identity = read_for_meaning("identity", *found, protocol=protocol).means.map
        assert explained.identity_map == pytest.approx(identity)


@pytest.mark.parametrize("predictions", [[], [Triplet(P1, O1, "ride", "horse")], [Triplet(P1, O1, "xyz", "xyz")]])
def test_where_words_cost_nothing_nothing_is_explained(rated: Path, predictions: list[Triplet]) -> None:
    found = gap_of(rated, image(TRUTH, predictions))
    assert (found.confusions, found.further, found.gain, *steps(found)) == ((), 0, 0, 0, 0, 0)


@pytest.mark.parametrize("protocol", ["shoe", "shoe-literal", pytest.param("shoe-robust", marks=pytest.mark.slow)])
@given(found=comparable())
def test_shares_sum_to_one_and_parts_to_the_gain(protocol: str, found: list[ImageScene]) -> None:
    result = replace(read_for_meaning("hico-det", *found, protocol=protocol), most=2)
    explained = result.vocabulary_gap
    if explained is None:
        assert result.means.map is None
        return
    assert explained.map == result.means.map
    assert sum(steps(explained)) == pytest.approx(explained.gain)
    gains = [each.gain for each in explained.confusions]
    parts = (sum(gains) + explained.further_gain, explained.verb_credit + explained.object_credit)
    assert parts == pytest.approx([max(explained.credit, 0.0)] * 2)
    assert gains == sorted(gains, reverse=True)
    assert len(explained.confusions) <= 2
    for confusion in explained.confusions:
        assert confusion.gain == pytest.approx(confusion.share * explained.credit)
        assert confusion.gain > 0
        assert 1 <= len(confusion.examples) == min(3, confusion.matches)
        for example in confusion.examples:
            words = example.verb if confusion.part == "verb" else example.object
            assert words == confusion.word
            of_both = example.verb.similarity, example.object.similarity
            mean = sum(of_both) / 2 if protocol != "shoe-robust" else (of_both[0] * of_both[1]) ** 0.5
            assert example.similarity == pytest.approx(mean)
            assert example.iou >= 0.5
