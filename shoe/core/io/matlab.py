"""Reader for Matlab files (version 5 to 7.2), and writer for cell arrays.

SciPy's reader crashes the process on some damaged files; this reader checks every length. Format: MathWorks, "MAT-File
Format", version 5. A structure array becomes a list of dicts and a cell array a list of values, both in Matlab's
(column-major) order. Characters become a string, a 1 x 1 matrix a number, and other matrices an array.
"""

import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import InputError
from shoe.core.io.files import decompress_zlib

_MAGIC = b"MATLAB 5.0 MAT-file"
_MAGIC_HDF5 = b"MATLAB 7.3 MAT-file"
_HEADER_BYTES = 128
_LITTLE_ENDIAN = b"IM"

# Codes of data elements and matrix classes in the format
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _CHAR, _DOUBLE_CLASS = 1, 2, 4, 6
_INT8, _INT32, _UINT32, _FLOAT64 = 1, 5, 6, 9
_NUMERIC_CLASSES = range(6, 16)
_COMPLEX_FLAG = 0x0800
_NUMBERS = {1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "f", 9: "d", 12: "q", 13: "Q"}
_TEXT = {1: "latin-1", 2: "latin-1", 4: "utf-16-le", 16: "utf-8", 17: "utf-16-le", 18: "utf-32-le"}
_SCALARS = {kind: struct.Struct("<" + code) for kind, code in _NUMBERS.items()}
_TAG = struct.Struct("<II")

# Official detections have millions of empty cells, which share this array.
_EMPTY = np.zeros((0, 0))
_EMPTY.flags.writeable = False

_RUN = 1 << 16  # number of empty cells written at once

_DAMAGE = (ValueError, struct.error, zlib.error, IndexError, RecursionError, OverflowError, MemoryError)


class CellArray(list[Any]):
    """Cells of a Matlab cell array, column by column, with the ``shape`` of the array."""

    shape: tuple[int, ...] = ()


def is_matlab(data: bytes) -> bool:
    """Return whether a file starts like a Matlab file of version 5 to 7.3 (:func:`load_matlab` refuses 7.3)."""
    return data.startswith((_MAGIC, _MAGIC_HDF5))


def load_matlab(path: str | Path, data: bytes, names: Sequence[str]) -> dict[str, Any]:
    """Return {name: value} of the variables in ``names`` that the file contains.

    Raises InputError if the file is damaged or of another version, or a variable has an unsupported type.
    """
    if data.startswith(_MAGIC_HDF5):
        hint = "in Matlab: load the file, then save it with '-v7'"
        raise InputError(path, found="a version 7.3 file", expected="version 5 to 7.2", hint=hint)
    if data[126:_HEADER_BYTES] != _LITTLE_ENDIAN:
        raise InputError(path, found="no little-endian byte order mark", expected="a complete, little-endian .mat file")
    variables: dict[str, Any] = {}
    at = _HEADER_BYTES
    try:
        while at < len(data):
            kind, start, end, at = _element(data, at, len(data))
            content = data
            if kind == _COMPRESSED:
                at = end  # unlike other elements, compressed ones are not padded
                content = decompress_zlib(data[start:end])
                kind, start, end, _ = _element(content, 0, len(content))
            if kind != _MATRIX:
                raise ValueError("a data element that is not a variable")
            name, value_at, flags, dimensions = _matrix_header(content, start, end)
            if name in names:
                variables[name] = _value(content, value_at, end, flags, dimensions)
    except _DAMAGE as error:
        found = f"Matlab data that cannot be read ({error or type(error).__name__})"
        raise InputError(path, found=found, expected="a complete .mat file") from None
    return variables


def records(value: Any) -> list[dict[str, Any]]:
    """Return a structure array as a list of dicts, and an empty matrix as []; raise ValueError for other values."""
    if isinstance(value, np.ndarray) and not value.size:
        return []
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise ValueError
    return value


