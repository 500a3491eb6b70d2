"""What every similarity can answer, whether LLMs rated it or WordNet's graph gives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from shoe.lexicon.expressions import Part


class Similarity(Protocol):
    """How alike a class's sense and another sense are.

    Attributes:
        name: what the user calls it, "hico-det".
        digest: 8 hex digits of the content that can change a value; it goes into signatures.
    """

    @property
    def name(self) -> str: ...  # noqa: D102 - see the class

    @property
    def digest(self) -> str: ...  # noqa: D102 - see the class

    def values(self, part: Part, class_synsets: Sequence[str], synsets: NDArray[np.int32]) -> NDArray[np.float64]:
        """Look up C class senses against S senses.

        Args:
            part: "verb" or "object".
            class_synsets: C WordNet names, as "ride.v.01".
            synsets: (S,) ids in the compiled lexicon.

        Returns:
            (C, S) values 0..1; NaN for a pair that nobody rated; 1 for a sense and itself.
        """
        ...
