"""SWIG-HOI benchmark: 14,130 classes, 5,539 of them scored on the test set; ground truth format and protocols.

``scripts/build-swig-classes`` builds the class tables from those of SWIG-HOI (sources and licences: docs/swig.md).
``actions.tsv`` and ``objects.tsv`` are in the order of the IDs in files. ``interactions.tsv.gz`` has one row per class,
in the order of SWIG-HOI's class IDs: action, object, and "unseen", "rare", "unscored" or "" (other classes).
"""

import gzip
import re
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from shoe.benchmarks.base import Benchmark, TruthFormat, plain_image_name, read_card
from shoe.benchmarks.checks import check_boxes, check_range, named_record, objects_of
from shoe.benchmarks.classes import SEEN, UNSEEN, ClassSplit, HoiClasses, class_table, parse_classes
from shoe.benchmarks.image_lists import columns_of_lists
from shoe.benchmarks.protocols import DIAG
from shoe.benchmarks.scoring_options import Interpolation, StrictOptions, Ties
from shoe.core.arrays import Indices
from shoe.core.boxes import CommonCoordinates, Overlap
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Rows
from shoe.core.io.json import Box, Whole, read_typed

# Annotations in the form that THID and INP-CC read, such as ``swig_test_1000.json``.
#
# A list of images, each with boxes and with triplets that refer to boxes by index; the keys differ from PPDM's. Actions
# and objects count from 0 in the order of the category tables. Other annotators' labels of a box (``aux_category_id``)
# are not read, because no evaluator uses them. Boxes are compared as continuous edges.
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
    """Return the triplets in SWIG-HOI's annotations, and the image IDs if all images of the file have one."""
    records = read_typed(path, data, list[_Image], named_record())
    verbs = list(benchmark.verb_names or ())
    images = [record.file_name for record in records]
    boxes, hois = [record.box_annotations for record in records], [record.hoi_annotations for record in records]
    fields = ("subject_id", "object_id", "action_id")
    counts, corners, category, image, (human, target, action) = columns_of_lists(boxes, hois, *fields)
    for field, index in (("subject_id", human), ("object_id", target)):
        check_boxes(path, (images, image), field, index, counts)
    check_range(path, (images, image), "action_id", action, len(verbs))
    object_ = objects_of(path, images, counts, category, benchmark)
    first = (np.cumsum(counts) - counts)[image]
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
    """Return the (m,) image IDs that predictions refer to, or None if the file has no ID for some image."""
    given = [record.img_id for record in records if record.img_id is not UNSET]
    if len(given) < len(records):
        return None
    numbers, times = np.unique(np.array(given, np.int64), return_counts=True)
    for number in numbers[times > 1].tolist():
        same = [quote(record.file_name) for record in records if record.img_id == number]
        found = f"{number} of {' and '.join(same[:2])}"
        raise InputError(path, field="img_id", found=found, expected="a different ID for each image")
    return np.array(given, np.int64)


FORMAT = TruthFormat(
    name="SWIG-HOI JSON",
    example="swig_test_1000.json (THID, INP-CC)",
    fits=lambda data: re.match(rb"\s*\[\s*\{", data) is not None and _KEYS.search(data) is not None,
    read=read_annotations,
)


# Exact-label protocols of SWIG-HOI. Their "full" means are over different sets of classes (docs/swig.md).
_THID = StrictOptions(
    protocol="swig-hoi",
    coordinates=CommonCoordinates.RAW,
    overlap=Overlap.CONTINUOUS,
    ap=Interpolation.ELEVEN,
    ties=Ties.REVERSED,
    class_cap=19_999,
    truthless="zero",
)

_CHOIR = replace(_THID, protocol="choir", cap=2_000, unseen="apart")
PROTOCOLS = {options.protocol: options for options in (_THID, _CHOIR, DIAG)}
"""Exact-label protocols by name."""

ABOUT = {
    "swig-hoi": "evaluator of THID and INP-CC; full: all 5,539 classes of the test set, including unseen classes (5)",
    "choir": "evaluator of CHOIR; full: the 4,148 classes seen in training; top 2,000 predictions per image (5)",
    "diag": "evaluator of Diag-HOI; classes without a true positive are skipped (8.5)",
}
"""Description of each protocol in one line, with its section in docs/protocols.md."""


_FOLDER = Path(__file__).parent
_FREQUENCY = "frequency"


def image_name(value: object) -> str:
    """Return the file name of a path without folders, or an image ID as text (``GroundTruth.names_of`` finds its name).

    >>> image_name("images_512/wrapping_1.jpg"), image_name(7)
    ('wrapping_1.jpg', '7')
    """
    return str(value) if type(value) is int and value >= 0 else plain_image_name(value)


@cache
def _table(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (_FOLDER / name).read_text("utf-8").splitlines()[1:]]


def _classes() -> HoiClasses:
    actions, objects = _table("actions.tsv"), _table("objects.tsv")
    rows = []
    for line in gzip.decompress((_FOLDER / "interactions.tsv.gz").read_bytes()).decode().splitlines():
        action, object_, kind = line.split("\t")
        (gerund, verb, verb_sense, _), (name, object_sense) = actions[int(action)], objects[int(object_)]
        rows.append([verb, name, gerund, verb_sense, object_sense, kind])
    return parse_classes(class_table(rows), "swig-hoi", _FOLDER)


def _by_frequency() -> ClassSplit:
    classes = BENCHMARK.classes
    parts = {UNSEEN: classes.unseen, SEEN: ~classes.unseen, "rare": classes.rare, "non-rare": classes.non_rare}
    scored = {part: mask & classes.scored for part, mask in parts.items()}
    return ClassSplit(_FREQUENCY, scored, "SWIG-HOI's category tables", "frequency of a class in training")


BENCHMARK = Benchmark(
    name="swig-hoi",
    load_classes=_classes,
    formats=(FORMAT,),
    image_name=image_name,
    image_example="wrapping_1.jpg",
    load_object_ids=lambda: {number: row[0] for number, row in enumerate(_table("objects.tsv"))},
    object_numbers="SWIG-HOI",
    verb_names=tuple(row[1] for row in _table("actions.tsv")),
    class_splits={_FREQUENCY: _by_frequency},
    usual_class_split=_FREQUENCY,
    protocols=PROTOCOLS,
    about=ABOUT,
    default_protocols=("swig-hoi", "shoe"),
    load_card=lambda: read_card(_FOLDER / "card.json"),
    similarity="swig-hoi",
    marks=re.compile(rb'"hoi_annotations"'),
)
