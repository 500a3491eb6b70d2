"""What leftover predictions may be charged to: by a map as it is, and by a guess at what it leaves unrated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.scoring.meaning import Meaning
from shoe.scoring.scorer import Scorer

_CELLS = 1 << 20
"""Similarities computed at once: 8 MB."""


@dataclass(frozen=True, slots=True, eq=False)
class Charges:
    """What each of u leftover predictions would be charged to.

    Attributes:
        nearest: (u,) the class that it is most like, -1 for none.
        sigma: (u,) how alike they are.
        charged: (u,) whether that is enough for a charge.
    """

    nearest: Indices
    sigma: Floats
    charged: Mask

    @property
    def category(self) -> Indices:
        """(u,) the class that it is charged to, -1 for none."""
        return np.where(self.charged, self.nearest, -1)


def charges_of(scorer: Scorer, meaning: Meaning, left: Indices) -> Charges:
    """Charge leftover predictions by some similarities."""
    nearest, sigma = scorer.nearest(left, meaning)
    return Charges(nearest, sigma, scorer.reaches_delta(sigma) & (nearest >= 0))


def rivals_of(scorer: Scorer, guess: Meaning, left: Indices, today: Charges) -> Charges:
    """Charge leftover predictions to the class that, by a guess, may come before today's nearest.

    Today's nearest stays as alike as it is; else a guess that lifts all classes would hide that any of them may win.
    Where only the image's classes count, it is simply the nearest by the guess.
    """
    if scorer.options.fp_scope != "dataset" or not scorer.counted.any():
        return charges_of(scorer, guess, left)
    words, allowed = scorer.task.predictions, np.flatnonzero(scorer.counted)
    objects = len(words.objects)
    said = words.verb[left] * np.int64(objects) + words.object[left]
    distinct_said, first, which = np.unique(said, return_index=True, return_inverse=True)
    nearest, sigma = np.zeros(len(first), np.int64), np.zeros(len(first))
    step = max(1, _CELLS // len(allowed))
    for start in range(0, len(first), step):
        part = slice(start, start + step)
        verb, object_ = np.divmod(distinct_said[part], objects)
        alike = guess.sigma(allowed[None, :], verb[:, None], object_[:, None])
        row = np.arange(len(verb))
        alike[row, np.searchsorted(allowed, today.nearest[first[part]])] = today.sigma[first[part]]
        best = alike.argmax(axis=1)
        nearest[part], sigma[part] = allowed[best], alike[row, best]
    return Charges(nearest[which], sigma[which], scorer.reaches_delta(sigma)[which])
