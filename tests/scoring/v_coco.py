"""Made scenes of V-COCO, as files of its forms and as what the slow oracle takes."""

import itertools
import json
import math
import pickle
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

import numpy as np

from shoe.benchmarks import benchmark
from tests.oracles.roles import Box, Person, Said

ACTIONS = benchmark("v-coco").actions
COCO = {name: number for number, name in benchmark("v-coco").object_ids.items()}
ORDER = {name: number for number, name in enumerate(COCO, 1)}
OBJECTS = {"hit": ("tennis_racket", "sports_ball"), "eat": ("pizza", "fork"), "cut": ("knife", "cake")}
"""What takes part in the roles of the actions that have two, in their order."""
LABELS = benchmark("v-coco").classes.labels
THINGS = [name for name in COCO if name != "person"]
NAN = math.nan


def object_of(action: str, role: str) -> str:
    """An object category that has a role in an action."""
    if action in OBJECTS:
        return OBJECTS[action][ACTIONS.all[ACTIONS.names.index(action)].roles.index(role)]
    return next(name for name in THINGS if f"{action} {name}" in LABELS)


def scene(seed: int, images: int = 4, ties: bool = False) -> tuple[list[list[Person]], list[list[Said]]]:
    """Persons, some ignored, who do what they do with objects, some never drawn; and predictions of all kinds."""
    rng = np.random.default_rng(seed)
    truths, said = [], []
    for _ in range(images):
        persons = [Person(box(rng), deeds(rng)) for _ in range(rng.integers(1, 5))]
        persons[0].does = persons[0].does or {"stand": {}}
        truths.append(persons)
        said.append([prediction(rng, persons, ties) for _ in range(rng.integers(0, 7))])
    return truths, said


def box(rng: np.random.Generator) -> Box:
    x, y = rng.integers(0, 200, 2)
    return [float(v) for v in (x, y, x + rng.integers(30, 120), y + rng.integers(30, 120))]


def deeds(rng: np.random.Generator) -> dict[str, dict[str, Box]] | None:
    if rng.random() < 0.25:
        return None
    chosen = [ACTIONS.all[i] for i in rng.choice(len(ACTIONS), 4, replace=False)]
    return {action.name: {role: box(rng) for role in action.roles if rng.random() < 0.6} for action in chosen}


def near(rng: np.random.Generator, box: Box) -> Box:
    return [v + float(rng.normal(0, 6)) for v in box]


def prediction(rng: np.random.Generator, persons: list[Person], ties: bool) -> Said:
    person = persons[rng.integers(len(persons))]
    digits = 1 if ties else 12
    one = Said(near(rng, person.box) if rng.random() < 0.8 else box(rng))
    for name in ACTIONS.names:
        one.agent[name] = NAN if rng.random() < 0.1 else round(float(rng.random()), digits)
    for action, role in ACTIONS.entries:
        name = ACTIONS.names[action]
        drawn = ((person.does or {}).get(name) or {}).get(role)
        kinds: list[Box] = [[0.0] * 4, [NAN] * 4, [0, 0, 0.1, 0.1], box(rng)]
        if drawn is not None:
            kinds += [near(rng, drawn)] * 4
        score = NAN if rng.random() < 0.1 else round(float(rng.random()), digits)
        one.roles[name, role] = (kinds[rng.integers(len(kinds))], score)
    return one


def name_of(number: int) -> int:
    return 100 + 7 * number


def records(said: list[list[Said]]) -> list[dict[str, Any]]:
    return [
        {"image_id": name_of(i), "person_box": list(one.box)}
        | {f"{name}_agent": score for name, score in one.agent.items()}
        | {f"{name}_{role}": [*box, score] for (name, role), (box, score) in one.roles.items()}
        for i, predictions in enumerate(said)
        for one in predictions
    ]


def write_pickle(said: list[list[Said]], path: Path) -> Path:
    path.write_bytes(pickle.dumps(records(said), protocol=2))
    return path


class CacheTemplate(defaultdict):  # type: ignore[type-arg]
    """The class with which UPT, PViC, ADA-CM, CMMP and SCG write a cache: absent keys mean a score of 0."""

    def __missing__(self, key: str) -> Any:
        return 0.0 if key.split("_")[-1] == "agent" else [0.0, 0.0, 0.1, 0.1, 0.0]


def write_cache(records: list[dict[str, Any]], path: Path, module: str) -> Path:
    kind = type("CacheTemplate", (CacheTemplate,), {"__module__": module})
    home, (parent, *_) = ModuleType(module), module.split(".")
    home.CacheTemplate = kind  # type: ignore[attr-defined]
    with patch.dict(sys.modules, {parent: ModuleType(parent)} | {module: home}):
        path.write_bytes(pickle.dumps([kind(None, record) for record in records], protocol=2))
    return path


