"""HOIDet's pickle or JSON: per image its boxes, and parallel lists of triplets; classes are the 600, from 0."""

from typing import Any, NoReturn

import numpy as np

from shoe.benchmarks import fields
from shoe.benchmarks.checks import check_boxes, check_range
from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.predictions.names import image_name
from shoe.predictions.source import Source

_LISTS = ("h_idx", "o_idx", "hoi_score", "hoi_class")
_CACHE = {"boxes", "labels", "scores"}


def is_hoidet(source: Source) -> bool:
    """Tell whether a document's first record has HOIDet's keys."""
    return {"boxes", "h_idx", "o_idx", "hoi_class"} <= set(source.first)


def is_detection_cache(source: Source) -> bool:
    """Tell whether a document is one of the files {boxes, labels, scores} in which UPT keeps object boxes."""
    keys = set(source.first)
    return keys >= _CACHE and "pairing" not in keys


def read_hoidet(source: Source) -> Rows:
    """Read HOIDet's predictions.

    Raises:
        InputError: naming the image and field that break the form.
    """
    records = source.records
    if not records and source.document != []:
        found = fields.shown(source.document)
        raise InputError(source.path, found=found, expected="a list with one object per image")
    try:
        images = [image_name(record["image_id"]) for record in records]
        box_lists = [record["boxes"] for record in records]
        corners = fields.rows(fields.flat(box_lists), 4)
        columns = [fields.flat([record[name] for record in records]) for name in _LISTS]
        lengths = {tuple(len(record[name]) for record in records) for name in _LISTS}
        if len(lengths) != 1:
            raise ValueError
        human, target, hoi = (fields.whole_numbers(columns[i]) for i in (0, 1, 3))
        score = fields.number_column(columns[2])
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        _explain(source, records)
    image = np.repeat(np.arange(len(records)), lengths.pop())
    counts = np.array([len(boxes) for boxes in box_lists], np.int64)
    first = (np.cumsum(counts) - counts)[image]
    classes = source.classes
    place_of = (images, image)
    check_boxes(source.path, place_of, "h_idx", human, counts)
    check_boxes(source.path, place_of, "o_idx", target, counts)
    check_range(source.path, place_of, "hoi_class", hoi, len(classes))
    return Rows(
        images=images,
        image=image,
        human_boxes=corners[first + human],
        object_boxes=corners[first + target],
        verbs=classes.verbs,
        objects=classes.objects,
        verb=classes.verb[hoi].astype(np.int64),
        object=classes.object[hoi].astype(np.int64),
        score=score,
    )


def _explain(source: Source, records: list[Any]) -> NoReturn:
    """Raise the error of the first place that breaks the form."""
    path = source.path
    for number, record in enumerate(records):
        place = source.place(number)
        name = fields.take(path, place, record, "image_id", object)
        try:
            where = f"image {quote(image_name(name))}"
        except ValueError:
            found = fields.shown(name)
            expected = "the number of a test image"
            raise InputError(path, record=place, field="image_id", found=found, expected=expected) from None
        for i, box in enumerate(fields.take(path, where, record, "boxes", list)):
            fields.take_row(path, f"{where}: box {i}", box, "boxes", fields.BOX)
        lists = [fields.take(path, where, record, field, list) for field in _LISTS]
        for field, values in zip(_LISTS, lists, strict=True):
            if len(values) != len(lists[0]):
                expected = f"{len(lists[0])}, one per triplet"
                raise InputError(path, record=where, field=field, found=f"{len(values)} values", expected=expected)
            for i, value in enumerate(values):
                if field != "hoi_score":
                    fields.take_whole_number(path, f"{where}: triplet {i}", value, field)
                elif type(value) not in (int, float):
                    found = fields.shown(value)
                    place = f"{where}: triplet {i}"
                    raise InputError(path, record=place, field=field, found=found, expected="a number")
    fields.unexplained(path, "the form of hoidet")
