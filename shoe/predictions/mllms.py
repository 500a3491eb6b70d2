"""mllms-zs-hoi's JSON: per image, named without ".jpg", a list of triplets; classes are the 600, from 1."""

from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import orjson

from shoe.benchmarks import fields
from shoe.benchmarks.classes import HoiClasses
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.rows import Rows
from shoe.io.files import replacing
from shoe.predictions.names import hoi_classes_of, image_name, without_ending
from shoe.predictions.source import Source

_BOXES = ("sub_bbox", "obj_bbox")


def is_mllms(source: Source) -> bool:
    """Tell whether a document is an object with one list per image whose items have a ``hoi_id``."""
    document = source.document
    if not isinstance(document, dict) or not document or not all(isinstance(v, list) for v in document.values()):
        return False
    first = next((items[0] for items in document.values() if items), None)
    if first is None:  # nothing predicted: only the names are left to go by
        return all(isinstance(name, str) and image_name(name or ".") != name for name in document)
    return isinstance(first, dict) and "hoi_id" in first


def read_mllms(source: Source) -> Rows:
    """Read mllms-zs-hoi's predictions; a file without scores is allowed.

    Raises:
        InputError: naming the image and field that break the form.
    """
    path, classes = source.path, source.classes
    if not isinstance(source.document, dict):
        raise InputError(path, found=fields.shown(source.document), expected="an object with one list per image")
    try:
        images = [image_name(name) for name in source.document]
        lists = list(source.document.values())
        items = fields.flat(lists)
        hoi = fields.whole_numbers([item["hoi_id"] for item in items])
        humans, objects = (fields.rows([item[field] for item in items], 4) for field in _BOXES)
        score = fields.number_column([item.get("score", np.nan) for item in items])
        if ((hoi < 1) | (hoi > len(classes))).any():
            raise ValueError
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        _explain(source, len(classes))
    verb, object_ = classes.verb[hoi - 1], classes.object[hoi - 1]
    return Rows(
        images=images,
        image=np.repeat(np.arange(len(images)), [len(listed) for listed in lists]),
        human_boxes=humans,
        object_boxes=objects,
        verbs=classes.verbs,
        objects=classes.objects,
        verb=verb.astype(np.int64),
        object=object_.astype(np.int64),
        score=score,
    )


def _explain(source: Source, classes: int) -> NoReturn:
    """Raise the error of the first place that breaks the form."""
    path = source.path
    for name, listed in source.document.items():
        try:
            image_name(name)
        except ValueError:
            raise InputError(path, found=quote(name), expected="the name of an image") from None
        if not isinstance(listed, list):
            raise InputError(path, record=quote(name), found=fields.shown(listed), expected="a list of triplets")
        for i, item in enumerate(listed):
            place = f"image {quote(name)}: triplet {i}"
            hoi = fields.take(path, place, item, "hoi_id", object)
            fields.take_whole_number(path, place, hoi, "hoi_id")
            if not 1 <= hoi <= classes:
                expected = f"1 to {classes}: mllms ids count from 1"
                raise InputError(path, record=place, field="hoi_id", found=str(hoi), expected=expected)
            for field in _BOXES:
                fields.take_row(path, place, fields.take(path, place, item, field, list), field, fields.BOX)
            score = item.get("score", 0)
            if type(score) not in (int, float):
                raise InputError(path, record=place, field="score", found=fields.shown(score), expected="a number")
    fields.unexplained(path, "the form of mllms")


def write_mllms(table: Interactions, path: str | Path, classes: HoiClasses) -> None:
    """Write mllms-zs-hoi's form.

    Raises:
        InputError: naming a word that is no label, a pair that is no class, or an image whose name does not end in
            ".jpg".
    """
    hoi = (hoi_classes_of(table, classes, path, "mllms") + 1).tolist()
    humans, objects, scores = table.human_boxes.tolist(), table.object_boxes.tolist(), table.score.tolist()
    document: dict[str, list[dict[str, Any]]] = {}
    for i, name in enumerate(without_ending(path, table.images)):
        document[name] = [
            {"hoi_id": hoi[row], "sub_bbox": humans[row], "obj_bbox": objects[row], "score": scores[row]}
            for row in range(table.offsets[i], table.offsets[i + 1])
        ]
    with replacing(path) as stream:
        stream.write(orjson.dumps(document))
