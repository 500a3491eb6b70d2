"""HICO-DET as fredzzhang/hicodet writes it: ``instances_test2015.json``, ``instances_train2015.json``.

One object of parallel lists. It carries its own class lists, which its class indices point into; boxes are the official
ones, pixel indices counted from 1, in both splits.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import fields
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.checks import PlaceOf, check_range, triplet_name
from shoe.core.coordinates import Coordinates
from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.io.json import parse_json

NAME = "hicodet instances JSON"
_TRIPLET_LISTS = ("boxes_h", "boxes_o", "hoi", "object", "verb")


def is_instances(data: bytes) -> bool:
    """Tell whether a file holds a JSON object with this format's keys."""
    return data.lstrip()[:1] == b"{" and b'"annotation"' in data and b'"filenames"' in data


def read_instances(path: str | Path, data: bytes, _benchmark: Benchmark, _split: str | None) -> Rows:
    """Read a file.

    Raises:
        InputError: naming the image and field that break the format.
    """
    document = parse_json(path, data)
    images = fields.take(path, None, document, "filenames", list)
    verbs = _words(document, "verbs", path)
    objects = _words(document, "objects", path)
    annotation = fields.take(path, None, document, "annotation", list)
    if len(annotation) != len(images):
        expected = f"{len(images)}, one per file name"
        raise InputError(path, field="annotation", found=f"{len(annotation)} images", expected=expected)
    try:
        classes = fields.whole(fields.rows(document["correspondence"], 3))
        counts = _counts(annotation)
        columns = {name: fields.flat([entry[name] for entry in annotation]) for name in _TRIPLET_LISTS}
        human_boxes, object_boxes = fields.rows(columns["boxes_h"], 4), fields.rows(columns["boxes_o"], 4)
        hoi, object_, verb = (fields.whole_numbers(columns[name]) for name in ("hoi", "object", "verb"))
        sizes = fields.whole(fields.rows(document["size"], 2)).astype(np.float64) if "size" in document else None
    except (TypeError, KeyError, ValueError):
        _explain(document, path)
    image = np.repeat(np.arange(len(images)), counts)
    place = (images, image)
    check_range(path, place, "object", object_, len(objects))
    check_range(path, place, "verb", verb, len(verbs))
    check_range(path, place, "hoi", hoi, len(classes))
    _check_agreement(path, place, classes, np.stack([hoi, object_, verb], axis=1))
    return Rows(
        images=images,
        image=image,
        human_boxes=human_boxes,
        object_boxes=object_boxes,
        verbs=verbs,
        objects=objects,
        verb=verb,
        object=object_,
        coordinates=np.full(len(images), Coordinates.PIXELS_1, np.uint8),
        sizes=sizes,
    )


def _words(document: dict[str, Any], field: str, path: str | Path) -> list[str]:
    words: list[str] = fields.take(path, None, document, field, list)
    for word in words:
        if not isinstance(word, str):
            raise InputError(path, field=field, found=fields.shown(word), expected="names")
    return words


def _counts(annotation: Sequence[dict[str, Any]]) -> list[int]:
    counts = [len(entry["hoi"]) for entry in annotation]
    for name in _TRIPLET_LISTS:
        if [len(entry[name]) for entry in annotation] != counts:
            raise ValueError
    return counts


def _check_agreement(
    path: str | Path,
    place: PlaceOf,
    classes: NDArray[np.int64],
    triplets: NDArray[np.int64],
) -> None:
    """A triplet says its class twice: by ``hoi``, and by ``object`` and ``verb``; both have to say the same."""
    order = np.full(len(classes), -1)
    inside = (classes[:, 0] >= 0) & (classes[:, 0] < len(classes))
    order[classes[inside, 0]] = np.flatnonzero(inside)
    wrong = (order[triplets[:, 0]] < 0) | (classes[order[triplets[:, 0]], 1:] != triplets[:, 1:]).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        hoi, object_, verb = triplets[row]
        expected = "the object and verb that correspondence gives this hoi"
        found = f"{hoi} with object {object_} and verb {verb}"
        raise InputError(path, record=triplet_name(place, row), field="hoi", found=found, expected=expected)


def _explain(document: dict[str, Any], path: str | Path) -> NoReturn:
    """Raise the error of the first place that breaks the form."""
    for name, expected in (("correspondence", "hoi, object, verb"), ("size", "width, height")):
        for number, row in enumerate(fields.take(path, None, document, name, list)):
            fields.take_row(path, f"{name} {number}", row, "entry", expected)
            for value in row:
                fields.take_whole_number(path, f"{name} {number}", value, "entry")
    for number, entry in enumerate(document["annotation"]):
        record = f"image {quote(document['filenames'][number])}"
        lists = {name: fields.take(path, record, entry, name, list) for name in _TRIPLET_LISTS}
        for name, values in lists.items():
            if len(values) != len(lists["hoi"]):
                expected = f"{len(lists['hoi'])}, as in hoi"
                raise InputError(path, record=record, field=name, found=f"{len(values)} entries", expected=expected)
            for i, value in enumerate(values):
                if name.startswith("boxes"):
                    fields.take_row(path, f"{record}: triplet {i}", value, name, fields.BOX)
                else:
                    fields.take_whole_number(path, f"{record}: triplet {i}", value, name)
    fields.unexplained(path, f"the format {NAME}")
