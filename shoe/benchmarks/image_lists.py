"""JSON files in the style of QPIC: a list of images with boxes, and triplets that refer to boxes by index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Floats, Indices
from shoe.core.interactions import Interactions
from shoe.core.io.files import atomic_write
from shoe.core.io.json import BoxOrText, WholeOrText


class ListedBox(Struct, gc=False):
    """Box of an image in a file, with its category ID."""

    bbox: BoxOrText
    category_id: WholeOrText


class ListedTriplet(Struct, gc=False):
    """Triplet in a file: indices of the human and object box in the image's box list, and verb ID."""

    subject_id: WholeOrText
    object_id: WholeOrText
    category_id: WholeOrText


class ListedImage(Struct, gc=False):
    """Image in a file, with its boxes and triplets."""

    file_name: str
    annotations: Annotated[list[ListedBox], Meta(extra={"item": "box"})]
    hoi_annotation: Annotated[list[ListedTriplet], Meta(extra={"item": "triplet"})]


def columns_of_lists(
    boxes: Sequence[Sequence[Any]], triplets: Sequence[Sequence[Any]], *fields: str
) -> tuple[Indices, Floats, Indices, Indices, list[Indices]]:
    """Return the boxes and triplets of m images as arrays, image by image; ``fields`` are attributes of triplets.

    Arrays: (m,) number of boxes; (b, 4) boxes; (b,) category IDs; (n,) image index, and (n,) values of each field.
    """
    counts, size = (np.array([len(each) for each in lists], np.int64) for lists in (boxes, triplets))
    every, hois = list(chain.from_iterable(boxes)), list(chain.from_iterable(triplets))
    corners = np.array([box.bbox for box in every], np.float64).reshape(-1, 4)
    category = np.array([box.category_id for box in every], np.float64).astype(np.int64)
    columns = [np.array([getattr(hoi, name) for hoi in hois], np.float64).astype(np.int64) for name in fields]
    return counts, corners, category, np.repeat(np.arange(len(size)), size), columns


@dataclass(frozen=True, slots=True, eq=False)
class BoxLists:
    """The distinct (box, category) pairs of m images, and references from n triplets to them.

    Image i has ``boxes[offsets[i]:offsets[i + 1]]``, and the same range of ``labels``, their category IDs. ``human``
    and ``object`` are the (n,) indices of the boxes of each triplet, from 0 within the image.
    """

    offsets: Indices
    boxes: list[list[float]]
    labels: list[int]
    human: list[int]
    object: list[int]

    @classmethod
    def from_table(cls, table: Interactions, person: int, object_labels: NDArray[np.integer]) -> BoxLists:
        """Return the box lists of n triplets, given the category ID of all human boxes, and those of object boxes."""
        n, image = len(table), np.tile(table.image, 2)
        label = np.concatenate([np.full(n, person), object_labels])
        keys = np.column_stack([image, label, np.concatenate([table.human_boxes, table.object_boxes])])
        order = np.lexsort(keys[:, [2, 3, 4, 5, 1, 0]].T)
        keys = keys[order]
        first = np.concatenate([[True], (keys[1:] != keys[:-1]).any(axis=1)])[: len(keys)]
        start = np.searchsorted(keys[first, 0], np.arange(len(table.images) + 1))
        index = np.empty(2 * n, np.int64)
        index[order] = np.cumsum(first) - 1
        index -= start[image]
        boxes, labels = keys[first, 2:].tolist(), keys[first, 1].astype(np.int64).tolist()
        return cls(start, boxes, labels, index[:n].tolist(), index[n:].tolist())


_PERSON = "person"


def write_image_lists(
    table: Interactions, path: str | Path, benchmark: Benchmark, numbers: Mapping[str, NDArray[np.integer]]
) -> None:
    """Write a JSON file in the style of QPIC with unchanged coordinates; ``numbers`` are further fields of triplets."""
    id_of = np.empty(len(benchmark.objects), np.int64)
    id_of[benchmark.object_order] = list(benchmark.object_ids)
    lists = BoxLists.from_table(table, int(id_of[benchmark.objects.index(_PERSON)]), id_of[table.object])
    lists = replace(lists, boxes=[[int(x) if x.is_integer() else x for x in box] for box in lists.boxes])
    values = zip(*(column.tolist() for column in numbers.values()), strict=True)
    more = [dict(zip(numbers, triplet, strict=True)) for triplet in values]
    write_box_lists(table, path, lists, tuple(ListedImage.__struct_fields__), more)


def write_box_lists(
    table: Interactions, path: str | Path, lists: BoxLists, keys: Sequence[str], more: Sequence[Mapping[str, Any]]
) -> None:
    """Write the boxes in ``lists`` and the triplets of ``table`` to a JSON file, one line per image.

    ``keys`` are the keys of the image name, the boxes and the triplets; ``more`` are further fields of each triplet.
    """
    with atomic_write(path) as stream:
        stream.write(b"[")
        for i, name in enumerate(table.images):
            own, rows = slice(*lists.offsets[i : i + 2]), slice(*table.offsets[i : i + 2])
            labelled = zip(lists.boxes[own], lists.labels[own], strict=True)
            boxes = [{"bbox": box, "category_id": label} for box, label in labelled]
            pairs = zip(lists.human[rows], lists.object[rows], more[rows], strict=True)
            triplets = [{"subject_id": human, "object_id": object_, **rest} for human, object_, rest in pairs]
            record = dict(zip(keys, (name, boxes, triplets), strict=True))
            stream.write((b",\n" if i else b"\n") + msgspec.json.encode(record))
        stream.write(b"\n]\n")
