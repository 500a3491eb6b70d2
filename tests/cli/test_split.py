from dataclasses import replace
from pathlib import Path

import numpy as np
import orjson
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.hico_det.json_files import write_ppdm
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions
from shoe.core.io.native import write_native
from tests.benchmarks.samples import INSTANCES, PPDM
from tests.cli.run import as_json, refused, run

ANIMALS = ("cow", "dog", "horse", "sheep")


@pytest.fixture(scope="module")
def farm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Each class of four objects on a training and a test image, every third of which shows the next class, too."""
    of = benchmark("hico-det")
    hoi = np.flatnonzero(np.isin(of.classes.object, [of.classes.objects.index(name) for name in ANIMALS]))
    shown = [[hoi[i % len(hoi)], *([hoi[(i + 1) % len(hoi)]] if i % 3 == 0 else [])] for i in range(2 * len(hoi))]
    of_rows = np.concatenate(shown)
    corner = 10.0 + np.arange(len(of_rows))[:, None]
    table = Interactions.from_columns(
        images=[f"HICO_{('train', 'test')[i % 2]}2015_{i + 1:08d}.jpg" for i in range(len(shown))],
        image=np.repeat(np.arange(len(shown)), [len(of_image) for of_image in shown]),
        human_boxes=np.hstack([corner, corner, corner + 30, corner + 40]),
        object_boxes=np.hstack([corner + 20, corner, corner + 70, corner + 50]),
        verb=of.classes.verb[of_rows],
        object=of.classes.object[of_rows],
        verbs=of.classes.verbs,
        objects=of.classes.objects,
        coordinates=[Coordinates.PIXELS_0, Coordinates.PIXELS_1] * len(hoi),
    )
    path = tmp_path_factory.mktemp("farm") / "farm.json"
    write_ppdm(table, path, of)
    return path


def asked(file: Path, *more: object) -> tuple[str, ...]:
    return ("dataset", "split", "hico-det", "--train", *map(str, (file, *more)))


def written(folder: Path) -> list[GroundTruth]:
    return [read_truth_file(next(folder.glob(f"{part}.[jn]*"))) for part in ("train", "test")]


def boxes(truth: GroundTruth) -> dict[str, list[list[float]]]:
    table = truth.interactions
    both = np.hstack([table.human_boxes, table.object_boxes]).tolist()
    return {name: sorted(both[slice(*table.offsets[i : i + 2])]) for i, name in enumerate(table.images)}


def test_a_split_is_written_with_its_card_and_printed(tmp_path: Path, farm: Path) -> None:
    printed = run(*asked(farm), "--out", tmp_path / "sg").stdout
    card = orjson.loads((tmp_path / "sg" / "split.json").read_bytes())
    train, test = written(tmp_path / "sg")
    assert not ((train.triplets_per_class > 0) & (test.triplets_per_class > 0)).any()
    assert card["shared"] == {"combinations": 0, "images": 0}
    for part, truth in (("train", train), ("test", test)):
        classes, table = truth.triplets_per_class > 0, truth.interactions
        counts = {"images": len(table.images), "triplets": len(table), "combinations": int(classes.sum())}
        assert counts.items() <= card["statistics"][part].items()
        shown = {truth.classes.labels[hoi] for hoi in truth.hoi} & set(card["held_out"])
        assert len(shown) == (classes.sum() if part == "test" else 0)
    left = sum(len(truth.interactions.images) for truth in (train, test))
    assert card["dropped_images"] == card["original"]["train"]["images"] - left
    assert "0 combinations and 0 images" in printed


@pytest.mark.parametrize("form", ["json", pytest.param("native", marks=pytest.mark.slow)])
def test_images_keep_the_coordinates_of_their_kind(tmp_path: Path, farm: Path, form: str) -> None:
    """Pixels count from 0 in training images of the format and from 1 in test images; so they do in both files."""
    assert run(*asked(farm), "--format", form, "--out", tmp_path).returncode == 0
    whole = boxes(read_truth_file(farm))
    for truth in written(tmp_path):
        table = truth.interactions
        kinds = {(name[:9], Coordinates(kind)) for name, kind in zip(table.images, table.coordinates, strict=True)}
        assert kinds == {("HICO_trai", Coordinates.PIXELS_0), ("HICO_test", Coordinates.PIXELS_1)}
        assert all(whole[name] == of_image for name, of_image in boxes(truth).items())


def test_boxes_are_moved_to_what_the_format_has(tmp_path: Path, farm: Path) -> None:
    """A table in which all pixels count from 1, as HAKE's, is written as the one that it is made of."""
    table = read_truth_file(farm).interactions
    add = (table.triplet_coordinates == Coordinates.PIXELS_0)[:, None]
    coordinates = np.full_like(table.coordinates, Coordinates.PIXELS_1)
    humans, objects = table.human_boxes + add, table.object_boxes + add
    moved = replace(table, human_boxes=humans, object_boxes=objects, coordinates=coordinates)
    write_native(moved, tmp_path / "from1.npz")
    for name, source in (("a", farm), ("b", tmp_path / "from1.npz")):
        assert run(*asked(source), "--out", tmp_path / name).returncode == 0
    for part in ("train.json", "test.json"):
        assert (tmp_path / "a" / part).read_bytes() == (tmp_path / "b" / part).read_bytes()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_bytes_and_another_one_another_split(tmp_path: Path, farm: Path) -> None:
    cards = [as_json(*asked(farm), "--seed", seed, "--out", tmp_path / str(i)) for i, seed in enumerate((3, 3, 9))]
    assert cards[0]["files"] == cards[1]["files"]
    assert cards[0]["held_out"] != cards[2]["held_out"]


