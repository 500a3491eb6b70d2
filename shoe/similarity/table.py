"""Table of the similarity of each class and predicted word, with the basis (rated, predicted, ...) of each value."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import NO_INTERACTION
from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.arrays import Floats, Indices, Ints, Mask
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.core.public import public_function
from shoe.lexicon import text
from shoe.lexicon.resolve import match_labels, resolve
from shoe.lexicon.senses import KIND, POS, RARE, Part, Sense, is_rare, preposition_weights, takes_tool
from shoe.lexicon.store import ids_of, lexicon
from shoe.similarity.whole_interactions import WholeRatings
from shoe.similarity.wordnet import wordnet_values

USING = "use.v.01"
"""Sense of "use". "Using" gets partial similarity to every class that uses its object as a tool, such as cut_with."""
_UNRATED = -1.0
_IDENTICAL = 2.0


class Basis(IntEnum):
    """Origin of the similarity value of a class and a word, such as a rating or equal spelling."""

    UNRESOLVED = 0
    """The word has no sense in the lexicon; the value is 0."""
    UNRATED = 1
    """No sense of the word is rated with the class; the value is 0, or Wu-Palmer similarity with ``unrated="wup"``."""
    LEARNED = 2
    """The most similar sense of the word is unrated; its value is predicted from the map's ratings."""
    ZERO = 3
    """The highest rating of the word's senses is 0; some of its senses may be unrated.

    Also the basis for no_interaction and any other class, whose similarity is 0 by definition.
    """
    RATED = 4
    """The highest rating of the word's senses is above 0."""
    IDENTICAL = 5
    """The sense of the class is among the word's senses; the value is 1."""
    SAME_WORD = 6
    """The word equals the class's word, but the class's sense is not among its senses; the value is 1."""


class Similarity(ABC):
    """Similarity of class senses and other senses, from ratings of language models or from WordNet's graph.

    Attributes:
        name: name of the map or measure, such as "hico-det".
        digest: 8 hex digits of a hash of the ratings or of the graph, without the ensemble; part of metric signatures.
    """

    name: str

    @property
    @abstractmethod
    def digest(self) -> str: ...  # noqa: D102 - see the class

    @abstractmethod
    def values(self, part: Part, class_senses: Ints, senses: Ints) -> Floats:
        """Return the (C, S) similarities 0..1 of C class senses and S other senses, given as IDs in the active lexicon.

        The ID of a class is -1 for no_interaction, which has no sense. The similarity is NaN for an unrated pair, 1 for
        a sense with itself.
        """

    def predicted(self, part: Part, class_senses: Ints, senses: Ints) -> Floats | None:
        """Return the (C, S) predicted similarities 0..1 of class senses and other senses, also for rated pairs.

        NaN for a class without predictions; None if this similarity has no predictions.
        """
        return None

    @property
    def whole(self) -> tuple[WholeRatings, Floats] | None:
        """Rated pairs of whole interactions, and the (m,) similarity 0..1 of each pair; None without such pairs."""
        return None

    @public_function
    def between(self, part: Part, class_synsets: Sequence[str], synsets: Sequence[str]) -> Floats:
        """Return the (C, S) similarities 0..1 of C class senses and S other senses, given as names like "ride.v.01".

        NaN for an unrated pair, 1 for a sense with itself. ``part`` is "verb" or "object"; OptionError for a name that
        is no sense of this part of speech.

        Example:
            >>> from shoe import load_similarity
            >>> load_similarity("wup").between("verb", ["ride.v.02"], ["ride.v.02", "sit.v.01"]).round(2).tolist()
            [[1.0, 0.33]]
        """
        return self.values(part, known_senses(part, class_synsets), known_senses(part, synsets))

    @public_function
    def of_words(
        self,
        part: Part,
        classes: Sequence[tuple[str, str]],
        words: Sequence[str],
        options: SemanticOptions | None = None,
    ) -> tuple[Floats, NDArray[np.uint8]]:
        """Return the similarity of C classes and W words as used in scoring.

        By default, the value is the highest similarity over the senses of a word; rare senses, and senses that fit only
        in part, count less. A word that equals the class's word has the value 1.

        Args:
            part: "verb" or "object"; OptionError for a name that is no sense of this part of speech.
            classes: (name of the sense, word) of each of C classes, such as ("ride.v.02", "ride"). The name is "" for
                no_interaction, which has no sense.
            words: W distinct predicted words or phrases, such as "sitting astride".
            options: semantic options; the options of protocol ``shoe`` if None.

        Returns (C, W) float64 values, 0..1, and (C, W) uint8 :class:`Basis` of each value.

        Example:
            >>> from shoe import load_similarity
            >>> values, basis = load_similarity("identity").of_words("verb", [("ride.v.02", "ride")], ["rides", "eats"])
            >>> values.tolist(), [Basis(code).name for code in basis[0]]
            ([[1.0, 0.0]], ['IDENTICAL', 'ZERO'])
        """
        senses = known_senses(part, [name for name, _ in classes], none=True)
        table = similarity_table(self, part, senses, [word for _, word in classes], words, options or SemanticOptions())
        return table.values, table.basis


