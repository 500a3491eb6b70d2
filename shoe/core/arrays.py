"""The array types of the project, by what they hold."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
"""Coordinates, scores, overlaps, similarities."""
Ints = NDArray[np.int32]
"""Numbers of images, words and classes, as tables hold them."""
Indices = NDArray[np.int64]
"""Rows of a table, and counts of rows."""
Mask = NDArray[np.bool_]
"""Which of some rows."""
