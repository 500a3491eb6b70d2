"""State of every question that was ever asked: the value of its answers, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask
from shoe.llm.request import KEY_BYTES

Keys = NDArray[np.uint64]
"""(n, 2) halves of keys."""
States = NDArray[np.int8]
"""(n,) value of an answer, 0 to 127, or a negative :class:`State`."""


class State(IntEnum):
    """Why a question has no usable answer."""

    UNRATED = -1
    """Never asked, or no answer arrived; the question is asked when the job runs again."""
    REFUSED = -2
    """The model declined to answer; final."""
    UNPARSABLE = -3
    """No answer could be parsed, the second one included; final."""
    UNPARSED_ONCE = -4
    """The first answer could not be parsed; the question is asked a second time."""
    REFUSED_TOGETHER = -5
    """The model declined several questions, perhaps because of one; each is asked a second time, alone."""


def pending(states: States) -> Mask:
    """Return (n,) whether each question is still to be asked."""
    found: Mask = np.isin(states, [State.UNRATED, State.UNPARSED_ONCE, State.REFUSED_TOGETHER])
    return found


def as_keys(joined: bytes) -> Keys:
    """Return concatenated keys as an array."""
    keys: Keys = np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, KEY_BYTES // 8)
    return keys


class Index:
    """State of each key, from its answers in the order of arrival; 25 bytes per key.

    The first answer that could be parsed, or a refusal of this question alone, counts. Two answers that could not make
    the question unparsable, or refused; later answers do not count, because none is requested.
    """

    def __init__(self) -> None:
        self._keys: Keys = np.zeros((0, 2), np.uint64)
        self._states: States = np.zeros(0, np.int8)
        self._added: list[tuple[Keys, States]] = []
        self._heads = self._keys[:, 0]
        self._longest = 0

    def add(self, keys: Keys, states: States) -> None:
        """Add the values or states of n answers, in order of arrival."""
        self._added.append((keys, states))

    def forget(self, states: Sequence[State]) -> None:
        """Remove the questions in some states, as if they had never been asked."""
        self._settle()
        kept = ~np.isin(self._states, states)
        self._keys, self._states, self._heads = self._keys[kept], self._states[kept], self._heads[kept]

    def states(self, keys: Keys) -> States:
        """Return the (n,) states of questions, ``State.UNRATED`` for those never answered."""
        self._settle()
        found = np.full(len(keys), State.UNRATED, np.int8)
        if not len(self._keys):
            return found
        # Five times as fast in sorted order, because neighbours lie together in memory.
        order = np.argsort(keys[:, 0])
        wanted = keys[order]
        index = np.searchsorted(self._heads, wanted[:, 0])
        states = found.copy()
        # Two keys may share their first half, once in millions of ledgers: then the next entries are compared, too.
        for _ in range(self._longest):
            inside = np.minimum(index, len(self._keys) - 1)
            hit = (self._keys[inside] == wanted).all(axis=1)
            states[hit] = self._states[inside[hit]]
            index += 1
        found[order] = states
        return found

    def _settle(self) -> None:
        """Merge the added answers into the sorted keys, and combine the answers to each question."""
        if not self._added:
            return
        keys = np.concatenate([self._keys, *(keys for keys, _ in self._added)])
        states = np.concatenate([self._states, *(states for _, states in self._added)])
        self._added.clear()
        order = np.argsort(keys[:, 0], kind="stable")
        keys, states = keys[order], states[order]
        same_head = keys[1:, 0] == keys[:-1, 0]
        if (same_head & (keys[1:, 1] != keys[:-1, 1])).any():
            order = np.lexsort((keys[:, 1], keys[:, 0]))
            keys, states = keys[order], states[order]
            same_head = (keys[1:] == keys[:-1]).all(axis=1)
        starts = np.flatnonzero(np.concatenate([[True], ~same_head]))
        self._keys, self._states = keys[starts], _joined(states, starts)
        self._heads = self._keys[:, 0].copy()
        runs = np.flatnonzero(np.concatenate([[True], self._heads[1:] != self._heads[:-1], [True]]))
        self._longest = int(np.diff(runs).max())


def _joined(states: States, starts: NDArray[np.int64]) -> States:
    """Combine adjacent answers to each question: the second one counts if the first was unusable."""
    first = states[starts]
    second = states[np.minimum(starts + 1, len(states) - 1)]
    several = np.diff(np.append(starts, len(states))) > 1
    later = np.where(second == State.UNPARSED_ONCE, np.int8(State.UNPARSABLE), second)
    later = np.where(second == State.REFUSED_TOGETHER, np.int8(State.REFUSED), later)
    asked_again = (first == State.UNPARSED_ONCE) | (first == State.REFUSED_TOGETHER)
    return np.where(asked_again & several, later, first).astype(np.int8)
