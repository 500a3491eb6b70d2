"""One small set of synthetic predictions for real images, in every format; run as a module, this writes it.

Forms that the project does not write are written here as their tools do.
"""

import json
import pickle
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from shoe.benchmarks import benchmark
from shoe.benchmarks.classes import coco_categories
from shoe.core.interactions import Interactions
from shoe.demo import DATA
from shoe.predictions import read_predictions, write_predictions

FOLDER = Path(__file__).resolve().parent.parent / "data" / "predictions"
CLASSES = benchmark("hico-det").classes
IMAGES, PER_IMAGE = 4, 6

# File and the format that it is in.
SAMPLES = {
    "qpic.json": "qpic", "cdn.json": "qpic", "diag.pkl": "qpic", "gen_vlkt.json": "gen-vlkt", "ppdm.json": "ppdm",
    "hoidet.pkl": "hoidet", "hoidet.json": "hoidet", "thid.pkl": "thid", "thid_images.json": "thid-images",
    "mllms.json": "mllms", "flat.jsonl": "jsonl", "flat.csv": "csv", "flat.parquet": "parquet", "words.jsonl": "vlm",
    "grouped.json": "vlm", "replies.jsonl": "vlm", "phrases.jsonl": "vlm", "detections.mat": "mat",
    "table.npz": "native",
}  # fmt: skip


@cache
def base() -> Interactions:
    """The predictions that all formats hold: the best few of the packaged sample's first images."""
    table = read_predictions(DATA / "detector.json").select_images(np.arange(IMAGES))
    rank = np.arange(len(table)) - table.offsets[:-1][table.image]
    return table.select(rank < PER_IMAGE)


def sizes(table: Interactions) -> dict[str, tuple[int, int]]:
    """Names of the sample's images, as the columns of its small Matlab file are named; sizes do not matter."""
    return dict.fromkeys(table.images, (640, 480))


def rows(table: Interactions) -> list[tuple[Any, ...]]:
    """The triplets of a table in words, so that tables with other vocabularies compare."""
    columns = (table.image, table.human_boxes, table.object_boxes, table.verb, table.object, table.score)
    return [
        (table.images[i], tuple(h), tuple(o), table.verbs[v], table.objects[w], s)
        for i, h, o, v, w, s in zip(*(column.tolist() for column in columns), strict=True)
    ]


def qpic_records(table: Interactions) -> list[dict[str, Any]]:
    """QPIC's records, two boxes per triplet."""
    coco = list(coco_categories().values())
    records: list[dict[str, Any]] = [{"filename": n, "predictions": [], "hoi_prediction": []} for n in table.images]
    for image, human, target, verb, object_, score in rows(table):
        record = records[table.images.index(image)]
        place = len(record["predictions"])
        boxes = ((human, 0), (target, coco.index(object_)))
        record["predictions"] += [{"bbox": list(box), "category_id": category} for box, category in boxes]
        hoi = {"subject_id": place, "object_id": place + 1, "category_id": CLASSES.verbs.index(verb), "score": score}
        record["hoi_prediction"].append(hoi)
    return records


def with_numpy(value: Any) -> Any:
    """QPIC's records with NumPy's numbers and arrays in place of Python's."""
    if isinstance(value, dict):
        return {name: np.array(each) if name == "bbox" else with_numpy(each) for name, each in value.items()}
    if isinstance(value, list):
        return [with_numpy(each) for each in value]
    return value if isinstance(value, str) else np.float64(value) if isinstance(value, float) else np.int64(value)


def gen_vlkt_records(table: Interactions) -> list[dict[str, Any]]:
    records = qpic_records(table)
    coco = list(coco_categories().values())
    for record in records:
        for hoi in record["hoi_prediction"]:
            object_ = CLASSES.objects.index(coco[record["predictions"][hoi["object_id"]]["category_id"]])
            hoi["category_id"] = int(CLASSES.of[hoi["category_id"], object_])
        for box in record["predictions"]:
            del box["category_id"]
    return records


def ppdm_records(table: Interactions) -> list[dict[str, Any]]:
    ids = list(coco_categories())
    records = qpic_records(table)
    for record in records:
        record["file_name"] = record.pop("filename")
        for box in record["predictions"]:
            box["category_id"] = ids[box["category_id"]]
        for hoi in record["hoi_prediction"]:
            hoi["category_id"] += 1
    return records


