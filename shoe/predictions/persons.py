"""Triplets of a benchmark that scores by person: what they say of persons, beside what they are."""

from __future__ import annotations

import numpy as np

from shoe.benchmarks.checks import PlaceOf, check_range
from shoe.core.arrays import Floats, Indices
from shoe.core.roles import RolePredictions
from shoe.core.rows import Rows
from shoe.predictions.source import Source


def of_persons(
    source: Source,
    place: PlaceOf,
    corners: Floats,
    human: Indices,
    target: Indices,
    objects: Indices,
    number: Indices,
    score: Floats | None,
) -> Rows:
    """Make rows of n triplets; those without an object are only said of persons.

    Args:
        source: the file.
        place: names of images, and the (n,) image of each triplet.
        corners: (b, 4) boxes.
        human: (n,) row of the person's box.
        target: (n,) row of the object's; -1 for none.
        objects: (b,) what each box shows; the number after the last object's for none.
        number: (n,) verb as the file has it: QPIC's 29, from 0.
        score: (n,) how sure; None where the file does not say.

    Raises:
        InputError: for a number that is none.
    """
    of, (images, image) = source.benchmark, place
    actions = of.actions
    numbered = np.array(actions.numbered, np.int32)
    meaning = ": qpic ids are actions in the official order, those with two roles twice"
    check_range(source.path, place, "category_id", number, len(numbered), meaning=meaning)
    action, entry = numbered[number].T
    has_object = (target >= 0) & (objects[target] < len(of.objects)) if len(objects) else np.zeros(len(target), bool)
    object_boxes = np.where(has_object[:, None], corners[target], np.nan)
    detected = RolePredictions.of_triplets(
        tuple(images),
        human * (len(corners) + 1) + np.where(has_object, target, -1),
        image.astype(np.int32),
        corners[human].astype(np.float32),
        object_boxes.astype(np.float32),
        action,
        entry,
        (np.ones(len(human)) if score is None else score).astype(np.float32),
        (len(actions), len(actions.entries)),
    )
    # A pair of boxes is one triplet of an action: that of the role in which its object takes part.
    names = (*of.objects, "")
    roles = np.array([[actions.entry_of(number, name) for name in names] for number in range(len(actions))], np.int32)
    shown = np.where(has_object, objects[target], -1) if len(objects) else np.full(len(target), -1)
    kept = np.flatnonzero(has_object & (entry >= 0) & (entry == roles[action, shown]))
    return Rows(
        images=images,
        image=image[kept],
        human_boxes=corners[human[kept]],
        object_boxes=corners[target[kept]],
        verbs=actions.names,
        objects=of.objects,
        verb=action[kept].astype(np.int64),
        object=objects[target[kept]],
        score=None if score is None else score[kept],
        detected=detected,
    )
