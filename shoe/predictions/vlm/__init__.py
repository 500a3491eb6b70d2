"""Free text of vision-language models: who does what to what, in any words, with two boxes.

JSON, JSON Lines, or the text that a model wrote, in whatever wrapper a tool put around it. What is read, by mechanism:
:mod:`records` opens wrappers, :mod:`replies` finds data in text, :mod:`items` finds what has two boxes, :mod:`marks`
and :mod:`prose` read boxes in sentences and location tokens, :mod:`words` splits phrases by the lexicon.
"""

from __future__ import annotations

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
from shoe.predictions.vlm.columns import Columns
from shoe.predictions.vlm.errors import UnreadableError
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.records import NOTHING, record_of, records_in

_LOOKED_AT = 5


def is_vlm(source: Source) -> bool:
    """Tell whether a document is free text of this format."""
    if source.kind != "document":
        return False
    document = source.head if source.is_list or source.lines else source.document
    return any(_is_record(record) for record in islice(records_in(document), _LOOKED_AT))


def _is_record(record: Any) -> bool:
    if not isinstance(record, dict):
        return False
    opened = record_of(record)
    if opened.answer is not NOTHING:
        return opened.image is not None
    reading = interactions_in([record])
    is_sided = any(meaning(key).part == "box" and meaning(key).side in ("human", "subject") for key in record)
    return opened.image is not None and bool(reading.pairs or reading.says_none or is_sided)


def read_vlm(source: Source) -> Rows:
    """Read free text.

    Phrases without verb and object have "" for both, which is like no class; the notes list their text.

    Raises:
        InputError: naming the record and field that break the format, or what most replies lack.
    """
    columns = Columns(source)
    if not isinstance(source.document, dict | list):
        raise InputError(source.path, found=shown(source.document), expected="one object per interaction or image")
    try:
        for number, record in enumerate(records_in(source.document)):
            columns.add(number, record)
    except UnreadableError as error:
        raise error.for_user(source) from None
    return columns.rows()


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
