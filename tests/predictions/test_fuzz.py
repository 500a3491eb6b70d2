"""Damaged files are read or refused in one line; nothing else comes out of a reader."""

import pickle
from contextlib import suppress
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given, settings, strategies as st

from shoe.core.errors import ShoeError
from shoe.predictions import read_predictions
from shoe.predictions.vlm.answers import read_answer
from shoe.predictions.vlm.fields import Fields, fields_of
from tests.examples import examples
from tests.predictions import samples
from tests.predictions.damage import damaged, options, predictions

CASES = 2 * settings().max_examples  # of each sample: 20, or 60 with SHOE_TESTS=many
KEYS = [
    *("filename", "file_name", "predictions", "hoi_prediction", "bbox", "category_id", "subject_id", "object_id"),
    *("preds", "image_id", "boxes", "h_idx", "o_idx", "hoi_score", "hoi_class", "scores", "keys", "hoi_id"),
    *("sub_bbox", "obj_bbox", "image", "hx1", "verb", "object", "score", "human_box", "object_box", "phrase"),
    *("interactions", "response", "width", "height", "HICO_test2015_00000001", "a.jpg", 0, 7, (1, 2), "", 0.5),
]
CONTENT = predictions()


ANSWERS = {path.name: path.read_bytes() for path in (samples.FOLDER.parent / "vlm").glob("*.[jc]s*")}


@pytest.mark.parametrize("name", [*samples.SAMPLES, *sorted(ANSWERS)])
def test_damaged_predictions_and_answers_are_read_or_refused(tmp_path: Path, name: str) -> None:
    path, content = tmp_path / name, CONTENT | ANSWERS
    for seed in range(CASES if name in CONTENT else CASES // 2):
        path.write_bytes(damaged(name, content[name], seed))
        sized = {"sizes": {"HICO_test2015_00000209.jpg": (640, 480)}}
        with suppress(ShoeError):
            read_predictions(path, **(options(name, seed) if name in CONTENT else sized))


MANY = 10_000
LONG = {
    "quotes": '["' + ' "' * MANY + "x",
    "thoughts": "<think>" * MANY + "</thinking>" * MANY,
    "brackets": "[{" * MANY,
    "boxes": "<box>(1,2)," * MANY,
    "blanks": "box" + " " * MANY + "x [1, 2, 3, 4]",
    "numbers": "[1" + " " * MANY + "x",
    "lists": "[[1,2,3,4]" + "  [1,2,3,4]" * (MANY // 10) + "x",
    "sentences": "A man [1,2,3,4] is riding a horse [5,6,7,8]. " * (MANY // 10),
    "fields": "human: [1,2,3,4], object: [1,2,3,4] " * (MANY // 10),
    "objects": '{"human_box":[1,2,3,4],"object_box":[1,2,3,5],"verb":"ride","object":"horse"} wait ' * (MANY // 20),
    "comments": "[/*" * MANY,
    "digits": "1" * MANY,
    "digits in data": "[" + "1" * MANY + "x",
    "boxes left open": "man [" + "310,190,362,123; " * 8 + "riding",
    "escapes": '["' + "\\" * MANY,
}


@pytest.mark.parametrize("name", LONG)
def test_a_long_reply_takes_time_in_proportion(name: str) -> None:
    started = process_time()
    read_answer(LONG[name], Fields())
    assert process_time() - started < 3


leaves = st.sampled_from([0, 1, -1, 5, 2**62, 0.5, float("nan"), float("inf"), "ride", "", "7", "[{}]", True, None])
boxes = st.just([1, 2, 30, 40])
documents = st.recursive(
    leaves | boxes,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=8),
    max_leaves=30,
)


@pytest.mark.parametrize("value", [[""], ["", ""], ["", "", ""], [["", ""]], {"a": ""}, {"": ""}])
@pytest.mark.parametrize("key", ["verb", "object", "label", "phrase", "box", "id", "subject", "image", "x"])
def test_empty_words_in_lists_are_no_accident(key: str, value: object) -> None:
    assert not fields_of({key: value, "verb": "ride"}).entities


@examples(10)
@given(document=documents, form=st.sampled_from([None, "qpic", "gen-vlkt", "ppdm", "hoidet", "thid", "mllms", "vlm"]))
def test_any_document_is_read_or_refused(tmp_path: Path, document: object, form: str | None) -> None:
    path = tmp_path / "document.pkl"
    path.write_bytes(pickle.dumps(document))
    with suppress(ShoeError):
        read_predictions(path, format=form)
