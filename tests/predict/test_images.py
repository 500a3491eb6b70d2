"""Every file that people have pictures in becomes upright 8-bit RGB, or one line."""

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, features

from shoe.predict import images
from shoe.predict.images import check_images, opened, picture_files
from tests.errors import input_error

SIZE = (40, 24)
BOX = (30, 4, 38, 20)  # red, on grey, of the picture as it is to be looked at
# How to store a picture so that each orientation, from 2 on, turns it upright: the inverse of what a viewer does.
STORED = "FLIP_LEFT_RIGHT", "ROTATE_180", "FLIP_TOP_BOTTOM", "TRANSPOSE", "ROTATE_90", "TRANSVERSE", "ROTATE_270"


def upright() -> Image.Image:
    picture = Image.new("RGB", SIZE, (90, 90, 90))
    ImageDraw.Draw(picture).rectangle((BOX[0], BOX[1], BOX[2] - 1, BOX[3] - 1), fill=(250, 20, 20))
    return picture


def red_box(picture: Image.Image) -> tuple[int, ...]:
    values = np.asarray(picture).astype(int)
    y, x = np.nonzero(values[..., 0] - values[..., 1] > 100)
    return int(x.min()), int(y.min()), int(x.max()) + 1, int(y.max()) + 1


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_a_turned_picture_is_opened_upright_and_boxes_land(tmp_path: Path, orientation: int, suffix: str) -> None:
    stored = upright()
    for turn in STORED[orientation - 2 : orientation - 1] if orientation > 1 else ():
        stored = stored.transpose(Image.Transpose[turn])
    exif = Image.Exif()
    exif[0x0112] = orientation
    path = tmp_path / f"turned.{suffix}"
    stored.save(path, exif=exif, quality=100, subsampling=0)
    [picture], [] = check_images([path])
    shown = opened(picture)
    assert (picture.width, picture.height) == SIZE == shown.size
    assert np.abs(np.subtract(red_box(shown), BOX)).max() <= 1
    assert images.rgb(shown).mode == "RGB"


def saved(tmp_path: Path, name: str, picture: Image.Image) -> np.ndarray:
    picture.save(tmp_path / name)
    [found], [] = check_images([tmp_path / name])
    return np.asarray(opened(found))


def test_other_modes_keep_their_colours(tmp_path: Path) -> None:
    plain = np.asarray(upright()).astype(int)
    assert np.abs(saved(tmp_path, "ink.jpg", upright().convert("CMYK")) - plain).mean() < 8
    assert np.abs(saved(tmp_path, "ink.tif", upright().convert("CMYK")) - plain).max() <= 2
    assert np.abs(saved(tmp_path, "palette.gif", upright().quantize()) - plain).max() < 3
    grey = np.linspace(0, 65535, 40 * 24).astype(np.uint16).reshape(24, 40)
    for suffix in ("png", "tif"):
        assert np.array_equal(saved(tmp_path, f"deep.{suffix}", Image.fromarray(grey))[..., 0], grey // 257)
    for white in (Image.new("RGBA", SIZE, (0, 0, 0, 0)), Image.new("1", SIZE, 1)):  # see-through, or of bits
        assert saved(tmp_path, "white.png", white).min() == 255


def test_rare_files_are_shown(tmp_path: Path) -> None:
    for suffix in ("gif", "webp"):  # of an animation, the first image
        upright().save(path := tmp_path / f"a.{suffix}", save_all=True, append_images=[Image.new("RGB", SIZE)])
        [found], [] = check_images([path])
        assert np.abs(np.subtract(red_box(opened(found)), BOX)).max() <= 2
    assert saved(tmp_path, "pixel.png", Image.new("RGB", (1, 1), "white")).tolist() == [[[255, 255, 255]]]
    if features.check("avif"):
        assert saved(tmp_path, "a.avif", upright()).shape == (24, 40, 3)


def test_what_cannot_be_shown_is_known_before_the_first_question(tmp_path: Path) -> None:
    Image.fromarray(np.linspace(0, 1, 40 * 24, dtype=np.float32).reshape(24, 40)).save(tmp_path / "float.tif")
    Image.fromarray(np.full((24, 40), 70_000, np.int32)).save(tmp_path / "deep.tif")
    (tmp_path / "phone.heic").write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    upright().save(tmp_path / "good.png")
    upright().save(tmp_path / "bomb.png")
    bomb = bytearray((tmp_path / "bomb.png").read_bytes())
    bomb[16:24] = struct.pack(">II", 60_000, 60_000)
    bomb[29:33] = struct.pack(">I", zlib.crc32(bomb[12:29]))
    (tmp_path / "bomb.png").write_bytes(bomb)
    good, errors = check_images(picture_files([tmp_path]))
    assert [picture.name for picture in good] == ["good.png"]
    assert [Path(str(error.source)).name for error in errors] == ["bomb.png", "deep.tif", "float.tif", "phone.heic"]
    assert all(
        word in str(error) for word, error in zip(("too many", "mode I", "mode F", "Pillow"), errors, strict=True)
    )


def torn(kind: str) -> bytes:
    whole = io.BytesIO()
    Image.effect_noise((64, 64), 90).convert("RGB").save(whole, kind)
    return whole.getvalue()[: whole.tell() // 2]


@pytest.mark.parametrize(
    ("data", "found"),
    [
        *((b"", "empty"), (b"image,box\n1,2\n", "not an image")),
        *((torn(kind), "damaged image") for kind in ("jpeg", "png")),
    ],
)
def test_what_is_no_whole_picture_is_one_line(tmp_path: Path, data: bytes, found: str) -> None:
    (tmp_path / "x.jpg").write_bytes(data)
    [], [error] = check_images([tmp_path / "x.jpg"])
    assert (found in str(error), "\n" in str(error)) == (True, False)


def test_huge_missing_and_doubled_pictures_are_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.png"
    upright().save(path)
    [picture], [] = check_images([path])
    monkeypatch.setattr(images, "MOST_PIXELS", 900)
    [], [error] = check_images([path])
    assert "40 x 24 pixels" in str(error)
    monkeypatch.undo()
    (other := tmp_path / "other").mkdir()
    for place, found in ((tmp_path / "b.png", "a.png?"), (other, "folder without images")):
        with input_error(found, source=str(place)):
            picture_files([place])
    Image.new("RGB", SIZE).save(other / "a.png")
    with input_error("a second image", source=str(other / "a.png")):
        picture_files([tmp_path, other])
    Image.new("RGB", SIZE).save(path)
    with input_error("changed since", source=str(path)):
        opened(picture)


@pytest.mark.slow
def test_damage_anywhere_is_read_or_is_one_line(tmp_path: Path) -> None:
    rng, path = np.random.default_rng(5), tmp_path / "x"
    for kind in ("png", "jpeg", "gif", "tiff", "webp", "bmp"):
        whole = io.BytesIO()
        upright().save(whole, kind)
        data = np.frombuffer(whole.getvalue(), np.uint8)
        for _ in range(300):
            harmed = data.copy()
            harmed[rng.integers(len(data), size=3)] = rng.integers(256, size=3)
            path.write_bytes(harmed[: rng.integers(1, len(data) + 1)].tobytes())
            pictures, errors = check_images([path])
            for picture in pictures:
                assert opened(picture).mode == "RGB"
            assert len(pictures) + len(errors) == 1
