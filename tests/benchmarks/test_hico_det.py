"""All forms of the same annotations give the same table; HAKE's form of the training set; damaged files."""

import gzip
import io
import tarfile
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import example, given, strategies as st

from shoe.benchmarks import benchmark
from shoe.benchmarks.base import ImageLabel, Published
from shoe.benchmarks.classes import read_classes
from shoe.benchmarks.summary import Recounted, summary
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, OptionError, ShoeError
from shoe.core.interactions import Interactions, image_index
from shoe.core.io.native import write_native
from shoe.scoring.score import score
from tests.benchmarks.forms import as_bbox, as_hake, as_ppdm, structs, write_mat
from tests.benchmarks.samples import INSTANCES, PPDM, PPDM_MIXED, parsed, read, training
from tests.damage import damaged_bytes, damaged_json
from tests.examples import examples
from tests.mentions import mentions
from tests.present import present
from tests.tables import one_triplet


def same_but_for_sizes(truth: GroundTruth, other: GroundTruth) -> bool:
    """PPDM's format does not say how large an image is; all else has to be equal to the bit."""
    sizes = np.zeros_like(truth.interactions.sizes)
    return replace(truth.interactions, sizes=sizes).equals(replace(other.interactions, sizes=sizes))


def test_a_sample_is_read_as_it_stands() -> None:
    truth = read_truth_file(INSTANCES)
    table = truth.interactions
    assert (len(table.images), len(table), truth.split) == (28, 95, "test2015/part")
    assert (table.images[0], table.sizes[0].tolist()) == ("HICO_test2015_00000001.jpg", [640, 427])
    assert table.human_boxes[:2].tolist() == [[320, 306, 359, 349], [270, 303, 311, 350]]
    assert (table.object_boxes[0].tolist(), truth.hoi[:2].tolist()) == ([148, 345, 376, 414], [245, 245])
    assert (table.verbs, table.objects) == (truth.classes.verbs, truth.classes.objects)
    assert (table.score.tolist(), table.coordinates.tolist()) == ([1.0] * 95, [Coordinates.PIXELS_1] * 28)
    assert (truth.image_labels, truth.left_out) == (None, ())


def test_images_without_triplets_stay_listed() -> None:
    for path in (INSTANCES, PPDM):
        table = read_truth_file(path).interactions
        empty = [name for name, count in zip(table.images, np.diff(table.offsets), strict=True) if count == 0]
        assert empty == ["HICO_test2015_00000154.jpg", "HICO_test2015_00000166.jpg"]


def test_all_forms_give_the_same_table(tmp_path: Path) -> None:
    truth, ppdm = read_truth_file(INSTANCES), read_truth_file(PPDM)
    assert same_but_for_sizes(truth, ppdm)
    assert not ppdm.interactions.sizes.any()
    mat = read_truth_file(write_mat(tmp_path / "anno_bbox.mat", bbox_test=as_bbox(parsed(INSTANCES))))
    write_native(truth.interactions, tmp_path / "truth.npz")
    native = read_truth_file(tmp_path / "truth.npz")
    assert [each.interactions.equals(truth.interactions) for each in (mat, native)] == [True, True]
    formats = ["hicodet instances JSON", "PPDM/QPIC JSON", "official anno_bbox.mat", "native table"]
    both = [(each.format, each.split) for each in (truth, ppdm, mat, native)]
    assert both == [(name, "test2015/part") for name in formats]


def test_training_forms_agree_but_for_where_they_start_counting(tmp_path: Path) -> None:
    instances, ppdm = (read(tmp_path, content) for content in (training(), as_ppdm(training())))
    mat = read_truth_file(write_mat(tmp_path / "anno_bbox.mat", bbox_train=as_bbox(training())))
    assert {t.split for t in (instances, ppdm, mat)} == {"train2015/part"}
    assert mat.interactions.equals(instances.interactions)
    assert set(instances.interactions.coordinates) == {Coordinates.PIXELS_1}
    assert set(ppdm.interactions.coordinates) == {Coordinates.PIXELS_0}
    assert ppdm.interactions.human_boxes.tolist() == (instances.interactions.human_boxes - 1).tolist()
    assert ppdm.hoi.tolist() == instances.hoi.tolist()


def test_a_gzipped_file_is_read_like_a_plain_one(tmp_path: Path) -> None:
    for name, plain in (("truth.json.gz", PPDM), ("packed.json", INSTANCES)):
        (tmp_path / name).write_bytes(gzip.compress(plain.read_bytes()))
        assert read_truth_file(tmp_path / name).interactions.equals(read_truth_file(plain).interactions)


