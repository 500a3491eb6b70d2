"""Flat columns: one row per triplet, as CSV, JSON Lines or Parquet.

Columns are image, hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2, verb and object. Optional are score, or another name of it,
and width and height of the image; a row may lack these values: no key, null, or an empty field. Other columns are
ignored, and the notes list them. Images without triplets cannot be written in this format.
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
_LARGEST_CELL = 1 << 20  # characters
_PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")

Columns = dict[str, Sequence[Any]]


def is_csv(source: Source) -> bool:
    """Return whether the first line of a text file names the columns."""
    first = source.data[:4096].split(b"\n", 1)[0]
    names = {name.strip(b' "\r').lower() for name in first.split(b",")}
    return source.kind == "text" and {column.encode() for column in COLUMNS} <= names


def is_flat_lines(source: Source) -> bool:
    """Return whether a document's first record has the columns as keys."""
    return set(COLUMNS) <= set(source.first)


def is_parquet(source: Source) -> bool:
    """Return whether a file is Parquet."""
    return source.kind == "parquet"


def read_csv(source: Source) -> Rows:
    """Read CSV with a header line. Raises InputError naming the line and column that break the format."""
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
    for line, row in numbered:
        if len(row) != len(header):
            place, found = f"line {line}", f"{len(row)} fields"
            raise InputError(source.path, record=place, found=found, expected=f"{len(header)}, as in the header")
    source.lines = [line for line, _ in numbered] or [1]
    names = _column_names(source, header)
    values = list(zip(*(row for _, row in numbered), strict=True)) or [()] * len(header)
    columns: Columns = {name: values[header.index(in_file)] for name, in_file in names.items()}
    if "score" in columns:
        columns["score"] = _without_percent(source, columns["score"])
    return _rows(source, columns, NumberOrText, absent="")


def _without_percent(source: Source, scores: Sequence[str]) -> list[str]:
    """Return scores with percentages converted to fractions, like in model replies: "93%" becomes "0.93"."""
    matches = [_PERCENT.fullmatch(text) for text in scores]
    if count := sum(match is not None for match in matches):
        source.notes.add("scores_converted", "%", count)
    return [text if match is None else str(float(match[1]) / 100) for text, match in zip(scores, matches, strict=True)]


def read_flat_lines(source: Source) -> Rows:
    """Read JSON Lines or a JSON list of objects; errors as in :func:`read_csv`."""
    keys = chain.from_iterable(record for record in source.records if isinstance(record, dict))
    names = {name: name for name in COLUMNS} | _column_names(source, list(dict.fromkeys(keys)))
    kinds: dict[str, Any] = dict.fromkeys(_CORNERS, Number) | {"image": ImageName, "verb": str, "object": str}
    required = [(name, kinds[name]) for name in COLUMNS]
    optional = [(name, Number | None, None) for name in names if name in _OPTIONAL]
    triplets = source.typed(msgspec.defstruct("Triplet", [*required, *optional], rename=names, gc=False))
    columns: Columns = {name: [getattr(triplet, name) for triplet in triplets] for name in names}
    return _rows(source, columns, Number, absent=None)


def read_parquet(source: Source) -> Rows:
    """Read Parquet. Raises InputError naming the invalid column, or MissingExtraError if pyarrow is missing."""
    pyarrow = _pyarrow()
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(source.data))
        names = _column_names(source, file.schema_arrow.names)
        table = file.read(columns=list(names.values()), use_threads=False)
        table.validate(full=True)
        columns: Columns = {name: table.column(in_file).to_pylist() for name, in_file in names.items()}
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
    """Write CSV with a header line."""
    columns = _columns(table)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    with replacing(path) as stream:
        stream.write(text.getvalue().encode())


