"""Concepts: actions with an object, those that look alike as one, and which of them are part of which."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Floats, Ints, Mask
from shoe.lexicon.store import lexicon, per_lexicon
from shoe.similarity.table import Similarity

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
