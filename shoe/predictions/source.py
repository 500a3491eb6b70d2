"""A prediction file, opened: what kind of file it is, and what is in it, before anyone asks which tool wrote it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import orjson

from shoe.benchmarks.classes import HoiClasses
from shoe.core.errors import InputError
from shoe.io.files import read_bytes
from shoe.io.json import parse_json
from shoe.io.literals import is_literal, parse_literal
from shoe.io.matlab import is_matlab
from shoe.predictions.notes import ReadNotes

Kind = Literal["document", "text", "matlab", "parquet", "npz", "folder"]
_BOM = b"\xef\xbb\xbf"
_BOM_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(slots=True)
class Source:
    """One file and what reading it needs to know.

    Attributes:
        path: the file.
        classes: whose class numbers the file uses.
        sizes: width and height of images, by name, from elsewhere.
        kind: what kind of file it is; JSON, JSON Lines, a pickle and a written-out Python value are all documents.
        document: plain lists, dicts, numbers and text; only of documents.
        data: the bytes of any other kind but a folder and a native table.
        lines: for JSON Lines, the line number of each record.
        notes: what the reader has to say.
    """

    path: Path
    classes: HoiClasses
    sizes: Mapping[str, tuple[int, int]] | None = None
    kind: Kind = "document"
    document: Any = None
    data: bytes = b""
    lines: Sequence[int] | None = None
    notes: ReadNotes = field(default_factory=ReadNotes)

    def place(self, record: int) -> str:
        """Name a record in a message."""
        return f"line {self.lines[record]}" if self.lines else f"record {record}"

    @property
    def records(self) -> list[Any]:
        """The records of a document: its items, or the one object that it is, as in a file of one line."""
        if isinstance(self.document, list):
            return self.document
        return [self.document] if isinstance(self.document, dict) else []

    @property
    def first(self) -> dict[str, Any]:
        """The first record, if it is an object; an empty one otherwise."""
        first = self.records[0] if self.records else None
        return first if isinstance(first, dict) else {}


def open_source(path: str | Path, classes: HoiClasses, sizes: Mapping[str, tuple[int, int]] | None) -> Source:
    """Open a file, tell its kind by its content, and parse it if it is a document.

    Raises:
        InputError: if it cannot be read, or is damaged.
    """
    source = Source(Path(path), classes, sizes)
    if source.path.is_dir():
        source.kind = "folder"
        return source
    if _magic(source.path) == b"PK":  # its reader takes what it needs from the file itself
        source.kind = "npz"
        return source
    data = read_bytes(path)
    start = data[:64].removeprefix(_BOM).lstrip()
    if not start and not data.removeprefix(_BOM).strip():
        raise InputError(path, found="an empty file", expected="predictions")
    if data.startswith(b"PAR1"):
        source.kind, source.data = "parquet", data
    elif is_matlab(data):
        source.kind, source.data = "matlab", data
    elif _is_pickle(data):
        from shoe.io.pickles import load_plain

        source.document = load_plain(path, data)
    elif data.startswith(_BOM_16) or b"\0\0" in (data[:4:2], data[1:4:2]):
        hint = "save the file as UTF-8"
        raise InputError(path, found="text in UTF-16", expected="text in UTF-8", hint=hint)
    elif is_literal(start):
        source.document = parse_literal(path, data.decode("utf-8", "replace"))
    elif start[:1] in (b"[", b"{") or (start[:1] == b'"' and is_literal(start[1:])):
        _parse_document(source, data.removeprefix(_BOM))
    else:
        source.kind, source.data = "text", data.removeprefix(_BOM)
    return source


def _magic(path: Path) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(2)
    except (OSError, ValueError):
        return b""


@contextmanager
def collection_paused() -> Iterator[None]:
    """Pause the cyclic garbage collector: parsed files hold millions of containers and no cycles among them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _parse_document(source: Source, data: bytes) -> None:
    """Parse JSON or JSON Lines; JSON text that holds a written-out Python value is that value."""
    try:
        document = orjson.loads(data)
    except orjson.JSONDecodeError:
        if not _starts_with_object_line(data):
            document = parse_json(source.path, data)
        else:
            _parse_lines(source, data)
            return
    if isinstance(document, str):
        document = parse_literal(source.path, document)
    source.document = document


def _starts_with_object_line(data: bytes) -> bool:
    first, _, rest = data.lstrip().partition(b"\n")
    try:
        return bool(rest.strip()) and isinstance(orjson.loads(first), dict)
    except orjson.JSONDecodeError:
        return False


def _parse_lines(source: Source, data: bytes) -> None:
    numbered = [(number, line) for number, line in enumerate(data.split(b"\n"), 1) if line.strip()]
    lines = [line for _, line in numbered]
    source.lines = [number for number, _ in numbered]
    try:
        source.document = orjson.loads(b"[" + b",".join(lines) + b"]")
        whole = len(source.document) == len(lines)
    except orjson.JSONDecodeError:
        whole = False
    if not whole:
        source.document = [parse_json(source.path, line, number) for number, line in numbered]


def _is_pickle(data: bytes) -> bool:
    """Tell whether a file starts like a pickle of protocol 2 to 5."""
    return len(data) > 2 and data[0] == 0x80 and 2 <= data[1] <= 5
