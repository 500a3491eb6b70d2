"""What persons do in a benchmark that scores by person: actions, and the roles that objects have in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices


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
    instruments: frozenset[str] = frozenset()

    def role_of(self, object_: str) -> str:
        """The role that an object category has in this action, which has a role.

        >>> hit = Action("hit", "hitting", ("instr", "obj"), frozenset({"tennis_racket"}))
        >>> hit.role_of("tennis_racket"), hit.role_of("sports_ball")
        ('instr', 'obj')
        """
        if len(self.roles) == 1:
            return self.roles[0]
        return "instr" if object_ in self.instruments else "obj"


@dataclass(frozen=True)
class Actions:
    """The A actions of a benchmark, in the order of its official files.

    Attributes:
        left_out: name of the entry that is often left out of the mean; "" for none.
    """

    all: tuple[Action, ...]
    left_out: str = ""

    def __len__(self) -> int:
        return len(self.all)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """A names."""
        return tuple(action.name for action in self.all)

    @cached_property
    def entries(self) -> tuple[tuple[int, str], ...]:
        """The R pairs of an action and one of its roles: what role AP is a mean over."""
        return tuple((number, role) for number, action in enumerate(self.all) for role in action.roles)

    @cached_property
    def entry_names(self) -> tuple[str, ...]:
        """R names, as "hit-instr"."""
        return tuple(f"{self.names[action]}-{role}" for action, role in self.entries)

    @cached_property
    def numbered(self) -> tuple[tuple[int, int], ...]:
        """What verb numbers in files mean, as (action, entry): an action once a role, or once without one (-1)."""
        of = {pair: number for number, pair in enumerate(self.entries)}
        return tuple(
            (number, of.get((number, role), -1))
            for number, action in enumerate(self.all)
            for role in action.roles or ("",)
        )

    def entry_of(self, action: int, object_: str) -> int:
        """The entry in which an object category takes part in an action; -1 for an action without roles."""
        if not self.all[action].roles:
            return -1
        return self.entries.index((action, self.all[action].role_of(object_)))

    def numbers_of(
        self, verbs: Sequence[str], objects: Sequence[str], verb: NDArray[np.integer], object_: NDArray[np.integer]
    ) -> Indices:
        """The numbers that files have for n verbs with an object.

        ``verb`` and ``object_`` are (n,) indices into the names.
        """
        number = {pair: i for i, pair in enumerate(self.numbered)}
        known = [self.names.index(name) for name in verbs]
        of = np.array([[number[action, self.entry_of(action, name)] for name in objects] for action in known], np.int64)
        found: Indices = of[verb, object_]
        return found
