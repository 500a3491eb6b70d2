"""The official Matlab format, as one file and as a folder."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from numpy.typing import NDArray

from shoe.benchmarks import benchmark
from shoe.benchmarks.hico_det import official_images
from shoe.core.io.matlab import cell_file
from shoe.predictions import read_predictions, read_predictions_with_notes
from shoe.predictions.truth import read_ground_truth
from tests.benchmarks.forms import write_mat
from tests.errors import input_error
from tests.predictions import samples
from tests.predictions.reading import codes

ROW = [9, 19, 109, 219, 58, 91, 299, 238, 0.81]


def mat(path: Path, shape: tuple[int, int], cells: dict[int, Any], name: str = "all_boxes") -> Path:
    """Write a file whose cells at some places, counted down each column, are filled."""
    matrices: list[NDArray[np.float64]] = [np.array(cells[place], np.float64) for place in sorted(cells)]
    path.write_bytes(b"".join(cell_file(name, shape, np.array(sorted(cells), np.int64), matrices)))
    return path


@pytest.mark.real_data
def test_columns_are_the_official_test_images(shared_data: Path) -> None:
    document = orjson.loads((shared_data / "hico_det" / "instances_test2015.json").read_bytes())
    assert official_images() == document["filenames"]


def test_a_folder_has_a_file_per_object_in_cocos_order(tmp_path: Path) -> None:
    with input_error("without official detections"):
        read_predictions_with_notes(tmp_path)
    table = samples.base()
    expected = []
    for number, object_ in enumerate(benchmark("hico-det").object_order.tolist(), start=1):
        classes = np.flatnonzero(samples.CLASSES.object == object_)
        cells = {}
        for column, image in enumerate(table.images):
            for row, hoi in enumerate(classes):
                words = samples.CLASSES.verbs[samples.CLASSES.verb[hoi]], samples.CLASSES.objects[object_]
                found = [r for r in samples.rows(table) if (r[0], *r[3:5]) == (image, *words)]
                if found:
                    cells[column * len(classes) + row] = [[*r[1], *r[2], r[5]] for r in found]
                    expected += found
        mat(tmp_path / f"detections_{number:02d}.mat", (len(classes), len(table.images)), cells)
    read, notes = read_predictions_with_notes(tmp_path, sizes=samples.sizes(table))
    assert (notes.format, codes(notes), notes.count("columns_by_truth")) == ("mat", ["columns_by_truth"], 4)
    assert sorted(samples.rows(read)) == sorted(expected)
    assert len(expected) == len(table)
    (tmp_path / "detections_17.mat").unlink()
    with input_error("no such file", source=str(tmp_path / "detections_17.mat")):
        read_predictions_with_notes(tmp_path, sizes=samples.sizes(table))


@pytest.mark.parametrize(
    ("cells", "shape", "values"),
    [
        ({0: [ROW[:8]]}, (600, 2), ("class 1: image 1: ", "(1, 8)", "n x 9")),
        ({601: [[5.0]]}, (600, 2), ("class 2: image 2: ", "(1, 1)", "n x 9")),
        ({}, (599, 2), ("all_boxes: ", "1,198 cells", "600 cells")),
        ({0: [ROW]}, (600, 3), ("all_boxes: ", "3 columns", "9,658")),
    ],
)
def test_cells_of_another_shape_are_refused(
    tmp_path: Path, cells: dict[int, Any], shape: tuple[int, int], values: tuple[str, ...]
) -> None:
    path = mat(tmp_path / "x.mat", shape, cells)
    with input_error(*values):
        read_predictions_with_notes(path, sizes={"a": (1, 1), "b": (1, 1)})


def test_one_row_of_one_cell_of_the_variable_is_read(tmp_path: Path) -> None:
    with input_error("no cells", field="all_boxes"):
        read_predictions_with_notes(mat(tmp_path / "x.mat", (600, 1), {}, name="other"))
    path = mat(tmp_path / "x.mat", (600, 1), {3: [ROW]})
    table, notes = read_predictions_with_notes(path, sizes={"a": (640, 480)})
    assert (table.verb[0], table.object[0]) == (samples.CLASSES.verb[3], samples.CLASSES.object[3])
    assert (table.human_boxes.tolist(), notes.boxes) == ([ROW[:4]], "pixels-0")


@pytest.mark.parametrize("count", [9, pytest.param(9658, marks=pytest.mark.slow)])
def test_as_many_columns_as_the_test_set_has_are_the_test_set(tmp_path: Path, count: int) -> None:
    official = official_images()[:count]
    path = mat(tmp_path / "x.mat", (600, count), {600 * 7: [ROW]})
    truth_in_another_order = dict.fromkeys(reversed(official), (640, 480))
    smaller = replace(benchmark("hico-det"), test_images=lambda: official)
    table, notes = read_predictions_with_notes(path, sizes=truth_in_another_order, dataset=smaller)
    assert (table.images, table.images[table.image[0]], notes.lines()) == (tuple(official), official[7], [])


def test_image_labels_are_named_wherever_they_are_given_by_mistake(tmp_path: Path) -> None:
    path = write_mat(tmp_path / "anno.mat", anno_test=np.ones((600, 2)))
    for read in (read_predictions, read_ground_truth):
        with input_error("image-level labels", "anno.mat", "--image-labels (Python: image_labels="):
            read(path)


def test_cells_of_images_by_classes_are_read_like_cells_of_classes_by_images(tmp_path: Path) -> None:
    other = [10, 20, 110, 220, 59, 92, 300, 239, 0.5]
    right = mat(tmp_path / "right.mat", (600, 2), {3: [ROW], 607: [other]})
    turned = mat(tmp_path / "turned.mat", (2, 600), {6: [ROW], 15: [other]})
    table, same = (read_predictions(path, sizes={"a": (640, 480), "b": (640, 480)}) for path in (right, turned))
    assert (table.image.tolist(), samples.rows(same)) == ([0, 1], samples.rows(table))


@pytest.mark.parametrize(("score_at", "place"), [(0, "human box, number 1"), (4, "object box, number 1")])
def test_scores_at_another_place_of_the_rows_are_refused(tmp_path: Path, score_at: int, place: str) -> None:
    rows = np.insert(np.tile(np.array(ROW[:8], float), (20, 1)), score_at, np.linspace(0.1, 0.9, 20), axis=1)
    path = mat(tmp_path / "x.mat", (600, 1), {3: rows})
    with input_error(f"{place}: ", "fractions", "score"):
        read_predictions(path, sizes={"a": (640, 480)})


@pytest.mark.parametrize("scale", [1, 1000])
def test_fractions_as_boxes_are_no_scores(tmp_path: Path, scale: float) -> None:
    rows = np.tile([0.1, 0.2, 0.5, 0.7, 0.2, 0.3, 0.9, 0.8, 0.5 * scale], (20, 1))
    path = mat(tmp_path / "x.mat", (600, 1), {3: rows})
    assert len(read_predictions(path, sizes={"a": (640, 480)}, boxes="unit,xyxy")) == 20
