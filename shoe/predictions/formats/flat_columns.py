"""Flat columns: one row per triplet, as CSV, JSON Lines or Parquet.

Columns: image, hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2, verb, object; perhaps score, or another name of it; perhaps
width and height of the image. A row may have none of these three: no key, null, or an empty field. Other columns are
not read, and the notes name them. Images without triplets cannot be written in this format.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Floats, Indices
from shoe.core.errors import InputError, MissingExtraError, quote
from shoe.core.interactions import Interactions
from shoe.core.io.files import replacing
from shoe.core.io.json import ImageName, Number, NumberOrText, explained
from shoe.core.rows import Rows
from shoe.predictions.record_fields import image_names
from shoe.predictions.source import Source

SCORE_NAMES = ("score", "confidence", "conf", "probability", "prob")
_CORNERS = ["hx1", "hy1", "hx2", "hy2", "ox1", "oy1", "ox2", "oy2"]
COLUMNS = ["image", *_CORNERS, "verb", "object"]
_OPTIONAL = ["score", "width", "height"]
_LARGEST_CELL = 1 << 20
_PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")

Columns = dict[str, Sequence[Any]]


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
        InputError: naming the line and column that break the format.
    """
    try:
        text = source.data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(source.path, found="bytes that are not UTF-8", expected="CSV") from None
    csv.field_size_limit(_LARGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip().lower() for name in next(reader, [])]
        numbered = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        place = f"line {reader.line_num}"
        raise InputError(source.path, record=place, found=str(error), expected="CSV") from None
    lines, rows = [line for line, _ in numbered], [row for _, row in numbered]
    for line, row in numbered:
        if len(row) != len(header):
            place, found = f"line {line}", f"{len(row)} fields"
            raise InputError(source.path, record=place, found=found, expected=f"{len(header)}, as in the header")
    source.lines = lines or [1]
    wanted = _wanted(source, header)
    columns: Columns = dict.fromkeys(wanted, ())
    if rows:
        values = list(zip(*rows, strict=True))
        columns = {name: values[header.index(given)] for name, given in wanted.items()}
    if "score" in columns:
        columns["score"] = _percent_read(source, columns["score"])
    return _rows(source, columns, NumberOrText, absent="")


def _percent_read(source: Source, scores: Sequence[str]) -> list[str]:
    """Scores of which "93%" is "0.93", as in replies."""
    found = [_PERCENT.fullmatch(text) for text in scores]
    if count := sum(share is not None for share in found):
        source.notes.add("scores_converted", "%", count)
    return [text if share is None else str(float(share[1]) / 100) for text, share in zip(scores, found, strict=True)]


def read_flat_lines(source: Source) -> Rows:
    """Read JSON Lines or a JSON list of objects; errors as :func:`read_csv`."""
    keys = chain.from_iterable(record for record in source.records if isinstance(record, dict))
    wanted = {name: name for name in COLUMNS} | _wanted(source, list(dict.fromkeys(keys)))
    kinds: dict[str, Any] = dict.fromkeys(_CORNERS, Number) | {"image": ImageName, "verb": str, "object": str}
    needed = [(name, kinds[name]) for name in COLUMNS]
    optional = [(name, Number | None, None) for name in wanted if name in _OPTIONAL]
    triplets = source.typed(msgspec.defstruct("Triplet", [*needed, *optional], rename=wanted, gc=False))
    columns: Columns = {name: [getattr(triplet, name) for triplet in triplets] for name in wanted}
    return _rows(source, columns, Number, absent=None)


def read_parquet(source: Source) -> Rows:
    """Read Parquet.

    Raises:
        InputError: naming the column that breaks the format.
        MissingExtraError: if pyarrow is not installed.
    """
    pyarrow = _pyarrow()
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(source.data))
        wanted = _wanted(source, file.schema_arrow.names)
        table = file.read(columns=list(wanted.values()), use_threads=False)
        table.validate(full=True)
        columns: Columns = {name: table.column(given).to_pylist() for name, given in wanted.items()}
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError, OverflowError) as error:
        found = f"damaged Parquet data ({type(error).__name__})"
        raise InputError(source.path, found=found, expected="a Parquet file with flat columns") from None
    return _rows(source, columns, Number, absent=None)


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet", "parquet") from None
    return pyarrow


