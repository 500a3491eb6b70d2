"""Building of Bongard problems from an annotated dataset: select regions, split concepts by seen words, sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.pairs import merge_pairs
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Ints, Mask, Numbers, numbers_at, positions, random_numbers, runs
from shoe.core.boxes import CommonCoordinates, Overlap, area, convert_boxes
from shoe.core.documents import Count, Document
from shoe.lexicon.store import lexicon, per_lexicon
from shoe.scoring.bongard.problems import GROUPS, SIDE, Problems, Regions
from shoe.similarity.table import Similarity

OR = "_or_"  # separator of the actions in a merged concept, as in the published "talk_on_or_listen_to"
_ENTAILMENTS = Path(__file__).parent / "data" / "entailments.tsv"


@dataclass(frozen=True, slots=True, eq=False)
class Concepts:
    """C concepts, each an action on an object, made of K classes by merging similar actions."""

    actions: tuple[str, ...]  # name of the action of each concept; merged actions are joined by ``OR``
    object: Ints  # (C,) index of the object among the objects of the classes
    concept_of_class: Ints  # (K,) concept of each class; -1 for no_interaction classes
    verbs: tuple[frozenset[str], ...]  # set of the class verbs that each concept contains
    part_of: Mask  # (C, C) whether concept b (column) implies concept a (row) of the same object, as sip implies drink

    def __len__(self) -> int:
        return len(self.actions)


def concepts_of(classes: HoiClasses, similarity: Similarity, merge_at: float) -> Concepts:
    """Return the concepts of K classes; actions of one object with a similarity of at least ``merge_at`` are merged.

    Two groups of actions are merged, the most similar first, only if every action of one group is similar enough to
    every action of the other (complete linkage). The similarity of two actions, 0..1, is the mean of both directions,
    or the only rated direction. Concepts have the order of their first classes; no_interaction is no concept.
    """
    groups: list[list[int]] = []
    senses, row = np.unique(classes.verb_sense, return_inverse=True)
    rated = similarity.values("verb", senses, senses)
    either = np.where(np.isnan(rated), rated.T, rated)
    alike = np.nan_to_num((either + either.T) / 2, nan=-1.0)[np.ix_(row, row)]
    for object_ in range(len(classes.objects)):
        of_object = np.flatnonzero((classes.object == object_) & ~classes.no_interaction).tolist()
        groups += _merged(of_object, alike, merge_at)
    groups.sort()
    of = np.full(len(classes), -1, np.int32)
    for number, group in enumerate(groups):
        of[group] = number
    names = [[classes.verbs[classes.verb[k]] for k in group] for group in groups]
    return Concepts(
        actions=tuple(OR.join(each) for each in names),
        object=np.array([classes.object[group[0]] for group in groups], np.int32),
        concept_of_class=of,
        verbs=tuple(map(frozenset, names)),
        part_of=_parts(classes, groups),
    )


def _merged(members: list[int], alike: Floats, merge_at: float) -> list[list[int]]:
    # The most similar pair is merged first, of equals the first pair.
    group = {k: [k] for k in members}
    pairs = [(a, b) for a, b in combinations(members, 2) if alike[a, b] >= merge_at]
    for a, b in sorted(pairs, key=lambda pair: (-alike[pair], pair)):
        one, other = group[a], group[b]
        if one is not other and (alike[np.ix_(one, other)] >= merge_at).all():
            one += other
            group |= dict.fromkeys(one, one)
    return [sorted(each) for each in {id(each): each for each in group.values()}.values()]


def _parts(classes: HoiClasses, groups: list[list[int]]) -> Mask:
    """Return (C, C) whether concept 2 implies concept 1 of the same object by verb senses, and not vice versa."""
    senses = [{int(sense) for sense in classes.verb_sense[group] if sense >= 0} for group in groups]
    above = [frozenset().union(*map(implied_verbs, each)) - each for each in senses]
    objects = np.array([classes.object[group[0]] for group in groups])
    found = np.zeros((len(groups), len(groups)), bool)
    for a, b in np.argwhere(objects[:, None] == objects).tolist():
        found[a, b] = not senses[a].isdisjoint(above[b])
    return found & ~found.T


@per_lexicon(None)
def implied_verbs(sense: int) -> frozenset[int]:
    """Return all other verb senses that a verb sense implies by chains of WordNet's hypernyms and entailments."""
    found: set[int] = set()
    open_ = [sense]
    while open_:
        one = open_.pop()
        new = {*lexicon().hypernyms(one).tolist(), *_entailments().get(one, ())} - found
        found |= new
        open_ += new
    return frozenset(found - {sense})


