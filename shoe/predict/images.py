"""Image files: listing, checks before a run, and loading as 8-bit RGB after the EXIF rotation.

All boxes refer to the rotated image, because image viewers and the training of detectors also apply the EXIF rotation.
"""

from __future__ import annotations

import hashlib
import io
import struct
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shoe.core.errors import InputError, MissingExtraError, quote
from shoe.core.io.files import unreadable_error

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".avif", ".heic", ".heif")
"""File name extensions of images in a folder; images that Pillow cannot read are errors, and are not skipped."""
MOST_PIXELS = 100_000_000  # of an image, which then needs 300 MB of memory
_DIGEST_BYTES = 16
_ORIENTATION = 0x0112
_SIDEWAYS = (5, 6, 7, 8)
_DEEPEST = 65535
_BROKEN = (OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, EOFError, struct.error, OverflowError)
"""Exceptions that Pillow raises for damaged files. Warnings about damaged EXIF data and large images are ignored."""


@dataclass(frozen=True, slots=True)
class Picture:
    """Image file that can be read, with a hash of its content, and its size in pixels after the EXIF rotation."""

    name: str
    path: Path
    digest: str
    width: int
    height: int

    @property
    def about(self) -> dict[str, Any]:
        """Fields that records of detections and pairs share."""
        return {"image": self.name, "digest": self.digest, "width": self.width, "height": self.height}


def picture_files(places: Sequence[str | Path]) -> list[Path]:
    """Return the paths of given image files, and of the files with ``SUFFIXES`` in given folders (each sorted by name).

    Raises InputError if a path does not exist, a folder has no images, or two images have the same name.
    """
    by_name: dict[str, Path] = {}
    for place in map(Path, places):
        if not place.exists():
            raise unreadable_error(place, FileNotFoundError())
        files = [place]
        if place.is_dir():
            files = sorted(path for path in place.iterdir() if path.suffix.lower() in SUFFIXES)
            if not files:
                expected = f"files that end in {', '.join(SUFFIXES)}"
                raise InputError(place, found="a folder without images", expected=expected)
        for path in files:
            if by_name.setdefault(path.name, path) != path:
                hint = f"the first image with this name is {by_name[path.name]}"
                found, expected = "a second image with this name", "a different name for each image"
                raise InputError(path, found=found, expected=expected, hint=hint)
    return list(by_name.values())


def check_images(files: Sequence[Path]) -> tuple[list[Picture], list[InputError]]:
    """Check image files in parallel; return the readable images, in order, and one error per unreadable file."""

    def picture_or_error(path: Path) -> Picture | InputError:
        try:
            return decoded_picture(path)
        except InputError as error:
            return error

    with warnings.catch_warnings(action="ignore"), ThreadPoolExecutor() as pool:
        results = list(pool.map(picture_or_error, files))
    pictures = [result for result in results if isinstance(result, Picture)]
    return pictures, [result for result in results if isinstance(result, InputError)]


def all_pictures(places: Sequence[str | Path], say: Callable[[str], object]) -> list[Picture]:
    """Return the images in the given files and folders, with absolute paths, as workers on a cluster need them.

    Raises InputError for the first unreadable image, after passing the errors of all others to ``say``.
    """
    pictures, errors = check_images(picture_files(places))
    for error in errors[1:]:
        say(str(error))
    if errors:
        raise errors[0]
    return [replace(picture, path=picture.path.absolute()) for picture in pictures]


def decoded_picture(path: Path) -> Picture:
    """Decode an image file and return it with size and digest; raise InputError if it is damaged or too large."""
    data, digest = _content(path)
    with _opened(path, data) as image:
        width, height = image.size
        image.draft("RGB", (width // 8, height // 8))  # decodes a JPEG faster
        image.load()
        if image.mode.startswith("I") or image.mode == "F":
            rgb(image)  # raises ValueError for values that cannot be shown to a model
        if image.getexif().get(_ORIENTATION) in _SIDEWAYS:  # loading a TIFF has already rotated it
            width, height = height, width
    return Picture(path.name, path, digest, width, height)


def opened(picture: Picture) -> Image:
    """Return an image as 8-bit RGB after the EXIF rotation; raise InputError if the file has changed."""
    from PIL import ImageOps

    data, digest = _content(picture.path)
    if digest != picture.digest:
        raise InputError(picture.path, found="a file changed since the start of the run", expected="an unchanged file")
    with warnings.catch_warnings(action="ignore"), _opened(picture.path, data) as image:
        return rgb(ImageOps.exif_transpose(image))


def rgb(image: Image) -> Image:
    """Return an image of any mode as 8-bit RGB, on white if transparent; ValueError for floats and above 16 bits."""
    from PIL import Image as Images

    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image)
        if values.dtype.kind == "f" or values.min(initial=0) < 0 or values.max(initial=0) > _DEEPEST:
            raise ValueError(f"pixel values (mode {image.mode}) that are not whole numbers from 0 to {_DEEPEST}")
        return Images.fromarray((values.astype(np.uint32) // 257).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        white = Images.new("RGBA", image.size, "white")
        white.alpha_composite(image.convert("RGBA"))
        return white.convert("RGB")
    return image.convert("RGB")


def _content(path: Path) -> tuple[bytes, str]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable_error(path, error) from None
    return data, hashlib.sha256(data).digest()[:_DIGEST_BYTES].hex()


@contextmanager
def _opened(path: Path, data: bytes) -> Iterator[Any]:
    """Yield an image opened by Pillow; exceptions of Pillow, also in the ``with`` block, are raised as InputError."""
    try:
        from PIL import Image as Images, UnidentifiedImageError
    except ImportError:
        raise MissingExtraError("reading images", "predict") from None
    if not data:
        raise InputError(path, found="an empty file", expected="an image")
    most = f"at most {MOST_PIXELS / 1e6:g} million"
    try:
        with Images.open(io.BytesIO(data)) as image:
            width, height = image.size
            if width * height > MOST_PIXELS:
                raise InputError(path, found=f"{width:,} x {height:,} pixels", expected=most)
            yield image
    except Images.DecompressionBombError:
        raise InputError(path, found="too many pixels", expected=most) from None
    except UnidentifiedImageError:
        found = f"a file that is not an image that Pillow can read ({quote(data[:16])})"
        raise InputError(path, found=found, expected="an image, such as JPEG or PNG") from None
    except _BROKEN as error:
        raise InputError(path, found=f"a damaged image ({error})", expected="an undamaged image") from None
