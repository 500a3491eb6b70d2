"""Writer for JSON files of QPIC's kind: a list of images, each with boxes and triplets that point to these."""

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
    def of(cls, table: Interactions, person: int, object_labels: NDArray[np.integer]) -> BoxLists:
        """Return the boxes of a table; human boxes have the label ``person``, object boxes (n,) ``object_labels``."""
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
    """Write the distinct boxes of each image, unconverted, and its triplets with further (n,) ``numbers`` by key."""
    id_of = np.empty(len(benchmark.objects), np.int64)
    id_of[benchmark.object_order] = list(benchmark.object_ids)
    lists = BoxLists.of(table, int(id_of[benchmark.objects.index(_PERSON)]), id_of[table.object])
    boxes = [[int(x) if x.is_integer() else x for x in box] for box in lists.boxes]
    keys = ("subject_id", "object_id", *numbers)
    values = list(zip(lists.human, lists.object, *(column.tolist() for column in numbers.values()), strict=True))
    with replacing(path) as stream:
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
