"""HICO-DET's official Matlab files: annotated boxes, and image labels."""

import io
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray
from scipy.io import savemat

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import read_classes
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.forms import as_bbox, structs, write_mat
from tests.benchmarks.samples import INSTANCES, PPDM_MIXED, parsed
from tests.examples import examples
from tests.mentions import mentions
from tests.present import present

BOX = {"x1": 1, "x2": 30, "y1": 2, "y2": 40}
OTHER = {"x1": 5, "x2": 70, "y1": 6, "y2": 80}
NOTHING = np.zeros((0, 0))


def _hoi(**changes: Any) -> dict[str, Any]:
    boxes = {"bboxhuman": structs([BOX]), "bboxobject": structs([OTHER])}
    return {"id": 140, **boxes, "connection": np.array([[1, 1]]), "invis": 0} | changes


def _image(*hois: dict[str, Any], **changes: Any) -> dict[str, Any]:
    size = structs([{"width": 640, "height": 480, "depth": 3}])
    return {"filename": "HICO_test2015_00000001.jpg", "size": size, "hoi": structs(list(hois))} | changes


def _write(tmp_path: Path, *images: dict[str, Any]) -> Path:
    return write_mat(tmp_path / "anno_bbox.mat", bbox_test=structs(list(images)))


def test_one_image_one_hoi_one_box(tmp_path: Path) -> None:
    truth = read_truth_file(_write(tmp_path, _image(_hoi())))
    columns = (truth.interactions.human_boxes, truth.interactions.object_boxes, truth.interactions.sizes)
    assert [truth.classes.labels[k] for k in truth.hoi] == ["ride horse"]
    assert [column.tolist() for column in columns] == [[[1, 2, 30, 40]], [[5, 6, 70, 80]], [[640, 480]]]


def test_a_row_of_connection_is_a_triplet(tmp_path: Path) -> None:
    humans, objects = structs([BOX, OTHER]), structs([BOX, OTHER, BOX])
    connection = np.array([[2, 1], [1, 2], [1, 1]], np.uint8)
    path = _write(tmp_path, _image(_hoi(bboxhuman=humans, bboxobject=objects, connection=connection)))
    table = read_truth_file(path).interactions
    assert table.human_boxes[:, 0].tolist() == [5, 1, 1]
    assert table.object_boxes[:, 0].tolist() == [1, 5, 1]


def test_invisible_hois_are_skipped_and_images_without_hois_stay(tmp_path: Path) -> None:
    hidden = _hoi(invis=1, bboxhuman=NOTHING, bboxobject=NOTHING, connection=NOTHING)
    unconnected = _hoi(connection=NOTHING, bboxhuman=NOTHING)
    listed = [[hidden], [], [hidden, _hoi(), _hoi(invis=1)], [unconnected]]
    images = [_image(*hois, filename=f"HICO_test2015_{number}.jpg") for number, hois in enumerate(listed)]
    table = read_truth_file(_write(tmp_path, *images)).interactions
    assert np.diff(table.offsets).tolist() == [0, 0, 1, 0]


def test_numbers_of_every_matlab_type_and_squeezed_values_are_read(tmp_path: Path) -> None:
    expected = read_truth_file(_write(tmp_path, _image(_hoi()))).interactions
    for kind in (np.uint8, np.int16, np.uint16, np.float32, np.float64):
        box, other = ({k: kind(v) for k, v in b.items()} for b in (BOX, OTHER))
        changes = {"bboxhuman": structs([box]), "bboxobject": structs([other]), "connection": np.array([[1, 1]], kind)}
        hoi = _hoi(id=kind(140), invis=kind(0), **changes)
        assert read_truth_file(_write(tmp_path, _image(hoi))).interactions.equals(expected)
    # What was read with squeezing and written again has vectors where Matlab has matrices.
    vector: NDArray[Any] = np.array([tuple(BOX.values())], [(name, "O") for name in BOX])
    hoi = _hoi(bboxhuman=vector, connection=np.array([1, 1]))
    assert read_truth_file(_write(tmp_path, _image(hoi))).interactions.equals(expected)


