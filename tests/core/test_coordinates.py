import numpy as np
import pytest

from shoe.core.boxes import CommonCoordinates, Coordinates, convert_boxes

C, P0, P1 = Coordinates.CONTINUOUS, Coordinates.PIXELS_0, Coordinates.PIXELS_1
BOX = [10.0, 20.0, 30.0, 40.0]

# protocols.md 0.3: who compares what. QPIC and THID shift nothing; the official script and PPDM add 1 to all four
# numbers of a prediction and nothing to the truth; UPT takes 1 from x1, y1 of the truth and nothing from a prediction.
WORKED = [
    *((CommonCoordinates.RAW, C, [10, 20, 30, 40]), (CommonCoordinates.RAW, P0, [10, 20, 30, 40])),
    *((CommonCoordinates.RAW, P1, [10, 20, 30, 40]), (CommonCoordinates.INDICES, C, [11, 21, 31, 41])),
    *((CommonCoordinates.INDICES, P0, [11, 21, 31, 41]), (CommonCoordinates.INDICES, P1, [10, 20, 30, 40])),
    *((CommonCoordinates.EDGES, C, [10, 20, 30, 40]), (CommonCoordinates.EDGES, P0, [10, 20, 31, 41])),
    (CommonCoordinates.EDGES, P1, [9, 19, 30, 40]),
]


@pytest.mark.parametrize(("common", "kind", "expected"), WORKED)
def test_a_box_moves_as_worked_by_hand(common: CommonCoordinates, kind: Coordinates, expected: list[float]) -> None:
    for kinds in ([kind], [kind, kind]):
        moved = convert_boxes(np.array([BOX, BOX]), np.array(kinds, np.uint8), common)
        assert moved.tolist() == [expected, expected]


@pytest.mark.parametrize("common", CommonCoordinates)
def test_coordinates_may_differ_from_box_to_box(common: CommonCoordinates) -> None:
    moved = convert_boxes(np.array([BOX, BOX, BOX]), np.array([P1, C, P0], np.uint8), common)
    expected = {(s, f): box for s, f, box in WORKED}
    assert moved.tolist() == [expected[common, P1], expected[common, C], expected[common, P0]]


def test_boxes_that_need_not_move_are_not_copied_and_given_boxes_are_left_alone() -> None:
    boxes = np.array([BOX])
    for kind, common in ((P1, CommonCoordinates.INDICES), (C, CommonCoordinates.EDGES), (P1, CommonCoordinates.RAW)):
        assert convert_boxes(boxes, np.array([kind], np.uint8), common) is boxes
    convert_boxes(boxes, np.array([P1], np.uint8), CommonCoordinates.EDGES)
    assert boxes.tolist() == [BOX]
    for common in CommonCoordinates:
        assert convert_boxes(np.zeros((0, 4)), np.zeros(0, np.uint8), common).shape == (0, 4)
    # The first pixel of an image has the edges 0 and 1 in all coordinates; its index is 0 or 1.
    for box, kind in ([0, 0, 1, 1], C), ([0, 0, 0, 0], P0), ([1, 1, 1, 1], P1):
        edges = convert_boxes(np.array([box], float), np.array([kind], np.uint8), CommonCoordinates.EDGES)
        assert edges.tolist() == [[0, 0, 1, 1]]
