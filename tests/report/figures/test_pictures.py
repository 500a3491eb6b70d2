"""Cases on their pictures: drawn where they are, to be told apart without colour, readable, and the same each time."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from PIL import Image, ImageDraw

from shoe.core.errors import MissingExtraError
from shoe.diagnosis.error_gains import ErrorExample, Shown
from shoe.diagnosis.error_types import ERRORS
from shoe.report.figures import pictures
from shoe.report.figures.pictures import HEIGHT, WIDTH, Box, cut, draw_case, draw_pictures, draw_tag, font_of
from shoe.report.figures.style import BLUE, ORANGE
from tests.errors import error_with, input_error
from tests.report.figures.models import NAMES, diagnosed

SIZE = 480, 360
TRUTH = Shown((50.0, 60.0, 200.0, 300.0), (250.0, 100.0, 400.0, 340.0), "ride", "horse")
PREDICTED = Shown((60.0, 70.0, 220.0, 310.0), (100.0, 20.0, 240.0, 120.0), "hold", "dog")


def case(
    name: str = "a.jpg", size: tuple[int, int] = SIZE, predicted: Shown | None = PREDICTED, truth: Shown | None = TRUTH
) -> ErrorExample:
    overlap = (0.5, 0.5) if predicted and truth else None
    return ErrorExample(name, size, predicted, 0.5 if predicted else None, truth, True, None, overlap)


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour[1:]))


def along(cell: Image.Image, y: float, left: float, right: float, colour: str) -> float:
    """Share of the pixels on a level line that have a colour."""
    line = [cell.getpixel((x, round(y))) == rgb(colour) for x in range(round(left), round(right))]
    return sum(line) / len(line)


def test_people_are_drawn_through_and_objects_dashed_and_truth_is_wider() -> None:
    cell = draw_case(case(), None)
    for pair, colour in ((TRUTH, BLUE), (PREDICTED, ORANGE)):
        human, thing = pair.human, pair.object
        assert along(cell, human[3], human[0] + 3, human[2] - 3, colour) > 0.9
        assert 0.4 < along(cell, thing[3], thing[0] + 3, thing[2] - 3, colour) < 0.8
    column = [cell.getpixel((120, y)) for y in range(290, 320)]
    assert column.count(rgb(BLUE)) > 2 * column.count(rgb(ORANGE)) > 0


@pytest.mark.parametrize("drawn_at", [1.0, 0.5, 2.0])
def test_boxes_lie_where_the_annotation_has_them_at_any_size_of_the_picture(tmp_path: Path, drawn_at: float) -> None:
    picture = Image.new("RGB", (round(SIZE[0] * drawn_at), round(SIZE[1] * drawn_at)), "black")
    left, top, right, bottom = (edge * drawn_at for edge in TRUTH.human)
    ImageDraw.Draw(picture).rectangle((left, top, right, bottom), "#FF00FF")
    picture.save(tmp_path / "a.png")
    cell = draw_case(case("a.png", predicted=None), tmp_path)
    assert (cell.getpixel((70, 150)), cell.getpixel((220, 30))) == ((255, 0, 255), (0, 0, 0))
    assert along(cell, TRUTH.human[3], 60, 190, BLUE) > 0.9


def test_pictures_of_any_shape_and_unknown_size() -> None:
    sizes = [(0, 0), (10, 3000), (3000, 10), (1, 1)]
    assert {draw_case(case(size=size), None).size for size in sizes} == {(WIDTH, HEIGHT)}


def test_without_a_folder_pillow_is_not_needed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "PIL", None)
    assert pictures.read_picture("a.jpg", None)[0] is None
    with error_with(MissingExtraError, "images", "pip install"):
        pictures.read_picture("a.jpg", tmp_path)


def test_what_cannot_be_shown_is_said(tmp_path: Path) -> None:
    (tmp_path / "broken.jpg").write_bytes(b"\xff\xd8\xff\xe0 not a picture")
    (tmp_path / "text.jpg").write_text("%!PS-Adobe-3.0 EPSF-3.0")
    (tmp_path / "folder.jpg").mkdir()
    assert "no image folder" in pictures.read_picture("a.jpg", None)[1]
    for name in ("broken.jpg", "text.jpg", "folder.jpg", "a\0.jpg"):
        assert pictures.read_picture(name, tmp_path) == (None, "image not readable")
    # Names of images lead nowhere but into the folder.
    inside = tmp_path / "pictures"
    inside.mkdir()
    Image.new("RGB", (4, 4)).save(tmp_path / "secret.png")
    for name in ("a.jpg", "../secret.png", str(tmp_path / "secret.png")):
        assert pictures.read_picture(name, inside) == (None, "no such image")
    Image.new("RGB", (4, 4)).save(inside / "secret.png")
    assert pictures.read_picture("val/secret.png", inside)[0] is not None


def test_huge_pictures_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 100)
    Image.new("RGB", (15, 10)).save(tmp_path / "large.png")
    Image.new("RGB", (30, 10)).save(tmp_path / "larger.png")
    for name in ("large.png", "larger.png"):
        assert pictures.read_picture(name, tmp_path) == (None, "image not readable")


@pytest.mark.slow
@given(st.integers(0, 2**32 - 1))
def test_words_stay_inside_and_off_each_other(seed: int) -> None:
    rng = np.random.default_rng(seed)
    image = Image.new("RGB", (WIDTH, HEIGHT))
    taken: list[Box] = []
    for text in rng.choice([*NAMES, "truth: human", "predicted: dining_table"], rng.integers(1, 6)):
        left, top = int(rng.integers(WIDTH - 1)), int(rng.integers(HEIGHT - 1))
        box = Box(left, top, int(rng.integers(left + 1, WIDTH + 1)), int(rng.integers(top + 1, HEIGHT + 1)))
        spot = draw_tag(ImageDraw.Draw(image), box, str(text), BLUE, taken, [box])
        assert 0 <= spot.left <= spot.right <= WIDTH
        assert 0 <= spot.top <= spot.bottom <= HEIGHT
        assert all(spot.overlap(other) == 0 for other in taken)
        taken.append(spot)


def test_a_word_does_not_hide_a_small_box() -> None:
    small = Box(200, 200, 220, 215)
    draw = ImageDraw.Draw(Image.new("RGB", (WIDTH, HEIGHT)))
    assert draw_tag(draw, Box(190, 217, 300, 300), "truth: cup", BLUE, [], [small]).overlap(small) == 0


@pytest.mark.parametrize("text", NAMES)
def test_texts_are_cut_to_their_width(text: str) -> None:
    assert all(font_of(13).getlength(cut(text, font_of(13), width)) <= width for width in (20, 63, 200))


@pytest.mark.parametrize(("number", "columns", "rows"), [(1, 2, 1), (2, 2, 1), (4, 3, 2), (6, 3, 2)])
def test_grids_have_room_for_all(number: int, columns: int, rows: int) -> None:
    image = pictures.grid([case()] * number, "title " * 60, "line " * 60, None)
    assert (image.width > columns * WIDTH, image.height > rows * HEIGHT) == (True, True)


@pytest.mark.slow
def test_a_grid_an_error_the_same_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    diagnosis, photos = diagnosed("free text"), tmp_path / "photos"
    photos.mkdir()
    truth = diagnosis.task.truth.interactions
    for k, (name, size) in enumerate(zip(truth.images, truth.sizes.tolist(), strict=True)):
        if k % 5:  # every fifth is missing
            Image.new("RGB", tuple(size), (k % 256, 90, 200)).save(photos / name)
    written = draw_pictures(diagnosis, NAMES[4], tmp_path / "one", photos)
    names = ["human_box", "object_box", "both_boxes", "duplicate", "interaction", "missed_gt"]
    assert [path.name for path in written] == [f"{name}.png" for name in names]
    assert sorted(os.listdir(tmp_path / "one")) == sorted(path.name for path in written)
    for path in written:
        with Image.open(path) as image:
            assert image.width <= 3 * (WIDTH + 20)
    monkeypatch.setattr(pictures, "ERRORS", [error for error in ERRORS if error.name == "interaction"])
    (again,) = draw_pictures(diagnosis, NAMES[4], tmp_path / "two", photos)
    assert again.read_bytes() == (tmp_path / "one" / again.name).read_bytes()


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with input_error(source=str(tmp_path / "file" / "inside")):
        draw_pictures(diagnosed("free text"), "a", tmp_path / "file" / "inside", None)
