"""Tables as people and other tools have them: fields between commas or tabs, a header, one record a line."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from shoe.core.errors import InputError, printable, quote
from shoe.io.files import read_bytes

_BYTE_ORDER_MARK = "\ufeff"
_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def delimited_rows(path: Path) -> list[list[str]]:
    """Read a table, gzip-compressed or not; its first line says whether tabs or commas stand between the fields.

    Returns:
        The fields of each line, the header's first; row i is line i + 1 of the file. Fields hold no tabs or line ends.

    Raises:
        InputError: if it is not text, has no records, or a line has more or fewer fields than the header.
    """
    try:
        text = read_bytes(path).decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        raise InputError(path, found="bytes that are not UTF-8", expected="a table as text") from None
    lines = text.rstrip("\r\n").splitlines()  # spreadsheets leave empty lines at the end
    if len(lines) < 2:
        raise InputError(path, found=f"{len(lines)} lines", expected="a header and at least one line below it")
    rows = [line.split("\t") for line in lines] if "\t" in lines[0] else list(_comma_separated(lines, path))
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            found, expected = f"{len(row)} fields", f"{len(rows[0])}, as in line 1"
            raise InputError(path, record=f"line {number}", found=found, expected=expected)
    return rows


def _comma_separated(lines: Sequence[str], path: Path) -> Iterator[list[str]]:
    for number, line in enumerate(lines, start=1):
        try:
            # Line by line: a quote that is not closed is an error where it stands, not one field up to the end.
            (row,) = csv.reader([line], strict=True)
        except (csv.Error, ValueError):
            expected = "fields separated by commas, quotes in pairs"
            raise InputError(path, record=f"line {number}", found=quote(line), expected=expected) from None
        if any("\t" in field for field in row):
            raise InputError(path, record=f"line {number}", found="a tab in a field", expected="text without tabs")
        yield row


def delimited_text(rows: Iterable[Iterable[object]], delimiter: str = ",") -> str:
    """Write a table that a spreadsheet shows as it is: text in it is neither a formula nor a command.

    Text that a spreadsheet would take for a formula gets an apostrophe before it; control and bidi characters become
    U+FFFD, and line ends spaces. Numbers, also as text, stay.

    Args:
        rows: the header's fields, then those of each record.
        delimiter: a comma, or a tab, between which nothing is quoted.
    """
    text = io.StringIO(newline="")
    if delimiter == "\t":
        writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_NONE, quotechar=None, lineterminator="\n")
    else:
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
    writer.writerows(map(_field, row) for row in rows)
    return text.getvalue()


def _field(value: object) -> object:
    if not isinstance(value, str):
        return value
    formula = value.startswith(_STARTS_FORMULA) and not _is_number(value)
    return ("'" if formula else "") + printable(value, len(value))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