def test_a_file_of_both_kinds_of_image_has_the_frame_of_each_and_its_own_name() -> None:
    truth = read_truth_file(PPDM_MIXED)
    table = truth.interactions
    assert truth.split == "test_hico_sg"
    frames = [Coordinates.PIXELS_0 if "train" in name else Coordinates.PIXELS_1 for name in table.images]
    assert table.coordinates.tolist() == frames
    assert set(frames) == {Coordinates.PIXELS_0, Coordinates.PIXELS_1}


def test_the_split_asked_for_is_read(tmp_path: Path) -> None:
    test = as_bbox(parsed(INSTANCES))
    path = write_mat(tmp_path / "both.mat", bbox_test=test, bbox_train=as_bbox(training()))
    found = [read_truth_file(path, split=split).split for split in (None, "test2015", "train2015")]
    assert found == ["test2015/part", "test2015/part", "train2015/part"]
    only_test = write_mat(tmp_path / "test.mat", bbox_test=test)
    for other in (INSTANCES, only_test):
        with pytest.raises(OptionError, match=mentions("split 'train2015' …  test2015")):
            read_truth_file(other, split="train2015")


def test_a_class_table_of_the_users_takes_the_place_of_the_datasets(tmp_path: Path) -> None:
    truth = read_truth_file(INSTANCES)
    dataset = benchmark("hico-det").classes
    used = np.unique(truth.hoi)
    lines = ["verb\tobject\tgerund\tverb_synset\tobject_synset\trare"]
    for k in reversed(used):
        verb, object_ = dataset.verbs[dataset.verb[k]], dataset.objects[dataset.object[k]]
        lines.append(f"{verb}\t{object_}\t{verb}ing\t\t{dataset.object_synsets[k]}\trare")
    (tmp_path / "classes.tsv").write_text("\n".join(lines))
    classes = read_classes(tmp_path / "classes.tsv", benchmark("hico-det").classes)
    mat = write_mat(tmp_path / "anno_bbox.mat", bbox_test=as_bbox(parsed(INSTANCES)))
    for path in (INSTANCES, PPDM, mat):
        other = read_truth_file(path, classes=classes)
        assert [classes.labels[k] for k in other.hoi] == [dataset.labels[k] for k in truth.hoi]
        assert other.interactions.verbs == classes.verbs

    (tmp_path / "classes.tsv").write_text("\n".join(lines[:-1]))
    fewer = read_classes(tmp_path / "classes.tsv", benchmark("hico-det").classes)
    for path in (INSTANCES, PPDM, mat):
        with pytest.raises(InputError, match=r"image '.*': triplet \d+: .*'.*'"):
            read_truth_file(path, classes=fewer)


def test_a_native_table_in_other_words_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    for part, word, values in (
        ("verbs", "riding", "image 'a.jpg': triplet 1: … verb: … 'riding' … 117 verbs"),
        ("objects", "Horse", "object: … 'Horse' … horse?"),
        ("objects", "toaster", "'ride' … 'toaster' … 600 classes … hico-det"),
    ):
        write_native(one_triplet(**{part: [word]}), tmp_path / "t.npz")
        with pytest.raises(InputError, match=mentions(values)):
            read_truth_file(tmp_path / "t.npz")
    write_native(one_triplet(verbs=["ride", "levitate"], images=["a.jpg", "b.jpg"]), tmp_path / "words.npz")
    truth = read_truth_file(tmp_path / "words.npz")
    assert truth.classes.labels[truth.hoi[0]] == "ride horse"
    assert truth.split == "words"