@per_lexicon(None)
def _entailments() -> dict[int, tuple[int, ...]]:
    # WordNet's entailments of verbs; ``scripts/build-entailments`` writes the file.
    found: dict[int, tuple[int, ...]] = {}
    for line in _ENTAILMENTS.read_text("utf-8").splitlines()[1:]:
        one, other = (lexicon().synset(name) for name in line.split("\t"))
        if one >= 0 and other >= 0:
            found[one] = (*found.get(one, ()), other)
    return found


def parts_by_annotation(labels: NDArray[np.bool_], share: float, least: int) -> Mask:
    """Return (C, C) whether regions of concept b (column) usually also show concept a (row), as eating shows holding.

    ``labels`` are the (regions, C) annotated concepts. At least ``least`` regions must show b, and at least a fraction
    ``share`` of them must also show a; a must have more regions than b.
    """
    from scipy.sparse import csr_array

    marks = csr_array(labels.astype(np.int32))
    both = np.asarray((marks.T @ marks).todense())
    count = np.diag(both)
    return (both >= share * count[None, :]) & (count[None, :] >= least) & (count[:, None] > count[None, :])


_MARGIN = 0.05
"""Margin on each side of a crop: fraction of the width and height of both boxes together, as in published problems."""
_SAME_PAIR = 0.5
_LEAST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Curation:
    """Options of :func:`curate`, which selects regions that show exactly one concept."""

    merge_at: float = 0.6  # two actions of an object are merged if their similarity is at least this value
    # concept b implies a more frequent concept a if at least this fraction of the regions of b shows a
    part_share: float = 0.5
    # smallest area of a human or object box, in square pixels; 32 x 32 is COCO's limit for small objects
    smallest: float = 32 * 32


class Step(Document, frozen=True):
    """Name of a curation step, and counts after it: concepts that have regions, regions, and labels of regions."""

    step: str
    concepts: Count
    regions: Count
    labels: Count


@dataclass(frozen=True, slots=True, eq=False)
class Curated:
    """Regions (pairs of boxes) that each show exactly one concept."""

    regions: Regions  # n regions; their verbs are actions, including merged actions
    concept: Ints  # (n,) index of each region's concept in ``concepts``
    concepts: Concepts
    shows: Mask  # (images, C) whether any region of the image, even if dropped, shows the concept or implies it
    steps: tuple[Step, ...]


