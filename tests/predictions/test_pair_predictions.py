"""Files of pairs, pairs of triplets, and triplets with interaction scores; all mistakes are located."""

import gzip
import pickle
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import coco_categories
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.predictions import read_predictions
from shoe.predictions.formats.qpic import read_action_scores
from shoe.predictions.pair_predictions import NO_VERB, Pairs, find_pairs, pairs_of, read_pairs, triplet_scores
from tests.damage import damaged_bytes, damaged_json
from tests.errors import input_error, option_error
from tests.examples import examples
from tests.oracles.crowds import crowds
from tests.oracles.diagnosis_pairs import Pair, action_scores, pairs_of as slow_pairs_of
from tests.oracles.model import ImageScene, to_tables
from tests.oracles.scenes import VERBS, small_classes
from tests.predictions import samples
from tests.predictions.paired import as_pairs
from tests.present import present

CLASSES = benchmark("hico-det").classes
HORSE = list(coco_categories().values()).index("horse")
NAMES = ("HICO_test2015_00000001.jpg", "HICO_test2015_00000007.jpg")


def pair(offset: float = 0.0, **more: Any) -> dict[str, Any]:
    return {
        "h_box": [1.5 + offset, 2.0, 30.0, 40.0],
        "o_box": [20.0, 2.5, 60.0 + offset, 80.0],
        "o_label": HORSE,
        "h_score": 0.9,
        "o_score": 0.75 - offset / 100,
        "verb_scores": {"ride": 0.5, "hold": 0.25 + offset / 100, "no_interaction": 0.875},
        **more,
    }


def records(change: Callable[[dict[str, Any]], Any] = lambda pair: pair) -> list[dict[str, Any]]:
    pairs = [[pair(), pair(5.0)], [pair(7.0)]]
    return [
        {"filename": name, "box_pairs": [change(p) or p for p in each]} for name, each in zip(NAMES, pairs, strict=True)
    ]


def without(*names: str) -> list[dict[str, Any]]:
    return records(lambda pair: {key: value for key, value in pair.items() if key not in names})


def read(tmp_path: Path, document: Any, **options: Any) -> Pairs:
    path = tmp_path / "pairs.json"
    path.write_bytes(orjson.dumps(document))
    return read_pairs(path, **options)


def same(a: Pairs, b: Pairs) -> bool:
    columns = ((a.interaction, b.interaction), (a.verb_scores, b.verb_scores))
    equal = all(x is y is None or np.array_equal(x, y, equal_nan=True) for x, y in columns)  # type: ignore[arg-type]
    return equal and a.table.equals(b.table) and a.detected == b.detected and a.verbs == b.verbs


def test_what_is_in_a_file(tmp_path: Path) -> None:
    pairs = read(tmp_path, records())
    table = pairs.table
    assert (table.images, table.offsets.tolist(), pairs.detected) == (NAMES, [0, 2, 3], True)
    assert table.human_boxes[1].tolist() == [6.5, 2.0, 30.0, 40.0]
    assert table.object_boxes[2].tolist() == [20.0, 2.5, 67.0, 80.0]
    assert [table.objects[i] for i in table.object] == ["horse"] * 3
    assert table.score == pytest.approx([0.75, 0.7, 0.68])
    assert pairs.interaction == pytest.approx([0.5, 0.5, 0.5])
    given = {CLASSES.verbs[v]: float(x) for v, x in enumerate(present(pairs.verb_scores)[1]) if not np.isnan(x)}
    assert given == pytest.approx({"ride": 0.5, "hold": 0.3, "no_interaction": 0.875})
    assert pairs.notes is not None
    assert (pairs.notes.format, pairs.notes.boxes, pairs.notes.triplets) == ("pairs", "xyxy", 3)


def with_numpy(document: list[Any]) -> bytes:
    kinds: dict[str, Callable[[Any], Any]] = {"h_box": np.array, "o_label": np.int64, "h_score": np.float64}
    return pickle.dumps(records(lambda pair: pair | {name: kind(pair[name]) for name, kind in kinds.items()}))


@pytest.mark.parametrize(
    "spelled", [samples.lines, with_numpy, pickle.dumps, lambda document: gzip.compress(orjson.dumps(document))]
)
def test_other_kinds_of_file(tmp_path: Path, spelled: Callable[[Any], bytes]) -> None:
    (tmp_path / "other").write_bytes(spelled(records()))
    assert same(read_pairs(tmp_path / "other"), read(tmp_path, records()))


