"""Class IDs of another numbering are reported with the option that reads them, and IDs that are right are not."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.interactions import Interactions, concatenate
from shoe.demo import PREDICTIONS, TRUTH
from shoe.lexicon.resolve import match_labels
from shoe.predictions import read_predictions, read_predictions_with_notes, write_predictions
from shoe.predictions.notes import ReadNotes
from shoe.predictions.numbering import OBJECTS, VERBS, check_numbering, numberings
from shoe.scoring.score import Report, score
from tests.errors import input_error, option_error
from tests.predictions import weak
from tests.predictions.reading import missing
from tests.present import present
from tests.scoring.v_coco import box, scene, write_everything

HICO = benchmark("hico-det")
GROUND_TRUTH = read_truth_file(TRUTH)
OWN = {OBJECTS: "coco-0", VERBS: "hico-det-0"}


def check(table: Interactions, truth: GroundTruth = GROUND_TRUTH, part: str = VERBS, applied: str = "") -> list[str]:
    """The lines about a QPIC file of HICO-DET, whose IDs of a part may have been read under another numbering."""
    return check_numbering(table, truth, ReadNotes("qpic", numbering=OWN | {part: applied or OWN[part]}))


def python_option(part: str, numbering: str) -> str:
    return f'(Python: format="qpic,{part}={numbering}")'


def with_verbs(table: Interactions, verb: Any) -> Interactions:
    return replace(table, verb=np.asarray(verb).astype(np.int32))


def labelled(table: Interactions) -> Interactions:
    verb = match_labels(table.verbs, HICO.classes.verbs, "verb")[table.verb]
    target = match_labels(table.objects, HICO.objects, "object")[table.object]
    known = replace(table, verb=verb, object=target, verbs=HICO.classes.verbs, objects=HICO.objects)
    return known.select((verb >= 0) & (target >= 0))


MODELS = {"detector": labelled(read_predictions(PREDICTIONS["detector"])), "perfect": GROUND_TRUTH.interactions}


def misread(table: Interactions, part: str, true: str, applied: str) -> Interactions:
    """The table that a file with IDs of one numbering becomes when it is read under another."""
    known, labels = numberings(HICO, part), table.object if part == OBJECTS else table.verb
    label = known[applied].labels_of(known[true].ids_of(labels.astype(np.int64)))
    valid = np.maximum(label, 0).astype(np.int32)
    changed = replace(table, object=valid) if part == OBJECTS else replace(table, verb=valid)
    return replace(changed, objects=HICO.objects).select(label >= 0)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("part", "true", "applied"),
    [
        (part, true, applied)
        for part, own in OWN.items()
        for true in numberings(HICO, part)
        for applied in sorted({own, "coco-ids" if part == OBJECTS else "hico-det-1"})
    ],
)
def test_the_true_numbering_is_reported(model: str, part: str, true: str, applied: str) -> None:
    lines = check(misread(MODELS[model], part, true, applied), part=part, applied=applied)
    known = numberings(HICO, part)
    ids = {name: each.ids_of(np.arange(each.label.max() + 1)).tolist() for name, each in known.items()}
    if ids[true] == ids[applied]:
        assert lines == []
        return
    (line,) = lines
    assert line.startswith(f"class IDs: {line.split()[2]} of the {part} agree ")
    assert f"read as {applied}, " in line
    assert any(line.endswith(python_option(part, name)) for name, each in ids.items() if each == ids[true])


@pytest.mark.parametrize("wrong", [0.5, 0.9, 1])
@pytest.mark.parametrize("numbering", [OWN, {}])
def test_nothing_is_said_about_models_that_are_often_wrong(wrong: float, numbering: dict[str, str]) -> None:
    """Labels are replaced at random, as those of a weak or untrained model; IDs and words are read right."""
    rng, table = np.random.default_rng(0), MODELS["perfect"]
    for _ in range(10):
        is_wrong = rng.random((2, len(table))) < wrong
        verb = np.where(is_wrong[0], rng.integers(len(HICO.classes.verbs), size=len(table)), table.verb)
        target = np.where(is_wrong[1], rng.integers(len(table.objects), size=len(table)), table.object)
        weak = replace(with_verbs(table, verb), object=target.astype(np.int32), score=rng.random(len(table)))
        assert check_numbering(weak, GROUND_TRUTH, ReadNotes("qpic", numbering=numbering)) == []


def test_nothing_is_said_about_similar_labels_that_a_model_confuses() -> None:
    """Neighbours in the order of verbs, such as sit_at and sit_on, are exchanged; all other verbs are right."""
    verbs, table = HICO.classes.verbs, MODELS["perfect"]
    exchanged = np.arange(len(verbs))
    for one, other in zip(range(len(verbs) - 1), range(1, len(verbs)), strict=True):
        if verbs[one].split("_")[0] == verbs[other].split("_")[0]:
            exchanged[[one, other]] = exchanged[[other, one]]
    assert (exchanged != np.arange(len(verbs))).sum() >= 10
    assert check(with_verbs(table, exchanged[table.verb])) == []


@pytest.mark.parametrize("share", [0.3, 0.5])
def test_files_of_which_a_part_has_other_ids_are_reported(share: float) -> None:
    right, shifted = MODELS["perfect"], misread(MODELS["perfect"], VERBS, "hico-det-1", "hico-det-0")
    first = int(len(right.images) * (1 - share))
    kept = right.select_images(np.arange(first)), shifted.select_images(np.arange(first, len(right.images)))
    (line,) = check(concatenate(kept))
    assert "100%" in line.partition("as hico-det-1: ")[0]
    assert missing(line, "mix numberings", "--format") == ["--format"]


@pytest.mark.parametrize(("step", "name"), [(-1, "previous"), (1, "next")])
def test_verbs_of_the_previous_or_next_row_are_reported(step: int, name: str) -> None:
    for table in MODELS.values():
        (line,) = check(with_verbs(table, np.roll(table.verb, step)))
        assert missing(line, " of the verbs agree ", f" in the {name} row") == []


@pytest.mark.parametrize("part", [OBJECTS, VERBS])
def test_words_that_were_looked_up_in_another_order_are_reported(tmp_path: Path, part: str) -> None:
    own = OWN[part]
    for shift in ("1", "minus-1"):
        table = misread(MODELS["perfect"], part, f"{own[:-2]}-{shift}", own)
        for name in ("words.csv", "words.npz"):
            write_predictions(table, tmp_path / name, "csv" if name.endswith("csv") else "native")
            read, notes = read_predictions_with_notes(tmp_path / name)
            (line,) = check_numbering(read, GROUND_TRUTH, notes)
            assert line.startswith(f"class IDs: {line.split()[2]} of the {part} agree ")
            assert missing(line, "another order", "--format") == ["--format"]


@pytest.fixture(scope="module")
def v_coco(tmp_path_factory: pytest.TempPathFactory) -> GroundTruth:
    """Persons who often hold something, as in V-COCO, where hold is the most frequent verb and has the first ID."""
    rng, truths = np.random.default_rng(0), scene(0, 60)[0]
    for persons in truths:
        for person in persons:
            person.does = (person.does or {}) | {"hold": {"obj": box(rng)}}
    return read_truth_file(write_everything(truths, tmp_path_factory.mktemp("v_coco") / "truth.txt"), "v-coco")


def by_person(truth: GroundTruth, path: Path, shift: Callable[[int], int]) -> Path:
    """Write a QPIC file of V-COCO with all annotated persons, actions and objects, and changed verb IDs."""
    roles, actions, names = truth.roles, truth.benchmark.actions, list(truth.benchmark.object_ids.values())
    assert roles is not None
    category = [names.index(name) for name in truth.benchmark.objects]
    records = []
    for i, image in enumerate(truth.interactions.images):
        boxes, triplets = list[dict[str, Any]](), []
        for person in range(*roles.offsets[i : i + 2]):
            for number, (action, entry) in enumerate(actions.by_verb_id):
                if roles.labels[person, action] != 1:
                    continue
                boxes.append({"bbox": roles.person_boxes[person].tolist(), "category_id": names.index("person")})
                triplet = {"subject_id": len(boxes) - 1, "object_id": -1, "category_id": shift(number), "score": 0.5}
                if entry >= 0 and (row := int(roles.role[person, entry])) >= 0:
                    boxes.append({"bbox": roles.boxes[row].tolist(), "category_id": category[roles.object[row]]})
                    triplet["object_id"] = len(boxes) - 1
                triplets.append(triplet)
        records.append({"filename": image, "predictions": boxes, "hoi_prediction": triplets})
    path.write_text(json.dumps(records))
    return path


def test_verbs_of_v_coco_that_are_shifted_are_reported(tmp_path: Path, v_coco: GroundTruth) -> None:
    """The most frequent verb, hold, has the ID 0 also in the file whose other IDs are one too low."""
    for shift, option in ((-1, "verbs=v-coco-minus-1"), (1, "verbs=v-coco-1"), (0, "")):

        def changed(number: int, shift: int = shift) -> int:
            return min(max(number + shift, 0), 28)

        path = by_person(v_coco, tmp_path / "v_coco.json", changed)
        table, notes = read_predictions_with_notes(path, dataset="v-coco")
        lines = check_numbering(table, v_coco, notes)
        assert [line.endswith(f'format="qpic,{option}")') for line in lines] == [True] * bool(option)


def test_ids_that_start_at_minus_one_are_named_and_read(tmp_path: Path, v_coco: GroundTruth) -> None:
    path = by_person(v_coco, tmp_path / "v_coco.json", lambda number: number - 1)
    with input_error("v-coco-minus-1", "alphabetical-minus-1", "--format"):
        read_predictions(path, dataset="v-coco")
    right = read_predictions(by_person(v_coco, tmp_path / "right.json", lambda number: number), dataset="v-coco")
    table, notes = read_predictions_with_notes(path, dataset="v-coco", format="qpic,verbs=v-coco-minus-1")
    assert table.equals(right)
    assert check_numbering(table, v_coco, notes) == []


@pytest.mark.parametrize("images", [30, 60, 200])
def test_labels_that_no_numbering_explains_are_reported(images: int) -> None:
    verb = np.random.default_rng(0).permutation(len(HICO.classes.verbs))
    table = MODELS["perfect"].select_images(np.arange(images))
    (line,) = check(with_verbs(table, verb[table.verb]))
    share = int(line.split("as hico-det-0, and ")[1].split("%")[0])
    assert share > 50
    assert line.endswith("does not know")


@pytest.mark.parametrize("part", [OBJECTS, VERBS])
@pytest.mark.parametrize("number", [0, 1, 57])
def test_one_label_for_all_predictions_is_reported(part: str, number: int) -> None:
    table = MODELS["detector"]
    labels = HICO.objects if part == OBJECTS else HICO.classes.verbs
    column = {"object" if part == OBJECTS else "verb": np.full(len(table), number, np.int32)}
    for notes in (ReadNotes("qpic", numbering=OWN), None):
        (line,) = check_numbering(replace(table, **column), GROUND_TRUTH, notes)  # type: ignore[arg-type]
        assert missing(line, f" {part} agree ", f"all are {labels[number]!r}") == []
    assert check_numbering(table.select(table.object == 0), GROUND_TRUTH, None) == []


@pytest.mark.parametrize("noise", [0, 0.3])
def test_verb_lists_without_no_interaction_are_named(noise: float) -> None:
    """The IDs after the place of no_interaction are one lower; IDs from 1 are right before it, if read from 0."""
    rng, table = np.random.default_rng(0), MODELS["perfect"]
    table = table.select(table.verb != HICO.classes.verbs.index("no_interaction"))
    wrong = rng.random(len(table)) < noise
    table = with_verbs(table, np.where(wrong, rng.permutation(table.verb), table.verb))
    for true in ("actions-0", "actions-1"):
        (line,) = check(misread(table, VERBS, true, "hico-det-0"))
        assert line.endswith(python_option(VERBS, true))


@pytest.mark.parametrize("true", ["actions-0", "actions-1"])
def test_no_interaction_at_an_end_of_the_verbs_is_named_and_read(true: str) -> None:
    """Wrong predictions have many IDs, which tell nothing about the numbering."""
    rng, table = np.random.default_rng(0), MODELS["perfect"]
    known, none = numberings(HICO, VERBS)[true], HICO.classes.verbs.index("no_interaction")
    assert (known.first, known.last) == (0, 116)
    assert known.labels_of(np.array([116 if true == "actions-0" else 0])).tolist() == [none]
    wrong = rng.random(len(table)) < 0.6
    table = with_verbs(table, np.where(wrong, rng.integers(117, size=len(table)), table.verb))
    (line,) = check(misread(table, VERBS, true, "hico-det-0"))
    assert line.endswith(python_option(VERBS, true))


@pytest.mark.real_data
@pytest.mark.parametrize("annotated", ["hico-det"], indirect=True)
@pytest.mark.parametrize("wrong", [0.3, 0.8])
def test_nothing_is_said_about_right_classes_of_a_large_file(annotated: GroundTruth, wrong: float) -> None:
    """The next class of HICO-DET often has the same object, and a verb that another annotation of the pair has."""
    rng, table = np.random.default_rng(0), labelled(annotated.interactions)
    pair, drawn = HICO.classes.of[:, table.object] >= 0, rng.random((117, len(table)))
    verb = np.where(rng.random(len(table)) < wrong, np.where(pair, drawn, 0).argmax(0), table.verb)
    notes = ReadNotes("mllms", numbering={"interactions": "hico-det-1"})
    assert check_numbering(with_verbs(table, verb), annotated, notes) == []


@pytest.mark.parametrize("kind", ["rows", "IDs"])
def test_no_option_is_advised_if_one_verb_in_ten_is_shifted(kind: str) -> None:
    rng, table = np.random.default_rng(0), MODELS["perfect"]
    chosen = rng.random(len(table)) < 0.1 if kind == "rows" else (rng.random(117) < 0.1)[table.verb]
    lines = check(with_verbs(table, np.where(chosen, np.minimum(table.verb + 1, 116), table.verb)))
    assert [line for line in lines if "--format" in line] == []
    assert len(lines) == (kind == "rows")


def test_the_reported_option_gives_the_right_score(tmp_path: Path) -> None:
    """It is never applied silently: without it, the score stays as it is."""
    path = tmp_path / "shifted.json"
    write_predictions(GROUND_TRUTH.interactions, path, "qpic")
    document = json.loads(path.read_text())

    def scored(change: Callable[[int], int], numbering: str) -> tuple[Report, float]:
        for record in document:
            for triplet in record["hoi_prediction"]:
                triplet["category_id"] = change(triplet["category_id"])
        path.write_text(json.dumps(document))
        report = score(read_predictions(path, format=f"qpic,verbs={numbering}"), GROUND_TRUTH)
        return report, present(present(report.strict).map)

    wrong, low = scored(lambda number: max(number, 1) - 1, "hico-det-0")
    # from 1, and every verb but the first is what it was
    shifted, _ = scored(lambda number: number + 2, "hico-det-0")
    right, high = scored(lambda number: number, "hico-det-1")
    for report, numbering in ((wrong, "hico-det-minus-1"), (shifted, "hico-det-1")):
        assert any(line.endswith(python_option(VERBS, numbering)) for line in report.warnings)
    assert low < 0.1 < 0.95 < high
    assert right.facts["class-ids"] == "verbs=hico-det-1"
    assert right.signature != shifted.signature


@pytest.mark.parametrize("name", ["hico-det", "v-coco", "swig-hoi"])
def test_all_numberings_are_distinct_labels(name: str) -> None:
    for part in ("objects", "verbs", "interactions"):
        for numbering in numberings(benchmark(name), part).values():
            labels = numbering.label[numbering.label >= 0]
            assert len(np.unique(labels)) == len(labels) > 0
            assert np.array_equal(numbering.labels_of(numbering.ids_of(labels)), labels)


def test_ids_outside_the_numbering_name_those_that_contain_them(tmp_path: Path) -> None:
    boxes = [{"bbox": [0, 0, 9, 9], "category_id": 90}, {"bbox": [0, 0, 9, 9], "category_id": 1}]
    triplets = [{"subject_id": 1, "object_id": 0, "category_id": 0, "score": 1}]
    path = tmp_path / "ids.json"
    path.write_text(json.dumps([{"filename": "a.jpg", "predictions": boxes, "hoi_prediction": triplets}]))
    with input_error("as coco-ids: ", "--format qpic,objects=coco-ids "):
        read_predictions(path)


def test_unknown_numberings_are_refused(tmp_path: Path) -> None:
    for format_, *values in (
        ("qpic,nouns=coco-0", "objects", "verbs", "interactions"),
        ("qpic,objects=coco-9", "objects", "'coco-9'"),
        ("csv,objects=coco-0", "format csv", "objects"),
    ):
        path = tmp_path / "made.file"
        write_predictions(GROUND_TRUTH.interactions.select_images(np.arange(9)), path, format_.partition(",")[0])
        with option_error(*values):
            read_predictions(path, format=format_)


@pytest.fixture(scope="module", params=["hico-det", "v-coco"])
def annotated(shared_data: Path, request: pytest.FixtureRequest) -> GroundTruth:
    files = {"hico-det": "hico_det/instances_test2015.json", "v-coco": "v_coco/vcoco_everything_test.txt.gz"}
    return read_truth_file(shared_data / files[request.param], request.param)


@pytest.mark.real_data
@pytest.mark.parametrize("share", [1, 2])
def test_shifted_verbs_of_weak_detectors_are_reported(shared_data: Path, share: int) -> None:
    real = read_truth_file(shared_data / "hico_det" / "instances_test2015.json")
    rng = np.random.default_rng(0)
    for quality in ({"wrong_verb": 0.3, "extra": 0.5}, {"wrong_verb": 0.6, "missed": 0.3, "jitter": 0.1}):
        truth = replace(real, interactions=weak.part(real.interactions, rng, 600))
        table = weak.detector(truth.interactions, rng, **quality)
        shifted = np.where(table.image % share == 0, np.maximum(table.verb, 1) - 1, table.verb)
        (line,) = check(with_verbs(table, shifted), truth)
        assert "read as hico-det-minus-1" in line
        assert line.endswith(python_option(VERBS, "hico-det-minus-1")) == (share == 1)


@pytest.mark.real_data
@pytest.mark.slow
@pytest.mark.parametrize(("images", "wrong", "fewest"), [(20, 0, 26), (30, 0.3, 26), (60, 0.5, 26), (200, 0.7, 26)])
def test_an_unknown_order_of_the_verbs_is_found_on_small_sets(
    shared_data: Path, images: int, wrong: float, fewest: int
) -> None:
    """In 26 of 30 random test sets or more, with a fraction of wrong verbs and random additional predictions."""
    real = read_truth_file(shared_data / "hico_det" / "instances_test2015.json")
    rng, found = np.random.default_rng(7), 0
    for _ in range(30):
        truth = replace(real, interactions=weak.part(real.interactions, rng, images))
        table = weak.detector(truth.interactions, rng, wrong_verb=wrong, extra=0.5)
        lines = check(with_verbs(table, rng.permutation(117)[table.verb]), truth)
        assert [line for line in lines if "--format" in line] == []
        found += any("does not know" in line for line in lines)
    assert found >= fewest


@pytest.mark.real_data
@pytest.mark.parametrize("annotated", ["v-coco"], indirect=True)
@pytest.mark.parametrize("wrong", [0, 0.3, 0.5])
def test_shifted_verbs_of_weak_v_coco_files_are_reported(annotated: GroundTruth, tmp_path: Path, wrong: float) -> None:
    rng = np.random.default_rng(0)
    truth = annotated.within(annotated.interactions.images[:300])
    for shift in (0, 1):

        def changed(number: int, shift: int = shift) -> int:
            return int(rng.integers(28)) if rng.random() < wrong else min(number + shift, 28)

        path = by_person(truth, tmp_path / "v_coco.json", changed)
        table, notes = read_predictions_with_notes(path, dataset="v-coco")
        lines = check_numbering(table, truth, notes)
        assert [line.endswith('format="qpic,verbs=v-coco-1")') for line in lines] == [True] * shift


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("seed", "count"), [(0, 12), *(pytest.param(seed, 30, marks=pytest.mark.slow) for seed in range(1, 4))]
)
def test_nothing_is_said_about_right_ids_of_any_quality(annotated: GroundTruth, seed: int, count: int) -> None:
    """Also of models that predict several verbs per pair, drawn from the verbs of its object."""
    rng, classes = np.random.default_rng(seed), annotated.classes
    by_object = np.argsort(classes.object)
    for _ in range(count):
        truth = replace(annotated, interactions=weak.part(annotated.interactions, rng, int(rng.choice([15, 120, 600]))))
        table = weak.detector(truth.interactions, rng, **weak.random_quality(rng))
        several = table.select(np.repeat(np.arange(len(table)), 4))
        start, end = (np.searchsorted(classes.object[by_object], several.object, side) for side in ("left", "right"))
        other = classes.verb[by_object[rng.integers(start, end)]]
        several = with_verbs(several, np.where(rng.random(len(several)) < 0.7, other, several.verb))
        for each in (table, several):
            assert check_numbering(each, truth, None) == []
