"""Semantic relation of a predicted word to the right one: the same meaning, more general, the opposite, ...

The relations are WordNet's between two senses. The similarity decides which words mean the same, and which are similar
though WordNet does not connect them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints, Mask
from shoe.core.documents import Document, Fraction
from shoe.core.interactions import Interactions
from shoe.lexicon.expressions import Part
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.store import ids_of, lexicon, per_lexicon
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.similarity.table import Basis, SimilarityTable

Senses = NDArray[np.int32]

SIMILAR_FROM = 0.5
"""Similarity from which a word without a relation counts as similar: half of the scale, "partly similar" to raters."""

_OPPOSITES = Path(__file__).parent / "data" / "antonyms.tsv"
_SENSES = 1 << 32


class Relation(IntEnum):
    """Relation of a predicted word to a class's word; of several that hold, the first."""

    SAME = 0
    """The same word or sense, or a similarity of 1."""
    MORE_GENERAL = 1
    """Its sense is a hypernym of the class's, any number of steps up: "vehicle", and "thing", for car."""
    MORE_SPECIFIC = 2
    """Its sense is a hyponym of the class's, any number of steps down: "taxi" for car."""
    OPPOSITE = 3
    """WordNet calls the two senses antonyms: "close" for open."""
    SIBLING = 4
    """Both senses have a direct hypernym in common: "truck" for car."""
    SIMILAR = 5
    """None of these, but the similarity is at least 0.5."""
    UNRELATED = 6
    """None of these. Also no_interaction and any other verb, whose similarity is 0 by rule."""
    UNRESOLVED = 7
    """WordNet does not have the word."""

    @property
    def label(self) -> str:
        """The name in figures and files, as "more_general"."""
        return self.name.lower()


class WordPair(Document, frozen=True):
    """A word of a ground truth and the word that was predicted for it.

    Attributes:
        label: the class's word.
        label_sense: its sense; "" for no_interaction.
        predicted: the predicted word.
        sense: its sense; "" where none was looked up.
        similarity: similarity of the two, 0..1.
        relation: relation of the predicted word to the class's, as "more_general".
    """

    label: str
    label_sense: str
    predicted: str
    sense: str
    similarity: Fraction
    relation: str


@dataclass(frozen=True, slots=True, eq=False)
class PredictedWords:
    """Predicted words of one part of speech and the classes' senses; C distinct senses, W words, K classes.

    Attributes:
        labels: (C,) the classes' word.
        synsets: (C,) its sense, "" for no_interaction.
        row: (K,) index of each class among them.
        words: (W,) the predicted words.
        relation: (C, W) int8 ``Relation``.
        sense: (C, W) the word's sense in that relation; -1 where no sense was looked up.
    """

    part: Part
    labels: tuple[str, ...]
    synsets: tuple[str, ...]
    row: Indices
    words: tuple[str, ...]
    table: SimilarityTable
    relation: NDArray[np.int8]
    sense: Senses

    def of(self, table: Interactions) -> Ints:
        """Return (n,) index of each triplet's word; the table's vocabularies begin like this one."""
        return table.verb if self.part == "verb" else table.object

    def pair(self, row: int, word: int) -> WordPair:
        """Return similarity and relation of a class's sense and a word."""
        sense = int(self.sense[row, word])
        return WordPair(
            label=self.labels[row],
            label_sense=self.synsets[row],
            predicted=self.words[word],
            sense=lexicon().name(sense) if sense >= 0 else "",
            similarity=float(self.table.values[row, word]),
            relation=Relation(self.relation[row, word]).label,
        )


def predicted_words(
    task: Task, similarities: HoiSimilarity, object_words: str
) -> tuple[PredictedWords, PredictedWords]:
    """Combine similarities and relations of verbs, and of objects."""
    classes, predictions = task.truth.classes, task.predictions

    def of(part: Part, table: SimilarityTable, row: Indices, label: Ints) -> PredictedWords:
        labels: tuple[str, ...] = getattr(classes, f"{part}s")
        synsets: tuple[str, ...] = getattr(classes, f"{part}_synsets")
        words: tuple[str, ...] = getattr(predictions, f"{part}s")
        first = np.unique(row, return_index=True)[1].tolist()
        own = tuple(synsets[k] for k in first)
        related = word_relations(table, part, own, words, object_words)
        return PredictedWords(part, tuple(labels[label[k]] for k in first), own, row, words, table, *related)

    return (
        of("verb", similarities.verbs, similarities.verb_row, classes.verb),
        of("object", similarities.objects, similarities.object_row, classes.object),
    )