@pytest.mark.slow
def test_similarity_to_training_is_kept_within_its_bounds(tmp_path: Path, farm: Path) -> None:
    far = as_json(*asked(farm), "--ratio", 0.96, "--max-similarity", 0.7, "--out", tmp_path / "far")
    near = as_json(*asked(farm), "--min-similarity", 0.7, "--out", tmp_path / "near")
    assert far["nearest"]["quartiles"][-1] <= 0.7 <= near["nearest"]["quartiles"][0]
    assert far["nearest"]["similarity"].startswith("hico-det ")


def test_mistakes_are_told(tmp_path: Path, farm: Path) -> None:
    out = ("--out", tmp_path / "sg")
    split = ("dataset", "split")
    test_as_train = (*split, "hico-det", "--train", INSTANCES, "--test", PPDM)
    for words, *says in (
        (test_as_train, "instances_test2015.json: found", "test2015/part", "swapped?"),
        (asked(farm, "--test", farm), "'HICO_", "farm.json"),
        (asked(farm, "--ratio", 1), "ratio: found 1"),
        (asked(farm, "--verify", "paper"), "verify: found paper"),
        (asked(farm, "--max-similarity", 0.1, "--tries", 3), "3 of 3", "above the maximum"),
        (asked(farm, "--kind", "semantic"), "kind 'semantic'", "known: systematic"),
        (asked(farm, "--format", "csv"), "format 'csv'"),
        ((*split, "toy", "--train", PPDM), "dataset 'toy'"),
        (asked(farm, "--json", farm), "farm.json: found an input"),
        ((*split, "v-coco", "--train", PPDM), "hico-det"),
    ):
        refused(run(*words, *out), *says)
    refused(run(*asked(farm), "--out", farm), str(farm))
    assert not (tmp_path / "sg").exists()


@pytest.mark.slow
@pytest.mark.real_data
def test_hico_det_is_split_as_the_released_program_would(tmp_path: Path, shared_data: Path) -> None:
    """38,319 training images by HAKE's triplets; Table 1's 38,312 are without seven that it lacks triplets of."""
    card = as_json(
        *("dataset", "split", "hico-det", "--seed", 368, "--out", tmp_path),
        *("--train", shared_data / "hico_det_train" / "hico-det-instance-level.tar.gz"),
        *("--test", shared_data / "hico_det" / "instances_test2015.json"),
        *("--verify", "released", "--draw", "uniform", "--mixed", "cut", "--empty", "drop"),
    )
    assert (card["seed"], card["tries"], card["combinations"]) == (368, 1, {"all": 600, "held_out": 60})
    assert card["statistics"]["train"] == {"images": 38319, "empty_images": 0, "triplets": 119178, "combinations": 538}
    assert card["statistics"]["test"] == {"images": 8860, "empty_images": 0, "triplets": 14973, "combinations": 60}
    assert card["single"]["verbs_of_one_object"] == {"all": 39, "train": 45, "absent": 1}
    published = read_truth_file(shared_data / "hico_det_sg" / "test_hico_sg1.json.gz")
    known = dict(zip(published.interactions.images, range(10000), strict=False))
    mine = read_truth_file(tmp_path / "test.json")
    of_test = [name for name in mine.interactions.images if name in known and "test2015" in name]
    assert len(of_test) == 1906
    theirs, ours = boxes(published), boxes(mine)
    assert all(theirs[name] == ours[name] for name in of_test)


@pytest.mark.slow
@pytest.mark.real_data
def test_v_coco_is_split(tmp_path: Path, shared_data: Path) -> None:
    train, test = (shared_data / "v_coco" / f"instances_vcoco_{part}.json" for part in ("trainval", "test"))
    files = ("--train", train, "--test", test, "--out", tmp_path)
    card = as_json("dataset", "split", "v-coco", "--ratio", 0.7, "--empty", "drop", *files)
    assert card["shared"] == {"combinations": 0, "images": 0}
    for part in ("train", "test"):
        truth = read_truth_file(tmp_path / f"{part}.json", "v-coco")
        assert len(truth.interactions.images) == card["statistics"][part]["images"]
