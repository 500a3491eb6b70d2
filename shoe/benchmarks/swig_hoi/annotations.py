"""SWIG-HOI's annotations as THID and INP-CC read them: ``swig_test_1000.json`` and its relatives.

A list of images, each with its boxes and with triplets that point to them; other keys than those of PPDM's files.
Actions and objects count from 0 in the order of the category tables. A box may have further objects by other annotators
(``aux_category_id``), which no evaluator uses, nor this reader. Boxes are compared as continuous edges.
"""

import re
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import check_boxes, check_range, named_record, objects_of
from shoe.core.arrays import Indices
from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.io.json import read_typed
from shoe.io.typed import Box, Whole

_KEYS = re.compile(rb'"(?:box|hoi)_annotations"')


class _Box(Struct, gc=False):
    bbox: Box
    category_id: Whole


class _Hoi(Struct, gc=False):
    subject_id: Whole
    object_id: Whole
    action_id: Whole


class _Image(Struct, gc=False):
    file_name: str
    box_annotations: Annotated[list[_Box], Meta(extra={"item": "box"})]
    hoi_annotations: Annotated[list[_Hoi], Meta(extra={"item": "triplet"})]
    img_id: Whole | UnsetType = UNSET
    height: Whole = 0
    width: Whole = 0


def read_annotations(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Read a file; :class:`shoe.benchmarks.base.TruthFormat` says what the arguments are.

    Raises:
        InputError: naming the image and field that break the format.
    """
    records = read_typed(path, data, list[_Image], named_record())
    verbs = list(benchmark.verb_names or ())
    images = [record.file_name for record in records]
    counts = np.array([len(record.box_annotations) for record in records], np.int64)
    image = np.repeat(np.arange(len(images)), [len(record.hoi_annotations) for record in records])
    boxes = list(chain.from_iterable(record.box_annotations for record in records))
    hois = list(chain.from_iterable(record.hoi_annotations for record in records))
    human, target, action = (
        np.array([getattr(hoi, field) for hoi in hois], np.int64) for field in ("subject_id", "object_id", "action_id")
    )
    for field, index in (("subject_id", human), ("object_id", target)):
        check_boxes(path, (images, image), field, index, counts)
    check_range(path, (images, image), "action_id", action, len(verbs))
    category = np.array([box.category_id for box in boxes], np.int64)
    known = f"0 to {len(benchmark.object_of_id) - 1}, an object of SWIG-HOI"
    object_ = objects_of(path, images, counts, category, benchmark.object_of_id, known)
    first = (np.cumsum(counts) - counts)[image]
    corners = np.array([box.bbox for box in boxes], np.float64).reshape(-1, 4)
    return Rows(
        images=images,
        image=image,
        human_boxes=corners[first + human],
        object_boxes=corners[first + target],
        verbs=verbs,
        objects=benchmark.classes.objects,
        verb=action,
        object=object_[first + target],
        sizes=np.array([[record.width, record.height] for record in records], np.float64).reshape(-1, 2),
        numbers=_numbers(path, records),
    )


def _numbers(path: str | Path, records: list[_Image]) -> Indices | None:
    """(m,) number of each image, which predictions call it by; None where the file has none."""
    given = [record.img_id for record in records if record.img_id is not UNSET]
    if len(given) < len(records):
        return None
    numbers = np.array(given, np.int64)
    _, first, times = np.unique(numbers, return_index=True, return_counts=True)
    if (times > 1).any():
        number = int(numbers[first[np.argmax(times > 1)]])
        same = [quote(record.file_name) for record in records if record.img_id == number]
        found = f"{number} of {' and '.join(same[:2])}"
        raise InputError(path, field="img_id", found=found, expected="a number of its own for each image")
    return numbers


FORMAT = TruthFormat(
    name="SWIG-HOI JSON",
    example="swig_test_1000.json (THID, INP-CC)",
    fits=lambda data: re.match(rb"\s*\[\s*\{", data) is not None and _KEYS.search(data) is not None,
    read=read_annotations,
)
