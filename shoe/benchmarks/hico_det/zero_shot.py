"""The zero-shot splits of HICO-DET's classes: published lists, or all classes of published objects or verbs.

``zero_shot.json`` has them. Classes are numbered from 1 there, in the order of the class table.
"""

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks.class_splits import ClassSplit
from shoe.benchmarks.classes import HoiClasses
from shoe.io.json import parse_json

_PATH = Path(__file__).with_name("zero_shot.json")


def zero_shot_splits(classes: Callable[[], HoiClasses]) -> dict[str, Callable[[], ClassSplit]]:
    """What loads each split, by its name."""
    return {name: partial(_split, name, said, classes) for name, said in parse_json(_PATH, _PATH.read_bytes()).items()}


def _split(name: str, said: Mapping[str, Any], classes: Callable[[], HoiClasses]) -> ClassSplit:
    table = classes()
    if "classes" in said:
        unseen = np.array(said["classes"]) - 1
    else:
        verbs, objects = np.isin(table.verbs, said.get("verbs", [])), np.isin(table.objects, said.get("objects", []))
        unseen = np.flatnonzero(verbs[table.verb] | objects[table.object])
    return ClassSplit.of_unseen(name, unseen, len(table), said["source"], said["about"])
