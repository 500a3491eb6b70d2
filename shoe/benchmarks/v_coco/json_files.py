"""JSON formats of V-COCO's ground truth, and the conversion of annotated persons to triplets and roles."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from shoe.benchmarks.base import Benchmark, TruthFormat
from shoe.benchmarks.checks import (
    check_boxes,
    check_range,
    joined_boxes,
    list_lengths,
    named_images,
    named_record,
    objects_of,
    triplet_name,
)
from shoe.benchmarks.image_lists import ListedImage, columns_of_lists, write_image_lists
from shoe.core.arrays import Floats, Indices, Mask, first_true, number_words
from shoe.core.errors import InputError, quote
from shoe.core.interactions import Interactions, Rows
from shoe.core.io.json import Box, Whole, read_typed
from shoe.core.roles import RoleTruth

_PERSON = "person"


@dataclass(frozen=True, slots=True, eq=False)
class AnnotatedPersons:
    """The b boxes of m images, and q annotations, each of one person's action and one role of the action.

    Attributes:
        sizes, counts: (m, 2) width and height of images, or 0; and (m,) number of boxes, which are sorted by image.
        boxes, object: (b, 4) x1, y1, x1 + width, y1 + height; and (b,) index into the benchmark's objects.
        left_out: (b,) mask of boxes that are not used for agent AP and role AP, as in the official evaluation.
        listed: box indices of all annotated persons, including persons that do no action.
        person, action: (q,) box index of the person, and index of the action.
        entry: (q,) index of action and role in ``Actions.entries``; -1 for an action without roles.
        target: (q,) box index of the object with this role; -1 if there is none.
    """

    images: Sequence[str]
    sizes: Floats
    counts: Indices
    boxes: Floats
    object: Indices
    left_out: Mask
    listed: Indices
    person: Indices
    action: Indices
    entry: Indices
    target: Indices

    def rows(self, benchmark: Benchmark) -> Rows:
        """Return one triplet per annotation with object box; the field ``annotated`` has all annotations by person."""
        actions = benchmark.actions
        pair = np.flatnonzero(self.target >= 0)
        image = np.repeat(np.arange(len(self.images)), self.counts)
        order = pair[np.argsort(image[self.person[pair]], kind="stable")]
        return Rows(
            images=self.images,
            image=image[self.person[order]],
            human_boxes=self.boxes[self.person[order]],
            object_boxes=self.boxes[self.target[order]],
            verbs=actions.names,
            objects=benchmark.objects,
            verb=self.action[order],
            object=self.object[self.target[order]],
            sizes=self.sizes,
            annotated=self._roles(benchmark, image),
        )

    def _roles(self, benchmark: Benchmark, image: Indices) -> RoleTruth:
        """Return the annotations of each person, with boxes as in the official evaluation (docs/protocols.md 4.2).

        Boxes end at their last pixel and are clipped to the image; those of a pixel in width or height are dropped.
        """
        actions = benchmark.actions
        boxes = self.boxes.copy()
        boxes[:, 2:] = boxes[:, :2] + np.maximum(0, boxes[:, 2:] - boxes[:, :2] - 1)
        last = np.where(self.sizes > 0, self.sizes - 1, np.inf)[image]
        boxes = np.minimum(np.tile(last, 2), np.maximum(0, boxes))
        kept = ~self.left_out & (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
        persons = np.flatnonzero(kept & (self.object == benchmark.objects.index(_PERSON)))
        moved = np.where(kept, np.cumsum(kept) - 1, -1)
        labels = np.full((len(kept), len(actions)), -1, np.int8)
        labels[self.listed] = 0
        labels[self.person, self.action] = 1
        role = np.full((len(kept), len(actions.entries)), -1, np.int32)
        known = np.flatnonzero((self.entry >= 0) & (self.target >= 0))
        role[self.person[known], self.entry[known]] = moved[self.target[known]]
        return RoleTruth(
            box_offsets=np.append(0, np.cumsum(np.bincount(image[kept], minlength=len(self.images)))),
            boxes=boxes[kept].astype(np.float32),
            object=self.object[kept].astype(np.int32),
            person=moved[persons],
            labels=labels[persons],
            role=role[persons],
        )


# Format of fredzzhang/vcoco, such as ``instances_vcoco_test.json``.
#
# One object of lists, including lists of the actions with a role ("hold obj") and of the objects. Boxes are x1, y1,
# x1 + width, y1 + height. The file has only pairs: no persons without object, and no pointing.
_Boxes = Annotated[list[Box], Meta(extra={"item": "pair"})]
_Numbers = Annotated[list[Whole], Meta(extra={"item": "pair"})]


class _PairsImage(Struct, gc=False):
    boxes_h: _Boxes
    boxes_o: _Boxes
    actions: _Numbers
    objects: _Numbers
    file_name: str


class _Document(Struct, gc=False):
    annotations: Annotated[list[_PairsImage], Meta(extra={"item": "image"})]
    classes: list[str]
    objects: list[str]


def read_pairs_json(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Return the triplets in a file of fredzzhang/vcoco; the file has no persons without object and no image sizes."""
    document = read_typed(path, data, _Document, named_record())
    entries = document.annotations
    names = [entry.file_name for entry in entries]
    image = np.repeat(
        np.arange(len(entries)), list_lengths(path, names, entries, "actions", "boxes_h", "boxes_o", "objects")
    )
    action, object_ = (
        np.fromiter(chain.from_iterable([getattr(entry, field) for entry in entries]), np.int64, len(image))
        for field in ("actions", "objects")
    )
    check_range(path, (names, image), "actions", action, len(document.classes))
    check_range(path, (names, image), "objects", object_, len(document.objects))
    verbs, verb = number_words(name.rpartition(" ")[0] for name in document.classes)
    objects, target = number_words(name.replace(" ", "_") for name in document.objects)
    return Rows(
        images=named_images(path, benchmark.image_name, names),
        image=image,
        human_boxes=joined_boxes([entry.boxes_h for entry in entries], len(image)),
        object_boxes=joined_boxes([entry.boxes_o for entry in entries], len(image)),
        verbs=verbs,
        objects=objects,
        verb=verb[action],
        object=target[object_],
    )


