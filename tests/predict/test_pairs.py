"""Pair rules on boxes worked out by hand, how many true pairs they leave within reach, and settings by name."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, strategies as st

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import ShoeError
from shoe.core.interactions import Interactions
from shoe.diagnosis.pairs import diagnose_pairs
from shoe.predict.backends import backend_of
from shoe.predict.pairs import ABOUT, RULES, PairRule, pair_recall, paired
from shoe.predict.records import Detected, Detection
from shoe.predict.settings import configured, grouped, parse_settings
from shoe.predict.visual import Visual
from shoe.predictions.pair_predictions import read_pairs
from tests.errors import error_with, option_error
from tests.examples import examples

HICO = benchmark("hico-det")
PERSONS = [
    Detection((0, 0, 10, 30), "person", 0.9),
    Detection((1, 0, 10, 30), "person", 0.8),  # lies on the first one
    Detection((40, 0, 60, 40), "person", 0.3),
    Detection((70, 0, 72, 2), "person", 0.1),
]
THINGS = [
    Detection((8, 20, 20, 40), "bicycle", 0.7),
    Detection((60, 30, 90, 40), "dog", 0.4),
    Detection((95, 30, 99, 40), "cat", 0.15),
]
SCENE = Detected(image="a.jpg", digest="0", width=100, height=40, detections=(*PERSONS, *THINGS))


def names(rule: PairRule) -> list[str]:
    """Pairs as "0b": the number of a person, and the first letter of an object or the number of a person."""
    letter = {one.box: str(number) for number, one in enumerate(PERSONS)} | {one.box: one.label[0] for one in THINGS}
    return [letter[pair.human_box] + letter[pair.object_box] for pair in paired(SCENE, rule).pairs]


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [
        (PairRule(), "01 10 0b 1b 0d 1d 02 20 12 21 2b 0c 2d 1c 03 30 13 31 3b 2c 3d 23 32 3c"),
        (PairRule(pairs=3), "01 10 0b"),
        (PairRule(person_objects=False, objects=1), "0b 1b 2b 3b"),
        (PairRule(persons=1, persons_by="area", person_objects=False), "2b 2d 2c"),
        (PairRule(gap=0.0, person_objects=False), "0b 1b 2d"),
        (PairRule(gap=0.7, nms=0.5, person_objects=False), "0b 2b 2d"),
        (RULES["upt"], "0b 0d 02 20 2b 0c 2d 03 30 3b 2c 3d 23 32 3c"),
        (PairRule(nms=0.5, min_score=0.2), "0b 0d 02 20 2b 2d"),
        (RULES["few-large"], "01 10 0b 1b"),
        (RULES["touching"], "0b 2d"),
    ],
)
def test_rules_on_a_scene_worked_by_hand(rule: PairRule, wanted: str) -> None:
    assert sorted(names(rule)) == sorted(wanted.split())


def test_rules_are_named_and_explained() -> None:
    assert ABOUT.keys() == RULES.keys()
    options: dict[str, Any] = {"model": "m", "backend": "endpoint", "detections": Path("a"), "visual": "boxes"}
    options |= {"benchmark": HICO, "way": "yes-no"}
    with option_error("'utp'", "upt?"):
        parse_settings(**options, rule="utp")
    with option_error("confidence", "yes-no", "'mean'"):
        parse_settings(**options, rule="upt", confidence="mean")
    assert parse_settings(**options, rule="upt").pairing == RULES["upt"]


def test_pairs_come_by_product_of_scores_and_without_boxes_there_are_none() -> None:
    products = [pair.human_score * pair.object_score for pair in paired(SCENE, PairRule()).pairs]
    assert products == sorted(products, reverse=True)
    assert not paired(Detected(image="a.jpg", detections=()), RULES["upt"]).pairs


def true_pairs(*pairs: tuple[Detection, Detection]) -> GroundTruth:
    classes = HICO.classes
    table = Interactions.from_columns(
        images=["a.jpg", "not-asked-about.jpg"],
        image=[*(0 for _ in pairs), 1],
        human_boxes=[*(human.box for human, _ in pairs), (0, 0, 9, 9)],
        object_boxes=[*(thing.box for _, thing in pairs), (0, 0, 9, 9)],
        verb=[*(classes.verb[classes.object == classes.objects.index(thing.label)][0] for _, thing in pairs), 0],
        object=[*(classes.objects.index(thing.label) for _, thing in pairs), classes.object[0]],
        verbs=classes.verbs,
        objects=classes.objects,
    )
    return GroundTruth(table, classes, "test")


def test_the_ceiling_is_the_share_of_true_pairs_that_are_asked_about() -> None:
    truth = true_pairs((PERSONS[0], THINGS[0]), (PERSONS[2], THINGS[1]), (PERSONS[2], THINGS[2]))
    for rule, recall in (("all", 1), ("touching", 2 / 3), ("few-large", 1 / 3)):
        assert pair_recall([paired(SCENE, RULES[rule])], truth).recall == pytest.approx(recall)
    figures = pair_recall([paired(SCENE, RULES["touching"])], truth)
    assert (figures.images, figures.truths, figures.predictions, figures.human_recall) == (1, 3, 2, 1)


def test_a_file_of_pairs_is_diagnosed_alike(tmp_path_factory: pytest.TempPathFactory) -> None:
    truth = true_pairs((PERSONS[0], THINGS[0]), (PERSONS[2], THINGS[2]))
    record, path = paired(SCENE, RULES["touching"]), tmp_path_factory.mktemp("pairs") / "pairs.jsonl"
    path.write_bytes(msgspec.json.encode(record))
    of_file = diagnose_pairs(read_pairs(path), truth.within(["a.jpg"])).pairs
    assert of_file == pair_recall([record], truth)
    assert of_file.recall == 0.5


boxes = st.tuples(*[st.integers(0, 40)] * 2, *[st.integers(1, 30)] * 2).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)
detections = st.lists(
    st.builds(Detection, boxes, st.sampled_from(["person", "dog", "cat"]), st.floats(0, 1)), max_size=9
)
shares = {name: st.floats(0, 1) for name in ("nms", "min_score")}
counts = {name: st.integers(0, most) for name, most in (("at_least", 3), ("persons", 4), ("objects", 4), ("pairs", 9))}
kinds = {"persons_by": st.sampled_from(["score", "area"]), "person_objects": st.booleans()}
rules = st.builds(PairRule, gap=st.none() | st.floats(0, 2), **shares, **counts, **kinds)


@pytest.mark.slow
@examples(1)
@given(detections, rules)
def test_a_stricter_rule_keeps_some_of_the_pairs(found: list[Detection], rule: PairRule) -> None:
    scene = Detected(image="a.jpg", detections=tuple(found))
    every, some = (paired(scene, each).pairs for each in (PairRule(), rule))
    assert len(some) <= rule.pairs
    for pair in some:
        assert every.count(pair) >= some.count(pair)
    people = sum(one.label == "person" for one in found)
    assert len(every) == people * (len(found) - 1 if people else 0)
    again = paired(scene, msgspec.structs.replace(rule, pairs=5))
    assert again.pairs[: rule.pairs] == some[:5] or rule.pairs > 5
    assert len({(pair.human_box) for pair in some}) <= max(rule.persons, rule.at_least)


MODEL = backend_of("transformers")


def test_text_becomes_what_a_setting_is() -> None:
    given = grouped(
        ["pairs.gap=0.5", "pairs.persons=3", "pairs.person_objects=false", 'vlm.processor={"max_pixels": 99}'],
        ["pairs", "vlm"],
    )
    rule = configured(PairRule, "pairs", {"min_score": 0.2}, given["pairs"])
    assert rule == PairRule(gap=0.5, persons=3, person_objects=False, min_score=0.2)
    model: Any = configured(backend_of("transformers"), "vlm", {"model": "m"}, given["vlm"])
    assert model.processor == {"max_pixels": 99}
    assert configured(PairRule, "pairs", {"gap": 0.0}, {"gap": "null"}).gap is None


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (PairRule, {"nms": "x"}, ("--set g.nms: ", "'x'", "float")),
        (PairRule, {"persons": "-1"}, ("--set g.persons: ", "'-1'", "int >= 0")),
        (Visual, {"coordinates": "pixel"}, ("--set g.coordinates: ", "'pixel'", "pixels or thousandths or fractions")),
        (MODEL, {"price": '{"inpt": 2}'}, ("--set g.price: ", "'{\"inpt\": 2}'", "unknown field inpt")),
        (Visual, {"marks": '["boxes"'}, ("--set g.marks: ", "line 1, column 9")),
        (PairRule, {"personss": "1"}, ("personss", "persons?")),
    ],
)
def test_what_it_cannot_be_is_one_line(kind: Any, given: dict[str, str], said: tuple[str, ...]) -> None:
    with error_with(ShoeError, *said):
        configured(kind, "g", {"model": "m"} if kind is MODEL else {}, given)