def known_senses(part: Part, names: Sequence[str], none: bool = False) -> Ints:
    """Return the (n,) IDs of the senses with these names; OptionError if a name is no sense of this part of speech.

    If ``none`` is True, the name "" (no_interaction) is also allowed; its ID is -1.
    """
    if part not in POS:
        raise unknown_name("part of speech", part, POS)
    ids = ids_of(names)
    for name, sense in zip(names, ids.tolist(), strict=True):
        if (sense < 0 or lexicon().pos(sense) != POS[part]) and not (none and name == ""):
            kind, example = ("verb", "ride.v.02") if part == "verb" else ("noun", "horse.n.01")
            expected = f"the name of a {kind} sense of {lexicon().title}, such as {example}"
            raise OptionError(f"sense {quote(name)}: expected {expected}")
    return ids


@dataclass(frozen=True, slots=True, eq=False)
class SimilarityTable:
    """Similarities of C classes and W predicted words."""

    values: Floats  # (C, W) float64, 0..1
    basis: NDArray[np.uint8]  # (C, W) uint8 :class:`Basis`: origin of each value, such as a rating or a prediction
    sense: Ints  # (C, W) int32 ID of the word's sense that gave the value; -1 if no sense did
    unresolved: tuple[str, ...]  # words without a sense in the lexicon: similar only to a class with the same word


def similarity_table(
    similarity: Similarity,
    part: Part,
    class_senses: Ints,
    class_words: Sequence[str],
    words: Sequence[str],
    options: SemanticOptions,
    labels: Sequence[str] | None = None,
) -> SimilarityTable:
    """Return the similarity of C classes and W predicted words, as used in scoring.

    The rules are in docs/protocols.md, section 10.1 and A13 to A21, A32, A33. Pass each distinct verb sense or object
    once: 600 HOI classes have about 120 distinct verb senses and 80 objects.

    Args:
        part: "verb" or "object".
        class_senses: (C,) IDs of the classes' senses; -1 for no_interaction, which has no sense.
        class_words: words of the C classes, such as "ride".
        words: W distinct predicted words, as written in the prediction file.
        options: options of the protocol, described in :class:`SemanticOptions`. With ``sense="one"``, only one
            alternative counts. ``unrated="drop"`` is the same as "zero" here; the scorer drops predictions with
            unrated words.
        labels: all labels of the dataset, which have no partial matches; ``class_words`` if None.

    Returns the table of classes and words in the given order. For alternatives, sense and basis are those of the most
    similar alternative.
    """
    several = [alternatives(word, part) for word in words]
    single = list(dict.fromkeys(each for of_word in several for each in of_word))
    table = _single_words(similarity, part, class_senses, class_words, single, options, labels)
    if single == list(words):
        return table
    counting = several
    if options.sense == "one":  # one sense for all classes: that of the alternative with the highest value for any
        highest_of = dict(zip(single, table.values.max(axis=0, initial=0).tolist(), strict=True))
        counting = [[max(of_word, key=highest_of.__getitem__)] for of_word in several]
    place = {word: number for number, word in enumerate(single)}
    member = np.array([place[each] for of_word in counting for each in of_word], np.int64)
    counts = np.array([len(of_word) for of_word in counting], np.int64)
    first = np.cumsum(counts) - counts
    of_each = table.values[:, member]
    highest = np.maximum.reduceat(of_each, first, axis=1)
    leads = of_each == np.repeat(highest, counts, axis=1)
    best = member[np.minimum.reduceat(np.where(leads, np.arange(len(member)), len(member)), first, axis=1)]
    values = highest if options.alternatives == "best" else np.add.reduceat(of_each, first, axis=1) / counts
    basis: NDArray[np.uint8] = np.take_along_axis(table.basis, best, axis=1)
    sense: Ints = np.take_along_axis(table.sense, best, axis=1)
    basis[(values < 1) & (basis >= Basis.IDENTICAL)] = Basis.RATED
    unknown = set(table.unresolved)
    without = (word for word, of_word in zip(words, several, strict=True) if unknown.issuperset(of_word))
    return SimilarityTable(values, basis, sense, tuple(without))