def word_relations(
    table: SimilarityTable,
    part: Part,
    class_synsets: Sequence[str],
    words: Sequence[str],
    object_words: str = "phrase-first",
) -> tuple[NDArray[np.int8], Senses]:
    """Find the relation of each word to each class.

    A word has the sense with the highest value for a class, even if it is 0. Only a word without any rated sense gets
    the best relation of all of its senses.

    ``class_synsets`` are C names of the classes' senses, "" for no_interaction, which has none; ``words`` are W
    predicted words; the other arguments are those of the table.

    Returns:
        (C, W) int8 ``Relation``, and (C, W) the word's sense in that relation; -1 where no sense was looked up.
    """
    candidates = [resolve(word, part, cast(ObjectWords, object_words)).candidates for word in words]
    counts = np.array([len(senses) for senses in candidates], np.int64)
    of_word = np.array([c.synset for senses in candidates for c in senses], np.int32)
    synsets = np.array(sorted(set(of_word.tolist())), np.int32)
    related = relations(ids_of(class_synsets), synsets)

    code = np.full(table.values.shape, Relation.UNRELATED, np.int8)
    sense = np.full(code.shape, -1, np.int32)
    known = np.flatnonzero(counts)
    if len(known):
        # The index among all senses goes along with the relation, so that of equal relations the first sense wins.
        keyed = related[:, np.searchsorted(synsets, of_word)] * np.int64(_SENSES) + np.arange(len(of_word))
        best = np.minimum.reduceat(keyed, (np.cumsum(counts) - counts)[known], axis=1)
        code[:, known], sense[:, known] = best // _SENSES, of_word[best % _SENSES]
        row, word = np.nonzero(table.sense >= 0)
        sense[row, word] = table.sense[row, word]
        code[row, word] = related[row, np.searchsorted(synsets, sense[row, word])]
    code[table.values == 1] = Relation.SAME
    code[(code == Relation.UNRELATED) & (table.values >= SIMILAR_FROM)] = Relation.SIMILAR
    code[table.basis == Basis.UNRESOLVED] = Relation.UNRESOLVED
    return code, sense


def relations(classes: Senses, synsets: Senses) -> NDArray[np.int8]:
    """Relate senses by WordNet alone.

    Args:
        classes: (C,) senses of classes; -1 for one without.
        synsets: (S,) predicted senses.

    Returns:
        (C, S) ``Relation`` of each predicted sense to each class's; UNRELATED where WordNet does not connect them.
    """
    found = np.full((len(classes), len(synsets)), Relation.UNRELATED, np.int8)
    parents, parent = _listed(_direct(s) for s in synsets.tolist())
    ancestors, ancestor = _listed(_above(s) for s in synsets.tolist())
    for row, sense in zip(found, classes.tolist(), strict=True):
        if sense < 0:
            continue
        row[parents[_one_of(parent, _direct(sense))]] = Relation.SIBLING
        row[_one_of(synsets, _opposites().get(sense, frozenset()))] = Relation.OPPOSITE
        row[ancestors[ancestor == sense]] = Relation.MORE_SPECIFIC
        row[_one_of(synsets, _above(sense))] = Relation.MORE_GENERAL
        row[synsets == sense] = Relation.SAME
    return found


def _listed(sets: Iterable[frozenset[int]]) -> tuple[NDArray[np.int64], Senses]:
    """Return all members of some sets: the index of the set, and the member."""
    members = list(sets)
    owner = np.repeat(np.arange(len(members)), [len(each) for each in members])
    return owner, np.array([sense for each in members for sense in each], np.int32)


def _one_of(senses: Senses, wanted: frozenset[int]) -> Mask:
    return np.isin(senses, np.array(list(wanted), np.int32))


@per_lexicon(None)
def _direct(sense: int) -> frozenset[int]:
    return frozenset(lexicon().hypernyms(sense).tolist())


@per_lexicon(None)
def _above(sense: int) -> frozenset[int]:
    """Return all hypernyms of a sense; no path in WordNet 3.0 has more than 19 steps."""
    direct = _direct(sense)
    return direct.union(*(_above(parent) for parent in direct))


@per_lexicon(None)
def _opposites() -> dict[int, frozenset[int]]:
    """Return WordNet's antonyms, both ways; ``scripts/build-antonyms`` writes the file."""
    found: dict[int, set[int]] = {}
    for line in _OPPOSITES.read_text("utf-8").splitlines()[1:]:
        one, other = (lexicon().synset(name) for name in line.split("\t"))
        if one >= 0 and other >= 0:
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return {sense: frozenset(others) for sense, others in found.items()}
