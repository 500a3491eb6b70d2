"""Open a prediction file, determine its kind before its format is recognised, and read fields of its records."""

import gc
import hashlib
import io
import json
import os
import re
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
from msgspec import UNSET, UnsetType, inspect

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Floats, first_true
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.io.files import RUN_HEAD, encoding_error, is_stream, read_bytes
from shoe.core.io.inspect_logs import JSON_LOG, LOG_START, read_log
from shoe.core.io.json import describe_value, explain_error, parse_json, parse_with_nan, repeated_key
from shoe.core.io.matlab import is_matlab
from shoe.core.io.pickles import TORCH_TO_JSON
from shoe.core.io.spreadsheets import WORKBOOK, read_xlsx
from shoe.predictions.notes import ReadNotes

Kind = Literal["document", "text", "matlab", "parquet", "npz", "folder"]
Sizes = Mapping[str, tuple[int, int]]
T = TypeVar("T")
PREDICT_PREFIX = b'{"format":"shoe predictions",'
"""First bytes of a file of ``shoe predict``: JSON Lines whose first line describes how predictions were made."""
_BOM, _BOM_16, _ZIP = b"\xef\xbb\xbf", (b"\xff\xfe", b"\xfe\xff"), b"PK"
_HEAD = 1 << 16  # bytes of a JSON list or JSON Lines from which the format is recognised
_GAP = re.compile(r"[\s,]*")
_IMAGE_KEYS = ("filename", "file_name", "image_id")


