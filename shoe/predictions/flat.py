"""Flat columns: one row per triplet, as CSV, JSON Lines or Parquet.

Columns: image, hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2, verb, object; perhaps score, or another name of it; perhaps
width and height of the image. A row may have none of these three: no key, null, or an empty field. Other columns are
not read, and the notes name them. Images without triplets cannot be written in this form.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from shoe.benchmarks import fields
from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Floats, Indices
from shoe.core.errors import InputError, MissingExtraError, quote
from shoe.core.interactions import Interactions
from shoe.core.rows import Rows
from shoe.io.files import replacing
from shoe.predictions.names import SCORE_NAMES, image_name
from shoe.predictions.source import Source

_CORNERS = ["hx1", "hy1", "hx2", "hy2", "ox1", "oy1", "ox2", "oy2"]
COLUMNS = ["image", *_CORNERS, "verb", "object"]
_OPTIONAL = ["score", "width", "height"]
_LARGEST_CELL = 1 << 20

Columns = dict[str, Sequence[Any]]
AsNumbers = Callable[[Sequence[Any]], Floats]


def is_csv(source: Source) -> bool:
    """Tell whether a text file's first line names the columns."""
    first = source.data[:4096].split(b"\n", 1)[0]
    names = {name.strip(b' "\r').lower() for name in first.split(b",")}
    return source.kind == "text" and {column.encode() for column in COLUMNS} <= names


def is_flat_lines(source: Source) -> bool:
    """Tell whether a document's first record has the columns as keys."""
    return set(COLUMNS) <= set(source.first)


def is_parquet(source: Source) -> bool:
    """Tell whether a file is Parquet."""
    return source.kind == "parquet"


def read_csv(source: Source) -> Rows:
    """Read CSV with a header line.

    Raises:
        InputError: naming the line and column that break the form.
    """
    try:
        text = source.data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(source.path, found="bytes that are not UTF-8", expected="CSV") from None
    csv.field_size_limit(_LARGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, lines = [], []
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        for row in reader:
            if row:
                rows.append(row)
                lines.append(reader.line_num)
    except csv.Error as error:
        place = f"line {reader.line_num}"
        raise InputError(source.path, record=place, found=str(error), expected="CSV") from None
    for row, line in zip(rows, lines, strict=True):
        if len(row) != len(header):
            place, found = f"line {line}", f"{len(row)} fields"
            raise InputError(source.path, record=place, found=found, expected=f"{len(header)}, as in the header")
    source.lines = lines or [1]
    wanted = _wanted(source, header)
    columns: Columns = dict.fromkeys(wanted, ())
    if rows:
        values = list(zip(*rows, strict=True))
        columns = {name: values[header.index(given)] for name, given in wanted.items()}
    return _rows(source, columns, _from_text, absent="")


def read_flat_lines(source: Source) -> Rows:
    """Read JSON Lines or a JSON list of objects; errors as :func:`read_csv`."""
    records = source.records
    if not records and source.document != []:
        raise InputError(source.path, found=fields.shown(source.document), expected="one object per triplet")
    try:
        columns: Columns = {name: [record[name] for record in records] for name in COLUMNS}
        given = _wanted(source, list(dict.fromkeys(chain.from_iterable(records))))
        columns |= {name: [record.get(given[name]) for record in records] for name in _OPTIONAL if name in given}
    except (TypeError, KeyError, AttributeError):
        for number, record in enumerate(records):
            for name in COLUMNS:
                fields.take(source.path, source.place(number), record, name, object)
        fields.unexplained(source.path, "one object per triplet")
    return _rows(source, columns, fields.number_column, absent=None)


def read_parquet(source: Source) -> Rows:
    """Read Parquet.

    Raises:
        InputError: naming the column that breaks the form.
        MissingExtraError: if pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet", "parquet") from None
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(source.data))
        wanted = _wanted(source, file.schema_arrow.names)
        table = file.read(columns=list(wanted.values()), use_threads=False)
        table.validate(full=True)
        columns: Columns = {name: table.column(given).to_pylist() for name, given in wanted.items()}
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError, OverflowError) as error:
        found = f"damaged Parquet data ({type(error).__name__})"
        raise InputError(source.path, found=found, expected="a Parquet file with flat columns") from None
    return _rows(source, columns, fields.number_column, absent=None)


def write_csv(table: Interactions, path: str | Path, classes: HoiClasses) -> None:
    """Write CSV; see the module."""
    columns = _columns(table)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())


def write_flat_lines(table: Interactions, path: str | Path, classes: HoiClasses) -> None:
    """Write JSON Lines; see the module."""
    columns = _columns(table)
    names = list(columns)
    with replacing(path) as stream:
        for values in zip(*columns.values(), strict=True):
            stream.write(orjson.dumps(dict(zip(names, values, strict=True)), option=orjson.OPT_APPEND_NEWLINE))


def write_parquet(table: Interactions, path: str | Path, classes: HoiClasses) -> None:
    """Write Parquet; see the module."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet", "parquet") from None
    types = {
        name: pyarrow.string() if name in ("image", "verb", "object") else pyarrow.float64()
        for name in [*COLUMNS, *_OPTIONAL]
    }
    columns = {name: pyarrow.array(values, types[name]) for name, values in _columns(table).items()}
    with replacing(path) as stream:
        pyarrow.parquet.write_table(pyarrow.table(columns), stream)


