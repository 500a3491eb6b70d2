"""The box conventions of one file: one for all of its triplets, or one for each where the file's own words tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.coordinates import Coordinates
from shoe.core.rows import Rows
from shoe.predictions.boxes import Convention, parse_convention


@dataclass(frozen=True, slots=True, eq=False)
class Conventions:
    """The conventions of n triplets.

    Attributes:
        kinds: the conventions, at least one; where there are several, all give the same box coordinates.
        of: (n,) which of them each triplet has; None where all have the first.
        told: whether the file or its format tells others than the usual one, of which a name replaces the words that it
            has.
    """

    kinds: tuple[Convention, ...]
    of: Indices | None = None
    told: bool = False

    @classmethod
    def of_rows(cls, rows: Rows, usual: Convention, named: str | None) -> Conventions:
        """Find the conventions of what a reader hands over.

        Each word that the user names replaces the file's own, except a layout or scale that is fixed.

        Args:
            rows: n triplets, perhaps with conventions of their own.
            usual: that of the format.
            named: what the user named, if anything.
        """
        if rows.convention is None or not rows.conventions:
            return cls((usual if named is None else parse_convention(named, usual),), told=usual != Convention())
        own = [parse_convention(name) for name in rows.conventions]
        if named is not None:
            own = [
                replace(parse_convention(named, kind), layout=kind.layout, scale=kind.scale)
                if i in rows.fixed
                else parse_convention(named, kind)
                for i, kind in enumerate(own)
            ]
        kinds = list(dict.fromkeys(own))
        if len(kinds) == 1:
            return cls((kinds[0],), told=True)
        return cls(tuple(kinds), np.array([kinds.index(kind) for kind in own])[rows.convention], told=True)

    @property
    def coordinates(self) -> Coordinates:
        """The coordinates of boxes once converted."""
        return self.kinds[0].coordinates

    def counts(self, triplets: int) -> dict[str, int]:
        """Number of triplets by the name of their convention, the commonest first."""
        if self.of is None:
            return {str(self.kinds[0]): triplets}
        counts = np.bincount(self.of, minlength=len(self.kinds))
        return {str(self.kinds[i]): int(counts[i]) for i in np.argsort(-counts, kind="stable") if counts[i]}

    def select(self, rows: Mask | Indices) -> Conventions:
        """Those of some triplets."""
        return self if self.of is None else replace(self, of=self.of[rows])

    def at(self, row: int) -> Convention:
        """That of one triplet."""
        return self.kinds[0 if self.of is None else int(self.of[row])]

    def need_sizes(self, triplets: int) -> Mask:
        """(n,) triplets whose boxes can be converted only where the image's size is known."""
        needs = np.array([kind.needs_sizes for kind in self.kinds])
        return np.full(triplets, needs[0]) if self.of is None else needs[self.of]

    def converted(self, human: Floats, target: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Turn the boxes of triplets into x1, y1, x2, y2 in pixels of their images.

        Args:
            human: (n, 4) the boxes that the file gives as the person's.
            target: (n, 4) those that it gives as the object's.
            sizes: (n, 2) width and height of each triplet's image; used where a convention needs them.

        Returns:
            (n, 4) twice: human boxes and object boxes.
        """
        return self._each(Convention.converted, human, target, sizes)

    def undone(self, human: Floats, target: Floats, sizes: Floats) -> tuple[Floats, Floats]:
        """Turn what :meth:`converted` gives back into the numbers of the file; arguments as there."""
        return self._each(Convention.undone, human, target, sizes)

    def _each(
        self, turn: Callable[[Convention, Floats, Floats], Floats], human: Floats, target: Floats, sizes: Floats
    ) -> tuple[Floats, Floats]:
        def of(kind: Convention, mine: slice | Mask) -> tuple[Floats, Floats]:
            pair = turn(kind, human[mine], sizes[mine]), turn(kind, target[mine], sizes[mine])
            return (pair[1], pair[0]) if kind.order else pair

        if self.of is None:
            return of(self.kinds[0], slice(None))
        turned = np.empty_like(human), np.empty_like(target)
        for i, kind in enumerate(self.kinds):
            turned[0][self.of == i], turned[1][self.of == i] = of(kind, self.of == i)
        return turned
