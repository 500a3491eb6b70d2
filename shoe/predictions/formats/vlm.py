"""Free text of vision-language models: recognition of files, and reading and writing with ``predictions.vlm``."""

import csv
import io
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions, Rows
from shoe.core.io.files import atomic_write, read_bytes
from shoe.core.io.json import describe_value, parse_json
from shoe.predictions.field_names import meaning
from shoe.predictions.source import Source
from shoe.predictions.vlm.images import is_file_name
from shoe.predictions.vlm.items import interactions_in
from shoe.predictions.vlm.parsed_reply import UnreadableError
from shoe.predictions.vlm.reader import Reader, parse_record, records_by_image, records_in

# Scene-Graph-Benchmark's ``custom_prediction.json``: boxes per image, pairs of boxes, and numbers of classes. The names
# of images, classes and predicates are in ``custom_data_info.json``, which the tool writes into the same folder.
_KEYS = {"bbox", "bbox_labels", "rel_pairs", "rel_labels"}
_INFO = "custom_data_info.json"
_NAMES = ("idx_to_files", "ind_to_classes", "ind_to_predicates")


def is_sgg(document: Any) -> bool:
    """Return whether the first image of a document has Scene-Graph-Benchmark's keys, with class IDs as box labels."""
    is_by_name = isinstance(document, dict) and all(isinstance(key, str) for key in document)
    first = next(iter(document.values()), None) if is_by_name else None
    return isinstance(first, dict) and set(first) >= _KEYS and not any(isinstance(x, str) for x in first["bbox_labels"])


def records_of_sgg(source: Source) -> Iterator[dict[str, Any]]:
    """Yield Scene-Graph-Benchmark's records with names in place of class IDs; InputError if an ID has no name."""
    info_path = source.path.with_name(_INFO)
    if not info_path.is_file():
        hint = f"{_INFO} has the names of the images, classes and predicates, which are only numbers in this file"
        raise InputError(source.path, found=f"no {_INFO} in its folder", expected=f"{_INFO} of the same run", hint=hint)
    info = parse_json(info_path, read_bytes(info_path))
    lists = [info.get(name) if isinstance(info, dict) else None for name in _NAMES]
    for name, names in zip(_NAMES, lists, strict=True):
        if not isinstance(names, list):
            raise InputError(info_path, field=name, found="no list", expected="a list of names")
    files, classes, predicates = ([str(word) for word in names or []] for names in lists)
    for number, image in source.document.items():
        if not isinstance(image, dict) or not set(image) >= _KEYS or not all(isinstance(image[k], list) for k in _KEYS):
            place, expected = f"image {quote(number)}", f"lists under the keys {', '.join(sorted(_KEYS))}"
            raise InputError(source.path, record=place, found="other keys or values", expected=expected)
        yield {
            "image": _name(source, number, files, "idx_to_files"),
            "bbox": image["bbox"],
            "bbox_labels": [_name(source, label, classes, "ind_to_classes") for label in image["bbox_labels"]],
            "rel_pairs": image["rel_pairs"],
            "rel_labels": [_name(source, label, predicates, "ind_to_predicates") for label in image["rel_labels"]],
            **({"rel_scores": image["rel_scores"]} if isinstance(image.get("rel_scores"), list) else {}),
        }


def _name(source: Source, number: Any, names: list[str], field: str) -> str:
    is_number = type(number) is int or (isinstance(number, str) and number.isascii() and number.isdigit())
    if not is_number or not 0 <= int(number) < len(names):
        expected = f"0 to {len(names) - 1}, the indices of the names in {_INFO}"
        raise InputError(source.path, field=field, found=quote(number), expected=expected)
    return names[int(number)]


_LOOKED_AT, _LONGEST_HEADER = 5, 4096


def is_vlm(source: Source) -> bool:
    """Return whether a file has replies or interactions with image names, or is a file of Scene-Graph-Benchmark."""
    if source.kind == "text":
        return bool(_table_rows(source, _LOOKED_AT))
    if source.kind != "document":
        return False
    document = source.head if source.is_list or source.lines else source.document
    if is_sgg(document):
        return True
    with suppress(UnreadableError):  # read_vlm raises it again
        return any(_is_record(record) for record in islice(records_in(document), _LOOKED_AT))
    return True


def _table_rows(source: Source, most: int | None = None) -> list[dict[str, str]]:
    """Return at most ``most`` rows of a CSV or TSV table; [] unless the first have an image, and a reply or boxes."""
    text = source.data.decode("utf-8", "replace")
    header = text[:_LONGEST_HEADER].partition("\n")[0]
    if "," not in header and "\t" not in header:
        return []
    delimiter = "\t" if "\t" in header else ","
    cells = header.split(delimiter)
    names = None  # csv takes them from the first line, unless that line is data
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
    parsed_record = parse_record(record)
    if parsed_record.answer is not None:
        return parsed_record.image is not None or bool(records_by_image(parsed_record))
    reading = interactions_in([parsed_record.outer])
    is_sided = any(meaning(key).part == "box" and meaning(key).side in ("human", "subject") for key in record)
    return parsed_record.image is not None and bool(reading.pairs or reading.says_none or is_sided)


def read_vlm(source: Source) -> Rows:
    """Read replies and interactions; unparsed phrases get verb "" and object "". InputError for an invalid record."""
    reader = Reader(source)
    document = _table_rows(source) if source.kind == "text" else source.document
    if not isinstance(document, dict | list):
        raise InputError(source.path, found=describe_value(document), expected="one object per interaction or image")
    records = records_of_sgg(source) if is_sgg(document) else records_in(document)
    try:
        for number, record in enumerate(records):
            reader.add(number, record)
    except UnreadableError as error:
        raise error.to_input_error(source) from None
    return reader.rows()


def write_vlm(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write JSON Lines: a line per interaction or image without interactions, with the image size if it is known."""
    columns = (table.human_boxes, table.object_boxes, table.verb, table.object, table.score)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    with atomic_write(path) as stream:
        for i, name in enumerate(table.images):
            width, height = table.sizes[i].tolist()
            size: dict[str, Any] = {"width": width, "height": height} if width and height else {}
            records: list[dict[str, Any]] = []
            for human, target, verb, object_, score in rows[table.offsets[i] : table.offsets[i + 1]]:
                record = {"image": name, "human_box": human, "object_box": target}
                record |= {"verb": table.verbs[verb], "object": table.objects[object_]}
                records.append(record | ({} if score != score else {"score": score}) | size)
            for record in records or [{"image": name, "interactions": [], **size}]:
                stream.write(msgspec.json.encode(record) + b"\n")
