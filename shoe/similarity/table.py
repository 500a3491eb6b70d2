"""The dense table that scoring indexes: similarity of each class and predicted word, and the basis of each value."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import NO_INTERACTION
from shoe.benchmarks.protocol_options import SemanticOptions
from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.core.public import checked
from shoe.lexicon.constructions import done_with, preposition_weights
from shoe.lexicon.expressions import KIND, POS, RARE, Part, is_rare
from shoe.lexicon.resolve import Candidate, match_labels, resolve
from shoe.lexicon.store import ids_of, lexicon
from shoe.similarity.whole_interactions import WholeRatings
from shoe.similarity.wordnet import wordnet_values

USING = "use.v.01"
"""To use a thing says, as a kind would, what is done with it: "using" a knife for cut_with."""
_UNRATED = -1.0
_IDENTICAL = 2.0


class Basis(IntEnum):
    """Basis of the value of a class and a word."""

    UNRESOLVED = 0
    """The word has no sense in WordNet: 0."""
    UNRATED = 1
    """None of the word's senses has a rating with the class (or a WordNet value was taken instead)."""
    LEARNED = 2
    """Predicted from the map's ratings: nobody rated the sense that is most similar by that."""
    ZERO = 3
    """The best rating of the word's senses is 0; others of its senses may be unrated.

    Also no_interaction against anything else: they are different by rule.
    """
    RATED = 4
    """Rated above 0."""
    IDENTICAL = 5
    """The class's own sense is among the word's senses: 1."""
    SAME_WORD = 6
    """The word is the class's word, though it does not lead to the class's sense: 1."""


