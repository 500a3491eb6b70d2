"""Free text: whatever a model calls its keys, and whatever it says."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from shoe.benchmarks import benchmark
from shoe.lexicon.senses import Part
from shoe.predictions import read_predictions_with_notes
from shoe.similarity import load_similarity
from tests.errors import input_error
from tests.predictions.reading import boxes, codes, missing, read_lines, read_replies, read_reply, words, write_lines
from tests.predictions.samples import rows

HUMAN, TARGET = [310, 19, 362, 123], [10, 107, 631, 442]
WORDS = {"verb": "ride", "object": "horse"}
CLASSES = benchmark("hico-det").classes
BOXES = {"human_box": HUMAN, "object_box": TARGET}
ITEM: dict[str, Any] = {**BOXES, **WORDS}
RECORD: dict[str, Any] = {"image": "a.jpg", **ITEM}
SIDES = ("x1", "y1", "x2", "y2")


def replied(items: Any) -> dict[str, str]:
    return {"image": "a.jpg", "response": json.dumps(items)}


def listed(items: Any) -> dict[str, Any]:
    return {"image": "a.jpg", "interactions": items}


@pytest.mark.parametrize(
    "record",
    [
        RECORD,
        {"file_name": "x/y/a.jpg", "person_bbox": HUMAN, "obj_bbox": TARGET, "action": "ride", "object_label": "horse"},
        {"image_path": "x\\a.jpg", "Human BBox": HUMAN, "Object-BBox": TARGET, "predicate": "ride", "object": "horse"},
        {"img": "a.jpg", "human_bbox_2d": HUMAN, "object_bounding_box": TARGET, "relation": "ride", "target": "horse"},
        {"image": "a.jpg", "subject_box": [HUMAN], "object_box": [TARGET[:2], TARGET[2:]], **WORDS},
        {"image": "a.jpg", "person": {"bbox_2d": HUMAN}, "object": {"bbox_2d": TARGET, "label": "horse"}}
        | {"verb": "ride"},
        RECORD | {"subject": "person"},
        {"image": "a.jpg", "human": dict(zip(SIDES, HUMAN, strict=True)), "object_box": TARGET, **WORDS},
        listed([ITEM]),
        {"image": "a.jpg", "hois": [{**ITEM, "interaction": "riding a horse"}]},
        *({"a.jpg": [ITEM]}, {"a.jpg": {"interactions": [ITEM]}}, replied([ITEM])),
    ],
)
@pytest.mark.parametrize("as_list", [False, True])
def test_keys_have_many_names(tmp_path: Path, record: dict[str, Any], as_list: bool) -> None:
    table, notes = read_lines(tmp_path, [record] if as_list and "a.jpg" not in record else record)
    assert rows(table) == [("a.jpg", tuple(HUMAN), tuple(TARGET), "ride", "horse", 1.0)]
    assert (codes(notes), notes.scores_defaulted) == (["no_score"], 1)


PHRASES = {
    "a man is riding a brown horse": ("riding", "brown horse"),
    "riding horse": ("riding", "horse"),
    "sit_on bench": ("sit on", "bench"),
    "talking on the phone": ("talking on", "phone"),
    "<person, ride, horse>": ("ride", "horse"),
    "ride a/an horse": ("ride", "horse"),
}
INTERACTIONS = {"sitting on": ("sitting on", "bench"), "a man rides a horse": ("rides", "horse")}
# Field, object beside it, and the verb.
BESIDE = [
    *(("row boat", "boat", "row"), ("milks a cow", "cows", "milks"), ("sit_on_dining_table", "dining table", "sit on")),
    ("bread toasting", "bread", "toasting"),
    ("does the repair of", "clock", "repairing / does a repair of"),
    ("looks at the price on", "parking meter", "looks at price on"),
    *(("to groom", "horse", "groom"), ("peers under", "car", "peers under")),
    *(("not interacting", "bus", "no_interaction"), ("null", "bus", "no_interaction")),
]


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        *(({key: phrase}, PHRASES[phrase]) for key in ("phrase", "interaction", "hoi", "text") for phrase in PHRASES),
        *(({"interaction": said, "object": words[1]}, words) for said, words in INTERACTIONS.items()),
        *(({"action": field, "object": thing}, (verb, thing)) for field, thing, verb in BESIDE),
    ],
)
def test_phrases_are_split_by_the_lexicon_and_by_the_object_beside_them(
    tmp_path: Path, fields: dict[str, str], expected: tuple[str, str]
) -> None:
    table, notes = read_lines(tmp_path, {"image": "a.jpg", **BOXES, **fields, "confidence": 0.25})
    assert (words(table), table.score.tolist(), notes.lines()) == ([expected], [0.25], [])


def test_a_verb_that_cannot_be_read_beside_its_object_is_doubtful(tmp_path: Path) -> None:
    _, notes = read_lines(
        tmp_path, {"image": "a.jpg", **BOXES, "action": "the very red one", "object": "car", "score": 1}
    )
    assert codes(notes)[0] == "doubtful"


def test_several_words_for_one_box_are_alternatives(tmp_path: Path) -> None:
    table, notes = read_lines(tmp_path, RECORD | {"object": ["horse", "pony"], "score": 1})
    assert words(table) == [("ride", "horse / pony")]
    assert (codes(notes), list(notes.examples("alternatives"))) == (["alternatives"], ["horse", "pony"])
    assert notes.lines()[0].endswith(": 'horse', 'pony'")


def test_odd_phrases_are_kept_counted_and_match_nothing(tmp_path: Path) -> None:
    phrases = ["riding a horse", "???", "hm", "???"]
    table, notes = read_lines(tmp_path, *({"image": "a.jpg", **BOXES, "phrase": p} for p in phrases))
    assert words(table) == [("riding", "horse"), ("", ""), ("", ""), ("", "")]
    assert (notes.examples("unparsed"), codes(notes)[0]) == ({"???": 2, "hm": 1}, "unparsed")
    assert missing(notes.lines()[0], " 3 ", ": '???', 'hm'") == []


@pytest.mark.parametrize("similarity", ["hico-det", "identity", "wup"])
def test_a_phrase_without_verb_and_object_is_like_no_class(tmp_path: Path, similarity: str) -> None:
    phrases = ["riding", "the white ship", "riding a horse"]
    table, notes = read_lines(tmp_path, *({"image": "a.jpg", **BOXES, "phrase": p} for p in phrases))
    assert notes.examples("unparsed") == {"riding": 1, "the white ship": 1}
    values = load_similarity(similarity)
    for part, synsets, labels, known, word in (
        ("verb", CLASSES.verb_synsets, [CLASSES.verbs[v] for v in CLASSES.verb], table.verbs, table.verb),
        ("object", CLASSES.object_synsets, [CLASSES.objects[o] for o in CLASSES.object], table.objects, table.object),
    ):
        of_classes = values.of_words(cast(Part, part), list(zip(synsets, labels, strict=True)), known)[0]
        assert of_classes.max(axis=0)[word].tolist() == [0, 0, 1]


def test_repeated_items_and_images_without_any_are_kept(tmp_path: Path) -> None:
    none = {"image": "b.jpg", "interactions": []}
    path = write_lines(tmp_path / "lines", RECORD, none, RECORD | {"score": 0.5}, RECORD)
    path.write_text(path.read_text().replace("\n", "\n\n"))
    table, notes = read_predictions_with_notes(path)
    assert (table.images, words(table)) == (("a.jpg", "b.jpg"), [("ride", "horse")] * 3)
    assert (table.score.tolist(), notes.scores_defaulted) == ([0.25, 0.5, 0.25], 2)
    (line,) = notes.lines()
    assert "2 of 3 triplets" in line


def test_numbers_are_names_of_test_images(tmp_path: Path) -> None:
    table, _ = read_lines(tmp_path, *({"image_id": i, **ITEM} for i in (17, "18", "HICO_test2015_00000019")))
    assert table.images == tuple(f"HICO_test2015_{i:08d}.jpg" for i in (17, 18, 19))


def test_an_image_has_one_size(tmp_path: Path) -> None:
    sized = [RECORD, RECORD | {"width": 640, "height": 480}, RECORD]
    assert read_lines(tmp_path, *sized)[0].sizes.tolist() == [[640, 480]]
    with input_error("480 x 640", "'a.jpg'", "640 x 480", record="line 4", field="width"):
        read_lines(tmp_path, *sized, RECORD | {"width": 480, "height": 640})


def test_hostile_words_are_cut_and_counted(tmp_path: Path) -> None:
    said = ["x" * 1_000_000, "x" * 300, "\x1b[2J\u202e", "<b>|&"]
    table, notes = read_lines(tmp_path, *(RECORD | {"verb": w, "object": w} for w in said))
    assert table.verbs == ("x" * 200, "\x1b[2J\u202e", "<b>|&")
    assert table.verb.tolist() == [0, 0, 1, 2]
    assert (notes.count("clipped"), codes(notes)[-1]) == (4, "clipped")
    assert all(line.isprintable() for line in notes.lines())


REPLY = json.dumps({"interactions": [{**ITEM, "confidence": 0.5}] * 3}, separators=(",", ":"))


@pytest.mark.parametrize(
    ("reply", "kept", "facts"),
    [
        *((REPLY, 3, {}), (f"```json\n{REPLY}\n```", 3, {}), (f"Sure! ```json\n{REPLY}\n``` Is that all?", 3, {})),
        *((f"I see: {REPLY} and that is it.", 3, {}), (REPLY[:-10], 2, {"fixed": 1, "left_out": 1})),
        (f"```json\n{REPLY[:-100]}", 2, {"fixed": 1, "left_out": 1}),
        *((REPLY.replace("}]", "},]"), 3, {"fixed": 1}), ("[]", 0, {}), ('{"interactions": []}', 0, {})),
        *(("Nobody does anything here.", 0, {"unread": 1}), ("", 0, {"unread": 1})),
        (REPLY.replace('"object_box"', '"image"', 1), 2, {"left_out": 1}),
        (REPLY.replace("[310,19,362,123]", "[362,19,310,123]", 1), 2, {"flat_boxes": 1}),
        ("{" * 5000 + "}" * 5000, 0, {"unread": 1}),
    ],
)
def test_replies_keep_every_complete_item(tmp_path: Path, reply: str, kept: int, facts: dict[str, int]) -> None:
    table, notes = read_lines(tmp_path, {"image": "a.jpg", "response": reply}, {"image": "b.jpg", "response": REPLY})
    expected = [(image, "ride", "horse", 0.5) for image in ["a.jpg"] * kept + ["b.jpg"] * 3]
    assert [(image, *rest) for image, _, _, *rest in rows(table)] == expected
    assert (table.images, notes.replies) == (("a.jpg", "b.jpg"), 2)
    assert {code: notes.count(code) for code in codes(notes)} == facts


@pytest.mark.parametrize(
    ("score", "read_as"),
    [
        *(("0.8", 0.8), (" 1e-1 ", 0.1), (0.8, 0.8), ("high", 0.9), ("80%", 0.8), ([0.8], 0.8)),
        *(("nan", 1), ("1_0", 1), (None, 1), (True, 1), (1.7, 1.7)),
    ],
)
def test_a_reply_may_hold_its_score_as_text(tmp_path: Path, score: Any, read_as: float) -> None:
    table, notes = read_lines(tmp_path, replied([{**ITEM, "confidence": score}]))
    assert (words(table), table.score.tolist()) == ([("ride", "horse")], [read_as])
    assert (notes.scores_defaulted, notes.examples("left_out")) == (read_as == 1, {})


@pytest.mark.parametrize("box", [list(map(str, HUMAN)), dict(zip(SIDES, map(str, HUMAN), strict=True))])
def test_numbers_of_a_box_may_be_text(tmp_path: Path, box: Any) -> None:
    item = {**ITEM, "human_box": box, "score": "0.5"}
    for record in ({"image": "a.jpg", **item}, replied([item])):
        table, notes = read_lines(tmp_path, record)
        assert (table.human_boxes.tolist(), table.score.tolist(), notes.lines()) == ([HUMAN], [0.5], [])


FACE = [330, 25, 345, 40]


@pytest.mark.parametrize(
    "item",
    [
        *({key: FACE, "bbox": HUMAN, "object_box": TARGET, **WORDS} for key in ("face_bbox", "head_box", "hand_box")),
        *({key: FACE, **ITEM} for key in ("person_head_box", "object_part_box", "face_bbox", "human_box_raw")),
        {"person": {"head_box": FACE, "bbox": HUMAN}, "object": {"label": "horse", "bbox": TARGET}, "verb": "ride"},
        {"face_bbox": FACE, "bbox": HUMAN, "interactions": [{"object_box": TARGET, **WORDS}]},
    ],
)
def test_the_box_of_a_body_part_is_not_that_of_the_person(tmp_path: Path, item: dict[str, Any]) -> None:
    table, notes = read_lines(tmp_path, replied([item]))
    assert (words(table), *boxes(table)) == ([("ride", "horse")], [HUMAN], [TARGET])
    assert [*notes.unread] == [key for key, value in item.items() if value == FACE]


def test_a_null_is_no_value_where_another_key_has_one(tmp_path: Path) -> None:
    record = {"image": "a.jpg", "object": None, "obj_box": TARGET, "person_box": HUMAN, "human_box": None}
    table, _ = read_lines(tmp_path, record | {"phrase": "riding a horse", "width": None, "height": None})
    assert (words(table), table.score.tolist()) == ([("riding", "horse")], [1])
    assert table.human_boxes.tolist() == [HUMAN]


def test_what_is_left_out_of_replies_is_counted_by_cause_and_the_first_is_shown(tmp_path: Path) -> None:
    good = {**ITEM, "score": 1}
    bad = [good | {"human_box": "left"}, good | {"human_box": [1, 2]}, good | {"verb": 7}, 5]
    table, notes = read_lines(tmp_path, replied([good]), replied([good, *bad]))
    assert (len(table), codes(notes), notes.count("several_replies")) == (2, ["left_out", "several_replies"], 1)
    assert notes.examples("left_out") == {"human_box": 2, "verb": 1, "incomplete": 1}
    assert notes.lines()[0].startswith("4 ")
    values = ("(human_box 2, verb 1, incomplete 1)", "line 2, item 2: human_box: ", "'left'")
    assert missing(notes.lines()[0], *values) == []


LARGE = json.dumps([{**ITEM, "human_box": [7, 2, 3, 4]}]).replace("7", "7" * 400, 1)
FLAT = {"human_box": [100, 80, 50, 90], "object_box": [100, 80, 50, 90], **WORDS}


@pytest.mark.parametrize(
    ("records", "values", "place"),
    [
        ([replied([]), replied([{**ITEM, "human_box": box} for box in ("left", "top")])], ("'left'", "1 of 2 replies"),
         ("line 2, item 1", "human_box")),
        ([replied([7])], ("7",), ("record 1, item 1", "incomplete")),
        ([replied("Nobody."), replied("No.")], ("'\"Nobody.\"'", "2 of 2 replies"), ("line 1", "response")),
        ([{"image": "a.jpg", **BOXES, "phrase": "???"}] * 2, ("'???'",), (None, "phrase")),
        ([{"image": "a.jpg", "response": LARGE}], ("[7777",), ("record 1, item 1", "human_box")),
        ([replied([FLAT] * 3)], ("xywh", "cxcywh", "--boxes"), ("record 1, item 1 (image 'a.jpg')", "human box")),
        ([RECORD | {"score": float("nan")}] * 2, ("2 triplets",), (None, "score")),
        ([RECORD | {"image": "x" * 5000}], ("5,000", "1 to 1,000"), (None, "image")),
        ([RECORD | {"image": "\ud800"}], ("JSON",), ("line 1, column 17", None)),
    ],
)  # fmt: skip
def test_replies_and_records_of_which_nothing_can_be_read_are_refused(
    tmp_path: Path, records: list[Any], values: tuple[str, ...], place: tuple[str | None, str | None]
) -> None:
    with input_error(*values) as refused:
        read_lines(tmp_path, *records)
    assert (refused.value.record, refused.value.field) == place


def test_replies_without_interactions_are_predictions_of_none(tmp_path: Path) -> None:
    table, notes = read_lines(tmp_path, replied([]), replied({"interactions": []}))
    assert (len(table), codes(notes)[1:], notes.count("none")) == (0, ["none"], 2)
    assert "2 of 2" in notes.lines()[1]


def test_a_file_that_writes_its_relations_or_corners_the_other_way_round_is_read_so(tmp_path: Path) -> None:
    thing, person = ({"label": label, "bbox": [*box[2:], *box[:2]]} for label, box in (("horse", TARGET),
                                                                                     ("person", HUMAN)))  # fmt: skip
    item = {"subject": thing, "predicate": "riding", "object": person}
    table, notes = read_replies(tmp_path, *[[item]] * 20)
    assert words(table) == [("riding", "horse")] * 20
    assert boxes(table) == ([HUMAN] * 20, [TARGET] * 20)
    assert {"reversed", "exchanged"} <= {*codes(notes)}
    assert "20 of 20 relations" in notes.sentence("exchanged")
    forward = {"subject": person, "predicate": "leading", "object": thing}
    table, notes = read_replies(tmp_path, *[[item, forward]] * 20)
    assert ({*words(table)}, notes.examples("left_out")) == ({("leading", "horse")}, {"subject": 20})


@pytest.mark.parametrize(
    ("numbers", "unit"),
    [
        ([[0.1, 0.2, 0.3, 0.4]] * 3, "unit"),
        ([[10, 20, 600, 470]] * 5, "thousand"),  # too few to tell
        ([[10, 20, 600 + i, 470] for i in range(30)], "xyxy"),
        ([[10, 20, 600 + 10 * i, 470] for i in range(30)], "thousand"),
    ],
)
def test_numbers_of_box_tokens_tell_their_unit(tmp_path: Path, numbers: list[list[float]], unit: str) -> None:
    text, size = "<ref>man</ref><box>[{0}]</box> riding <ref>horse</ref><box>[{0}]</box>", {"width": 640, "height": 480}
    replies = ({"image": f"{i}.jpg", **size, "response": text.format(box)} for i, box in enumerate(numbers))
    assert read_lines(tmp_path, *replies)[1].boxes == unit


def test_no_interaction_is_never_the_object_and_is_not_left_out(tmp_path: Path) -> None:
    said = [{"does": "no interaction", "what": "knife"}, {"what": "book", "does": "no_interaction"}]
    table, notes = read_lines(tmp_path, replied([BOXES | each for each in (*said, {"hoi": "no_interaction bus"})]))
    assert sorted(table.objects) == ["book", "bus", "knife"]
    assert ({verb.replace("_", " ") for verb in table.verbs}, notes.count("denied")) == ({"no interaction"}, 0)


@pytest.mark.parametrize(
    ("scores", "code", "values"),
    [
        ([0.9, 95, 0.8], "two_scales", ["2 in 0..1", "1 outside"]),
        (["0,9", 0.5, 0.5], "scores_unread", ["1 score ", ": '0,9'"]),
        ([0.5] * 5 + [float("nan")], "scores_unread", ["1 score ", ": nan"]),
    ],
)
def test_scores_of_no_use_are_told(tmp_path: Path, scores: list[Any], code: str, values: list[str]) -> None:
    nested = [{"image": f"{i}.jpg", "interactions": [{**ITEM, "score": s}]} for i, s in enumerate(scores)]
    flat = [{"image": f"{i}.jpg", **ITEM, "score": s} for i, s in enumerate(scores)]
    for records in (nested, flat)[: 1 if "0,9" in scores else 2]:
        table, notes = read_lines(tmp_path, *records)
        assert (len(table), notes.count(code), code in codes(notes)) == (len(scores), 1, True)
        assert missing(notes.sentence(code), *values) == []


@pytest.mark.parametrize("wrap", [listed, replied])
@pytest.mark.parametrize(
    ("items", "verbs", "defaulted", "unread"),
    [
        ([{**ITEM, "score": 1, "mood": "calm", "n": 3}, {**BOXES, "what": "riding a horse"}], ["ride", "riding"], 1,
         {"mood": {"calm": 1}, "n": {3: 1}}),
        ([{**ITEM, "rating": 0.9, "id": 1}, {**ITEM, "rating": 1, "rank": 1}], ["ride"] * 2, 2,
         {"rating": {0.9: 1, 1: 1}, "rank": {1: 1}}),
    ],
)  # fmt: skip
def test_keys_that_say_nothing_or_may_be_scores_are_named_unless_they_may_be_read(
    tmp_path: Path, wrap: Callable[[Any], Any], items: Any, verbs: list[str], defaulted: int, unread: Any
) -> None:
    table, notes = read_lines(tmp_path, wrap(items))
    assert words(table) == [(verb, "horse") for verb in verbs]
    assert (notes.scores_defaulted, notes.unread) == (defaulted, unread)


@pytest.mark.parametrize(
    "beside", [{"ob\tject": "horse"}, {'a "key"': ""}, {"a\\b": ""}, {"other": [10**400, 2, 3, 4]}]
)
def test_keys_and_numbers_of_any_kind_may_stand_beside_an_interaction(tmp_path: Path, beside: dict[str, Any]) -> None:
    item = {"human_box": [7, 13, 321, 241], "object_box": [14, 26, 322, 242], **WORDS, **beside}
    assert words(read_reply(tmp_path, json.dumps([item]), image="1.jpg")) == [("ride", "horse")]