def test_other_spellings_of_fields(tmp_path: Path) -> None:
    def spoken(pair: dict[str, Any]) -> dict[str, Any]:
        scores = {"Riding" if verb == "ride" else verb: x for verb, x in pair["verb_scores"].items()}
        return pair | {"o_label": "horse", "verb_scores": scores}

    def complete(pair: dict[str, Any]) -> dict[str, Any]:
        return pair | {"verb_scores": [pair["verb_scores"].get(verb, 0.0) for verb in CLASSES.verbs]}

    lists = [record | {"filename": f"images/test2015/{record['filename']}"} for record in records(complete)]
    expected, by_word, by_list = (read(tmp_path, each) for each in (records(), records(spoken), lists))
    assert (by_word.table.objects, by_list.table.equals(expected.table)) == (("horse",), True)
    np.testing.assert_array_equal(by_word.verb_scores, present(expected.verb_scores))
    np.testing.assert_array_equal(by_list.verb_scores, np.nan_to_num(present(expected.verb_scores)))


def test_fields_may_be_absent(tmp_path: Path) -> None:
    bare = read(tmp_path, without("h_score", "o_score", "verb_scores"))
    assert (bare.detected, bare.interaction, bare.verb_scores) == (False, None, None)
    assert bare.table.score.tolist() == [1.0, 1.0, 1.0]
    one = read(tmp_path, without("o_score"))
    assert (one.detected, one.table.score.tolist()) == (True, [0.9, 0.9, 0.9])
    for document in ([], [{"filename": NAMES[0], "box_pairs": []}]):
        pairs = read(tmp_path, document)
        assert (len(pairs.table), pairs.verb_scores) == (0, None)


@pytest.mark.parametrize(
    ("fields", "score"),
    [({"hoi_score_inter": 0.125}, 0.125), ({"verb_scores": {}}, 0), ({"verb_scores": {"no_interaction": 1}}, 0)],
)
def test_the_score_as_given_comes_before_the_best_verb(tmp_path: Path, fields: dict[str, Any], score: float) -> None:
    assert read(tmp_path, records(lambda pair: pair | fields)).interaction == pytest.approx([score] * 3)


def test_another_box_convention(tmp_path: Path) -> None:
    def sized(box: list[float]) -> list[float]:
        return [*box[:2], box[2] - box[0], box[3] - box[1]]

    document = records(lambda pair: pair | {name: sized(pair[name]) for name in ("h_box", "o_box")})
    assert read(tmp_path, document, boxes="xywh").table.equals(read(tmp_path, records()).table)
    with option_error("'xyw'", "xywh"):
        read(tmp_path, document, boxes="xyw")


IMAGE = f"image '{NAMES[0]}'"
FIRST, SECOND = f"{IMAGE}: pair 1", f"image '{NAMES[1]}': pair 1"


def in_pair(record: int = 0, number: int = 0, **fields: Any) -> Callable[[list[Any]], Any]:
    return lambda d: d[record]["box_pairs"][number].update(fields)


MISTAKES: list[tuple[str, Callable[[list[Any]], Any], str | None, str | None, tuple[str, ...]]] = [
    ("no name", lambda d: d[0].pop("filename"), "record 1", "filename", ("'box_pairs'",)),
    ("odd name", lambda d: d[1].update(filename=[]), "record 2", "filename", ("[]", "file name")),
    ("same name", lambda d: d[1].update(filename=NAMES[0]), None, "images", (f"'{NAMES[0]}'", "twice")),
    ("no list", lambda d: d[0].update(box_pairs={}), IMAGE, "box_pairs", ("object of 0", "list")),
    ("no object", lambda d: d[0]["box_pairs"].append(3), f"{IMAGE}: pair 3", None, ("3", "'h_box'")),
    ("short box", in_pair(0, 1, h_box=[6.5, 2.0, 30.0]), f"{IMAGE}: pair 2", "h_box", ("[6.5, 2.0, 30.0]",)),
    ("flat box", in_pair(0, 1, o_box=[5, 5, 5, 9]), f"pair 2 ({IMAGE})", "object box", ("[5, 5, 5, 9]",)),
    ("no label", lambda d: d[0]["box_pairs"][0].pop("o_label"), FIRST, "o_label", ("'h_box', 'o_box', ",)),
    ("label 80", in_pair(o_label=80), FIRST, "o_label", ("80", "0 to 79")),
    ("label 1.5", in_pair(o_label=1.5), FIRST, "o_label", ("1.5", "whole")),
    ("mixed", in_pair(o_label="horse"), f"{IMAGE}: pair 2", "o_label", ("17", "word")),
    ("one missing", lambda d: d[1]["box_pairs"][0].pop("h_score"), SECOND, "h_score", ("no such key",)),
    ("one more", in_pair(0, 1, hoi_score_inter=1), f"{IMAGE}: pair 2", "hoi_score_inter", ("first record",)),
    ("text", in_pair(o_score="1"), FIRST, "o_score", ("'1'", "finite")),
    ("verb", in_pair(verb_scores={"rdie": 1}), FIRST, "verb_scores", ("'rdie'", "117 verbs")),
    ("verb score", in_pair(verb_scores={"ride": None}), FIRST, "verb_scores: ride", ("None",)),
    ("verb list", in_pair(verb_scores=[1.0]), FIRST, "verb_scores", ("list of 1", "117")),
    ("list later", in_pair(1, 0, verb_scores=[0.0] * 117), SECOND, "verb_scores", ("list of 117", "object")),
]


