from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import read_classes
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.forms import write_mat
from tests.benchmarks.samples import INSTANCES, PPDM_MIXED
from tests.mentions import mentions
from tests.present import present


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
    assert present(truth.image_labels).dtype == np.int8
    assert np.array_equal(present(truth.image_labels), np.nan_to_num(labels[:, -2::-1], nan=-2))


def test_images_of_both_splits_find_their_labels(tmp_path: Path) -> None:
    images = read_truth_file(PPDM_MIXED).interactions.images
    test, train = (tuple(n for n in images if part in n) for part in ("test2015", "train2015"))
    labels = _labels(images)
    of_test, of_train = (labels[:, [images.index(name) for name in part]] for part in (test, train))
    lists = {"list_test": _names(test), "list_train": _names(train)}
    path = write_mat(tmp_path / "anno.mat", anno_test=of_test, anno_train=of_train, **lists)
    truth = read_truth_file(PPDM_MIXED, image_labels=path)
    assert np.array_equal(present(truth.image_labels), np.nan_to_num(labels, nan=-2))


def test_rows_are_the_classes_wanted(tmp_path: Path) -> None:
    dataset = benchmark("hico-det").classes
    truth = read_truth_file(INSTANCES)
    used = np.unique(truth.hoi)[::-1]
    rows = ["verb\tobject\tgerund\tverb_synset\tobject_synset\trare"]
    rows += [f"{dataset.verbs[dataset.verb[k]]}\t{dataset.objects[dataset.object[k]]}\t\t\t\t" for k in used]
    images = truth.interactions.images
    labels = _labels(images)
    path = write_mat(tmp_path / "anno.mat", anno_test=labels, list_test=_names(images))

    def read(lines: list[str]) -> GroundTruth:
        (tmp_path / "classes.tsv").write_text("\n".join(lines))
        return read_truth_file(INSTANCES, classes=read_classes(tmp_path / "classes.tsv", dataset), image_labels=path)

    found = read(rows).image_labels
    assert np.array_equal(present(found), np.nan_to_num(labels[used], nan=-2))
    with pytest.raises(InputError, match=mentions("'levitate sofa' … hico-det")):
        read([*rows, "levitate\tsofa\t\t\t\t"])


IMAGES = tuple(f"HICO_test2015_{i:08d}.jpg" for i in range(1, 25))
LIST, FULL = _names(IMAGES), np.ones((600, 24))
BROKEN = [
    ({}, "'HICO_test2015_00000001.jpg' among 0 images"),
    ({"anno_test": FULL}, "among 0 images"),
    ({"anno_test": FULL, "list_test": LIST}, "'HICO_test2015_00000154.jpg'"),
    ({"anno_test": FULL.T, "list_test": LIST}, "anno_test: … 24 x 600 … 600 classes x 24"),
    ({"anno_test": FULL, "list_test": np.ones(24)}, "list_test: … file names"),
    ({"anno_test": "a", "list_test": LIST}, "anno_test: … no matrix … 600 classes x 24"),
    ({"anno_test": np.full((600, 24), 2.0), "list_test": LIST}, "anno_test: … 2 … 1, 0, -1 or NaN"),
]


@pytest.mark.parametrize(("variables", "values"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, variables: dict[str, Any], values: str) -> None:
    path = write_mat(tmp_path / "anno.mat", **variables)
    for given, says in ((path, values), (INSTANCES, "anno.mat")):
        with pytest.raises(InputError, match=mentions(f"{given}: … {says}")):
            read_truth_file(INSTANCES, image_labels=given)
