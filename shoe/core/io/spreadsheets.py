"""Tables of spreadsheets: text with commas, tabs or semicolons, and Excel workbooks (.xlsx, with openpyxl)."""

import csv
import io
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError, MissingExtraError, pluralize, printable, quote
from shoe.core.io.files import read_bytes

_BYTE_ORDER_MARK = "\ufeff"
_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LONGEST_FIELD = 1 << 17


def delimited_rows(path: Path) -> list[list[str]]:
    """Return the fields of each line of a table, the header first; the file may be gzip-compressed.

    The separator is the first of tab, comma and semicolon (in this order) that occurs in the header. Spreadsheets write
    semicolons in locales with a decimal comma. Fields cannot contain tabs or line breaks. Raises InputError if the file
    is not UTF-8 text, has no row after the header, a line has more or fewer fields than the header, or quotes are
    unpaired.
    """
    try:
        text = read_bytes(path).decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # as in UTF-16, which some spreadsheets write
        raise InputError(path, found="bytes that are not UTF-8", expected="a text table in UTF-8")
    # Spreadsheets add empty lines at the end. str.splitlines would also split at characters that names may contain.
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    lines = text.split("\n") if text else []
    if len(lines) < 2:
        raise InputError(path, found=f"{len(lines)} lines", expected="a header and at least one row")
    separator = next((sign for sign in "\t,;" if sign in lines[0]), ",")
    rows = [line.split("\t") for line in lines] if separator == "\t" else list(_split_quoted(lines, path, separator))
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            found, expected = f"{len(row)} fields", f"{len(rows[0])} fields, as in line 1"
            raise InputError(path, record=f"line {number}", found=found, expected=expected)
    return rows


def _split_quoted(lines: Sequence[str], path: Path, separator: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST_FIELD)
    for number, line in enumerate(lines, start=1):
        try:
            # Line by line, so that an unclosed quote is an error in its own line.
            (row,) = csv.reader([line], delimiter=separator, strict=True)
        except (csv.Error, ValueError):
            expected = f"fields separated by {'semicolons' if separator == ';' else 'commas'}, with quotes in pairs"
            if len(line) > _LONGEST_FIELD:
                expected = f"{expected}, of at most {_LONGEST_FIELD:,} characters"
            raise InputError(path, record=f"line {number}", found=quote(line), expected=expected) from None
        if any("\t" in field for field in row):
            raise InputError(path, record=f"line {number}", found="a tab in a field", expected="text without tabs")
        yield row


def delimited_text(rows: Iterable[Iterable[object]], delimiter: str = ",") -> str:
    """Return rows as delimited text that is safe to open in a spreadsheet.

    Text that a spreadsheet would execute as a formula is prefixed with an apostrophe; text that is a number ("-1") is
    unchanged. Control and bidi characters are replaced by U+FFFD, and line breaks by spaces. Fields are not quoted if
    the delimiter is a tab.
    """
    text = io.StringIO(newline="")
    quotes: dict[str, Any] = {"quoting": csv.QUOTE_NONE, "quotechar": None} if delimiter == "\t" else {}
    csv.writer(text, delimiter=delimiter, lineterminator="\n", **quotes).writerows(map(_field, row) for row in rows)
    return text.getvalue()


def _field(value: object) -> object:
    if not isinstance(value, str):
        return value
    mark = "'" if value.startswith(_STARTS_FORMULA) else ""
    with suppress(ValueError):
        float(value)
        mark = ""  # a number is no formula
    return mark + printable(value, len(value))


WORKBOOK = "xl/workbook.xml"  # archive member that identifies a workbook
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 256
_UNPACKED_OF_ANY, _LARGEST_RATIO = 50_000_000, 100
_EXPECTED = "a workbook (.xlsx) with a header and at least one row in one sheet"


def read_xlsx(path: str | Path, data: bytes = b"") -> tuple[list[dict[str, Any]], list[int]]:
    """Return the rows of a workbook as {heading: cell}, and their line numbers in the sheet; empty cells are None.

    Empty rows and columns without a heading are left out. Dates become text. ``data`` is the content of the file; if it
    is empty, the file is read. Raises InputError if the workbook is damaged or too large, has no rows, or has rows in
    several sheets, and MissingExtraError without openpyxl.
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
        raise InputError(path, found=f"a damaged workbook ({type(error).__name__})", expected=_EXPECTED) from None
    filled = [rows for rows in sheets if len(rows) > 1]
    if len(filled) != 1:
        raise InputError(path, found=f"{pluralize(len(filled), 'sheet')} with rows", expected=_EXPECTED)
    (_, header), *rows = filled[0]
    cells = [[unescape(cell) if isinstance(cell, str) else _plain(cell) for cell in row] for _, row in rows]
    names = [None if name is None else str(name) for name in header]
    records = [{name: cell for name, cell in zip(names, row, strict=True) if name is not None} for row in cells]
    return records, [line for line, _ in rows]


def _plain(cell: object) -> object:
    return cell if cell is None or isinstance(cell, int | float) else str(cell)
