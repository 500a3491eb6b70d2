"""The 26 actions of V-COCO and what takes part in them (docs/v-coco.md).

``actions.tsv`` has them in the order of the official annotation files: the roles of each beside the person, in its
official order, and for the three actions with two roles the objects that are the instrument; all others are the object.
So a role follows from action and object, and a class of the benchmark is an action with an object category.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from shoe.benchmarks.actions import Action, Actions

_TABLE = Path(__file__).with_name("actions.tsv")


@cache
def actions() -> Actions:
    """The 26 actions in the official order."""
    rows = (line.split("\t") for line in _TABLE.read_text("utf-8").splitlines()[1:])
    every = (Action(name, gerund, tuple(roles.split()), frozenset(of.split())) for name, gerund, roles, of in rows)
    return Actions(tuple(every), left_out="point-instr")