def curate(truth: GroundTruth, similarity: Similarity, how: Curation) -> Curated:
    """Return the regions of an annotated dataset (human and object box) that show exactly one concept.

    Annotations of one pair of boxes form one region, similar actions form one concept. Dropped are no_interaction,
    concepts implied by the region's other concepts, and regions with small boxes or several concepts (see ``how``).
    """
    table, classes = truth.interactions, truth.classes
    first, region = np.unique(merge_pairs(table, _SAME_PAIR), return_inverse=True)
    drawn = np.zeros((len(first), len(classes)), bool)
    drawn[region, truth.hoi] = True
    steps = [_step("pairs of boxes", drawn)]
    drawn[:, classes.no_interaction] = False
    steps.append(_step("no_interaction left out", drawn))

    concepts = concepts_of(classes, similarity, how.merge_at)
    labels = np.zeros((len(first), len(concepts)), bool)
    row, class_ = np.nonzero(drawn)
    labels[row, concepts.concept_of_class[class_]] = True
    steps.append(_step(f"actions at least {how.merge_at:g} similar merged", labels))
    image = table.image[first]
    usual = parts_by_annotation(labels, how.part_share, _LEAST)
    shows = np.zeros((len(table.images), len(concepts)), bool)
    row, concept = np.nonzero(labels | _implied(labels, concepts.part_of | usual))
    shows[image[row], concept] = True

    for name, parts in (("parts dropped, by the lexicon", concepts.part_of), ("parts dropped, by annotation", usual)):
        labels &= ~_implied(labels, parts)
        steps.append(_step(name, labels))
    coordinates = np.broadcast_to(table.triplet_coordinates, (len(table),))[first]
    humans, objects = (
        convert_boxes(boxes[first], coordinates, CommonCoordinates.EDGES)
        for boxes in (table.human_boxes, table.object_boxes)
    )
    smaller = np.minimum(*(area(boxes, Overlap.CONTINUOUS) for boxes in (humans, objects)))
    labels[smaller < how.smallest] = False
    steps.append(_step(f"boxes under {how.smallest:g} square pixels dropped", labels))
    labels[labels.sum(axis=1) > 1] = False
    steps.append(_step("regions with several labels dropped", labels))

    kept, concept = np.nonzero(labels)
    actions = sorted(set(concepts.actions))
    regions = Regions(
        images=table.images,
        image=image[kept],
        crops=_crops(humans[kept], objects[kept], table.sizes[image[kept]]),
        human_boxes=humans[kept],
        object_boxes=objects[kept],
        verb=positions((concepts.actions[c] for c in concept.tolist()), actions).astype(np.int32),
        object=concepts.object[concept],
        verbs=tuple(actions),
        objects=classes.objects,
    )
    return Curated(regions, concept.astype(np.int32), concepts, shows, tuple(steps))


def drop_concepts(found: Curated, concepts: Mask, name: str) -> Curated:
    """Return a copy without the regions of the concepts in a (C,) mask; ``steps`` get a step called ``name``."""
    keep = ~concepts[found.concept]
    columns: dict[str, Any] = {
        field: getattr(found.regions, field)[keep]
        for field in ("image", "crops", "human_boxes", "object_boxes", "verb", "object")
    }
    concept = found.concept[keep]
    step = Step(name, len(np.unique(concept)), len(concept), len(concept))
    return replace(found, regions=replace(found.regions, **columns), concept=concept, steps=(*found.steps, step))


def _step(name: str, labels: NDArray[np.bool_]) -> Step:
    return Step(name, int(labels.any(axis=0).sum()), int(labels.any(axis=1).sum()), int(labels.sum()))


def _implied(labels: Mask, parts: Mask) -> Mask:
    """Return (regions, C) whether any label of a region implies the concept; ``parts`` as ``Concepts.part_of``."""
    from scipy.sparse import csr_array

    return np.asarray((csr_array(labels.astype(np.int32)) @ csr_array(parts.T.astype(np.int32))).todense()) > 0


def _crops(humans: Floats, objects: Floats, sizes: Ints) -> Floats:
    """Return (n, 4) crops around human and object box with a margin, cut at the image edges if the size is known."""
    low, high = np.minimum(humans[:, :2], objects[:, :2]), np.maximum(humans[:, 2:], objects[:, 2:])
    margin = _MARGIN * (high - low)
    edge = np.where(sizes > 0, sizes, np.inf)
    return np.hstack([np.maximum(np.floor(low - margin), 0), np.minimum(np.ceil(high + margin), edge)])


# Algorithm 1 of the Bongard-HOI supplement. It leaves open: the overlap of two problems is the number of images that
# they share, of all fourteen; a problem never shows an image twice; and sampling ends after a number of consecutive
# rejections, or of problems.

TRAIN_OVERLAP, TEST_OVERLAP = 3, 2
"""Number of shared images from which on two problems overlap too much (tau in the paper)."""
_AT_ONCE = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """Options for sampling problems."""

    seed: int = 0
    # a problem is rejected if it shares at least this number of images with an accepted problem
    overlap: int = TEST_OVERLAP
    most: int = 100  # maximum number of problems per concept; the published algorithm has no such limit
    rejections: int = 100  # number of consecutive rejections after which sampling for a concept ends


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """Regions to draw from, grouped by image."""

    regions: Indices  # (n,) indices of regions, grouped by image
    # start, count: (images,) position of each image's first region in ``regions``, and number of its regions
    start: Indices
    count: Indices

    @classmethod
    def from_regions(cls, regions: Indices, image: Indices) -> Pool:
        """Group regions by their (n,) image; the regions of an image keep their order."""
        order = np.argsort(image, kind="stable")
        return cls(regions[order], *runs(image[order]))

    def __len__(self) -> int:
        return len(self.start)


