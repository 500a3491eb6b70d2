"""V-COCO: its actions and classes, the numbers and image names in its files, its ground truth, its protocols."""

from __future__ import annotations

import re
from pathlib import Path

from shoe.benchmarks.base import Benchmark, TruthFormat, plain_image_name
from shoe.benchmarks.classes import HoiClasses, coco_categories, parse_classes
from shoe.benchmarks.v_coco import pairs_json
from shoe.benchmarks.v_coco.actions import verb_names

_FOLDER = Path(__file__).parent
_NAME = re.compile(r"(?:COCO_(?:train|val)2014_)?(\d{1,12})(?:\.jpg)?")


def image_name(value: object) -> str:
    """Turn a COCO image id or a file name, in its older form or its newer one, into an image's name.

    >>> image_name(294), image_name("images/COCO_val2014_000000000294.jpg")
    ('000000000294.jpg', '000000000294.jpg')

    Raises:
        ValueError: for what is neither a number nor text.
    """
    if type(value) is int and 0 < value < 10**12:
        return f"{value:012d}.jpg"
    name = plain_image_name(value)
    numbered = _NAME.fullmatch(name)
    return f"{int(numbered[1]):012d}.jpg" if numbered else name


def _classes() -> HoiClasses:
    path = _FOLDER / "classes.tsv"
    return parse_classes(path.read_text("utf-8"), "v-coco", path)


BENCHMARK = Benchmark(
    name="v-coco",
    load_classes=_classes,
    formats=(
        TruthFormat(
            pairs_json.NAME,
            "instances_vcoco_test.json (fredzzhang/vcoco)",
            pairs_json.is_pairs_json,
            pairs_json.read_pairs_json,
        ),
    ),
    image_name=image_name,
    image_example="000000000294.jpg",
    load_object_ids=coco_categories,
    object_numbers="COCO",
    verb_names=tuple(verb_names()),
)
