"""The QPIC family: per image a list of boxes, and a list of triplets that point to two of them.

Three dialects, told apart by their keys:

- QPIC, CDN, Diag-HOI: ``filename``; labelled boxes, 80 objects in COCO's contiguous order and 117 verbs, both from 0.
- GEN-VLKT: the same keys, but boxes have no label; the triplet's id is one of 600 HOI classes, from 0.
- PPDM: ``file_name``; COCO category ids, 1 to 90, and verbs from 1.

Boxes are x1, y1, x2, y2 in pixels. JSON, a pickle, and CDN's written-out dict with ``preds`` all come here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks import fields
from shoe.benchmarks.checks import check_boxes, check_range, objects_of
from shoe.benchmarks.classes import coco_ids, coco_objects
from shoe.core.arrays import Indices
from shoe.core.errors import InputError, quote
from shoe.core.rows import Rows
from shoe.predictions.names import image_name
from shoe.predictions.source import Source

HOIS = "hoi_prediction"
_FIRST_RECORDS = 1000


@dataclass(frozen=True, slots=True)
class _Dialect:
    name: str
    image: str
    first_id: int
    """Where verbs count from."""
    text: bool = False
    """Whether numbers may be written as text, as PPDM's are."""


_QPIC = _Dialect("qpic", "filename", 0)
_GEN_VLKT = _Dialect("gen-vlkt", "filename", 0)
_PPDM = _Dialect("ppdm", "file_name", 1, text=True)


def is_qpic(source: Source) -> bool:
    """Tell whether a document is QPIC's, CDN's or Diag-HOI's; one without any box is taken for it."""
    return _has_hois(source) and not is_ppdm(source) and not is_gen_vlkt(source)


def is_gen_vlkt(source: Source) -> bool:
    """Tell whether a document is GEN-VLKT's: the boxes have no label."""
    if not _has_hois(source) or is_ppdm(source):
        return False
    box = _first_box(records_of(source))
    return isinstance(box, dict) and "bbox" in box and "category_id" not in box


def is_ppdm(source: Source) -> bool:
    """Tell whether a document is PPDM's."""
    return _has_hois(source) and "file_name" in records_of(source)[0] and "filename" not in records_of(source)[0]


def read_qpic(source: Source) -> Rows:
    """Read predictions of QPIC, CDN or Diag-HOI.

    Raises:
        InputError: naming the image and field that break the form.
    """
    columns = _Columns(source, _QPIC)
    objects = columns.objects(coco_objects(source.classes), "0 to 79, objects in COCO's order")
    return columns.rows(columns.verb(len(source.classes.verbs)), objects)


def read_gen_vlkt(source: Source) -> Rows:
    """Read predictions of GEN-VLKT; errors as :func:`read_qpic`."""
    columns = _Columns(source, _GEN_VLKT, labelled=False)
    hoi = columns.verb(len(source.classes))
    return columns.rows(source.classes.verb[hoi].astype(np.int64), source.classes.object[hoi].astype(np.int64))


def read_ppdm(source: Source) -> Rows:
    """Read predictions of PPDM; errors as :func:`read_qpic`."""
    columns = _Columns(source, _PPDM)
    objects = columns.objects(coco_ids(source.classes), "one of COCO's 80 category ids, between 1 and 90")
    return columns.rows(columns.verb(len(source.classes.verbs)), objects)


