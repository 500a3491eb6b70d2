"""What to know before any figure is believed, one line each, the most urgent first."""

from __future__ import annotations

import numpy as np

from shoe.core.errors import many, printable
from shoe.core.interactions import image_index
from shoe.lexicon.labels import match_labels
from shoe.matching.task import Task
from shoe.predictions.box_check import BoxReport

NOTHING = "the file holds no prediction: all figures are those of a model that says nothing"
_NAMES_SHOWN = 3


def warnings(task: Task, boxes: BoxReport) -> list[str]:
    """Collect them all: boxes that do not fit, images without predictions, words exchanged, images left out."""
    return [*boxes.lines(), *filter(None, [coverage(task)]), *exchanged(task), *left_out(task)]


def coverage(task: Task) -> str | None:
    """Say how many images of the ground truth have predictions; None if all have."""
    by_person = task.predictions.roles
    if not len(task.predictions) and not (by_person and len(by_person)):
        return NOTHING
    images, has = len(task.truth.interactions.images), task.image_rows[1] > 0
    if by_person is not None:
        found = image_index(by_person.images, task.truth.interactions.images)[by_person.image]
        has = has | (np.bincount(found[found >= 0], minlength=images) > 0)
    covered = int(has.sum())
    if covered == images:
        return None
    named = int((task.truth_image >= 0).sum())
    line = f"{covered:,} of {many(images, 'image')} {'has' if covered == 1 else 'have'} predictions"
    if named > covered:
        empty = named - covered
        line += f", {empty:,} more {'is' if empty == 1 else 'are'} in the file without any"
    unknown, given = len(task.unknown_images), len(task.predictions.images)
    if 2 * unknown > given:
        first = printable(task.unknown_images[0])
        line += f": {unknown:,} of the file's {given:,} images are not in the ground truth, as {first}"
    elif named < images:
        line += "; what the others show counts as missed (leave them out: --images-in-predictions; "
        line += "Python: truth.within(predictions.images))"
    return line


def exchanged(task: Task) -> list[str]:
    """Say so where most verbs are the dataset's objects, and most objects its verbs."""
    table, classes = task.predictions, task.truth.classes
    if 2 * int((task.verb_label >= 0).sum()) >= len(table.verbs):
        return []
    verbs = int((match_labels(table.objects, classes.verbs, "verb") >= 0).sum())
    objects = int((match_labels(table.verbs, classes.objects, "object") >= 0).sum())
    if 2 * verbs <= len(table.objects) or 2 * objects <= len(table.verbs):
        return []
    return [f"words: verb and object seem exchanged: {objects:,} of {len(table.verbs):,} verbs are names of objects"]


def left_out(task: Task) -> list[str]:
    """Say which images the ground truth does not have; none where it has all."""
    names = task.unknown_images
    if not names:
        return []
    shown = ", ".join(printable(name) for name in names[:_NAMES_SHOWN])
    count = int(np.diff(task.predictions.offsets)[task.truth_image < 0].sum())
    return [
        f"images     {len(names):,} not in the ground truth and left out, with {many(count, 'prediction')}: {shown}"
    ]
