from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.core.boxes import Coordinates
from shoe.core.interactions import Interactions, concatenate
from tests.errors import input_error, option_error
from tests.tables import columns_of_one_triplet, one_triplet, tables

BROKEN = [
    ({"images": ["a.jpg", "a.jpg"]}, "images: found 'a.jpg' twice"),
    ({"verbs": ["ride", "ride"]}, "verbs: found 'ride' twice"),
    ({"verbs": {"ride"}}, "verbs: found a set"),
    ({"verbs": iter(["ride"])}, "verbs: found a list_iterator"),
    ({"objects": ["horse", None]}, "objects: found a name"),
    ({"images": ["a\ud800.jpg"]}, "images: found a name that is not valid Unicode"),
    ({"image": [1]}, "record 1: image: found index 1, expected 0 to 0"),
    ({"image": [0.5]}, "image: found values of type float64, expected whole numbers"),
    ({"images": []}, "record 1: image: found index 0, expected no indices"),
    ({"verb": [-1]}, "record 1 ('a.jpg'): verb: found index -1, expected 0 to 0"),
    ({"verb": [2**32]}, "record 1 ('a.jpg'): verb: found index 4294967296, expected 0 to 0"),
    ({"verb": [0, 0]}, "verb: found 2 rows, expected 1, one per triplet"),
    ({"object": [7]}, "record 1 ('a.jpg'): object: found index 7, expected 0 to 0"),
    ({"human_boxes": [[0, 0, 1]]}, "human_boxes: found shape (1, 3), expected shape (1, 4)"),
    ({"human_boxes": []}, "human_boxes: found shape (0,), expected shape (1, 4)"),
    ({"human_boxes": [[0, 0, 1, 1], [0, 0]]}, "human_boxes: found rows of different lengths, expected shape (1, 4)"),
    ({"human_boxes": [["a"] * 4]}, "human_boxes: found values of type <U1"),
    ({"human_boxes": [[0, 0, np.nan, 1]]}, "record 1 ('a.jpg'): human box: found [0, 0, nan, 1]"),
    ({"object_boxes": [[0, -np.inf, 1, 1]]}, "object box: found [0, -inf, 1, 1], expected finite x1, y1, x2, y2"),
    ({"object_boxes": [[0, 0, np.inf, 1]]}, "object box: found [0, 0, inf, 1]"),
    ({"object_boxes": [[0, 0, 1e10, 1]]}, "object box: found [0, 0, 1e+10, 1]"),
    ({"human_boxes": [[5, 0, 5, 9]]}, "human box: found [5, 0, 5, 9], expected finite x1, y1, x2, y2 with x1 < x2"),
    ({"human_boxes": [[0, 9, 5, 8]]}, "y1 < y2 ("),
    ({"human_boxes": [[6, 1, 5, 9]], "coordinates": Coordinates.PIXELS_1}, "human box: found [6, 1, 5, 9]"),
    ({"score": [np.nan]}, "record 1 ('a.jpg'): score: found nan"),
    ({"score": [np.inf]}, "record 1 ('a.jpg'): score: found inf"),
    ({"score": [1, 2]}, "score: found shape (2,), expected shape (1,)"),
    ({"sizes": [[1, 2], [3, 4]]}, "sizes: found shape (2, 2), expected shape (1, 2)"),
    ({"sizes": [[-1, 2]]}, "record 1: sizes: found -1 x 2"),
    ({"sizes": [[1.5, 2]]}, "record 1: sizes: found 1.5 x 2"),
    ({"coordinates": 3}, "record 1: coordinates: found index 3, expected 0 to 2"),
    ({"coordinates": [0, 0]}, "coordinates: found 2 values, expected 1, one per image"),
]


@pytest.mark.parametrize(("changes", "message"), BROKEN)
def test_a_broken_rule_is_named(changes: dict[str, object], message: str) -> None:
    with input_error(message, source="some.json"):
        Interactions.from_columns(**(columns_of_one_triplet() | changes), source="some.json")


