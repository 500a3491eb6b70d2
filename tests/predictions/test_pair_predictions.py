"""Files of pairs, and of triplets with interaction scores: all spellings read the same, all mistakes are located."""

import gzip
import pickle
import re
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given, settings, strategies as st

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import coco_categories
from shoe.core.errors import InputError, OptionError
from shoe.predictions import read_predictions
from shoe.predictions.formats.qpic import read_action_scores
from shoe.predictions.pair_predictions import Pairs, read_pairs
from tests.damage import damaged_bytes, damaged_json
from tests.examples import examples
from tests.predictions import samples

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


def records() -> list[dict[str, Any]]:
    return [{"filename": NAMES[0], "box_pairs": [pair(), pair(5.0)]}, {"filename": NAMES[1], "box_pairs": [pair(7.0)]}]


def without(document: list[dict[str, Any]], *names: str) -> list[dict[str, Any]]:
    for record in document:
        for each in record["box_pairs"]:
            for name in names:
                del each[name]
    return document


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
    assert table.images == NAMES
    assert table.offsets.tolist() == [0, 2, 3]
    assert table.human_boxes[1].tolist() == [6.5, 2.0, 30.0, 40.0]
    assert table.object_boxes[2].tolist() == [20.0, 2.5, 67.0, 80.0]
    assert [table.objects[i] for i in table.object] == ["horse"] * 3
    assert pairs.detected
    assert table.score == pytest.approx([0.75, 0.7, 0.68])
    assert pairs.interaction is not None
    assert pairs.interaction == pytest.approx([0.5, 0.5, 0.5])
    assert pairs.verb_scores is not None
    given = {CLASSES.verbs[v]: float(x) for v, x in enumerate(pairs.verb_scores[1]) if not np.isnan(x)}
    assert given == pytest.approx({"ride": 0.5, "hold": 0.3, "no_interaction": 0.875})
    assert pairs.notes is not None
    assert (pairs.notes.format, pairs.notes.boxes, pairs.notes.triplets) == ("pairs", "xyxy", 3)


def as_lines(document: list[Any]) -> bytes:
    return b"\n".join(map(orjson.dumps, document))


def with_numpy(document: list[Any]) -> bytes:
    for record in document:
        for each in record["box_pairs"]:
            each["h_box"] = np.array(each["h_box"])
            each["o_label"] = np.int64(each["o_label"])
            each["h_score"] = np.float64(each["h_score"])
    return pickle.dumps(document)


@pytest.mark.parametrize(
    "spelled", [as_lines, with_numpy, pickle.dumps, lambda document: gzip.compress(orjson.dumps(document))]
)
def test_other_kinds_of_file(tmp_path: Path, spelled: Callable[[Any], bytes]) -> None:
    (tmp_path / "other").write_bytes(spelled(records()))
    assert same(read_pairs(tmp_path / "other"), read(tmp_path, records()))


def test_other_spellings_of_fields(tmp_path: Path) -> None:
    expected = read(tmp_path, records())
    words, lists = records(), records()
    for record in words:
        for each in record["box_pairs"]:
            each["o_label"] = "horse"
            each["verb_scores"] = {"Riding" if verb == "ride" else verb: x for verb, x in each["verb_scores"].items()}
    for record in lists:
        record["filename"] = f"images/test2015/{record['filename']}"
        for each in record["box_pairs"]:
            each["verb_scores"] = [each["verb_scores"].get(verb, 0.0) for verb in CLASSES.verbs]
    by_word = read(tmp_path, words)
    assert by_word.table.objects == ("horse",)
    assert by_word.verb_scores is not None
    assert expected.verb_scores is not None
    assert np.array_equal(by_word.verb_scores, expected.verb_scores, equal_nan=True)
    by_list = read(tmp_path, lists)
    assert by_list.table.equals(expected.table)
    assert by_list.verb_scores is not None
    assert np.array_equal(by_list.verb_scores, np.nan_to_num(expected.verb_scores))


def test_fields_may_be_absent(tmp_path: Path) -> None:
    bare = read(tmp_path, without(records(), "h_score", "o_score", "verb_scores"))
    assert (bare.detected, bare.interaction, bare.verb_scores) == (False, None, None)
    assert bare.table.score.tolist() == [1.0, 1.0, 1.0]
    one = read(tmp_path, without(records(), "o_score"))
    assert one.detected
    assert one.table.score.tolist() == [0.9, 0.9, 0.9]


def test_the_highest_score_as_given_comes_first(tmp_path: Path) -> None:
    document = records()
    for record in document:
        for each in record["box_pairs"]:
            each["hoi_score_inter"] = 0.125
    assert read(tmp_path, document).interaction == pytest.approx([0.125] * 3)


def test_no_verb_at_all_is_no_interaction(tmp_path: Path) -> None:
    document = [{"filename": NAMES[0], "box_pairs": [pair(verb_scores={}), pair(verb_scores={"no_interaction": 1})]}]
    assert read(tmp_path, document).interaction == pytest.approx([0, 0])


@pytest.mark.parametrize("document", [[], [{"filename": NAMES[0], "box_pairs": []}]])
def test_no_pairs(tmp_path: Path, document: Any) -> None:
    pairs = read(tmp_path, document)
    assert len(pairs.table) == 0
    assert pairs.verb_scores is None


