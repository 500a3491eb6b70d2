"""What is known of one pair from one rater: a rating, or why there is none. Never a zero in place of a missing one."""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask

States = NDArray[np.int8]
"""(n,) a rating 0 to 4, or a negative :class:`State`."""


class State(IntEnum):
    """Why a pair has no rating."""

    UNRATED = -1
    """Never asked, or no answer arrived: it is asked when the job runs again."""
    REFUSED = -2
    """The rater declined to answer; final."""
    UNPARSABLE = -3
    """No answer held a rating 0 to 4, the second one included; final."""
    UNPARSED_ONCE = -4
    """The first answer held no rating; the pair is asked a second time."""
    REFUSED_TOGETHER = -5
    """The rater declined to answer about several pairs, maybe for one of them; each is asked a second time, alone."""


def rated(states: States) -> Mask:
    """(n,) whether there is a rating."""
    found: Mask = states >= 0
    return found


def pending(states: States) -> Mask:
    """(n,) whether the pair is still to be asked."""
    found: Mask = np.isin(states, [State.UNRATED, State.UNPARSED_ONCE, State.REFUSED_TOGETHER])
    return found
