"""Free text: whatever a model calls its keys, and whatever it says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import orjson
import pytest

from shoe.benchmarks import benchmark
from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.lexicon.expressions import Part
from shoe.predictions import ReadNotes, read_predictions_with_notes
from shoe.similarity import load_similarity

HUMAN, TARGET = [310, 19, 362, 123], [10, 107, 631, 442]
WORDS = {"verb": "ride", "object": "horse"}
CLASSES = benchmark("hico-det").classes
BOXES = {"human_box": HUMAN, "object_box": TARGET}


def read(folder: Path, content: Any) -> tuple[Interactions, ReadNotes]:
    path = folder / "answers"
    path.write_bytes(content if isinstance(content, bytes) else orjson.dumps(content))
    return read_predictions_with_notes(path)


def told(table: Interactions) -> list[tuple[str, str, str, float]]:
    columns = (table.image, table.verb, table.object, table.score)
    return [
        (table.images[i], table.verbs[v], table.objects[o], s)
        for i, v, o, s in zip(*(column.tolist() for column in columns), strict=True)
    ]


@pytest.mark.parametrize(
    "record",
    [
        {"image": "a.jpg", **BOXES, **WORDS},
        {"file_name": "x/y/a.jpg", "person_bbox": HUMAN, "obj_bbox": TARGET, "action": "ride", "object_label": "horse"},
        {"image_path": "x\\a.jpg", "Human BBox": HUMAN, "Object-BBox": TARGET, "predicate": "ride", "object": "horse"},
        {"img": "a.jpg", "human_bbox_2d": HUMAN, "object_bounding_box": TARGET, "relation": "ride", "target": "horse"},
        {"image": "a.jpg", "subject_box": [HUMAN], "object_box": [TARGET[:2], TARGET[2:]], **WORDS},
        {
            "image": "a.jpg",
            "person": {"bbox_2d": HUMAN},
            "object": {"bbox_2d": TARGET, "label": "horse"},
            "verb": "ride",
        },
        {"image": "a.jpg", "subject": "person", **BOXES, **WORDS},
        {"image": "a.jpg", "human": dict(zip(("x1", "y1", "x2", "y2"), HUMAN, strict=True)), "object_box": TARGET}
        | WORDS,
        {"image": "a.jpg", "interactions": [{**BOXES, **WORDS}]},
        {"image": "a.jpg", "hois": [{**BOXES, "interaction": "riding a horse", "object": "horse", "verb": "ride"}]},
        {"a.jpg": [{**BOXES, **WORDS}]},
        {"a.jpg": {"interactions": [{**BOXES, **WORDS}]}},
        {"image": "a.jpg", "response": orjson.dumps([{**BOXES, **WORDS}]).decode()},
    ],
)
@pytest.mark.parametrize("as_list", [False, True])
def test_keys_have_many_names(tmp_path: Path, record: dict[str, Any], as_list: bool) -> None:
    by_image = "a.jpg" in record
    table, notes = read(tmp_path, [record] if as_list and not by_image else record)
    assert told(table) == [("a.jpg", "ride", "horse", 1.0)]
    assert table.human_boxes.tolist() == [HUMAN]
    assert table.object_boxes.tolist() == [TARGET]
    assert notes.lines() == ["no score given for 1 triplet: score 1 assumed"]


@pytest.mark.parametrize("key", ["phrase", "interaction", "hoi", "text"])
@pytest.mark.parametrize(
    ("phrase", "words"),
    [
        ("a man is riding a brown horse", ("riding", "brown horse")),
        ("riding horse", ("riding", "horse")),
        ("sit_on bench", ("sit on", "bench")),
        ("talking on the phone", ("talking on", "phone")),
        ("<person, ride, horse>", ("ride", "horse")),
        ("ride a/an horse", ("ride", "horse")),
    ],
)
def test_a_phrase_is_split_by_the_lexicon(tmp_path: Path, key: str, phrase: str, words: tuple[str, str]) -> None:
    table, notes = read(tmp_path, [{"image": "a.jpg", **BOXES, key: phrase, "confidence": 0.25}])
    assert told(table) == [("a.jpg", *words, 0.25)]
    assert [line for line in notes.lines() if "may have another" not in line] == []


def test_an_interaction_beside_an_object_word_is_a_verb(tmp_path: Path) -> None:
    items = [
        {"interaction": "sitting on", "object": "bench", **BOXES},
        {"interaction": "a man rides a horse", "object": "horse", **BOXES},
    ]
    table, _ = read(tmp_path, {"image": "a.jpg", "interactions": items})
    assert [row[1:3] for row in told(table)] == [("sitting on", "bench"), ("rides", "horse")]


@pytest.mark.parametrize(
    ("field", "thing", "verb"),
    [
        ("row boat", "boat", "row"),
        ("milks a cow", "cows", "milks"),
        ("sit_on_dining_table", "dining table", "sit on"),
        ("bread toasting", "bread", "toasting"),
        ("does the repair of", "clock", "repairing / does a repair of"),
        ("looks at the price on", "parking meter", "looks at price on"),
        ("to groom", "horse", "groom"),
        ("peers under", "car", "peers under"),
        ("not interacting", "bus", "no_interaction"),
        ("null", "bus", "no_interaction"),
    ],
)
def test_the_object_beside_a_verb_settles_it(tmp_path: Path, field: str, thing: str, verb: str) -> None:
    table, notes = read(tmp_path, [{"image": "a.jpg", **BOXES, "action": field, "object": thing, "score": 1}])
    assert told(table) == [("a.jpg", verb, thing, 1.0)]
    assert notes.lines() == []


def test_a_verb_that_cannot_be_read_beside_its_object_is_doubtful(tmp_path: Path) -> None:
    _, notes = read(tmp_path, [{"image": "a.jpg", **BOXES, "action": "the very red one", "object": "car", "score": 1}])
    assert "may be misread" in notes.lines()[0]


def test_several_words_for_one_box_are_alternatives(tmp_path: Path) -> None:
    table, notes = read(
        tmp_path, [{"image": "a.jpg", **BOXES, "verb": "ride", "object": ["horse", "pony"], "score": 1}]
    )
    assert told(table) == [("a.jpg", "ride", "horse / pony", 1.0)]
    assert notes.lines() == ["a list of words as an object was read as alternatives: 'horse', 'pony'"]


def test_odd_phrases_are_kept_counted_and_match_nothing(tmp_path: Path) -> None:
    phrases = ["riding a horse", "???", "hm", "???"]
    table, notes = read(tmp_path, [{"image": "a.jpg", **BOXES, "phrase": p} for p in phrases])
    assert [row[1:3] for row in told(table)] == [("riding", "horse"), ("", ""), ("", ""), ("", "")]
    assert notes.examples("unparsed") == {"???": 2, "hm": 1}
    assert notes.lines()[0] == "no verb and object found in 3 phrases, which match no class: '???', 'hm'"


@pytest.mark.parametrize("similarity", ["hico-det", "identity", "wup"])
def test_a_phrase_without_verb_and_object_is_like_no_class(tmp_path: Path, similarity: str) -> None:
    phrases = ["riding", "the white ship", "riding a horse"]
    table, notes = read(tmp_path, [{"image": "a.jpg", **BOXES, "phrase": p} for p in phrases])
    assert notes.examples("unparsed") == {"riding": 1, "the white ship": 1}
    best = {}
    for part, synsets, labels, words, word in (
        ("verb", CLASSES.verb_synsets, [CLASSES.verbs[v] for v in CLASSES.verb], table.verbs, table.verb),
        ("object", CLASSES.object_synsets, [CLASSES.objects[o] for o in CLASSES.object], table.objects, table.object),
    ):
        values = load_similarity(similarity).of_words(cast(Part, part), list(zip(synsets, labels, strict=True)), words)[
            0
        ]
        best[part] = values.max(axis=0)[word].tolist()
    assert best == {"verb": [0, 0, 1], "object": [0, 0, 1]}


def test_a_file_of_odd_phrases_only_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"phrase: found '\?\?\?', expected a verb and an object, as in"):
        read(tmp_path, [{"image": "a.jpg", **BOXES, "phrase": "???"}])


def test_repeated_items_and_images_without_any_are_kept(tmp_path: Path) -> None:
    lines = [
        {"image": "a.jpg", **BOXES, **WORDS},
        {"image": "b.jpg", "interactions": []},
        {"image": "a.jpg", **BOXES, **WORDS, "score": 0.5},
        {"image": "a.jpg", **BOXES, **WORDS},
    ]
    table, notes = read(tmp_path, b"\n\n".join(orjson.dumps(line) for line in lines))
    assert table.images == ("a.jpg", "b.jpg")
    assert told(table) == [("a.jpg", "ride", "horse", score) for score in (0.25, 0.5, 0.25)]
    assert notes.scores_defaulted == 2
    (line,) = notes.lines()
    assert "2 of 3 triplets" in line


def test_numbers_are_names_of_test_images(tmp_path: Path) -> None:
    table, _ = read(tmp_path, [{"image_id": i, **BOXES, **WORDS} for i in (17, "18", "HICO_test2015_00000019")])
    assert table.images == tuple(f"HICO_test2015_{i:08d}.jpg" for i in (17, 18, 19))


def test_scores_above_one_are_allowed(tmp_path: Path) -> None:
    table, _ = read(tmp_path, [{"image": "a.jpg", **BOXES, **WORDS, "score": 1.7}])
    assert table.score.tolist() == [1.7]


def test_an_image_has_one_size(tmp_path: Path) -> None:
    record = {"image": "a.jpg", **BOXES, **WORDS}
    sized = [record, record | {"width": 640, "height": 480}, record]
    table, _ = read(tmp_path, sized)
    assert table.sizes.tolist() == [[640, 480]]
    with pytest.raises(InputError, match=r"record 4: width: found the size 480 x 640 of 'a.jpg', expected 640 x 480"):
        read(tmp_path, [*sized, record | {"width": 480, "height": 640}])


def test_hostile_words_are_cut_and_counted(tmp_path: Path) -> None:
    words = ["x" * 1_000_000, "x" * 300, "\x1b[2J\u202e", "<b>|&"]
    table, notes = read(tmp_path, [{"image": "a.jpg", **BOXES, "verb": w, "object": w} for w in words])
    assert table.verbs == ("x" * 200, "\x1b[2J\u202e", "<b>|&")
    assert table.verb.tolist() == [0, 0, 1, 2]
    assert notes.count("clipped") == 4
    assert notes.lines()[-1] == "4 words longer than 200 characters were cut to 200 characters"
    assert all(line.isprintable() for line in notes.lines())


def test_a_hostile_image_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="found a name of 5,000 characters, expected 1 to 1,000"):
        read(tmp_path, [{"image": "x" * 5000, **BOXES, **WORDS}])
    with pytest.raises(InputError, match=r"that is not valid Unicode|expected JSON"):
        read(tmp_path, b'[{"image": "\\ud800", "human_box": [0,0,1,1], "object_box": [0,0,1,1], "phrase": "ride it"}]')


REPLY = orjson.dumps({"interactions": [{**BOXES, **WORDS, "confidence": 0.5}] * 3}).decode()


@pytest.mark.parametrize(
    ("reply", "kept", "facts"),
    [
        (REPLY, 3, {}),
        (f"```json\n{REPLY}\n```", 3, {}),
        (f"Sure! ```json\n{REPLY}\n``` Is that all?", 3, {}),
        (f"I see: {REPLY} and that is it.", 3, {}),
        (REPLY[:-10], 2, {"fixed": 1, "left_out": 1}),
        (f"```json\n{REPLY[:-100]}", 2, {"fixed": 1, "left_out": 1}),
        (REPLY.replace("}]", "},]"), 3, {"fixed": 1}),
        ("[]", 0, {}),
        ('{"interactions": []}', 0, {}),
        ("Nobody does anything here.", 0, {"unread": 1}),
        ("", 0, {"unread": 1}),
        (REPLY.replace('"object_box"', '"image"', 1), 2, {"left_out": 1}),
        (REPLY.replace("[310,19,362,123]", "[362,19,310,123]", 1), 2, {"flat_boxes": 1}),
        ("{" * 5000 + "}" * 5000, 0, {"unread": 1}),
    ],
)
def test_replies_keep_every_complete_item(tmp_path: Path, reply: str, kept: int, facts: dict[str, int]) -> None:
    table, notes = read(tmp_path, [{"image": "a.jpg", "response": reply}, {"image": "b.jpg", "response": REPLY}])
    assert told(table) == [("a.jpg", "ride", "horse", 0.5)] * kept + [("b.jpg", "ride", "horse", 0.5)] * 3
    assert table.images == ("a.jpg", "b.jpg")
    counted = {code: notes.count(code) for code in ("fixed", "unread", "flat_boxes", "left_out")}
    assert counted == dict.fromkeys(counted, 0) | facts
    assert notes.replies == 2
    assert len(notes.lines()) == len(facts)


def replied(items: Any) -> dict[str, str]:
    return {"image": "a.jpg", "response": orjson.dumps(items).decode()}


@pytest.mark.parametrize(
    ("score", "read_as"),
    [
        ("0.8", 0.8),
        (" 1e-1 ", 0.1),
        (0.8, 0.8),
        ("high", 0.9),
        ("80%", 0.8),
        ("nan", 1),
        ("1_0", 1),
        (None, 1),
        ([0.8], 0.8),
        (True, 1),
    ],
)
def test_a_reply_may_hold_its_score_as_text(tmp_path: Path, score: Any, read_as: float) -> None:
    table, notes = read(tmp_path, [replied([{**BOXES, **WORDS, "confidence": score}])])
    assert told(table) == [("a.jpg", "ride", "horse", read_as)]
    assert notes.scores_defaulted == (read_as == 1)
    assert notes.examples("left_out") == {}


@pytest.mark.parametrize(
    "box", [list(map(str, HUMAN)), dict(zip(("x1", "y1", "x2", "y2"), map(str, HUMAN), strict=True))]
)
def test_numbers_of_a_box_may_be_text(tmp_path: Path, box: Any) -> None:
    item = {**BOXES, **WORDS, "human_box": box, "score": "0.5"}
    for record in ({"image": "a.jpg", **item}, replied([item])):
        table, notes = read(tmp_path, [record])
        assert table.human_boxes.tolist() == [HUMAN]
        assert table.score.tolist() == [0.5]
        assert notes.lines() == []


def test_a_null_is_no_value_where_another_key_has_one(tmp_path: Path) -> None:
    record = {"image": "a.jpg", "object": None, "obj_box": TARGET, "person_box": HUMAN, "human_box": None}
    table, _ = read(tmp_path, [record | {"phrase": "riding a horse", "width": None, "height": None}])
    assert told(table) == [("a.jpg", "riding", "horse", 1)]
    assert table.human_boxes.tolist() == [HUMAN]


def test_what_is_left_out_of_replies_is_counted_by_cause_and_the_first_is_shown(tmp_path: Path) -> None:
    good = {**BOXES, **WORDS, "score": 1}
    bad = [good | {"human_box": "left"}, good | {"human_box": [1, 2]}, good | {"verb": 7}, 5]
    content = b"\n".join(map(orjson.dumps, [replied([good]), replied([good, *bad])]))
    table, notes = read(tmp_path, content)
    assert len(table) == 2
    assert notes.examples("left_out") == {"human_box": 2, "verb": 1, "incomplete": 1}
    assert notes.lines() == [
        "4 items left out (human_box 2, verb 1, incomplete 1); "
        "first: line 2, item 2: human_box: found 'left', expected four numbers",
        "1 image has more than one reply: its interactions are joined",
    ]


@pytest.mark.parametrize(
    ("replies", "message"),
    [
        (
            [[], [{**BOXES, **WORDS, "human_box": "left"}, {**BOXES, **WORDS, "human_box": "top"}]],
            r"record 2, item 1: human_box: found 'left', expected four numbers \(1 of 2 replies contains no inter",
        ),
        ([[7]], r"record 1, item 1: incomplete: found 7, expected an object with two boxes"),
        (
            ["Nobody.", "No."],
            r"record 1: response: found '\"Nobody.\"', expected a list .* \(2 of 2 replies contain no interaction",
        ),
    ],
)
def test_replies_of_which_nothing_can_be_read_are_refused(tmp_path: Path, replies: list[Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, [replied(reply) for reply in replies])


def test_a_number_larger_than_any_float_is_no_coordinate(tmp_path: Path) -> None:
    items = orjson.dumps([{**BOXES, **WORDS, "human_box": [7, 2, 3, 4]}]).decode()
    with pytest.raises(InputError, match=r"item 1: human_box: found \[7777.*, expected four numbers"):
        read(tmp_path, [{"image": "a.jpg", "response": items.replace("7", "7" * 400, 1)}])


def test_replies_without_interactions_are_predictions_of_none(tmp_path: Path) -> None:
    table, notes = read(tmp_path, [replied([]), replied({"interactions": []})])
    assert len(table) == 0
    assert notes.lines()[1:] == ["2 of 2 replies say that there is no interaction"]


def test_replies_whose_boxes_are_mostly_without_area_are_refused(tmp_path: Path) -> None:
    items = [{"human_box": [100, 80, 50, 90], "object_box": [100, 80, 50, 90], **WORDS}] * 3
    with pytest.raises(InputError, match="all have an area as xywh or as cxcywh"):
        read(tmp_path, [{"image": "a.jpg", "response": orjson.dumps(items).decode()}])


def test_a_file_that_writes_its_relations_or_corners_the_other_way_round_is_read_so(tmp_path: Path) -> None:
    boxes = {"thing": [*TARGET[2:], *TARGET[:2]], "person": [*HUMAN[2:], *HUMAN[:2]]}
    item = {"subject": {"label": "horse", "bbox": boxes["thing"]}, "predicate": "riding"}
    item["object"] = {"label": "person", "bbox": boxes["person"]}
    table, notes = read(tmp_path, [{"image": f"{i}.jpg", "response": [item]} for i in range(20)])
    assert {row[1:3] for row in told(table)} == {("riding", "horse")}
    assert (table.human_boxes[0].tolist(), table.object_boxes[0].tolist()) == (HUMAN, TARGET)
    assert "reversed" in notes.remarks
    assert any("20 of 20 relations have a thing as subject and a person as object" in line for line in notes.lines())
    forward = {"subject": item["object"], "predicate": "leading", "object": item["subject"]}
    table, notes = read(tmp_path, [{"image": f"{i}.jpg", "response": [item, forward]} for i in range(20)])
    assert {row[1:3] for row in told(table)} == {("leading", "horse")}
    assert notes.examples("left_out") == {"subject": 20}


def test_numbers_of_box_tokens_tell_their_unit(tmp_path: Path) -> None:
    def read_as(numbers: list[list[float]]) -> str:
        text = "<ref>man</ref><box>[%s]</box> riding <ref>horse</ref><box>[%s]</box>"
        replies = [{"image": f"{i}.jpg", "width": 640, "height": 480, "response": text % (n, n)} for i, n in
                   enumerate(numbers)]  # fmt: skip
        return read(tmp_path, replies)[1].boxes

    assert read_as([[0.1, 0.2, 0.3, 0.4]] * 3) == "unit"
    assert read_as([[10, 20, 600, 470]] * 5) == "thousand"  # too few to tell
    assert read_as([[10, 20, 600 + i, 470] for i in range(30)]) == "xyxy"
    assert read_as([[10, 20, 600 + 10 * i, 470] for i in range(30)]) == "thousand"


def test_no_interaction_is_never_the_object_and_is_not_left_out(tmp_path: Path) -> None:
    said = [
        {"does": "no interaction", "what": "knife"},
        {"what": "book", "does": "no_interaction"},
        {"hoi": "no_interaction bus"},
    ]
    table, notes = read(tmp_path, [replied([{**BOXES, **each} for each in said])])
    assert sorted(table.objects) == ["book", "bus", "knife"]
    assert all(verb.replace("_", " ") == "no interaction" for verb in table.verbs)
    assert notes.count("denied") == 0


@pytest.mark.parametrize(
    ("scores", "line"),
    [
        ([0.9, 95, 0.8], "scores mix two scales, so their ranking means nothing: 2 in 0..1, 1 above 1"),
        (["0,9", 0.5, 0.5], "1 score could not be read as confidences: '0,9'"),
        ([0.5] * 5 + [float("nan")], "1 score could not be read as confidences: nan"),
    ],
)
def test_scores_of_no_use_are_told(tmp_path: Path, scores: list[Any], line: str) -> None:
    nested = [{"image": f"{i}.jpg", "interactions": [{**BOXES, **WORDS, "score": s}]} for i, s in enumerate(scores)]
    flat = [{"image": f"{i}.jpg", **BOXES, **WORDS, "score": s} for i, s in enumerate(scores)]
    for rows in (nested, *([] if "'" in line else [flat])):
        table, notes = read(tmp_path, "\n".join(map(json.dumps, rows)).encode())
        assert len(table) == len(scores)
        assert line in notes.lines()


def test_scores_of_which_none_is_a_number_are_refused(tmp_path: Path) -> None:
    rows = [{"image": "a.jpg", **BOXES, **WORDS, "score": float("nan")} for _ in range(2)]
    with pytest.raises(InputError, match="score: found no number in any of 2 triplets, expected finite numbers"):
        read(tmp_path, "\n".join(map(json.dumps, rows)).encode())


@pytest.mark.parametrize("wrap", [lambda items: {"image": "a.jpg", "interactions": items}, replied])
def test_keys_that_say_nothing_are_named_unless_what_they_hold_may_be_read(
    tmp_path: Path, wrap: Callable[[Any], Any]
) -> None:
    items = [{**BOXES, **WORDS, "score": 1, "mood": "calm", "n": 3}, {**BOXES, "what": "riding a horse"}]
    table, notes = read(tmp_path, [wrap(items)])
    assert [row[1:3] for row in told(table)] == [("ride", "horse"), ("riding", "horse")]
    assert notes.unread == {"mood": {"calm": 1}, "n": {3: 1}}


@pytest.mark.parametrize("wrap", [lambda items: {"image": "a.jpg", "interactions": items}, replied])
def test_numbers_that_may_be_scores_are_named(tmp_path: Path, wrap: Callable[[Any], Any]) -> None:
    items = [{**BOXES, **WORDS, "rating": 0.9, "id": 1}, {**BOXES, **WORDS, "rating": 1, "rank": 1}]
    _, notes = read(tmp_path, [wrap(items)])
    assert notes.scores_defaulted == 2
    assert notes.unread == {"rating": {0.9: 1, 1: 1}, "rank": {1: 1}}


@pytest.mark.parametrize(
    "beside", [{"ob\tject": "horse"}, {'a "key"': ""}, {"a\\b": ""}, {"other": [10**400, 2, 3, 4]}]
)
def test_keys_and_numbers_of_any_kind_may_stand_beside_an_interaction(tmp_path: Path, beside: dict[str, Any]) -> None:
    item = {"human_box": [7, 13, 321, 241], "object_box": [14, 26, 322, 242], **WORDS, **beside}
    table, _ = read(tmp_path, json.dumps({"image": "1.jpg", "response": json.dumps([item])}).encode())
    assert [row[1:3] for row in told(table)] == [("ride", "horse")]