def sample(concept: str, positives: Pool, negatives: Pool, how: Sampling) -> Indices:
    """Return random problems of one concept as (problems, 2, 7) region indices, seven positives and seven negatives.

    This is Algorithm 1 of the Bongard-HOI supplement; a problem shows no image twice. The name of the ``concept`` and
    the seed in ``how`` determine the sample. No image may be in both pools. The result is empty if a pool has fewer
    than seven images.
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
        accepted: list[int] = []
        for candidate in range(_AT_ONCE):
            if clear[candidate] and not near[candidate, accepted].any():
                accepted.append(candidate)
                rejected = 0
            else:
                rejected += 1
            if len(kept) + len(accepted) == how.most or rejected == how.rejections:
                break
        picked = []
        for side, pool in enumerate((positives, negatives)):
            chosen = images[accepted, side]
            offset = numbers[accepted, 2 * side + 1] % pool.count[chosen].astype(np.uint64)
            picked.append(pool.regions[pool.start[chosen] + offset.astype(np.int64)])
        kept = np.concatenate([kept, np.stack(picked, axis=1)])
        shown = np.concatenate([shown, marks[accepted]])
        first += _AT_ONCE
    return kept


def draws(stream: int, first: int, count: int) -> Numbers:
    """Return (count, 4, 7) random numbers for candidate problems ``first``, ``first`` + 1, ...; ``stream`` is a seed.

    The four rows choose images and regions of the positives, then images and regions of the negatives.

    >>> bool((draws(1, 0, 3)[2] == draws(1, 2, 1)[0]).all())
    True
    """
    number = np.arange(first, first + count, dtype=np.int64)[:, None] * (4 * SIDE) + np.arange(4 * SIDE)
    return numbers_at(np.array(stream, np.int64), number).reshape(count, 4, SIDE)


def distinct(numbers: Numbers, total: int) -> Indices:
    """Draw without replacement: return (n, k) distinct numbers below ``total`` from (n, k) random numbers.

    The j-th result has index ``numbers[:, j] % (total - j)`` among the numbers that are left, in ascending order.

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


_VERBS, _OBJECTS = 1 << 29, (1 << 29) + (1 << 28)  # first streams of random numbers for held-out verbs and objects


@dataclass(frozen=True, slots=True)
class Seen:
    """Verbs and objects that training problems may show."""

    # verbs, objects: verbs and objects of the training concepts
    verbs: frozenset[str]
    objects: frozenset[str]
    # (verb, object) pairs that training may show; None if all pairs of ``verbs`` and ``objects`` are allowed
    pairs: frozenset[tuple[str, str]] | None = None

    @classmethod
    def in_problems(cls, problems: Problems) -> Seen:
        """Return the verbs and objects of training problems, all pairs allowed; merged actions are split into verbs."""
        concepts = problems.concepts
        verbs = frozenset(verb for action, _ in concepts for verb in action.split(OR))
        return cls(verbs, frozenset(object_ for _, object_ in concepts))

    @classmethod
    def in_classes(cls, classes: HoiClasses, seen: Mask) -> Seen:
        """Return the words and pairs of the seen classes of a split; ``seen`` is a (K,) mask of the classes."""
        words = zip(classes.verb[seen].tolist(), classes.object[seen].tolist(), strict=True)
        pairs = frozenset((classes.verbs[v], classes.objects[o]) for v, o in words)
        return cls(frozenset(verb for verb, _ in pairs), frozenset(object_ for _, object_ in pairs), pairs)

    @classmethod
    def holding_out(cls, classes: HoiClasses, share: float, seed: int) -> Seen:
        """Return the words of a dataset except a random fraction ``share`` of the verbs and of the objects."""
        return cls(_kept(classes.verbs, share, _VERBS + seed), _kept(classes.objects, share, _OBJECTS + seed))

    def groups(self, concepts: Concepts, objects: tuple[str, ...]) -> Indices:
        """Return the (C,) index in :data:`GROUPS` of each concept; -1 if only some of its verbs are seen words."""
        known = [len(verbs & self.verbs) / len(verbs) for verbs in concepts.verbs]
        unseen_object = [objects[o] not in self.objects for o in concepts.object]
        number = np.array([o + 2 * (k == 0) for o, k in zip(unseen_object, known, strict=True)], np.int64)
        return np.where([0 < k < 1 for k in known], -1, number)

    def trains(self, concepts: Concepts, objects: tuple[str, ...]) -> Mask:
        """Return (C,) whether training may show each concept: its words are seen, and its word pairs are allowed."""
        pairs = ({(verb, objects[o]) for verb in of} for of, o in zip(concepts.verbs, concepts.object, strict=True))
        together = np.array([self.pairs is None or each <= self.pairs for each in pairs], bool)
        return np.asarray(together & (self.groups(concepts, objects) == 0))


