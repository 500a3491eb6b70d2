"""Semantic relation of a predicted word to the word of a class: same meaning, more general, opposite, ...

Relations are those of WordNet between two senses. In addition, a similarity of 1 means that words have the same
meaning, and words with a similarity of at least 0.5 are similar even if WordNet does not relate them.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from shoe.core.arrays import Indices, Ints, Mask
from shoe.core.documents import Document, Fraction
from shoe.lexicon.resolve import ObjectWords, resolve
from shoe.lexicon.senses import Part, with_ancestors
from shoe.lexicon.store import ids_of, lexicon, names_of, per_lexicon
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.similarity.table import Basis, SimilarityTable

Senses = NDArray[np.int32]

SIMILAR_FROM = 0.5  # minimum similarity of the relation SIMILAR: half of the scale, which raters call "partly similar"

_OPPOSITES = Path(__file__).parent / "data" / "antonyms.tsv"
_SENSES = 1 << 32


class Relation(IntEnum):
    """Relation of a predicted word to the word of a class; if several relations hold, the first one counts."""

    SAME = 0
    """The same word or sense, or a similarity of 1."""
    MORE_GENERAL = 1
    """The predicted sense is a direct or indirect hypernym of the sense of the class: "vehicle" or "thing" for car."""
    MORE_SPECIFIC = 2
    """The predicted sense is a direct or indirect hyponym of the sense of the class: "taxi" for car."""
    OPPOSITE = 3
    """The two senses are antonyms in WordNet: "close" for open."""
    SIBLING = 4
    """Both senses have a direct hypernym in common: "truck" for car."""
    SIMILAR = 5
    """None of the relations above, but a similarity of at least 0.5."""
    UNRELATED = 6
    """None of the relations above. Includes no_interaction and any other verb, whose similarity is 0 by rule."""
    UNRESOLVED = 7
    """The predicted word is not in WordNet."""

    @property
    def label(self) -> str:
        """Name of the relation in plots and files, such as "more_general"."""
        return self.name.lower()


class WordPair(Document, frozen=True):
    """Word of a class and the word that was predicted instead.

    Attributes:
        label: word of the class.
        label_sense: WordNet sense of the class; "" for no_interaction.
        predicted: predicted word.
        sense: WordNet sense of the predicted word; "" if no sense was looked up.
        similarity: similarity of the predicted word to the class, 0..1.
        relation: relation of the predicted word to the word of the class, such as "more_general".
    """

    label: str
    label_sense: str
    predicted: str
    sense: str
    similarity: Fraction
    relation: str


@dataclass(frozen=True, slots=True, eq=False)
class PredictedWords:
    """Relation of each of W predicted verbs (or objects) to each of the C distinct verbs (or objects) of K classes."""

    part: Part  # "verb" or "object"
    # labels, synsets: C words of the classes, and their WordNet senses; "" for no_interaction
    labels: tuple[str, ...]
    synsets: tuple[str, ...]
    row: Indices  # (K,) index in ``labels`` of the verb (or object) of each class
    words: tuple[str, ...]  # W predicted words
    table: SimilarityTable  # similarities of the predicted words to the classes
    relation: NDArray[np.int8]  # (C, W) int8 ``Relation`` of each predicted word to each word of a class
    sense: Senses  # (C, W) sense of the predicted word to which the relation applies, or -1 if no sense was looked up

    def pair(self, row: int, word: int) -> WordPair:
        """Return the predicted word ``words[word]`` with its similarity and relation to ``labels[row]``."""
        return WordPair(
            label=self.labels[row],
            label_sense=self.synsets[row],
            predicted=self.words[word],
            sense=names_of([int(self.sense[row, word])])[0],
            similarity=float(self.table.values[row, word]),
            relation=Relation(self.relation[row, word]).label,
        )


def predicted_words(
    task: Task, similarities: HoiSimilarity, object_words: str
) -> tuple[PredictedWords, PredictedWords]:
    """Return the predicted verbs and the predicted objects, with similarities and relations to the classes.

    ``object_words`` is the option of the semantic protocol that decides which senses a phrase for an object has.
    """
    classes, predictions = task.truth.classes, task.predictions

    def from_words(part: Part, table: SimilarityTable, row: Indices, label: Ints) -> PredictedWords:
        labels, synsets = getattr(classes, f"{part}s"), getattr(classes, f"{part}_synsets")
        words: tuple[str, ...] = getattr(predictions, f"{part}s")
        first = np.unique(row, return_index=True)[1].tolist()
        own = tuple(synsets[k] for k in first)
        related = word_relations(table, part, own, words, cast(ObjectWords, object_words))
        return PredictedWords(part, tuple(labels[label[k]] for k in first), own, row, words, table, *related)

    verbs = from_words("verb", similarities.verbs, similarities.verb_row, classes.verb)
    return verbs, from_words("object", similarities.objects, similarities.object_row, classes.object)


def word_relations(
    table: SimilarityTable, part: Part, class_synsets: Sequence[str], words: Sequence[str], object_words: ObjectWords
) -> tuple[NDArray[np.int8], Senses]:
    """Return the relation of each predicted word to each word of a class.

    A predicted word has the sense with the highest similarity to the class, even if this similarity is 0. A word
    without any rated sense has the first relation in ``Relation`` that holds for one of its senses.

    ``table`` are the (C, W) similarities of the words, with the rated senses, under the rule ``object_words`` for
    object phrases; ``class_synsets`` are the C senses of the classes, "" for no_interaction. Return the (C, W) int8
    ``Relation``, and the (C, W) sense to which it applies, or -1 if none was looked up.
    """
    candidates = [resolve(word, part, object_words).candidates for word in words]
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
    """Return the (C, S) ``Relation`` of S predicted senses to C classes; UNRELATED if WordNet has no relation.

    ``classes`` is the (C,) sense of each class, -1 for a class without a sense; ``synsets`` are the (S,) predicted
    senses.
    """
    found = np.full((len(classes), len(synsets)), Relation.UNRELATED, np.int8)
    parents, parent = _listed(_direct(s) for s in synsets.tolist())
    ancestors, ancestor = _listed(with_ancestors(s) for s in synsets.tolist())
    for row, sense in zip(found, classes.tolist(), strict=True):
        if sense < 0:
            continue
        row[parents[_one_of(parent, _direct(sense))]] = Relation.SIBLING
        row[_one_of(synsets, _opposites().get(sense, frozenset()))] = Relation.OPPOSITE
        row[ancestors[ancestor == sense]] = Relation.MORE_SPECIFIC
        row[_one_of(synsets, with_ancestors(sense))] = Relation.MORE_GENERAL
        row[synsets == sense] = Relation.SAME
    return found


def _listed(sets: Iterable[frozenset[int]]) -> tuple[NDArray[np.int64], Senses]:
    # All members of some sets: the index of the set, and the member.
    members = list(sets)
    owner = np.repeat(np.arange(len(members)), [len(each) for each in members])
    return owner, np.array([sense for each in members for sense in each], np.int32)


def _one_of(senses: Senses, wanted: frozenset[int]) -> Mask:
    return np.isin(senses, np.array(list(wanted), np.int32))


@per_lexicon(None)
def _direct(sense: int) -> frozenset[int]:
    return frozenset(lexicon().hypernyms(sense).tolist())


@per_lexicon(None)
def _opposites() -> dict[int, frozenset[int]]:
    """Return the WordNet antonyms of each sense with antonyms, from the file that ``scripts/build-antonyms`` writes."""
    found: dict[int, set[int]] = {}
    for line in _OPPOSITES.read_text("utf-8").splitlines()[1:]:
        one, other = (lexicon().synset(name) for name in line.split("\t"))
        if one >= 0 and other >= 0:
            found.setdefault(one, set()).add(other)
            found.setdefault(other, set()).add(one)
    return {sense: frozenset(others) for sense, others in found.items()}