@pytest.mark.parametrize(
    ("mistake", "record", "field", "values"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES]
)
def test_mistakes_are_named(
    tmp_path: Path, mistake: Callable[[Any], Any], record: str, field: str, values: tuple[str, ...]
) -> None:
    document = records()
    mistake(document)
    with input_error(*values, source=str(tmp_path / "pairs.json"), record=record, field=field):
        read(tmp_path, document)


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    for name, value in (("h_score", np.nan), ("verb_scores", {"ride": np.inf}), ("verb_scores", [np.nan] * 117)):
        document = records()
        document[0]["box_pairs"][0][name] = value
        (tmp_path / "pairs.pkl").write_bytes(pickle.dumps(document))
        with input_error(f"pair 1: {name}"):
            read_pairs(tmp_path / "pairs.pkl")


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_predictions_are_no_pairs(name: str) -> None:
    with input_error("pairs", "filename", "box_pairs"):
        read_pairs(samples.FOLDER / name)


def test_damaged_pairs_are_read_or_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.json"
    for seed in range(5 * settings().max_examples):
        path.write_bytes((damaged_bytes if seed % 2 else damaged_json)(orjson.dumps(records()), seed))
        with suppress(InputError):
            read_pairs(path)


KEYS = ["filename", "box_pairs", "h_box", "o_box", "o_label", "h_score", "hoi_score_inter", "verb_scores", "ride", 7]
leaves = st.sampled_from([0, 1, 17, -1, 0.5, float("nan"), 2**62, "ride", "", None, True, [1, 2, 30, 40]])
anything = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)
)
odd_pairs = st.lists(st.fixed_dictionaries(dict.fromkeys(KEYS[2:5], leaves), optional={"verb_scores": anything}))
odd_records = st.lists(st.fixed_dictionaries({"filename": leaves, "box_pairs": odd_pairs | anything}), max_size=3)


@examples(5)
@given(document=odd_records | anything)
def test_any_document_is_read_or_refused(tmp_path: Path, document: object) -> None:
    path = tmp_path / "document.pkl"
    path.write_bytes(pickle.dumps(document))
    with suppress(InputError):
        read_pairs(path)


# Interaction scores of triplets


def scored() -> list[dict[str, Any]]:
    found = deepcopy(samples.qpic_records(samples.base()))
    for i, hoi in enumerate(hoi for record in found for hoi in record["hoi_prediction"]):
        hoi["action_score"] = i / 100
    return found


@pytest.mark.parametrize("spelled", [orjson.dumps, pickle.dumps])
def test_action_scores_are_in_the_order_of_triplets(tmp_path: Path, spelled: Callable[[Any], bytes]) -> None:
    (tmp_path / "predictions").write_bytes(spelled(scored()))
    expected = [i / 100 for i in range(len(read_predictions(tmp_path / "predictions")))]
    np.testing.assert_array_equal(read_action_scores(tmp_path / "predictions"), expected)


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_forms_without_action_scores_have_none(name: str) -> None:
    assert read_action_scores(samples.FOLDER / name) is None