def test_another_box_convention(tmp_path: Path) -> None:
    document = records()
    for record in document:
        for each in record["box_pairs"]:
            for name in ("h_box", "o_box"):
                x1, y1, x2, y2 = each[name]
                each[name] = [x1, y1, x2 - x1, y2 - y1]
    assert read(tmp_path, document, boxes="xywh").table.equals(read(tmp_path, records()).table)
    with pytest.raises(OptionError, match="unknown box convention 'xyw'"):
        read(tmp_path, document, boxes="xyw")


IMAGE = f"image '{NAMES[0]}'"
MISTAKES: list[tuple[str, Callable[[list[Any]], Any], str]] = [
    ("no name", lambda d: d[0].pop("filename"), "record 1: filename: found only keys 'box_pairs', expected this key"),
    ("odd name", lambda d: d[1].update(filename=[]), "record 2: filename: found [], expected a file name"),
    ("same name", lambda d: d[1].update(filename=NAMES[0]), f"images: found '{NAMES[0]}' twice"),
    ("no list", lambda d: d[0].update(box_pairs={}), f"{IMAGE}: box_pairs: found an object of 0, expected a list"),
    ("no object", lambda d: d[0]["box_pairs"].append(3), f"{IMAGE}: pair 3: found 3, expected an object with 'h_box'"),
    ("short box", lambda d: d[0]["box_pairs"][1]["h_box"].pop(), f"{IMAGE}: pair 2: h_box: found [6.5, 2.0, 30.0]"),
    ("flat box", lambda d: d[0]["box_pairs"][1].update(o_box=[5, 5, 5, 9]), "pair 2 (image 'HICO_test2015_00000001."),
    ("no label", lambda d: d[0]["box_pairs"][0].pop("o_label"), "pair 1: o_label: found only keys 'h_box', 'o_box', "),
    ("label 80", lambda d: d[0]["box_pairs"][0].update(o_label=80), "o_label: found 80, expected 0 to 79, objects in"),
    ("label 1.5", lambda d: d[0]["box_pairs"][0].update(o_label=1.5), "o_label: found 1.5, expected a whole number"),
    ("mixed", lambda d: d[0]["box_pairs"][0].update(o_label="horse"), "o_label: found 17, expected a word, as in the"),
    (
        "one missing",
        lambda d: d[1]["box_pairs"][0].pop("h_score"),
        "pair 1: h_score: found no such key, expected this key in",
    ),
    ("one more", lambda d: d[0]["box_pairs"][1].update(hoi_score_inter=1), "hoi_score_inter: found the first record"),
    ("text", lambda d: d[0]["box_pairs"][0].update(o_score="1"), "o_score: found '1', expected a finite number"),
    ("verb", lambda d: d[0]["box_pairs"][0].update(verb_scores={"rdie": 1}), "found 'rdie', expected one of the 117 v"),
    ("verb score", lambda d: d[0]["box_pairs"][0].update(verb_scores={"ride": None}), "verb_scores: ride: found None"),
    (
        "verb list",
        lambda d: d[0]["box_pairs"][0].update(verb_scores=[1.0]),
        "verb_scores: found a list of 1, expected a",
    ),
    (
        "list later",
        lambda d: d[1]["box_pairs"][0].update(verb_scores=[0.0] * 117),
        "found a list of 117, expected an ob",
    ),
]


@pytest.mark.parametrize(("mistake", "expected"), [m[1:] for m in MISTAKES], ids=[m[0] for m in MISTAKES])
def test_mistakes_are_named(tmp_path: Path, mistake: Callable[[Any], Any], expected: str) -> None:
    document = records()
    mistake(document)
    with pytest.raises(InputError, match=re.escape(expected)) as caught:
        read(tmp_path, document)
    assert str(tmp_path / "pairs.json") in str(caught.value)


def test_numbers_that_are_not_finite_are_refused(tmp_path: Path) -> None:
    for name, value in (("h_score", np.nan), ("verb_scores", {"ride": np.inf}), ("verb_scores", [np.nan] * 117)):
        document = records()
        document[0]["box_pairs"][0][name] = value
        (tmp_path / "pairs.pkl").write_bytes(pickle.dumps(document))
        with pytest.raises(InputError, match=f"pair 1: {name}.*"):
            read_pairs(tmp_path / "pairs.pkl")


@pytest.mark.parametrize("name", samples.SAMPLES)
def test_predictions_are_no_pairs(name: str) -> None:
    with pytest.raises(InputError, match="expected pairs: an object with filename and box_pairs for each image"):
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
    scores = read_action_scores(tmp_path / "predictions")
    assert scores is not None
    assert scores.tolist() == [i / 100 for i in range(len(read_predictions(tmp_path / "predictions")))]


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


def test_an_action_score_that_is_missing_or_none_is_named(tmp_path: Path) -> None:
    changes: list[tuple[Callable[[Any], Any], str]] = [
        (
            lambda hoi: hoi.pop("action_score"),
            "triplet 3: action_score: found no such key, expected this key in all",
        ),
        (lambda hoi: hoi.update(action_score="a"), "triplet 3: action_score: found 'a', expected a finite number"),
    ]
    for change, expected in changes:
        document = scored()
        change(document[1]["hoi_prediction"][2])
        (tmp_path / "x.json").write_bytes(orjson.dumps(document))
        with pytest.raises(InputError, match=re.escape(expected)):
            read_action_scores(tmp_path / "x.json")
