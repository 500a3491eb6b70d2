import numpy as np
import pytest

from shoe.frames import BoxSpace, Frame, shifted

C, P0, P1 = Frame.CONTINUOUS, Frame.PIXELS_0, Frame.PIXELS_1
BOX = [10.0, 20.0, 30.0, 40.0]

# protocols.md 0.3: who compares what. QPIC and THID shift nothing; the official script and PPDM add 1 to all four
# numbers of a prediction and nothing to the truth; UPT takes 1 from x1, y1 of the truth and nothing from a prediction.
WORKED = [
    (BoxSpace.RAW, C, [10, 20, 30, 40]),
    (BoxSpace.RAW, P0, [10, 20, 30, 40]),
    (BoxSpace.RAW, P1, [10, 20, 30, 40]),
    (BoxSpace.INDICES, C, [11, 21, 31, 41]),
    (BoxSpace.INDICES, P0, [11, 21, 31, 41]),
    (BoxSpace.INDICES, P1, [10, 20, 30, 40]),
    (BoxSpace.EDGES, C, [10, 20, 30, 40]),
    (BoxSpace.EDGES, P0, [10, 20, 31, 41]),
    (BoxSpace.EDGES, P1, [9, 19, 30, 40]),
]


@pytest.mark.parametrize(("space", "frame", "expected"), WORKED)
def test_a_box_moves_as_worked_by_hand(space: BoxSpace, frame: Frame, expected: list[float]) -> None:
    for frames in ([frame], [frame, frame]):
        moved = shifted(np.array([BOX, BOX]), np.array(frames, np.uint8), space)
        assert moved.tolist() == [expected, expected]


@pytest.mark.parametrize("space", BoxSpace)
def test_frames_may_differ_from_box_to_box(space: BoxSpace) -> None:
    moved = shifted(np.array([BOX, BOX, BOX]), np.array([P1, C, P0], np.uint8), space)
    expected = {(s, f): box for s, f, box in WORKED}
    assert moved.tolist() == [expected[space, P1], expected[space, C], expected[space, P0]]


def test_the_first_pixel_of_an_image_is_the_same_in_every_frame() -> None:
    """Its edges are 0 and 1; its index is 0 or 1."""
    same = [([0, 0, 1, 1], C), ([0, 0, 0, 0], P0), ([1, 1, 1, 1], P1)]
    for box, frame in same:
        edges = shifted(np.array([box], float), np.array([frame], np.uint8), BoxSpace.EDGES)
        assert edges.tolist() == [[0, 0, 1, 1]]


def test_boxes_that_need_not_move_are_not_copied() -> None:
    boxes = np.array([BOX])
    assert shifted(boxes, np.array([P1], np.uint8), BoxSpace.INDICES) is boxes
    assert shifted(boxes, np.array([C], np.uint8), BoxSpace.EDGES) is boxes
    assert shifted(boxes, np.array([P1], np.uint8), BoxSpace.RAW) is boxes


def test_moving_leaves_the_given_boxes_alone() -> None:
    boxes = np.array([BOX])
    shifted(boxes, np.array([P1], np.uint8), BoxSpace.EDGES)
    assert boxes.tolist() == [BOX]


def test_no_boxes() -> None:
    for space in BoxSpace:
        assert shifted(np.zeros((0, 4)), np.zeros(0, np.uint8), space).shape == (0, 4)
