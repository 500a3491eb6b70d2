"""Which pairs of synsets are to be rated, as columns: the rows of a map, and the questions behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices
from shoe.lexicon.expressions import Part

Synsets = NDArray[np.int32]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """The m rows that a map of one part of speech is to have, and the n questions that fill them.

    A question is an unordered pair of two different synsets: where both are class senses, one answer fills two rows.

    Attributes:
        part: "verb" or "object".
        class_synset: (m,) sense of the class, in the compiled lexicon; rows are sorted by both names.
        synset: (m,) the sense that it is compared with.
        question: (m,) row among the n questions.
        first, second: (n,) the two senses of each question, ``first`` the one whose name sorts first; sorted by both
            names.
    """

    part: Part
    class_synset: Synsets
    synset: Synsets
    question: Indices
    first: Synsets
    second: Synsets

    def __len__(self) -> int:
        """Number of questions."""
        return len(self.first)