def write_flat_lines(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write JSON Lines."""
    columns = _columns(table)
    with replacing(path) as stream:
        for values in zip(*columns.values(), strict=True):
            stream.write(msgspec.json.encode(dict(zip(columns, values, strict=True))) + b"\n")


def write_parquet(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write Parquet."""
    pyarrow = _pyarrow()
    columns = {
        name: pyarrow.array(values, pyarrow.string() if name in ("image", "verb", "object") else pyarrow.float64())
        for name, values in _columns(table).items()
    }
    with replacing(path) as stream:
        pyarrow.parquet.write_table(pyarrow.table(columns), stream)


def _column_names(source: Source, given: Sequence[str]) -> dict[str, str]:
    """Return the file's names of known columns, and note the others. Raises InputError if a column occurs twice."""
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
    """Return rows from columns of numbers of type ``kind`` and words; ``absent`` marks a missing optional value."""
    absent_columns = [name for name in COLUMNS if name not in columns]
    if absent_columns:
        present = ", ".join(map(quote, [*columns, *source.notes.examples("columns_unread")][:12]))
        raise InputError(source.path, field=absent_columns[0], found=f"only {present}", expected="this column")
    count = len(columns["image"])

    def optional(name: str) -> Floats:
        column = np.full(count, np.nan)
        given = [row for row, value in enumerate(columns.get(name, ())) if value != absent]
        column[given] = _numbers(source, name, [columns[name][row] for row in given], kind, given) if given else []
        return column

    corners = np.column_stack([_numbers(source, name, columns[name], kind, range(count)) for name in _CORNERS])
    images, image = _index_words(source, "image", columns["image"])
    verbs, verb = _index_words(source, "verb", columns["verb"])
    objects, object_ = _index_words(source, "object", columns["object"])
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


def _convert(source: Source, name: str, values: Sequence[Any], kind: Any, rows: Sequence[int]) -> Sequence[Any]:
    """Return the values of a column converted to a type; ``rows`` are their row numbers, for error messages."""
    try:
        return msgspec.convert(values, list[kind])
    except msgspec.ValidationError as error:
        place = lambda index, value: source.record_name(rows[index])  # noqa: E731
        raise explained(source.path, error, values, list[kind], place, field=name) from None


def _numbers(source: Source, name: str, values: Sequence[Any], kind: Any, rows: Sequence[int]) -> Floats:
    return np.fromiter(_convert(source, name, values, kind, rows), np.float64, len(values))


def _index_words(source: Source, name: str, values: Sequence[Any]) -> tuple[list[str], Indices]:
    """Return the distinct words in order of first appearance, and the word index of each row; images by their names."""
    index: dict[Any, int] = {}
    values = _convert(source, name, values, ImageName if name == "image" else str, range(len(values)))
    column = [index.setdefault(word, len(index)) for word in values]
    words: list[Any] = list(index)
    if name == "image":  # different values may name one image
        words = image_names(source, words, name, lambda i: source.record_name(column.index(i)))
    index = {}
    merged = np.array([index.setdefault(word, len(index)) for word in words], np.int64)
    return list(index), merged[np.array(column, np.int64)]


def _sizes(source: Source, images: Sequence[str], image: Indices, size: Floats) -> Floats:
    """Return (m, 2) image sizes from (n, 2) sizes of rows, which must agree per image; 0 if no row has both numbers."""
    given = np.flatnonzero(~np.isnan(size).any(axis=1) & (size != 0).any(axis=1))
    sizes = np.zeros((len(images), 2))
    sizes[image[given[::-1]]] = size[given[::-1]]  # reversed, so that the first row of an image wins
    other = given[(sizes[image[given]] != size[given]).any(axis=1)]
    if len(other):
        place, found = source.record_name(int(other[0])), f"another size of {quote(images[image[other[0]]])}"
        raise InputError(source.path, record=place, field="width", found=found, expected="one size for an image")
    return sizes


def _columns(table: Interactions) -> Columns:
    corners = np.concatenate([table.human_boxes, table.object_boxes], axis=1).T.tolist()
    columns: Columns = {
        "image": _take_words(table.images, table.image),
        **dict(zip(_CORNERS, corners, strict=True)),
        "verb": _take_words(table.verbs, table.verb),
        "object": _take_words(table.objects, table.object),
        "score": table.score.tolist(),
    }
    if (table.sizes > 0).any():
        columns["width"], columns["height"] = table.sizes[table.image].T.tolist()
    return columns


def _take_words(words: Sequence[str], index: NDArray[np.integer]) -> list[str]:
    return [words[i] for i in index.tolist()]
