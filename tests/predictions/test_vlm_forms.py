"""Every form of an answer holds the same two interactions."""

from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.core.errors import InputError
from shoe.predictions import read_predictions, read_predictions_with_notes

FOLDER = Path(__file__).resolve().parent.parent / "data" / "vlm"
NAME, SIZE = "HICO_test2015_00000209.jpg", (640, 480)
EXPECTED = [
    ("riding", "horse", [120, 60, 300, 400], [80, 200, 420, 470]),
    ("holding", "umbrella", [440, 90, 560, 440], [400, 20, 610, 160]),
]
# What the content of these does not tell.
BOXES = {
    "shikra.jsonl": "unit",
    "cogvlm.jsonl": "thousand",
    "kosmos2_entities.jsonl": "unit",
    "glm_box.jsonl": "thousand",
    "glm_box_inline.jsonl": "thousand",
}
PIXELS = {"kosmos2_tokens.jsonl": 20, "minigptv2.jsonl": 4}
"""How far off a corner may be, where the numbers are of a coarse grid."""


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.glob("*.[jc]s*")))
def test_a_form_holds_the_interactions(name: str) -> None:
    table, notes = read_predictions_with_notes(FOLDER / name, boxes=BOXES.get(name), sizes={NAME: SIZE})
    assert notes.format == ("jsonl" if name == "a_key_a_number.jsonl" else "vlm")  # flat columns by their own names
    assert table.images == (NAME,)
    words = zip(table.verb.tolist(), table.object.tolist(), strict=True)
    found = [(table.verbs[v].split(" / ")[0], table.objects[o].split(" / ")[0]) for v, o in words]
    assert sorted(found) == sorted((verb, thing) for verb, thing, _, _ in EXPECTED)
    for row, said in enumerate(found):
        human, thing = next((h, o) for verb, noun, h, o in EXPECTED if (verb, noun) == said)
        apart = np.concatenate([table.human_boxes[row] - human, table.object_boxes[row] - thing])
        assert np.abs(apart).max() <= PIXELS.get(name, 1)


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ('{"image": "a.jpg", "response": "<point x=\\"10\\" y=\\"20\\">person riding horse</point>"}', "found points"),
        (
            '{"image": "a.jpg", "response": "<points coords=\\"1 1 101 202 2 303 404\\">riding</points>"}',
            "found points",
        ),
        ('{"image": "a.jpg", "response": [{"point_2d": [1, 2], "label": "person riding horse"}]}', "found points"),
        ('{"image": "a.jpg", "response": [{"bbox_2d": [1, 2, 3, 4], "label": "person riding horse"}]}', "one box each"),
        (
            '{"image": "a.jpg", "response": "<ref>man riding horse</ref><box>(1,2),(3,4)</box>"}',
            "1 boxes without words for an interaction",
        ),
        ('{"image": "a.jpg", "boxes": [[1, 2, 3, 4]], "logits": [0.5], "phrases": ["man"]}', "expected"),
        ('{"prompt": "list all", "predict": "[]", "label": "[]"}', "expected"),
    ],
)
def test_what_cannot_be_scored_is_refused_with_the_reason(tmp_path: Path, record: str, found: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(f"{record}\n{record}\n")
    with pytest.raises(InputError, match=found):
        read_predictions(path)


@pytest.mark.parametrize(
    ("said", "verbs"),
    [
        ("jumping and flipping", ["jumping", "flipping"]),
        ("running, walking & petting", ["running", "walking", "petting"]),
        ("sit on/ride", ["sit on", "ride"]),
        ("moving up and down", ["moving"]),
        ("no interaction", ["no_interaction"]),
    ],
)
def test_a_list_of_verbs_is_as_many_interactions(tmp_path: Path, said: str, verbs: list[str]) -> None:
    path = tmp_path / "answers.jsonl"
    boxes = '"human_box": [1, 2, 30, 40], "object_box": [5, 6, 70, 80]'
    path.write_text(f'{{"image": "a.jpg", "response": [{{{boxes}, "verb": "{said}", "object": "horse"}}]}}\n')
    table = read_predictions(path)
    assert sorted(table.verbs[verb] for verb in table.verb.tolist()) == sorted(verbs)


def test_a_reference_without_a_box_is_counted_as_that(tmp_path: Path) -> None:
    things = '[{"id": "P1", "label": "person", "bbox": [1, 2, 30, 40]}, {"id": "O2", "bbox": [5, 6, 70, 80]}]'
    relations = ", ".join(f'{{"subject": "P1", "predicate": "ride", "object": "{name}"}}' for name in ("O2", "O9"))
    path = tmp_path / "answers.jsonl"
    path.write_text(f'{{"image": "a.jpg", "response": {{"objects": {things}, "relations": [{relations}]}}}}\n')
    notes = read_predictions_with_notes(path)[1]
    assert notes.examples("left_out") == {"reference": 1}
    assert "'O9'" in notes.remarks["left_out"].first


def test_box_tokens_with_numbers_beyond_a_thousand_are_pixels(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    boxes = ("<box>(100,90),(1240,900)</box>", "<box>(200,300),(400,700)</box>")
    said = f"<ref>A man</ref>{boxes[0]} rides <ref>a horse</ref>{boxes[1]}."
    path.write_text(f'{{"image": "a.jpg", "response": "{said}"}}\n')
    table = read_predictions(path, sizes={"a.jpg": (1280, 960)})
    assert table.human_boxes.tolist() == [[100, 90, 1240, 900]]
    assert table.object_boxes.tolist() == [[200, 300, 400, 700]]


@pytest.mark.parametrize("keys", [("noun", "act"), ("act", "noun")])
def test_a_key_means_the_same_in_every_item(tmp_path: Path, keys: tuple[str, str]) -> None:
    """Of "board" and "train" alone nobody can say which one is done to the other."""
    words = [("train", "board"), ("traffic light", "stop at"), ("umbrella", "holding"), ("cake", "eat")]
    items = [dict(zip(("noun", "act"), pair, strict=True)) for pair in words]
    boxes = {"box1": [1, 2, 30, 40], "box2": [5, 6, 70, 80]}
    path = tmp_path / "answers.jsonl"
    said = orjson.dumps([{**boxes, **{key: item[key] for key in keys}} for item in items]).decode()
    path.write_bytes(orjson.dumps({"image": "a.jpg", "response": said}))
    table = read_predictions(path)
    found = zip(table.object.tolist(), table.verb.tolist(), strict=True)
    assert [(table.objects[thing], table.verbs[verb]) for thing, verb in found] == words


def test_the_first_of_several_answers_counts_and_the_report_says_so(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    samples = [
        f'[{{"human": [1, 2, 30, 40], "object": [5, 6, 70, 80], "verb": "{verb}", "name": "cup"}}]'
        for verb in ("hold", "wash")
    ]
    path.write_bytes(orjson.dumps({"image": "a.jpg", "samples": samples}))
    table, notes = read_predictions_with_notes(path)
    assert table.verbs == ("hold",)
    assert notes.count("several_answers") == 1


def test_a_name_without_relations_is_no_verb(tmp_path: Path) -> None:
    """Two boxes under a key that may be a verb are an interaction; those that relations point to are not."""
    path = tmp_path / "answers.jsonl"
    boxes = {"person 1": [1, 2, 30, 40], "cup 1": [5, 6, 70, 80]}
    said = {"nodes": boxes, "edges": [["person 1", "hold", "cup 1"], ["person 1", "wash", "cup 1"]]}
    path.write_bytes(orjson.dumps({"image": "a.jpg", "response": said}))
    table = read_predictions(path)
    assert sorted(table.verbs[verb] for verb in table.verb.tolist()) == ["hold", "wash"]


@pytest.mark.parametrize("container", ["results", "output", "data"])
def test_a_container_is_neither_verb_nor_object(tmp_path: Path, container: str) -> None:
    path = tmp_path / "answers.jsonl"
    item = {"human": [1, 2, 30, 40], "object": [5, 6, 70, 80], "label": "riding"}
    path.write_bytes(orjson.dumps({"image": "a.jpg", "response": orjson.dumps({container: [item]}).decode()}))
    with pytest.raises(InputError, match="found 'riding', expected a verb and an object"):
        read_predictions(path)


def test_boxes_in_a_row_of_nobody_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    said = "A person [1, 2, 30, 40] rides a horse [5, 6, 70, 80]."
    rows = "[1, 2, 30, 40] carrying [5, 6, 70, 80] (cup) [1, 2, 30, 40] washing [5, 6, 70, 80] (cup)"
    path.write_bytes(b"\n".join(orjson.dumps({"image": f"{i}.jpg", "response": r}) for i, r in enumerate((said, rows))))
    table, notes = read_predictions_with_notes(path)
    assert len(table) == 1
    assert notes.examples("left_out") == {"words": 1}


def test_an_answer_without_an_image_is_not_called_ground_truth(tmp_path: Path) -> None:
    path = tmp_path / "generated_predictions.jsonl"
    path.write_text('{"prompt": "list all", "predict": "[]", "label": "[]"}\n')
    with pytest.raises(InputError, match="needs the key or column 'image'"):
        read_predictions(path)


PERSON, THING = "[1, 2, 30, 40]", "[5, 6, 70, 80]"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (f"{PERSON} {THING} peel carrot", "peel carrot"),
        (f"{PERSON} {THING} repairing toaster", "repairing toaster"),
        (f"{PERSON}, {THING}: A man is riding a horse.", "riding horse"),
        (f"{PERSON}, {THING}: groom dog", "groom dog"),
        (f"washing(person{PERSON}, car{THING})", "washing car"),
        (f"- washing car ({PERSON}, {THING})", "washing car"),
        (f"Interaction 1: A person is flying a kite.\nPerson: {PERSON}\nKite: {THING}", "flying kite"),
        (f"Flying a kite.\nPerson: {PERSON}\nKite: {THING}", "flying kite"),
    ],
)
def test_words_beside_two_boxes_are_of_the_person_first(tmp_path: Path, said: str, words: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(orjson.dumps({"image": "a.jpg", "response": said}))
    table = read_predictions(path)
    assert (table.human_boxes.tolist(), table.object_boxes.tolist()) == ([[1, 2, 30, 40]], [[5, 6, 70, 80]])
    assert (table.verbs, table.objects) == ((words.split()[0],), (words.split()[1],))


def test_a_clause_behind_the_second_box_is_no_name_of_a_thing(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    said = "<loc0100><loc0200><loc0300><loc0400> person <loc0120><loc0220><loc0320><loc0420> fly kite"
    path.write_bytes(orjson.dumps({"image": "a.jpg", "response": said, "width": 640, "height": 480}))
    table = read_predictions(path)
    assert (table.verbs, table.objects) == (("fly",), ("kite",))
