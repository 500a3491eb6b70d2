"""Writer of JSON files in the style of QPIC: a list of images with boxes, and triplets that refer to boxes by index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark
from shoe.core.arrays import Indices
from shoe.core.interactions import Interactions
from shoe.core.io.files import atomic_write


@dataclass(frozen=True, slots=True, eq=False)
class BoxLists:
    """The distinct labelled boxes of m images, and the boxes of each of n triplets.

    Attributes:
        offsets: (m + 1,) the boxes of image i are entries offsets[i] to offsets[i + 1] of the lists.
        boxes: x1, y1, x2, y2 of each box.
        labels: category ID of each box.
        human, object: (n,) index of each triplet's boxes within its image.
    """

    offsets: Indices
    boxes: list[list[float]]
    labels: list[int]
    human: list[int]
    object: list[int]

    @classmethod
    def from_table(cls, table: Interactions, person: int, object_labels: NDArray[np.integer]) -> BoxLists:
        """Return the box lists of a table with n triplets.

        ``person`` is the category ID of human boxes; ``object_labels`` are the (n,) category IDs of object boxes.
        """
        n = len(table)
        box = np.concatenate([table.human_boxes, table.object_boxes])
        label = np.concatenate([np.full(n, person), object_labels])
        image = np.tile(table.image, 2)
        order = np.lexsort((*box.T, label, image))
        keys = np.column_stack([image, label, box])[order]
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
    """Write a JSON file with the distinct boxes and the triplets of each image; box coordinates are not converted.

    ``numbers`` contains further fields of the triplets: (n,) values by the name of the field.
    """
    id_of = np.empty(len(benchmark.objects), np.int64)
    id_of[benchmark.object_order] = list(benchmark.object_ids)
    lists = BoxLists.from_table(table, int(id_of[benchmark.objects.index(_PERSON)]), id_of[table.object])
    boxes = [[int(x) if x.is_integer() else x for x in box] for box in lists.boxes]
    keys = ("subject_id", "object_id", *numbers)
    values = list(zip(lists.human, lists.object, *(column.tolist() for column in numbers.values()), strict=True))
    with atomic_write(path) as stream:
        stream.write(b"[")
        for i, name in enumerate(table.images):
            own, rows = slice(*lists.offsets[i : i + 2]), slice(*table.offsets[i : i + 2])
            labelled = zip(boxes[own], lists.labels[own], strict=True)
            record = {
                "file_name": name,
                "annotations": [{"bbox": box, "category_id": label} for box, label in labelled],
                "hoi_annotation": [dict(zip(keys, triplet, strict=True)) for triplet in values[rows]],
            }
            stream.write((b",\n" if i else b"\n") + msgspec.json.encode(record))
        stream.write(b"\n]\n")
