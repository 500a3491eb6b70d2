"""The native file: a table as one uncompressed .npz that loads in milliseconds and round-trips to the bit."""

import os
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from shoe.errors import InputError, quote
from shoe.files import replacing
from shoe.interactions import Interactions

_ARRAYS = ("sizes", "frames", "offsets", "human_boxes", "object_boxes", "verb", "object", "score")
_WORDS = ("images", "verbs", "objects")
_VERSION = 1


def write_native(table: Interactions, path: str | Path) -> None:
    """Write a table; the file appears whole or not at all."""
    words = {name: list(getattr(table, name)) for name in _WORDS}
    header = np.frombuffer(orjson.dumps({"shoe": _VERSION, **words}), np.uint8)
    with replacing(path) as stream:
        np.savez(stream, header=header, **{name: getattr(table, name) for name in _ARRAYS})


def read_native(path: str | Path) -> Interactions:
    """Read a table written by :func:`write_native`; what is in it is checked as any other input.

    Raises:
        InputError: if the file is not such a table, or is damaged.
    """
    if not os.path.exists(path):
        raise InputError(path, found="no such file", expected="a native table (.npz)")
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as archive:
            header = orjson.loads(archive["header"].tobytes())
            arrays = {name: archive[name] for name in _ARRAYS}
    except Exception as error:  # a damaged archive makes its parsers raise whatever their bytes happen to run into
        found = f"a damaged file ({type(error).__name__})"
        raise InputError(path, found=found, expected="a native table (.npz)") from None
    if not isinstance(header, dict) or header.get("shoe") != _VERSION:
        version = header.get("shoe") if isinstance(header, dict) else header
        raise InputError(path, field="version", found=quote(version), expected=str(_VERSION))
    for name in _WORDS:
        if not isinstance(header.get(name), list):
            raise InputError(path, field=name, found=type(header.get(name)).__name__, expected="a list of names")
    return Interactions.from_columns(
        images=header["images"],
        image=_image_of_rows(path, arrays["offsets"], len(header["images"]), arrays["verb"].size),
        human_boxes=arrays["human_boxes"],
        object_boxes=arrays["object_boxes"],
        verb=arrays["verb"],
        object=arrays["object"],
        score=arrays["score"],
        sizes=arrays["sizes"],
        frame=arrays["frames"],
        verbs=header["verbs"],
        objects=header["objects"],
        source=path,
    )


def _image_of_rows(path: str | Path, offsets: NDArray[Any], images: int, rows: int) -> NDArray[np.int64]:
    """Each row's image, from offsets that have to start at 0, ascend, and end with the last row."""
    if offsets.dtype.kind in "iu" and offsets.shape == (images + 1,):
        edges = offsets.astype(np.int64)
        if edges[0] == 0 and edges[-1] == rows and (edges[1:] >= edges[:-1]).all():
            return np.repeat(np.arange(images), np.diff(edges))
    expected = f"{images + 1} ascending numbers from 0 to {rows}"
    raise InputError(path, field="offsets", found="broken offsets", expected=expected)
