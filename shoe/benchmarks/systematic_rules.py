"""What a systematic generalisation split is made of and made by: combinations of object and verb, and rules."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices
from shoe.core.errors import OptionError, unknown_name
from shoe.core.interactions import Interactions

VERIFY: dict[str, Callable[[Indices], Indices]] = {
    "possible": lambda all_of_them: np.minimum(all_of_them, 2),
    "paper": lambda all_of_them: np.full_like(all_of_them, 2),
    "released": lambda all_of_them: np.minimum(all_of_them, 1),
}
"""How many combinations each object and each verb has to keep in training, given how many there are in all:

- possible: two, or its only one. Of training images.
- paper: two, as the paper has it, which no split of a verb with one object can hold. Of training images.
- released: one, as the released program has it. Of the combinations drawn, whatever images show them.
"""
DRAWS = ("skip", "uniform")
"""What a draw is: the first combinations of a shuffled list (uniform: scikit-learn's train_test_split), or the first of
that list that leave each object and verb what it has to keep (skip). The two are one where the former holds."""
MIXED = ("drop", "cut")
"""What becomes of images with combinations of both kinds: none of them is used, or they go to test without their
triplets of training combinations, as in the released files, where these pairs stay visible and are not annotated."""
EMPTY = ("test", "drop")
"""What becomes of images without triplets: of none of theirs is of a training combination, by which Algorithm 1 has
them in test; or they are used nowhere."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How a split is made.

    Attributes:
        ratio: share of the combinations that is for training, above 0 and below 1; rounded down.
        verify: what each object and verb keeps in training: a key of ``VERIFY``.
        draw: one of ``DRAWS``.
        mixed: one of ``MIXED``.
        empty: one of ``EMPTY``.
        min_similarity: what the training combination most similar to a test combination has at least; 0 to 1.
        max_similarity: what it has at most.
        tries: how many seeds are tried.
    """

    ratio: float = 0.9
    verify: str = "possible"
    draw: str = "skip"
    mixed: str = "drop"
    empty: str = "test"
    min_similarity: float = 0.0
    max_similarity: float = 1.0
    tries: int = 1000

    def __post_init__(self) -> None:
        for name, known in (("verify", VERIFY), ("draw", DRAWS), ("mixed", MIXED), ("empty", EMPTY)):
            if getattr(self, name) not in known:
                raise unknown_name(name, getattr(self, name), known)
        if not 0 < self.ratio < 1:
            raise OptionError(f"ratio: found {self.ratio:g}, expected a share above 0 and below 1, as 0.9")
        if not 0 <= self.min_similarity <= self.max_similarity <= 1:
            found = f"{self.min_similarity:g} and {self.max_similarity:g}"
            raise OptionError(
                f"min_similarity and max_similarity: found {found}, expected 0 <= minimum <= maximum <= 1"
            )
        if self.tries < 1:
            raise OptionError(f"tries: found {self.tries}, expected 1 or more")

    @property
    def by_similarity(self) -> bool:
        """Whether it matters how similar combinations are."""
        return self.min_similarity > 0 or self.max_similarity < 1


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """The C combinations of object and verb that a table has, in the order in which they are drawn from.

    Attributes:
        object, verb: (C,) index into the table's vocabularies.
        row: (n,) combination of each triplet.
    """

    object: Indices
    verb: Indices
    row: Indices

    @classmethod
    def of(cls, table: Interactions, order: NDArray[np.integer] | None = None) -> Combinations:
        """Find them.

        Args:
            table: all that is annotated.
            order: (verbs, objects) numbers by which the combinations are ordered, each another one; without it, object
                by object and then verb by verb, as the vocabularies have them.
        """
        usual = np.arange(len(table.verbs) * len(table.objects)).reshape(len(table.objects), -1).T
        ordered = np.argsort((usual if order is None else order).ravel(), kind="stable")
        at = table.verb * np.int64(len(table.objects)) + table.object
        present = ordered[np.bincount(at, minlength=len(ordered))[ordered] > 0]
        number = np.zeros(len(ordered), np.int64)
        number[present] = np.arange(len(present))
        verb, object_ = np.divmod(present, max(len(table.objects), 1))
        return cls(object_, verb, number[at])

    def __len__(self) -> int:
        return len(self.object)
