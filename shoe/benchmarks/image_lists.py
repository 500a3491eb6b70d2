"""Ground truth as the QPIC family writes it: a list of images, each with its boxes and triplets that point to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.base import Benchmark
from shoe.core.box_lists import BoxLists
from shoe.core.interactions import Interactions
from shoe.io.files import replacing

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
