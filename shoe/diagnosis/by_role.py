"""A diagnosis by role: triplets of a person, a box and its role in an action, as V-COCO scores them (protocols.md 4).

V-COCO compares no object categories, and its official files do not have them. By role, a class is an action with a role
("hit-instr"), whatever the object; actions without roles have no part. Persons are as the official evaluation takes
them: predictions whose person overlaps most with one that nobody annotated leave, whatever they say. And where nobody
drew the box of a role, an empty one is right (scenario 1): both are the same box here, one that no other overlaps.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoe.benchmarks.classes import HoiClasses, parse_classes
from shoe.benchmarks.protocol_options import Interpolation
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats
from shoe.core.boxes import Coordinates, Overlap
from shoe.core.errors import OptionError
from shoe.core.interactions import Interactions
from shoe.core.roles import NO_BOX, RoleTruth, Single
from shoe.diagnosis.error_types import ROLE_FLOW, Variant, does
from shoe.scoring.matching.persons import PersonMatches
from shoe.scoring.matching.task import Task

VIEWS = ("class", "role")
_ANYTHING = "anything"
_NOWHERE = (-99.0, -99.0, -99.0, -99.0)
"""What stands for a box that ends before it begins, which the official script takes, and which overlaps nothing."""


def by_role(predictions: Interactions, truth: GroundTruth, variant: Variant) -> tuple[Task, Variant]:
    """Take a task by role.

    ``predictions`` are by person, or triplets; a variant with the shared map has the toolbox's flow for persons.

    Returns:
        A task whose R classes are the benchmark's entries, in their order; and the variant with V-COCO's IoU and AP:
        inclusive pixels, all points, 0 for an entry without a true positive (protocols.md 8.5).

    Raises:
        OptionError: if the benchmark does not score by person, or the file does not have its persons.
    """
    roles, benchmark = truth.roles, truth.benchmark
    if roles is None:
        expected = "a file that has persons with and without objects, too" if len(benchmark.actions) else "v-coco"
        raise OptionError(f"by role: found ground truth of {benchmark.name} ({truth.format}), expected {expected}")
    classes = _classes(truth)
    made = replace(
        truth,
        interactions=_truths(truth, roles, classes),
        classes=classes,
        class_split=None,
        benchmark=replace(
            benchmark, load_classes=lambda: classes, flow=ROLE_FLOW if variant.shared_map else benchmark.flow
        ),
    )
    of_task = _predictions(PersonMatches.of(Task(predictions, truth), roles, Overlap.PIXELS), classes)
    strict = replace(
        variant.strict, overlap=Overlap.PIXELS, ap=Interpolation.ALL_POINTS, zero_tp="zero", unpredicted="zero"
    )
    return Task(replace(of_task, notes=predictions.notes), made), replace(variant, strict=strict, by="role")


def _classes(truth: GroundTruth) -> HoiClasses:
    actions = truth.benchmark.actions
    rows = ["verb\tobject\tgerund\tverb_synset\tobject_synset\trare"]
    rows += [
        f"{name}\t{_ANYTHING}\t{actions.all[action].gerund}\t\t\t"
        for name, (action, _) in zip(actions.entry_names, actions.entries, strict=True)
    ]
    return parse_classes("\n".join(rows), truth.classes.name)


def _truths(truth: GroundTruth, roles: RoleTruth, classes: HoiClasses) -> Interactions:
    """One row for each role in what a person does, person by person."""
    person, entry = np.nonzero(does(roles, truth.benchmark.actions))
    boxes = roles.boxes[roles.role[person, entry]].astype(np.float64)
    boxes[~roles.has_role[person, entry]] = NO_BOX
    images = truth.interactions.images
    return Interactions.from_columns(
        images=images,
        image=np.repeat(np.arange(len(images)), np.diff(roles.offsets))[person],
        human_boxes=roles.person_boxes[person].astype(np.float64),
        object_boxes=boxes,
        verb=classes.verb[entry],
        object=np.zeros(len(person), np.int32),
        verbs=classes.verbs,
        objects=classes.objects,
        sizes=truth.interactions.sizes,
        coordinates=Coordinates.PIXELS_0,
    )


def _predictions(found: PersonMatches, classes: HoiClasses) -> Interactions:
    said = found.said
    ignored = np.append(found.truth.ignored, False)[found.person]
    record, entry = np.nonzero(~np.isnan(said.score) & ~ignored[:, None])
    box = said.role[record, entry]
    boxes = _enclosing(said.boxes[box])
    boxes[found.empty[box]] = NO_BOX
    return Interactions.from_columns(
        images=said.images,
        image=said.image[record],
        human_boxes=_enclosing(said.person_boxes[record]),
        object_boxes=boxes,
        verb=classes.verb[entry],
        object=np.zeros(len(record), np.int32),
        verbs=classes.verbs,
        objects=classes.objects,
        score=said.score[record, entry].astype(np.float64),
        coordinates=Coordinates.PIXELS_0,
    )


def _enclosing(boxes: Single) -> Floats:
    made = boxes.astype(np.float64)
    made[~(np.isfinite(made).all(axis=1) & (made[:, :2] <= made[:, 2:]).all(axis=1))] = _NOWHERE
    return made
