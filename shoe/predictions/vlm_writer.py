"""Writing free text as JSON Lines: one interaction per line; an image without any has a line with an empty list."""

from pathlib import Path
from typing import Any

import orjson

from shoe.benchmarks.classes import HoiClasses
from shoe.core.interactions import Interactions
from shoe.io.files import replacing


def write_vlm(table: Interactions, path: str | Path, classes: HoiClasses) -> None:
    """Write JSON Lines with image, human_box, object_box, verb, object, score, and the image's size if known."""
    humans, objects, scores = table.human_boxes.tolist(), table.object_boxes.tolist(), table.score.tolist()
    verb, object_ = table.verb.tolist(), table.object.tolist()
    with replacing(path) as stream:
        for i, name in enumerate(table.images):
            width, height = table.sizes[i].tolist()
            size: dict[str, Any] = {"width": width, "height": height} if width and height else {}
            rows = range(table.offsets[i], table.offsets[i + 1])
            records: list[dict[str, Any]] = [
                {
                    "image": name,
                    "human_box": humans[row],
                    "object_box": objects[row],
                    "verb": table.verbs[verb[row]],
                    "object": table.objects[object_[row]],
                    "score": scores[row],
                    **size,
                }
                for row in rows
            ]
            for record in records or [{"image": name, "interactions": [], **size}]:
                stream.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
