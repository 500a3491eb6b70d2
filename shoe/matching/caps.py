"""The limit on how many predictions an image may have, as GEN-VLKT's evaluator applies it."""

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Indices
from shoe.core.ragged import first_of_each, index_in_group


def best_with_first_copies(image: NDArray[np.integer], score: Floats, most: int) -> Indices:
    """Cut as GEN-VLKT's evaluator does: each kept value takes the first row of its image with that value.

    So of equal scores one row is taken several times and the others are lost (docs/protocols.md 2.3). The rows come in
    the order of images, best scores first.
    """
    order = np.lexsort((np.arange(len(image)), -score, image))
    new = first_of_each(image[order]) | first_of_each(score[order])
    first_copy = order[np.flatnonzero(new)[np.cumsum(new) - 1]] if len(order) else order
    rows: Indices = first_copy[index_in_group(np.bincount(image, minlength=1)) < most]
    return rows
