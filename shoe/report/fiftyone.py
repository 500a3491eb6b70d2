"""Labels for FiftyOne: boxes in COCO's format, with the error type, similarity and IoU of each prediction."""

from typing import Any

import numpy as np

from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.error_types import TruthStatus
from shoe.scoring.score import Report


def coco_labels(diagnosis: Diagnosis, report: Report) -> dict[str, Any]:
    """Return the labels of a diagnosis as a COCO document: a human box and an object box per triplet.

    Each box has the attributes "source" ("prediction" or "ground_truth"), "pair" (number of the triplet), "interaction"
    and "error": the error type or "true_positive" of a prediction, or the :class:`TruthStatus` of a ground truth.
    Predictions on unknown images are left out. Boxes of predictions also have "score", "similarity" to the matched
    ground truth (0 without a match) and "iou", the best pair IoU with a ground truth (0 below the threshold).
    """
    table, truth = diagnosis.table, diagnosis.task.truth.interactions
    semantic: Any = report.semantic
    matches, near = semantic.matches, semantic.near
    similarity, iou = np.zeros((2, len(table) + 1))  # the last one for ground truths without a match
    similarity[matches.prediction] = matches.sigma
    np.maximum.at(iou, near.prediction, near.iou)
    values = {"score": table.score, "similarity": similarity, "iou": iou}
    status = np.array([*(each.name.lower() for each in TruthStatus), ""])[diagnosis.truth_status]
    classes = {name: i for i, name in enumerate(dict.fromkeys(["person", *table.objects, *truth.objects]))}
    annotations: list[dict[str, Any]] = []
    for source, rows, images, errors, columns in (
        ("prediction", table, diagnosis.task.image, diagnosis.predictions_table()["error"], values),
        ("ground_truth", truth, truth.image, status, {}),
    ):
        for row in np.flatnonzero(images >= 0).tolist():
            noun = rows.objects[rows.object[row]]
            named = {"source": source, "error": str(errors[row]), "interaction": f"{rows.verbs[rows.verb[row]]} {noun}"}
            numbers = {key: float(column[row]) for key, column in columns.items()}
            place = {"image_id": int(images[row]), "pair": len(annotations) // 2}
            for name, box in (("person", rows.human_boxes[row]), (noun, rows.object_boxes[row])):
                x1, y1, x2, y2 = box.tolist()
                label = {"id": len(annotations), "category_id": classes[name], "bbox": [x1, y1, x2 - x1, y2 - y1]}
                annotations.append({**label, "area": (x2 - x1) * (y2 - y1), **place, **named, **numbers})
    sizes = [{"width": width, "height": height} for width, height in truth.sizes.tolist()]
    images_of = [{"id": i, "file_name": name, **sizes[i]} for i, name in enumerate(truth.images)]
    categories, info = [{"id": i, "name": name} for name, i in classes.items()], {"description": str(report.signature)}
    return {"info": info, "categories": categories, "images": images_of, "annotations": annotations}
