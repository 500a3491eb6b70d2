"""Make Bongard problems of an annotated dataset: curate, group by what training saw, sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Indices, Mask, Numbers, numbers_at, random_numbers, runs
from shoe.core.documents import Count, Document
from shoe.scoring.bongard.curation import OR, Concepts, Curated, Curation, Step, curated, without
from shoe.scoring.bongard.problems import GROUPS, SIDE, Problems
from shoe.similarity.table import Similarity

# Algorithm 1 of the Bongard-HOI supplement: draw problems of a concept until too few new ones come.
#
# Where the algorithm is silent: the overlap of two problems is the number of images that they share, all fourteen of
# each
# counted; a problem never shows an image twice; drawing ends after so many rejections in a row, or so many problems;
# and
# a draw follows from the seed, the concept's name and its own number alone.

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


_VERBS, _OBJECTS = 1 << 29, (1 << 29) + (1 << 28)
"""First streams of random numbers, by which verbs and objects are held out."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What training problems show.

    Attributes:
        verbs, objects: the words in their concepts.
        pairs: (verb, object) that alone they show together; None where any may stand together.
    """

    verbs: frozenset[str]
    objects: frozenset[str]
    pairs: frozenset[tuple[str, str]] | None = None

    @classmethod
    def in_problems(cls, problems: Problems) -> Seen:
        """Those of training problems' concepts; merged actions count one by one."""
        concepts = problems.concepts
        verbs = frozenset(verb for action, _ in concepts for verb in action.split(OR))
        return cls(verbs, frozenset(object_ for _, object_ in concepts))

    @classmethod
    def in_classes(cls, classes: HoiClasses, seen: Mask) -> Seen:
        """Those of the classes of a split that training shows, (K,) True, and no other pairs of them."""
        words = zip(classes.verb[seen].tolist(), classes.object[seen].tolist(), strict=True)
        pairs = frozenset((classes.verbs[v], classes.objects[o]) for v, o in words)
        return cls(frozenset(verb for verb, _ in pairs), frozenset(object_ for _, object_ in pairs), pairs)

    @classmethod
    def holding_out(cls, classes: HoiClasses, share: float, seed: int) -> Seen:
        """All but a share of a dataset's verbs, and of its objects, drawn by a seed."""
        return cls(_kept(classes.verbs, share, _VERBS + seed), _kept(classes.objects, share, _OBJECTS + seed))

    def groups(self, concepts: Concepts, objects: tuple[str, ...]) -> Indices:
        """(C,) index of each concept's group in :data:`GROUPS`; -1 where some of its merged actions were seen only."""
        known = [len(verbs & self.verbs) / len(verbs) for verbs in concepts.verbs]
        unseen_object = [objects[o] not in self.objects for o in concepts.object]
        number = np.array([o + 2 * (k == 0) for o, k in zip(unseen_object, known, strict=True)], np.int64)
        return np.where([0 < k < 1 for k in known], -1, number)

    def trains(self, concepts: Concepts, objects: tuple[str, ...]) -> Mask:
        """(C,) whether training may show a concept: all its words are seen, and together."""
        pairs = ({(verb, objects[o]) for verb in of} for of, o in zip(concepts.verbs, concepts.object, strict=True))
        together = np.array([self.pairs is None or each <= self.pairs for each in pairs], bool)
        trained: Mask = together & (self.groups(concepts, objects) == 0)
        return trained


def _kept(names: Iterable[str], share: float, stream: int) -> frozenset[str]:
    ordered = np.array(list(names), object)
    order = np.argsort(random_numbers(stream, (len(ordered),)), kind="stable")
    return frozenset(ordered[order[round(share * len(ordered)) :]].tolist())


@dataclass(frozen=True, slots=True)
class Built:
    """Problems, and how they came about.

    Attributes:
        problems: all of them.
        steps: what each step of the curation left.
        merged: concepts of several actions, as (action, object).
        too_few: concepts with pictures, but with fewer than seven images on a side.
    """

    problems: Problems
    steps: tuple[Step, ...]
    merged: tuple[tuple[str, str], ...]
    too_few: int


class MergedConcept(Document, frozen=True):
    """A concept of several actions that are alike."""

    action: str
    object: str


class BongardGroup(Document, frozen=True):
    """How many problems of a group were made."""

    group: str
    concepts: Count
    problems: Count
    images: Count


class BongardBuild(Document, frozen=True):
    """How problems came about."""

    files: list[str]
    steps: Sequence[Step]
    merged: list[MergedConcept]
    concepts_with_too_few_images: Count
    groups: list[BongardGroup]

    @classmethod
    def from_built(cls, built: Built, files: list[str]) -> BongardBuild:
        """Collect how problems that were written to files came about."""
        groups = [BongardGroup(name, *numbers) for name, numbers in built.problems.counts().items()]
        return cls(files, built.steps, [MergedConcept(*pair) for pair in built.merged], built.too_few, groups)


def build_problems(
    truth: GroundTruth,
    similarity: Similarity,
    curation: Curation | None = None,
    sampling: Sampling | None = None,
    seen: Seen | None = None,
    part: Literal["train", "test"] = "test",
) -> Built:
    """Make problems of a dataset.

    Positives show a concept. Negatives show its object with another action, in images that show the concept nowhere.

    Actions are merged by ``similarity``. Without ``seen``, training shows everything; part "train" leaves out all that
    is not seen.

    Returns:
        The problems by group, in the order of the concepts.
    """
    found = curated(truth, similarity, curation or Curation())
    concepts, objects = found.concepts, truth.classes.objects
    group = np.zeros(len(concepts), np.int64) if seen is None else seen.groups(concepts, objects)
    if seen is not None:
        found = without(found, group < 0, "concepts of which one action is seen and another is not dropped")
        if part == "train":
            found = without(found, ~seen.trains(concepts, objects), "concepts that training does not see dropped")
    sampled = _sampled(found, objects, sampling or Sampling())
    counts = [len(each) for each in sampled]
    rows = np.concatenate([np.zeros((0, 2, SIDE), np.int64), *sampled])
    problems = Problems(found.regions, rows[:, 0], rows[:, 1], GROUPS, np.repeat(group, counts).astype(np.int32))
    of_several = [c for c in range(len(concepts)) if len(concepts.verbs[c]) > 1]
    with_pictures = np.unique(found.concept)
    return Built(
        problems,
        found.steps,
        tuple((concepts.actions[c], objects[concepts.object[c]]) for c in of_several),
        sum(counts[c] == 0 for c in with_pictures.tolist()),
    )


def _sampled(found: Curated, objects: tuple[str, ...], how: Sampling) -> list[Indices]:
    concepts, image = found.concepts, found.regions.image.astype(np.int64)
    of_object = [np.flatnonzero(found.regions.object == o) for o in range(len(objects))]
    sampled = []
    for c, (action, object_) in enumerate(zip(concepts.actions, concepts.object.tolist(), strict=True)):
        same = of_object[object_]
        shown = found.shows[image[same], c]
        positives, others = same[found.concept[same] == c], same[~shown]
        pools = Pool.of(positives, image[positives]), Pool.of(others, image[others])
        sampled.append(sample(f"{action} {objects[object_]}", *pools, how))
    return sampled
