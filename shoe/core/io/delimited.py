"""Tables as people and other tools have them: fields between commas, tabs or semicolons, and a header."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from shoe.core.errors import InputError, printable, quote
from shoe.core.io.files import read_bytes

_BYTE_ORDER_MARK = "\ufeff"
_STARTS_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_LONGEST_FIELD = 1 << 17


def delimited_rows(path: Path) -> list[list[str]]:
    """Read a table, gzip-compressed or not; its first line says what stands between the fields.

    That are tabs, commas, or, where it has neither, semicolons, which spreadsheets write where a comma is in numbers.

    Returns:
        The fields of each line, the header's first; row i is line i + 1 of the file. Fields hold no tabs or line ends.

    Raises:
        InputError: if it is not text, has no records, or a line has more or fewer fields than the header.
    """
    try:
        text = read_bytes(path).decode("utf-8").removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:  # UTF-16, as some spreadsheets write it, is full of them
        raise InputError(path, found="bytes that are not UTF-8", expected="a table as text, in UTF-8")
    # Spreadsheets leave empty lines at the end; what else str.splitlines takes for the end of a line, a name may hold.
    text = text.replace("\r\n", "\n").replace("\r", "\n").rstrip("\n")
    lines = text.split("\n") if text else []
    if len(lines) < 2:
        raise InputError(path, found=f"{len(lines)} lines", expected="a header and at least one line below it")
    between = next((sign for sign in "\t,;" if sign in lines[0]), ",")
    rows = [line.split("\t") for line in lines] if between == "\t" else list(_separated(lines, path, between))
    for number, row in enumerate(rows, start=1):
        if len(row) != len(rows[0]):
            found, expected = f"{len(row)} fields", f"{len(rows[0])}, as in line 1"
            raise InputError(path, record=f"line {number}", found=found, expected=expected)
    return rows


def _separated(lines: Sequence[str], path: Path, between: str) -> Iterator[list[str]]:
    csv.field_size_limit(_LONGEST_FIELD)
    for number, line in enumerate(lines, start=1):
        try:
            # Line by line: a quote that is not closed is an error where it stands, not one field up to the end.
            (row,) = csv.reader([line], delimiter=between, strict=True)
        except (csv.Error, ValueError):
            kind = "semicolons" if between == ";" else "commas"
            expected = f"fields separated by {kind}, quotes in pairs"
            if len(line) > _LONGEST_FIELD:
                expected = f"{expected}, of at most {_LONGEST_FIELD:,} characters"
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
    mark = "'" if value.startswith(_STARTS_FORMULA) else ""
    with suppress(ValueError):
        float(value)
        mark = ""  # a number is no formula
    return mark + printable(value, len(value))
