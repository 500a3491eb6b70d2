"""Every class of HICO-DET as a sentence means the same as its verb and object in two fields."""

import json
from pathlib import Path

import numpy as np
import pytest

import shoe
from shoe.benchmarks import benchmark
from shoe.lexicon.phrases.words import gerund
from shoe.predictions import read_predictions

CLASSES = benchmark("hico-det").classes
BOXES = {"human_box": [0, 0, 60, 90], "object_box": [30, 40, 90, 95]}


@pytest.mark.slow
def test_a_sentence_of_each_class_counts_as_its_verb_and_object(tmp_path: Path) -> None:
    """Nothing is added to the words as written: "typing on the laptop" is no "laptop / keyboard"."""
    pairs = np.argwhere(CLASSES.of >= 0)
    named = [(CLASSES.verbs[v], CLASSES.objects[o]) for v, o in pairs.tolist() if CLASSES.verbs[v] != "no_interaction"]
    assert len(named) == 520
    records: dict[str, list[str]] = {"fields": [], "phrases": []}
    for number, (verb, thing) in enumerate(named):
        head, *rest = verb.split("_")
        words = " ".join([gerund(head), *rest, "the", thing.replace("_", " ")])
        record = {"image": f"{number}.jpg", "score": 0.5, **BOXES}
        records["fields"].append(json.dumps(record | {"verb": verb, "object": thing}))
        records["phrases"].append(json.dumps(record | {"phrase": f"a person is {words}"}))
    for name, lines in records.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    fields, phrases = (read_predictions(tmp_path / f"{name}.jsonl") for name in records)
    assert [phrases.objects[i] for i in phrases.object] == [thing.replace("_", " ") for _, thing in named]
    index = {name: i for i, name in enumerate(CLASSES.verbs)}, {name: i for i, name in enumerate(CLASSES.objects)}
    columns = [np.array([of[pair[i]] for pair in named]) for i, of in enumerate(index)]
    table = shoe.Interactions.from_columns(
        images=fields.images, image=fields.image, human_boxes=fields.human_boxes, object_boxes=fields.object_boxes,
        verb=columns[0], object=columns[1], score=fields.score, verbs=CLASSES.verbs, objects=CLASSES.objects,
    )  # fmt: skip
    truth = shoe.GroundTruth(table, CLASSES, "classes")
    for predictions in (fields, phrases):
        report = shoe.score(predictions, truth)
        assert report.strict is not None
        assert report.semantic is not None
        assert report.strict.map == 1
        assert report.semantic.map == pytest.approx(1, abs=1e-6)
