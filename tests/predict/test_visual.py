"""Visual prompts: what is shown, where the marks land, and that equal pictures are one picture."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from shoe.predict.images import Picture, check_images
from shoe.predict.records import Pair
from shoe.predict.visual import MARKS, Visual, fitted, marks_named, visual_prompt, whole
from tests.errors import option_error
from tests.predict.made import made_pictures

PERSON, HORSE, DOG = (4.0, 2.0, 24.0, 40.0), (20.5, 20.5, 50.0, 44.0), (52.0, 4.0, 62.0, 10.0)
PAIR = Pair(PERSON, HORSE, "horse", 0.9, 0.5)
OTHERS = (PAIR, Pair(PERSON, DOG, "dog"), Pair(PERSON, (0.0, 30.0, 30.0, 48.0), "cow"))
BLUE, RED, BLACK = (0, 0, 255), (255, 0, 0), (0, 0, 0)


@pytest.fixture
def picture(tmp_path: Path) -> Picture:
    path = tmp_path / "a.png"
    values = np.random.default_rng(0).integers(60, 200, (48, 64, 3)).astype(np.uint8)
    Image.fromarray(values).save(path)
    [found], [] = check_images([path])
    return found


def pixels(picture: Picture, marks: str, **settings: Any) -> list[np.ndarray[Any, Any]]:
    visual = Visual(marks=marks_named(marks), **settings)
    return [np.asarray(view.open()).astype(int) for view in visual_prompt(picture, PAIR, OTHERS, visual).pictures]


def places_of(values: np.ndarray[Any, Any], colour: tuple[int, int, int]) -> np.ndarray[Any, Any]:
    return np.asarray((values == colour).all(axis=-1))


def test_boxes_are_drawn_where_they_are(picture: Picture) -> None:
    plain, [drawn] = pixels(picture, "none")[0], pixels(picture, "boxes")
    for colour, (x1, y1, x2, y2) in ((BLUE, (4, 2, 24, 40)), (RED, (20, 20, 50, 44))):
        y, x = np.nonzero(places_of(drawn, colour))
        assert (x.min(), y.min(), x.max() + 1, y.max() + 1) == (x1, y1, x2, y2)
    inside = np.s_[3:19, 5:23]
    assert (drawn[inside] == plain[inside]).all()
    assert (drawn[45:] == plain[45:]).all()


def test_boxes_land_on_a_turned_picture(tmp_path: Path) -> None:
    """A camera held sideways: the file's pixels lie on their side, boxes and marks are those of the upright picture."""
    upright = Image.new("RGB", (64, 48), (90, 90, 90))
    upright.paste((200, 200, 20), (4, 2, 24, 40))
    exif = Image.Exif()
    exif[0x0112] = 6
    upright.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "a.png", exif=exif)
    [turned], [] = check_images([tmp_path / "a.png"])
    [drawn] = pixels(turned, "boxes")
    y, x = np.nonzero(places_of(drawn, (200, 200, 20)) | places_of(drawn, BLUE))
    assert (x.min(), y.min(), x.max() + 1, y.max() + 1) == (4, 2, 24, 40)
    assert turned.width == 64


def test_what_is_black_or_blurred_leaves_the_two(picture: Picture) -> None:
    plain = pixels(picture, "none")[0]
    two = np.zeros((48, 64), bool)
    two[2:40, 4:24] = two[20:44, 20:50] = True
    [black] = pixels(picture, "black")
    assert (places_of(black, BLACK) == ~two).all()
    [others] = pixels(picture, "others-black")
    dog = np.zeros((48, 64), bool)
    dog[4:10, 52:62] = dog[30:48, 0:30] = True
    assert (places_of(others, BLACK) == (dog & ~two)).all()
    [blurred] = pixels(picture, "blur")
    assert (blurred[two] == plain[two]).all()
    assert np.abs(np.diff(blurred[0], axis=0)).mean() < np.abs(np.diff(plain[0], axis=0)).mean()