class _Columns:
    """The fields of all records as columns; ``human`` and ``target`` are rows of ``corners``."""

    def __init__(self, source: Source, dialect: _Dialect, *, labelled: bool = True) -> None:
        self.source, self.dialect = source, dialect
        records = records_of(source)
        text = dialect.text
        try:
            self.images = [image_name(record[dialect.image]) for record in records]
            box_lists = [record["predictions"] for record in records]
            hoi_lists = [record[HOIS] for record in records]
            boxes, hois = fields.flat(box_lists), fields.flat(hoi_lists)
            self.corners = fields.rows([box["bbox"] for box in boxes], 4, text=text)
            self.category = fields.whole_numbers([box["category_id"] for box in boxes], text=text) if labelled else None
            self.human = fields.whole_numbers([hoi["subject_id"] for hoi in hois])
            self.target = fields.whole_numbers([hoi["object_id"] for hoi in hois])
            self.id = fields.whole_numbers([hoi["category_id"] for hoi in hois], text=text)
            self.score = _scores(hois)
        except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
            _explain(source, dialect, records, labelled)
        self.counts = np.fromiter(map(len, box_lists), np.int64, len(box_lists))
        lengths = np.fromiter(map(len, hoi_lists), np.int64, len(hoi_lists))
        self.image = np.repeat(np.arange(len(records)), lengths)
        first = (np.cumsum(self.counts) - self.counts)[self.image]
        for field, index in (("subject_id", self.human), ("object_id", self.target)):
            check_boxes(source.path, (self.images, self.image), field, index, self.counts)
            index += first

    def verb(self, count: int) -> Indices:
        """(n,) triplet ids, from 0."""
        first, name = self.dialect.first_id, self.dialect.name
        meaning = f": {name} ids count from {first}"
        check_range(self.source.path, (self.images, self.image), "category_id", self.id, count, first, meaning)
        return self.id - first

    def objects(self, table: Indices, expected: str) -> Indices:
        """(n,) object of each triplet, by the category of its object box."""
        category = self.category if self.category is not None else np.zeros(0, np.int64)
        expected = f"{expected} ({self.dialect.name} ids)"
        return objects_of(self.source.path, self.images, self.counts, category, table, expected)[self.target]

    def rows(self, verb: Indices, target: Indices) -> Rows:
        """Put the columns together."""
        return Rows(
            images=self.images,
            image=self.image,
            human_boxes=self.corners[self.human],
            object_boxes=self.corners[self.target],
            verbs=self.source.classes.verbs,
            objects=self.source.classes.objects,
            verb=verb,
            object=target,
            score=self.score,
        )


def _scores(hois: Sequence[dict[str, Any]]) -> NDArray[np.float64] | None:
    """(n,) scores; None if no triplet has one."""
    if hois and "score" not in hois[0]:
        if any("score" in hoi for hoi in hois):
            raise ValueError
        return None
    return fields.number_column([hoi["score"] for hoi in hois])


def records_of(source: Source) -> list[Any]:
    """One record per image: the document itself, or the ``preds`` of CDN's results."""
    document = source.document
    if isinstance(document, dict):
        document = document.get("preds", [document])
    if not isinstance(document, list):
        raise InputError(source.path, found=fields.shown(document), expected="a list with one object per image")
    return document


def _has_hois(source: Source) -> bool:
    first = source.first.get("preds", [source.first])
    return isinstance(first, list) and bool(first) and isinstance(first[0], dict) and HOIS in first[0]


def _first_box(records: list[Any]) -> Any:
    lists = (record.get("predictions") for record in records[:_FIRST_RECORDS] if isinstance(record, dict))
    return next(chain.from_iterable(boxes for boxes in lists if isinstance(boxes, list)), None)


def _explain(source: Source, dialect: _Dialect, records: list[Any], labelled: bool) -> NoReturn:
    """Raise the error of the first place that breaks the form."""
    path, text = source.path, dialect.text
    scored = None
    for number, record in enumerate(records):
        name = fields.take(path, source.place(number), record, dialect.image, object)
        try:
            where = f"image {quote(image_name(name))}"
        except ValueError:
            found = fields.shown(name)
            place = source.place(number)
            raise InputError(path, record=place, field=dialect.image, found=found, expected="a file name") from None
        for i, box in enumerate(fields.take(path, where, record, "predictions", list)):
            place = f"{where}: box {i}"
            fields.take_row(path, place, fields.take(path, place, box, "bbox", list), "bbox", fields.BOX, text=text)
            if labelled:
                category = fields.take(path, place, box, "category_id", object)
                fields.take_whole_number(path, place, category, "category_id", text=text)
        for i, hoi in enumerate(fields.take(path, where, record, HOIS, list)):
            place = f"{where}: triplet {i}"
            for field in ("subject_id", "object_id", "category_id"):
                value = fields.take(path, place, hoi, field, object)
                fields.take_whole_number(path, place, value, field, text=text and field == "category_id")
            scored = "score" in hoi if scored is None else scored
            if scored or "score" in hoi:
                value = fields.take(path, place, hoi, "score", object)
                if type(value) not in (int, float):
                    found = fields.shown(value)
                    raise InputError(path, record=place, field="score", found=found, expected="a number")
                if not scored:
                    expected = "a score in every triplet or in none"
                    raise InputError(path, record=place, field="score", found="the first one", expected=expected)
    fields.unexplained(path, f"the form of {dialect.name}")
