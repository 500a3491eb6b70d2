"""The dense table that scoring indexes: how alike each class and each predicted word are, and what that rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core.errors import unknown_name
from shoe.lexicon.expressions import Part
from shoe.lexicon.labels import match_labels
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.store import lexicon
from shoe.similarity.base import Similarity
from shoe.similarity.wordnet import WordNetSimilarity

OPTIONS = {"sense": ("max", "first", "one"), "unrated": ("zero", "wup", "drop"), "direction": ("class", "symmetric")}

_UNRATED = -1.0
_IDENTICAL = 2.0


class Basis(IntEnum):
    """What the value of a class and a word rests on."""

    UNRESOLVED = 0
    """The word has no sense in WordNet: 0."""
    UNRATED = 1
    """None of the word's senses has a rating with the class (or a WordNet value was taken in its place)."""
    ZERO = 2
    """The best rating of the word's senses is 0; others of its senses may be unrated.

    Also no_interaction against anything else: they are unlike by rule.
    """
    RATED = 3
    """Rated above 0."""
    IDENTICAL = 4
    """The class's own sense is among the word's senses: 1."""
    SAME_WORD = 5
    """The word is the class's word, though it does not lead to the class's sense: 1."""


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityTable:
    """C classes against W words.

    Attributes:
        values: (C, W) float64, 0..1.
        basis: (C, W) uint8 ``Basis``.
        sense: (C, W) int32 the word's sense that gave the value; -1 where none did.
        unresolved: words without a sense in WordNet; only the same word counts as like them.
    """

    values: NDArray[np.float64]
    basis: NDArray[np.uint8]
    sense: NDArray[np.int32]
    unresolved: tuple[str, ...]


def similarity_table(
    similarity: Similarity,
    part: Part,
    class_synsets: Sequence[str],
    class_words: Sequence[str],
    words: Sequence[str],
    *,
    object_words: str = "phrase-first",
    sense: str = "max",
    unrated: str = "zero",
    direction: str = "class",
) -> SimilarityTable:
    """Compare classes with words (protocols, section 10.1 and A13 to A21 of 10.5).

    Pass distinct classes, not one per HOI class: 600 HOI classes have some 120 verbs-with-sense and 80 objects.

    Args:
        similarity: a map, or a WordNet measure.
        part: "verb" or "object".
        class_synsets: C names of the classes' senses; "" for no_interaction, which has none.
        class_words: C labels of the classes.
        words: W distinct predicted words, as the file has them.
        object_words: how a word of several parts becomes senses; see :func:`shoe.lexicon.resolve.resolve`.
        sense: "max", the word's best sense for each class; "first", its first; "one", the sense whose best value over
            all classes is highest, for all classes. Of equal senses, the first.
        unrated: what an unrated pair of senses counts: "zero", or "wup", WordNet's Wu-Palmer value. "drop" is the
            scorer's business, which leaves such cells out, and as "zero" here.
        direction: "class", S(class, word's sense); "symmetric", its mean with S(word's sense, class) where both are
            rated, else the one that is.

    Returns:
        The table, rows and columns in the order given.

    Raises:
        OptionError: for an option that does not exist.
    """
    for option, chosen_value in (("sense", sense), ("unrated", unrated), ("direction", direction)):
        if chosen_value not in OPTIONS[option]:
            raise unknown_name(option, chosen_value, OPTIONS[option])
    resolved = [
        [candidate.synset for candidate in resolve(word, part, cast(ObjectWords, object_words)).candidates]
        for word in words
    ]
    synsets = np.array(sorted({s for senses in resolved for s in senses}), np.int32)
    place = np.searchsorted(synsets, np.array([s for senses in resolved for s in senses], np.int32))
    counts = np.array([len(senses) for senses in resolved], np.int64)
    first = np.cumsum(counts) - counts
    unresolved = counts == 0

    value, rated = _pair_values(similarity, part, class_synsets, synsets, unrated, direction)
    if sense == "one":
        overall = np.minimum(value, 1).max(axis=1, initial=_UNRATED)[place]
        first = first + _leading(overall, first, counts)
    if sense != "max":
        counts = np.minimum(counts, 1)
    best, chosen = _best(value, place, first, counts)

    basis = np.full(best.shape, Basis.UNRATED, np.uint8)
    of_word, of_class = np.nonzero(chosen >= 0)
    supported = rated[chosen[of_word, of_class], of_class]
    basis[of_word[supported], of_class[supported]] = Basis.RATED
    basis[(basis == Basis.RATED) & (best == 0)] = Basis.ZERO
    basis[best == _IDENTICAL] = Basis.IDENTICAL
    basis[unresolved] = Basis.UNRESOLVED
    values = np.clip(best, 0, 1)
    picked = np.append(synsets, -1).astype(np.int32)[chosen]

    same, ruled_out, not_interacting = _rules(part, class_synsets, class_words, words)
    same_only = same & (basis != Basis.IDENTICAL)
    for cells, fixed, reason in ((ruled_out, 0, Basis.ZERO), (same_only, 1, Basis.SAME_WORD)):
        values[cells], basis[cells], picked[cells] = fixed, reason, -1
    return SimilarityTable(
        values=np.ascontiguousarray(values.T),
        basis=np.ascontiguousarray(basis.T),
        sense=np.ascontiguousarray(picked.T),
        unresolved=tuple(words[w] for w in np.flatnonzero(unresolved & ~not_interacting).tolist()),
    )


