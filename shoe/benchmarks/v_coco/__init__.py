"""V-COCO benchmark: actions and classes, IDs and image names in files, ground truth formats, splits and protocols."""

import re
from functools import cache
from itertools import accumulate
from pathlib import Path

from shoe.benchmarks.base import Action, Actions, Benchmark, plain_image_name, read_card, read_published
from shoe.benchmarks.classes import HoiClasses, coco_categories, parse_classes
from shoe.benchmarks.protocols import DIAG, RoleOptions
from shoe.benchmarks.systematic import published_splits
from shoe.benchmarks.v_coco import annotations, everything_txt, json_files
from shoe.core.io.json import parse_json

# ``actions.tsv`` has the 26 actions in the order of the official annotation files (docs/v-coco.md): the roles of each
# action, except the person's, in the official order; and for the three actions with two roles, the object categories
# that are instruments. In these actions, all other categories have the role "obj". So action and object determine the
# role, and a class of the benchmark is an action with an object category.
_FOLDER = Path(__file__).parent


@cache
def actions() -> Actions:
    """Return the 26 actions in the official order."""
    lines = (_FOLDER / "actions.tsv").read_text("utf-8").splitlines()[1:]
    every = (
        Action(name, gerund, tuple(roles.split()), frozenset(tools.split()))
        for name, gerund, roles, tools in (line.split("\t") for line in lines)
    )
    return Actions(tuple(every), left_out="point-instr")


# Protocols of the official script, which scores by person (docs/protocols.md 4).
ROLE_PROTOCOLS = {
    "v-coco-agent": RoleOptions(protocol="v-coco-agent", scenario="agent"),
    "v-coco-s1": RoleOptions(protocol="v-coco-s1", scenario="1"),
    "v-coco-s2": RoleOptions(protocol="v-coco-s2", scenario="2"),
}
"""Protocols of agent AP and role AP, by name."""

PROTOCOLS = {DIAG.protocol: DIAG}
"""Protocols that score triplets, by name."""

ABOUT = {
    "v-coco-agent": "official script, agent AP: persons and their actions, without objects (4.4)",
    "v-coco-s1": "official script, role AP, scenario 1: a role without annotated box must have no predicted box (4.3)",
    "v-coco-s2": "official script, role AP, scenario 2: for a role without annotated box, any box is correct (4.3)",
    "diag": "evaluator of Diag-HOI, for triplets with both boxes; classes without a true positive are skipped (8.5)",
}
"""Description of each protocol in one line, with its section in docs/protocols.md."""


_NAME = re.compile(r"(?:COCO_(?:train|val)2014_)?(\d{1,12})(?:\.jpg)?")


def image_name(value: object) -> str:
    """Return COCO's 2017 file name of an image, given its ID or 2014 or 2017 name; other names without folders.

    >>> image_name(294), image_name("images/COCO_val2014_000000000294.jpg")
    ('000000000294.jpg', '000000000294.jpg')
    """
    if type(value) is int and 0 < value < 10**12:
        return f"{value:012d}.jpg"
    name = plain_image_name(value)
    numbered = _NAME.fullmatch(name)
    return f"{int(numbered[1]):012d}.jpg" if numbered else name


@cache
def split_images(split: str) -> frozenset[str]:
    """Return the image names of the official split "train", "val", "test" or "trainval" (train and val together).

    >>> [len(split_images(split)) for split in ("train", "val", "trainval", "test")]
    [2533, 2867, 5400, 4946]
    """
    if split == "trainval":
        return split_images("train") | split_images("val")
    path = _FOLDER / "split_steps.json"  # differences of successive image IDs, because they are shorter than IDs
    return frozenset(map(image_name, accumulate(parse_json(path, path.read_bytes())[split])))


def _classes() -> HoiClasses:
    path = _FOLDER / "classes.tsv"
    return parse_classes(path.read_text("utf-8"), "v-coco", path)


BENCHMARK = Benchmark(
    name="v-coco",
    load_classes=_classes,
    formats=(annotations.FORMAT, everything_txt.FORMAT, json_files.PAIRS_FORMAT, json_files.QPIC_FORMAT),
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