@dataclass
class Source:
    """An opened prediction file, with the information that is needed to read it.

    Attributes:
        benchmark: benchmark that defines the image names and class IDs of the file.
        sizes, truth: (width, height) of images by name, and the ground truth for hints in messages, if available.
        bad_boxes: rule for predictions with an invalid box or score: "refuse", "drop" or "count".
        kind: kind of the file; JSON, JSON Lines, pickles and written-out Python values are all "document".
        data: file content; empty for folders and native tables.
        lines: line number of each record, for CSV and JSON Lines.
        numbering: name of the numbering that the user chose, by part ("objects", "verbs" or "interactions").
    """

    path: Path
    benchmark: Benchmark
    sizes: Sizes | None = None
    truth: Interactions | None = None
    bad_boxes: str = "refuse"
    kind: Kind = "document"
    data: bytes = b""
    is_list: bool = False
    lines: Sequence[int] | None = None
    numbering: Mapping[str, str] = field(default_factory=dict)
    notes: ReadNotes = field(default_factory=ReadNotes)
    _paths: dict[str, str] = field(default_factory=dict)  # by image name

    def image_name(self, value: object) -> str:
        """Return the image name for a name, path or ID in the file. Raises ValueError for other values.

        Raises InputError if the name already occurred with another folder, because it may be another image.
        """
        name = self.benchmark.image_name(value)
        if isinstance(value, str) and value != name:
            path = "/" + value.replace("\\", "/")
            other = self._paths.setdefault(name, path)
            if path != other and not (path.endswith(other) or other.endswith(path)):
                found = f"{quote(other[1:])} and {quote(path[1:])}"
                raise InputError(self.path, field="image", found=found, expected="only one path per image name")
        return name

    @cached_property
    def document(self) -> Any:
        """Parsed content (dict, list, ...); for JSON Lines, a list of records. Raises InputError if it is not JSON."""
        parsed = self._parsed_lines(self.lines) if self.lines else parse_with_nan(self.path, self.data)
        self.refuse_repeated(repeated_key(self.data, parsed))
        return parsed

    def _parsed_lines(self, numbers: Sequence[int]) -> list[Any]:
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            records = msgspec.json.Decoder().decode_lines(self.data)
            if len(records) == len(numbers):
                return records
        lines = self.data.split(b"\n")
        return [parse_with_nan(self.path, lines[number - 1], number) for number in numbers]

    def refuse_repeated(self, key: str | None) -> None:
        """Raise InputError if an object contains ``key`` twice (None: no key), because one of the values is lost."""
        if key is not None:
            raise InputError(self.path, found=f"the key {quote(key)} twice in one object", expected="each key once")

    @property
    def records(self) -> list[Any]:
        """Records of the document: the items of a list, [the object] for a single object, or []."""
        if isinstance(self.document, list):
            return self.document
        return [self.document] if isinstance(self.document, dict) else []

    @cached_property
    def head(self) -> list[Any]:
        """Records in the first 64 KB of a JSON list or JSON Lines, or all of another document; [] for other files."""
        if self.kind != "document":
            return []
        records: list[Any] = []
        if "document" not in self.__dict__ and (self.is_list or self.lines):
            text = self.data[:_HEAD].decode("utf-8", "replace").lstrip()
            end, decoder = int(self.is_list), json.JSONDecoder()
            with suppress(ValueError, RecursionError):  # ends with the list, the bytes or the valid JSON
                while gap := _GAP.match(text, end):
                    record, end = decoder.raw_decode(text, gap.end())
                    records.append(record)
        return records or self.records

    @cached_property
    def members(self) -> list[str]:
        """Names of the files in a zip file; empty for other files."""
        file = io.BytesIO(self.data) if self.data else self.path
        with suppress(OSError, zipfile.BadZipFile, ValueError, NotImplementedError), zipfile.ZipFile(file) as archive:
            return archive.namelist()
        return []

    @property
    def first(self) -> dict[str, Any]:
        """First record; an empty dict without records, or if the first record is not an object."""
        return self.head[0] if self.head and isinstance(self.head[0], dict) else {}

    def typed(self, kind: type[T], within: str | None = None) -> list[T]:
        """Return the list under the key ``within`` (all records if there is no such key) as ``kind`` objects.

        Raises InputError naming the first record and field with another type.
        """
        listed = list[kind]  # type: ignore[valid-type]
        with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # the exact error is raised below
            if "document" not in self.__dict__ and self.is_list:
                return msgspec.json.decode(self.data, type=listed)
            if "document" not in self.__dict__ and self.lines:
                typed = msgspec.json.Decoder(kind).decode_lines(self.data)
                if len(typed) == len(self.lines):
                    return typed
        records = self.records_within(within)
        try:
            return self.convert(records, listed)
        except msgspec.ValidationError as error:
            raise explain_error(self.path, error, records, listed, self.record_name) from None

    def convert(self, value: Any, kind: type[T]) -> T:
        """Convert dicts and lists to ``kind``, ignoring (and noting) unknown fields; ValidationError if invalid."""
        try:
            return msgspec.convert(value, kind)
        except msgspec.ValidationError:
            return msgspec.convert(self._without_unknown(value, inspect.type_info(kind)), kind)

    def _without_unknown(self, value: Any, node: Any, within: str = "") -> Any:
        """Return plain values without fields that a type (described by ``node``) forbids, and note these fields."""
        while isinstance(node, inspect.Metadata):
            node = node.type
        if isinstance(node, inspect.ListType) and isinstance(value, list | tuple):
            return [self._without_unknown(item, node.item_type, within) for item in value]
        if not (isinstance(node, inspect.StructType) and isinstance(value, dict) and node.forbid_unknown_fields):
            return value
        types = {field.encode_name: field.type for field in node.fields}
        for key in (key for key in value if key not in types):
            self.notes.add_unread(f"{within}{key}", [value[key]])
        return {key: self._without_unknown(value[key], types[key], f"{key}.") for key in types.keys() & value.keys()}

    def records_within(self, key: str | None) -> list[Any]:
        """Return the list under ``key``, or all records if there is no such key.

        Raises InputError for a value that is no list. An empty list is an error, too, if it is not the whole file.
        """
        records = self.records
        if key and isinstance(self.document, dict):
            records = self.document.get(key, records)
        if not isinstance(records, list) or (not records and self.document != []):
            found = describe_value(self.document)
            raise InputError(self.path, found=found, expected="a list with one object per image")
        return records

    def record_name(self, number: int, record: Any = None) -> str:
        """Return the name of a record for messages: its image, or else "line N", or else "record N", ``number`` + 1."""
        for key in _IMAGE_KEYS:
            if isinstance(record, dict) and key in record:
                try:
                    return f"image {quote(self.benchmark.image_name(record[key]))}"
                except ValueError:
                    break
        return f"line {self.lines[number]}" if self.lines else f"record {number + 1}"

    def image_names(
        self, values: Iterable[object], field: str, place: Callable[[int], str | None] | None = None
    ) -> list[str]:
        """Return the image name for each value of a field; InputError, naming ``place(row)``, for an invalid value."""
        names: list[str] = []
        for number, value in enumerate(values):
            try:
                names.append(self.image_name(value))
            except ValueError:
                record, found = (place or self.record_name)(number), describe_value(value)
                raise InputError(self.path, record=record, field=field, found=found, expected="a file name") from None
        return names

    def all_have_field(self, field: str, values: Sequence[Any], place: Callable[[int], str]) -> bool:
        """Return True if no value of a field is UNSET, False if all are; InputError for ``place(row)`` if some are."""
        absent = np.array([value is UNSET for value in values])
        if (row := first_true(absent != absent[0])) is None:
            return not absent[0]
        found = "no such key" if absent[row] else "the first record with this key"
        expected = "this key in all records or none"
        raise InputError(self.path, record=place(row), field=field, found=found, expected=expected)

    def optional_column(
        self, field: str, values: Sequence[float | UnsetType], place: Callable[[int], str]
    ) -> Floats | None:
        """Return the (n,) values of a field, or None if no row has it. Raises InputError if only some rows have it."""
        try:
            return np.fromiter(values, np.float64, len(values))
        except TypeError:
            self.all_have_field(field, values, place)
            return None


