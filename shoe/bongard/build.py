"""Make Bongard problems of an annotated dataset: curate, group by what training saw, sample."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.truth import GroundTruth
from shoe.bongard.concepts import OR, Concepts
from shoe.bongard.curation import Curated, Curation, Step, curated, without
from shoe.bongard.problems import GROUPS, SIDE, Problems
from shoe.bongard.sampling import Pool, Sampling, sample
from shoe.core.arrays import Indices, Mask
from shoe.core.documents import Count, Document
from shoe.core.seeded import random_numbers
from shoe.similarity.table import Similarity

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
