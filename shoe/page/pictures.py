"""Small pictures that a page holds itself."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from shoe.plots.pictures import read_picture

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[float, float, float, float]

_LARGEST = 480
_QUALITY = 70


def picture(name: str, folder: Path | None) -> str | None:
    """A picture as a ``data:`` address, at most 480 pixels wide and high; None without a folder or a readable file."""
    if folder is None:
        return None
    found, _ = read_picture(name, folder)
    if found is None:
        return None
    return _address(found)


def part(name: str, folder: Path | None, crop: Box) -> tuple[str, Box] | None:
    """A part of a picture as a ``data:`` address, and what of it there is: the part cut at the picture's edges.

    None without a folder or a readable file, and where nothing of the part is in the picture.
    """
    if folder is None:
        return None
    found, _ = read_picture(name, folder)
    if found is None:
        return None
    low, high = (max(round(edge), 0) for edge in crop[:2]), map(min, map(round, crop[2:]), found.size)
    left, top, right, bottom = *low, *high
    if left >= right or top >= bottom:
        return None
    return _address(found.crop((left, top, right, bottom))), (left, top, right, bottom)


def _address(found: Image) -> str:
    found.thumbnail((_LARGEST, _LARGEST))
    stream = BytesIO()
    found.save(stream, format="JPEG", quality=_QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(stream.getvalue()).decode()}"