_SEVERAL: dict[Part, re.Pattern[str]] = {  # objects have adjectives: "large, black and white dog"
    "verb": re.compile(r"\s*[/;|,]\s*|\s+or\s+|\s+and\s+"),
    "object": re.compile(r"\s*[/;|]\s*|\s+or\s+"),
}


def alternatives(word: str, part: Part) -> list[str]:
    """Return the distinct words of a predicted verb or object that names several: ["ride", "hold"] for "ride or hold".

    For other words, and for expressions of the lexicon such as "trick or treat", return [word].
    """
    pattern = _SEVERAL[part]
    if not pattern.search(word):
        return [word]

    def split(each: str) -> list[str]:
        is_lemma = len(lexicon().senses(text.spelled(text.plain(each)), POS[part])) > 0
        return [each] if is_lemma else [found for found in pattern.split(each.strip()) if found]

    return list(dict.fromkeys(found for each in text.alternatives(word) for found in split(each))) or [word]


def _single_words(
    similarity: Similarity,
    part: Part,
    class_senses: Ints,
    class_words: Sequence[str],
    words: Sequence[str],
    options: SemanticOptions,
    labels: Sequence[str] | None,
) -> SimilarityTable:
    synsets, index, weights, first, counts = word_senses(
        part, words, options, class_words if labels is None else labels
    )
    value, rated = _pair_values(similarity, part, class_senses, synsets, options)
    if part == "verb" and options.partial == "weighed":
        used = (synsets == lexicon().synset(USING))[:, None] & takes_tool(class_words)
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
    unresolved = counts == 0
    basis[unresolved] = Basis.UNRESOLVED
    values, picked = np.clip(best, 0, 1), np.append(synsets, -1).astype(np.int32)[chosen]
    if part == "verb" and options.partial == "weighed":
        said = preposition_weights(class_words, words).T
        elsewhere = (picked == class_senses) & (said < 1)
        values[elsewhere], basis[elsewhere] = (values * said)[elsewhere], Basis.RATED

    # Cells without a rating: the class's own word (1), and no_interaction with any other word (0).
    label = {word: number for number, word in enumerate(dict.fromkeys([*class_words, NO_INTERACTION]))}
    of_word = match_labels(words, list(label), part)
    same = of_word[:, None] == np.array([label[word] for word in class_words], np.int32)
    not_interacting = of_word == label[NO_INTERACTION]
    ruled_out = (not_interacting[:, None] | (class_senses < 0)) & ~same
    same_only = same & (basis != Basis.IDENTICAL)
    for cells, fixed, reason in ((ruled_out, 0, Basis.ZERO), (same_only, 1, Basis.SAME_WORD)):
        values[cells], basis[cells], picked[cells] = fixed, reason, -1
    without = tuple(words[w] for w in np.flatnonzero(unresolved & ~not_interacting).tolist())
    contiguous = np.ascontiguousarray
    return SimilarityTable(contiguous(values.T), contiguous(basis.T), contiguous(picked.T), without)