def test_the_first_broken_row_is_named_with_its_image() -> None:
    columns = columns_of_one_triplet() | {"images": ["a.jpg", "b.jpg"], "image": [1, 0, 0, 1]}
    boxes = [[0, 0, 1, 1], [0, 0, 1, 1], [2, 0, 1, 1], [3, 0, 1, 1]]
    columns |= {"human_boxes": boxes, "object_boxes": boxes, "verb": [0] * 4, "object": [0] * 4}
    with input_error("[2, 0, 1, 1]", record="record 3 ('a.jpg')", field="human box"):
        Interactions.from_columns(**columns)


def test_defaults_an_empty_table_and_boxes_of_one_pixel() -> None:
    table = one_triplet()
    assert (table.score.tolist(), table.sizes.tolist()) == ([1], [[0, 0]])
    assert (table.coordinates.tolist(), table.offsets.tolist()) == ([Coordinates.CONTINUOUS], [0, 1])
    table = Interactions.from_columns(**dict.fromkeys(columns_of_one_triplet(), ()))  # type: ignore[arg-type]
    assert (len(table), table.human_boxes.shape, table.offsets.tolist()) == (0, (0, 4), [0])
    assert table.triplet_coordinates.shape == (0,)
    for kind in (Coordinates.PIXELS_0, Coordinates.PIXELS_1):
        assert len(one_triplet(human_boxes=[[5, 5, 5, 5]], coordinates=kind)) == 1


def test_rows_are_grouped_by_image_and_keep_their_order() -> None:
    columns = columns_of_one_triplet() | {
        "images": ["a", "b", "c"], "image": [2, 0, 2, 0], "human_boxes": [[0, 0, i + 1, 1] for i in range(4)],
        "object_boxes": [[0, 0, i + 1, 2] for i in range(4)], "verb": [0, 1, 2, 3], "object": [0] * 4,
        "verbs": ["p", "q", "r", "s"], "score": [0.5, 0.6, 0.7, 0.8],
    }  # fmt: skip
    table = Interactions.from_columns(**columns)
    assert (table.image.tolist(), table.verb.tolist()) == ([0, 0, 2, 2], [1, 3, 0, 2])
    assert (table.score.tolist(), table.human_boxes[:, 2].tolist()) == ([0.6, 0.8, 0.5, 0.7], [2, 4, 1, 3])
    assert table.offsets.tolist() == [0, 2, 2, 4]


@given(tables())
def test_building_a_table_from_its_own_columns_changes_nothing(table: Interactions) -> None:
    columns = (*columns_of_one_triplet(), "score", "sizes", "coordinates")
    assert Interactions.from_columns(**{name: getattr(table, name) for name in columns}).equals(table)


@given(tables(), st.data())
def test_select_keeps_rows_and_all_images(table: Interactions, data: st.DataObject) -> None:
    mask = np.array([data.draw(st.booleans()) for _ in range(len(table))], bool)
    chosen = table.select(mask)
    assert chosen.images == table.images
    for name in ("image", "human_boxes", "score"):
        assert getattr(chosen, name).tolist() == getattr(table, name)[mask].tolist()
    assert chosen.equals(table.select(np.flatnonzero(mask)))
    # Selecting twice is selecting once.
    second = np.array([data.draw(st.booleans()) for _ in range(mask.sum())], bool)
    assert chosen.select(second).equals(table.select(np.flatnonzero(mask)[second]))


@given(tables(), st.data())
def test_select_images_keeps_each_image_whole(table: Interactions, data: st.DataObject) -> None:
    mask = np.array([data.draw(st.booleans()) for _ in table.images], bool)
    chosen = table.select_images(mask)
    assert chosen.images == tuple(name for name, kept in zip(table.images, mask, strict=True) if kept)
    for name in ("sizes", "coordinates"):
        assert getattr(chosen, name).tolist() == getattr(table, name)[mask].tolist()
    assert np.diff(chosen.offsets).tolist() == np.diff(table.offsets)[mask].tolist()
    assert chosen.object_boxes.tolist() == table.object_boxes[mask[table.image]].tolist()
    assert chosen.equals(table.select_images(np.flatnonzero(mask)))