class Similarity(ABC):
    """Similarity of a class's sense and another sense, from LLMs' ratings or from WordNet's graph.

    Attributes:
        name: the user's name for it, as "hico-det".
        digest: 8 hex digits of the content that can change a value; part of signatures.
    """

    name: str

    @property
    @abstractmethod
    def digest(self) -> str: ...  # noqa: D102 - see the class

    @abstractmethod
    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Look up C class senses against S senses, all as ids of the compiled lexicon.

        Args:
            part: "verb" or "object".
            class_senses: (C,) ids; -1 for no_interaction, which has no sense.
            senses: (S,) ids.

        Returns:
            (C, S) values 0..1; NaN for a pair that nobody rated; 1 for a sense and itself.
        """

    def predicted(self, part: Part, class_senses: Ints, senses: Ints) -> Floats | None:
        """Predict C class senses against S senses, rated or not.

        Args:
            part: "verb" or "object".
            class_senses: (C,) ids.
            senses: (S,) ids.

        Returns:
            (C, S) values 0..1, NaN for a class without predictions; None where nothing is predicted at all.
        """
        return None

    @property
    def whole(self) -> tuple[WholeRatings, Floats] | None:
        """Whole interactions that raters compared, and (m,) the similarity 0..1 of each; None where there are none."""
        return None

    @checked
    def between(self, part: Part, class_synsets: Sequence[str], synsets: Sequence[str]) -> Floats:
        """Compare C senses of classes with S senses, by name.

        Args:
            part: "verb" or "object".
            class_synsets: C WordNet 3.0 names of the classes' senses, as "ride.v.01".
            synsets: S names of other senses.

        Returns:
            (C, S) float64, 0..1; NaN where nothing is known, 1 for a sense and itself.

        Raises:
            OptionError: for a name that is not that of a verb's, or a noun's, sense.

        Example:
            >>> from shoe import load_similarity
            >>> load_similarity("wup").between("verb", ["ride.v.02"], ["ride.v.02", "sit.v.01"]).round(2).tolist()
            [[1.0, 0.33]]
        """
        return self.values(part, _known_senses(part, class_synsets), _known_senses(part, synsets))

    @checked
    def of_words(
        self,
        part: Part,
        classes: Sequence[tuple[str, str]],
        words: Sequence[str],
        options: SemanticOptions | None = None,
    ) -> tuple[Floats, NDArray[np.uint8]]:
        """Compare C classes with W words as scoring does: the best of a word's senses, and the rules for equal words.

        Args:
            part: "verb" or "object".
            classes: C (name of the sense, word) of the classes, as ("ride.v.02", "ride"); "" for the sense of
                no_interaction, which has none.
            words: W distinct words or phrases as a model may say them, as "sitting astride".
            options: of the protocol; those of ``shoe`` if absent.

        Returns:
            (C, W) float64 values, 0..1, and (C, W) uint8 :class:`Basis` that each rests on.

        Raises:
            OptionError: for a name that is not that of a verb's, or a noun's, sense.

        Example:
            >>> from shoe import load_similarity
            >>> values, basis = load_similarity("identity").of_words("verb", [("ride.v.02", "ride")], ["rides", "eats"])
            >>> values.tolist(), [Basis(code).name for code in basis[0]]
            ([[1.0, 0.0]], ['IDENTICAL', 'ZERO'])
        """
        senses = _known_senses(part, [name for name, _ in classes], none=True)
        table = similarity_table(self, part, senses, [word for _, word in classes], words, options or SemanticOptions())
        return table.values, table.basis


def _known_senses(part: Part, names: Sequence[str], none: bool = False) -> Ints:
    """Return (n,) ids of names that must be senses of verbs, or of nouns; -1 for "" where that is allowed."""
    if part not in POS:
        raise unknown_name("part of speech", part, POS)
    ids = ids_of(names)
    for name, sense in zip(names, ids.tolist(), strict=True):
        if (sense < 0 or lexicon().pos(sense) != POS[part]) and not (none and name == ""):
            kind, example = ("verb", "ride.v.02") if part == "verb" else ("noun", "horse.n.01")
            raise OptionError(f"sense {quote(name)}: expected the name of a {kind} of {lexicon().title}, as {example}")
    return ids


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityTable:
    """Similarities of C classes and W words.

    Attributes:
        values: (C, W) float64, 0..1.
        basis: (C, W) uint8 ``Basis``.
        sense: (C, W) int32 the word's sense that gave the value; -1 where none did.
        unresolved: words without a sense in WordNet; only an equal word counts as similar to them.
    """

    values: Floats
    basis: NDArray[np.uint8]
    sense: Ints
    unresolved: tuple[str, ...]


def similarity_table(
    similarity: Similarity,
    part: Part,
    class_senses: Ints,
    class_words: Sequence[str],
    words: Sequence[str],
    options: SemanticOptions,
) -> SimilarityTable:
    """Compare classes with words (docs/protocols.md, section 10.1 and A13 to A21 and A32 of 10.5).

    Pass distinct classes, not one per HOI class: 600 HOI classes have some 120 verbs-with-sense and 80 objects.

    Args:
        similarity: a map, or a WordNet measure.
        part: "verb" or "object".
        class_senses: (C,) ids of the classes' senses; -1 for no_interaction, which has none.
        class_words: C labels of the classes.
        words: W distinct predicted words, as the file has them.
        options: options of the protocol. ``object_words``: how a word of several parts is resolved. ``sense``: the best
            sense for each class ("likely": weighted by its likelihood), the first, or the one whose best value over all
            classes is highest (of ties the first). ``unrated``: value of an unrated pair of senses ("drop" counts as
            "zero" here; the scorer leaves such cells out). ``partial``: whether a partial match counts in full.
            ``direction``: direction in which a pair is rated; for both, the mean of the rated ones.

    Returns:
        The table, with rows and columns in the order given.
    """
    synsets, index, weights, first, counts = word_senses(part, words, options)
    unresolved = counts == 0

    value, rated = _pair_values(similarity, part, class_senses, synsets, options)
    if part == "verb" and options.partial == "weighed":
        used = (synsets == lexicon().synset(USING))[:, None] & done_with(class_words)
        value[used] = np.maximum(value[used], KIND)
    if options.sense == "one":
        overall = np.minimum(value, 1).max(axis=1, initial=_UNRATED)[index]
        overall = np.where(overall > 0, overall * weights, overall)
        bounds = zip(first.tolist(), (first + counts).tolist(), strict=True)
        first = np.array([a + int(overall[a:b].argmax()) if a < b else a for a, b in bounds], np.int64)
    if options.sense in ("first", "one"):
        counts = np.minimum(counts, 1)
    best, chosen = _best(value, index, weights, first, counts)

    basis = np.full(best.shape, Basis.UNRATED, np.uint8)
    word, of = np.nonzero(chosen >= 0)
    supported = rated[chosen[word, of], of]
    basis[word[supported], of[supported]] = Basis.RATED
    basis[(basis == Basis.RATED) & (best == 0)] = Basis.ZERO
    if options.unrated == "learned":
        basis[word[~supported], of[~supported]] = Basis.LEARNED
    basis[best == _IDENTICAL] = Basis.IDENTICAL
    basis[unresolved] = Basis.UNRESOLVED
    values = np.clip(best, 0, 1)
    picked = np.append(synsets, -1).astype(np.int32)[chosen]
    if part == "verb" and options.partial == "weighed":
        said = preposition_weights(class_words, words).T
        elsewhere = (picked == class_senses) & (said < 1)
        values[elsewhere], basis[elsewhere] = (values * said)[elsewhere], Basis.RATED

    # What needs no rating: the class's own word, and no_interaction, which is different from all else.
    label = {word: number for number, word in enumerate(dict.fromkeys([*class_words, NO_INTERACTION]))}
    of_word = match_labels(words, list(label), part)
    same = of_word[:, None] == np.array([label[word] for word in class_words], np.int32)
    not_interacting = of_word == label[NO_INTERACTION]
    ruled_out = (not_interacting[:, None] | (class_senses < 0)) & ~same
    same_only = same & (basis != Basis.IDENTICAL)
    for cells, fixed, reason in ((ruled_out, 0, Basis.ZERO), (same_only, 1, Basis.SAME_WORD)):
        values[cells], basis[cells], picked[cells] = fixed, reason, -1
    without = tuple(words[w] for w in np.flatnonzero(unresolved & ~not_interacting).tolist())
    return SimilarityTable(
        np.ascontiguousarray(values.T), np.ascontiguousarray(basis.T), np.ascontiguousarray(picked.T), without
    )


def word_senses(
    part: Part, words: Sequence[str], options: SemanticOptions, most: int | None = None
) -> tuple[Ints, Indices, Floats, Indices, Indices]:
    """Resolve W words.

    Args:
        part: "verb" or "object".
        options: options of the protocol.
        most: largest number of senses of each word; all if absent.

    Returns:
        (S,) ids of all senses, ascending; indices into these of each word's senses, word after word in the order of
        preference; weight 0..1 of each; (W,) where a word's indices begin, and (W,) their number.
    """
    resolved = [resolve(word, part, options.object_words).candidates[:most] for word in words]
    senses = np.array([candidate.synset for of_word in resolved for candidate in of_word], np.int32)
    weights = np.array([_weight(candidate, options) for of_word in resolved for candidate in of_word], np.float64)
    synsets, index = np.unique(senses, return_inverse=True)
    counts = np.array([len(of_word) for of_word in resolved], np.int64)
    return synsets, index, weights, np.cumsum(counts) - counts, counts


def _weight(candidate: Candidate, options: SemanticOptions) -> float:
    said = candidate.weight if options.partial == "weighed" else 1
    return said * RARE if options.sense == "likely" and is_rare(candidate.lemma, candidate.synset) else said


def _pair_values(
    similarity: Similarity, part: Part, class_senses: Ints, synsets: Ints, options: SemanticOptions
) -> tuple[Floats, Mask]:
    """Return (S, C) value of each pair of senses (or _UNRATED, _IDENTICAL), and whether it is a rating."""
    value = similarity.values(part, class_senses, synsets).T
    if options.direction == "symmetric":
        known = class_senses >= 0
        back = np.full(value.shape, np.nan)
        back[:, known] = similarity.values(part, synsets, class_senses[known])
        value = np.where(np.isnan(value), back, np.where(np.isnan(back), value, (value + back) / 2))
    rated = ~np.isnan(value)
    if not rated.all():
        imputed = None
        if options.unrated == "wup":
            imputed = wordnet_values("wup", part, class_senses, synsets)
        elif options.unrated == "learned":
            imputed = similarity.predicted(part, class_senses, synsets)
        value = value if imputed is None else np.where(rated, value, imputed.T)
    value = np.where(np.isnan(value), _UNRATED, value)
    value[synsets[:, None] == class_senses] = _IDENTICAL
    return value, rated


def _best(value: Floats, index: Indices, weights: Floats, first: Indices, counts: Indices) -> tuple[Floats, Indices]:
    """Return (W, C) highest value among each word's senses, and its row of ``value``; -1 if all are unrated."""
    order = np.argsort(-counts, kind="stable")
    best = np.full((len(counts), value.shape[1]), _UNRATED)
    chosen = np.full(best.shape, -1, np.int64)
    # Words by falling number of senses: those that have a k-th sense stand in front, and one pass takes it for all.
    for k in range(int(counts.max(initial=0))):
        words = order[: np.count_nonzero(counts > k)]
        places = first[words] + k
        rows, share = index[places], weights[places]
        candidate, leader, leading = value[rows], best[: len(words)], chosen[: len(words)]
        for part in np.flatnonzero(share < 1):
            said = np.minimum(candidate[part], 1)
            candidate[part] = np.where(said > 0, said * share[part], said)
        better = candidate > leader
        np.copyto(leader, candidate, where=better)
        np.copyto(leading, rows[:, None], where=better)
    back = np.argsort(order)
    return best[back], chosen[back]