def test_crops_show_the_two_and_marks_move_with_them(picture: Picture) -> None:
    plain = pixels(picture, "none")[0]
    [union] = pixels(picture, "crop", margin=0)
    assert (union == plain[2:44, 4:50]).all()
    [wide] = pixels(picture, "crop", margin=1.0)
    assert wide.shape == plain.shape
    [drawn] = pixels(picture, "crop+boxes", margin=0)
    y, x = np.nonzero(places_of(drawn, BLUE))
    assert (x.min(), y.min(), x.max() + 1, y.max() + 1) == (0, 0, 20, 38)
    first, person, thing = pixels(picture, "crops")
    assert (first == plain).all()
    assert person.shape == (38, 32, 3)  # not narrower than a model can see
    assert (thing == plain[16:48, 19:51]).all()


@pytest.mark.parametrize(
    ("marks", "settings", "person", "horse"),
    [
        ("none", {}, "", ""),
        ("boxes", {}, " in the blue box", " in the red box"),
        ("text", {}, " at [4, 2, 24, 40]", " at [20, 20, 50, 44]"),
        ("text", {"coordinates": "thousandths"}, " at [62, 42, 375, 833]", " at [320, 427, 781, 917]"),
        ("text", {"coordinates": "fractions"}, " at [0.062, 0.042, 0.375, 0.833]", " at [0.320, 0.427, 0.781, 0.917]"),
        ("text", {"max_pixels": 64 * 48 // 4}, " at [2, 1, 12, 20]", " at [10, 10, 25, 22]"),
        ("text+crop", {"margin": 0}, " at [0, 0, 20, 38]", " at [16, 18, 46, 42]"),
        ("text+boxes", {}, " in the blue box at [4, 2, 24, 40]", " in the red box at [20, 20, 50, 44]"),
    ],
)
def test_texts_say_where(picture: Picture, marks: str, settings: dict[str, Any], person: str, horse: str) -> None:
    for thing, words in (("horse", "the horse"), ("person", "the other person")):
        pair = Pair(PERSON, HORSE, thing, 0.9, 0.5)
        said = visual_prompt(picture, pair, OTHERS, Visual(marks=marks_named(marks), **settings))
        assert (said.person, said.thing) == (f"the person{person}", f"{words}{horse}")


def test_the_digest_is_of_what_is_shown(picture: Picture, tmp_path: Path) -> None:
    other = Pair(PERSON, DOG, "dog")

    def digest(pair: Pair, marks: str, **settings: Any) -> str:
        return visual_prompt(picture, pair, OTHERS, Visual(marks=marks_named(marks), **settings)).pictures[0].digest

    assert digest(PAIR, "text") == digest(other, "text") == digest(PAIR, "none") == picture.digest
    scaled = digest(PAIR, "text", max_pixels=999)
    assert scaled == digest(other, "none", max_pixels=999) == whole(picture, Visual(max_pixels=999)).digest
    different = {digest(pair, marks) for pair in (PAIR, other) for marks in MARKS if marks not in ("text", "crops")}
    assert len(different) == 2 * (len(MARKS) - 2)
    [again] = made_pictures(tmp_path / "b", ["a.png"])
    assert visual_prompt(again, PAIR, OTHERS, Visual()).pictures[0].digest != digest(PAIR, "boxes")


def test_sizes_are_those_that_a_processor_would_make_and_marks_are_named_in_any_order() -> None:
    assert fitted((640, 480), Visual()) == (640, 480)
    assert fitted((640, 480), Visual(multiple=28)) == (644, 476)
    assert fitted((1280, 960), Visual(multiple=28, max_pixels=640 * 480)) == (616, 476)
    assert fitted((10, 20), Visual(multiple=28, min_pixels=56 * 56)) == (56, 84)
    assert marks_named("crop+boxes") == marks_named("boxes+crop") == ("boxes", "crop")
    assert marks_named("none") == ()
    with option_error("'box'", "boxes?"):
        marks_named("box")
