from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from shoe.benchmarks.truth import read_truth_file
from shoe.core.errors import InputError
from tests.benchmarks.forms import as_bbox, structs, write_mat
from tests.benchmarks.samples import INSTANCES, parsed
from tests.examples import examples

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
    """Matlab writes one record like many, and one number like a matrix."""
    truth = read_truth_file(_write(tmp_path, _image(_hoi())))
    table = truth.interactions
    assert [truth.classes.labels[k] for k in truth.hoi] == ["ride horse"]
    assert table.human_boxes.tolist() == [[1, 2, 30, 40]]
    assert table.object_boxes.tolist() == [[5, 6, 70, 80]]
    assert table.sizes.tolist() == [[640, 480]]


def test_a_row_of_connection_is_a_triplet(tmp_path: Path) -> None:
    humans, objects = structs([BOX, OTHER]), structs([BOX, OTHER, BOX])
    connection = np.array([[2, 1], [1, 2], [1, 1]], np.uint8)
    path = _write(tmp_path, _image(_hoi(bboxhuman=humans, bboxobject=objects, connection=connection)))
    table = read_truth_file(path).interactions
    assert table.human_boxes[:, 0].tolist() == [5, 1, 1]
    assert table.object_boxes[:, 0].tolist() == [1, 5, 1]


def test_invisible_hois_are_skipped_and_images_without_hois_stay(tmp_path: Path) -> None:
    hidden = _hoi(invis=1, bboxhuman=NOTHING, bboxobject=NOTHING, connection=NOTHING)
    marked = _hoi(invis=1)
    unconnected = _hoi(connection=NOTHING, bboxhuman=NOTHING)
    images = [
        _image(hidden, filename="HICO_test2015_1.jpg"),
        _image(filename="HICO_test2015_2.jpg"),
        _image(hidden, _hoi(), marked, filename="HICO_test2015_3.jpg"),
        _image(unconnected, filename="HICO_test2015_4.jpg"),
    ]
    table = read_truth_file(_write(tmp_path, *images)).interactions
    assert np.diff(table.offsets).tolist() == [0, 0, 1, 0]


def test_numbers_of_every_matlab_type_are_read(tmp_path: Path) -> None:
    expected = read_truth_file(_write(tmp_path, _image(_hoi()))).interactions
    for kind in (np.uint8, np.int16, np.uint16, np.float32, np.float64):
        box, other = ({k: kind(v) for k, v in b.items()} for b in (BOX, OTHER))
        changes = {"bboxhuman": structs([box]), "bboxobject": structs([other]), "connection": np.array([[1, 1]], kind)}
        hoi = _hoi(id=kind(140), invis=kind(0), **changes)
        assert read_truth_file(_write(tmp_path, _image(hoi))).interactions.equals(expected)


def test_squeezed_values_are_read(tmp_path: Path) -> None:
    """What was read with squeezing and written again has vectors where Matlab has matrices."""
    box: NDArray[Any] = np.empty(1, [(name, "O") for name in BOX])
    box[0] = tuple(BOX.values())
    hoi = _hoi(bboxhuman=box, connection=np.array([1, 1]))
    assert read_truth_file(_write(tmp_path, _image(hoi))).interactions.equals(
        read_truth_file(_write(tmp_path, _image(_hoi()))).interactions
    )