def word_senses(
    part: Part, words: Sequence[str], options: SemanticOptions, labels: Sequence[str], most: int | None = None
) -> tuple[Ints, Indices, Floats, Indices, Indices]:
    """Return the senses of W words that count in scoring (:func:`counted_senses`), at most ``most`` per word if given.

    Returns:
        synsets: (S,) IDs of all senses, ascending.
        index: (N,) indices into ``synsets``: the senses of the first word, best first, then those of the next word, ...
        weights: (N,) weights 0..1 of these senses.
        first: (W,) position in ``index`` at which the senses of each word start.
        counts: (W,) number of senses of each word.
    """
    resolved = [found[:most] for found in counted_senses(part, words, options, labels)]
    senses = np.array([candidate.synset for of_word in resolved for candidate in of_word], np.int32)
    weights = np.array([_weight(candidate, options) for of_word in resolved for candidate in of_word], np.float64)
    synsets, index = np.unique(senses, return_inverse=True)
    counts = np.array([len(of_word) for of_word in resolved], np.int64)
    return synsets, index, weights, np.cumsum(counts) - counts, counts


def counted_senses(
    part: Part, words: Sequence[str], options: SemanticOptions, labels: Sequence[str]
) -> list[tuple[Sense, ...]]:
    """Return the senses of each word that count in scoring, best first.

    Senses whose lemmas do not include the word are partial matches. They do not count if ``options.partial`` is "full",
    or for a word in ``labels``: with partial matches, the label "board" would resemble the verb "ride".
    """
    found = [resolve(word, part, options.object_words).candidates for word in words]
    own = np.full(len(words), options.partial == "full") | (match_labels(words, labels, part) >= 0)
    return [
        tuple(candidate for candidate in of_word if candidate.own) if only else of_word
        for of_word, only in zip(found, own.tolist(), strict=True)
    ]


def _weight(candidate: Sense, options: SemanticOptions) -> float:
    said = candidate.weight if options.partial == "weighed" else 1
    return said * RARE if options.sense == "likely" and is_rare(candidate.lemma, candidate.synset) else said


def _pair_values(
    similarity: Similarity, part: Part, class_senses: Ints, synsets: Ints, options: SemanticOptions
) -> tuple[Floats, Mask]:
    # (S, C) values, _UNRATED for unrated pairs without imputed value, _IDENTICAL for equal senses; mask of rated pairs.
    value = similarity.values(part, class_senses, synsets).T
    if options.direction == "symmetric":
        known, back = class_senses >= 0, np.full(value.shape, np.nan)
        back[:, known] = similarity.values(part, synsets, class_senses[known])
        value = np.where(np.isnan(value), back, np.where(np.isnan(back), value, (value + back) / 2))
    rated, imputed = ~np.isnan(value), None
    if options.unrated == "wup" and not rated.all():
        imputed = wordnet_values("wup", part, class_senses, synsets)
    elif options.unrated == "learned" and not rated.all():
        imputed = similarity.predicted(part, class_senses, synsets)
    value = value if imputed is None else np.where(rated, value, imputed.T)
    value = np.where(np.isnan(value), _UNRATED, value)
    value[synsets[:, None] == class_senses] = _IDENTICAL
    return value, rated


def _best(value: Floats, index: Indices, weights: Floats, first: Indices, counts: Indices) -> tuple[Floats, Indices]:
    # (W, C) highest weighted value among each word's senses, and its row in ``value``; -1 if all are _UNRATED.
    order = np.argsort(-counts, kind="stable")
    best = np.full((len(counts), value.shape[1]), _UNRATED)
    chosen = np.full(best.shape, -1, np.int64)
    # Words sorted by falling number of senses: those with a k-th sense are a prefix, handled in one pass.
    for k in range(int(counts.max(initial=0))):
        words = order[: np.count_nonzero(counts > k)]
        rows, share = index[first[words] + k], weights[first[words] + k]
        candidate, leader, leading = value[rows], best[: len(words)], chosen[: len(words)]
        for part in np.flatnonzero(share < 1):
            said = np.minimum(candidate[part], 1)
            candidate[part] = np.where(said > 0, said * share[part], said)
        better = candidate > leader
        np.copyto(leader, candidate, where=better)
        np.copyto(leading, rows[:, None], where=better)
    back = np.argsort(order)
    return best[back], chosen[back]
