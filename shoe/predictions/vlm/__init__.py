"""Free text of vision-language models: who does what to what, in any words, with two boxes.

JSON, JSON Lines, or the text that a model wrote, in whatever wrapper a tool put around it. What is read, by mechanism:
:mod:`wrappers` finds a record's answer, :mod:`replies` finds data in text, :mod:`items` finds what has two boxes,
:mod:`marks` and :mod:`prose` read boxes in sentences and location tokens, :mod:`words` splits phrases by the lexicon.
"""

from __future__ import annotations

import csv
import io
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError
from shoe.core.interactions import Interactions
from shoe.core.rows import Rows
from shoe.io.files import replacing
from shoe.io.typed import shown
from shoe.predictions.source import Source
from shoe.predictions.vlm.errors import UnreadableError
from shoe.predictions.vlm.images import is_file_name
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.reader import Reader
from shoe.predictions.vlm.records import by_image, record_of, records_in
from shoe.predictions.vlm.sgg import is_sgg, records_of_sgg

_LOOKED_AT = 5
_LONGEST_HEADER = 4096


def is_vlm(source: Source) -> bool:
    """Tell whether a document is free text of this format."""
    if source.kind == "text":
        return bool(_table(source, _LOOKED_AT))
    if source.kind != "document":
        return False
    document = source.head if source.is_list or source.lines else source.document
    if is_sgg(document):
        return True
    return any(_is_record(record) for record in islice(records_in(document), _LOOKED_AT))


def _table(source: Source, most: int | None = None) -> list[dict[str, str]]:
    """The rows of a table of comma- or tab-separated values with a column of images and one of replies; else none."""
    text = source.data.decode("utf-8", "replace")
    header = text[:_LONGEST_HEADER].partition("\n")[0]
    if "," not in header and "\t" not in header:
        return []
    delimiter = "\t" if "\t" in header else ","
    cells = header.split(delimiter)
    names = None  # the first line has them
    if any(map(is_file_name, cells)):
        names = ["image" if is_file_name(cell) else f"column {i}" for i, cell in enumerate(cells)]
    reader = csv.DictReader(io.StringIO(text, newline=""), names, delimiter=delimiter)
    with suppress(csv.Error):
        rows = [{key: value for key, value in row.items() if isinstance(key, str)} for row in islice(reader, most)]
        return rows if rows and all(map(_is_record, rows[:_LOOKED_AT])) else []
    return []


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    opened = record_of(record)
    if opened.answer is not None:
        return opened.image is not None or bool(by_image(opened))
    reading = interactions_in([opened.outer])
    is_sided = any(meaning(key).part == "box" and meaning(key).side in ("human", "subject") for key in record)
    return opened.image is not None and bool(reading.pairs or reading.says_none or is_sided)


def read_vlm(source: Source) -> Rows:
    """Read free text.

    Phrases without verb and object have "" for both, which is like no class; the notes list their text.

    Raises:
        InputError: naming the record and field that break the format, or what most replies lack.
    """
    reader = Reader(source)
    document = _table(source) if source.kind == "text" else source.document
    if not isinstance(document, dict | list):
        raise InputError(source.path, found=shown(document), expected="one object per interaction or image")
    records = records_of_sgg(source) if is_sgg(document) else records_in(document)
    try:
        for number, record in enumerate(records):
            reader.add(number, record)
    except UnreadableError as error:
        raise error.for_user(source) from None
    return reader.rows()


def write_vlm(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write JSON Lines: an interaction a line, with the image's size if known; an image without any has a line too."""
    humans, objects, scores = table.human_boxes.tolist(), table.object_boxes.tolist(), table.score.tolist()
    verb, object_ = table.verb.tolist(), table.object.tolist()
    with replacing(path) as stream:
        for i, name in enumerate(table.images):
            width, height = table.sizes[i].tolist()
            size: dict[str, Any] = {"width": width, "height": height} if width and height else {}
            records: list[dict[str, Any]] = [
                {
                    "image": name,
                    "human_box": humans[row],
                    "object_box": objects[row],
                    "verb": table.verbs[verb[row]],
                    "object": table.objects[object_[row]],
                    "score": scores[row],
                    **size,
                }
                for row in range(table.offsets[i], table.offsets[i + 1])
            ]
            for record in records or [{"image": name, "interactions": [], **size}]:
                stream.write(msgspec.json.encode(record) + b"\n")
