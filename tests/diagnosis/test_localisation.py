"""The fast figures of pairs against their slow twin, by hand, and on real annotations."""

from collections.abc import Sequence
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, OptionError
from shoe.core.interactions import Interactions
from shoe.diagnosis.localisation import CHOICES, PairFigures, PairRules, localise, pair_figures
from shoe.predictions.pair_predictions import Pairs, pairs_of
from tests.oracles.crowds import crowds
from tests.oracles.diagnosis_pairs import pair_localisation, pairs_of as slow_pairs_of
from tests.oracles.model import ImageScene, Triplet, class_words, from_tables, to_tables
from tests.oracles.scenes import random_scenes, small_classes
from tests.oracles.test_diagnosis import H1, O1, image
from tests.oracles.test_diagnosis_pairs import RIDE

CLASSES = small_classes()
RULES = st.builds(PairRules, **{name: st.sampled_from(values) for name, values in CHOICES.items()})
EVERY_RULE = [PairRules(pairs, precision) for pairs in CHOICES["pairs"] for precision in CHOICES["precision"]]


def as_pixels(scene: ImageScene) -> ImageScene:
    """Raw numbers are compared, whatever they mean; as pixels, boxes of one pixel are valid too."""
    return replace(scene, prediction_coordinates=Coordinates.PIXELS_1)


def known(scenes: Sequence[ImageScene]) -> list[ImageScene]:
    return [as_pixels(scene) for scene in scenes if scene.known]


def tables(scenes: list[ImageScene]) -> tuple[GroundTruth, Interactions]:
    """Tables of scenes; images that the truth does not list are left out where there would be no other."""
    is_any_known = any(scene.known and scene.predictions for scene in scenes)
    return to_tables([as_pixels(scene) for scene in scenes if scene.known or is_any_known], CLASSES)


def agree(scenes: list[ImageScene], rules: PairRules, keep: bool) -> None:
    truth, predictions = tables(scenes)
    fast = structs.asdict(pair_figures(localise(pairs_of(predictions), truth, rules, "keep" if keep else "exclude")))
    slow = pair_localisation(scenes, None, **asdict(rules), no_interaction=keep)
    assert {name: fast[name] for name in slow} == slow
    own = pair_localisation(scenes, None, rules.pairs, "one-to-one", no_interaction=keep)  # type: ignore[arg-type]
    assert fast["recall_one_to_one"] == own["recall"]


def figures(truth: list[Triplet], predictions: list[Triplet], rules: PairRules | None = None) -> PairFigures:
    table, predicted = tables([image(truth, predictions)])
    return pair_figures(localise(pairs_of(predicted), table, rules))


@given(crowds(), RULES, st.booleans())
def test_small(scenes: list[ImageScene], rules: PairRules, keep: bool) -> None:
    agree(scenes, rules, keep)


@pytest.mark.parametrize("rules", EVERY_RULE, ids=str)
def test_many(rules: PairRules) -> None:
    agree(random_scenes(np.random.default_rng(5), 15, n_predictions=60, open_words=True), rules, keep=False)


def test_pairs_of_a_file_count_each_time_they_are_given() -> None:
    truth, predictions = tables([image([RIDE], [RIDE, replace(RIDE, verb="hold"), replace(RIDE, score=0.5)])])
    assert pair_figures(localise(pairs_of(predictions), truth)).predictions == 1
    assert pair_figures(localise(Pairs(predictions.select(np.array([0, 1]))), truth)).precision == 1 / 2


def test_nothing_to_measure_is_none() -> None:
    found = figures([Triplet(H1, O1, "no_interaction", "horse")], [RIDE])
    assert structs.astuple(found) == (*[None] * 6, 0, 0, 0)


@given(crowds())
def test_pairs_are_those_of_the_oracle_in_its_order(scenes: list[ImageScene]) -> None:
    _, predictions = tables(scenes)
    table = pairs_of(predictions).table
    rows = zip(table.human_boxes.tolist(), table.object_boxes.tolist(), table.object.tolist(), strict=True)
    found = [(tuple(human), tuple(target), table.objects[word]) for human, target, word in rows]
    named = {scene.name: scene for scene in scenes}
    slow = [(p.human_box, p.object_box, p.object) for name in table.images for p in slow_pairs_of(named[name])]
    assert found == slow


