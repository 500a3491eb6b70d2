"""V-COCO: its actions and classes, the numbers and image names in its files, its ground truth, its protocols."""

from __future__ import annotations

import re
from functools import cache
from itertools import accumulate
from pathlib import Path

from shoe.benchmarks.base import Action, Actions, Benchmark, plain_image_name, read_card, read_published
from shoe.benchmarks.classes import HoiClasses, coco_categories, parse_classes
from shoe.benchmarks.protocols import DIAG, RoleOptions
from shoe.benchmarks.systematic import published_splits
from shoe.benchmarks.v_coco import everything_txt, json_files, official
from shoe.core.io.json import parse_json

# The 26 actions of V-COCO and what takes part in them (docs/v-coco.md).
#
# ``actions.tsv`` has them in the order of the official annotation files: the roles of each beside the person, in its
# official order, and for the three actions with two roles the objects that are the instrument; all others are the
# object.
# So a role follows from action and object, and a class of the benchmark is an action with an object category.

_TABLE = Path(__file__).with_name("actions.tsv")


@cache
def actions() -> Actions:
    """The 26 actions in the official order."""
    rows = (line.split("\t") for line in _TABLE.read_text("utf-8").splitlines()[1:])
    every = (Action(name, gerund, tuple(roles.split()), frozenset(of.split())) for name, gerund, roles, of in rows)
    return Actions(tuple(every), left_out="point-instr")


# V-COCO's protocols: the official script, by person (docs/protocols.md 4).

ROLE_PROTOCOLS = {
    options.protocol: options
    for options in (
        RoleOptions(protocol="v-coco-agent", scenario="agent"),
        RoleOptions(protocol="v-coco-s1", scenario="1"),
        RoleOptions(protocol="v-coco-s2", scenario="2"),
    )
}
"""By name."""

PROTOCOLS = {DIAG.protocol: DIAG}
"""Those of triplets, by name."""

ABOUT = {
    "v-coco-agent": "official script, agent AP: persons by what they do (4.4)",
    "v-coco-s1": "official script, role AP, scenario 1: where nobody drew the role, it has to be left empty (4.3)",
    "v-coco-s2": "official script, role AP, scenario 2: where nobody drew the role, anything is right (4.3)",
    "diag": "Diag-HOI's evaluator over triplets with both boxes; classes without a true positive are skipped (8.5)",
}
"""One line a protocol, with its section in docs/protocols.md."""


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


@cache
def split_images(split: str) -> frozenset[str]:
    """The images of the official train, val or test split; trainval has those of train and val.

    >>> [len(split_images(split)) for split in ("train", "val", "trainval", "test")]
    [2533, 2867, 5400, 4946]
    """
    if split == "trainval":
        return split_images("train") | split_images("val")
    path = _FOLDER / "split_steps.json"  # from one image id to the next
    return frozenset(map(image_name, accumulate(parse_json(path, path.read_bytes())[split])))


def _classes() -> HoiClasses:
    path = _FOLDER / "classes.tsv"
    return parse_classes(path.read_text("utf-8"), "v-coco", path)


BENCHMARK = Benchmark(
    name="v-coco",
    load_classes=_classes,
    formats=(official.FORMAT, everything_txt.FORMAT, json_files.PAIRS_FORMAT, json_files.QPIC_FORMAT),
    image_name=image_name,
    image_example="000000000294.jpg",
    load_object_ids=coco_categories,
    object_numbers="COCO",
    splits=("train", "val", "trainval", "test"),
    class_splits=published_splits("v-coco", 0.7, (2065, 966, 564)),
    in_split=lambda name, split: name in split_images(split),
    marks=re.compile(rb'COCO_(?:train|val)2014_\d{12}|"role_object_id"|"action_to_object"'),
    load_actions=actions,
    protocols=PROTOCOLS,
    role_protocols=ROLE_PROTOCOLS,
    about=ABOUT,
    default_protocols=("shoe",),
    load_published=lambda: read_published(_FOLDER / "published.json"),
    load_card=lambda: read_card(_FOLDER / "card.json"),
    similarity="v-coco",
)
