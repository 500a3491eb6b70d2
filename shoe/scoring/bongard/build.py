"""Make Bongard problems of an annotated dataset: curate, group by what training saw, sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.pairs import merged
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Floats, Indices, Ints, Mask, Numbers, numbers_at, random_numbers, runs
from shoe.core.boxes import CommonCoordinates, converted
from shoe.core.documents import Count, Document
from shoe.lexicon.store import lexicon, per_lexicon
from shoe.scoring.bongard.problems import GROUPS, SIDE, Problems, Regions
from shoe.similarity.table import Similarity

# From annotations to pictures with one label each, by rules that say what each of them dropped.
#
# The field's problems were curated by hand; what people did there has a rule here. Actions that look alike are merged,
# a
# region keeps the whole and not its parts ("eat carrot", not "hold carrot"), boxes that are hard to see are dropped,
# and
# so are regions that still have several labels.

# Concepts: actions with an object, those that look alike as one, and which of them are part of which.

OR = "_or_"
"""What stands between the actions of a concept that are one: the field's "talk_on_or_listen_to"."""
_ENTAILMENTS = Path(__file__).parent / "data" / "entailments.tsv"


@dataclass(frozen=True, slots=True, eq=False)
class Concepts:
    """C concepts made of K classes.

    Attributes:
        actions: C names; several actions with ``OR`` between them.
        object: (C,) index of the object in the classes' own.
        of: (K,) concept of each class; -1 for no_interaction, which is none.
        verbs: C sets of the classes' verbs.
        part_of: (C, C) whether the first is part of the second by the lexicon, which names the same object.
    """

    actions: tuple[str, ...]
    object: Ints
    of: Ints
    verbs: tuple[frozenset[str], ...]
    part_of: Mask

    def __len__(self) -> int:
        return len(self.actions)


def concepts_of(classes: HoiClasses, similarity: Similarity, merge_at: float) -> Concepts:
    """Make concepts of classes: actions of one object that a map finds too similar are one concept.

    Two groups of actions are put together, the most similar first, where every action of the one is at least
    ``merge_at`` similar to every action of the other; so no chain of pairs connects what is not similar. The similarity
    of two actions is the mean of both directions, as far as they are rated.

    ``merge_at`` is 0..1; above 1 nothing is merged.
    """
    groups: list[list[int]] = []
    alike = _both_ways(classes, similarity)
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
        of=of,
        verbs=tuple(map(frozenset, names)),
        part_of=_parts(classes, groups),
    )


def _both_ways(classes: HoiClasses, similarity: Similarity) -> Floats:
    """(K, K) similarity of the verbs of two classes; -1 where nothing is known."""
    senses, row = np.unique(classes.verb_sense, return_inverse=True)
    one = similarity.values("verb", senses, senses)
    known = ~np.isnan(one)
    total = np.where(known, one, 0) + np.where(known, one, 0).T
    count = known.astype(int) + known.T
    values = np.where(count > 0, total / np.maximum(count, 1), -1.0)
    return np.asarray(values[np.ix_(row, row)])


def _merged(members: list[int], alike: Floats, merge_at: float) -> list[list[int]]:
    """Put classes of one object together, the most similar pair first, of ties the first pair."""
    group = {k: [k] for k in members}
    pairs = [(a, b) for a, b in combinations(members, 2) if alike[a, b] >= merge_at]
    for a, b in sorted(pairs, key=lambda pair: (-alike[pair], pair)):
        one, other = group[a], group[b]
        if one is not other and (alike[np.ix_(one, other)] >= merge_at).all():
            one += other
            group |= dict.fromkeys(one, one)
    return [sorted(each) for each in {id(each): each for each in group.values()}.values()]


def _parts(classes: HoiClasses, groups: list[list[int]]) -> Mask:
    """(C, C) whether a sense of the first concept is above one of the second, and none the other way round."""
    senses = [{int(sense) for sense in classes.verb_sense[group] if sense >= 0} for group in groups]
    above = [frozenset().union(*map(included, each)) - each for each in senses]
    objects = np.array([classes.object[group[0]] for group in groups])
    found = np.zeros((len(groups), len(groups)), bool)
    for a, b in np.argwhere(objects[:, None] == objects).tolist():
        found[a, b] = not senses[a].isdisjoint(above[b])
    return found & ~found.T


@per_lexicon(None)
def included(sense: int) -> frozenset[int]:
    """All that doing one thing is a kind of, or entails, however far: who sips drinks, who buys pays."""
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
    """WordNet's entailments of verbs; ``scripts/build-entailments`` writes the file."""
    found: dict[int, tuple[int, ...]] = {}
    for line in _ENTAILMENTS.read_text("utf-8").splitlines()[1:]:
        one, other = (lexicon().synset(name) for name in line.split("\t"))
        if one >= 0 and other >= 0:
            found[one] = (*found.get(one, ()), other)
    return found