@given(crowds(), RULES, st.integers(0, 2**16))
def test_some_triplets_are_as_a_file_of_them(scenes: list[ImageScene], rules: PairRules, seed: int) -> None:
    truth, predictions = tables(scenes)
    kept = np.random.default_rng(seed).random(len(predictions)) < 0.6
    pairs = pairs_of(predictions)
    assert pairs.of_triplet is not None
    rows = np.flatnonzero(kept)[::-1]
    place = np.full(len(pairs.table), -1)
    place[pairs.of_triplet[rows]] = rows
    alone = pair_figures(localise(pairs_of(predictions.select(kept)), truth, rules))
    assert pair_figures(localise(pairs, truth, rules), place) == alone

    found = known(scenes)
    truth, predictions = to_tables(found, CLASSES)
    backwards = to_tables(found, CLASSES, range(len(found))[::-1])[1]
    turned, straight = (pair_figures(localise(pairs_of(table), truth, rules)) for table in (backwards, predictions))
    assert turned == straight


@given(crowds(), RULES)
def test_rare_pairs_are_looked_for_as_if_there_were_no_others(scenes: list[ImageScene], rules: PairRules) -> None:
    rare = {words for words, is_rare in zip(class_words(CLASSES), CLASSES.rare.tolist(), strict=True) if is_rare}
    truth, predictions = tables(scenes)
    whole = localise(pairs_of(predictions), truth, rules)
    fast = pair_figures(replace(whole, classes=CLASSES.rare))
    alone = [replace(s, truth=[t for t in s.truth if (t.verb, t.object) in rare]) for s in scenes]
    slow = pair_localisation(alone, None, **asdict(rules))
    names = ("recall", "truths", "human_recall", "object_recall")
    assert [getattr(fast, name) for name in names] == [slow[name] for name in names]  # type: ignore[literal-required]
    assert (fast.predictions, fast.images) == (pair_figures(whole).predictions, pair_figures(whole).images)
    if fast.precision is not None and slow["precision"] is not None:
        assert fast.precision * fast.predictions == pytest.approx(slow["precision"] * slow["predictions"])


def test_unknown_rules_and_images_are_refused() -> None:
    with pytest.raises(OptionError, match=r"precision 'one-to-two'.* one-to-one"):
        PairRules(precision="one-to-two")
    truth, predictions = tables([image([RIDE], [RIDE])])
    with pytest.raises(InputError, match=r"'other\.jpg'.*'a\.jpg'"):
        localise(pairs_of(replace(predictions, images=("other.jpg",))), truth)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("pairs", "choice", "truths", "images"),
    [("index", "keep", 33_405, 9_546), ("merged", "keep", 22_012, 9_546), ("index", "exclude", 29_110, 8_528)],
)
def test_real_counts(hico_det: GroundTruth, pairs: str, choice: str, truths: int, images: int) -> None:
    """Counts of protocols.md 8 and 8.7; the truth finds itself."""
    found = pair_figures(localise(pairs_of(hico_det.interactions), hico_det, PairRules(pairs), choice))
    assert (found.truths, found.images) == (truths, images)
    assert min(x or 0 for x in (found.recall, found.human_recall, found.object_recall)) > 0.9995


@pytest.mark.real_data
@pytest.mark.parametrize("rules", [PairRules(), PairRules("merged", "one-to-one")], ids=str)
def test_on_real_truth(hico_det: GroundTruth, rules: PairRules) -> None:
    truth = replace(hico_det, interactions=hico_det.interactions.select_images(np.arange(300)))
    predictions = moved_copies(truth.interactions, 4)
    fast = structs.asdict(pair_figures(localise(pairs_of(predictions), truth, rules)))
    slow = pair_localisation(from_tables(truth, predictions), None, **asdict(rules))
    assert {name: fast[name] for name in slow} == slow


def moved_copies(table: Interactions, times: int) -> Interactions:
    """Annotations drawn at random, so many times as many, with their boxes moved; scores are random."""
    rng = np.random.default_rng(1)
    rows = np.sort(rng.integers(0, len(table), times * len(table)))
    move = rng.normal(0, 12, (len(rows), 4)).round(2)
    return Interactions.from_columns(
        images=table.images,
        image=table.image[rows],
        human_boxes=_in_order(table.human_boxes[rows] + move),
        object_boxes=_in_order(table.object_boxes[rows] + move[:, ::-1]),
        verb=table.verb[rows],
        object=table.object[rows],
        verbs=table.verbs,
        objects=table.objects,
        score=rng.random(len(rows)),
    )


def _in_order(boxes: Floats) -> Floats:
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    return np.concatenate([low, high + 1], axis=1)
