"""Matlab files (version 5 to 7.2) and the few things in them that annotation readers need.

Matlab has no scalars and no lists: each value is a matrix, each record a 1 x 1 structure, and every tool squeezes them
in a way of its own. So values are taken by name and flattened, whatever their shape.
"""

import io
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.errors import InputError

_MAGIC = b"MATLAB 5.0 MAT-file"
_MAGIC_HDF5 = (b"MATLAB 7.3 MAT-file", b"\x89HDF")


def is_matlab(data: bytes) -> bool:
    """Tell whether a file's first bytes are those of a Matlab file."""
    return data.startswith((_MAGIC, *_MAGIC_HDF5))


def load_matlab(path: str | Path, data: bytes, names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Read those of some variables that a Matlab file has.

    Raises:
        InputError: if the file is damaged or of another version.
    """
    from scipy.io import loadmat

    if data.startswith(_MAGIC_HDF5):
        hint = "in Matlab: save(file, '-struct', 's', '-v7')"
        raise InputError(path, found="a version 7.3 file", expected="version 5 to 7.2", hint=hint)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            variables = loadmat(io.BytesIO(data), variable_names=list(names))
    except Exception as error:  # a damaged file makes the parser raise whatever its bytes happen to run into
        raise InputError(path, found=f"damaged Matlab data ({type(error).__name__})", expected="a .mat file") from None
    return {name: np.asarray(variables[name]) for name in names if name in variables}


def records(value: Any) -> list[Any]:
    """Flatten an array of structures; Matlab's [], which has no fields, holds none.

    Raises:
        ValueError: if it holds something else.
    """
    array = np.asarray(value)
    if array.size and array.dtype.names is None:
        raise ValueError
    return list(array.ravel()) if array.size else []


def text(value: Any) -> str:
    """Return the one string that a value holds, else raise ``ValueError``."""
    array = np.asarray(value)
    while array.dtype == object and array.size == 1:
        array = np.asarray(array.item())
    if array.size != 1 or array.dtype.kind != "U":
        raise ValueError
    return str(array.item())


def number(value: Any) -> float:
    """Return the one number that a value holds, else raise ``ValueError``."""
    array = np.asarray(value)
    if array.size != 1 or array.dtype.kind not in "biuf":
        raise ValueError
    return float(array.item())


def whole_number(value: Any) -> int:
    """Return the one whole number that a value holds, else raise ``ValueError``."""
    found = number(value)
    if not found.is_integer():
        raise ValueError
    return int(found)
