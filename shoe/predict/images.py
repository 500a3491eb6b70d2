"""Pictures: found, looked at before anything is asked about them, and opened as they are to be looked at.

A camera writes how it was held into EXIF data, and viewers, detectors' training sets and people see the picture turned
accordingly; so all boxes are those of the turned one. Whatever a file holds (CMYK, a palette, 16 bits, transparency)
becomes 8-bit RGB here and nowhere else.
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
from shoe.core.io.files import unreadable

if TYPE_CHECKING:
    from PIL.Image import Image

SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff")
"""Endings of the files of a folder that are pictures."""
MOST_PIXELS = 100_000_000
"""A larger picture is refused: opened, it would take 300 MB and more."""
_DIGEST_BYTES = 16
_ORIENTATION = 0x0112
_SIDEWAYS = (5, 6, 7, 8)
_DEEPEST = 65535
_EIGHTH = 8
_BROKEN = (OSError, SyntaxError, ValueError, TypeError, KeyError, IndexError, EOFError, struct.error, OverflowError)
"""What Pillow's readers raise for damaged files."""


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture's file, looked at.

    Attributes:
        name: the file's, without folders.
        path: the file.
        digest: 32 hex digits of its content.
        width, height: in pixels, turned as EXIF data say.
    """

    name: str
    path: Path
    digest: str
    width: int
    height: int


def picture_files(places: Sequence[str | Path]) -> list[Path]:
    """List picture files: those named, and of folders those with one of ``SUFFIXES``, by name."""
    found: dict[str, Path] = {}
    for place in map(Path, places):
        if not place.exists():
            raise unreadable(place, FileNotFoundError())
        files = [place]
        if place.is_dir():
            files = sorted(path for path in place.iterdir() if path.suffix.lower() in SUFFIXES)
            if not files:
                raise InputError(place, found="a folder without pictures", expected=f"files {' '.join(SUFFIXES)}")
        for path in files:
            if path.name in found and found[path.name] != path:
                hint = f"the other one is {found[path.name]}"
                raise InputError(path, found="a second picture of this name", expected="one name each", hint=hint)
            found[path.name] = path
    return list(found.values())


def looked_at(files: Sequence[Path]) -> tuple[list[Picture], list[InputError]]:
    """Look at every file, to its end, with all processors; nothing needs to be asked about what cannot be read.

    Returns:
        The pictures, in order, and an error for each file that is none.
    """

    def look_or_error(path: Path) -> Picture | InputError:
        try:
            return look(path)
        except InputError as error:
            return error

    with _unwarned(), ThreadPoolExecutor() as pool:
        found = list(pool.map(look_or_error, files))
    return [one for one in found if isinstance(one, Picture)], [one for one in found if isinstance(one, InputError)]


def all_pictures(places: Sequence[str | Path], say: Callable[[str], object]) -> list[Picture]:
    """Look at all pictures of files and folders before anything is asked about them.

    Args:
        places: files and folders.
        say: takes a line for each picture but the first that cannot be read.

    Returns:
        Pictures with absolute paths, by which workers elsewhere find them.
    """
    pictures, errors = looked_at(picture_files(places))
    for error in errors[1:]:
        say(str(error))
    if errors:
        raise errors[0]
    return [replace(picture, path=picture.path.absolute()) for picture in pictures]


def look(path: Path) -> Picture:
    """Read a picture's size and see that it is whole."""
    data, digest = _content(path)
    with _opened(path, data) as image:
        width, height = image.size
        image.draft("RGB", (width // _EIGHTH, height // _EIGHTH))  # a JPEG is read faster so
        image.load()
        if image.getexif().get(_ORIENTATION) in _SIDEWAYS:  # which loading a TIFF has seen to
            width, height = height, width
    return Picture(path.name, path, digest, width, height)


def opened(picture: Picture) -> Image:
    """Open a picture as it is to be looked at: turned, 8-bit RGB."""
    from PIL import ImageOps

    data, digest = _content(picture.path)
    if digest != picture.digest:
        raise InputError(picture.path, found="another picture than at the start", expected="files that stay")
    with _unwarned(), _opened(picture.path, data) as image:
        return rgb(ImageOps.exif_transpose(image))


def rgb(image: Image) -> Image:
    """Make a picture of any mode 8-bit RGB; what is transparent becomes white."""
    from PIL import Image as Images

    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image)
        if values.dtype.kind == "f" or values.min(initial=0) < 0 or values.max(initial=0) > _DEEPEST:
            raise ValueError(f"pixels of the mode {image.mode} outside 0 to {_DEEPEST}, or with fractions")
        return Images.fromarray((values.astype(np.uint32) // 257).astype(np.uint8)).convert("RGB")
    if image.has_transparency_data:
        seen = image.convert("RGBA")
        white = Images.new("RGBA", image.size, "white")
        white.alpha_composite(seen)
        return white.convert("RGB")
    return image.convert("RGB")


def _content(path: Path) -> tuple[bytes, str]:
    """The bytes of a file, and their digest."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None
    return data, hashlib.sha256(data).digest()[:_DIGEST_BYTES].hex()


@contextmanager
def _unwarned() -> Iterator[None]:
    """Keep Pillow's warnings to itself: of sizes, which are checked here, and of damaged EXIF data."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextmanager
def _opened(path: Path, data: bytes) -> Iterator[Any]:
    """Open a picture's file; what Pillow says of it, then and within, becomes one line."""
    try:
        from PIL import Image as Images
        from PIL import UnidentifiedImageError
    except ImportError:
        raise MissingExtraError("looking at pictures", "predict") from None
    expected = "a picture"
    if not data:
        raise InputError(path, found="an empty file", expected=expected)
    try:
        image = Images.open(io.BytesIO(data))
        width, height = image.size
        if width * height > MOST_PIXELS:
            found = f"{width:,} x {height:,} pixels"
            raise InputError(path, found=found, expected=f"at most {MOST_PIXELS / 1e6:g} million")
        with image:
            yield image
    except Images.DecompressionBombError:
        raise InputError(path, found="too many pixels", expected=f"at most {MOST_PIXELS / 1e6:g} million") from None
    except UnidentifiedImageError:
        raise InputError(path, found=f"no picture ({quote(data[:16])})", expected=expected) from None
    except _BROKEN as error:
        raise InputError(path, found=f"a damaged picture ({error})", expected="a whole one") from None
