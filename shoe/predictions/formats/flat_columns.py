"""Flat columns: one row per triplet, as CSV, JSON Lines or Parquet.

Columns are image, hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2, verb and object, or names of the same meaning, such as
person_xmin. Optional columns are score (or a name in ``SCORE_NAMES``), and width and height of the image; their values
may be missing in a row. Rows with a no in a yes/no column such as "present" are left out. The notes list other columns.
An image without triplets has one row with only the image (and its size).
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Floats, Indices, Mask, number_words
from shoe.core.errors import InputError, MissingExtraError, quote
from shoe.core.interactions import Interactions, Rows
from shoe.core.io.files import atomic_write, write_text
from shoe.core.io.json import ImageName, Number, NumberOrText, describe_value, explain_error
from shoe.predictions.field_names import SCORE_NAMES, is_denied, judges, meaning_of_kind, only_judges, superseded
from shoe.predictions.source import Source

_CORNERS = ["hx1", "hy1", "hx2", "hy2", "ox1", "oy1", "ox2", "oy2"]
COLUMNS = ["image", *_CORNERS, "verb", "object"]
_OPTIONAL = ["score", "width", "height"]
_LARGEST_CELL = 1 << 20  # characters
_PERCENT = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*%\s*")

Columns = dict[str, Sequence[Any]]


def is_csv(source: Source) -> bool:
    """Return whether the first line of a text file names all required columns, perhaps by synonyms."""
    first = source.data[:4096].split(b"\n", 1)[0].decode("utf-8", "replace")
    names = [name.strip(' "\r') for name in first.split(_separator(first))]
    return source.kind == "text" and set(COLUMNS) <= set(columns_in(names)[0])


def _separator(header: str) -> str:
    return "\t" if "\t" in header and "," not in header else ","


def is_flat_lines(source: Source) -> bool:
    """Return whether the first record has all required columns; synonyms count if no value is a list or object."""
    if any(isinstance(value, list | dict) or not isinstance(key, str) for key, value in source.first.items()):
        return set(COLUMNS) <= set(source.first)
    return set(COLUMNS) <= set(columns_in(list(source.first))[0])


def read_csv(source: Source) -> Rows:
    """Read CSV or TSV with a header line. Raises InputError naming the line and column that break the format."""
    try:
        text = source.data.decode("utf-8")
    except UnicodeDecodeError:
        raise InputError(source.path, found="bytes that are not UTF-8", expected="CSV") from None
    csv.field_size_limit(_LARGEST_CELL)
    separator = _separator(text.partition("\n")[0])
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, delimiter=separator)
    try:
        header = [name.strip() for name in next(reader, [])]
        numbered = [(reader.line_num, row) for row in reader if row]
    except csv.Error as error:
        place = f"line {reader.line_num}"
        raise InputError(source.path, record=place, found=str(error), expected="CSV") from None
    for line, row in numbered:
        if len(row) != len(header):
            place, found = f"line {line}", f"{len(row)} fields"
            raise InputError(source.path, record=place, found=found, expected=f"{len(header)}, as in the header")
    source.lines = [line for line, _ in numbered] or [1]
    names, layout = _column_names(source, header)
    values = list(zip(*(row for _, row in numbered), strict=True)) or [()] * len(header)
    columns: Columns = {name: values[header.index(in_file)] for name, in_file in names.items()}
    others: Columns = {name: values[header.index(name)] for name in header if name not in names.values()}
    return _rows(source, columns, others, NumberOrText, absent="", layout=layout)


def _without_percent(source: Source, scores: Sequence[Any]) -> list[Any]:
    """Return scores with percentages converted to fractions, like in model replies: "93%" becomes "0.93"."""
    matches = [_PERCENT.fullmatch(text) if isinstance(text, str) else None for text in scores]
    if count := sum(match is not None for match in matches):
        source.notes.add("scores_converted", "%", count)
    return [text if match is None else str(float(match[1]) / 100) for text, match in zip(scores, matches, strict=True)]


def read_flat_lines(source: Source) -> Rows:
    """Read JSON Lines or a JSON list of objects. Raises InputError naming the line and column that break the format."""
    keys: Iterable[str] = chain.from_iterable(record for record in source.records if isinstance(record, dict))
    found, layout = _column_names(source, keys := list(dict.fromkeys(keys)))
    names = {name: name for name in COLUMNS} | found
    kinds: dict[str, Any] = dict.fromkeys(_CORNERS, Number | None) | {"image": ImageName, "verb": str, "object": str}
    required: list[Any] = [(name, kinds[name]) for name in COLUMNS]
    if any(_is_bare(record, names) for record in source.records):
        required[1:] = [(name, kinds[name] | None, None) for name in COLUMNS[1:]]
    optional: list[Any] = [(name, Number | None, None) for name in names if name in _OPTIONAL]
    triplets = source.typed(msgspec.defstruct("Triplet", [*required, *optional], rename=names, gc=False))
    columns: Columns = {name: [getattr(triplet, name) for triplet in triplets] for name in names}
    others: Columns = {key: [each.get(key) for each in source.records] for key in keys if key not in names.values()}
    return _rows(source, columns, others, Number, absent=None, layout=layout)


def _is_bare(record: Any, names: Mapping[str, str]) -> bool:
    """Return whether a record contains only an image and perhaps its size; ``names`` maps columns to its keys."""
    of_image = [names[name] for name in ("image", "width", "height") if name in names]
    return isinstance(record, dict) and all(record[key] is None for key in record.keys() - of_image)


def read_parquet(source: Source) -> Rows:
    """Read Parquet. Raises InputError naming the invalid column, or MissingExtraError if pyarrow is missing."""
    pyarrow = _pyarrow()
    try:
        file = pyarrow.parquet.ParquetFile(pyarrow.BufferReader(source.data))
        names, layout = _column_names(source, file.schema_arrow.names)
        other = [name for name in file.schema_arrow.names if name not in names.values()]
        table = file.read(columns=[*names.values(), *other], use_threads=False)
        table.validate(full=True)
        if 3 * len(set(COLUMNS) - set(names)) > len(COLUMNS):
            records = copy(source)
            records.kind, records.document = "document", table.to_pylist()
            from shoe.predictions.formats.vlm import is_vlm, read_vlm

            if is_vlm(records):
                return read_vlm(records)
        columns: Columns = {name: table.column(in_file).to_pylist() for name, in_file in names.items()}
        others: Columns = {name: table.column(name).to_pylist() for name in other}
    except (pyarrow.ArrowException, OSError, ValueError, TypeError, KeyError, MemoryError, OverflowError) as error:
        found = f"damaged Parquet data ({type(error).__name__})"
        raise InputError(source.path, found=found, expected="a Parquet file with flat columns") from None
    return _rows(source, columns, others, NumberOrText, absent=None, layout=layout)


def _pyarrow() -> Any:
    try:
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("Parquet", "parquet") from None
    return pyarrow


def write_csv(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write CSV: a header line, a row per triplet, and per image without triplets a row with its name (and size)."""
    columns = _columns(table)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    write_text(path, text.getvalue())


