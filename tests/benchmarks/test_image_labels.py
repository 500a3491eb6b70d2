from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import read_classes
from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.forms import write_mat
from tests.benchmarks.samples import INSTANCES, PPDM_MIXED


def _names(images: tuple[str, ...]) -> NDArray[Any]:
    cells = np.empty((len(images), 1), object)
    cells[:, 0] = images
    return cells


def _labels(images: tuple[str, ...]) -> NDArray[np.float64]:
    """(600, images) of everything that the file may hold: 1, 0, -1 and NaN."""
    return np.random.default_rng(0).choice([1, 0, -1, np.nan], (600, len(images)))


def test_labels_are_aligned_by_name(tmp_path: Path) -> None:
    images = read_truth_file(INSTANCES).interactions.images
    listed = (*reversed(images), "HICO_test2015_other.jpg")
    labels = _labels(listed)
    path = write_mat(tmp_path / "anno.mat", anno_test=labels, list_test=_names(listed))
    truth = read_truth_file(INSTANCES, image_labels=path)
    assert truth.image_labels is not None
    assert truth.image_labels.dtype == np.int8
    assert truth.image_labels.tolist() == np.nan_to_num(labels[:, -2::-1], nan=-2).tolist()


def test_images_of_both_splits_find_their_labels(tmp_path: Path) -> None:
    images = read_truth_file(PPDM_MIXED).interactions.images
    test, train = (tuple(n for n in images if part in n) for part in ("test2015", "train2015"))
    labels = _labels(images)
    place = {name: i for i, name in enumerate(images)}
    path = write_mat(
        tmp_path / "anno.mat",
        anno_test=labels[:, [place[n] for n in test]],
        list_test=_names(test),
        anno_train=labels[:, [place[n] for n in train]],
        list_train=_names(train),
    )
    truth = read_truth_file(PPDM_MIXED, image_labels=path)
    assert truth.image_labels is not None
    assert truth.image_labels.tolist() == np.nan_to_num(labels, nan=-2).tolist()


def test_rows_are_the_classes_wanted(tmp_path: Path) -> None:
    dataset = benchmark("hico-det").classes
    truth = read_truth_file(INSTANCES)
    used = np.unique(truth.hoi)[::-1]
    rows = [f"{dataset.verbs[dataset.verb[k]]}\t{dataset.objects[dataset.object[k]]}\t\t\t\t" for k in used]
    header = "verb\tobject\tgerund\tverb_synset\tobject_synset\trare"
    (tmp_path / "classes.tsv").write_text("\n".join([header, *rows]))
    images = truth.interactions.images
    labels = _labels(images)
    path = write_mat(tmp_path / "anno.mat", anno_test=labels, list_test=_names(images))
    classes = read_classes(tmp_path / "classes.tsv", benchmark("hico-det").classes)
    found = read_truth_file(INSTANCES, classes=classes, image_labels=path).image_labels
    assert found is not None
    assert found.tolist() == np.nan_to_num(labels[used], nan=-2).tolist()

    (tmp_path / "classes.tsv").write_text("\n".join([header, *rows, "levitate\tsofa\t\t\t\t"]))
    classes = read_classes(tmp_path / "classes.tsv", benchmark("hico-det").classes)
    with pytest.raises(InputError, match="found no labels of the class 'levitate sofa', expected classes of hico-det"):
        read_truth_file(INSTANCES, classes=classes, image_labels=path)


IMAGES = tuple(f"HICO_test2015_{i:08d}.jpg" for i in range(1, 25))
BROKEN = [
    ({}, "found no labels of 'HICO_test2015_00000001.jpg' among 0 images, expected every image of the ground truth"),
    ({"anno_test": np.ones((600, 24))}, "among 0 images"),
    (
        {"anno_test": np.ones((600, 24)), "list_test": _names(IMAGES)},
        "found no labels of 'HICO_test2015_00000154.jpg' amo",
    ),
    (
        {"anno_test": np.ones((24, 600)), "list_test": _names(IMAGES)},
        "anno_test: found 24 x 600, expected 600 classes x 24",
    ),
    (
        {"anno_test": np.ones((600, 24)), "list_test": np.ones(24)},
        "list_test: found cells that are not text, expected file names",
    ),
    (
        {"anno_test": "a", "list_test": _names(IMAGES)},
        "anno_test: found no matrix, expected 600 classes x 24",
    ),
    (
        {"anno_test": np.full((600, 24), 2.0), "list_test": _names(IMAGES)},
        "anno_test: found 2, expected 1, 0, -1 or NaN",
    ),
]


@pytest.mark.parametrize(("variables", "message"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, variables: dict[str, Any], message: str) -> None:
    path = write_mat(tmp_path / "anno.mat", **variables)
    with pytest.raises(InputError) as raised:
        read_truth_file(INSTANCES, image_labels=path)
    assert str(raised.value).startswith(f"{path}: ")
    assert message in str(raised.value)


def test_another_file_is_refused() -> None:
    with pytest.raises(InputError, match=r"instances_test2015.json: found no Matlab file, expected anno.mat"):
        read_truth_file(INSTANCES, image_labels=INSTANCES)
