"""What workers are handed: what to do, what all keys share, and the words by which it is done."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from shoe.lexicon.store import Lexicon, lexicon, using

S = TypeVar("S")
K = TypeVar("K", bound=Hashable)
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Job(Generic[S, K, R]):
    """Work that is the same wherever it is done.

    Attributes:
        work: what is done for a key.
        shared: what the work for all keys takes.
        lexicon: in which words are looked up meanwhile: the one in use where the job is made.
    """

    work: Callable[[S, K], R]
    shared: S
    lexicon: Lexicon = field(default_factory=lexicon)

    def do(self, key: K) -> R:
        """Do the work for a key."""
        with using(self.lexicon):
            return self.work(self.shared, key)