FIRST = "image 'HICO_test2015_00000001.jpg'"
IMAGE, HOI = "image 1: … filename … size … width … height", f"{FIRST}: hoi 1: … id … invis … x1"
BROKEN = [
    (_image(filename=7), IMAGE),
    (_image(filename=""), IMAGE),
    (_image(size=NOTHING), IMAGE),
    (_image(size=structs([{"width": 640}])), IMAGE),
    (_image(size=structs([{"width": np.nan, "height": 480}])), IMAGE),
    (_image(size=structs([{"width": 1e300, "height": 480}])), IMAGE),
    (_image(size=structs([{"width": -640, "height": 480}])), "record 1: sizes: … -640 x 480"),
    (_image(hoi=np.array([1.0])), f"{FIRST}: hoi: … structs … []"),
    (_image(_hoi(id=0)), f"{FIRST}: hoi 1: id: … 0 … 1 to 600"),
    (_image(_hoi(), _hoi(id=601)), f"{FIRST}: hoi 2: id: … 601 … 1 to 600"),
    (_image(_hoi(id=np.nan)), HOI),
    (_image(_hoi(id=1.5)), HOI),
    (_image(_hoi(id="140")), HOI),
    (_image(_hoi(invis=NOTHING)), HOI),
    (_image({"id": 140, "invis": 0}), HOI),
    (_image(_hoi(bboxhuman=np.array([[1, 2, 30, 40]]))), HOI),
    (_image(_hoi(bboxobject=structs([{"x1": 1, "x2": 2}]))), HOI),
    (_image(_hoi(bboxobject=structs([BOX | {"x1": "one"}]))), HOI),
    (_image(_hoi(bboxobject=structs([BOX | {"x1": 50}]))), "object box: … [50, 2, 30, 40] … finite x1"),
    (_image(_hoi(bboxhuman=structs([BOX | {"x1": np.nan}]))), "human box: … [nan, 2, 30, 40] … finite x1"),
    (_image(_hoi(connection=np.array([[1, 2, 3]]))), HOI),
    (_image(_hoi(connection="1")), HOI),
    (_image(_hoi(connection=np.array([[0, 1]]))), f"{FIRST}: hoi 1: connection: … [0.0, 1.0] … 1 hum"),
    (_image(_hoi(connection=np.array([[1, 1], [1, 2]]))), "connection: … [1.0, 2.0] … 1 humans"),
    (_image(_hoi(connection=np.array([[1, np.nan]]))), "connection: … [1.0, nan] … 1 humans"),
    (_image(_hoi(connection=np.array([[1, 0.5]]))), "connection: … [1.0, 0.5] … 1 humans"),
    (_image(_hoi(bboxhuman=NOTHING)), "connection: … [1.0, 1.0] … 0 humans … 1 objects"),
]


@pytest.mark.parametrize(("image", "values"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, image: dict[str, Any], values: str) -> None:
    with pytest.raises(InputError, match=mentions(f"{tmp_path}/anno_bbox.mat: … {values}")):
        read_truth_file(_write(tmp_path, image))


def test_a_training_image_that_points_beyond_its_boxes_is_left_out_and_named(tmp_path: Path) -> None:
    bad = _image(_hoi(bboxhuman=NOTHING), filename="HICO_train2015_1.jpg")
    good = _image(_hoi(), filename="HICO_train2015_2.jpg")
    truth = read_truth_file(write_mat(tmp_path / "anno_bbox.mat", bbox_train=structs([bad, good])))
    assert truth.interactions.images == ("HICO_train2015_2.jpg",)
    assert truth.left_out == ("HICO_train2015_1.jpg",)


@pytest.mark.parametrize(
    ("variables", "values"),
    [
        ({"anno_test": np.zeros((2, 2))}, "bbox_test … bbox_train"),
        ({}, "bbox_test … bbox_train"),
        ({"bbox_test": np.ones((2, 2))}, "bbox_test: … filename … size … hoi"),
        ({"bbox_test": structs([{"name": "a"}])}, IMAGE),
    ],
)
def test_a_file_of_other_variables_is_refused(tmp_path: Path, variables: dict[str, Any], values: str) -> None:
    with pytest.raises(InputError, match=mentions(values)):
        read_truth_file(write_mat(tmp_path / "anno.mat", **variables))


@examples(5)
@given(data=st.data())
def test_damaged_bytes_are_read_or_refused(tmp_path: Path, data: st.DataObject) -> None:
    content = bytearray(_small_file())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(116, len(content) - 1))] = data.draw(st.integers(0, 255))
    (tmp_path / "damaged.mat").write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    with suppress(InputError):
        read_truth_file(tmp_path / "damaged.mat")