def open_source(path: str | Path, benchmark: Benchmark, sizes: Sizes | None = None) -> Source:
    """Open a file and determine its kind. Raises InputError if it is unreadable, empty or damaged."""
    source = Source(Path(path), benchmark, sizes)
    if os.path.isdir(source.path):  # unlike Path.is_dir, does not raise for long names
        source.kind = "folder"
        return source
    zipped = _is_zip(source.path)  # the reader of native tables opens the file itself
    data = b"" if zipped else read_bytes(path)
    source.data = data.removeprefix(_BOM)
    is_zip = zipped or data.startswith(_ZIP)
    start = source.data[:64].lstrip()
    if is_zip and WORKBOOK in source.members:
        source.document, source.lines = read_xlsx(path, data)
    elif JSON_LOG.match(source.data) or (is_zip and (source.path.suffix == ".eval" or LOG_START in source.members)):
        source.document, unanswered = read_log(source.path, source.data)
        source.notes.add("unanswered", count=unanswered)
    elif is_zip:
        _refuse_other_zip(source)
        source.kind = "npz"
    elif not start and not source.data.strip():
        raise InputError(path, found="an empty file", expected="predictions")
    elif data.startswith(b"PAR1"):
        source.kind = "parquet"
    elif is_matlab(data):
        source.kind = "matlab"
    elif len(data) > 2 and data[0] == 0x80 and 2 <= data[1] <= 5:  # a pickle of protocol 2 to 5
        from shoe.core.io.pickles import load_plain

        source.document = load_plain(path, data)
    elif not data[:64].strip(b"\0"):
        raise InputError(path, found="only zero bytes at the start", expected="predictions")
    elif data.startswith(_BOM_16) or b"\0\0" in (data[:4:2], data[1:4:2]):
        raise InputError(path, found="text in UTF-16", expected="text in UTF-8", hint="save the file as UTF-8")
    elif error := encoding_error(path, source.data):
        raise error
    elif re.match(rb"\"?\[?\s*\{\s*'", start):  # a Python dict, or a list of dicts, perhaps in JSON text
        from shoe.core.io.tolerant import parse_literal  # its regular expressions take 10 ms to compile

        text = parse_json(path, source.data) if start[:1] == b'"' else data.decode("utf-8", "replace")
        source.document = parse_literal(path, text) if isinstance(text, str) else text
    elif start[:1] == b"{":
        if source.data.startswith(PREDICT_PREFIX):
            _read_predictor_line(source)
        source.lines = _line_numbers(source.data)
    elif start[:1] == b"[":
        source.is_list = True
    else:
        source.kind = "text"
    return source


def _read_predictor_line(source: Source) -> None:
    """Read the settings of ``shoe predict`` from the first line, and empty this line, which keeps the line numbers."""
    first, _, rest = source.data.partition(b"\n")
    source.notes.predictor = str(parse_json(source.path, first, 1).get("says", ""))
    source.notes.predictor_digest = hashlib.sha256(first).hexdigest()[:8]
    source.data = b"\n" + rest
    if not rest.strip():
        raise InputError(source.path, found="only the first line", expected="one more line per image")


def _is_zip(path: Path) -> bool:
    with suppress(OSError, ValueError):
        if not is_stream(path):
            with path.open("rb") as stream:
                return stream.read(len(_ZIP)) == _ZIP
    return False


def _refuse_other_zip(source: Source) -> None:
    """Raise InputError for zip files without arrays: files saved by torch.save, saved runs, and other archives."""
    found = hint = ""
    if any(name.endswith("/data.pkl") for name in source.members):
        found, hint = "a file saved by torch.save", TORCH_TO_JSON
    elif RUN_HEAD in source.members:
        found = "a run saved by shoe score --save"
        hint = "a saved run contains no predictions; use it with `shoe compare` or `shoe verify`"
    elif source.members and not any(name.endswith(".npy") for name in source.members):
        found, hint = f"a zip archive of {', '.join(map(quote, source.members[:3]))}", "unpack the archive"
    if found:
        raise InputError(source.path, found=found, expected="JSON, a pickle of plain values, or text", hint=hint)


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector, because parsed files have millions of containers and no cycles."""
    resume = gc.enable if gc.isenabled() else gc.disable
    gc.disable()
    try:
        yield
    finally:
        resume()


def _line_numbers(data: bytes) -> Sequence[int] | None:
    """Return the line number of each record of JSON Lines; None unless the first of several lines is valid JSON."""
    first, _, rest = data.lstrip().partition(b"\n")
    if not rest or rest.isspace():
        return None
    try:
        parse_with_nan("", first)
    except InputError:
        return None
    content = np.frombuffer(data, np.uint8)
    starts = np.flatnonzero(content == ord("\n"))[: -1 if data.endswith(b"\n") else None] + 1
    if data[:1] == b"{" and bool((content[starts] == data[0]).all()):  # no line is empty
        return range(1, len(starts) + 2)
    return [number for number, line in enumerate(data.split(b"\n"), 1) if line and not line.isspace()]
