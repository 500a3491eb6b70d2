"""A Matlab file with one array of cells, most of them empty.

SciPy's writer takes a minute for the 5.8 million cells of the official form; here, runs of empty cells are one
multiplication. Format: MathWorks, "MAT-File Format", version 5: an element is its type and size, then content padded
to eight bytes; a matrix holds its flags, dimensions, name and numbers as elements.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

_INT8, _INT32, _UINT32, _DOUBLE, _MATRIX, _COMPRESSED = 1, 5, 6, 9, 14, 15
_CELL_CLASS, _DOUBLE_CLASS = 1, 6
_RUN = 1 << 16


def cell_file(
    name: str, shape: tuple[int, int], filled: NDArray[np.int64], matrices: Sequence[NDArray[np.float64]]
) -> Iterator[bytes]:
    """Make the parts of a compressed file that holds one array of cells.

    Args:
        name: the variable's.
        shape: rows and columns of the array.
        filled: (c,) ascending places of the cells that are not empty, counted down each column.
        matrices: c matrices, one for each of these.
    """
    header = b"MATLAB 5.0 MAT-file, written by shoe".ljust(124) + struct.pack("<H2s", 0x0100, b"IM")
    start = _matrix_start(_CELL_CLASS, shape, name)
    empty = _matrix(np.zeros((0, 0)))
    size = len(start) + (shape[0] * shape[1] - len(filled)) * len(empty)
    size += sum(len(_matrix_start(_DOUBLE_CLASS, (1, 1))) + 16 + m.size * 8 for m in matrices)
    packer = zlib.compressobj(level=1)
    packed = [packer.compress(struct.pack("<II", _MATRIX, size) + start)]
    run = empty * _RUN
    done = 0
    for place, matrix in zip([*filled.tolist(), shape[0] * shape[1]], [*matrices, None], strict=True):
        runs, rest = divmod(place - done, _RUN)
        packed += [packer.compress(run) for _ in range(runs)]
        packed.append(packer.compress(empty * rest + (b"" if matrix is None else _matrix(matrix))))
        done = place + 1
    packed.append(packer.flush())
    yield header + struct.pack("<II", _COMPRESSED, sum(map(len, packed)))
    yield from packed


def _matrix(matrix: NDArray[np.float64]) -> bytes:
    content = _matrix_start(_DOUBLE_CLASS, matrix.shape) + _element(_DOUBLE, matrix.astype("<f8").tobytes("F"))
    return _element(_MATRIX, content)


def _matrix_start(matlab_class: int, shape: tuple[int, ...], name: str = "") -> bytes:
    return (
        _element(_UINT32, struct.pack("<II", matlab_class, 0))
        + _element(_INT32, struct.pack(f"<{len(shape)}i", *shape))
        + _element(_INT8, name.encode("ascii"))
    )


def _element(kind: int, content: bytes) -> bytes:
    return struct.pack("<II", kind, len(content)) + content + b"\0" * (-len(content) % 8)
