"""SWIG-HOI: its 14,130 classes, of which the test set is scored on 5,539, its ground truth and its protocols.

The class tables are made of SWIG-HOI's own by ``scripts/build-swig-classes`` (docs/swig.md, also for sources and
licences): ``actions.tsv`` and ``objects.tsv`` in the order of their numbers, and ``interactions.tsv.gz`` with action,
object, and "unseen", "rare", "" or "unscored" of each class, in the order of theirs.
"""

from __future__ import annotations

import gzip
import re
from functools import cache
from pathlib import Path

from shoe.benchmarks.base import Benchmark, plain_image_name
from shoe.benchmarks.card import read_card
from shoe.benchmarks.class_splits import SEEN, UNSEEN, ClassSplit
from shoe.benchmarks.classes import HoiClasses, class_table, parse_classes
from shoe.benchmarks.swig_hoi.annotations import FORMAT
from shoe.benchmarks.swig_hoi.protocols import ABOUT, PROTOCOLS

_FOLDER = Path(__file__).parent
_FREQUENCY = "frequency"


def image_name(value: object) -> str:
    """Turn a file name or path into an image's name; a number stays one, of which the annotations say the name.

    >>> image_name("images_512/wrapping_1.jpg"), image_name(7)
    ('wrapping_1.jpg', '7')

    Raises:
        ValueError: for anything else.
    """
    return str(value) if type(value) is int and value >= 0 else plain_image_name(value)


@cache
def _table(name: str) -> list[list[str]]:
    lines = (_FOLDER / name).read_text("utf-8").splitlines()[1:]
    return [line.split("\t") for line in lines]


def _classes() -> HoiClasses:
    actions, objects = _table("actions.tsv"), _table("objects.tsv")
    rows = []
    for line in gzip.decompress((_FOLDER / "interactions.tsv.gz").read_bytes()).decode().splitlines():
        action, object_, kind = line.split("\t")
        (gerund, verb, verb_sense, _), (name, object_sense) = actions[int(action)], objects[int(object_)]
        rows.append([verb, name, gerund, verb_sense, object_sense, kind])
    return parse_classes(class_table(rows), "swig-hoi", _FOLDER)


def _by_frequency() -> ClassSplit:
    classes = BENCHMARK.classes
    parts = {UNSEEN: classes.unseen, SEEN: ~classes.unseen, "rare": classes.rare, "non-rare": classes.non_rare}
    scored = {part: mask & classes.scored for part, mask in parts.items()}
    return ClassSplit(_FREQUENCY, scored, "SWIG-HOI's category tables", "how often training shows a class")


BENCHMARK = Benchmark(
    name="swig-hoi",
    load_classes=_classes,
    formats=(FORMAT,),
    image_name=image_name,
    image_example="wrapping_1.jpg",
    load_object_ids=lambda: {number: row[0] for number, row in enumerate(_table("objects.tsv"))},
    object_numbers="SWIG-HOI",
    verb_names=tuple(row[1] for row in _table("actions.tsv")),
    class_splits={_FREQUENCY: _by_frequency},
    usual_class_split=_FREQUENCY,
    protocols=PROTOCOLS,
    about=ABOUT,
    default_protocols=("swig-hoi", "shoe"),
    load_card=lambda: read_card(_FOLDER / "card.json"),
    similarity="neighbourhood",
    marks=re.compile(rb'"hoi_annotations"'),
)
