"""Kinds of files and replies that gave a wrong score without a word are read correctly, or refused in one line."""

import json
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions_with_notes
from shoe.predictions.boxes.check import check_box_convention
from shoe.predictions.notes import ReadNotes
from shoe.predictions.numbering import check_numbering
from shoe.scoring.score import score
from shoe.scoring.streaming import Metric
from tests.errors import input_error

REPLIES = Path(__file__).parents[1] / "data" / "replies_by_hand.tsv"
HUMAN, THING, OTHER = "[10, 20, 110, 220]", "[30, 40, 230, 240]", "[31, 41, 231, 241]"
RECORD = f'{{"image": "a.jpg", "human_box": {HUMAN}, "object_box": {THING}, "verb": "ride", "object": "horse"'
PAIR = f'"human_box": {HUMAN}, "object_box": {THING}'


def written(folder: Path, text: str) -> tuple[list[tuple[str, str, float]], ReadNotes]:
    path = folder / "p.jsonl"
    path.write_text(text)
    table, notes = read_predictions_with_notes(path)
    rows = zip(table.verb, table.object, table.score.tolist(), strict=True)
    return [(table.verbs[verb], table.objects[thing], round(score, 3)) for verb, thing, score in rows], notes


def read(folder: Path, *replies: str) -> tuple[list[tuple[str, str, float]], ReadNotes]:
    records = ({"image": f"{i}.jpg", "response": reply} for i, reply in enumerate(replies))
    return written(folder, "\n".join(map(json.dumps, records)))


# Repeated keys


def detector(**more: Any) -> str:
    box = {"bbox": [0, 0, 9, 9], "category_id": 17}
    hoi = {"subject_id": 0, "object_id": 0, "category_id": 76, "score": 0.5}
    return json.dumps({"filename": "HICO_test2015_00000001.jpg", "predictions": [box], "hoi_prediction": [hoi]} | more)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        (RECORD + ', "verb": "hold"}', "verb"),
        (f'{RECORD}}}\n{RECORD}, "object_box" : {OTHER}}}', "object_box"),
        (f'[{RECORD}}}, {RECORD}, "image": "b.jpg"}}]', "image"),
        ("[" + detector().replace('"bbox"', '"bbox": [1, 1, 8, 8], "bbox"', 1) + "]", "bbox"),
        ("[" + detector().replace('"subject_id"', '"subject_id": 1, "subject_id"', 1) + "]", "subject_id"),
        ("[" + detector().replace('"category_id"', '"category_id": 1, "category_id"', 1) + "]", "category_id"),
        (f'{{"x.jpg": {detector()}, "x.jpg": {detector()}}}', "x.jpg"),
        (f'{{"image": "a.jpg", "response": [{{{PAIR}, "verb": "ride", "verb": "hold"}}]}}', "verb"),
    ],
)
def test_a_key_twice_in_an_object_of_a_file_is_refused(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(InputError, match=f"found the key '{key}' twice in"):
        written(tmp_path, text)


def test_equal_keys_of_different_objects_and_keys_inside_texts_are_no_repeats(tmp_path: Path) -> None:
    said = json.dumps(
        {"image": "a.jpg", "response": f'[{{{PAIR}, "verb": "ride", "object": "horse"}}] "verb": "verb" :'}
    )
    assert written(tmp_path, f"{said}\n{RECORD}}}")[0] == [("ride", "horse", 1.0)] * 2
    assert len(written(tmp_path, f"[{detector()}]")[0]) == 1


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (f'[{{{PAIR}, "verb": "hold", "verb": "read", "object": "book"}}]', ["hold book", "read book"]),
        (f'```json\n{{{PAIR}, "verb": "hold", "verb": "read", "object": "book"}}\n```', ["hold book", "read book"]),
        (
            f'{{"interaction": {{{PAIR}, "verb": "hold", "object": "book"}},'
            f' "interaction": {{{PAIR}, "verb": "ride", "object": "horse"}}}}',
            ["hold book", "ride horse"],
        ),
        (
            f'[{{{PAIR}, "verb": "hold", "object": "book", "human_box": {OTHER}, "object_box": {HUMAN}, "verb": "ride",'
            ' "object": "horse"}]',
            ["hold book", "ride horse"],
        ),
        (f'[{{"bbox": {HUMAN}, "bbox": {THING}, "verb": "hold", "object": "book"}}]', ["hold book"]),
        (f'[{{{PAIR}, "human_box": {HUMAN}, "verb": "hold", "object": "book"}}]', ["hold book"]),
    ],
)
def test_all_values_of_a_repeated_key_in_a_reply_count(tmp_path: Path, reply: str, expected: list[str]) -> None:
    rows, notes = read(tmp_path, reply)
    assert ([f"{verb} {thing}" for verb, thing, _ in rows], notes.count("fixed")) == (expected, 1)