def _pair_values(
    similarity: Similarity,
    part: Part,
    class_synsets: Sequence[str],
    synsets: NDArray[np.int32],
    unrated: str,
    direction: str,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """(S, C) value of each pair of senses, _UNRATED or _IDENTICAL where it is that; and whether it is a rating."""
    value = similarity.values(part, class_synsets, synsets).T
    classes = lexicon().ids_of(class_synsets)
    if direction == "symmetric":
        known = classes >= 0
        back = np.full(value.shape, np.nan)
        back[:, known] = similarity.values(part, [lexicon().name(s) for s in synsets.tolist()], classes[known])
        value = np.where(np.isnan(value), back, np.where(np.isnan(back), value, (value + back) / 2))
    rated = ~np.isnan(value)
    if unrated == "wup" and not rated.all():
        value = np.where(rated, value, WordNetSimilarity("wup").values(part, class_synsets, synsets).T)
    value = np.where(np.isnan(value), _UNRATED, value)
    value[synsets[:, None] == classes] = _IDENTICAL
    return value, rated


def _best(
    value: NDArray[np.float64], place: NDArray[np.int64], first: NDArray[np.int64], counts: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """(W, C) highest value among each word's senses, and the row of ``value`` that has it, -1 if all are unrated."""
    order = np.argsort(-counts, kind="stable")
    best = np.full((len(counts), value.shape[1]), _UNRATED)
    chosen = np.full(best.shape, -1, np.int64)
    # Words by falling number of senses: those that have a k-th sense stand in front, and one pass takes it for all.
    for k in range(int(counts.max(initial=0))):
        words = order[: np.count_nonzero(counts > k)]
        rows = place[first[words] + k]
        candidate, leader, leading = value[rows], best[: len(words)], chosen[: len(words)]
        better = candidate > leader
        np.copyto(leader, candidate, where=better)
        np.copyto(leading, rows[:, None], where=better)
    back = np.argsort(order)
    return best[back], chosen[back]


def _leading(overall: NDArray[np.float64], first: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """(W,) place of the highest value among each word's senses, the first of equals; 0 for a word that has none."""
    return np.array(
        [int(overall[start : start + n].argmax()) if n else 0 for start, n in zip(first, counts, strict=True)], np.int64
    )


def _rules(
    part: Part, class_synsets: Sequence[str], class_words: Sequence[str], words: Sequence[str]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], NDArray[np.bool_]]:
    """What needs no rating.

    Returns:
        (W, C) whether the word is the class's word; (W, C) whether they are unlike because one of them is
        no_interaction and the other is not; (W,) whether the word is no_interaction.
    """
    labels = list(dict.fromkeys([*class_words, NO_INTERACTION]))
    label = {word: number for number, word in enumerate(labels)}
    of_class = np.array([label[word] for word in class_words], np.int32)
    of_word = match_labels(words, labels, part)
    same = of_word[:, None] == of_class
    not_interacting = of_word == label[NO_INTERACTION]
    senseless = np.array([synset == "" for synset in class_synsets], bool)
    return same, (not_interacting[:, None] | senseless) & ~same, not_interacting
