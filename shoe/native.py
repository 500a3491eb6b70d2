"""The native file: a table as one uncompressed .npz that loads in milliseconds and round-trips to the bit."""

import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from shoe.errors import InputError
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
    try:
        with np.load(path, allow_pickle=False) as archive:
            header: dict[str, Any] = orjson.loads(archive["header"].tobytes())
            arrays = {name: archive[name] for name in _ARRAYS}
        if header["shoe"] != _VERSION:
            raise InputError(path, field="version", found=str(header["shoe"]), expected=str(_VERSION))
        counts = np.diff(arrays["offsets"])
        if arrays["offsets"][0] != 0 or (counts < 0).any() or len(counts) != len(header["images"]):
            raise InputError(path, field="offsets", found="broken offsets", expected="ascending, one per image")
        return Interactions.from_columns(
            images=header["images"],
            image=np.repeat(np.arange(len(counts)), counts),
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
    except (OSError, ValueError, KeyError, TypeError, IndexError, EOFError, zipfile.BadZipFile) as error:
        if not os.path.exists(path):
            raise InputError(path, found="no such file", expected="a native table (.npz)") from None
        raise InputError(path, found=f"a damaged file ({type(error).__name__})", expected="a native table") from None