# Drafts in one line


def said(verb: str) -> str:
    return f"person {HUMAN} {verb} bicycle {THING}"


@pytest.mark.parametrize(
    ("draft", "final"),
    [
        *(("Initial: ", ". After review: "), ("Draft: ", ". Final answer: "), ("Draft: ", "; final: ")),
        *(("At first I thought: ", ". On closer look: "), ("First guess: ", " → Corrected: ")),
        *(("Initially: ", ". Upon review: "), ("Initially, the ", ". After a closer look, the ")),
        ("Initial prediction: ", " (0.7). After double-checking: "),
        *(("A ", ". Wait, actually: the "), ("A ", ". Correction: the "), ("Preliminary:\n- ", "\nRevised:\n- ")),
    ],
)
def test_of_a_draft_and_a_final_answer_in_one_line_the_final_answer_counts(
    tmp_path: Path, draft: str, final: str
) -> None:
    rows, notes = read(tmp_path, f"{draft}{said('riding')}{final}{said('holding')}.")
    assert (rows, notes.count("several_answers")) == ([("holding", "bicycle", 1.0)], 1)


@pytest.mark.parametrize("final", ["Final answer: none.", "After review: no interaction.", "Corrected: []"])
def test_a_final_denial_replaces_the_draft(tmp_path: Path, final: str) -> None:
    assert read(tmp_path, f"Draft: {said('riding')}. {final}")[0] == []


@pytest.mark.parametrize(
    "reply",
    [
        f"First, a {said('riding')}. Finally, a {said('holding')}.",
        f"First: a {said('riding')}. Second: a {said('holding')}.",
        f"Interaction 1: {said('riding')}. Interaction 2: {said('holding')}.",
    ],
)
def test_enumerations_are_no_drafts(tmp_path: Path, reply: str) -> None:
    assert [row[0] for row in read(tmp_path, reply)[0]] == ["riding", "holding"]


@pytest.mark.parametrize(
    "heading", ["Final answer", "My answer", "The interactions are", "Detected interaction", "Answer", "In this image"]
)
def test_an_introduction_is_no_verb(tmp_path: Path, heading: str) -> None:
    assert read(tmp_path, f"{heading}: {said('holding')}.")[0] == [("holding", "bicycle", 1.0)]
    title = f"Riding a bicycle: person {HUMAN}, bicycle {THING}"
    assert read(tmp_path, title)[0] == [("riding", "bicycle", 1.0)]


# Lines of a pair with a confidence

PAIR_LINE = f"person {HUMAN}, book {THING}"