def parts_by_annotation(labels: NDArray[np.bool_], share: float, least: int) -> Mask:
    """Find concepts that nearly always come with another, more frequent one: who eats a carrot also holds it.

    Args:
        labels: (regions, C) what is annotated of each region.
        share: part of the regions of a concept that have to have the other, too.
        least: regions that a concept has to have for its share to mean anything.

    Returns:
        (C, C) whether the first is part of the second.
    """
    from scipy.sparse import csr_array

    marks = csr_array(labels.astype(np.int32))
    both = np.asarray((marks.T @ marks).todense())
    count = np.diag(both)
    return (both >= share * count[None, :]) & (count[None, :] >= least) & (count[:, None] > count[None, :])


_MARGIN = 0.05
"""Of the width and height of both boxes together, on each side: measured on the field's problems."""
_SAME_PAIR = 0.5
_LEAST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Curation:
    """How annotations become pictures with one label.

    Attributes:
        merge_at: similarity from which two actions of an object are one concept.
        part_share: share of a concept's regions that have to show another, more frequent one for that to be its part.
        smallest: least area of a human or object box, in square pixels; 32 x 32 is what COCO calls small.
    """

    merge_at: float = 0.6
    part_share: float = 0.5
    smallest: float = 32 * 32


class Step(Document, frozen=True):
    """What a step of the curation left: concepts with regions, regions, and labels of regions."""

    step: str
    concepts: Count
    regions: Count
    labels: Count


@dataclass(frozen=True, slots=True, eq=False)
class Curated:
    """Pictures with one label.

    Attributes:
        regions: n of them; ``verb`` is an index into the names of actions, merged ones included.
        concept: (n,) concept of each.
        shows: (images, C) whether an image is annotated to show a concept, or one that it is part of, anywhere and in
            any region, kept or not.
        steps: what each step left, in order.
    """

    regions: Regions
    concept: Ints
    concepts: Concepts
    shows: Mask
    steps: tuple[Step, ...]


def curated(truth: GroundTruth, similarity: Similarity, how: Curation) -> Curated:
    """Curate the annotations of a dataset."""
    table, classes = truth.interactions, truth.classes
    first, region = np.unique(merged(table, _SAME_PAIR), return_inverse=True)
    drawn = np.zeros((len(first), len(classes)), bool)
    drawn[region, truth.hoi] = True
    steps = [_step("pairs of boxes", drawn)]
    drawn[:, classes.no_interaction] = False
    steps.append(_step("no_interaction left out", drawn))

    concepts = concepts_of(classes, similarity, how.merge_at)
    labels = np.zeros((len(first), len(concepts)), bool)
    row, class_ = np.nonzero(drawn)
    labels[row, concepts.of[class_]] = True
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
        converted(boxes[first], coordinates, CommonCoordinates.EDGES)
        for boxes in (table.human_boxes, table.object_boxes)
    )
    labels[np.minimum(_area(humans), _area(objects)) < how.smallest] = False
    steps.append(_step(f"boxes under {how.smallest:g} square pixels dropped", labels))
    labels[labels.sum(axis=1) > 1] = False
    steps.append(_step("regions with several labels dropped", labels))

    kept, concept = np.nonzero(labels)
    actions = sorted(set(concepts.actions))
    number = {name: place for place, name in enumerate(actions)}
    regions = Regions(
        images=table.images,
        image=image[kept],
        crops=_crops(humans[kept], objects[kept], table.sizes[image[kept]]),
        human_boxes=humans[kept],
        object_boxes=objects[kept],
        verb=np.array([number[concepts.actions[c]] for c in concept.tolist()], np.int32),
        object=concepts.object[concept],
        verbs=tuple(actions),
        objects=classes.objects,
    )
    return Curated(regions, concept.astype(np.int32), concepts, shows, tuple(steps))


def without(found: Curated, concepts: Mask, name: str) -> Curated:
    """Leave out the regions of some concepts, (C,) True, as one more step; what images show stays."""
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
    """(regions, C) concepts that are part of one of the region's."""
    from scipy.sparse import csr_array

    return np.asarray((csr_array(labels.astype(np.int32)) @ csr_array(parts.T.astype(np.int32))).todense()) > 0


def _area(boxes: Floats) -> Floats:
    return np.asarray((boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1]))


def _crops(humans: Floats, objects: Floats, sizes: Ints) -> Floats:
    """The crop of both boxes with a margin, inside the image as far as its size is known."""
    low, high = np.minimum(humans[:, :2], objects[:, :2]), np.maximum(humans[:, 2:], objects[:, 2:])
    margin = _MARGIN * (high - low)
    edge = np.where(sizes > 0, sizes, np.inf)
    return np.hstack([np.maximum(np.floor(low - margin), 0), np.minimum(np.ceil(high + margin), edge)])


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
        negatives: regions that do not; no image is in both.

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
