"""One part of a job of which other processes do the others: which part a piece belongs to follows from its content."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Mask
from shoe.core.errors import OptionError, quote

MOST = 100_000


@dataclass(frozen=True, slots=True)
class Shard:
    """One of several parts of a job.

    Attributes:
        number: which one, 1 to ``count``.
        count: of all parts.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Read "3/16".

        Raises:
            OptionError: for anything else.
        """
        found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text, re.ASCII)
        number, count = (int(found[1]), int(found[2])) if found else (0, 0)
        if not 1 <= number <= count <= MOST:
            raise OptionError(
                f"--shard: found {quote(text)}, expected one part of several, as 3/16 (1/16 is the first)"
            )
        return cls(number, count)

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    @property
    def folder(self) -> str:
        """What a folder of its own is called."""
        return f"{self.number}-of-{self.count}"

    def holds(self, hashes: NDArray[np.uint64]) -> Mask:
        """Tell of (n,) hashes of contents which are of this part."""
        found: Mask = hashes % np.uint64(self.count) == np.uint64(self.number - 1)
        return found

    def holds_one(self, digest: bytes) -> bool:
        """Tell whether what has a digest is of this part."""
        return int.from_bytes(digest[:8], "big") % self.count == self.number - 1


def content_digest(content: bytes) -> bytes:
    """Return 16 bytes that stand for a file's content, whatever it is called."""
    return hashlib.blake2b(content, digest_size=16).digest()
