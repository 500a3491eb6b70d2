"""mllms-zs-hoi's JSON: per image, named without ".jpg", a list of triplets; classes are the 600, from 1."""

from pathlib import Path
from typing import Any

import numpy as np
import orjson

from shoe.datasets import fields
from shoe.datasets.classes import HoiClasses
from shoe.errors import InputError, quote
from shoe.files import replacing
from shoe.interactions import Interactions
from shoe.predictions.names import hoi_classes_of, image_name, without_ending
from shoe.predictions.rows import Rows
from shoe.predictions.source import Source

_BOXES = ("sub_bbox", "obj_bbox")


def is_mllms(source: Source) -> bool:
    """Tell whether a document is an object with one list per image whose items have a ``hoi_id``."""
    if not isinstance(source.document, dict) or not source.document:
        return False
    lists = list(source.document.values())
    if not all(isinstance(items, list) for items in lists):
        return False
    first = next((items[0] for items in lists if items), {"hoi_id": None})
    return isinstance(first, dict) and "hoi_id" in first


def read_mllms(source: Source) -> Rows:
    """Read mllms-zs-hoi's predictions; a file without scores is allowed.

    Raises:
        InputError: naming the image and field that break the form.
    """
    path, classes = source.path, source.classes
    if not isinstance(source.document, dict):
        raise InputError(path, found=fields.shown(source.document), expected="an object with one list per image")
    images: dict[str, int] = {}
    image: list[int] = []
    items: list[tuple[str, Any]] = []
    for name, listed in source.document.items():
        try:
            index = images.setdefault(image_name(name), len(images))
        except ValueError:
            raise InputError(path, found=quote(name), expected="the name of an image") from None
        if not isinstance(listed, list):
            raise InputError(path, record=quote(name), found=fields.shown(listed), expected="a list of triplets")
        items += [(f"image {quote(name)}: triplet {i}", item) for i, item in enumerate(listed)]
        image += [index] * len(listed)
    for place, item in items:
        fields.take_whole_number(path, place, fields.take(path, place, item, "hoi_id", object), "hoi_id")
        for field in _BOXES:
            fields.take_row(path, place, fields.take(path, place, item, field, list), field, fields.BOX)
        score = item.get("score", 0)
        if type(score) not in (int, float):
            raise InputError(path, record=place, field="score", found=fields.shown(score), expected="a number")
        if not 1 <= item["hoi_id"] <= len(classes):
            expected = f"1 to {len(classes)}: mllms ids count from 1"
            raise InputError(path, record=place, field="hoi_id", found=str(item["hoi_id"]), expected=expected)
    hoi = np.array([item["hoi_id"] for _, item in items], np.int64) - 1
    return Rows(
        images=list(images),
        image=np.array(image, np.int64),
        human_boxes=np.array([item["sub_bbox"] for _, item in items], np.float64).reshape(-1, 4),
        object_boxes=np.array([item["obj_bbox"] for _, item in items], np.float64).reshape(-1, 4),
        verbs=classes.verbs,
        objects=classes.objects,
        verb=classes.verb[hoi].astype(np.int64),
        object=classes.object[hoi].astype(np.int64),
        score=np.array([item.get("score", np.nan) for _, item in items], np.float64),
    )


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