def _kept(names: Sequence[str], share: float, stream: int) -> frozenset[str]:
    order = np.argsort(random_numbers(stream, (len(names),)), kind="stable")
    return frozenset(names[i] for i in order[round(share * len(names)) :].tolist())


@dataclass(frozen=True, slots=True)
class Built:
    """Problems, and a report of how they were built."""

    problems: Problems
    steps: tuple[Step, ...]
    merged: tuple[tuple[str, str], ...]  # (action, object) of each merged concept
    too_few: int  # number of concepts without problems, for example with fewer than seven positive or negative images


class MergedConcept(Document, frozen=True):
    """Concept that was merged from several similar actions."""

    action: str
    object: str


class BongardGroup(Document, frozen=True):
    """Number of concepts, problems and images in a group of problems."""

    group: str
    concepts: Count
    problems: Count
    images: Count


class BongardBuild(Document, frozen=True):
    """Report of how Bongard problems were built."""

    files: list[str]
    steps: Sequence[Step]
    merged: list[MergedConcept]
    concepts_with_too_few_images: Count
    groups: list[BongardGroup]

    @classmethod
    def from_built(cls, built: Built, files: list[str]) -> BongardBuild:
        """Return the report of built problems; ``files`` are the names of the problem files."""
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
    """Return Bongard problems built from a dataset, in the order of the concepts.

    Positives show a concept. Negatives show its object with another action, in images that show the concept nowhere.
    Actions that are similar by ``similarity`` are merged. ``seen`` are the words that training problems may show; all
    words if None. Left out are merged concepts of seen and unseen actions, and for part "train" all concepts that
    training problems may not show.
    """
    found = curate(truth, similarity, curation or Curation())
    concepts, objects = found.concepts, truth.classes.objects
    group = np.zeros(len(concepts), np.int64) if seen is None else seen.groups(concepts, objects)
    if seen is not None:
        found = drop_concepts(found, group < 0, "merged concepts with seen and unseen actions dropped")
        if part == "train":
            found = drop_concepts(found, ~seen.trains(concepts, objects), "concepts outside the training words dropped")
    image = found.regions.image.astype(np.int64)
    of_object = [np.flatnonzero(found.regions.object == o) for o in range(len(objects))]
    sampled = []
    for c, (action, object_) in enumerate(zip(concepts.actions, concepts.object.tolist(), strict=True)):
        same = of_object[object_]
        sides = same[found.concept[same] == c], same[~found.shows[image[same], c]]
        positives, negatives = (Pool.from_regions(rows, image[rows]) for rows in sides)
        sampled.append(sample(f"{action} {objects[object_]}", positives, negatives, sampling or Sampling()))
    counts = list(map(len, sampled))
    rows = np.concatenate([np.zeros((0, 2, SIDE), np.int64), *sampled])
    problems = Problems(found.regions, rows[:, 0], rows[:, 1], GROUPS, np.repeat(group, counts).astype(np.int32))
    of_several = [c for c in range(len(concepts)) if len(concepts.verbs[c]) > 1]
    merged = tuple((concepts.actions[c], objects[concepts.object[c]]) for c in of_several)
    return Built(problems, found.steps, merged, sum(counts[c] == 0 for c in np.unique(found.concept).tolist()))