@pytest.mark.parametrize(
    "line",
    [
        *(f"holding: {PAIR_LINE}, 0.92", f"holding: {PAIR_LINE} (0.92)", f"holding: {PAIR_LINE}, confidence 0.92"),
        *(f"holding: {PAIR_LINE}, score=0.92", f"holding: {PAIR_LINE}, 0.92 confidence"),
        *(f"holding: {PAIR_LINE} | conf 0.92", f"holding, {PAIR_LINE}, 0.92", f"1. holding (0.92): {PAIR_LINE}"),
        f"- {PAIR_LINE}: holding, 0.92",
    ],
)
def test_lines_of_a_pair_may_state_a_confidence(tmp_path: Path, line: str) -> None:
    assert read(tmp_path, line)[0] == [("holding", "book", 0.92)]
    assert read(tmp_path, f"{line}\n{line.replace('0.92', '0.81').replace('holding', 'reading')}")[0] == [
        ("holding", "book", 0.92),
        ("reading", "book", 0.81),
    ]


# Denials


@pytest.mark.parametrize(
    "reply",
    [
        *("Nobody is interacting with anything", "There are no people in the image", "There is nobody in the picture."),
        *("I don't see anyone in this image.", "Nothing is happening."),
        *("The scene shows an empty street without people.", "There isn't anyone interacting with an object here."),
        *("The image does not contain any people.", "Zero interactions", "Nobody is visible", "No one is present."),
        "I can't see any people in this image, so there are no interactions to report.",
        "The people in the image are not interacting with any objects.",
        "A man stands alone; he is not interacting with any object.",
        *("The room is empty.", "Neither person is interacting with an object."),
        *("Everyone is just standing; no interactions.", "The image shows only animals, no people."),
    ],
)
def test_denials_of_all_interactions_are_answers(tmp_path: Path, reply: str) -> None:
    rows, notes = read(tmp_path, reply)
    assert (rows, notes.count("none"), notes.count("unread")) == ([], 1, 0)


@pytest.mark.parametrize(
    "reply",
    [
        "A man is riding a horse; nobody else is visible.",
        "A person rides a horse. There are no other interactions.",
        "The man is not interacting with the dog; he rides the horse.",
        *("The man holds a cup, no people behind him", "The man is riding a horse without people around"),
        "I can't see the image, so there are no interactions to list.",
        "I cannot determine whether any people interact with objects.",
        "Nobody knows.",
    ],
)
def test_replies_that_do_not_deny_all_interactions_are_no_denials(tmp_path: Path, reply: str) -> None:
    with pytest.raises(InputError, match="response: found"):
        read(tmp_path, reply)


# COCO files, and IDs among the evaluated interactions


@pytest.mark.parametrize(
    ("annotation", "found"),
    [({"score": 0.5}, "with scores"), ({}, "without categories")],
)
def test_coco_files_without_categories_are_not_called_swapped(
    tmp_path: Path, annotation: dict[str, float], found: str
) -> None:
    record = {"id": 1, "image_id": 1, "bbox": [1, 2, 3, 4], "category_id": 1, **annotation}
    document = {"images": [{"id": 1, "file_name": "a.jpg"}], "annotations": [record]}
    with pytest.raises(InputError, match=found) as error:
        written(tmp_path, json.dumps(document))
    assert "swapped" not in str(error.value)


@pytest.mark.parametrize(("first", "wrong"), [(0, 0.0), (1, 0.0), (0, 0.4)])
def test_ids_among_the_evaluated_interactions_of_swig_are_named(first: int, wrong: float) -> None:
    swig = benchmark("swig-hoi")
    rng, evaluated = np.random.default_rng(0), np.flatnonzero(swig.classes.scored)
    image, corner = np.repeat(np.arange(80), 3), np.tile([0.0, 100.0, 200.0], 80)

    def table(classes: np.ndarray[Any, np.dtype[np.int64]]) -> Interactions:
        boxes = np.stack([corner, corner, corner + 50, corner + 50], 1)
        words = swig.classes.columns_of(classes)
        names = [f"{i}.jpg" for i in range(80)]
        return Interactions.from_columns(images=names, image=image, human_boxes=boxes, object_boxes=boxes + 9, **words)

    index = rng.integers(0, len(evaluated), len(image))
    truth = GroundTruth(table(evaluated[index]), swig.classes, "test", benchmark=swig)
    notes = ReadNotes()
    notes.format, notes.numbering = "gen-vlkt", {"interactions": "swig-hoi-0"}
    guessed = np.where(rng.random(len(index)) < wrong, rng.integers(0, len(evaluated), len(index)), index)
    (line,) = check_numbering(table(guessed + first), truth, notes)
    assert f"--format gen-vlkt,interactions=evaluated-{first} " in line
    assert check_numbering(table(evaluated[guessed]), truth, notes) == []


