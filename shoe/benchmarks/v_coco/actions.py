"""The 26 actions of V-COCO and what takes part in them (docs/v-coco.md).

``actions.tsv`` has them in the order of the official annotation files: the roles of each beside the person, in its
official order, and for the three actions with two roles the objects that are the instrument; all others are the object.
So a role follows from action and object, and a class of the benchmark is an action with an object category.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_TABLE = Path(__file__).with_name("actions.tsv")


@dataclass(frozen=True, slots=True)
class Action:
    """One action.

    Attributes:
        name: as the official files have it.
        gerund: its -ing form.
        roles: "instr" and "obj" in the official order; none for what a person does without an object.
        instruments: objects that are the instrument where there are two roles.
    """

    name: str
    gerund: str
    roles: tuple[str, ...]
    instruments: frozenset[str]

    def role_of(self, object_: str) -> str:
        """The role that an object category has in this action, which has a role.

        >>> [actions()[6].role_of(name) for name in ("tennis_racket", "sports_ball")]
        ['instr', 'obj']
        """
        if len(self.roles) == 1:
            return self.roles[0]
        return "instr" if object_ in self.instruments else "obj"


@cache
def actions() -> tuple[Action, ...]:
    """The 26 actions in the official order."""
    rows = (line.split("\t") for line in _TABLE.read_text("utf-8").splitlines()[1:])
    return tuple(Action(name, gerund, tuple(roles.split()), frozenset(of.split())) for name, gerund, roles, of in rows)


@cache
def action_roles() -> tuple[tuple[int, str], ...]:
    """The 25 pairs of an action's index and a role, in the official order: the entries of role AP."""
    return tuple((number, role) for number, action in enumerate(actions()) for role in action.roles)


def verb_names() -> Iterator[str]:
    """The verbs of the 29 numbers of QPIC's files: actions by their first role, then hit obj, eat instr, cut obj."""
    yield from (action.name for action in actions())
    yield from (action.name for action in actions() if len(action.roles) > 1)