@pytest.mark.parametrize(
    ("data", "values"),
    [
        (b"", "empty … instances_test2015.json"),
        (b"image,verb\n", "text … 'image,verb\\n' … instances_test2015.json (hic"),
        (b"\x80\x04\x95", "binary … instances_test2015.json"),
        (b"[]", "[] … instances_test2015.json"),
        (b"[1, 2]", "[1, 2] … instances_test2015.json"),
        (b"[[{}]]", "list of 1 … instances_test2015.json"),
        (b"{}", "object of 0 … instances_test2015.json"),
        (b'{"images": [], "annotations": []}', "object of 2 … 'images', 'annotations' … instances_test2015.json"),
        (b'[{"file_name": "a", "annota', "line 1, column 28: … end … JSON"),
        (b"PK\x03\x04", "BadZipFile … native table"),
        (b"MATLAB 7.3 MAT-file, ", "7.3 … 5 to 7.2"),
        (b"MATLAB 5.0 MAT-file, ", "little-endian .mat"),
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path: Path, data: bytes, values: str) -> None:
    (tmp_path / "file").write_bytes(data)
    with pytest.raises(InputError, match=mentions(values)):
        read_truth_file(tmp_path / "file")


def test_a_table_of_no_classes_is_not_taken_for_none() -> None:
    none = np.zeros(0, np.int32)
    packaged = benchmark("hico-det").classes
    empty = replace(packaged, name="mine", verb=none, object=none, of=np.full_like(packaged.of, -1))
    with pytest.raises(InputError, match=mentions("0 classes of mine")):
        read_truth_file(INSTANCES, classes=empty)


@pytest.mark.slow
@pytest.mark.real_data
def test_the_real_test_set_is_the_same_in_all_forms(shared_data: Path, tmp_path: Path) -> None:
    path = shared_data / "hico_det" / "instances_test2015.json"
    document = orjson.loads(path.read_bytes())
    truth = read_truth_file(path)
    assert same_but_for_sizes(truth, read(tmp_path, as_ppdm(document), "test_hico.json"))
    mat = write_mat(tmp_path / "anno_bbox.mat", bbox_test=as_bbox(document), bbox_train=structs([]))
    assert read_truth_file(mat).interactions.equals(truth.interactions)
    write_native(truth.interactions, tmp_path / "t.npz")
    assert read_truth_file(tmp_path / "t.npz").interactions.equals(truth.interactions)


@pytest.mark.slow
@pytest.mark.real_data
@pytest.mark.parametrize("split", [1, 2, 3])
def test_the_sg_files_hold_the_same_boxes_as_the_official_test_set(shared_data: Path, split: int) -> None:
    official = read_truth_file(shared_data / "hico_det" / "instances_test2015.json")
    released = read_truth_file(shared_data / "hico_det_sg" / f"test_hico_sg{split}.json.gz")
    from_test = released.interactions.select_images(released.interactions.coordinates == Coordinates.PIXELS_1)
    assert _facts(from_test) <= _facts(official.interactions)
    assert len(from_test) > 2000


def _facts(table: Interactions) -> set[tuple[object, ...]]:
    rows = np.column_stack([table.verb, table.object, table.human_boxes, table.object_boxes]).tolist()
    return {(table.images[i], *row) for i, row in zip(table.image, rows, strict=True)}


@pytest.mark.parametrize(("images", "triplets"), [(0, 0), (1, 0), (0, 1), (9000, 33000)])
def test_a_part_of_a_split_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, images: int, triplets: int
) -> None:
    """Known counts are compared: here those of the sample, and more by some images or triplets."""
    counts = {"images": 28 + images, "triplets": 95 + triplets}
    monkeypatch.setitem(benchmark("hico-det").__dict__, "published", {"test2015": Published(counts, "made")})
    truth = read_truth_file(INSTANCES)
    is_part = bool(images or triplets)
    assert truth.split == truth.signature_fields()["split"] == ("test2015/part" if is_part else "test2015")
    assert bool(truth.cut) == is_part
    assert (f"28 of {28 + images:,} images" in truth.cut) == bool(images)
    assert (f"95 of {95 + triplets:,} triplets" in truth.cut) == bool(triplets)
    warned = [line for line in score(truth.interactions, truth).warnings if truth.cut and truth.cut in line]
    assert len(warned) == is_part


# HAKE's form of the training set


NAME = "hico-det-training-set-instance-level.json"
TRIPLET = {"hoi_id": 153, "human_bbox": [1, 2, 30, 40], "object_bbox": [5, 6, 70, 80], "width": 640, "height": 480}
IMAGE = "HICO_train2015_00000001.jpg"


def test_it_gives_the_same_table_as_other_forms(tmp_path: Path) -> None:
    instances = read(tmp_path, training(), "instances_train2015.json").interactions
    truth = read(tmp_path, as_hake(training()), NAME)
    table = truth.interactions
    assert (truth.split, truth.format, truth.left_out) == ("train2015/part", "HAKE instance-level JSON", ())
    empty = np.diff(table.offsets) == 0  # of which the file does not say how large they are
    assert np.array_equal(table.sizes[~empty], instances.sizes[~empty])
    for column in ("images", "offsets", "human_boxes", "object_boxes", "verb", "object", "coordinates"):
        assert np.array_equal(getattr(table, column), getattr(instances, column))


