"""Formats with HOI class IDs: HOIDet, THID and INP-CC (first ID 0), mllms-zs-hoi (first ID 1)."""

from collections.abc import Callable
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.checks import check_boxes, triplet_name
from shoe.core.arrays import Floats, Indices
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions, Rows
from shoe.core.io.files import atomic_write
from shoe.core.io.json import Box, Number, Whole, describe_value, explain_error
from shoe.predictions.numbering import INTERACTIONS, hoi_classes_of, labels_of_ids
from shoe.predictions.source import Source

_TRIPLET = Meta(extra={"item": "triplet"})


class _Image(Struct, gc=False, forbid_unknown_fields=True):
    image_id: Annotated[str | int, Meta(extra={"expected": "the number of a test image"})]
    boxes: Annotated[list[Box], Meta(extra={"item": "box"})]
    h_idx: Annotated[list[Whole], _TRIPLET]
    o_idx: Annotated[list[Whole], _TRIPLET]
    hoi_score: Annotated[list[Number], _TRIPLET]
    hoi_class: Annotated[list[Whole], _TRIPLET]


def is_hoidet(source: Source) -> bool:
    """Return whether the first record of a file has HOIDet's keys: "boxes", "h_idx", "o_idx" and "hoi_class"."""
    return {"boxes", "h_idx", "o_idx", "hoi_class"} <= set(source.first)


def read_hoidet(source: Source) -> Rows:
    """Read predictions of HOIDet. Raises InputError naming the image and field that break the format."""
    records, path = source.typed(_Image), source.path
    images = source.image_names((record.image_id for record in records), "image_id")
    parts = ("h_idx", "o_idx", "hoi_score", "hoi_class")
    lists = [[getattr(record, part) for record in records] for part in parts]
    lengths = np.array([list(map(len, values)) for values in lists], np.int64)
    if (lengths != lengths[0]).any():
        field, image = np.argwhere(lengths != lengths[0])[0]
        place, found = f"image {quote(images[image])}", f"{lengths[field, image]} values"
        expected = f"{lengths[0, image]}, one per triplet"
        raise InputError(path, record=place, field=parts[field], found=found, expected=expected)
    columns = [np.array(list(chain.from_iterable(values)), np.float64) for values in lists]
    human, target, hoi = (columns[i].astype(np.int64) for i in (0, 1, 3))
    place_of = (images, np.repeat(np.arange(len(records)), lengths[0]))
    counts = np.array([len(record.boxes) for record in records], np.int64)
    check_boxes(path, place_of, "h_idx", human, counts)
    check_boxes(path, place_of, "o_idx", target, counts)
    hoi = _classes_of(source, hoi, "hoi_class", partial(triplet_name, place_of))
    corners = np.array(list(chain.from_iterable(record.boxes for record in records)), np.float64).reshape(-1, 4)
    first = (np.cumsum(counts) - counts)[place_of[1]]
    boxes = np.hstack([corners[first + human], corners[first + target]])
    return rows_of_classes(source, images, place_of[1], hoi, boxes, columns[2])


def rows_of_classes(
    source: Source, images: list[str], image: Indices, hoi: Indices, boxes: Floats, score: Floats
) -> Rows:
    """Return n triplets as rows, given (n,) image index, class index and score, and (n, 8) human and object boxes.

    Raises InputError if in 16 or more rows one coordinate is a fraction, as scores are, but the scores are not.
    """
    fractions = (abs(boxes - 0.5) <= 0.5).all(axis=0) & ((boxes != np.trunc(boxes)).sum(axis=0) > len(boxes) / 2)
    if len(boxes) >= 16 and fractions.sum() == 1 and (abs(score - 0.5) > 0.5).mean() > 0.5:
        box, number = divmod(int(np.argmax(fractions)), 4)
        field = f"{('human', 'object')[box]} box, number {number + 1}"
        found = "fractions from 0 to 1, but scores that are no fractions"
        hint = "perhaps the score is at another place in the rows of the file"
        raise InputError(source.path, field=field, found=found, expected="a coordinate like the others", hint=hint)
    words = source.benchmark.classes.columns_of(hoi)
    return Rows(images=images, image=image, human_boxes=boxes[:, :4], object_boxes=boxes[:, 4:], **words, score=score)


# mllms-zs-hoi: JSON with a list of triplets per image name without ".jpg"; HOI classes count from 1.
class _Item(Struct, gc=False, forbid_unknown_fields=True):
    hoi_id: Whole
    sub_bbox: Box
    obj_bbox: Box
    score: Number = np.nan


