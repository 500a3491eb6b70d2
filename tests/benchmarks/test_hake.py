"""HICO-DET's training set in HAKE's form."""

import io
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from shoe.benchmarks import benchmark
from shoe.benchmarks.base import ImageLabel
from shoe.benchmarks.summary import Recounted, summary
from shoe.benchmarks.truth import read_truth_file
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError
from shoe.core.interactions import image_index
from tests.benchmarks.forms import as_hake
from tests.benchmarks.samples import read, training
from tests.mentions import mentions
from tests.present import present

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