def test_the_archive_is_read_as_it_is_handed_out(tmp_path: Path) -> None:
    content = orjson.dumps(as_hake(training()))
    with tarfile.open(tmp_path / "hico-det-instance-level.tar.gz", "w:gz") as archive:
        for name, data in (("._x", b"of a file system"), (f"hico-det-instance-level/{NAME}", content)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    truth = read_truth_file(tmp_path / "hico-det-instance-level.tar.gz")
    assert truth.interactions.equals(read(tmp_path, as_hake(training())).interactions)


@pytest.mark.parametrize(
    ("triplet", "values"),
    [
        ({"hoi_id": 601}, "hoi_id: … 601 … 1 to 600"),
        ({"hoi_id": 0}, "hoi_id: … 0 … 1 to 600"),
        ({"human_bbox": [1, 2, 3]}, "human_bbox: … [1, 2, 3] … [x1, y1, x2, y2]"),
        ({"object_bbox": [9, 2, 3, 4]}, "object box: … [9, 2, 3, 4]"),
        ({"width": "wide"}, "width: … 'wide' … whole number"),
    ],
)
def test_what_is_wrong_is_named_with_its_image(tmp_path: Path, triplet: dict[str, Any], values: str) -> None:
    with pytest.raises(InputError, match=mentions(f"'{IMAGE}' … {values}")):
        read(tmp_path, {IMAGE: {"labels": [TRIPLET | triplet]}})


@pytest.mark.slow
@pytest.mark.real_data
def test_the_real_training_set(shared_data: Path) -> None:
    truth = read_truth_file(shared_data / "hico_det_train" / "hico-det-instance-level.tar.gz")
    info = summary("", truth)
    assert (info.images, info.empty_images, info.triplets, info.classes) == (38118, 485, 117654, 600)
    assert present(info.published).matches
    # The official list of rare classes is that of fewer than 10 training pairs, and 217 missing pairs change nothing.
    assert np.array_equal(truth.triplets_per_class < 10, benchmark("hico-det").classes.rare)
    assert info.rare_recounted == Recounted(138, as_listed=True)

    # The image labels of the original name every class that is drawn, and 1,049 more.
    labelled = benchmark("hico-det").read_image_labels
    assert labelled is not None
    images = truth.interactions.images
    yes = labelled(shared_data / "hico_det" / "anno.mat", images, truth.classes, truth.benchmark) == ImageLabel.YES
    drawn = np.zeros_like(yes)
    drawn[truth.hoi, truth.interactions.image] = True
    assert (int(yes.sum()), int(drawn.sum()), int((drawn & ~yes).sum())) == (70373, 69324, 0)

    # Its boxes count from 1: those of the SG files, which say that they count from 0, plus 1.
    split = read_truth_file(shared_data / "hico_det_sg" / "test_hico_sg1.json.gz").interactions
    both = image_index(split.images, truth.interactions.images)
    shared = [(i, j) for i, j in enumerate(both.tolist()) if j >= 0]
    assert len(shared) == 6609
    found = 0
    for i, j in shared:
        rows, own = (slice(*table.offsets[[k, k + 1]]) for table, k in ((split, i), (truth.interactions, j)))
        assert split.coordinates[i] == Coordinates.PIXELS_0
        boxes = truth.interactions.human_boxes[own] - 1
        found += sum((boxes == box).all(axis=1).any() for box in split.human_boxes[rows])
    assert found > 8000


# Damaged files are read or refused in one line; nothing else comes out of a reader


FILES = [sample.read_bytes() for sample in (INSTANCES, PPDM, PPDM_MIXED)]
HAKE = orjson.dumps({IMAGE: {"labels": [TRIPLET] * 2}})
CASES = [*((data, damaged_json) for data in (*FILES, HAKE)), *((data, damaged_bytes) for data in FILES[::2])]


@pytest.mark.parametrize(("data", "damaged"), CASES)
@examples(2)
@given(seed=st.integers(0, 2**32))
@example(seed=0)
def test_damaged_json_is_read_or_refused(
    tmp_path: Path, data: bytes, damaged: Callable[[bytes, int], bytes], seed: int
) -> None:
    (tmp_path / "damaged.json").write_bytes(damaged(data, seed))
    with suppress(ShoeError):
        read_truth_file(tmp_path / "damaged.json")


def test_a_seed_names_one_damage_whatever_came_before() -> None:
    data = b'[{"a": [1, {"b": [2]}], "c": [3, 4]}]'
    assert [damaged_json(data, seed) for seed in range(1000)] == [damaged_json(data, seed) for seed in range(1000)]


@examples(2)
@given(seed=st.integers(0, 2**32))
def test_damaged_gzip_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    (tmp_path / "damaged.json.gz").write_bytes(damaged_bytes(gzip.compress(PPDM.read_bytes()), seed))
    with suppress(ShoeError):
        read_truth_file(tmp_path / "damaged.json.gz")
