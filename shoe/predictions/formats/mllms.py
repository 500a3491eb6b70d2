"""mllms-zs-hoi's JSON: per image, named without ".jpg", a list of triplets; HOI classes count from 1."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.checks import check_range
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions
from shoe.core.io.files import replacing
from shoe.core.io.json import Box, Number, Whole, explained, shown
from shoe.core.rows import Rows
from shoe.predictions.record_fields import hoi_classes_of
from shoe.predictions.source import Source


class _Item(Struct, gc=False):
    hoi_id: Whole
    sub_bbox: Box
    obj_bbox: Box
    score: Number = np.nan


_Items = Annotated[list[_Item], Meta(extra={"item": "triplet", "expected": "a list of triplets"})]


def is_mllms(source: Source) -> bool:
    """Tell whether a document is an object with one list per image whose items have a ``hoi_id``."""
    document = source.document if source.kind == "document" and not source.is_list else None
    if not isinstance(document, dict) or not document or not all(isinstance(v, list) for v in document.values()):
        return False
    first = next((items[0] for items in document.values() if items), None)
    if first is None:  # nothing predicted: only the names are left to go by
        return all(isinstance(name, str) and source.benchmark.image_name(name or ".") != name for name in document)
    return isinstance(first, dict) and "hoi_id" in first


def read_mllms(source: Source) -> Rows:
    """Read mllms-zs-hoi's predictions; a file without scores is allowed.

    Raises:
        InputError: naming the image and field that break the format.
    """
    path, classes = source.path, source.benchmark.classes
    if not isinstance(source.document, dict):
        raise InputError(path, found=shown(source.document), expected="an object with one list per image")
    images: list[str] = []
    items: list[_Item] = []
    image: list[int] = []
    for name, listed in source.document.items():
        try:
            images.append(source.benchmark.image_name(name))
            found = msgspec.convert(listed, list[_Item])
        except msgspec.ValidationError as error:
            raise explained(path, error, listed, _Items, record=f"image {quote(name)}") from None
        except ValueError:
            raise InputError(path, found=quote(name), expected="the name of an image") from None
        items += found
        image += [len(images) - 1] * len(found)
    hoi = np.array([item.hoi_id for item in items], np.float64).astype(np.int64)
    image_of = np.array(image, np.int64)
    check_range(path, (images, image_of), "hoi_id", hoi, len(classes), 1, ": mllms ids count from 1")
    return Rows(
        images=images,
        image=image_of,
        human_boxes=np.array([item.sub_bbox for item in items], np.float64).reshape(-1, 4),
        object_boxes=np.array([item.obj_bbox for item in items], np.float64).reshape(-1, 4),
        **classes.columns_of(hoi - 1),
        score=np.array([item.score for item in items], np.float64),
    )


def write_mllms(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write mllms-zs-hoi's format.

    Raises:
        InputError: naming a word that is no label, a pair that is no class, or an image whose name does not come back
            from what is written, which has no ".jpg".
    """
    hoi = (hoi_classes_of(table, benchmark.classes, path, "mllms") + 1).tolist()
    humans, objects, scores = table.human_boxes.tolist(), table.object_boxes.tolist(), table.score.tolist()
    document: dict[str, list[dict[str, Any]]] = {}
    for i, name in enumerate(table.images):
        if benchmark.image_name(name.removesuffix(".jpg")) != name:
            expected = f"a name like {benchmark.image_example}"
            raise InputError(path, field="image", found=quote(name), expected=expected)
        document[name.removesuffix(".jpg")] = [
            {"hoi_id": hoi[row], "sub_bbox": humans[row], "obj_bbox": objects[row], "score": scores[row]}
            for row in range(table.offsets[i], table.offsets[i + 1])
        ]
    with replacing(path) as stream:
        stream.write(msgspec.json.encode(document))