def test_the_word_alone_is_no_score(tmp_path: Path) -> None:
    document = samples.qpic_records(samples.base())
    document[0]["action_score"] = 1.0
    (tmp_path / "x.json").write_bytes(orjson.dumps(document))
    assert read_action_scores(tmp_path / "x.json") is None
    (tmp_path / "x.csv").write_bytes(b"image,action_score\n")
    assert read_action_scores(tmp_path / "x.csv") is None


@pytest.mark.parametrize(("score", "found"), [({}, "no such key"), ({"action_score": "a"}, "'a'")])
def test_an_action_score_that_is_missing_or_none_is_named(tmp_path: Path, score: dict[str, str], found: str) -> None:
    document = scored()
    del (hoi := document[1]["hoi_prediction"][2])["action_score"]
    hoi |= score
    (tmp_path / "x.json").write_bytes(orjson.dumps(document))
    with input_error("triplet 3: ", found, field="action_score"):
        read_action_scores(tmp_path / "x.json")


# Pairs of triplets, and the scores that pairs and triplets give each other, against the oracle


SMALL = small_classes()


def triplets_of(scenes: list[ImageScene]) -> Interactions:
    return to_tables([replace(scene, prediction_coordinates=Coordinates.PIXELS_1) for scene in scenes], SMALL)[1]


@given(crowds(), st.integers(0, 2**16))
def test_scores_come_from_the_first_pair_that_has_the_verb(scenes: list[ImageScene], seed: int) -> None:
    rng = np.random.default_rng(seed)
    triplets = triplets_of(scenes)
    named = {scene.name: scene for scene in scenes}
    predicted: dict[str, list[Pair]] = {}
    for name in triplets.images:
        found = slow_pairs_of(named[name])
        given_twice = [found[i] for i in rng.integers(0, len(found), 2 * len(found))] if found else []
        predicted[name] = [
            Pair(p.human_box, p.object_box, p.object, {v: rng.random() for v in VERBS if rng.random() < 0.4})
            for p in given_twice
        ]
    fast = triplet_scores(as_pairs(predicted, VERBS), triplets)
    for i, name in enumerate(triplets.images):
        for row, p in zip(range(triplets.offsets[i], triplets.offsets[i + 1]), named[name].predictions, strict=True):
            scene = replace(named[name], predictions=[p])
            try:
                expected = action_scores(scene, predicted[name])[0]
            except KeyError:
                assert np.isnan(fast[row])
            else:
                assert fast[row] == expected


@given(crowds())
def test_triplets_find_their_own_pairs(scenes: list[ImageScene]) -> None:
    triplets = triplets_of(scenes)
    pairs = pairs_of(triplets)
    assert find_pairs(pairs, triplets).tolist() == present(pairs.of_triplet).tolist()
    elsewhere = replace(pairs, table=replace(pairs.table, images=tuple(f"other {name}" for name in triplets.images)))
    assert (find_pairs(elsewhere, triplets) == -1).all()


@given(crowds())
def test_a_pair_knows_the_best_of_its_actual_verbs(scenes: list[ImageScene]) -> None:
    triplets = triplets_of(scenes)
    rng = np.random.default_rng(len(triplets))
    scores = rng.random(len(triplets)).round(1)
    pairs = pairs_of(triplets, scores)
    for k, best in enumerate(present(pairs.interaction).tolist()):
        rows = np.flatnonzero(present(pairs.of_triplet) == k)
        actual = [scores[row] for row in rows if triplets.verbs[triplets.verb[row]] != "no_interaction"]
        assert best == max(actual, default=0.0)


@pytest.mark.parametrize("word", ["hot dog", "Hot_Dog", "hot dogs"])
def test_objects_meet_by_their_label(word: str) -> None:
    boxes = {"human_boxes": [[0, 0, 9, 9]], "object_boxes": [[5, 5, 20, 20]]}
    columns = {"images": ["a.jpg"], "image": [0], "verb": [0], "object": [0], **boxes}
    triplets = Interactions.from_columns(**columns, verbs=["eat"], objects=["hot_dog"])  # type: ignore[arg-type]
    table = Interactions.from_columns(**columns, verbs=[NO_VERB], objects=[word])  # type: ignore[arg-type]
    pairs = Pairs(table, verb_scores=np.array([[0.25, 0.5]]), verbs=("carry", "eat"))
    assert triplet_scores(pairs, triplets).tolist() == [0.5]
    assert np.isnan(triplet_scores(pairs_of(triplets), triplets)).tolist() == [True]