def hoidet_records(table: Interactions) -> list[dict[str, Any]]:
    keys = {"h_idx": "subject_id", "o_idx": "object_id", "hoi_score": "score", "hoi_class": "category_id"}
    return [
        {"image_id": int(record["filename"][-12:-4]), "boxes": [box["bbox"] for box in record["predictions"]]}
        | {name: [hoi[key] for hoi in record["hoi_prediction"]] for name, key in keys.items()}
        for record in gen_vlkt_records(table)
    ]


def thid_document(table: Interactions) -> dict[str, dict[int, list[Any]]]:
    parts = ("scores", "boxes", "keys")
    document: dict[str, dict[int, list[Any]]] = {part: {i: [] for i in range(len(CLASSES))} for part in parts}
    for image, human, target, verb, object_, score in rows(table):
        hoi = int(CLASSES.of[CLASSES.verbs.index(verb), CLASSES.objects.index(object_)])
        document["scores"][hoi].append(score)
        document["boxes"][hoi].append([*human, *target])
        document["keys"][hoi].append(int(image[-12:-4]))
    return document


def vlm_items(table: Interactions, image: str) -> list[dict[str, Any]]:
    keys = ("human_bbox", "object_bbox", "action", "object", "confidence")
    return [dict(zip(keys, row[1:], strict=True)) for row in rows(table) if row[0] == image]


def cells(table: Interactions) -> Any:
    """The official cells, with a column for each image of the table."""
    array = np.empty((len(CLASSES), len(table.images)), object)
    for place in np.ndindex(array.shape):
        array[place] = np.zeros((0, 0))
    for image, human, target, verb, object_, score in rows(table):
        hoi = CLASSES.of[CLASSES.verbs.index(verb), CLASSES.objects.index(object_)]
        column = table.images.index(image)
        row = np.array([[*human, *target, score]])
        old = array[hoi, column]
        array[hoi, column] = np.concatenate([old, row]) if old.size else row
    return array


def lines(records: list[Any]) -> bytes:
    return b"".join(orjson.dumps(record) + b"\n" for record in records)


def files(table: Interactions) -> dict[str, bytes]:
    """Content of the samples that the project's own writers do not write."""
    from io import BytesIO

    from scipy.io import savemat

    records = qpic_records(table)
    gerund = dict(zip(CLASSES.verbs, CLASSES.gerunds, strict=True))
    matlab = BytesIO()
    savemat(matlab, {"all_boxes": cells(table)}, do_compression=True)
    items = {image: {"interactions": vlm_items(table, image)} for image in table.images}
    fenced = [f"Here is what I see:\n```json\n{json.dumps(each, indent=1)}\n```\nOK?" for each in items.values()]
    phrases = [
        {"image": image, "human_box": human, "object_box": target, "phrase": f"a person {gerund[v]} the {o}"}
        for image, human, target, v, o, _ in rows(table)
    ]
    return {
        "cdn.json": orjson.dumps(str({"preds": with_numpy(records), "gts": []})),
        "diag.pkl": pickle.dumps(with_numpy(records), protocol=4),
        "gen_vlkt.json": orjson.dumps(gen_vlkt_records(table)),
        "ppdm.json": orjson.dumps(ppdm_records(table)),
        "hoidet.pkl": pickle.dumps(hoidet_records(table), protocol=3),
        "hoidet.json": orjson.dumps(hoidet_records(table)),
        "thid.pkl": pickle.dumps(thid_document(table), protocol=4),
        "grouped.json": orjson.dumps([{"file_name": image, **each} for image, each in items.items()]),
        "replies.jsonl": lines([{"image": i, "response": reply} for i, reply in zip(items, fenced, strict=True)]),
        "phrases.jsonl": lines(phrases),
        "detections.mat": matlab.getvalue(),
    }


def write_all() -> None:
    table = base()
    for name, content in files(table).items():
        (FOLDER / name).write_bytes(content)
    for name, form in SAMPLES.items():
        if not (FOLDER / name).exists():
            write_predictions(table, FOLDER / name, form)


if __name__ == "__main__":
    write_all()