PAIRS_FORMAT = TruthFormat(
    name="V-COCO pairs JSON",
    example="instances_vcoco_test.json (fredzzhang/vcoco)",
    fits=lambda data: data.lstrip()[:1] == b"{" and b'"action_to_object"' in data,
    read=read_pairs_json,
)


# Format of QPIC's converter and of V-COCO-SG: a list of images with boxes and annotations.
#
# Objects have COCO category IDs. Verbs count from 0 to 28: actions in the official order, those with two roles twice.
# An ``object_id`` of -1 means that the action has no object, or that no box was annotated. Boxes are x1, y1,
# x1 + width, y1 + height. Only persons with an action count as annotated.
def read_qpic_json(path: str | Path, data: bytes, benchmark: Benchmark, _split: str | None) -> Rows:
    """Return the triplets and the annotations of each person in a file of QPIC's converter; without image sizes."""
    records = read_typed(path, data, list[ListedImage], named_record())
    names = [record.file_name for record in records]
    boxes, triplets = [record.annotations for record in records], [record.hoi_annotation for record in records]
    fields = ("subject_id", "object_id", "category_id")
    counts, corners, category, image, (person, target, verb) = columns_of_lists(boxes, triplets, *fields)
    place = (names, image)
    numbered = np.array(benchmark.actions.by_verb_id, np.int64)
    check_range(path, place, "category_id", verb, len(numbered))
    check_boxes(path, place, "subject_id", person, counts)
    check_boxes(path, place, "object_id", target, counts, (target < -1) | (target >= counts[image]))
    action, entry = numbered[verb].T
    first = (np.cumsum(counts) - counts)[image]
    objects = objects_of(path, names, counts, category, benchmark)
    if (row := first_true(objects[first + person] != benchmark.objects.index(_PERSON))) is not None:
        found = quote(benchmark.objects[objects[(first + person)[row]]])
        record, expected = triplet_name(place, row), "the box of a person"
        raise InputError(path, record=record, field="subject_id", found=found, expected=expected)
    return AnnotatedPersons(
        images=named_images(path, benchmark.image_name, names),
        sizes=np.zeros((len(names), 2)),
        counts=counts,
        boxes=corners,
        object=objects,
        left_out=np.zeros(len(corners), bool),
        listed=np.unique(first + person),
        person=first + person,
        action=action,
        entry=entry,
        target=np.where((target < 0) | (entry < 0), -1, first + target),
    ).rows(benchmark)


def write_qpic_json(table: Interactions, path: str | Path, benchmark: Benchmark) -> None:
    """Write triplets in the format that :func:`read_qpic_json` reads; the file has no actions without object."""
    classes = benchmark.classes
    verb = benchmark.actions.verb_ids(classes.verbs, classes.objects, table.verb, table.object)
    write_image_lists(table, path, benchmark, {"category_id": verb})


QPIC_FORMAT = TruthFormat(
    name="QPIC's V-COCO JSON",
    example="test_vcoco.json (QPIC, SG)",
    fits=lambda data: data.lstrip()[:1] == b"[" and b'"hoi_annotation"' in data,
    read=read_qpic_json,
    write=write_qpic_json,
)