_Items = Annotated[list[_Item], Meta(extra={"item": "triplet", "expected": "a list of triplets"})]


def is_mllms(source: Source) -> bool:
    """Return whether a file has a list of triplets per image, and its first triplet has a ``hoi_id``."""
    lists = _lists_by_image(source)
    first = next((items[0] for items in lists.values() if items), None)
    if first is None:  # no predictions: only image names without ".jpg" can identify the format
        is_name = (isinstance(name, str) and source.benchmark.image_name(name or ".") != name for name in lists)
        return bool(lists) and all(is_name)
    return isinstance(first, dict) and "hoi_id" in first


def _lists_by_image(source: Source) -> dict[Any, list[Any]]:
    """Return the document of a file if it is an object of lists; else {}."""
    document = source.document if source.kind == "document" and not source.is_list else None
    if isinstance(document, dict) and all(isinstance(items, list) for items in document.values()):
        return document
    return {}


def read_mllms(source: Source) -> Rows:
    """Read mllms-zs-hoi predictions, with or without scores. Raises InputError naming the image and invalid field."""
    path = source.path
    if not isinstance(source.document, dict):
        raise InputError(path, found=describe_value(source.document), expected="a JSON object with one list per image")
    images: list[str] = []
    items: list[_Item] = []
    image: list[int] = []
    for name, listed in source.document.items():
        try:
            images.append(source.image_name(name))
            triplets = source.convert(listed, list[_Item])
        except msgspec.ValidationError as error:
            raise explain_error(path, error, listed, _Items, record=f"image {quote(name)}") from None
        except ValueError:
            raise InputError(path, found=quote(name), expected="the name of an image") from None
        items += triplets
        image += [len(images) - 1] * len(triplets)
    hoi = np.array([item.hoi_id for item in items], np.float64).astype(np.int64)
    index = np.array(image, np.int64)
    hoi = _classes_of(source, hoi, "hoi_id", partial(triplet_name, (images, index)), first=1)
    boxes = np.array([[*item.sub_bbox, *item.obj_bbox] for item in items], np.float64).reshape(-1, 8)
    return rows_of_classes(source, images, index, hoi, boxes, np.array([item.score for item in items], np.float64))


