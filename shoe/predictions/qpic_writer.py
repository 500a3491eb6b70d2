"""Writing the QPIC form."""

from pathlib import Path

import numpy as np
import orjson

from shoe.benchmarks.classes import HoiClasses, coco_objects
from shoe.core.interactions import Interactions
from shoe.io.files import replacing
from shoe.predictions.names import labels_of

_PERSON = 0


def write_qpic(table: Interactions, path: str | Path, classes: HoiClasses) -> None:
    """Write JSON as QPIC's: each image's distinct boxes, human boxes labelled as person, and its triplets.

    Args:
        table: triplets in words of the dataset.
        path: the file; it appears whole or not at all.
        classes: whose numbers to write.

    Raises:
        InputError: naming a word that is no label of the dataset.
    """
    verb, object_ = labels_of(table, classes, path, "qpic")
    contiguous = np.argsort(coco_objects(classes))[object_]
    n = len(table)
    image = table.image
    box = np.concatenate([table.human_boxes, table.object_boxes])
    label = np.concatenate([np.full(n, _PERSON), contiguous])
    of_image = np.tile(image, 2)
    order = np.lexsort((*box.T, label, of_image))
    keys = np.column_stack([of_image, label, box])[order]
    first = np.concatenate([[True], (keys[1:] != keys[:-1]).any(axis=1)])[: len(keys)]
    start = np.searchsorted(keys[first, 0], np.arange(len(table.images) + 1))
    place = np.empty(2 * n, np.int64)
    place[order] = np.cumsum(first) - 1
    place -= start[of_image]
    boxes, labels = keys[first, 2:].tolist(), keys[first, 1].astype(np.int64).tolist()
    human, target = place[:n].tolist(), place[n:].tolist()
    ids, scores = verb.tolist(), table.score.tolist()
    with replacing(path) as stream:
        stream.write(b"[")
        for i, name in enumerate(table.images):
            mine, rows = slice(start[i], start[i + 1]), slice(table.offsets[i], table.offsets[i + 1])
            record = {
                "filename": name,
                "predictions": [{"bbox": b, "category_id": c} for b, c in zip(boxes[mine], labels[mine], strict=True)],
                "hoi_prediction": [
                    {"subject_id": s, "object_id": o, "category_id": v, "score": p}
                    for s, o, v, p in zip(human[rows], target[rows], ids[rows], scores[rows], strict=True)
                ],
            }
            stream.write((b",\n" if i else b"\n") + orjson.dumps(record))
        stream.write(b"\n]\n")
