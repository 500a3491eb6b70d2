"""HICO-DET benchmark: classes, IDs and image names in files, ground truth formats, splits and protocols."""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks.base import SUBSETS, Benchmark, plain_image_name, read_card, read_published
from shoe.benchmarks.classes import ClassSplit, HoiClasses, coco_categories, parse_classes
from shoe.benchmarks.hico_det import json_files, matlab_files
from shoe.benchmarks.hico_det.matlab_files import read_image_labels
from shoe.benchmarks.protocols import DIAG
from shoe.benchmarks.scoring_options import Interpolation, StrictOptions, Ties
from shoe.benchmarks.systematic import published_splits
from shoe.core.arrays import Mask
from shoe.core.boxes import CommonCoordinates, Overlap
from shoe.core.interactions import Interactions
from shoe.core.io.json import parse_json

# Exact-label protocols of HICO-DET, one per published evaluation program (docs/protocols.md 0.3).
_OFFICIAL = StrictOptions(protocol="hico-det")
_PYTHON_FAMILY = StrictOptions(
    coordinates=CommonCoordinates.RAW, overlap=Overlap.PIXELS_CROSSING, ap=Interpolation.ELEVEN_ARANGE, cap=100
)

PROTOCOLS = {
    options.protocol: options
    for options in (
        _OFFICIAL,
        replace(_OFFICIAL, protocol="hico-det-known-object", known_object="labels"),
        replace(_PYTHON_FAMILY, protocol="ppdm", coordinates=CommonCoordinates.INDICES, cap=None),
        replace(_PYTHON_FAMILY, protocol="qpic", empty_images="ignore"),
        replace(_PYTHON_FAMILY, protocol="gen-vlkt", cap_ties="first-copies"),
        StrictOptions(
            protocol="upt",
            coordinates=CommonCoordinates.EDGES,
            overlap=Overlap.CONTINUOUS,
            threshold_at=">",
            empty_images="ignore",
        ),
        StrictOptions(
            protocol="thid",
            coordinates=CommonCoordinates.RAW,
            overlap=Overlap.CONTINUOUS,
            ap=Interpolation.ELEVEN,
            ties=Ties.REVERSED,
            class_cap=19_999,
            no_interaction="exclude",
            truthless="zero",
        ),
        DIAG,
    )
}
"""Exact-label protocols by name."""

ABOUT = {
    "hico-det": "official Matlab script, default setting (1)",
    "hico-det-known-object": "official Matlab script, known-object setting (1)",
    "ppdm": "PPDM's Python evaluator (2.5)",
    "qpic": "Python evaluator of QPIC and CDN, top 100; with its bug that ignores images without ground truth (2.2)",
    "gen-vlkt": "Python evaluator of GEN-VLKT, top 100; with its bug that duplicates tied rows at the cutoff (2.3)",
    "upt": "evaluator of the pocket library, used by SCG, UPT and PViC (3)",
    "thid": "evaluator of THID and INP-CC, 520 classes (5)",
    "diag": "evaluator of Diag-HOI, 520 classes; classes without a true positive are skipped (8.5)",
}
"""Description of each protocol in one line, with its section in docs/protocols.md."""

_FOLDER = Path(__file__).parent
# Zero-shot splits of the classes are in ``zero_shot.json``: published lists of unseen classes, or published objects or
# verbs all of whose classes are unseen. The file numbers classes from 1, in the order of the class table.
_ZERO_SHOT = parse_json("zero_shot.json", (_FOLDER / "zero_shot.json").read_bytes())


def _zero_shot_split(name: str, entry: Mapping[str, Any]) -> ClassSplit:
    table = _classes()
    verbs, objects = np.isin(table.verbs, entry.get("verbs", [])), np.isin(table.objects, entry.get("objects", []))
    unseen = np.flatnonzero(verbs[table.verb] | objects[table.object])
    unseen = np.array(entry["classes"]) - 1 if "classes" in entry else unseen
    return ClassSplit.of_unseen(name, unseen, len(table), entry["source"], entry["about"])


_STEM = re.compile(r"HICO_(?:test|train)2015_\d{8}")
_LAST_TEST_IMAGE = 9767


def image_name(value: object) -> str:
    """Return the image name for a file name or path, with or without extension, or for the number of a test image.

    >>> image_name("images/HICO_train2015_00000007"), image_name(12)
    ('HICO_train2015_00000007.jpg', 'HICO_test2015_00000012.jpg')

    Raises ValueError for other values, including numbers that no test image has.
    """
    if type(value) is int and 0 < value <= _LAST_TEST_IMAGE and value not in _unused_numbers():
        return f"HICO_test2015_{value:08d}.jpg"
    name = plain_image_name(value)
    if name.isascii() and name.isdigit() and len(name) <= 8:
        return image_name(int(name))
    return f"{name}.jpg" if _STEM.fullmatch(name) else name


def official_images() -> list[str]:
    """Return the names of the 9,658 test images in the order of the official list, which skips some numbers."""
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
    """Return (m,) whether an image is in ``single_hoi.txt``, the test images of the subset ``single-pair``."""
    names = {image_name(int(number)) for number in (_FOLDER / "single_hoi.txt").read_text("utf-8").split()}
    return np.array([name in names for name in table.images], bool)


BENCHMARK = Benchmark(
    name="hico-det",
    load_classes=_classes,
    formats=(json_files.INSTANCES_FORMAT, json_files.PPDM_FORMAT, json_files.HAKE_FORMAT, matlab_files.FORMAT),
    image_name=image_name,
    image_example="HICO_test2015_00000001.jpg",
    test_images=official_images,
    load_object_ids=coco_categories,
    object_numbers="COCO",
    splits=("test2015", "train2015"),
    subsets=SUBSETS | {"single-hoi": _single_hoi},
    class_splits={name: partial(_zero_shot_split, name, entry) for name, entry in _ZERO_SHOT.items()}
    | published_splits("hico-det", 0.9, (368, 680, 750)),
    marks=re.compile(rb"HICO_(?:test|train)2015_\d{8}"),
    read_image_labels=read_image_labels,
    protocols=PROTOCOLS,
    about=ABOUT,
    default_protocols=("hico-det", "shoe"),
    load_published=lambda: read_published(_FOLDER / "published.json"),
    load_card=lambda: read_card(_FOLDER / "card.json"),
)
