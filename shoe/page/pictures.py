"""Small pictures that a page holds itself."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path

from shoe.plots.pictures import read_picture

_LARGEST = 480
_QUALITY = 70


def picture(name: str, folder: Path | None, crop: tuple[float, float, float, float] | None = None) -> str | None:
    """A picture, or its part x1, y1, x2, y2, as a ``data:`` address, at most 480 pixels wide and high.

    None without a folder or a readable file.
    """
    if folder is None:
        return None
    found, _ = read_picture(name, folder)
    if found is None:
        return None
    found = found if crop is None else found.crop(crop)
    found.thumbnail((_LARGEST, _LARGEST))
    stream = BytesIO()
    found.save(stream, format="JPEG", quality=_QUALITY, optimize=True)
    return f"data:image/jpeg;base64,{base64.b64encode(stream.getvalue()).decode()}"