def _wanted(source: Source, given: Sequence[str]) -> dict[str, str]:
    """What the columns that are read are called in the file; the notes get the others.

    Raises:
        InputError: for a column that is read and given twice.
    """
    names = {name: name for name in [*COLUMNS, "width", "height"] if name in given}
    score = next((name for name in SCORE_NAMES if name in given), None)
    if score is not None:
        names["score"] = score
    for name in names.values():
        if given.count(name) > 1:
            raise InputError(source.path, field=name, found=f"{given.count(name)} columns of this name", expected="one")
    source.notes.columns_unread = [name for name in given if name not in names.values()]
    return names


def _rows(source: Source, columns: Columns, as_numbers: AsNumbers, absent: str | None) -> Rows:
    """Put the columns together; ``absent`` is what stands where a row has no value of an optional column."""
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        known = ", ".join(map(quote, [*columns, *source.notes.columns_unread][:12]))
        raise InputError(source.path, field=missing[0], found=f"only {known}", expected="this column")

    def number(name: str, rows: Sequence[int]) -> Floats:
        values = columns[name] if len(rows) == count else [columns[name][row] for row in rows]
        try:
            return as_numbers(values)
        except (ValueError, OverflowError):
            return _explain(source, name, values, rows, as_numbers)

    def optional(name: str) -> Floats:
        column = np.full(count, np.nan)
        given = [row for row, value in enumerate(columns.get(name, ())) if value != absent]
        if given:
            column[given] = number(name, given)
        return column

    count = len(columns["image"])
    corners = np.column_stack([number(name, range(count)) for name in _CORNERS])
    images, image = _interned(source, "image", columns["image"])
    verbs, verb = _interned(source, "verb", columns["verb"])
    objects, object_ = _interned(source, "object", columns["object"])
    size = np.column_stack([optional("width"), optional("height")])
    return Rows(
        images=images,
        image=image,
        human_boxes=corners[:, :4],
        object_boxes=corners[:, 4:],
        verbs=verbs,
        objects=objects,
        verb=verb,
        object=object_,
        score=optional("score"),
        sizes=_sizes(source, images, image, size),
        place=source.place,
    )


def _sizes(source: Source, images: Sequence[str], image: Indices, size: Floats) -> Floats:
    """(m, 2) size on which the rows of an image agree, from (n, 2) sizes of rows; 0 where no row has both numbers."""
    given = np.flatnonzero(~np.isnan(size).any(axis=1) & (size != 0).any(axis=1))
    sizes = np.zeros((len(images), 2))
    sizes[image[given[::-1]]] = size[given[::-1]]  # the first row of an image is written last, and stays
    other = given[(sizes[image[given]] != size[given]).any(axis=1)]
    if len(other):
        found = f"another size of {quote(images[image[other[0]]])}"
        place = source.place(int(other[0]))
        raise InputError(source.path, record=place, field="width", found=found, expected="one size for an image")
    return sizes


def _interned(source: Source, name: str, values: Sequence[Any]) -> tuple[list[str], Indices]:
    """Words in order of first appearance, and the word of each row; images by their names."""
    index: dict[Any, int] = {}
    column = [index.setdefault(value, len(index)) for value in values] if _hashable(values) else None
    words: list[str] = []
    for value in index:
        try:
            words.append(image_name(value) if name == "image" else _word(value))
        except ValueError:
            column = None
    if column is None:
        return _explain_word(source, name, values)
    place: dict[str, int] = {}
    again = np.array([place.setdefault(word, len(place)) for word in words], np.int64)
    return list(place), again[np.array(column, np.int64)] if column else np.zeros(0, np.int64)


def _hashable(values: Sequence[Any]) -> bool:
    return set(map(type, values)) <= {str, int}


def _word(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError
    return value


def _from_text(values: Sequence[str]) -> Floats:
    column = np.fromiter(map(float, values), np.float64, len(values))
    if np.isnan(column).any():
        raise ValueError
    return column


def _explain(source: Source, name: str, values: Sequence[Any], rows: Sequence[int], as_numbers: AsNumbers) -> Floats:
    for row, value in zip(rows, values, strict=True):
        try:
            as_numbers([value])
        except (ValueError, OverflowError):
            found = fields.shown(value)
            raise InputError(
                source.path, record=source.place(row), field=name, found=found, expected="a number"
            ) from None
    fields.unexplained(source.path, "a number")


def _explain_word(source: Source, name: str, values: Sequence[Any]) -> tuple[list[str], Indices]:
    for row, value in enumerate(values):
        try:
            image_name(value) if name == "image" else _word(value)
        except ValueError:
            found, expected = fields.shown(value), "a file name" if name == "image" else "text"
            raise InputError(
                source.path, record=source.place(row), field=name, found=found, expected=expected
            ) from None
    fields.unexplained(source.path, "text")


def _columns(table: Interactions) -> Columns:
    corners = np.concatenate([table.human_boxes, table.object_boxes], axis=1).T.tolist()
    columns: Columns = {
        "image": _spread(table.images, table.image),
        **dict(zip(_CORNERS, corners, strict=True)),
        "verb": _spread(table.verbs, table.verb),
        "object": _spread(table.objects, table.object),
        "score": table.score.tolist(),
    }
    if (table.sizes > 0).any():
        columns["width"], columns["height"] = table.sizes[table.image].T.tolist()
    return columns


def _spread(words: Sequence[str], index: NDArray[np.integer]) -> list[str]:
    return [words[i] for i in index.tolist()]