FIRST = "image 'HICO_test2015_00000001.jpg'"
BROKEN = [
    (_image(filename=7), "image 1: found an invalid record, expected a filename, and a size with width and height"),
    (_image(filename=""), "image 1: found an invalid record, expected a filename"),
    (_image(size=NOTHING), "image 1: found an invalid record, expected a filename"),
    (_image(size=structs([{"width": 640}])), "image 1: found an invalid record, expected a filename"),
    (_image(size=structs([{"width": np.nan, "height": 480}])), "image 1: found an invalid record"),
    (_image(size=structs([{"width": 1e300, "height": 480}])), "image 1: found an invalid record"),
    (
        _image(size=structs([{"width": -640, "height": 480}])),
        "record 1: sizes: found -640 x 480, expected width and hei",
    ),
    (_image(hoi=np.array([1.0])), f"{FIRST}: hoi: found other data, expected structs, or []"),
    (_image(_hoi(id=0)), f"{FIRST}: hoi 1: id: found 0, expected 1 to 600"),
    (_image(_hoi(), _hoi(id=601)), f"{FIRST}: hoi 2: id: found 601, expected 1 to 600"),
    (_image(_hoi(id=np.nan)), f"{FIRST}: hoi 1: found an invalid record, expected numbers id and invis, boxes with x1"),
    (_image(_hoi(id=1.5)), f"{FIRST}: hoi 1: found an invalid record"),
    (_image(_hoi(id="140")), f"{FIRST}: hoi 1: found an invalid record"),
    (_image(_hoi(invis=NOTHING)), f"{FIRST}: hoi 1: found an invalid record"),
    (_image({"id": 140, "invis": 0}), f"{FIRST}: hoi 1: found an invalid record"),
    (_image(_hoi(bboxhuman=np.array([[1, 2, 30, 40]]))), f"{FIRST}: hoi 1: found an invalid record"),
    (_image(_hoi(bboxobject=structs([{"x1": 1, "x2": 2}]))), f"{FIRST}: hoi 1: found an invalid record"),
    (_image(_hoi(bboxobject=structs([BOX | {"x1": "one"}]))), f"{FIRST}: hoi 1: found an invalid record"),
    (_image(_hoi(bboxobject=structs([BOX | {"x1": 50}]))), "object box: found [50, 2, 30, 40], expected finite x1, y1"),
    (_image(_hoi(bboxhuman=structs([BOX | {"x1": np.nan}]))), "human box: found [nan, 2, 30, 40], expected finite x1"),
    (_image(_hoi(connection=np.array([[1, 2, 3]]))), f"{FIRST}: hoi 1: found an invalid record"),
    (_image(_hoi(connection="1")), f"{FIRST}: hoi 1: found an invalid record"),
    (
        _image(_hoi(connection=np.array([[0, 1]]))),
        f"{FIRST}: hoi 1: connection: found [0.0, 1.0], expected one of 1 hum",
    ),
    (
        _image(_hoi(connection=np.array([[1, 1], [1, 2]]))),
        "connection: found [1.0, 2.0], expected one of 1 humans and one",
    ),
    (_image(_hoi(connection=np.array([[1, np.nan]]))), "connection: found [1.0, nan], expected one of 1 humans"),
    (_image(_hoi(connection=np.array([[1, 0.5]]))), "connection: found [1.0, 0.5], expected one of 1 humans"),
    (
        _image(_hoi(bboxhuman=NOTHING)),
        "connection: found [1.0, 1.0], expected one of 0 humans and one of 1 objects, co",
    ),
]


@pytest.mark.parametrize(("image", "message"), BROKEN)
def test_a_broken_rule_is_named(tmp_path: Path, image: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as raised:
        read_truth_file(_write(tmp_path, image))
    assert str(raised.value).startswith(f"{tmp_path}/anno_bbox.mat: ")
    assert message in str(raised.value)


def test_a_training_image_that_points_beyond_its_boxes_is_left_out_and_named(tmp_path: Path) -> None:
    bad = _image(_hoi(bboxhuman=NOTHING), filename="HICO_train2015_1.jpg")
    good = _image(_hoi(), filename="HICO_train2015_2.jpg")
    truth = read_truth_file(write_mat(tmp_path / "anno_bbox.mat", bbox_train=structs([bad, good])))
    assert truth.interactions.images == ("HICO_train2015_2.jpg",)
    assert truth.left_out == ("HICO_train2015_1.jpg",)


def test_a_file_of_other_variables_is_refused(tmp_path: Path) -> None:
    for variables in ({"anno_test": np.zeros((2, 2))}, {}):
        with pytest.raises(InputError, match="found no such variable, expected bbox_test or bbox_train, as in anno"):
            read_truth_file(write_mat(tmp_path / "anno.mat", **variables))
    with pytest.raises(InputError, match="bbox_test: found no records, expected records with filename, size and hoi"):
        read_truth_file(write_mat(tmp_path / "anno.mat", bbox_test=np.ones((2, 2))))
    with pytest.raises(InputError, match="image 1: found an invalid record"):
        read_truth_file(write_mat(tmp_path / "anno.mat", bbox_test=structs([{"name": "a"}])))


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
    """A few real images, not compressed, so that damage reaches the structures."""
    import io

    from scipy.io import savemat

    document = parsed(INSTANCES)
    cut = {name: document[name][:3] for name in ("filenames", "size", "annotation")}
    buffer = io.BytesIO()
    savemat(buffer, {"bbox_test": as_bbox(document | cut)})
    return buffer.getvalue()
