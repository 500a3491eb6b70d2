"""Scene-Graph-Benchmark's ``custom_prediction.json``: per image boxes, pairs of them, and numbers for what they are.

Images, classes and predicates are named in ``custom_data_info.json``, which the tool writes into the same folder.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from shoe.core.errors import InputError, quote
from shoe.io.files import read_bytes
from shoe.io.json import parse_json
from shoe.predictions.source import Source

_KEYS = {"bbox", "bbox_labels", "rel_pairs", "rel_labels"}
_INFO = "custom_data_info.json"
_NAMES = ("idx_to_files", "ind_to_classes", "ind_to_predicates")


def is_sgg(document: Any) -> bool:
    """Tell whether a document has the tool's keys for every image, and numbers for its classes."""
    if not isinstance(document, dict) or not document or not all(isinstance(key, str) for key in document):
        return False
    first = next(iter(document.values()))
    return isinstance(first, dict) and set(first) >= _KEYS and not any(isinstance(x, str) for x in first["bbox_labels"])


def records_of_sgg(source: Source) -> Iterator[dict[str, Any]]:
    """The records of a document, with names for numbers.

    Raises:
        InputError: where the file with the names is missing, or lacks one.
    """
    beside = source.path.with_name(_INFO)
    if not beside.is_file():
        hint = "it names the images, classes and predicates that are numbers here"
        raise InputError(source.path, found=f"no {_INFO} beside it", expected="this file of the same run", hint=hint)
    info = parse_json(beside, read_bytes(beside))
    lists = [info.get(name) if isinstance(info, dict) else None for name in _NAMES]
    for name, listed in zip(_NAMES, lists, strict=True):
        if not isinstance(listed, list):
            raise InputError(beside, field=name, found="no list", expected="a list of names")
    files, classes, predicates = ([str(word) for word in listed or []] for listed in lists)
    for number, image in source.document.items():
        if not isinstance(image, dict) or not set(image) >= _KEYS or not all(isinstance(image[k], list) for k in _KEYS):
            raise InputError(
                source.path, record=f"image {quote(number)}", found="other keys", expected="bbox, rel_pairs"
            )
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
        expected = f"0 to {len(names) - 1}, as {_INFO} names so many"
        raise InputError(source.path, field=field, found=quote(number), expected=expected)
    return names[int(number)]
