"""Similarities that need no rater, computed from WordNet's hypernym graph alone.

``path`` and ``wup`` equal ``path_similarity`` and ``wup_similarity`` of nltk 3.10 (with its simulated root for verbs),
except that a sense always has 1 with itself: nltk's wup has less where hypernym paths differ in length.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Floats, Ints
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon, per_lexicon

Steps = NDArray[np.int32]

MEASURES = ("identity", "path", "wup")

_FAR = 1 << 16


def wordnet_values(measure: str, part: Part, class_senses: Ints, senses: Ints) -> Floats:
    """Compare C class senses with S senses on WordNet's graph.

    Args:
        measure: "identity" (1 for the same sense, else 0), "path" (1 / (1 + steps of the shortest way between the
            senses)) or "wup" (Wu and Palmer 1994: depth of the lowest common hypernym against the depths of both).
        part: "verb" or "object"; verbs share no root.
        class_senses: (C,) ids; -1 for none.
        senses: (S,) ids.

    Returns:
        (C, S) values 0..1; NaN only where the class has no sense.
    """
    known = class_senses >= 0
    found = np.full((len(class_senses), len(senses)), np.nan)
    if measure == "identity":
        found[known] = 0
    else:
        found[known] = (_path if measure == "path" else _wup)(class_senses[known], senses, rooted=part == "object")
    found[class_senses[:, None] == senses] = 1
    return found


def _path(classes: Ints, synsets: Ints, *, rooted: bool) -> Floats:
    """Compare by the shortest path over any common hypernym; senses without one meet in a simulated root."""
    ancestors = _ancestors(classes)
    up, up_others = _steps(classes, ancestors), _steps(synsets, ancestors)
    steps = np.full((len(classes), len(synsets)), 2 * _FAR, np.int32)
    if not rooted:
        steps[:] = _to_simulated_root(classes)[:, None] + _to_simulated_root(synsets)
    for mine, others in zip(up, up_others, strict=True):
        below, below_others = np.flatnonzero(mine < _FAR), np.flatnonzero(others < _FAR)
        cells = np.ix_(below, below_others)
        steps[cells] = np.minimum(steps[cells], mine[below, None] + others[below_others])
    similarity: Floats = 1 / (1 + steps)
    return similarity


def _wup(classes: Ints, synsets: Ints, *, rooted: bool) -> Floats:
    """Compute Wu-Palmer: the deepest common hypernym by shortest paths to a root, its depth by the longest."""
    ancestors = _ancestors(classes)
    up, up_others = _steps(classes, ancestors), _steps(synsets, ancestors)
    meeting_depth = np.full((len(classes), len(synsets)), -1)
    similarity = np.full(meeting_depth.shape, np.nan)
    if not rooted:
        meeting_depth[:] = 0
        similarity[:] = 2 / (_to_simulated_root(classes)[:, None] + _to_simulated_root(synsets) + 2)
    # Of equally deep hypernyms nltk takes the class itself, else the first by name ("*ROOT*" comes before all names).
    by_name = sorted(ancestors, key=lexicon().name)
    for ancestor in sorted(by_name, key=_min_depth, reverse=True):
        row = ancestors[ancestor]
        depth, longest = _min_depth(ancestor), _max_depth(ancestor) + 1
        below, below_others = np.flatnonzero(up[row] < _FAR), np.flatnonzero(up_others[row] < _FAR)
        cells = np.ix_(below, below_others)
        itself = (classes[below] == ancestor)[:, None] & (meeting_depth[cells] == depth)
        preferred = (meeting_depth[cells] < depth) | itself
        # Steps of the shortest way from senses to the ancestor; past it and back down, where that is shorter.
        above = steps_up(ancestor)
        rows, back = [ancestors[synset] for synset in above], np.array(list(above.values()), np.int32)[:, None]
        around = (up[rows][:, below] + back).min(axis=0)[:, None] + (up_others[rows][:, below_others] + back).min(
            axis=0
        )
        similarity[cells] = np.where(preferred, 2 * longest / (around + 2 * longest), similarity[cells])
        meeting_depth[cells] = np.where(preferred, depth, meeting_depth[cells])
    return similarity


def _ancestors(synsets: Ints) -> dict[int, int]:
    """Return all hypernyms of some senses, and the senses themselves, as {sense: row}."""
    above = dict.fromkeys(ancestor for synset in synsets.tolist() for ancestor in steps_up(synset))
    return {ancestor: row for row, ancestor in enumerate(above)}


def _steps(synsets: Ints, ancestors: dict[int, int]) -> Steps:
    """Return (A, S) steps from each sense up to each ancestor; _FAR where it is none."""
    steps = np.full((len(ancestors), len(synsets)), _FAR, np.int32)
    for column, synset in enumerate(synsets.tolist()):
        above = steps_up(synset)
        for ancestor in above.keys() & ancestors.keys():
            steps[ancestors[ancestor], column] = above[ancestor]
    return steps


def _to_simulated_root(synsets: Ints) -> Steps:
    """Return (S,) steps to the simulated root of all verbs: one above the farthest hypernym, as in nltk."""
    return np.array([max(steps_up(synset).values()) + 1 for synset in synsets.tolist()], np.int32)


@per_lexicon(None)
def steps_up(synset: int) -> dict[int, int]:
    """Return the fewest steps from a sense up to each hypernym, and 0 to itself. A lexicon has no cycles."""
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
