"""Algorithm 1 of the Bongard-HOI supplement: draw problems of a concept until too few new ones come.

Where the algorithm is silent: the overlap of two problems is the number of images that they share, all fourteen of each
counted; a problem never shows an image twice; drawing ends after so many rejections in a row, or so many problems; and
a draw follows from the seed, the concept's name and its own number alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from shoe.bongard.problems import SIDE
from shoe.core.arrays import Indices, Mask
from shoe.core.ragged import runs
from shoe.core.seeded import Numbers, numbers_at

TRAIN_OVERLAP, TEST_OVERLAP = 3, 2
"""Images from which on two problems overlap too much (tau of the paper)."""
_AT_ONCE = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How problems are drawn.

    Attributes:
        overlap: as many images in common reject a problem.
        most: problems of a concept at most; the algorithm has no such bound.
        rejections: in a row that end a concept.
    """

    seed: int = 0
    overlap: int = TEST_OVERLAP
    most: int = 100
    rejections: int = 100


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Regions to draw from, by image.

    Attributes:
        regions: (n,) regions, those of an image together.
        start, count: (a,) where the regions of each of a images begin, and how many there are.
    """

    regions: Indices
    start: Indices
    count: Indices

    @classmethod
    def of(cls, regions: Indices, image: Indices) -> Pool:
        """Group regions by (n,) their image; of an image in ascending order."""
        order = np.argsort(image, kind="stable")
        return cls(regions[order], *runs(image[order]))

    def __len__(self) -> int:
        return len(self.start)


def sample(concept: str, positives: Pool, negatives: Pool, how: Sampling) -> Indices:
    """Draw the problems of one concept.

    Args:
        concept: its name, which with the seed decides on the draws.
        positives: regions that show it.
        negatives: regions that do not; no image is in both.
        how: seed and limits.

    Returns:
        (problems, 2, 7) regions, positives first; none where a side has fewer than seven images.
    """
    if min(len(positives), len(negatives)) < SIDE:
        return np.zeros((0, 2, SIDE), np.int64)
    stream = int.from_bytes(blake2b(f"{how.seed} {concept}".encode(), digest_size=4).digest(), "little")
    width = len(positives) + len(negatives)
    shown, kept = np.zeros((0, width), np.float32), np.zeros((0, 2, SIDE), np.int64)
    rejected = first = 0
    while rejected < how.rejections and len(kept) < how.most:
        numbers = draws(stream, first, _AT_ONCE)
        images = np.stack([distinct(numbers[:, 0], len(positives)), distinct(numbers[:, 2], len(negatives))], 1)
        marks = np.zeros((_AT_ONCE, width), np.float32)
        marks[np.arange(_AT_ONCE)[:, None], images[:, 0]] = 1
        marks[np.arange(_AT_ONCE)[:, None], images[:, 1] + len(positives)] = 1
        clear: Mask = np.asarray(~(marks @ shown.T >= how.overlap).any(axis=1))
        near = marks @ marks.T >= how.overlap
        accepted, rejected = _accepted(clear, near, rejected, how.most - len(kept), how.rejections)
        sides = ((0, positives), (1, negatives))
        picked = [_regions(pool, images[accepted, side], numbers[accepted, 2 * side + 1]) for side, pool in sides]
        kept = np.concatenate([kept, np.stack(picked, axis=1)])
        shown = np.concatenate([shown, marks[accepted]])
        first += _AT_ONCE
    return kept


def draws(stream: int, first: int, count: int) -> Numbers:
    """(count, 4, 7) random numbers of candidates from ``first`` on: for images and regions, of positives, then others.

    >>> bool((draws(1, 0, 3)[2] == draws(1, 2, 1)[0]).all())
    True
    """
    number = np.arange(first, first + count, dtype=np.int64)[:, None] * (4 * SIDE) + np.arange(4 * SIDE)
    return numbers_at(np.array(stream, np.int64), number).reshape(count, 4, SIDE)


def distinct(numbers: Numbers, total: int) -> Indices:
    """Draw without replacement: (n, k) distinct numbers below ``total`` from (n, k) random ones.

    The j-th is the one at ``number % (total - j)`` among those that are left, in ascending order.

    >>> distinct(np.array([[4, 4, 0]], np.uint64), 5).tolist()
    [[4, 0, 1]]
    """
    found = np.zeros(numbers.shape, np.int64)
    for j in range(numbers.shape[1]):
        value = (numbers[:, j] % np.uint64(total - j)).astype(np.int64)
        for taken in np.sort(found[:, :j], axis=1).T:
            value += value >= taken
        found[:, j] = value
    return found


def _accepted(clear: Mask, near: Mask, rejected: int, most: int, rejections: int) -> tuple[Indices, int]:
    """Go through candidates in order, of which those that are ``clear`` overlap none kept before.

    Returns:
        Those accepted, and how many in a row were rejected in the end.
    """
    accepted: list[int] = []
    for candidate, good in enumerate(clear.tolist()):
        if good and not near[candidate, accepted].any():
            accepted.append(candidate)
            rejected = 0
        else:
            rejected += 1
        if len(accepted) == most or rejected == rejections:
            break
    return np.array(accepted, np.int64), rejected


def _regions(pool: Pool, images: Indices, numbers: Numbers) -> Indices:
    within = (numbers % pool.count[images].astype(np.uint64)).astype(np.int64)
    return np.asarray(pool.regions[pool.start[images] + within])
