"""Random numbers that follow from a seed alone: SplitMix64 (Steele, Lea and Flood 2014) over a counter.

A figure or a sample must not change with NumPy's generators, which may differ from one version to the next.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.uint64]

_SEED = 20151215
_STEP = np.uint64(0x9E3779B97F4A7C15)
_FACTORS = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


def random_numbers(stream: int, shape: tuple[int, ...]) -> Numbers:
    """Draw 64-bit numbers of a stream: different ones have nothing to do with each other, larger shapes only add."""
    size = int(np.prod(shape))
    start = np.uint64((_SEED + (stream << 32)) % 2**64)
    return mixed(start + np.arange(size, dtype=np.uint64) * _STEP).reshape(shape)


def numbers_at(stream: NDArray[np.int64], index: NDArray[np.int64]) -> Numbers:
    """Look up what ``random_numbers`` draws, at any index of any stream; both are broadcast."""
    start = np.uint64(_SEED) + (stream.astype(np.uint64) << np.uint64(32))
    return mixed(start + index.astype(np.uint64) * _STEP)


def mixed(values: Numbers) -> Numbers:
    """Mix the bits of each number, so that every bit depends on every bit; different numbers stay different."""
    values = (values ^ (values >> np.uint64(30))) * _FACTORS[0]
    values = (values ^ (values >> np.uint64(27))) * _FACTORS[1]
    return values ^ (values >> np.uint64(31))
