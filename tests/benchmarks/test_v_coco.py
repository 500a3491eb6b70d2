"""V-COCO's annotation in its four forms, whole, damaged and real, and the senses of its actions."""

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

import shoe
from shoe.benchmarks import benchmark
from shoe.core.errors import InputError
from shoe.demo import TRUTH
from shoe.lexicon.store import ids_of, lexicon
from tests.mentions import mentions
from tests.oracles.roles import Person
from tests.present import present
from tests.scoring import v_coco
from tests.scoring.v_coco import ACTIONS

A, B, C = [0.0, 0.0, 99.0, 99.0], [200.0, 0.0, 299.0, 99.0], [400.0, 0.0, 499.0, 99.0]


def test_all_forms_hold_the_same_persons_and_triplets(tmp_path: Path) -> None:
    truths, _ = v_coco.scene(3, 5)
    for person in (person for persons in truths for person in persons):
        person.does = person.does or None  # who does nothing is listed by the official form alone
    forms = [
        v_coco.write_official(truths, tmp_path),
        v_coco.write_everything(truths, tmp_path / "truth.txt"),
        v_coco.write_qpic(truths, tmp_path / "qpic.json"),
    ]
    official, *others = (shoe.read_ground_truth(path, dataset="v-coco") for path in forms)
    for other in others:
        assert other.roles is not None
        for name in ("box_offsets", "boxes", "object", "person", "labels", "role"):
            np.testing.assert_array_equal(getattr(present(official.roles), name), getattr(other.roles, name), name)
        mine, its = ({(i, *boxes) for i, boxes in rows(t)} for t in (official, other))
        assert mine == its


def rows(truth: shoe.GroundTruth) -> list[tuple[int, list[float]]]:
    table = truth.interactions
    columns = np.column_stack([truth.hoi, table.human_boxes, table.object_boxes]).tolist()
    return list(zip(table.image.tolist(), columns, strict=True))


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("\n3\n", "\nthree\n", "'three' … number of boxes"),
        ("2 1 0.0", "33 1 0.0", "action: … '33' … 1 to 29"),
        ("2 1 0.0", "2 1 0.5", "box of a person"),
        (" 38 200.0 0.0 300.0 100.0\n2 1", " 38 200.0 0.0 300.0 101.0\n2 1", "a box, with"),
        ("000000000107", "000000000100", "'000000000100.jpg' twice"),
    ],
)
def test_damaged_text(tmp_path: Path, old: str, new: str, says: str) -> None:
    truths = [[Person(A, {"surf": {"instr": B}, "stand": {}}), Person(C, None)], [Person(A, {"stand": {}})]]
    text = v_coco.write_everything(truths, tmp_path / "truth.txt").read_text()
    assert old in text
    (tmp_path / "damaged.txt").write_text(text.replace(old, new, 1))
    with pytest.raises(InputError, match=mentions(says)):
        shoe.read_ground_truth(tmp_path / "damaged.txt", dataset="v-coco")


def test_official_annotations_need_their_boxes(tmp_path: Path) -> None:
    path = v_coco.write_official(v_coco.scene(5)[0], tmp_path)
    instances = tmp_path / "instances_vcoco_all_2014.json"
    document = json.loads(instances.read_text())
    instances.write_text(json.dumps(document | {"annotations": document["annotations"][:-1]}))
    with pytest.raises(InputError, match=r"(ann_id|role_object_id .*): .*\d.*instances_vcoco_all_2014\.json"):
        shoe.read_ground_truth(path, dataset="v-coco")
    document["annotations"][0]["category_id"] = 12
    instances.write_text(json.dumps(document))
    with pytest.raises(InputError, match=mentions("box 1: category_id: … 12 … COCO's 80")):
        shoe.read_ground_truth(path, dataset="v-coco")
    instances.unlink()
    with pytest.raises(InputError, match=mentions("COCO's boxes, instances_vcoco_all_2014.json")):
        shoe.read_ground_truth(path, dataset="v-coco")


_COUNTS = """hold 3608, sit 1916, ride 556, look 3347, hit 349, eat 521, jump 635, lay 387, talk_on_phone 285,
carry 472, throw 244, catch 246, cut 269, work_on_computer 410, ski 424, surf 486, skateboard 417, drink 82, kick 180,
point 31"""
PUBLISHED = {name: int(count) for name, count in (cell.split() for cell in _COUNTS.split(","))}
"""Positives of the test set as logs of the official script print them (docs/v-coco.md)."""


@pytest.mark.slow
@pytest.mark.real_data
def test_positives_of_the_test_set_are_the_published_ones(shared_data: Path) -> None:
    truth = shoe.read_ground_truth(shared_data / "v_coco" / "vcoco_everything_test.txt.gz", dataset="v-coco")
    does = dict(zip(ACTIONS.names, (present(truth.roles).labels == 1).sum(axis=0).tolist(), strict=True))
    assert {name: does[name] for name in PUBLISHED} == PUBLISHED
    assert (truth.split, len(truth.interactions.images), len(truth.interactions)) == ("test", 4946, 12_423)
    pairs = shoe.read_ground_truth(shared_data / "v_coco" / "instances_vcoco_test.json", dataset="v-coco")
    point = truth.interactions.verb == truth.classes.verbs.index("point")
    assert (len(pairs.interactions), int(point.sum())) == (12_402, 21)
    assert pairs.roles is None
    without = np.bincount(truth.hoi[~point], minlength=len(truth.classes))
    np.testing.assert_array_equal(without, pairs.triplets_per_class)