def write_csv(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write CSV; see the module."""
    columns = _columns(table)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())


def write_flat_lines(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write JSON Lines; see the module."""
    columns = _columns(table)
    with replacing(path) as stream:
        for values in zip(*columns.values(), strict=True):
            stream.write(msgspec.json.encode(dict(zip(columns, values, strict=True))) + b"\n")


def write_parquet(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write Parquet; see the module."""
    pyarrow = _pyarrow()
    columns = {
        name: pyarrow.array(values, pyarrow.string() if name in ("image", "verb", "object") else pyarrow.float64())
        for name, values in _columns(table).items()
    }
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
    source.notes.set_examples("columns_unread", [name for name in given if name not in names.values()])
    return names


def _rows(source: Source, columns: Columns, kind: Any, absent: str | None) -> Rows:
    """Put columns of numbers of a kind, and of words, together; ``absent`` stands where a row has no optional value."""
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        known = ", ".join(map(quote, [*columns, *source.notes.examples("columns_unread")][:12]))
        raise InputError(source.path, field=missing[0], found=f"only {known}", expected="this column")
    count = len(columns["image"])

    def optional(name: str) -> Floats:
        column = np.full(count, np.nan)
        given = [row for row, value in enumerate(columns.get(name, ())) if value != absent]
        column[given] = _numbers(source, name, [columns[name][row] for row in given], kind, given) if given else []
        return column

    corners = np.column_stack([_numbers(source, name, columns[name], kind, range(count)) for name in _CORNERS])
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
        place=source.record_name,
    )


def _checked(source: Source, name: str, values: Sequence[Any], kind: Any, rows: Sequence[int]) -> Sequence[Any]:
    """The values of a column, given its type and the rows that they are of."""
    try:
        return msgspec.convert(values, list[kind])
    except msgspec.ValidationError as error:
        place = lambda index, value: source.record_name(rows[index])  # noqa: E731
        raise explained(source.path, error, values, list[kind], place, field=name) from None


def _numbers(source: Source, name: str, values: Sequence[Any], kind: Any, rows: Sequence[int]) -> Floats:
    return np.fromiter(_checked(source, name, values, kind, rows), np.float64, len(values))


def _interned(source: Source, name: str, values: Sequence[Any]) -> tuple[list[str], Indices]:
    """Words in order of first appearance, and the word of each row; images by their names."""
    index: dict[str | int, int] = {}
    words: list[Any] = list(_checked(source, name, values, ImageName if name == "image" else str, range(len(values))))
    column = [index.setdefault(word, len(index)) for word in words]
    words = list(index)
    if name == "image":
        words = image_names(source, words, name, lambda i: source.record_name(column.index(i)))
    of_word: dict[Any, int] = {}
    again = np.array([of_word.setdefault(word, len(of_word)) for word in words], np.int64)
    return list(of_word), again[np.array(column, np.int64)] if column else np.zeros(0, np.int64)


def _sizes(source: Source, images: Sequence[str], image: Indices, size: Floats) -> Floats:
    """(m, 2) size on which the rows of an image agree, from (n, 2) sizes of rows; 0 where no row has both numbers."""
    given = np.flatnonzero(~np.isnan(size).any(axis=1) & (size != 0).any(axis=1))
    sizes = np.zeros((len(images), 2))
    sizes[image[given[::-1]]] = size[given[::-1]]  # the first row of an image is written last, and stays
    other = given[(sizes[image[given]] != size[given]).any(axis=1)]
    if len(other):
        found = f"another size of {quote(images[image[other[0]]])}"
        place = source.record_name(int(other[0]))
        raise InputError(source.path, record=place, field="width", found=found, expected="one size for an image")
    return sizes


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
