"""Work on groups of different sizes without a Python loop."""

import numpy as np
from numpy.typing import NDArray

Indices = NDArray[np.int64]


def expand(first: Indices, count: Indices) -> tuple[Indices, Indices]:
    """List ranges one after the other.

    Args:
        first: (n,) first element of each range.
        count: (n,) its length.

    Returns:
        (total,) which range an element is of, and (total,) the element.
    """
    owner = np.repeat(np.arange(len(count)), count)
    starts = np.cumsum(count) - count
    return owner, np.arange(len(owner)) + (first - starts)[owner]


def first_of_each(sorted_groups: NDArray[np.integer]) -> NDArray[np.bool_]:
    """Mark the first element of each run of equal values."""
    mark = np.ones(len(sorted_groups), bool)
    mark[1:] = sorted_groups[1:] != sorted_groups[:-1]
    return mark