def text(value: Any) -> str:
    """Return a non-empty string, or such a string from a cell with one element; raise ValueError for other values."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def number(value: Any) -> float:
    """Return a number as a float; raise ValueError for other values."""
    if not isinstance(value, int | float):
        raise ValueError
    return float(value)


def whole_number(value: Any) -> int:
    """Return an integer with absolute value below 2**31; raise ValueError for other values."""
    real = number(value)
    if not real.is_integer() or abs(real) >= 2**31:
        raise ValueError
    return int(real)


def matrix(value: Any) -> NDArray[np.float64]:
    """Return a matrix of numbers, 1 x 1 for a single number; raise ValueError for other values."""
    if not isinstance(value, int | float | np.ndarray):
        raise ValueError
    array = np.asarray(value, np.float64)
    return array.reshape(1, 1) if array.ndim == 0 else array


def _element(data: bytes, at: int, limit: int) -> tuple[int, int, int, int]:
    """Return type, start and end of content of the element at byte ``at``, and its end, which is at most ``limit``."""
    kind, size = _TAG.unpack_from(data, at)
    if kind >> 16:  # up to four bytes fit into the tag itself
        kind, size, start, after = kind & 0xFFFF, kind >> 16, at + 4, at + 8
        if size > 4:
            raise ValueError('a MAT "small data element" that is longer than its maximum of 4 bytes')
    else:
        start = at + 8
        after = start + (size + 7) // 8 * 8
    if start + size > limit:
        raise ValueError("the file is incomplete: it ends in the middle of a value")
    return kind, start, start + size, after


def _matrix_header(data: bytes, at: int, end: int) -> tuple[str, int, int, tuple[int, ...]]:
    """Read the header of the matrix at byte ``at``; return name, start of the content, flags and dimensions."""
    _, start, stop, at = _element(data, at, end)
    if stop - start != 8:
        raise ValueError("a matrix without array flags")
    (flags,) = struct.unpack_from("<I", data, start)
    _, start, stop, at = _element(data, at, end)
    dimensions = struct.unpack_from(f"<{(stop - start) // 4}i", data, start)
    if len(dimensions) < 2 or min(dimensions) < 0:
        raise ValueError("a matrix without dimensions")
    _, start, stop, at = _element(data, at, end)
    return data[start:stop].decode("latin-1"), at, flags, dimensions


def _matrix(data: bytes, at: int, end: int) -> tuple[Any, int]:
    """Read an element of a cell or structure array; return its value and the start of the next element."""
    kind, start, stop, after = _element(data, at, end)
    if kind != _MATRIX:
        raise ValueError("a data element that is not a matrix")
    if start == stop:
        return _EMPTY, after
    _, value_at, flags, dimensions = _matrix_header(data, start, stop)
    return _value(data, value_at, stop, flags, dimensions), after


def _value(data: bytes, at: int, end: int, flags: int, dimensions: tuple[int, ...]) -> Any:
    count, matrix_class = math.prod(dimensions), flags & 0xFF
    if flags & _COMPLEX_FLAG:
        raise ValueError("complex numbers")
    if matrix_class in _NUMERIC_CLASSES:
        return _numbers(data, at, end, count, dimensions)
    if matrix_class == _STRUCT:
        return _structures(data, at, end, count)
    if matrix_class == _CHAR:
        kind, start, stop, _ = _element(data, at, end)
        if kind not in _TEXT or (count and dimensions[0] != 1):
            raise ValueError("text of an unsupported type")
        return data[start:stop].decode(_TEXT[kind])
    if matrix_class == _CELL:
        cells = CellArray()
        cells.shape = dimensions[:2]
        for _ in range(_checked(count, at, end)):
            value, at = _matrix(data, at, end)
            cells.append(value)
        return cells
    raise ValueError(f"values of the Matlab class {matrix_class} are not supported")


def _numbers(data: bytes, at: int, end: int, count: int, dimensions: tuple[int, ...]) -> Any:
    kind, start, stop, _ = _element(data, at, end)
    if kind not in _NUMBERS:
        raise ValueError("numbers of an unsupported type")
    if (stop - start) != count * _SCALARS[kind].size:
        raise ValueError("a number of values that does not match the dimensions of the matrix")
    if not count:
        return _EMPTY if dimensions == _EMPTY.shape else np.zeros(dimensions)
    if count == 1:
        return _SCALARS[kind].unpack_from(data, start)[0]
    return np.frombuffer(data, "<" + _NUMBERS[kind], count, start).reshape(dimensions, order="F")


def _structures(data: bytes, at: int, end: int, count: int) -> list[dict[str, Any]]:
    _, start, stop, at = _element(data, at, end)
    (width,) = struct.unpack_from("<i", data, start)
    _, start, stop, at = _element(data, at, end)
    if width <= 0 or (stop - start) % width:
        raise ValueError("a structure without field names")
    fields = [data[i : i + width].split(b"\0", 1)[0].decode("latin-1") for i in range(start, stop, width)]
    structures = []
    for _ in range(_checked(count * max(len(fields), 1), at, end) // max(len(fields), 1)):
        structure = {}
        for field in fields:
            structure[field], at = _matrix(data, at, end)
        structures.append(structure)
    return structures


def _checked(count: int, at: int, end: int) -> int:
    """Return ``count``, a number of matrices; ValueError if their tags do not fit into bytes ``at`` to ``end``."""
    if count * _TAG.size > end - at:
        raise ValueError("the file is incomplete: it ends in the middle of a value")
    return count


def cell_file(
    name: str, shape: tuple[int, int], filled: NDArray[np.int64], matrices: Sequence[NDArray[np.float64]]
) -> Iterator[bytes]:
    """Yield the bytes of a compressed Matlab file with one variable, a cell array in which most cells are empty.

    ``filled`` are the (c,) ascending indices of the non-empty cells, in column-major order, and ``matrices`` their
    contents. SciPy's writer takes a minute for the 5.8 million cells of HICO-DET's detections. Here, runs of empty
    cells are written at once.
    """
    header = b"MATLAB 5.0 MAT-file, written by shoe".ljust(124) + struct.pack("<H2s", 0x0100, b"IM")
    start = _header_bytes(_CELL, shape, name)
    empty = _matrix_bytes(np.zeros((0, 0)))
    size = len(start) + (shape[0] * shape[1] - len(filled)) * len(empty)
    size += sum(len(_header_bytes(_DOUBLE_CLASS, (1, 1))) + 16 + m.size * 8 for m in matrices)
    packer = zlib.compressobj(level=1)
    packed = [packer.compress(struct.pack("<II", _MATRIX, size) + start)]
    run = empty * _RUN
    done = 0
    for index, content in zip([*filled.tolist(), shape[0] * shape[1]], [*matrices, None], strict=True):
        runs, rest = divmod(index - done, _RUN)
        packed += [packer.compress(run) for _ in range(runs)]
        packed.append(packer.compress(empty * rest + (b"" if content is None else _matrix_bytes(content))))
        done = index + 1
    packed.append(packer.flush())
    yield header + struct.pack("<II", _COMPRESSED, sum(map(len, packed)))
    yield from packed


def _matrix_bytes(matrix: NDArray[np.float64]) -> bytes:
    numbers = _element_bytes(_FLOAT64, matrix.astype("<f8").tobytes("F"))
    return _element_bytes(_MATRIX, _header_bytes(_DOUBLE_CLASS, matrix.shape) + numbers)


def _header_bytes(matlab_class: int, shape: tuple[int, ...], name: str = "") -> bytes:
    return (
        _element_bytes(_UINT32, struct.pack("<II", matlab_class, 0))
        + _element_bytes(_INT32, struct.pack(f"<{len(shape)}i", *shape))
        + _element_bytes(_INT8, name.encode("ascii"))
    )


def _element_bytes(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)