def test_half_a_surrogate_pair_beside_nan_is_no_accident(tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        written(tmp_path, RECORD.replace("horse", "hor\\ud800se") + ', "score": NaN}')
    assert error.value.field == "score"


# Images in another order


@pytest.mark.parametrize("name", sorted(PREDICTIONS))
def test_boxes_of_other_images_are_reported(name: str) -> None:
    truth = read_truth_file(TRUTH)
    table, _ = read_predictions_with_notes(PREDICTIONS[name], truth=truth)
    drawn = np.random.default_rng(0).permutation(len(table.images)).tolist()
    other = replace(table, images=tuple(table.images[i] for i in drawn))
    right, wrong = (check_box_convention(each, truth.interactions).lines() for each in (table, other))
    assert (right, ["other images" in line for line in wrong]) == ([], [True])


# Ground truth beside answers, raw words beside labels, and second scores


@pytest.mark.parametrize("answer", [None, "", "I am sorry", "error", []])
@pytest.mark.parametrize("key", ["targets", "target", "labels", "label", "annos", "gts", "hoi_labels"])
def test_truth_beside_an_answer_is_never_the_answer(tmp_path: Path, key: str, answer: Any) -> None:
    truth, given = (
        json.loads(f'[{{{PAIR}, "verb": "{verb}", "object": "cup", "score": 0.5}}]') for verb in ("hold", "wash")
    )
    forms: list[Any] = [truth, truth[0], json.dumps(truth)]
    for name in ("predictions", "preds", "output"):
        for form in forms:
            records = [{"image": f"{i}.jpg", key: form, name: each} for i, each in enumerate([answer, given, given])]
            assert written(tmp_path, "\n".join(map(json.dumps, records)))[0] == [("wash", "cup", 0.5)] * 2
    alone = json.dumps({"image": "a.jpg", key: truth})
    assert written(tmp_path, alone)[0] == [("hold", "cup", 0.5)]


@pytest.mark.parametrize("raw", ["raw_verb", "verb_free", "original_verb", "orig_verb", "verb_text"])
@pytest.mark.parametrize("mapped", ["verb", "mapped_verb", "verb_label", "normalized_verb"])
def test_mapped_words_replace_raw_words(tmp_path: Path, raw: str, mapped: str) -> None:
    pair = json.loads(f"{{{PAIR}}}") | {"object_free": "thing", "object": "horse", "score": 0.5}
    for words in ({raw: "doing", mapped: "ride"}, {mapped: ["ride"], raw: ["doing"]}):
        rows, notes = written(tmp_path, json.dumps({"image": "a.jpg", **pair, **words}))
        assert (rows, set(notes.unread)) == ([("ride", "horse", 0.5)], {raw, "object_free"})
    rows, _ = written(tmp_path, json.dumps({"image": "a.jpg", **pair, "verb": 3, "verb_text": "ride"}))
    assert rows == [("ride", "horse", 0.5)]


@pytest.mark.parametrize("key", ["hoi_score", "interaction_score", "triplet_score", "verb_score", "final_score"])
def test_a_second_score_is_noted(tmp_path: Path, key: str) -> None:
    rows, notes = written(tmp_path, f'{RECORD}, "{key}": 0.7, "score": 0.5}}')
    assert (rows, set(notes.unread)) == ([("ride", "horse", 0.5)], {key})
    rows, notes = written(tmp_path, f'{RECORD}, "score": 0.7, "confidence": 0.5}}')
    assert (rows, set(notes.unread)) == ([("ride", "horse", 0.5)], {"score"})


# Thinking aloud, and taking back


MAYBE = f"There is a person at {HUMAN} who might be holding the horse at {THING}."
FEEDS = f"The person {HUMAN} is feeding the horse {THING}."
DOG = f"The person {HUMAN} is walking the dog {OTHER}."


@pytest.mark.parametrize(
    "heading",
    [
        *("Now the final answer:", "So, my final answer is:", "Here is the final list:", "**Final interactions:**"),
        "## Final Answer",
    ],
)
def test_only_the_final_list_after_thinking_aloud_counts(tmp_path: Path, heading: str) -> None:
    final = f"person {HUMAN} | feed | horse {THING}"
    rows, notes = read(tmp_path, f"Let's think.\n{MAYBE}\n{heading}\n{final}")
    assert (rows, notes.count("several_answers")) == ([("feed", "horse", 1.0)], 1)
    assert read(tmp_path, f"{MAYBE}\n{heading}\n{final}\n{MAYBE}\n{heading}\n{DOG}")[0][1:4:2] == [
        ("feed", "horse", 1.0),
        ("walking", "dog", 1.0),
    ]


def test_final_words_about_boxes_named_before_keep_these_boxes(tmp_path: Path) -> None:
    rows, _ = read(tmp_path, f"P1: {HUMAN}\nO1 (horse): {THING}\nFinal interactions:\nP1 rides O1")
    assert rows == [("rides", "horse", 1.0)]


@pytest.mark.parametrize(
    "words", ["Wait, no, that's wrong.", "Wait, no.", "Hmm, that isn't right.", "Scratch that.", "It is wrong."]
)
def test_a_sentence_that_is_taken_back_does_not_count(tmp_path: Path, words: str) -> None:
    rows, _ = read(tmp_path, f"{DOG} The person {HUMAN} is holding the horse {THING}. {words} {FEEDS}\n{DOG}")
    assert rows == [("walking", "dog", 1.0), ("feeding", "horse", 1.0), ("walking", "dog", 1.0)]


@pytest.mark.parametrize("words", ["That is correct.", "No one else is here.", "That is not all."])
def test_other_remarks_take_nothing_back(tmp_path: Path, words: str) -> None:
    assert read(tmp_path, f"{FEEDS} {words} {DOG}")[0] == [("feeding", "horse", 1.0), ("walking", "dog", 1.0)]


@pytest.mark.parametrize("row", REPLIES.read_text().splitlines()[1:])
def test_the_person_and_the_words_of_the_pair_are_found(tmp_path: Path, row: str) -> None:
    found, reply = row.replace("@h", HUMAN).replace("@o", THING).replace(r"\n", "\n").split("\t")
    path = tmp_path / "p.jsonl"
    path.write_text(json.dumps({"image": "a.jpg", "response": reply}))
    table, _ = read_predictions_with_notes(path)
    words = [
        f"{table.verbs[verb]} {table.objects[thing]}" for verb, thing in zip(table.verb, table.object, strict=True)
    ]
    assert (", ".join(words).lower(), set(table.human_boxes[:, 0])) == (found, {10})


@pytest.mark.parametrize(
    "reply",
    [
        '{"reasoning": "She seems to feed it.", "answer": "pet"}',
        r"She feeds it at first sight. \boxed{\text{pet}}",
        "She feeds it. #### pet",
        "feeding\n\nSorry, I meant pet.",
        '{"initial_answer": "feed", "final_answer": "pet"}',
        '{"candidates": ["feed", "hold"], "final": "pet", "reason": "close"}',
        '["pet"]',
        '{"caption": "A person feeds it.", "answer": "pet"}',
        '{"question": "What is the person doing with it?", "answer": "pet"}',
        "It seems to be feeding it.\n### Answer\npet",
        "The person could be holding or feeding it, but most likely pet.",
        "The person is neither feeding nor holding the giraffe; the person pet it.",
        "Hmm, feeding? No. pet",
        "Hard to say, but I would guess pet",
        "Yes: pet. No: feed, hold.",
        "- feed\n\nRevised list:\n- pet",
        "- pet\n\nDiscarded (no evidence):\n- feed",
        "| verb | present |\n|---|---|\n| pet | yes |\n| feed | no |",
    ],
)
def test_the_answer_about_one_pair_counts_not_its_reasoning(tmp_path: Path, reply: str) -> None:
    rows, _ = written(tmp_path, f'{{"image": "a.jpg", {PAIR}, "object": "giraffe", "response": {json.dumps(reply)}}}')
    assert rows == [("pet", "giraffe", 1.0)]


@pytest.mark.parametrize("reply", ["B", "(b)", "unclear", "Other."])
def test_answers_that_name_no_verb_are_counted(tmp_path: Path, reply: str) -> None:
    records = [f'{{"image": "a.jpg", {PAIR}, "object": "cup", "response": "{each}"}}' for each in ("hold", reply)]
    rows, notes = written(tmp_path, "\n".join(records))
    assert ([row[:2] for row in rows], notes.count("left_out")) == ([("hold", "cup")], 1)


@pytest.mark.parametrize("reply", ["No, the person is washing the cup.", "Verbs:\\n- washing: the person holds it"])
def test_no_before_a_statement_denies_nothing_and_explanations_are_no_verbs(tmp_path: Path, reply: str) -> None:
    record = f'{{"image": "a.jpg", {PAIR}, "object": "cup", "response": "{reply}"}}'
    assert written(tmp_path, record)[0] == [("washing", "cup", 1.0)]


@pytest.mark.parametrize(
    ("record", "verb", "unread"),
    [
        ({"raw_output": "feed", "extracted_answer": "pet"}, "pet", "raw_output"),
        ({"raw_output": "feed", "parsed": "pet"}, "pet", "raw_output"),
        ({"response": "feed", "parsed_answer": "pet"}, "feed", "parsed_answer"),
        ({"response": "feed", "prediction": "pet"}, "feed", "prediction"),
        ({"verb": "feed", "score": 0.3, "final_score": 0.8}, "feed", "final_score"),
        ({"verb": "feed", "initial_score": 0.3, "revised_score": 0.8}, "feed", "initial_score"),
    ],
)
def test_a_second_answer_or_score_is_named(tmp_path: Path, record: dict[str, Any], verb: str, unread: str) -> None:
    given = json.loads(f'{{"image": "a.jpg", {PAIR}, "object": "giraffe"}}')
    rows, notes = written(tmp_path, json.dumps(given | record))
    assert ([row[:2] for row in rows], set(notes.unread)) == ([(verb, "giraffe")], {unread})


def test_a_verb_of_v_coco_that_is_also_the_object_is_read(tmp_path: Path) -> None:
    path = tmp_path / "p.jsonl"
    path.write_text(f'{{"image": "a.jpg", {PAIR}, "verb": "skateboard", "object": "skateboard", "note": "x"}}')
    table, notes = read_predictions_with_notes(path, dataset="v-coco")
    assert (table.verbs, notes.count("unparsed")) == (("skateboard",), 0)


@pytest.mark.parametrize("mark", ['"is_gt": true', '"source": "gt"', '"kind": "ground_truth"'])
def test_annotations_among_predictions_are_left_out(tmp_path: Path, mark: str) -> None:
    rows, notes = written(tmp_path, f'{RECORD}, "x": 0}}\n{RECORD}, {mark}}}')
    assert (rows, notes.count("denied")) == ([("ride", "horse", 1.0)], 1)


@pytest.mark.parametrize(
    ("scores", "score"),
    [
        ('"scores": {"human": 0.9, "object": 0.8, "verb": 0.7, "total": 0.5}', 0.5),
        ('"verb_score": 0.7, "human_score": 0.9', 0.7),
        ('"predicate": {"label": "ride", "score": 0.7}, "triplet_score": 0.5', 0.5),
    ],
)
def test_the_score_of_the_whole_interaction_counts_and_others_are_named(
    tmp_path: Path, scores: str, score: float
) -> None:
    verb = "" if "predicate" in scores else '"verb": "ride", '
    rows, notes = written(tmp_path, f'{{"image": "a.jpg", {PAIR}, {verb}"object": "horse", {scores}}}')
    assert (rows, any("not read" in line for line in notes.lines())) == ([("ride", "horse", score)], True)


def test_a_number_as_object_is_named(tmp_path: Path) -> None:
    with input_error("'7'", "numbers are not words", field="object"):
        written(tmp_path, f'{{"image": "a.jpg", {PAIR}, "verb": "ride", "object": 7}}')


def test_a_truth_with_repeats_is_named(tmp_path: Path) -> None:
    truth, table = read_truth_file(TRUTH), read_predictions_with_notes(PREDICTIONS["detector"])[0]
    twice = np.sort(np.concatenate([np.arange(len(truth.interactions))] * 2))
    lines = score(table, replace(truth, interactions=truth.interactions.select(twice))).warnings
    assert [line.split()[1] for line in lines if "repeat" in line] == [f"{len(truth.interactions)}"]


# Separate lists that count from 1


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize("as_rows", [False, True])
def test_lists_of_persons_and_objects_count_from_0_or_1(tmp_path: Path, first: int, as_rows: bool) -> None:
    pairs = [(0, 0), (0, 1), (0, 2)]
    hois = [{"person": a + first, "object": b + first, "verb": "ride"} for a, b in pairs]
    rows = [{"pair": [a + first, b + first], "verb": "ride"} for a, b in pairs]
    things = [{"bbox": [30 + i, 40, 230, 240], "label": f"{word}"} for i, word in enumerate(("horse", "dog", "cup"))]
    persons = [{"bbox": [10, 20, 110, 220]}, {"bbox": [12, 20, 110, 220]}]
    record = {"image": "a.jpg", "persons": persons, "objects": things, "hois": rows if as_rows else hois}
    path = tmp_path / "p.json"
    path.write_text(json.dumps([record]))
    table, notes = read_predictions_with_notes(path)
    assert [table.objects[i] for i in table.object] == ["horse", "dog", "cup"]
    assert (table.human_boxes[:, 0].tolist(), notes.count("left_out")) == ([10, 10, 10], 0)


# Epochs without reset


def test_metric_names_epochs_without_reset() -> None:
    truth, table = read_truth_file(TRUTH), read_predictions_with_notes(PREDICTIONS["detector"])[0]
    again, rows = replace(table, score=table.score * 0.9), np.array_split(np.arange(len(table)), 300)
    images = [table.select_images(each) for each in np.array_split(np.arange(len(table.images)), 10)]
    batches = {"whole": [table, again], "epochs": [*images, again], "epoch": images, "padded": [*images, images[0]]}
    found = {}
    for name, parts in (batches | {"rows": [table.select(each) for each in rows]}).items():
        metric = Metric(truth, protocols=["qpic"])
        for part in parts:
            metric.update(part)
        with warnings.catch_warnings(record=True) as issued:
            warnings.simplefilter("always")
            report = metric.compute()
        lines = [str(each.message) for each in issued if "`reset()`" in str(each.message)]
        assert [line for line in report.to_dict()["notes"] if "`reset()`" in line] == lines
        found[name] = [int(line.split()[1]) for line in lines]
    assert found == {"whole": [200], "epochs": [200], "epoch": [], "padded": [], "rows": []}


@pytest.mark.parametrize("key", ["model", "source", "system", "run", "prompt", "id", "query_id"])
def test_two_runs_in_one_file_are_named(tmp_path: Path, key: str) -> None:
    texts = [f'{RECORD}, "{key}": "{value}", "score": {score}}}' for value, score in (("a", 0.5), ("b", 0.4))]
    for lines, runs in ((texts, {key: 1}), (texts[:1] * 2, {}), ([texts[0], texts[1].replace("a.jpg", "b.jpg")], {})):
        assert written(tmp_path, "\n".join(lines))[1].examples("runs") == runs


# The word of the ground truth beside the word of the model

BOXED = f'"image": "a.jpg", "human_box": {HUMAN}, "object_box": {THING}'


@pytest.mark.parametrize("key", ["pred", "gpt4o", "Qwen2.5-VL-7B", "vlm_verb", "y_pred", "detected_verb", "hypothesis"])
def test_of_two_verbs_that_of_the_model_counts(tmp_path: Path, key: str) -> None:
    record = f'{{{BOXED}, "verb": "ride", "object": "horse", "{key}": "hold", "model": "llava"}}'
    assert written(tmp_path, record)[0] == [("hold", "horse", 1.0)]


@pytest.mark.parametrize("keys", [("hoi", "pred_hoi"), ("interaction", "predicted_interaction"), ("triplet", "pred")])
def test_of_two_phrases_that_of_the_model_counts(tmp_path: Path, keys: tuple[str, str]) -> None:
    record = f'{{{BOXED}, "{keys[0]}": "ride horse", "{keys[1]}": "feed horse"}}'
    assert written(tmp_path, record)[0] == [("feed", "horse", 1.0)]


@pytest.mark.parametrize(
    ("truth", "model"),
    [("answer", "model_answer"), ("output", "pred"), ("response", "predict"), ("ideal", "sampled"), ("hoi", "gpt-4o")],
)
def test_of_two_answers_that_of_the_model_counts(tmp_path: Path, truth: str, model: str) -> None:
    answers = {
        key: f"A person {HUMAN} is {verb} a horse {THING}." for key, verb in ((truth, "riding"), (model, "feeding"))
    }
    assert written(tmp_path, json.dumps({"image": "a.jpg", **answers}))[0] == [("feeding", "horse", 1.0)]


def test_several_keys_of_verbs_and_keys_with_verbs_that_are_not_read_are_named(tmp_path: Path) -> None:
    _, notes = written(tmp_path, f'{{{BOXED}, "verb": "ride", "object": "horse", "mapped_verb": "straddle"}}')
    assert list(notes.examples("joined")) == ["verb", "mapped_verb"]
    numbers = ", ".join(f"{side}{end}" for side in "ho" for end in ("x1", "y1", "x2", "y2"))
    rows = [
        f"{i}.jpg, 1, 1, 9, 9, 1, 1, 9, 9, {a}, horse, {b}"
        for i, (a, b) in enumerate([("a", "b"), ("b", "c"), ("c", "a")])
    ]
    path = tmp_path / "p.csv"
    path.write_text("\n".join([f"image, {numbers}, verb, object, llava15x", *rows]).replace(", ", ","))
    notes = read_predictions_with_notes(path)[1]
    assert list(notes.examples("unread_verbs")) == ["'llava15x'"]


def test_each_of_several_ranked_verbs_has_its_own_score(tmp_path: Path) -> None:
    ranked = '"verb_1": "ride", "score_1": 0.9, "verb_2": "hold", "score_2": 0.2'
    assert written(tmp_path, f'{{{BOXED}, "object": "horse", {ranked}}}')[0] == [
        ("ride", "horse", 0.9),
        ("hold", "horse", 0.2),
    ]


def test_a_second_sentence_about_a_given_pair_counts(tmp_path: Path) -> None:
    replies = [
        "The person is boarding the bus. They are also loading it.",
        "The person is boarding the bus. A dog runs.",
    ]
    for reply, expected in zip(replies, (["boarding", "loading"], ["boarding"]), strict=True):
        found, _ = written(tmp_path, f'{{{BOXED}, "response": {json.dumps(reply)}}}')
        assert [verb for verb, *_ in found] == expected
