"""HICO-DET: its classes, the numbers and image names in its files, its ground truth in every format, its protocols."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from shoe.benchmarks.base import SUBSETS, Benchmark, plain_image_name, read_published
from shoe.benchmarks.card import read_card
from shoe.benchmarks.classes import HoiClasses, coco_categories, parse_classes
from shoe.benchmarks.held_out import published_splits
from shoe.benchmarks.hico_det import bbox_mat, hake, instances, ppdm
from shoe.benchmarks.hico_det.image_labels import read_image_labels
from shoe.benchmarks.hico_det.protocols import ABOUT, PROTOCOLS
from shoe.benchmarks.hico_det.zero_shot import zero_shot_splits
from shoe.core.arrays import Mask
from shoe.core.interactions import Interactions
from shoe.io.json import parse_json

_FOLDER = Path(__file__).parent
_STEM = re.compile(r"HICO_(?:test|train)2015_\d{8}")
_LAST_TEST_IMAGE = 9767


def image_name(value: object) -> str:
    """Turn a file name or path, with or without its ending, or the number of a test image into an image's name.

    >>> image_name("images/HICO_train2015_00000007"), image_name(12)
    ('HICO_train2015_00000007.jpg', 'HICO_test2015_00000012.jpg')

    Raises:
        ValueError: for anything else, numbers that name no test image included.
    """
    if type(value) is int and 0 < value <= _LAST_TEST_IMAGE and value not in _unused_numbers():
        return f"HICO_test2015_{value:08d}.jpg"
    name = plain_image_name(value)
    if name.isascii() and name.isdigit() and len(name) <= 8:
        return f"HICO_test2015_{int(name):08d}.jpg"
    return f"{name}.jpg" if _STEM.fullmatch(name) else name


def official_images() -> list[str]:
    """Name the 9,658 test images in the order of the official list, in which some numbers name none."""
    return [f"HICO_test2015_{i:08d}.jpg" for i in range(1, _LAST_TEST_IMAGE + 1) if i not in _unused_numbers()]


@cache
def _unused_numbers() -> frozenset[int]:
    path = _FOLDER / "unused_numbers.json"
    return frozenset(parse_json(path, path.read_bytes()))


@cache
def _classes() -> HoiClasses:
    path = _FOLDER / "classes.tsv"
    classes = parse_classes(path.read_text("utf-8"), "hico-det", path)
    rows = [line.split("\t") for line in (_FOLDER / "study_senses.tsv").read_text("utf-8").splitlines()[1:]]
    return replace(classes, study_senses={(part, label): synset for part, label, synset in rows})


def _single_hoi(table: Interactions) -> Mask:
    """The images of the shipped list, which the rule ``single-pair`` finds in the whole test set, too."""
    names = {image_name(int(number)) for number in (_FOLDER / "single_hoi.txt").read_text("utf-8").split()}
    return np.array([name in names for name in table.images], bool)


BENCHMARK = Benchmark(
    name="hico-det",
    load_classes=_classes,
    formats=(instances.FORMAT, ppdm.FORMAT, hake.FORMAT, bbox_mat.FORMAT),
    image_name=image_name,
    image_example="HICO_test2015_00000001.jpg",
    test_images=official_images,
    load_object_ids=coco_categories,
    object_numbers="COCO",
    splits=("test2015", "train2015"),
    subsets=SUBSETS | {"single-hoi": _single_hoi},
    class_splits=zero_shot_splits(_classes) | published_splits("hico-det", 0.9, (368, 680, 750)),
    marks=re.compile(rb"HICO_(?:test|train)2015_\d{8}"),
    read_image_labels=read_image_labels,
    protocols=PROTOCOLS,
    about=ABOUT,
    default_protocols=("hico-det", "shoe"),
    load_published=lambda: read_published(_FOLDER / "published.json"),
    load_card=lambda: read_card(_FOLDER / "card.json"),
)
