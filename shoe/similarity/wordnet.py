"""Similarities computed from WordNet's hypernym graph, without ratings.

``path`` and ``wup`` equal ``path_similarity`` and ``wup_similarity`` of nltk 3.10 (with its simulated root for verbs),
except that the similarity of a sense with itself is always 1 (in nltk, ``wup`` of a sense with itself may be lower).
"""

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Ints
from shoe.lexicon.senses import Part
from shoe.lexicon.store import lexicon, per_lexicon

Steps = NDArray[np.int32]
MEASURES = ("identity", "path", "wup")
_FAR = 1 << 16


def wordnet_values(measure: str, part: Part, class_senses: Ints, senses: Ints) -> Floats:
    """Return the (C, S) similarities 0..1 of C class senses and S senses in WordNet's hypernym graph.

    Args:
        measure: "identity" (1 for the same sense, else 0), "path" (1 / (1 + length of the shortest path between the
            senses)) or "wup" (Wu and Palmer 1994: 2 d / (d1 + d2), d being the depth of the lowest common hypernym, d1
            and d2 the depths of the senses on a path through it).
        part: "verb" or "object". Verbs have no common root in WordNet, so a root is simulated.
        class_senses: (C,) IDs; -1 for a class without a sense, which gets NaN.
        senses: (S,) IDs.
    """
    known, found = class_senses >= 0, np.full((len(class_senses), len(senses)), np.nan)
    if measure == "identity":
        found[known] = 0
    else:
        found[known] = (_path if measure == "path" else _wup)(class_senses[known], senses, rooted=part == "object")
    found[class_senses[:, None] == senses] = 1
    return found


def _path(classes: Ints, synsets: Ints, *, rooted: bool) -> Floats:
    ancestors = _ancestors(classes)
    up, up_others = _steps(classes, ancestors), _steps(synsets, ancestors)
    steps = np.full((len(classes), len(synsets)), 2 * _FAR, np.int32)
    if not rooted:
        steps[:] = _to_simulated_root(classes)[:, None] + _to_simulated_root(synsets)
    for mine, others in zip(up, up_others, strict=True):
        below, below_others = np.flatnonzero(mine < _FAR), np.flatnonzero(others < _FAR)
        cells = np.ix_(below, below_others)
        steps[cells] = np.minimum(steps[cells], mine[below, None] + others[below_others])
    return np.asarray(1 / (1 + steps))


def _wup(classes: Ints, synsets: Ints, *, rooted: bool) -> Floats:
    # As in nltk, the common hypernym is the deepest by shortest paths to a root; its depth is then that of the longest.
    ancestors = _ancestors(classes)
    up, up_others = _steps(classes, ancestors), _steps(synsets, ancestors)
    meeting_depth = np.full((len(classes), len(synsets)), -1)
    similarity = np.full(meeting_depth.shape, np.nan)
    if not rooted:
        meeting_depth[:] = 0
        similarity[:] = 2 / (_to_simulated_root(classes)[:, None] + _to_simulated_root(synsets) + 2)
    # Of equally deep hypernyms nltk takes the class itself, else the first by name ("*ROOT*" comes before all names).
    for ancestor in sorted(sorted(ancestors, key=lexicon().name), key=_min_depth, reverse=True):
        row, depth, longest = ancestors[ancestor], _min_depth(ancestor), _max_depth(ancestor) + 1
        below, below_others = np.flatnonzero(up[row] < _FAR), np.flatnonzero(up_others[row] < _FAR)
        cells = np.ix_(below, below_others)
        itself = (classes[below] == ancestor)[:, None] & (meeting_depth[cells] == depth)
        preferred = (meeting_depth[cells] < depth) | itself
        # Steps of the shortest way from senses to the ancestor; past it and back down, where that is shorter.
        above = steps_up(ancestor)
        rows, back = [ancestors[synset] for synset in above], np.array(list(above.values()), np.int32)[:, None]
        around_mine, around_others = (up[rows][:, below] + back).min(axis=0), up_others[rows][:, below_others] + back
        around = around_mine[:, None] + around_others.min(axis=0)
        similarity[cells] = np.where(preferred, 2 * longest / (around + 2 * longest), similarity[cells])
        meeting_depth[cells] = np.where(preferred, depth, meeting_depth[cells])
    return similarity


def _ancestors(synsets: Ints) -> dict[int, int]:
    above = dict.fromkeys(ancestor for synset in synsets.tolist() for ancestor in steps_up(synset))
    return {ancestor: row for row, ancestor in enumerate(above)}


def _steps(synsets: Ints, ancestors: dict[int, int]) -> Steps:
    # (A, S) fewest steps from each sense up to each ancestor, _FAR if it is no ancestor.
    steps = np.full((len(ancestors), len(synsets)), _FAR, np.int32)
    for column, synset in enumerate(synsets.tolist()):
        above = steps_up(synset)
        for ancestor in above.keys() & ancestors.keys():
            steps[ancestors[ancestor], column] = above[ancestor]
    return steps


def _to_simulated_root(synsets: Ints) -> Steps:
    # As in nltk: 1 + steps to the farthest hypernym.
    return np.array([max(steps_up(synset).values()) + 1 for synset in synsets.tolist()], np.int32)


@per_lexicon(None)
def steps_up(synset: int) -> dict[int, int]:
    """Return {ID of a direct or indirect hypernym of a sense: fewest steps up to it}, with 0 for the sense itself."""
    found = {synset: 0}
    for hypernym in lexicon().hypernyms(synset).tolist():
        for ancestor, steps in steps_up(hypernym).items():
            if steps + 1 < found.get(ancestor, _FAR):
                found[ancestor] = steps + 1
    return found


@per_lexicon(None)
def _max_depth(synset: int) -> int:
    return 1 + max(map(_max_depth, lexicon().hypernyms(synset).tolist()), default=-1)


@per_lexicon(None)
def _min_depth(synset: int) -> int:
    return 1 + min(map(_min_depth, lexicon().hypernyms(synset).tolist()), default=-1)