@given(tables(), st.data())
def test_concatenating_the_parts_of_a_split_gives_the_table(table: Interactions, data: st.DataObject) -> None:
    """Parts by images, and by triplets of the same images; one part may be the whole table."""
    for select, number in ((table.select_images, len(table.images)), (table.select, len(table))):
        assert select(np.ones(number, bool)).equals(table)
        first = np.arange(number) < data.draw(st.integers(0, number))
        assert concatenate([select(first), select(~first)]).equals(table)


def test_concatenate_renumbers_words_and_images_and_keeps_known_sizes() -> None:
    first = one_triplet(verbs=["walk", "ride"], verb=[1])
    second = one_triplet(images=["b.jpg", "a.jpg"], image=[1], verbs=["ride", "hug"], verb=[1], objects=["dog"])
    joined = concatenate([first, second])
    assert (joined.images, joined.verbs) == (("a.jpg", "b.jpg"), ("walk", "ride", "hug"))
    assert joined.objects == ("horse", "dog")
    pairs = [(joined.verbs[v], joined.objects[o]) for v, o in zip(joined.verb, joined.object, strict=True)]
    assert pairs == [("ride", "horse"), ("hug", "dog")]
    assert joined.offsets.tolist() == [0, 2, 2]
    for sizes in ([0, 0], [640, 480]), ([640, 480], [0, 0]):
        assert concatenate([one_triplet(sizes=[size]) for size in sizes]).sizes.tolist() == [[640, 480]]
    # Coordinates are one for all triplets, or one each.
    kinds = [Coordinates.PIXELS_1, Coordinates.PIXELS_0, Coordinates.CONTINUOUS]
    mixed = concatenate([one_triplet(images=[str(kind)], coordinates=kind) for kind in kinds])
    assert mixed.triplet_coordinates.tolist() == kinds
    assert one_triplet(coordinates=Coordinates.PIXELS_1).triplet_coordinates.tolist() == [Coordinates.PIXELS_1]


@pytest.mark.parametrize("change", [{"sizes": [[640, 481]]}, {"coordinates": Coordinates.PIXELS_1}])
def test_concatenate_refuses_one_image_in_two_sizes_or_coordinates(change: dict[str, object]) -> None:
    with input_error("two different sizes", record="'a.jpg'"):
        concatenate([one_triplet(sizes=[[640, 480]]), one_triplet(**({"sizes": [[640, 480]]} | change))])


def test_equality_is_to_the_bit() -> None:
    assert len(concatenate([])) == 0
    assert one_triplet().equals(one_triplet())
    assert not one_triplet().equals(one_triplet(score=[np.nextafter(1, 2)]))
    assert not one_triplet().equals(one_triplet(objects=["mule"]))


@pytest.mark.parametrize(
    "rows", [[1, 0], [-1], [2], [1.0, 0.0], [True], [[0, 1]], ["a"]], ids=["order", "sign", "range", *"ftmw"]
)
def test_select_refuses_rows_that_would_damage_the_table(rows: Any) -> None:
    """Rows in the order of their scores, as argsort returns them, once got the boxes of other images."""
    table = concatenate([one_triplet(images=[name]) for name in ("a.jpg", "b.jpg")])
    for select in (table.select, table.select_images):
        with option_error(f"{select.__name__}: found", "2 values"):
            select(rows)
    with option_error("repeated"):
        table.select_images([0, 0])
    assert table.select([]).images == ("a.jpg", "b.jpg")
    assert table.select([True, False]).equals(table.select(np.array([0], np.uint8)))
    assert table.select_images([1]).images == ("b.jpg",)
