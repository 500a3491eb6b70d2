import numpy as np
import pytest

from shoe.core.boxes import CommonCoordinates, Coordinates, convert_boxes

C, P0, P1 = Coordinates.CONTINUOUS, Coordinates.PIXELS_0, Coordinates.PIXELS_1
BOX = [10.0, 20.0, 30.0, 40.0]

# protocols.md 0.3: who compares what. QPIC and THID shift nothing; the official script and PPDM add 1 to all four
# numbers of a prediction and nothing to the truth; UPT takes 1 from x1, y1 of the truth and nothing from a prediction.
WORKED = {
    CommonCoordinates.RAW: {C: [10, 20, 30, 40], P0: [10, 20, 30, 40], P1: [10, 20, 30, 40]},
    CommonCoordinates.INDICES: {C: [11, 21, 31, 41], P0: [11, 21, 31, 41], P1: [10, 20, 30, 40]},
    CommonCoordinates.EDGES: {C: [10, 20, 30, 40], P0: [10, 20, 31, 41], P1: [9, 19, 30, 40]},
}


@pytest.mark.parametrize("common", CommonCoordinates)
@pytest.mark.parametrize("kinds", [[C], [P0], [P1], [C, C, C], [P0, P0, P0], [P1, P1, P1], [P1, C, P0]])
def test_boxes_move_as_worked_by_hand_each_in_its_coordinates(
    common: CommonCoordinates, kinds: list[Coordinates]
) -> None:
    moved = convert_boxes(np.array([BOX] * 3), np.array(kinds, np.uint8), common)
    assert moved.tolist() == [WORKED[common][kind] for kind in (kinds * 3)[:3]]


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