def write_mllms(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write mllms-zs-hoi's format; InputError for a triplet that is no class, or a name not restored by ".jpg"."""
    hoi = (hoi_classes_of(table, benchmark.classes, path, "mllms") + 1).tolist()
    humans, objects, scores = table.human_boxes.tolist(), table.object_boxes.tolist(), table.score.tolist()
    document: dict[str, list[dict[str, Any]]] = {}
    for i, name in enumerate(table.images):
        if benchmark.image_name(name.removesuffix(".jpg")) != name:
            raise InputError(path, field="image", found=quote(name), expected=f"a name like {benchmark.image_example}")
        document[name.removesuffix(".jpg")] = [
            {"hoi_id": hoi[row], "sub_bbox": humans[row], "obj_bbox": objects[row], "score": scores[row]}
            for row in range(table.offsets[i], table.offsets[i + 1])
        ]
    with atomic_write(path) as stream:
        stream.write(msgspec.json.encode(document))


# THID and INP-CC: HOI classes count from 0. ``preds.pkl`` has parallel lists of scores, box pairs and image numbers per
# class. "thid-images" is the input of the evaluators: ``{image: [[class, score, 4 human and 4 object coordinates]]}``.
_PARTS, _NUMBERS, _LARGEST_ID = ("keys", "scores", "boxes"), 10, 1 << 31
_ROW = Meta(extra={"item": "row"})
_BOXES = Annotated[
    tuple[float, float, float, float, float, float, float, float],
    Meta(extra={"expected": "[hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2]"}),
]
_Row = Annotated[
    tuple[Whole, float, float, float, float, float, float, float, float, float],
    Meta(extra={"expected": "[class, score, hx1, hy1, hx2, hy2, ox1, oy1, ox2, oy2]"}),
]
_Rows = Annotated[list[_Row], _ROW]


class _Class(Struct, gc=False, forbid_unknown_fields=True):
    keys: Annotated[list[Annotated[str | int, Meta(extra={"expected": "the number of a test image"})]], _ROW]
    scores: Annotated[list[Number], _ROW]
    boxes: Annotated[list[_BOXES], _ROW]


def is_thid(source: Source) -> bool:
    """Return whether a file has THID's keys: "keys", "scores" and "boxes"."""
    return set(_PARTS) <= set(source.first)


def read_thid(source: Source) -> Rows:
    """Read predictions of THID; images are sorted by name. Raises InputError naming the invalid class and field."""
    path = source.path
    document: dict[str, Any] = source.document if isinstance(source.document, dict) else {}
    parts: dict[str, dict[Any, Any]] = {part: document.get(part) for part in _PARTS}  # type: ignore[misc]
    for name, part in parts.items():
        if not isinstance(part, dict):
            raise InputError(path, field=name, found=describe_value(part), expected="an object with one list per class")
    keys = list(dict.fromkeys(key for part in parts.values() for key in part))
    ids = np.array([_class_id(source, key) for key in keys], np.int64)
    hoi = _classes_of(source, ids, "keys", lambda i: f"class {quote(keys[i])}")
    classes: list[_Class] = []
    for key in keys:
        lists = {name: part[key] for name, part in parts.items() if key in part}
        place = f"class {quote(key)}"
        try:
            classes.append(rows := msgspec.convert(lists, _Class))
        except msgspec.ValidationError as error:
            raise explain_error(path, error, lists, _Class, record=place) from None
        if len({len(rows.keys), len(rows.scores), len(rows.boxes)}) != 1:
            found = f"{len(rows.keys)} keys, {len(rows.scores)} scores, {len(rows.boxes)} boxes"
            raise InputError(path, record=place, found=found, expected="lists of equal length")
    names, scores, boxes = (list(chain.from_iterable(getattr(rows, part) for rows in classes)) for part in _PARTS)
    image_of = source.image_names(names, "keys", lambda _: None)
    index = {name: i for i, name in enumerate(sorted(set(image_of)))}
    image, corners = np.array([index[name] for name in image_of], np.int64), np.array(boxes, np.float64).reshape(-1, 8)
    hoi = np.repeat(hoi, [len(rows.keys) for rows in classes])
    return rows_of_classes(source, list(index), image, hoi, corners, np.array(scores, np.float64))


def is_thid_images(source: Source) -> bool:
    """Return whether a file is {image: list of rows} (input of THID's evaluator), with ten values in its first row."""
    first = next((rows[0] for rows in _lists_by_image(source).values() if rows), None)
    return isinstance(first, list) and len(first) == _NUMBERS


def read_thid_images(source: Source) -> Rows:
    """Read the input of THID's evaluator: per image, rows of class, score and two boxes; InputError if invalid."""
    path, document = source.path, source.document
    images = source.image_names(document, "image", lambda _: None)
    listed = []
    for name, rows in zip(images, document.values(), strict=True):
        try:
            listed.append(msgspec.convert(rows, list[_Row]))
        except msgspec.ValidationError as error:
            raise explain_error(path, error, rows, _Rows, record=f"image {quote(name)}") from None
    image = np.repeat(np.arange(len(images)), [len(rows) for rows in listed])
    numbers = chain.from_iterable(chain.from_iterable(listed))
    columns = np.fromiter(numbers, np.float64, _NUMBERS * len(image)).reshape(-1, _NUMBERS)
    hoi = columns[:, 0].astype(np.int64)
    hoi = _classes_of(source, hoi, "class", partial(triplet_name, (images, image)))
    return rows_of_classes(source, images, image, hoi, columns[:, 2:], columns[:, 1])


def write_thid_images(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write the JSON input of THID's evaluator. Raises InputError for a triplet that is no HOI class."""
    hoi = hoi_classes_of(table, benchmark.classes, path, "thid-images").tolist()
    numbers = np.column_stack([table.score, table.human_boxes, table.object_boxes]).tolist()
    rows = [[number, *row] for number, row in zip(hoi, numbers, strict=True)]
    bounds = zip(table.offsets[:-1].tolist(), table.offsets[1:].tolist(), strict=True)
    document = {name: rows[first:last] for name, (first, last) in zip(table.images, bounds, strict=True)}
    with atomic_write(path) as stream:
        stream.write(msgspec.json.encode(document))


def _classes_of(source: Source, ids: Indices, field: str, place: Callable[[int], str], first: int = 0) -> Indices:
    return labels_of_ids(source, INTERACTIONS, ids, f"{source.benchmark.name}-{first}", field, place)


def _class_id(source: Source, key: Any) -> int:
    try:
        number = int(key) if isinstance(key, str) and len(key) < 10 else key
    except ValueError:
        number = -1
    if type(number) is not int or not 0 <= number < _LARGEST_ID:
        raise InputError(source.path, field="keys", found=f"class {quote(key)}", expected="the ID of a class")
    return number
