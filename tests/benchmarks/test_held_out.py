"""The published systematic generalisation splits, drawn again; what docs/splits.md says of them, on the real files."""

from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.systematic import Combinations, file_order, held_out_images
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.arrays import Mask
from shoe.core.boxes import Coordinates
from shoe.core.interactions import concatenate

# Held-out and all combinations; held-out ones that the published test file shows; digest.
KNOWN = {
    ("hico-det", "sg1"): (60, 600, 60, "767d98e9"), ("v-coco", "sg1"): (78, 259, 60, "c8341b76"),
    ("hico-det", "sg2"): (60, 600, 60, "e06d4dd6"), ("v-coco", "sg2"): (78, 259, 61, "fd932cd5"),
    ("hico-det", "sg3"): (60, 600, 60, "476d2a59"), ("v-coco", "sg3"): (78, 259, 76, "6191b8e1"),
}  # fmt: skip


def held_out(dataset: str, name: str) -> Mask:
    return benchmark(dataset).class_splits[name]().parts["unseen"]


def published(shared_data: Path, dataset: str, name: str) -> GroundTruth:
    folder, stem = ("hico_det_sg", "test_hico_") if dataset == "hico-det" else ("v_coco_sg", "test_vcoco_")
    return read_truth_file(shared_data / folder / f"{stem}{name}.json.gz", dataset)


@pytest.mark.parametrize(("dataset", "name"), KNOWN)
def test_the_draw_is_the_same_everywhere(dataset: str, name: str) -> None:
    split = benchmark(dataset).class_splits[name]()
    unseen, every, _, digest = KNOWN[dataset, name]
    assert (int(split.parts["unseen"].sum()), len(split.parts["seen"]), split.digest) == (unseen, every, digest)


def test_combinations_are_numbered_as_files_number_objects_and_verbs() -> None:
    of = benchmark("hico-det")
    classes = of.classes
    first = np.argsort(file_order(of)[classes.verb, classes.object])[:3]
    assert [classes.labels[i] for i in first] == ["carry person", "greet person", "hold person"]
    v_coco = benchmark("v-coco")
    number, verb, objects = file_order(v_coco), v_coco.classes.verbs.index("hit"), v_coco.classes.objects
    # An instrument is verb 6 in files, what is hit is 7; objects count before verbs.
    bat, ball = (number[verb, objects.index(name)] for name in ("baseball_bat", "sports_ball"))
    assert (bat % 29, ball % 29) == (6, 7)
    assert bat > ball  # COCO's 39 and 37


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize(("dataset", "name"), KNOWN)
def test_published_files_show_what_is_drawn(shared_data: Path, dataset: str, name: str) -> None:
    truth = published(shared_data, dataset, name)
    shown = truth.triplets_per_class > 0
    assert int(shown.sum()) == KNOWN[dataset, name][2]
    assert not (shown & ~held_out(dataset, name)).any()


def test_the_published_draws_pass_the_released_check_and_not_the_papers() -> None:
    """Each object and verb keeps a combination in training, but many verbs keep no second object."""
    classes = benchmark("hico-det").classes
    found = []
    for name in ("sg1", "sg2", "sg3"):
        train = ~held_out("hico-det", name)
        objects = np.bincount(classes.object[train], minlength=len(classes.objects))
        verbs = np.bincount(classes.verb[train], minlength=len(classes.verbs))
        found.append((int(objects.min()), int(verbs.min()), int((verbs == 1).sum())))
    assert found == [(3, 1, 46), (2, 1, 44), (2, 1, 44)]
    assert int((np.bincount(classes.verb) == 1).sum()) == 39


@pytest.fixture(scope="module")
def whole(shared_data: Path) -> GroundTruth:
    """HICO-DET's training and test images; HAKE's training set lacks 217 of the official triplets."""
    train = read_truth_file(shared_data / "hico_det_train" / "hico-det-instance-level.tar.gz")
    test = read_truth_file(shared_data / "hico_det" / "instances_test2015.json")
    assert (train.interactions.verbs, train.interactions.objects) == (test.classes.verbs, test.classes.objects)
    return GroundTruth(concatenate([train.interactions, test.interactions]), test.classes, "whole")


