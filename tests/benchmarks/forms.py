"""The same annotations in the other forms that people have: written from a parsed instances JSON."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import coco_categories

Document = dict[str, Any]


def as_ppdm(document: Document) -> list[dict[str, Any]]:
    """PPDM's form: boxes once each, COCO ids, verbs from 1; training images with boxes from 0 and the class again."""
    coco_id = {name: number for number, name in coco_categories().items()}
    records = []
    for name, entry in zip(document["filenames"], document["annotation"], strict=True):
        train = "train2015" in name
        boxes: list[dict[str, Any]] = []
        hois = []
        rows = zip(entry["boxes_h"], entry["boxes_o"], entry["hoi"], entry["object"], entry["verb"], strict=True)
        for human, target, hoi, object_, verb in rows:
            ids = []
            for box, category in ((human, 1), (target, coco_id[document["objects"][object_]])):
                known = {"bbox": [x - train for x in box], "category_id": category}
                if known not in boxes:
                    boxes.append(known)
                ids.append(boxes.index(known))
            hois.append({"subject_id": ids[0], "object_id": ids[1], "category_id": verb + 1})
            if train:
                hois[-1]["hoi_category_id"] = hoi + 1
        records.append({"file_name": name, "annotations": boxes, "hoi_annotation": hois})
        if train:
            records[-1]["img_id"] = len(records)
    return records


def as_hake(document: Document) -> dict[str, dict[str, Any]]:
    """HAKE's form: an entry for each image, triplets with boxes of their own, the image's size and body parts."""
    records = {}
    images = zip(document["filenames"], document["size"], document["annotation"], strict=True)
    for name, (width, height), entry in images:
        labels = [
            {"action_labels": [{"human_part": 6, "partstate": 0}], "hoi_id": hoi + 1}
            | {"human_bbox": human, "object_bbox": object_, "width": width, "height": height}
            for human, object_, hoi in zip(entry["boxes_h"], entry["boxes_o"], entry["hoi"], strict=True)
        ]
        records[name] = {"dataset": "hico-det", "labels": labels, "path_prefix": "hico_20160224_det/images/train2015"}
    return records


def structs(rows: list[dict[str, Any]]) -> NDArray[Any]:
    if not rows:
        return np.zeros((0, 0))
    array = np.empty((1, len(rows)), [(name, "O") for name in rows[0]])
    for i, row in enumerate(rows):
        array[0, i] = tuple(row.values())
    return array


def _matlab_boxes(boxes: list[list[float]]) -> NDArray[Any]:
    return structs([dict(zip(("x1", "y1", "x2", "y2"), map(np.uint16, box), strict=True)) for box in boxes])


def as_bbox(document: Document, *, invisible: bool = True) -> NDArray[Any]:
    """``bbox_test`` of anno_bbox.mat: per image one record a class, its boxes once each, connected by index.

    ``invisible`` adds a HOI without boxes to every second image, as the real file has them in many.
    """
    images = []
    listed = zip(document["filenames"], document["size"], document["annotation"], strict=True)
    for number, (name, size, entry) in enumerate(listed):
        hois = []
        for label in dict.fromkeys(entry["hoi"]):
            rows = [i for i, hoi in enumerate(entry["hoi"]) if hoi == label]
            humans: list[list[float]] = []
            objects: list[list[float]] = []
            connection = []
            for i in rows:
                for box, boxes in ((entry["boxes_h"][i], humans), (entry["boxes_o"][i], objects)):
                    if box not in boxes:
                        boxes.append(box)
                connection.append([humans.index(entry["boxes_h"][i]) + 1, objects.index(entry["boxes_o"][i]) + 1])
            both = {"bboxhuman": _matlab_boxes(humans), "bboxobject": _matlab_boxes(objects)}
            of_boxes = np.array(connection, np.uint8 if len(rows) < 200 else np.uint16)
            hois.append({"id": np.uint16(label + 1), **both, "connection": of_boxes, "invis": np.uint8(0)})
        if invisible and number % 2:
            nothing = np.zeros((0, 0))
            row = {"id": np.uint16(1), "bboxhuman": nothing, "bboxobject": nothing, "connection": nothing}
            hois.append({**row, "invis": np.uint8(1)})
        width, height = size
        shape = structs([{"width": np.uint16(width), "height": np.uint16(height), "depth": np.uint8(3)}])
        images.append({"filename": name, "size": shape, "hoi": structs(hois)})
    return structs(images)


def write_mat(path: Path, **variables: Any) -> Path:
    from scipy.io import savemat

    savemat(path, variables, do_compression=True, oned_as="row")
    return path