def boxes_of(truths: list[list[Person]]) -> list[list[tuple[str, Box]]]:
    """All boxes of each image: persons in their order, then drawn objects."""
    return [
        [("person", person.box) for person in persons]
        + [
            (object_of(name, role), box)
            for person in persons
            for name, roles in (person.does or {}).items()
            for role, box in roles.items()
        ]
        for persons in truths
    ]


def write_official(truths: list[list[Person]], folder: Path) -> Path:
    """The annotation and COCO's instances beside it; boxes lose the pixel that the official reading takes away."""
    found, size = [], {"width": 10_000, "height": 10_000}
    instances: list[dict[str, Any]] = []
    ids: list[list[int]] = []
    for i, boxes in enumerate(boxes_of(truths)):
        ids.append([len(instances) + 1 + k for k in range(len(boxes))])
        for number, (name, (x1, y1, x2, y2)) in zip(ids[i], boxes, strict=True):
            place = {"id": number, "image_id": name_of(i), "category_id": COCO[name], "area": 1.0, "iscrowd": 0}
            instances.append(place | {"bbox": [x1, y1, x2 - x1 + 1, y2 - y1 + 1]})
    listed = [(i, j) for i, persons in enumerate(truths) for j, one in enumerate(persons) if one.does is not None]
    targets = {
        (i, j, name, role): 0 if target is None else ids[i][target]
        for i, persons in enumerate(truths)
        for j, target, name, role in pairs_of(persons)
    }
    for action in ACTIONS.all:
        agents = [ids[i][j] for i, j in listed]
        objects = [targets.get((i, j, action.name, role), 0) for role in action.roles for i, j in listed]
        labels = [int(action.name in (truths[i][j].does or {})) for i, j in listed]
        about = {"action_name": action.name, "role_name": ["agent", *action.roles], "label": labels}
        of = {"image_id": [name_of(i) for i, _ in listed], "ann_id": agents, "role_object_id": agents + objects}
        found.append(about | of)
    images = [{"id": name_of(i), **size} for i in range(len(truths))]
    (folder / "instances_vcoco_all_2014.json").write_text(json.dumps({"images": images, "annotations": instances}))
    path = folder / "vcoco_made.json"
    path.write_text(json.dumps(found))
    return path


def pairs_of(persons: list[Person]) -> Iterator[tuple[int, int | None, str, str]]:
    """Person, box or None for one that was never drawn, action and role ("" for none) of all that an image shows."""
    place = itertools.count(len(persons))
    for j, person in enumerate(persons):
        for name, roles in (person.does or {}).items():
            drawn = {role: next(place) for role in roles}
            for role in ACTIONS.all[ACTIONS.names.index(name)].roles or ("",):
                yield j, drawn.get(role), name, role


def write_everything(truths: list[list[Person]], path: Path) -> Path:
    """The text form; persons who do nothing are none of it."""
    second = {("hit", "obj"): 27, ("eat", "instr"): 28, ("cut", "obj"): 29}
    lines: list[str] = []
    for i, (persons, boxes) in enumerate(zip(truths, boxes_of(truths), strict=True)):
        shown = [f"{ORDER[name]} {x1} {y1} {x2 + 1} {y2 + 1}" for name, (x1, y1, x2, y2) in boxes]
        rows = [
            f"{second.get((name, role), ACTIONS.names.index(name) + 1)} {shown[j]} "
            + ("0 0.00 0.00 0.00 0.00" if target is None else shown[target])
            for j, target, name, role in pairs_of(persons)
        ]
        lines += [f"# {i}", f"{name_of(i):012d}.jpg", "10000 10000", str(len(shown)), *shown, str(len(rows)), *rows, ""]
    path.write_text("\n".join(lines))
    return path


def write_qpic(truths: list[list[Person]], path: Path) -> Path:
    found = []
    numbers = {
        (ACTIONS.names[a], "" if e < 0 else ACTIONS.entries[e][1]): n for n, (a, e) in enumerate(ACTIONS.by_verb_id)
    }
    for i, (persons, boxes) in enumerate(zip(truths, boxes_of(truths), strict=True)):
        rows = [
            {"subject_id": j, "object_id": -1 if target is None else target, "category_id": numbers[name, role]}
            for j, target, name, role in pairs_of(persons)
        ]
        shown = [{"bbox": [b[0], b[1], b[2] + 1, b[3] + 1], "category_id": COCO[name]} for name, b in boxes]
        file_name = f"COCO_val2014_{name_of(i):012d}.jpg"
        found.append({"file_name": file_name, "annotations": shown, "hoi_annotation": rows})
    path.write_text(json.dumps(found))
    return path
