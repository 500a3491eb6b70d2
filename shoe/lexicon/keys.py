"""Names of senses (``ride.v.01``) as 64-bit keys, computed for tens of thousands of names at once.

Keys of all names of WordNet 3.0 differ (a test says so), so that equal keys mean equal names.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.uint64]

_WORD = 8
_SHORT = 2 * _WORD
LONGEST_NAME = 128
"""Bytes of the longest name."""
# Odd multipliers, one per 8 bytes of a name, and one for the final mix: odd multiples of 2**64 / golden ratio.
_MULTIPLIERS = np.array(
    [0x9E3779B97F4A7C15 * odd % 2**64 for odd in range(1, 2 * (LONGEST_NAME // _WORD + 1), 2)], np.uint64
)
_SHIFT = np.uint64(32)
_SLOT_BITS = 18
# Row n keeps the first n of LONGEST_NAME bytes.
_MASKS = np.where(np.arange(LONGEST_NAME) < np.arange(LONGEST_NAME + 1)[:, None], 255, 0).astype(np.uint8).view("<u8")


def keys_in(text: bytes, starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Keys:
    """Compute the keys of names that stand inside a file.

    Args:
        text: the whole file.
        starts: (n,) where each name begins.
        lengths: (n,) bytes of each name, at most 128; what is longer is cut (no synset name is).

    Returns:
        (n,) keys.
    """
    lengths = np.minimum(lengths, LONGEST_NAME)
    keys = np.zeros(len(starts), np.uint64)
    # Most names are short, and a name costs as much as the longest of those that are taken together.
    short = lengths <= _SHORT
    padded = text + bytes(LONGEST_NAME)
    for rows in (np.flatnonzero(short), np.flatnonzero(~short)):
        if not len(rows):
            continue
        width = -(-max(int(lengths[rows].max()), 1) // _WORD) * _WORD
        # One window per byte of the file, overlapping, and one after it, as an empty name may end it.
        windows: NDArray[np.void] = np.ndarray(len(text) + 1, f"V{width}", padded, strides=(1,))
        words = windows[starts[rows]].view("<u8").reshape(len(rows), -1)
        words &= _MASKS[lengths[rows], : words.shape[1]]
        total = np.zeros(len(rows), np.uint64)
        for column, multiplier in zip(words.T, _MULTIPLIERS[:-1], strict=False):
            # A word of zeros adds nothing, so that a key does not depend on how far its name was padded.
            product = column * multiplier
            product ^= product >> _SHIFT
            product *= _MULTIPLIERS[-1]
            total += product
        keys[rows] = total
    return keys


def keys_of(names: Sequence[str]) -> Keys:
    """Compute the keys of names, (n,), equal to what :func:`keys_in` gives for the same names."""
    encoded = [name.encode() for name in names]
    lengths = np.fromiter(map(len, encoded), np.int64, len(encoded))
    return keys_in(b"".join(encoded), np.cumsum(lengths) - lengths, lengths)


class KeyTable:
    """Finds among fixed keys, all different, thousands at once: several times faster than a search in sorted ones."""

    def __init__(self, keys: Keys) -> None:
        """Spread (n,) keys over slots; what finds its slot taken goes to the next table."""
        self._keys = keys
        self._tables: list[NDArray[np.int32]] = []
        left = np.arange(len(keys), dtype=np.int32)
        while len(left):
            slots = self._slots(keys[left], len(self._tables))
            table = np.full(1 << _SLOT_BITS, -1, np.int32)
            table[slots] = left
            left = left[table[slots] != left]
            self._tables.append(table)

    def find(self, wanted: Keys) -> NDArray[np.int32]:
        """(m,) index of each key among the n; -1 where it is none of them."""
        found = np.full(len(wanted), -1, np.int32)
        left = np.arange(len(wanted))
        for level, table in enumerate(self._tables):
            candidate = table[self._slots(wanted[left], level)]
            hit = (candidate >= 0) & (self._keys[candidate] == wanted[left])
            found[left[hit]] = candidate[hit]
            left = left[~hit]
        return found

    def _slots(self, keys: Keys, level: int) -> NDArray[np.int64]:
        slots: NDArray[np.int64] = (keys * _MULTIPLIERS[level] >> np.uint64(64 - _SLOT_BITS)).astype(np.int64)
        return slots