def write_flat_lines(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write JSON Lines: an object per triplet, and per image without triplets one with its name (and size)."""
    columns = _columns(table)
    with atomic_write(path) as stream:
        for values in zip(*columns.values(), strict=True):
            stream.write(msgspec.json.encode(dict(zip(columns, values, strict=True))) + b"\n")


def write_parquet(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write Parquet with one row per triplet or image without triplets; MissingExtraError if pyarrow is missing."""
    pyarrow = _pyarrow()
    columns = {
        name: pyarrow.array(values, pyarrow.string() if name in ("image", "verb", "object") else pyarrow.float64())
        for name, values in _columns(table).items()
    }
    with atomic_write(path) as stream:
        pyarrow.parquet.write_table(pyarrow.table(columns), stream)


def columns_in(given: Sequence[str]) -> tuple[dict[str, str], str]:
    """Return {column: its name in the file} for the names ``given``, and the layout of boxes ("xyxy", "xywh", ...).

    Names are compared without case. If a column is missing, names with the same meaning are accepted, except in a table
    with labels of the human box, because it may list relations between things.

    >>> columns_in(["img", "verb", "noun"])[0], columns_in(["image", "verb", "objct"])[0]
    ({'verb': 'verb', 'image': 'img', 'object': 'noun'}, {'image': 'image', 'verb': 'verb'})
    """
    names: dict[str, str] = {}
    replaced = superseded(tuple(given))
    given = [name for name in given if name not in replaced and not is_denied(name)]
    for name in given:
        lower = name.lower()
        if lower in (*COLUMNS, "width", "height"):
            names.setdefault(lower, name)
    scores = {name.lower(): name for name in reversed(given)}
    likely = [scores[name] for name in SCORE_NAMES if name in scores]
    if score := next(iter(likely + [name for name in given if meaning_of_kind(name)[:2] == ("", "score")]), ""):
        names["score"] = score
    if set(COLUMNS) <= set(names):
        return names, "xyxy"
    from shoe.predictions.vlm.boxes import corner_of, layout_of  # its regular expressions take 20 ms to compile

    corners: dict[str, dict[str, str]] = {"h": {}, "o": {}}
    labels = []
    for name in given:
        info, corner = meaning_of_kind(name), corner_of(name)
        if corner is not None and corner[0]:
            corners["o" if corner[0] == "object" else "h"].setdefault(corner[1], name)
        elif info.side in ("human", "subject") and info.part in ("", "label"):
            return names, "xyxy"
        elif info.side == "object" and info.part in ("", "label"):
            names.setdefault("object", name)
        elif info.part in ("image", "verb", "score", "width", "height") and not info.side:
            names.setdefault(info.part, name)
        elif info.part == "label" and not info.side:
            labels.append(name)
    if len(labels) == 1:
        names.setdefault("object", labels[0])
    layout = layout_of(corners["h"].keys() & corners["o"].keys())
    if layout is None:
        return names, "xyxy"
    each = ((side, four) for side in "ho" for four in zip(("x1", "y1", "x2", "y2"), layout[0], strict=True))
    return names | {f"{side}{corner}": corners[side][name] for side, (corner, name) in each}, layout[1]


def _column_names(source: Source, given: Sequence[str]) -> tuple[dict[str, str], str]:
    names, layout = columns_in(given)
    for name in map(str.lower, names.values()):
        if (count := [each.lower() for each in given].count(name)) > 1:
            found = f"{count} columns of this name"
            raise InputError(source.path, field=name, found=found, expected="one column of this name")
    return names, layout


def _rows(source: Source, columns: Columns, others: Columns, kind: Any, absent: str | None, layout: str) -> Rows:
    """Return the rows. ``others`` are further columns; ``kind`` is the number type, ``absent`` the missing value."""
    if missing := [name for name in COLUMNS if name not in columns]:
        present = ", ".join(map(quote, [*columns, *others][:12]))
        raise InputError(source.path, field=missing[0], found=f"only columns {present}", expected="this column")
    if "score" in columns:
        columns["score"] = _without_percent(source, columns["score"])
    count = len(columns["image"])
    images, image = _index_words(source, "image", columns["image"])
    is_triplet = np.ones(count, bool)
    if absent in columns["verb"]:
        fields = zip(*(columns[name] for name in COLUMNS[1:]), strict=True)
        is_triplet[:] = [any(value != absent for value in row) for row in fields]
    for name, values in others.items():
        is_no = _denied(source, name, values) & is_triplet
        source.notes.add("denied", name, int(is_no.sum()))
        is_triplet &= ~is_no
    kept = np.flatnonzero(is_triplet).tolist()

    def numbers(name: str) -> Floats:
        column, values = np.full(count, np.nan), columns.get(name, ())
        given: Sequence[int] = range(len(values))
        if absent in values:
            given = [row for row in given if values[row] != absent]
            values = [values[row] for row in given]
        column[given] = np.fromiter(_convert(source, name, values, kind, given), np.float64) if len(given) else []
        return column

    score = numbers("score")
    if np.isnan(score).all() and any(value != absent for value in columns.get("score", ())):
        raise InputError(source.path, field="score", found="NaN in all rows", expected="finite numbers, or no scores")
    of = {name: [columns[name][row] for row in kept] if len(kept) < count else columns[name] for name in COLUMNS}
    corners = np.column_stack([numbers(name) for name in _CORNERS])[kept]  # no coordinate is as bad as NaN
    verbs, verb = _index_words(source, "verb", of["verb"], kept)
    objects, object_ = _index_words(source, "object", of["object"], kept)
    size = np.column_stack([numbers("width"), numbers("height")])
    return Rows(
        images=images,
        image=image[kept],
        human_boxes=corners[:, :4],
        object_boxes=corners[:, 4:],
        verbs=verbs,
        objects=objects,
        verb=verb,
        object=object_,
        score=score[kept],
        sizes=_sizes(source, images, image, size),
        place=lambda row: source.record_name(kept[row]),
        conventions=() if layout == "xyxy" else [layout],
        convention=None if layout == "xyxy" else np.zeros(len(kept), np.int64),
    )


def _denied(source: Source, name: str, values: Sequence[Any]) -> Mask:
    """Return the (n,) mask of rows with a no in a yes/no column; raise InputError if a value is not yes or no."""
    from shoe.predictions.vlm.boxes import YES_OR_NO, verdict_of

    verdicts = [verdict_of(value) for value in values] if judges(name) else []
    is_no = np.array([verdict is False for verdict in verdicts], bool)
    unclear = [row for row, verdict in enumerate(verdicts) if verdict is None and values[row] not in (None, "")]
    if unclear and only_judges(name):
        found, place = describe_value(values[unclear[0]]), source.record_name(unclear[0])
        raise InputError(source.path, record=place, field=name, found=found, expected=YES_OR_NO)
    if unclear or not is_no.any():
        source.notes.add_unread(name, values)
        return np.zeros(len(values), bool)
    return is_no


def _convert(source: Source, name: str, values: Sequence[Any], kind: Any, rows: Sequence[int]) -> Sequence[Any]:
    """Return the values of column ``name`` converted to the type ``kind``; ``rows``: row numbers, for messages."""
    try:
        return msgspec.convert(values, list[kind])
    except msgspec.ValidationError as error:
        place = lambda index, value: source.record_name(rows[index])  # noqa: E731
        raise explain_error(source.path, error, values, list[kind], place, field=name) from None


def _index_words(
    source: Source, name: str, values: Sequence[Any], rows: Sequence[int] | None = None
) -> tuple[list[str], Indices]:
    """Return the distinct words (or image names) of a column in order of first appearance, and their (n,) indices."""
    values = _convert(source, name, values, ImageName if name == "image" else str, rows or range(len(values)))
    words, column = number_words(values)
    if name == "image":  # different values may name one image
        words = source.image_names(words, name, lambda i: source.record_name(int(np.argmax(column == i))))
    words, merged = number_words(words)
    return words, merged[column]


def _sizes(source: Source, images: Sequence[str], image: Indices, size: Floats) -> Floats:
    """Return (m, 2) image sizes, 0 if unknown, from the (n, 2) sizes in rows; raise InputError if rows disagree."""
    given = np.flatnonzero(~np.isnan(size).any(axis=1) & (size != 0).any(axis=1))
    sizes = np.zeros((len(images), 2))
    sizes[image[given[::-1]]] = size[given[::-1]]  # reversed, so that the first row of an image wins
    for row in given[(sizes[image[given]] != size[given]).any(axis=1)].tolist():
        found, first = (f"{width:g} x {height:g}" for width, height in (size[row], sizes[image[row]]))
        found, expected = f"the size {found} of {quote(images[image[row]])}", f"{first} as in an earlier row"
        raise InputError(source.path, record=source.record_name(row), field="width", found=found, expected=expected)
    return sizes


def _columns(table: Interactions) -> Columns:
    """Return the columns of a table, with a row of only the image (None elsewhere) for each image without triplets."""
    corners = np.concatenate([table.human_boxes, table.object_boxes], axis=1).T.tolist()
    bare = np.flatnonzero(np.diff(table.offsets) == 0)
    image = np.concatenate([table.image, bare])
    order = np.argsort(image, kind="stable").tolist()

    def in_order(values: list[Any]) -> list[Any]:
        padded = values + [None] * len(bare)
        return [padded[row] for row in order] if len(bare) else values

    columns: Columns = {
        "image": [table.images[i] for i in image[order].tolist()],
        **dict(zip(_CORNERS, map(in_order, corners), strict=True)),
        "verb": in_order([table.verbs[i] for i in table.verb.tolist()]),
        "object": in_order([table.objects[i] for i in table.object.tolist()]),
    }
    missing = np.isnan(table.score)
    if not missing.all() or not len(missing):
        columns["score"] = in_order([None if score != score else score for score in table.score.tolist()])
    if (table.sizes > 0).any():
        columns["width"], columns["height"] = table.sizes[image[order]].T.tolist()
    return columns