# Images of test2015 in the file; of these, those that lost triplets; those that the algorithm keeps; absent ones.
# Then training images by the algorithm (without empty ones), and those of them that the published test file has.
FILES = {
    "sg1": (1906, 1489, 436, 82, 38_319, 7),
    "sg2": (1732, 1278, 464, 67, 39_226, 13),
    "sg3": (1452, 1187, 276, 192, 40_259, 0),
}


# Training triplets; test images and triplets that mixed images are cut for; of these images, those that the file lacks
# and those that are not mixed: what docs/splits.md has beside Table 1.
TABLE = {
    "sg1": (119_178, 8860, 14_973, 352, 2645),
    "sg2": (122_166, 7953, 15_406, 310, 2743),
    "sg3": (126_715, 6920, 10_288, 691, 1535),
}


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("name", FILES)
def test_published_files_and_the_table_beside_the_papers(shared_data: Path, whole: GroundTruth, name: str) -> None:
    table, held = whole.interactions, held_out("hico-det", name)[whole.hoi]
    in_file = np.isin(np.array(table.images), published(shared_data, "hico-det", name).interactions.images)
    test, mixed = held_out_images(table, held)
    some = np.diff(table.offsets) > 0
    is_test2015 = np.char.startswith(np.array(table.images), "HICO_test2015")
    of_test = (in_file, mixed & in_file, test & some, (mixed | (test & some)) & ~in_file)
    train = ~(test | mixed)
    parts = [*(is_test2015 & part for part in of_test), train, train & in_file]
    assert tuple(int(part.sum()) for part in parts) == FILES[name]
    shown = (test & some) | mixed
    counted = (train[table.image], shown, held, shown & ~in_file, shown & ~mixed)
    assert tuple(int(part.sum()) for part in counted) == TABLE[name]


@pytest.mark.slow
@pytest.mark.real_data
def test_published_training_images_are_those_without_test_combinations(whole: GroundTruth) -> None:
    """Table 1 counts 38,312, 39,213 and 40,672 of them, the third of which is another number than its draw gives."""
    train, in_test = zip(*(counts[4:] for counts in FILES.values()), strict=True)
    assert [a - b for a, b in zip(train, in_test, strict=True)] == [38_312, 39_213, 40_259]
    of = Combinations.from_table(whole.interactions)
    shown = []
    for name in FILES:
        test, mixed = held_out_images(whole.interactions, held_out("hico-det", name)[whole.hoi])
        shown.append(len(np.unique(of.row[~(test | mixed)[whole.interactions.image]])))
    assert shown == [538, 540, 537]  # of the 540 that Table 1 has


@pytest.mark.slow
@pytest.mark.real_data
def test_training_images_count_from_0_and_test_images_from_1(shared_data: Path, whole: GroundTruth) -> None:
    def triplets(truth: GroundTruth, add: int) -> set[tuple[object, ...]]:
        """Image, class and boxes of each triplet, ``add`` to the coordinates of those whose pixels count from 0."""
        table = truth.interactions
        shift = add * (table.triplet_coordinates == Coordinates.PIXELS_0)[:, None]
        boxes = (np.hstack([table.human_boxes, table.object_boxes]) + shift).tolist()
        names = np.array(table.images)[table.image].tolist()
        return set(zip(names, truth.hoi.tolist(), map(tuple, boxes), strict=True))

    def of(kind: str, found: set[tuple[object, ...]]) -> int:
        return sum(str(name).startswith(f"HICO_{kind}") for name, *_ in found)

    truth, official = published(shared_data, "hico-det", "sg1"), triplets(whole, 0)
    same = [triplets(truth, add) & official for add in (0, 1)]
    assert [(of("train", found), of("test", found)) for found in same] == [(0, 3325), (9361, 3325)]
    assert [of(kind, triplets(truth, 1)) for kind in ("train", "test")] == [11138, 3325]
