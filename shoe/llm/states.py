"""What is known of every question that was ever asked: what its answers say, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask
from shoe.llm.request import KEY_BYTES

Keys = NDArray[np.uint64]
"""(n, 2) the two halves of keys."""
States = NDArray[np.int8]
"""(n,) what an answer says, 0 to 127, or a negative :class:`State`. What has no answer is never a 0."""


class State(IntEnum):
    """Why a question has no answer that says anything."""

    UNRATED = -1
    """Never asked, or no answer arrived: it is asked when the job runs again."""
    REFUSED = -2
    """The model declined to answer; final."""
    UNPARSABLE = -3
    """No answer could be read, the second one included; final."""
    UNPARSED_ONCE = -4
    """The first answer could not be read; the question is asked a second time."""
    REFUSED_TOGETHER = -5
    """The model declined to answer several questions, maybe for one of them; each is asked a second time, alone."""


def pending(states: States) -> Mask:
    """(n,) whether the question is still to be asked."""
    found: Mask = np.isin(states, [State.UNRATED, State.UNPARSED_ONCE, State.REFUSED_TOGETHER])
    return found


def as_keys(joined: bytes) -> Keys:
    """Take n keys, one after the other, as an array."""
    keys: Keys = np.frombuffer(joined, ">u8").astype(np.uint64).reshape(-1, KEY_BYTES // 8)
    return keys


class Index:
    """The state of each key, 25 bytes for each, as its answers say in the order in which they came.

    The first answer that could be read, or a refusal of this question alone, counts. Two without make the question
    unparsable, or refused; what came later than that is never asked for, and does not count.
    """

    def __init__(self) -> None:
        self._keys: Keys = np.zeros((0, 2), np.uint64)
        self._states: States = np.zeros(0, np.int8)
        self._added: list[tuple[Keys, States]] = []
        self._heads = self._keys[:, 0]
        self._longest = 0

    def add(self, keys: Keys, states: States) -> None:
        """Add what n answers said, in order: values, or the states that one answer can have."""
        self._added.append((keys, states))

    def forget(self, states: Sequence[State]) -> None:
        """Let questions that end in such states be as if they had never been asked."""
        self._settle()
        kept = ~np.isin(self._states, states)
        self._keys, self._states, self._heads = self._keys[kept], self._states[kept], self._heads[kept]

    def states(self, keys: Keys) -> States:
        """Look questions up: (n,) their states, ``State.UNRATED`` for those never answered."""
        self._settle()
        found = np.full(len(keys), State.UNRATED, np.int8)
        if not len(self._keys):
            return found
        # Looked up in order, neighbours lie together in memory: five times as fast.
        order = np.argsort(keys[:, 0])
        wanted = keys[order]
        index = np.searchsorted(self._heads, wanted[:, 0])
        states = found.copy()
        # Halves of two keys are equal once in millions of ledgers; what follows finds those, too.
        for _ in range(self._longest):
            inside = np.minimum(index, len(self._keys) - 1)
            hit = (self._keys[inside] == wanted).all(axis=1)
            states[hit] = self._states[inside[hit]]
            index += 1
        found[order] = states
        return found

    def _settle(self) -> None:
        """Sort what was added in, and join the answers to each question."""
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
    """Join the answers to each question, which lie together: the second counts where the first held nothing."""
    first = states[starts]
    second = states[np.minimum(starts + 1, len(states) - 1)]
    several = np.diff(np.append(starts, len(states))) > 1
    later = np.where(second == State.UNPARSED_ONCE, np.int8(State.UNPARSABLE), second)
    later = np.where(second == State.REFUSED_TOGETHER, np.int8(State.REFUSED), later)
    asked_again = (first == State.UNPARSED_ONCE) | (first == State.REFUSED_TOGETHER)
    return np.where(asked_again & several, later, first).astype(np.int8)
