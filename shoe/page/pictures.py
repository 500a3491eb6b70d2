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

_QUALITY = 70


def picture(name: str, folder: Path | None) -> str | None:
    """A picture as a ``data:`` address, at most 480 pixels wide and high; None without a folder or a readable file."""
    found, _ = read_picture(name, folder)
    return address(small(found)) if found else None


def part(name: str, folder: Path | None, crop: Box) -> tuple[str, Box] | None:
    """A part of a picture as a ``data:`` address, and what of it there is: the part cut at the picture's edges.

    None without a folder or a readable file, and where nothing of the part is in the picture.
    """
    found, _ = read_picture(name, folder)
    cut = found and cut_out(found, crop)
    return (address(small(cut[0])), cut[1]) if cut else None


def cut_out(found: Image, crop: Box) -> tuple[Image, Box] | None:
    """What of a part there is in a picture, and where; None if nothing is."""
    low, high = (max(round(edge), 0) for edge in crop[:2]), map(min, map(round, crop[2:]), found.size)
    left, top, right, bottom = *low, *high
    if left >= right or top >= bottom:
        return None
    return found.crop((left, top, right, bottom)), (left, top, right, bottom)


def small(found: Image, largest: int = 480) -> bytes:
    """A copy as JPEG, no wider and no higher than it may be; ``found`` itself is made as small."""
    found.thumbnail((largest, largest))
    stream = BytesIO()
    found.save(stream, format="JPEG", quality=_QUALITY, optimize=True)
    return stream.getvalue()


def address(jpeg: bytes) -> str:
    """A picture as a ``data:`` address, which a page holds itself."""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode()}"
