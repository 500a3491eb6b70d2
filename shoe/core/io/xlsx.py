"""Reading of Excel workbooks (.xlsx) with openpyxl, an optional dependency."""

import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError, MissingExtraError, pluralize
from shoe.core.io.files import read_bytes

WORKBOOK = "xl/workbook.xml"
"""Archive member that identifies a workbook."""
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 256
_UNPACKED_OF_ANY, _LARGEST_RATIO = 50_000_000, 100
_EXPECTED = "a workbook (.xlsx) with a header and at least one row in one sheet"


def read_xlsx(path: str | Path, data: bytes = b"") -> tuple[list[dict[str, Any]], list[int]]:
    """Return the rows of a workbook as {column: cell}, and the line number of each row; empty cells are None.

    Empty rows and columns without a heading are left out. Dates become text.

    Args:
        path: file path.
        data: content of the file; by default, the file is read.

    Raises:
        InputError: if the workbook is damaged or too large, has no rows, or has rows in several sheets.
        MissingExtraError: if openpyxl is not installed.
    """
    try:
        import openpyxl
        from openpyxl.utils.escape import unescape
    except ImportError:
        raise MissingExtraError(f"{path}: reading .xlsx", "xlsx") from None
    data = data or read_bytes(path)
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > max(_UNPACKED_OF_ANY, _LARGEST_RATIO * len(data)):
            raise InputError(path, found=f"{size / 1e9:.2g} GB of compressed data", expected=_EXPECTED)
        book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True)
        sheets = [
            [(line, row) for line, row in enumerate(rows, 1) if any(cell is not None for cell in row)]
            for sheet in book.worksheets
            if (rows := sheet.iter_rows(max_row=_MOST_ROWS, max_col=_MOST_COLUMNS, values_only=True))
        ]
    except InputError:
        raise
    except Exception as error:  # openpyxl raises errors of many types for damaged files
        found = f"a damaged workbook ({type(error).__name__})"
        raise InputError(path, found=found, expected=_EXPECTED) from None
    filled = [rows for rows in sheets if len(rows) > 1]
    if len(filled) != 1:
        raise InputError(path, found=f"{pluralize(len(filled), 'sheet')} with rows", expected=_EXPECTED)
    (_, header), *rows = filled[0]
    cells = [[unescape(cell) if isinstance(cell, str) else _plain(cell) for cell in row] for _, row in rows]
    names = [None if name is None else str(name) for name in header]
    records = [{name: cell for name, cell in zip(names, row, strict=True) if name is not None} for row in cells]
    return records, [line for line, _ in rows]


def _plain(cell: object) -> object:
    """Return a cell as number or text; dates and times become text."""
    return cell if cell is None or isinstance(cell, int | float) else str(cell)
