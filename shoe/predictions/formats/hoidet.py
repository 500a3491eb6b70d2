"""HOIDet's pickle or JSON: per image its boxes, and parallel lists of triplets; HOI classes count from 0."""

from __future__ import annotations

from itertools import chain
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from shoe.benchmarks.checks import check_boxes, check_range
from shoe.core.errors import InputError, quote
from shoe.core.io.json import Box, Number, Whole
from shoe.core.rows import Rows
from shoe.predictions.record_fields import image_names
from shoe.predictions.source import Source

_TRIPLET = Meta(extra={"item": "triplet"})


class _Image(Struct, gc=False):
    image_id: Annotated[str | int, Meta(extra={"expected": "the number of a test image"})]
    boxes: Annotated[list[Box], Meta(extra={"item": "box"})]
    h_idx: Annotated[list[Whole], _TRIPLET]
    o_idx: Annotated[list[Whole], _TRIPLET]
    hoi_score: Annotated[list[Number], _TRIPLET]
    hoi_class: Annotated[list[Whole], _TRIPLET]


def is_hoidet(source: Source) -> bool:
    """Tell whether a document's first record has HOIDet's keys."""
    return {"boxes", "h_idx", "o_idx", "hoi_class"} <= set(source.first)


def read_hoidet(source: Source) -> Rows:
    """Read HOIDet's predictions.

    Raises:
        InputError: naming the image and field that break the format.
    """
    records, path, classes = source.typed(_Image), source.path, source.benchmark.classes
    images = image_names(source, (record.image_id for record in records), "image_id")
    parts = ("h_idx", "o_idx", "hoi_score", "hoi_class")
    lists = {part: [getattr(record, part) for record in records] for part in parts}
    lengths = np.array([list(map(len, values)) for values in lists.values()], np.int64)
    if (lengths != lengths[0]).any():
        field, image = np.argwhere(lengths != lengths[0])[0]
        found, expected = f"{lengths[field, image]} values", f"{lengths[0, image]}, one per triplet"
        place = f"image {quote(images[image])}"
        raise InputError(path, record=place, field=list(lists)[field], found=found, expected=expected)
    columns = {name: np.array(list(chain.from_iterable(values)), np.float64) for name, values in lists.items()}
    human, target, hoi = (columns[part].astype(np.int64) for part in ("h_idx", "o_idx", "hoi_class"))
    place_of = (images, np.repeat(np.arange(len(records)), lengths[0]))
    counts = np.array([len(record.boxes) for record in records], np.int64)
    check_boxes(path, place_of, "h_idx", human, counts)
    check_boxes(path, place_of, "o_idx", target, counts)
    check_range(path, place_of, "hoi_class", hoi, len(classes))
    corners = np.array(list(chain.from_iterable(record.boxes for record in records)), np.float64).reshape(-1, 4)
    first = (np.cumsum(counts) - counts)[place_of[1]]
    return Rows(
        images=images,
        image=place_of[1],
        human_boxes=corners[first + human],
        object_boxes=corners[first + target],
        **classes.columns_of(hoi),
        score=columns["hoi_score"],
    )