def _small_file() -> bytes:
    document = parsed(INSTANCES)
    cut = {name: document[name][:3] for name in ("filenames", "size", "annotation")}
    buffer = io.BytesIO()
    savemat(buffer, {"bbox_test": as_bbox(document | cut)})
    return buffer.getvalue()


# Image labels


def _cells(images: tuple[str, ...]) -> NDArray[Any]:
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
    path = write_mat(tmp_path / "anno.mat", anno_test=labels, list_test=_cells(listed))
    truth = read_truth_file(INSTANCES, image_labels=path)
    assert present(truth.image_labels).dtype == np.int8
    assert np.array_equal(present(truth.image_labels), np.nan_to_num(labels[:, -2::-1], nan=-2))


def test_images_of_both_splits_find_their_labels(tmp_path: Path) -> None:
    images = read_truth_file(PPDM_MIXED).interactions.images
    test, train = (tuple(n for n in images if part in n) for part in ("test2015", "train2015"))
    labels = _labels(images)
    of_test, of_train = (labels[:, [images.index(name) for name in part]] for part in (test, train))
    lists = {"list_test": _cells(test), "list_train": _cells(train)}
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
    path = write_mat(tmp_path / "anno.mat", anno_test=labels, list_test=_cells(images))

    def read(lines: list[str]) -> GroundTruth:
        (tmp_path / "classes.tsv").write_text("\n".join(lines))
        return read_truth_file(INSTANCES, classes=read_classes(tmp_path / "classes.tsv", dataset), image_labels=path)

    found = read(rows).image_labels
    assert np.array_equal(present(found), np.nan_to_num(labels[used], nan=-2))
    with pytest.raises(InputError, match=mentions("'levitate sofa' … hico-det")):
        read([*rows, "levitate\tsofa\t\t\t\t"])


IMAGES = tuple(f"HICO_test2015_{i:08d}.jpg" for i in range(1, 25))
LIST, FULL = _cells(IMAGES), np.ones((600, 24))
BROKEN_LABELS = [
    ({}, "'HICO_test2015_00000001.jpg' among 0 images"),
    ({"anno_test": FULL}, "among 0 images"),
    ({"anno_test": FULL, "list_test": LIST}, "'HICO_test2015_00000154.jpg'"),
    ({"anno_test": FULL.T, "list_test": LIST}, "anno_test: … 24 x 600 … 600 classes x 24"),
    ({"anno_test": FULL, "list_test": np.ones(24)}, "list_test: … file names"),
    ({"anno_test": "a", "list_test": LIST}, "anno_test: … no matrix … 600 classes x 24"),
    ({"anno_test": np.full((600, 24), 2.0), "list_test": LIST}, "anno_test: … 2 … 1, 0, -1 or NaN"),
]


@pytest.mark.parametrize(("variables", "values"), BROKEN_LABELS)
def test_broken_labels_are_named(tmp_path: Path, variables: dict[str, Any], values: str) -> None:
    path = write_mat(tmp_path / "anno.mat", **variables)
    for file, says in ((path, values), (INSTANCES, "anno.mat")):
        with pytest.raises(InputError, match=mentions(f"{file}: … {says}")):
            read_truth_file(INSTANCES, image_labels=file)
