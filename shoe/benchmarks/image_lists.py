"""Ground truth as the QPIC family writes it: a list of images, each with its boxes and triplets that point to them."""

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
from shoe.core.io.files import replacing

# A table's boxes as the QPIC family's files have them: listed once for each image, with triplets that point to two.


@dataclass(frozen=True, slots=True, eq=False)
class BoxLists:
    """The distinct labelled boxes of m images, and where the n triplets of their table point to.

    Attributes:
        offsets: (m + 1,) the boxes of image i are entries offsets[i] to offsets[i + 1] of the lists.
        human, object: (n,) index of each triplet's boxes among those of its image.
    """

    offsets: Indices
    boxes: list[list[float]]
    labels: list[int]
    human: list[int]
    object: list[int]

    @classmethod
    def of(cls, table: Interactions, person: int, object_labels: NDArray[np.integer]) -> BoxLists:
        """List the boxes of a table.

        ``person`` is the label of human boxes, and ``object_labels`` (n,) that of each object box.
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
    """Write each image's distinct boxes, and its triplets.

    Boxes are written as they are; ``numbers`` are (n,) what else triplets have, by key.
    """
    id_of = np.empty(len(benchmark.objects), np.int64)
    id_of[benchmark.object_order] = list(benchmark.object_ids)
    lists = BoxLists.of(table, int(id_of[benchmark.objects.index(_PERSON)]), id_of[table.object])
    boxes = [[int(x) if x.is_integer() else x for x in box] for box in lists.boxes]
    keys = ("subject_id", "object_id", *numbers)
    values = list(zip(lists.human, lists.object, *(column.tolist() for column in numbers.values()), strict=True))
    with replacing(path) as stream:
        stream.write(b"[")
        for i, name in enumerate(table.images):
            mine, rows = slice(*lists.offsets[i : i + 2]), slice(*table.offsets[i : i + 2])
            record = {
                "file_name": name,
                "annotations": [
                    {"bbox": b, "category_id": c} for b, c in zip(boxes[mine], lists.labels[mine], strict=True)
                ],
                "hoi_annotation": [dict(zip(keys, triplet, strict=True)) for triplet in values[rows]],
            }
            stream.write((b",\n" if i else b"\n") + msgspec.json.encode(record))
        stream.write(b"\n]\n")