@pytest.mark.slow
@pytest.mark.real_data
def test_val_has_the_positives_and_missing_roles_of_the_official_file(shared_data: Path) -> None:
    truth = shoe.read_ground_truth(shared_data / "v_coco" / "vcoco_everything_val.txt.gz", dataset="v-coco")
    official = json.loads(gzip.decompress((shared_data / "v_coco" / "vcoco_val.json.gz").read_bytes()))
    assert truth.roles is not None
    for number, action in enumerate(official):
        label = np.array(action["label"])
        assert (truth.roles.labels[:, number] == 1).sum() == label.sum(), action["action_name"]
        given = np.array(action["role_object_id"]).reshape(len(action["role_name"]), -1)[1:, label == 1]
        entries = [entry for entry, (of, _) in enumerate(ACTIONS.entries) if of == number]
        for entry, targets in zip(entries, given, strict=True):
            assert (truth.roles.role[:, entry] >= 0).sum() == (targets != 0).sum(), ACTIONS.entry_names[entry]
    idle = np.sum([action["label"] for action in official], axis=0) == 0
    assert ((~truth.roles.ignored).sum(), len(idle), idle.sum()) == (4463, 4499, 36)


@pytest.mark.slow
@pytest.mark.real_data
def test_classes_are_those_of_all_splits_and_rare_ones_have_few_training_triplets(shared_data: Path) -> None:
    files = {split: shared_data / "v_coco" / f"vcoco_everything_{split}.txt.gz" for split in ("train", "val", "test")}
    count = {name: shoe.read_ground_truth(path, dataset="v-coco").triplets_per_class for name, path in files.items()}
    training = count["train"] + count["val"]
    rare = shoe.read_ground_truth(files["val"], dataset="v-coco").classes.rare
    assert (len(rare), (training > 0).sum(), (count["test"] > 0).sum()) == (259, 234, 228)
    assert ((training + count["test"]) > 0).all()
    np.testing.assert_array_equal(rare, training < 10)


def test_files_of_another_dataset_and_images_without_a_name_are_named(tmp_path: Path) -> None:
    truths, predictions = v_coco.scene(5)
    (tmp_path / "truth.json").write_text(
        json.dumps([{"file_name": "images/", "annotations": [], "hoi_annotation": []}])
    )
    with pytest.raises(InputError, match=mentions("image 1: … 'images/'")):
        shoe.read_ground_truth(tmp_path / "truth.json", dataset="v-coco")
    with pytest.raises(InputError, match=mentions("hicodet instances JSON", "hico-det", "--dataset")):
        shoe.read_ground_truth(TRUTH, dataset="v-coco")
    for write in (v_coco.write_everything, v_coco.write_qpic):
        with pytest.raises(InputError, match=mentions("of v-coco", "of hico-det", "--dataset v")):
            shoe.read_ground_truth(write(truths, tmp_path / "truth"))
    with pytest.raises(InputError, match=mentions("V-COCO's official detections", "--dataset v-coco")):
        shoe.read_predictions(v_coco.write_pickle(predictions, tmp_path / "said.pkl"))


_PAGE = Path(__file__).resolve().parents[2] / "docs" / "v-coco.md"
_ROW = re.compile(r"\| ([a-z_, ]+) \| ((?:[a-z_]+\.v\.\d\d(?:, )?)+) \|")


def test_the_page_says_what_the_26_actions_mean() -> None:
    of_action: dict[str, set[str]] = {}
    for names, synsets in _ROW.findall(_PAGE.read_text("utf-8")):
        actions, senses = names.split(", "), synsets.split(", ")
        for index, action in enumerate(actions):
            of_action[action] = {senses[index]} if len(actions) > 1 else set(senses)
    v_coco = benchmark("v-coco")
    assert sorted(of_action) == sorted(v_coco.actions.names)
    classes = v_coco.classes
    for verb in classes.verbs:
        synsets_of_verb = zip(classes.verb, classes.verb_synsets, strict=True)
        assert of_action[verb] == {synset for number, synset in synsets_of_verb if classes.verbs[number] == verb}
    every = ids_of({sense for senses in of_action.values() for sense in senses})
    assert all(sense >= 0 and lexicon().pos(sense) == "v" for sense in every.tolist())


def test_objects_mean_what_they_mean_in_hico_det() -> None:
    both = [benchmark(name).classes for name in ("v-coco", "hico-det")]
    ours, theirs = (dict(zip(np.array(c.objects)[c.object], c.object_synsets, strict=True)) for c in both)
    assert len(ours) == 71
    assert ours.items() <= theirs.items()
